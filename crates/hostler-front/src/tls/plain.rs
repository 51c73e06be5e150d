//! A client that speaks plain HTTP on a port for TLS: it is told so, where silence would leave it guessing.

use crate::hook::reply::Reply;
use crate::io::body::{Body, RequestBody};
use crate::io::sent::Sent;
use crate::process::listen;
use crate::request::Request;
use crate::request::thread::Thread;
use crate::request::variables;
use crate::values::text;
use bytes::Bytes;
use hostler_cgi::escape_html;
use hostler_http1::head::{self, HTTP_09};
use hostler_http1::response::field;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longest head that is read to find out where the client wanted to go.
const LONGEST: usize = 8 << 10;
/// How long it may take, and how long the client may take to read the answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// Answers 400 with a link to the address that would have been right, and logs the request.
pub(super) async fn answer(
    thread: &Rc<Thread>,
    mut stream: TcpStream,
    local: SocketAddr,
    remote: SocketAddr,
) {
    let mut buffer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, read_head(&mut stream, &mut buffer)).await;
    if read.is_err() || !buffer.first().is_some_and(u8::is_ascii_uppercase) {
        return;
    }
    let peer = listen::peer(thread, local, remote, remote, None);
    let length = buffer.len() as u64;
    let reply = reply(request(thread, &peer, &buffer.into())).await;
    let mut out = b"HTTP/1.1 400 Bad Request\r\n".to_vec();
    for (name, value) in reply.headers.iter() {
        field(&mut out, name, value);
    }
    let Body::Bytes(page) = &reply.body else { return };
    field(&mut out, b"Content-Length", text::decimal(page.len() as u64).as_bytes());
    out.extend_from_slice(b"Connection: close\r\n\r\n");
    out.extend_from_slice(page);
    let sent = Sent { total: out.len() as u64, body: page.len() as u64, length: Some(page.len() as u64) };
    let _ = tokio::time::timeout(PATIENCE, send_and_close(&mut stream, &out)).await;
    reply.finish(thread, sent, &Ok(()), length, false);
}

async fn read_head(stream: &mut TcpStream, buffer: &mut Vec<u8>) {
    while buffer.len() < LONGEST && memchr::memmem::find(buffer, b"\r\n\r\n").is_none() {
        if !matches!(stream.read_buf(buffer).await, Ok(n) if n > 0) {
            return;
        }
    }
}

async fn send_and_close(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    stream.write_all(bytes).await?;
    stream.shutdown().await?;
    // Unread bytes at the close would reset the connection, and the client might lose the answer.
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}

/// The request, as far as it can be read.
fn request(thread: &Rc<Thread>, peer: &Rc<crate::request::connection::Peer>, buffer: &Bytes) -> Request {
    match head::parse(buffer, &peer.limits) {
        Ok(Some(head)) if head.version != HTTP_09 => {
            let mut request = Request::from_http1(thread, peer, buffer, &head, RequestBody::Empty);
            let _ = crate::hook::host::select(&mut request);
            request
        }
        _ => {
            let mut request = Request::new(thread, peer);
            let end = buffer.iter().position(|b| matches!(b, b'\r' | b'\n')).unwrap_or(buffer.len());
            request.line = buffer.slice(..end);
            request
        }
    }
}

async fn reply(mut request: Request) -> Reply {
    let page = page(&request);
    request.status = 400;
    request.headers_out.set("Content-Type", Bytes::from_static(b"text/html; charset=utf-8"));
    crate::hook::reply::finish_error(request, Body::Bytes(page.into())).await
}

fn page(request: &Request) -> String {
    let host = variables::server_name(request);
    let port = match request.peer.local.port() {
        443 => String::new(),
        port => format!(":{port}"),
    };
    let path = if request.target.first() == Some(&b'/') { &request.target[..] } else { b"/" };
    let address = [b"https://", &host[..], port.as_bytes(), path].concat();
    let address = String::from_utf8_lossy(&escape_html(&address)).into_owned();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>400 Bad Request</title></head>\n\
         <body><h1>400 Bad Request</h1>\n<p>The browser spoke plain HTTP, but this port expects HTTPS. Try\n\
         <a href=\"{address}\">{address}</a>.</p>\n</body></html>\n"
    )
}
