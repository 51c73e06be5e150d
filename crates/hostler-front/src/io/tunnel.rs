//! A connection that has changed to another protocol: bytes go both ways between a client and another server, as they come,
//! until both sides are done, one breaks off, or both are silent for too long. What the client's side is, a connection or a
//! stream of one, is the same here. An idle one keeps no buffer.

use super::deadline::Deadline;
use super::scratch::with_scratch;
use super::websocket_frames::{Frames, GOING_AWAY};
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
    /// The bytes are WebSocket frames.
    pub(crate) is_websocket: bool,
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
        Self {
            connection,
            early,
            upstream: of.0,
            _usage: of.1,
            timeout,
            held: None,
            is_websocket: false,
            ends_with_server: false,
        }
    }

    /// Carries bytes between the server and the client, who has said `pending` of them already; how many went to the client
    /// and to the server. `deadline` is the tunnel's own. When `stops` is ready the server stops: a WebSocket's client gets
    /// a Close frame with 1001, and has [`LAST_WORDS`] for its own, which the server behind gets in turn.
    pub(crate) async fn carry(
        &mut self,
        mut client: impl AsyncRead + AsyncWrite + Unpin,
        pending: Bytes,
        deadline: Deadline,
        stops: impl Future<Output = ()>,
    ) -> (u64, u64) {
        let early = std::mem::take(&mut self.early);
        let (mut down, mut up) =
            (Way::after(early, self.is_websocket), Way::after(pending, self.is_websocket));
        let mut stops = pin!(stops);
        let mut stopping = false;
        let allow = |timeout: Option<Duration>| timeout.into_iter().for_each(|timeout| deadline.set(timeout));
        allow(self.timeout);
        poll_fn(|context| {
            let before = down.bytes + up.bytes;
            if self.is_websocket && !stopping && stops.as_mut().poll(context).is_ready() {
                stopping = true;
            }
            let mut one = poll_down(&mut client, &mut self.connection, &mut down, context);
            if stopping && down.says_goodbye() {
                self.timeout = Some(LAST_WORDS);
                allow(self.timeout);
                one = poll_down(&mut client, &mut self.connection, &mut down, context);
            }
            let other = poll_up(&mut client, &mut self.connection, &mut up, context);
            // Who is gone hears nothing more; what the other still says is of no use to anybody.
            if matches!(one, Poll::Ready(Err(()))) || matches!(other, Poll::Ready(Err(()))) {
                return Poll::Ready(());
            }
            if down.is_last && up.has_closed() {
                return Poll::Ready(());
            }
            if one.is_ready() && (other.is_ready() || self.ends_with_server) {
                return Poll::Ready(());
            }
            if down.bytes + up.bytes > before && !down.is_last {
                allow(self.timeout);
            }
            let is_late =
                deadline.poll_cut_off(context) || self.timeout.is_some() && deadline.poll_expired(context);
            if is_late { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        (down.bytes, up.bytes)
    }
}

/// The time a client has to answer a Close frame.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// One way of the two.
struct Way {
    /// Bytes that there is no room for yet.
    rest: Bytes,
    /// The sending side has finished.
    is_over: bool,
    /// The other side has been told so.
    is_told: bool,
    bytes: u64,
    /// Where its WebSocket frames end, if it has such.
    frames: Option<Frames>,
    /// Its Close frame has been put in: nothing more comes after that.
    is_last: bool,
}

impl Way {
    fn after(rest: Bytes, is_websocket: bool) -> Self {
        let mut frames = is_websocket.then(Frames::default);
        frames.iter_mut().for_each(|frames| frames.pass(&rest));
        Self { bytes: rest.len() as u64, rest, is_over: false, is_told: false, frames, is_last: false }
    }

    /// Puts in a Close frame as soon as it fits between two others; returns true when it does so.
    fn says_goodbye(&mut self) -> bool {
        let fits = !self.is_last
            && !self.is_over
            && self.frames.as_ref().is_some_and(|frames| frames.is_between() && !frames.has_closed());
        if fits {
            self.rest = [&self.rest[..], &GOING_AWAY].concat().into();
            (self.is_last, self.bytes) = (true, self.bytes + GOING_AWAY.len() as u64);
        }
        fits
    }

    fn has_closed(&self) -> bool {
        self.rest.is_empty() && self.frames.as_ref().is_some_and(Frames::has_closed)
    }

    fn took(&mut self, piece: Bytes) {
        if self.is_last && !piece.is_empty() {
            return;
        }
        self.bytes += piece.len() as u64;
        self.frames.iter_mut().for_each(|frames| frames.pass(&piece));
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
