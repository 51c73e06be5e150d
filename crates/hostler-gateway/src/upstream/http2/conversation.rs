//! One request on a connection that has many, and its answer.

use super::head::{said, trailers};
use super::{FIELDS, Seat};
use crate::backend::body::{Meter, SHORT};
use crate::backend::http::{Event, Malformed, Sending, ServerAnswer};
use crate::backend::timer::Timer;
use crate::upstream::exchange::{Failure, FailureKind, Request};
use bytes::{Buf as _, Bytes};
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream, SendStream};
use hostler_http1::answer::{self, Limits};
use std::collections::VecDeque;
use std::fmt;
use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Instant;

/// Interim answers (1xx) that may come before the answer.
const MOST_INTERIM: u32 = 32;

/// The request, and what has come for it.
pub(crate) struct Conversation {
    seat: Seat,
    state: State,
    interim: u32,
    sender: SendStream<Bytes>,
    /// The guard of the body's length, and whether it has ended early.
    meter: Meter,
    cut: bool,
    /// Of the request's body, what there was no room for yet.
    pending: VecDeque<Bytes>,
    /// All of the request has been said; and that it has been.
    whole: bool,
    ended: bool,
    /// The server wants no more of it; what there is of an answer counts.
    deaf: bool,
    was_used: bool,
    limits: Limits,
    timeout: Duration,
    timer: Timer,
    /// Since when it has been the server's turn.
    waiting: Option<Instant>,
}

enum State {
    Head(ResponseFuture),
    Body(RecvStream),
    Trailers(RecvStream),
    Over,
}

impl Conversation {
    pub(super) fn new(
        seat: Seat,
        answer: ResponseFuture,
        sender: SendStream<Bytes>,
        request: &Request,
        was_used: bool,
    ) -> Self {
        let whole = request.sending == Sending::None;
        Self {
            seat,
            state: State::Head(answer),
            interim: 0,
            sender,
            meter: request.sending.meter(),
            cut: false,
            pending: VecDeque::new(),
            whole,
            ended: whole,
            deaf: false,
            was_used,
            limits: Limits { line: request.limits.line.max(FIELDS as usize), ..request.limits },
            timeout: request.timeout,
            timer: Timer::default(),
            waiting: None,
        }
    }

    pub(crate) fn send(&mut self, mut piece: Bytes) {
        piece.truncate(self.meter.admit(piece.len()));
        if !self.deaf && !piece.is_empty() {
            self.pending.push_back(piece);
        }
    }

    /// The request's body is complete. One that is shorter than was announced resets the stream.
    pub(crate) const fn finish(&mut self) {
        self.cut = self.meter.is_short();
        self.whole = !self.cut;
    }

    pub(crate) const fn wants_body(&self) -> bool {
        !self.whole && !self.cut && !self.deaf
    }

    /// Ready when all that was said has gone.
    pub(crate) fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self.poll_send(context) {
            Poll::Ready(Err(_)) => {
                // What went wrong the answer tells, or that the server wants no more.
                self.deaf = true;
                self.pending.clear();
                Poll::Ready(())
            }
            other => other.map(|_| ()),
        }
    }

    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
        while let Some(piece) = self.pending.front_mut().filter(|_| !self.deaf) {
            self.sender.reserve_capacity(piece.len());
            let room = match self.sender.capacity() {
                0 => match ready!(self.sender.poll_capacity(context)) {
                    Some(room) => room?,
                    None => return Poll::Ready(Err(Reason::STREAM_CLOSED.into())),
                },
                room => room,
            };
            let part = piece.split_to(room.min(piece.len()));
            if !piece.has_remaining() {
                self.pending.pop_front();
            }
            self.waiting = None;
            let last = self.whole && self.pending.is_empty();
            self.sender.send_data(part, last)?;
            self.ended |= last;
        }
        if self.whole && !self.ended && !self.deaf {
            self.ended = true;
            self.sender.send_data(Bytes::new(), true)?;
        }
        Poll::Ready(Ok(()))
    }

    /// The next event; after [`Event::End`] and after a failure there is nothing more.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Event, Failure>> {
        if self.cut {
            self.sender.send_reset(Reason::CANCEL);
            let error = io::Error::new(io::ErrorKind::InvalidInput, SHORT);
            return Poll::Ready(Err(Failure { kind: FailureKind::Broken(error), is_stale: false }));
        }
        let is_sent = self.poll_room(context).is_ready();
        match self.poll_event(context) {
            Poll::Ready(Ok(event)) => {
                self.waiting = None;
                return Poll::Ready(Ok(event));
            }
            Poll::Ready(Err(failure)) => return Poll::Ready(Err(failure)),
            Poll::Pending => {}
        }
        if is_sent && self.wants_body() {
            self.waiting = None;
            return Poll::Pending;
        }
        let since = *self.waiting.get_or_insert_with(Instant::now);
        ready!(self.timer.poll_due(since + self.timeout, context));
        self.sender.send_reset(Reason::CANCEL);
        Poll::Ready(Err(Failure { kind: FailureKind::Timeout, is_stale: false }))
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Result<Event, Failure>> {
        loop {
            match &mut self.state {
                State::Head(answer) => {
                    if let Poll::Ready(Some(early)) = answer.poll_informational(context) {
                        let early = early.map_err(|error| self.failed(&error))?;
                        return Poll::Ready(self.early(early.status().as_u16(), early.headers()));
                    }
                    let answer = ready!(Pin::new(answer).poll(context));
                    let (parts, body) = answer.map_err(|error| self.failed(&error))?.into_parts();
                    self.state = State::Body(body);
                    return Poll::Ready(self.said(parts.status.as_u16(), &parts.headers).map(Event::Head));
                }
                State::Body(body) => match ready!(body.poll_data(context)) {
                    Some(Ok(piece)) if piece.is_empty() => {}
                    Some(Ok(piece)) => {
                        // It has been taken by whoever sends it on, one piece at a time.
                        let released = body.flow_control().release_capacity(piece.len());
                        released.map_err(|error| self.failed(&error))?;
                        return Poll::Ready(Ok(Event::Body(piece)));
                    }
                    Some(Err(error)) => return Poll::Ready(Err(self.failed(&error))),
                    None => {
                        if let State::Body(body) = std::mem::replace(&mut self.state, State::Over) {
                            self.state = State::Trailers(body);
                        }
                    }
                },
                State::Trailers(body) => {
                    let fields = ready!(body.poll_trailers(context)).map_err(|error| self.failed(&error))?;
                    self.state = State::Over;
                    if let Some(fields) = fields.filter(|fields| !fields.is_empty()) {
                        return Poll::Ready(Ok(Event::Trailers(trailers(&fields))));
                    }
                }
                State::Over => return Poll::Ready(Ok(Event::End)),
            }
        }
    }

    fn early(&mut self, status: u16, fields: &http::HeaderMap) -> Result<Event, Failure> {
        self.interim += 1;
        if self.interim > MOST_INTERIM {
            return Err(malformed(Malformed::Interim));
        }
        self.said(status, fields).map(Event::Interim)
    }

    fn said(&self, status: u16, fields: &http::HeaderMap) -> Result<ServerAnswer, Failure> {
        let bytes = said(status, fields);
        let head = answer::parse(&bytes, &self.limits).map_err(|error| malformed(error.into()))?;
        // What is put together here has its end.
        let head = head.ok_or_else(|| malformed(Malformed::Interim))?;
        Ok(ServerAnswer { head, bytes })
    }

    /// A request that the server has refused (RFC 9113 §8.7), or that came after its farewell, it has not seen.
    fn failed(&self, error: &h2::Error) -> Failure {
        let is_gone = error.is_io() || error.is_go_away();
        if is_gone {
            self.seat.0.closed.set(true);
        }
        let unseen = error.reason() == Some(Reason::REFUSED_STREAM);
        let begun = !matches!(self.state, State::Head(_));
        let is_stale = !begun && (unseen || is_gone && self.was_used);
        Failure { kind: kind_of(error), is_stale }
    }
}

/// A server that says that it does not go on has not answered properly; a connection that breaks is no answer at all.
pub(super) fn kind_of(error: &h2::Error) -> FailureKind {
    match error.is_remote() && (error.is_reset() || error.is_go_away()) {
        true => FailureKind::Reset(error.to_string()),
        false => FailureKind::Broken(io::Error::other(error.to_string())),
    }
}

const fn malformed(why: Malformed) -> Failure {
    Failure { kind: FailureKind::Malformed(why), is_stale: false }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("seat", &self.seat).finish_non_exhaustive()
    }
}
