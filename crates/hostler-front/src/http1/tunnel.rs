//! A client's connection that changes to another protocol: the answer that says so is sent, and the rest is the tunnel's.

use super::send::{self, Outgoing};
use super::wire::Wire;
use crate::hook::reply::Reply;
use crate::io::body::Body;
use crate::io::deadline::Deadline;
use crate::io::sent::Delivery;
use crate::io::tunnel::Tunnel;
use crate::request::thread::Thread;
use bytes::Bytes;
use hostler_http1::framing::has_token;
use hostler_http1::head::HTTP_11;
use hostler_http1::response::Connection;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The answer that changes the protocol, the other server's end, and bytes of the request.
pub(super) type Upgraded = (Reply, Tunnel, u64);

/// Sends the head and carries bytes until both sides are done, one breaks off, or both are silent for too long.
pub(super) async fn run(thread: &Rc<Thread>, wire: &Rc<Wire>, upgraded: Box<Upgraded>) {
    let (mut reply, mut tunnel, received) = *upgraded;
    reply.detach();
    let outgoing = Outgoing {
        version: HTTP_11,
        status: reply.status,
        reason: reply.reason.as_deref(),
        headers: &reply.headers,
        body: Body::Empty,
        head_only: false,
        connection: Connection::Close,
        raw: reply.raw,
        trailers: false,
        runs_on: false,
    };
    let mut sent = Delivery::default();
    let result = send::send(wire, outgoing, &mut sent).await;
    if result.is_ok() {
        // The tunnel has a deadline of its own.
        wire.deadline.active();
        let pending = Bytes::copy_from_slice(&std::mem::take(&mut *wire.pending.borrow_mut()));
        let deadline = Deadline::new(reply.request.client.peer.remote.ip().into());
        tunnel.is_websocket =
            reply.headers.find("Upgrade").is_some_and(|value| has_token(value, b"websocket"));
        let stops = thread.server_drains();
        let (to_client, to_server) = tunnel.carry(Side(wire), pending, deadline, stops).await;
        sent.body += to_client;
        sent.total += to_client;
        tunnel.upstream.count(to_server, to_client);
        reply.finish(thread, sent, &result, received + to_server, false);
    } else {
        reply.finish(thread, sent, &result, received, false);
    }
}

/// The client's connection.
struct Side<'w>(&'w Wire);

impl AsyncRead for Side<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(self.0.io.borrow_mut().poll_read(context, buffer.initialize_unfilled()))?;
        buffer.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Side<'_> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.io.borrow_mut().poll_write(context, &[IoSlice::new(bytes)])
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.io.borrow_mut().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.io.borrow_mut().poll_shutdown(context)
    }
}
