//! A connection that has changed to another protocol: bytes go both ways between a client and another server, as they come,
//! until both sides are done, one breaks off, or both are silent for too long. What the client's side is, a connection or a
//! stream of one, is the same here. An idle one keeps no buffer.

use super::deadline::Deadline;
use super::scratch::with_scratch;
use bytes::{Buf as _, Bytes};
use hostler_gateway::upstream::{Connection, Upstream, Usage};
use std::any::Any;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The other server's end of it.
pub(crate) struct Tunnel {
    pub(crate) connection: Connection,
    /// The server's first bytes in the new protocol.
    pub(crate) early: Bytes,
    pub(crate) upstream: Arc<Upstream>,
    /// It counts among what the server is at.
    _usage: Usage,
    /// Given back when it ends: its place among the connections that its site may have, say.
    pub(crate) held: Option<Box<dyn Any>>,
    /// The longest silence of both sides; `None`: unlimited.
    pub(crate) timeout: Option<Duration>,
    /// When the server has said all the client's words reach nobody: it is over.
    pub(crate) ends_with_server: bool,
}

impl Tunnel {
    pub(crate) fn new(
        mut connection: Connection,
        of: (Arc<Upstream>, Usage),
        timeout: Option<Duration>,
    ) -> Self {
        // Copied: an empty piece would keep all of the connection's buffer for as long as the tunnel is idle.
        let early = Bytes::copy_from_slice(&connection.take_input());
        Self { connection, early, upstream: of.0, _usage: of.1, timeout, held: None, ends_with_server: false }
    }

    /// Carries bytes between the server and the client, who has said `pending` of them already; how many went to the client
    /// and to the server. `deadline` is the tunnel's own.
    pub(crate) async fn carry(
        &mut self,
        mut client: impl AsyncRead + AsyncWrite + Unpin,
        pending: Bytes,
        deadline: Deadline,
    ) -> (u64, u64) {
        let early = std::mem::take(&mut self.early);
        let (mut down, mut up) = (Way::after(early), Way::after(pending));
        let allow = |timeout: Option<Duration>| timeout.into_iter().for_each(|timeout| deadline.set(timeout));
        allow(self.timeout);
        poll_fn(|context| {
            let before = down.bytes + up.bytes;
            let one = poll_down(&mut client, &mut self.connection, &mut down, context);
            let other = poll_up(&mut client, &mut self.connection, &mut up, context);
            // Who is gone hears nothing more; what the other still says is of no use to anybody.
            if matches!(one, Poll::Ready(Err(()))) || matches!(other, Poll::Ready(Err(()))) {
                return Poll::Ready(());
            }
            if one.is_ready() && (other.is_ready() || self.ends_with_server) {
                return Poll::Ready(());
            }
            if down.bytes + up.bytes > before {
                allow(self.timeout);
            }
            let is_late = self.timeout.is_some() && deadline.poll_expired(context);
            if is_late { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        (down.bytes, up.bytes)
    }
}

/// One way of the two.
struct Way {
    /// Bytes that there is no room for yet.
    rest: Bytes,
    /// The sending side has finished.
    is_over: bool,
    /// The other side has been told so.
    is_told: bool,
    bytes: u64,
}

impl Way {
    fn after(rest: Bytes) -> Self {
        Self { bytes: rest.len() as u64, rest, is_over: false, is_told: false }
    }

    fn took(&mut self, piece: Bytes) {
        self.bytes += piece.len() as u64;
        self.is_over = piece.is_empty();
        self.rest = piece;
    }
}

/// Pieces that one turn carries at most: others have connections, too.
const TURN: usize = 8;

/// There is more, after the thread has looked for what others have sent.
fn rest<T>(context: &mut Context<'_>) -> Poll<T> {
    let _ = pin!(tokio::task::yield_now()).poll(context);
    Poll::Pending
}

/// From the server to the client.
fn poll_down(
    client: &mut (impl AsyncWrite + Unpin),
    server: &mut Connection,
    way: &mut Way,
    context: &mut Context<'_>,
) -> Poll<Result<(), ()>> {
    let mut client = Pin::new(client);
    for _ in 0..TURN {
        while !way.rest.is_empty() {
            let written = ready!(client.as_mut().poll_write(context, &way.rest)).map_err(|_| ())?;
            if written == 0 {
                return Poll::Ready(Err(()));
            }
            way.rest.advance(written);
        }
        if way.is_told {
            return Poll::Ready(Ok(()));
        }
        ready!(client.as_mut().poll_flush(context)).map_err(|_| ())?;
        if way.is_over {
            ready!(client.as_mut().poll_shutdown(context)).map_err(|_| ())?;
            way.is_told = true;
            return Poll::Ready(Ok(()));
        }
        let read = with_scratch(|scratch| {
            let read = server.poll_read(context, scratch);
            read.map_ok(|read| Bytes::copy_from_slice(&scratch[..read]))
        });
        way.took(ready!(read).map_err(|_| ())?);
    }
    rest(context)
}

/// From the client to the server.
fn poll_up(
    client: &mut (impl AsyncRead + Unpin),
    server: &mut Connection,
    way: &mut Way,
    context: &mut Context<'_>,
) -> Poll<Result<(), ()>> {
    for _ in 0..TURN {
        if !way.rest.is_empty() {
            server.push(std::mem::take(&mut way.rest));
        }
        if way.is_told {
            return Poll::Ready(Ok(()));
        }
        ready!(server.poll_flush(context)).map_err(|_| ())?;
        if way.is_over {
            ready!(server.poll_shutdown(context)).map_err(|_| ())?;
            way.is_told = true;
            return Poll::Ready(Ok(()));
        }
        let read = with_scratch(|scratch| {
            let mut buffer = ReadBuf::new(scratch);
            let read = Pin::new(&mut *client).poll_read(context, &mut buffer);
            read.map_ok(|()| Bytes::copy_from_slice(buffer.filled()))
        });
        way.took(ready!(read).map_err(|_| ())?);
    }
    rest(context)
}
