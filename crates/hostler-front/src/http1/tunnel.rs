//! A client's connection that has changed to another protocol: bytes go both ways between it and another server, as they
//! come. An idle one keeps no buffer.

use super::send::{self, Outgoing};
use super::wire::{Wire, with_scratch};
use crate::hook::reply::Reply;
use crate::io::body::Body;
use crate::io::sent::Sent;
use crate::io::tunnel::Tunnel;
use crate::request::thread::Thread;
use bytes::{Buf as _, Bytes};
use hostler_http1::head::HTTP_11;
use hostler_http1::response::Connection;
use std::future::poll_fn;
use std::io::IoSlice;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// The answer that changes the protocol, the other server's end, and bytes of the request.
pub(super) type Upgraded = (Reply, Tunnel, u64);

/// One way of the two.
#[derive(Default)]
struct Way {
    /// What is there no room for yet.
    rest: Bytes,
    /// Whoever speaks has said all.
    is_over: bool,
    /// The other side has been told so.
    is_told: bool,
    bytes: u64,
}

/// Sends the head and carries bytes until both sides are done, one breaks off, or both are silent for too long.
pub(super) async fn run(thread: &Rc<Thread>, wire: &Rc<Wire>, upgraded: Box<Upgraded>) {
    let (reply, mut tunnel, received) = *upgraded;
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
    };
    let mut sent = Sent::default();
    let result = send::send(wire, outgoing, &mut sent).await;
    if result.is_ok() {
        let (to_client, to_server) = carry(wire, &mut tunnel).await;
        sent.body += to_client;
        sent.total += to_client;
        tunnel.upstream.count(to_server, to_client);
        reply.finish(thread, sent, &result, received + to_server, false);
    } else {
        reply.finish(thread, sent, &result, received, false);
    }
}

/// Bytes that went to the client and to the server.
async fn carry(wire: &Wire, tunnel: &mut Tunnel) -> (u64, u64) {
    let mut to_client = Way { rest: std::mem::take(&mut tunnel.early), ..Way::default() };
    let mut to_server =
        Way { rest: std::mem::take(&mut *wire.pending.borrow_mut()).into(), ..Way::default() };
    to_client.bytes = to_client.rest.len() as u64;
    to_server.bytes = to_server.rest.len() as u64;
    let allow = |tunnel: &Tunnel| match tunnel.timeout {
        Some(timeout) => wire.deadline.set(timeout),
        None => wire.deadline.active(),
    };
    allow(tunnel);
    poll_fn(|context| {
        loop {
            let before = to_client.bytes + to_server.bytes;
            let (one, other) = (
                poll_down(wire, tunnel, &mut to_client, context),
                poll_up(wire, tunnel, &mut to_server, context),
            );
            // Who is gone hears nothing more; what the other still says is of no use to anybody.
            if matches!(one, Poll::Ready(Err(()))) || matches!(other, Poll::Ready(Err(()))) {
                return Poll::Ready(());
            }
            if one.is_ready() && (other.is_ready() || tunnel.ends_with_server) {
                return Poll::Ready(());
            }
            if to_client.bytes + to_server.bytes == before {
                break;
            }
            allow(tunnel);
        }
        if tunnel.timeout.is_some() && wire.deadline.poll_expired(context) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    (to_client.bytes, to_server.bytes)
}

/// Pieces that one turn carries at most: others have connections, too.
const TURN: usize = 8;

/// From the server to the client.
fn poll_down(
    wire: &Wire,
    tunnel: &mut Tunnel,
    way: &mut Way,
    context: &mut Context<'_>,
) -> Poll<Result<(), ()>> {
    for _ in 0..TURN {
        while !way.rest.is_empty() {
            let mut io = wire.io.borrow_mut();
            let written = ready!(io.poll_write(context, &[IoSlice::new(&way.rest)])).map_err(|_| ())?;
            way.rest.advance(written);
        }
        if wire.is_tls() {
            ready!(wire.io.borrow_mut().poll_flush(context)).map_err(|_| ())?;
        }
        if way.is_over {
            if !std::mem::replace(&mut way.is_told, true) {
                ready!(wire.io.borrow_mut().poll_shutdown(context)).map_err(|_| ())?;
            }
            return Poll::Ready(Ok(()));
        }
        let read = with_scratch(|scratch| {
            tunnel
                .connection
                .poll_read(context, scratch)
                .map_ok(|read| Bytes::copy_from_slice(&scratch[..read]))
        });
        way.took(ready!(read).map_err(|_| ())?);
    }
    context.waker().wake_by_ref();
    Poll::Pending
}

/// From the client to the server.
fn poll_up(
    wire: &Wire,
    tunnel: &mut Tunnel,
    way: &mut Way,
    context: &mut Context<'_>,
) -> Poll<Result<(), ()>> {
    for _ in 0..TURN {
        if !way.rest.is_empty() {
            tunnel.connection.push(std::mem::take(&mut way.rest));
        }
        ready!(tunnel.connection.poll_flush(context)).map_err(|_| ())?;
        if way.is_over {
            if !std::mem::replace(&mut way.is_told, true) {
                ready!(tunnel.connection.poll_shutdown(context)).map_err(|_| ())?;
            }
            return Poll::Ready(Ok(()));
        }
        let read = with_scratch(|scratch| {
            let read = wire.io.borrow_mut().poll_read(context, scratch);
            read.map_ok(|read| Bytes::copy_from_slice(&scratch[..read]))
        });
        way.took(ready!(read).map_err(|_| ())?);
    }
    context.waker().wake_by_ref();
    Poll::Pending
}

impl Way {
    fn took(&mut self, piece: Bytes) {
        self.bytes += piece.len() as u64;
        self.is_over = piece.is_empty();
        self.rest = piece;
    }
}
