//! The start of a connection. `Protocols h2c`: HTTP/2's preface (prior knowledge, RFC 9113 §3.3), or HTTP/1: the bytes
//! are only inspected, and the connection's protocol reads them. `RemoteIPProxyProtocol`: a header with the client's
//! address, which is read here.

use crate::io::deadline::Deadline;
use crate::io::stream::Io;
use crate::request::connection::Peer;
use crate::request::thread::Thread;
use hostler_http1::proxy_protocol::{self, Start};
use rustix::net::RecvFlags;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use tokio::io::Interest;
use tokio::net::TcpStream;

/// The connection preface, RFC 9113 §3.4.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A plain connection that may begin with HTTP/2's preface (`Protocols h2c`).
pub(crate) async fn sniff(thread: Rc<Thread>, stream: TcpStream, peer: Rc<Peer>) {
    let deadline = Deadline::new(peer.remote.ip().into());
    deadline.set(peer.settings.header.longest(peer.settings.timeout));
    deadline.silent(false);
    let is_preface = tokio::select! {
        is_preface = begins_with_preface(&stream) => is_preface,
        () = deadline.expired() => return,
    };
    drop(deadline);
    match is_preface {
        Ok(true) => crate::http2::serve(thread, stream, peer).await,
        Ok(false) => crate::http1::conn::serve(thread, Io::Plain(stream), peer).await,
        Err(_) => {}
    }
}

/// Looks at what has come, whenever more has, until that tells.
async fn begins_with_preface(stream: &TcpStream) -> io::Result<bool> {
    let mut start = [0; PREFACE.len()];
    loop {
        let is_all = stream.ready(Interest::READABLE).await?.is_read_closed();
        let looked = stream.try_io(Interest::READABLE, || {
            let (n, _) = rustix::net::recv(stream, &mut start, RecvFlags::PEEK)?;
            let may_be = start[..n] == PREFACE[..n];
            if may_be && n < PREFACE.len() && !is_all {
                // Asks to be told when there is more.
                return Err(io::ErrorKind::WouldBlock.into());
            }
            Ok(may_be && n == PREFACE.len())
        });
        match looked {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            told => return told,
        }
    }
}

/// Reads the header of the PROXY protocol, and nothing behind it. `None`: the balancer itself is the client.
///
/// # Errors
/// Why there is no such header: the connection is of no use.
pub(crate) async fn proxy_header(stream: &TcpStream) -> io::Result<Option<SocketAddr>> {
    let mut start = [0; proxy_protocol::ENOUGH];
    let (length, client) = loop {
        let is_all = stream.ready(Interest::READABLE).await?.is_read_closed();
        let looked = stream.try_io(Interest::READABLE, || {
            let (n, _) = rustix::net::recv(stream, &mut start, RecvFlags::PEEK)?;
            match proxy_protocol::start(&start[..n]) {
                // Asks to be told when there is more.
                Start::More if !is_all => Err(io::ErrorKind::WouldBlock.into()),
                Start::Header { length, client } => Ok((length, client)),
                Start::More | Start::Wrong => Err(io::Error::other("it does not begin with a PROXY header")),
            }
        });
        match looked {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            told => break told?,
        }
    };
    let mut left = length;
    let mut scratch = [0; 512];
    while left > 0 {
        stream.readable().await?;
        let most = left.min(scratch.len());
        match stream.try_read(&mut scratch[..most]) {
            Ok(0) => return Err(io::Error::other("it ends within its PROXY header")),
            Ok(n) => left -= n,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(client)
}

/// Reads what has come already, so much at most: a close with unread bytes would reset the connection.
pub(crate) fn drop_unread(stream: &TcpStream) {
    let mut scratch = [0; 4096];
    for _ in 0..16 {
        if !matches!(stream.try_read(&mut scratch), Ok(1..)) {
            return;
        }
    }
}
