//! HTTP/2 (RFC 9113), by hyper.

use crate::body::BodyError;
use crate::connection::Peer;
use crate::thread::Thread;
use bytes::Bytes;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::net::TcpStream;

/// A request's body.
pub(crate) struct Incoming {
    pub(crate) limit: u64,
}

impl Incoming {
    pub(crate) fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        Poll::Ready(None)
    }
}

/// A plain connection that may begin with HTTP/2's preface.
pub(crate) async fn sniff(thread: Rc<Thread>, stream: TcpStream, peer: Rc<Peer>) {
    crate::http1::conn::serve(thread, crate::io::Io::Plain(stream), peer).await;
}

/// A connection on which HTTP/2 was agreed.
pub(crate) async fn serve(thread: Rc<Thread>, stream: tokio_rustls::server::TlsStream<TcpStream>, peer: Rc<Peer>) {
    let _ = (thread, stream, peer);
}
