//! One request over a connection of HTTP/1.1, and its answer.

use super::Connection;
use crate::backend::body::{Meter, SHORT};
use crate::backend::http::{Answer, Event, RequestFacts, Sending};
use crate::backend::timer::Timer;
use crate::backend::turn::Turn;
use bytes::Bytes;
use hostler_http1::answer::Limits;
use std::fmt;
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;

/// A request, as far as its exchange has to know it.
#[derive(Clone, Debug)]
pub struct Request {
    /// All that goes before its body.
    pub head: Bytes,
    /// The framing of its body.
    pub sending: Sending,
    /// The facts needed to interpret its response.
    pub asked: RequestFacts,
    /// The limits of its response's head.
    pub limits: Limits,
    /// The longest time the server may neither read nor write when it is its turn.
    pub timeout: Duration,
    /// The connection serves no other request after this one, as the head says.
    pub is_last: bool,
}

/// Why there is no answer, or not all of one.
#[derive(Debug)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The server has closed a connection that had been kept, or before it had read all, and has said nothing: it may not
    /// have seen the request.
    pub is_stale: bool,
}

/// The ways an exchange can fail.
#[derive(Debug)]
pub enum FailureKind {
    /// The server has closed the connection.
    Closed,
    /// The connection is broken.
    Broken(io::Error),
    /// The server has refused or reset the request, on a connection that may have others (HTTP/2): how.
    Reset(String),
    /// The server has neither read nor written anything for too long.
    Timeout,
    /// Its output is not a response.
    Malformed(crate::backend::http::Malformed),
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("it closed the connection before its answer was complete"),
            Self::Broken(error) => write!(f, "the connection broke: {error}"),
            Self::Reset(how) => write!(f, "it broke off: {how}"),
            Self::Timeout => f.write_str("it neither read nor wrote anything for too long"),
            Self::Malformed(error) => write!(f, "what it sent is not a proper answer: {error}"),
        }
    }
}

/// A request that has its connection to itself.
#[derive(Debug)]
pub(super) struct Alone {
    connection: Connection,
    answer: Answer,
    sending: Sending,
    /// The guard of the body's length.
    meter: Meter,
    timeout: Duration,
    is_last: bool,
    timer: Timer,
    /// Its output in a row.
    turn: Turn,
    /// Since when it has been the server's turn.
    waiting: Option<Instant>,
    /// All of the request has been said.
    whole: bool,
    /// The body has ended before its announced length.
    cut: bool,
    /// Nothing can be sent any more; what there is of an answer counts.
    deaf: Option<io::Error>,
    was_used: bool,
    /// The server has answered without the body, which it was asked about.
    unwanted: bool,
    /// The body is not sent before the server has asked for it (100 Continue): how long it may think, and whether it has
    /// failed if it does not.
    holds: Option<(Duration, bool)>,
}

fn is_reset(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}

impl Alone {
    /// Begins a request.
    pub(super) fn begin(mut connection: Connection, request: &Request) -> Self {
        connection.push(request.head.clone());
        let was_used = std::mem::replace(&mut connection.is_used, true);
        Self {
            connection,
            answer: Answer::to(request.asked, request.limits),
            sending: request.sending,
            meter: request.sending.meter(),
            timeout: request.timeout,
            is_last: request.is_last,
            timer: Timer::default(),
            turn: Turn::default(),
            waiting: None,
            whole: request.sending == Sending::None,
            cut: false,
            deaf: None,
            was_used,
            unwanted: false,
            holds: None,
        }
    }

    /// Says a piece of the request's body, not empty. What there is no room for is kept: see [`Self::poll_room`].
    pub(super) fn send(&mut self, mut piece: Bytes) {
        piece.truncate(self.meter.admit(piece.len()));
        if self.deaf.is_none() && !piece.is_empty() {
            self.sending.piece(piece).into_iter().for_each(|bytes| self.connection.push(bytes));
        }
    }

    /// The request's body is complete. One that is shorter than was announced ends the connection.
    pub(super) fn finish(&mut self) {
        if self.meter.is_short() {
            self.cut = true;
        } else if !std::mem::replace(&mut self.whole, true) {
            self.connection.push(self.sending.end());
        }
    }

    /// The body waits until the server asks for it, so long at most: after that the server has failed if `must_ask`, and
    /// gets the body all the same if not.
    pub(super) fn hold(&mut self, limit: Duration, must_ask: bool) {
        if !self.whole {
            self.holds = Some((limit, must_ask));
        }
    }

    /// Returns whether the body waits until the server asks for it, who has failed if it does not.
    pub(super) const fn must_be_asked(&self) -> bool {
        matches!(self.holds, Some((_, true)))
    }

    /// Returns whether more of the request's body is wanted.
    pub(super) const fn wants_body(&self) -> bool {
        let may_be_sent = !self.whole && !self.cut && !self.unwanted;
        may_be_sent && self.deaf.is_none() && self.holds.is_none()
    }

    /// Ready when all that was said has gone.
    pub(super) fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.deaf.is_some() {
            return Poll::Ready(());
        }
        let before = self.connection.unsent();
        match self.connection.poll_flush(context) {
            Poll::Ready(Ok(())) => {
                if before > 0 {
                    self.waiting = None;
                }
                Poll::Ready(())
            }
            Poll::Ready(Err(error)) => {
                self.connection.forget_output();
                self.deaf = Some(error);
                Poll::Ready(())
            }
            Poll::Pending => {
                if self.connection.unsent() < before {
                    self.waiting = None;
                }
                Poll::Pending
            }
        }
    }

    /// The next event; after [`Event::End`] and [`Event::Upgraded`], and after a failure, there is nothing more. After many
    /// in a row there is none until others have had their turn.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Event, Failure>> {
        if self.cut {
            let error = io::Error::new(io::ErrorKind::InvalidInput, SHORT);
            return Poll::Ready(Err(Failure { kind: FailureKind::Broken(error), is_stale: false }));
        }
        let is_sent = self.poll_room(context).is_ready();
        loop {
            if self.turn.is_over() {
                self.turn.end(context);
                return Poll::Pending;
            }
            match self.answer.next(&mut self.connection.input) {
                Ok(Some(event)) => {
                    self.turn.spend(0);
                    self.waiting = None;
                    self.answered(&event);
                    return Poll::Ready(Ok(event));
                }
                Ok(None) => {}
                Err(error) => return Poll::Ready(Err(self.failed(FailureKind::Malformed(error)))),
            }
            match self.connection.poll_fill(context) {
                Poll::Ready(Ok(0)) if self.answer.closed() => return Poll::Ready(Ok(Event::End)),
                Poll::Ready(Ok(0)) => {
                    let kind = self.deaf.take().map_or(FailureKind::Closed, FailureKind::Broken);
                    return Poll::Ready(Err(self.failed(kind)));
                }
                Poll::Ready(Ok(read)) => {
                    self.turn.spend(read);
                    self.waiting = None;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.failed(FailureKind::Broken(error)))),
                Poll::Pending => break,
            }
        }
        self.turn = Turn::default();
        if is_sent && self.wants_body() {
            // All that has come of the body is the server's: it is the client's turn.
            self.waiting = None;
            return Poll::Pending;
        }
        let since = *self.waiting.get_or_insert_with(Instant::now);
        let limit = self.holds.map_or(self.timeout, |(limit, _)| limit);
        match self.timer.poll_due(since + limit, context) {
            Poll::Ready(()) if matches!(self.holds, Some((_, false))) => {
                self.holds = None;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Ready(()) => Poll::Ready(Err(self.failed(FailureKind::Timeout))),
            Poll::Pending => Poll::Pending,
        }
    }

    /// A body that the server was asked about is sent when it says so. One that it has answered without is not wanted: nobody
    /// asks the client for it (RFC 9110 §10.1.1).
    fn answered(&mut self, event: &Event) {
        match event {
            Event::Interim(said) if said.head.status != 100 => {}
            Event::Interim(_) => self.holds = None,
            _ => self.unwanted |= self.holds.take().is_some(),
        }
    }

    fn failed(&self, kind: FailureKind) -> Failure {
        let is_gone = matches!(kind, FailureKind::Closed | FailureKind::Broken(_));
        // One that was reset was closed before all was read that had been sent.
        let is_unread = matches!(&kind, FailureKind::Broken(error) if is_reset(error));
        let is_stale = is_gone && (self.was_used || is_unread) && !self.answer.has_begun();
        Failure { kind, is_stale }
    }

    /// The connection, if another request may follow on it.
    pub(super) fn into_kept(self) -> Option<Connection> {
        let is_clean = !self.is_last && self.whole && self.deaf.is_none() && self.connection.unsent() == 0;
        (is_clean && self.answer.keeps() && self.connection.input.is_empty()).then_some(self.connection)
    }

    /// The connection, which speaks another protocol now.
    pub(super) fn into_tunnel(self) -> Connection {
        self.connection
    }
}
