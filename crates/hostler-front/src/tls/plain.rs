//! A client that speaks plain HTTP on a port for TLS: it is told so, where silence would leave it guessing.

use crate::hook::reply::Reply;
use crate::hook::serve;
use crate::io::body::{Body, RequestBody};
use crate::io::sent::Delivery;
use crate::limits::kept;
use crate::request::Request;
use crate::request::connection::Peer;
use crate::request::thread::Thread;
use crate::request::variables;
use crate::values::{status, text};
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
/// Longest document of the virtual host's that is sent, in bytes.
const LONGEST_PAGE: usize = 1 << 20;
/// The time limit of the exchange, and of the client's reading of the response.
const PATIENCE: Duration = Duration::from_secs(3);

/// Answers 400, and logs the request.
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
    let peer = Peer::new(thread, local, remote, remote, None);
    let received = buffer.len() as u64;
    let mut reply = reply(Box::new(request(thread, &peer, &buffer.into()))).await;
    let mut out = format!("HTTP/1.1 {} {}\r\n", reply.status, status::reason(reply.status)).into_bytes();
    let body = std::mem::replace(&mut reply.body, Body::Empty);
    let collected = tokio::time::timeout(reply.timeout, kept::collect(&reply.request, body, LONGEST_PAGE));
    let Ok(Ok(page)) = collected.await else { return };
    let length = page.len() as u64;
    reply.headers.set("Content-Length", text::decimal(length).as_bytes().to_vec());
    reply.headers.set("Connection", "close");
    for (name, value) in reply.headers.iter() {
        field(&mut out, name, value);
    }
    out.extend_from_slice(b"\r\n");
    if !reply.head_only {
        out.extend_from_slice(&page);
    }
    let sent = Delivery { total: out.len() as u64, body: length, length: Some(length) };
    let _ = tokio::time::timeout(PATIENCE, send_and_close(&mut stream, &out)).await;
    reply.finish(thread, sent, &Ok(()), received, false);
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
            request.client.line = buffer.slice(..end);
            request
        }
    }
}

/// As any request that is answered 400: with the virtual host's ErrorDocument, to which the request has come without TLS.
async fn reply(mut request: Box<Request>) -> Reply {
    let why = why(&request);
    request.notes.set("error-notes", why);
    serve::serve_error(request, 400).await.without_faults()
}

/// Apache's words, and the address that would have been right.
fn why(request: &Request) -> String {
    let host = variables::server_name(request);
    let port = match request.client.peer.local.port() {
        443 => String::new(),
        port => format!(":{port}"),
    };
    let path = if request.client.target.first() == Some(&b'/') { &request.client.target[..] } else { b"/" };
    let address = [b"https://", &host[..], port.as_bytes(), path].concat();
    let address = String::from_utf8_lossy(&escape_html(&address)).into_owned();
    format!(
        "Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />\n \
         Instead use the HTTPS scheme to access this URL, please.<br />\n<a href=\"{address}\">{address}</a>"
    )
}
