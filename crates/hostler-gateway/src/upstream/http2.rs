//! HTTP/2 to other servers (RFC 9113): connections on which many requests are at once. They belong to the thread that has made
//! them, as the others do.
//!
//! An answer's head is put into the words of HTTP/1.1, which whoever takes it reads: what comes is checked by the same code.
//! The data that a server can have kept here is bounded: a window of 64 KiB for each request, so many requests for each connection,
//! 64 KiB of fields.

mod conversation;
mod head;

pub(super) use conversation::Conversation;
pub use head::Head;

use super::exchange::{Failure, FailureKind, Request};
use super::{Connection, NotConnected, Secure, Upstream};
use bytes::Bytes;
use foldhash::HashMap;
use h2::client::SendRequest;
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most requests that a connection has at the same time, whatever the server allows.
const MOST: usize = 100;
/// The window of one request, and of a whole connection: no exchange waits because another's client reads slowly.
const WINDOW: u32 = 64 << 10;
const WINDOWS: u32 = WINDOW * MOST as u32;
/// Fields of an answer, in bytes.
const FIELDS: u32 = 64 << 10;
/// The interval at which unused connections are checked.
const TICK: Duration = Duration::from_secs(1);

/// A connection.
pub struct Http2Connection {
    requests: SendRequest<Bytes>,
    secure: Option<Arc<Secure>>,
    /// Requests that it is at.
    busy: Cell<usize>,
    /// It has had a request before.
    used: Cell<bool>,
    /// It takes no further ones.
    closed: Cell<bool>,
    since: Cell<Instant>,
}

impl std::fmt::Debug for Http2Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Multiplexed").field("busy", &self.busy).finish_non_exhaustive()
    }
}

thread_local! {
    static OPEN: RefCell<HashMap<u64, Vec<Rc<Http2Connection>>>> = RefCell::default();
    static SWEEPS: Cell<bool> = const { Cell::new(false) };
}

impl Upstream {
    /// A connection that has room for a request, with such TLS or without.
    #[must_use]
    pub fn multiplexed(&self, secure: Option<&Secure>) -> Option<Rc<Http2Connection>> {
        OPEN.with_borrow_mut(|open| {
            let all = open.get_mut(&self.id)?;
            all.retain(|one| !one.closed.get());
            let fits = |one: &&Rc<Http2Connection>| one.secure.as_deref() == secure && one.has_room();
            all.iter().find(fits).cloned()
        })
    }

    /// Makes one of a connection that has just been made, and keeps it for others. Must be called on a thread's `LocalSet`.
    ///
    /// # Errors
    /// The server has chosen another protocol in the handshake, or does not speak this one.
    pub async fn multiplex(&self, connection: Connection) -> Result<Rc<Http2Connection>, NotConnected> {
        let secure = connection.secure.clone();
        if secure.is_some() && connection.agreed() != Some(b"h2") {
            let why = "the server did not agree to speak HTTP/2 (ALPN)";
            return Err(NotConnected::Handshake(io::Error::other(why)));
        }
        let mut builder = h2::client::Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOWS)
            .max_header_list_size(FIELDS)
            .max_send_buffer_size(WINDOW as usize);
        let (requests, driver) = builder
            .handshake::<_, Bytes>(connection.into_stream())
            .await
            .map_err(|error| NotConnected::Handshake(io::Error::other(error)))?;
        let made = Rc::new(Http2Connection {
            requests,
            secure,
            busy: Cell::new(0),
            used: Cell::new(false),
            closed: Cell::new(false),
            since: Cell::new(Instant::now()),
        });
        let weak = Rc::downgrade(&made);
        tokio::task::spawn_local(async move {
            // Why it has ended is told to those who wait for answers.
            let _ = driver.await;
            if let Some(made) = weak.upgrade() {
                made.closed.set(true);
            }
        });
        if self.settings.reuse {
            OPEN.with_borrow_mut(|open| open.entry(self.id).or_default().push(made.clone()));
            sweep(self.settings.idle);
        }
        Ok(made)
    }
}

/// Closes connections that nobody has used for long, as long as there are any. `idle`: how long that is.
fn sweep(idle: Duration) {
    if SWEEPS.replace(true) {
        return;
    }
    tokio::task::spawn_local(async move {
        loop {
            tokio::time::sleep(TICK).await;
            let left = OPEN.with_borrow_mut(|open| {
                open.retain(|_, all| {
                    all.retain(|one| {
                        !one.closed.get() && (one.busy.get() > 0 || one.since.get().elapsed() < idle)
                    });
                    !all.is_empty()
                });
                !open.is_empty()
            });
            if !left {
                SWEEPS.set(false);
                return;
            }
        }
    });
}

impl Http2Connection {
    fn has_room(&self) -> bool {
        !self.closed.get() && self.busy.get() < self.requests.current_max_send_streams().min(MOST)
    }

    /// Begins a request. `head`: what is said instead of [`Request::head`].
    ///
    /// # Errors
    /// The connection takes no more requests; none of this one was sent.
    pub async fn begin(self: &Rc<Self>, head: Head, request: &Request) -> Result<super::Exchange, Failure> {
        let was_used = self.used.replace(true);
        let gone = |error: h2::Error| {
            self.closed.set(true);
            Failure { kind: conversation::kind_of(&error), is_stale: was_used }
        };
        // A server may allow no request at all for as long as it likes.
        let ready = tokio::time::timeout(request.timeout, self.requests.clone().ready()).await;
        let mut requests = match ready {
            Ok(ready) => ready.map_err(gone)?,
            Err(_) => return Err(Failure { kind: FailureKind::Timeout, is_stale: false }),
        };
        let is_whole = request.sending == crate::backend::http::Sending::None;
        let (answer, body) = requests.send_request(head.into_request(), is_whole).map_err(gone)?;
        let seat = Seat::take(self);
        Ok(Conversation::new(seat, answer, body, request, was_used).into())
    }
}

/// A request's place on a connection.
#[derive(Debug)]
struct Seat(Rc<Http2Connection>);

impl Seat {
    fn take(connection: &Rc<Http2Connection>) -> Self {
        connection.busy.set(connection.busy.get() + 1);
        Self(connection.clone())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.busy.set(self.0.busy.get() - 1);
        self.0.since.set(Instant::now());
    }
}
