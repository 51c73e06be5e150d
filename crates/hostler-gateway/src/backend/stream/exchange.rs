//! One request's conversation over a connection, on the thread where it began.

use super::connection::Connection;
use super::place::OpenSeat;
use super::{CutOff, Event, EventOf, Pool, Protocol, Streams, Work};
use crate::backend::timer::Timer;
use crate::backend::turn::Turn;
use crate::pool::ticket::RunningRequest;
use crate::pool::worker::Death;
use crate::{Error, Kind};
use bytes::Bytes;
use hostler_wire::site::Exit;
use std::io;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;

/// The time to wait for the exit of a program that has closed its connection, and the interval of checks.
const CAUSE: Duration = Duration::from_millis(200);
const LOOK: Duration = Duration::from_millis(5);

/// Connections without a request before this one that may be found closed before anything is said. A program that was
/// just ending closes one; one that closes them all is told the request all the same, and has failed.
const MOST_CLOSED: u32 = 1;

/// The conversation. To be polled by one task, and read to its end.
///
/// Dropped before that, the request is abandoned ([`OnAbandon`](crate::backend::OnAbandon)): its connection serves
/// nobody else until the program is done with it.
pub struct Exchange<P: Protocol> {
    begun: RunningRequest<Streams<P>>,
    /// `None`: it is over.
    open: Option<Open<P>>,
    timer: Timer,
    /// Its output in a row.
    turn: Turn,
    /// Since when it has been the program's turn.
    waiting: Option<Instant>,
    /// The connection was closed amid the answer, at this time: the cause may still come.
    broken: Option<(Error, Instant)>,
    /// A connection is registered with its thread's event loop.
    not_send: PhantomData<Rc<()>>,
}

struct Open<P: Protocol> {
    connection: Connection,
    answer: P::Answer,
    pending: Bytes,
    /// All of the request has been said.
    whole: bool,
    /// The program has said something.
    answered: bool,
    /// The connection was reset: its other end was closed before all was read that had been sent.
    reset: bool,
}

impl<P: Protocol> Pool<P> {
    /// Begins a request, first come, first served. Must be called on a thread's `LocalSet`. Dropping the future
    /// withdraws the request, unless it is to be run to its end all the same.
    ///
    /// # Errors
    /// [`Kind::QueueFull`], [`Kind::QueueTimeout`] (both tell when to try again), [`Kind::NotConnected`],
    /// [`Kind::System`].
    pub async fn begin(self: &Arc<Self>, mut work: Work<P::Ask>) -> Result<Exchange<P>, Error> {
        let since = std::time::Instant::now();
        let mut closed = 0;
        loop {
            let begun = match self.take_idle(work) {
                Ok(begun) => begun,
                Err(work) => {
                    if let Some(refusal) = self.refusal() {
                        return Err(refusal);
                    }
                    self.wait(work, since).await.inspect_err(|error| self.counters.failed(error.kind))?
                }
            };
            let is_new = !begun.worker.seat.was_used();
            match Exchange::open(begun, is_new && closed == MOST_CLOSED)? {
                Ok(exchange) => return Ok(exchange),
                Err(again) => work = again,
            }
            closed += u32::from(is_new);
        }
    }
}

impl<P: Protocol> Pool<P> {
    /// Begins a request on a connection that is idle; `None`: there is none, and [`Self::begin`] waits for one. Must be called
    /// on a thread's `LocalSet`.
    pub fn try_begin(self: &Arc<Self>, work: Work<P::Ask>) -> Option<Exchange<P>> {
        let begun = self.take_idle(work).ok()?;
        Exchange::open(begun, false).ok()?.ok()
    }
}

impl<P: Protocol> Exchange<P> {
    /// Begins to speak. The inner error: the connection was closed while it was idle, and the request is to get another
    /// one, unless this is its last.
    fn open(
        mut begun: RunningRequest<Streams<P>>,
        is_last: bool,
    ) -> Result<Result<Self, Work<P::Ask>>, Error> {
        let Some(mut taken) = begun.place.take() else { return Err(Error::new(Kind::System)) };
        if taken.socket.as_ref().is_none_or(|socket| !is_last && !socket.is_silent()) {
            taken.socket = None;
            let exits = taken.give_back();
            begun.pool.finished(begun.worker.id, begun.index, exits);
            return Ok(Err(begun.work.clone()));
        }
        let OpenSeat { socket, unsent, answer, pending, whole, .. } = taken;
        let socket = socket.ok_or_else(|| Error::new(Kind::System))?;
        let connection = match Connection::new(socket, unsent, begun.work.thread) {
            Ok(connection) => connection,
            Err(error) => {
                begun.worker.seat.tell_closed();
                begun.pool.finished(begun.worker.id, begun.index, true);
                return Err(error.into());
            }
        };
        begun.pool.counters.begun.fetch_add(1, Relaxed);
        let open = Some(Open { connection, answer, pending, whole, answered: false, reset: false });
        let (timer, turn, not_send) = (Timer::default(), Turn::default(), PhantomData);
        Ok(Ok(Self { begun, open, timer, turn, waiting: None, broken: None, not_send }))
    }

    /// The next event, the last of which is [`Event::End`]; then `None`. After an error there is nothing more; whether the
    /// request may be sent once more, it says (if it is one that may be sent twice at all). What has
    /// been given to [`Self::send`] goes on its way here, too.
    ///
    /// After many in a row there is none until others have had their turn: a program need never stop.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<EventOf<P>, Error>>> {
        if let Some((error, since)) = self.broken.take() {
            return self.poll_cause(error, since, context).map(|error| Some(Err(error)));
        }
        let Some(open) = &mut self.open else { return Poll::Ready(None) };
        match open.poll_event(context, &mut self.waiting, &mut self.turn) {
            Poll::Ready(Ok(event)) => {
                self.turn.spend(0);
                if matches!(event, Event::End { .. }) {
                    self.end();
                }
                Poll::Ready(Some(Ok(event)))
            }
            Poll::Ready(Err(error)) => {
                self.poll_cause(error, Instant::now(), context).map(|error| Some(Err(error)))
            }
            Poll::Pending => {
                self.turn = Turn::default();
                let Some(since) = self.waiting else { return Poll::Pending };
                match self.timer.poll_due(since + self.begun.work.timeout, context) {
                    Poll::Ready(()) => Poll::Ready(Some(Err(self.fail(Error::new(Kind::Timeout))))),
                    Poll::Pending => Poll::Pending,
                }
            }
        }
    }

    /// Says a piece of the request's body. What there is no room for is kept until there is: see [`Self::poll_room`].
    pub fn send(&mut self, piece: &[u8]) {
        if let Some(open) = &mut self.open
            && !piece.is_empty()
        {
            P::body(&mut open.answer, piece, open.connection.unsent().buffer());
        }
    }

    /// The request's body is complete.
    pub fn finish(&mut self) {
        if let Some(open) = self.open.as_mut().filter(|open| !open.whole) {
            P::body_end(&mut open.answer, open.connection.unsent().buffer());
            open.whole = true;
        }
    }

    /// Ready when all that was said has gone: time to read the next piece of the request's body.
    pub fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.open {
            // What went wrong the events tell.
            Some(open) => match open.poll_flush(context, &mut self.waiting) {
                // The next event that makes room wakes the task.
                Poll::Ready(Ok(())) if !P::has_room(&open.answer) => Poll::Pending,
                flushed => flushed.map(|_| ()),
            },
            None => Poll::Ready(()),
        }
    }

    /// The answer has ended.
    fn end(&mut self) {
        let pool = self.begun.pool.clone();
        pool.counters.served.fetch_add(1, Relaxed);
        pool.counters.latency.add(self.begun.since.elapsed());
        if let Some(mut taken) = self.taken() {
            let exits = taken.give_back();
            pool.finished(self.begun.worker.id, self.begun.index, exits);
        }
    }

    /// A program that is ours has mostly ended when its connection is closed: how, it takes a moment to learn.
    fn poll_cause(&mut self, error: Error, since: Instant, context: &mut Context<'_>) -> Poll<Error> {
        let worker = &self.begun.worker;
        let death = worker.death.get().copied();
        let now = Instant::now();
        if death.is_none()
            && error.kind == Kind::ConnectionClosed
            && worker.pid.load(Relaxed) != 0
            && now.duration_since(since) < CAUSE
            && self.timer.poll_due(now + LOOK, context).is_pending()
        {
            self.broken = Some((error, since));
            return Poll::Pending;
        }
        let is_closed = error.kind == Kind::ConnectionClosed;
        // A program that ends after so many requests, or time, may do so while the next one is on its way.
        let is_farewell = matches!(death, None | Some(Death::Exit(Exit::Status(0))));
        let answered = self.open.as_ref().is_some_and(|open| open.answered);
        let mut error = match death {
            Some(death) if is_closed => worker.died(death, self.begun.since),
            _ => error,
        };
        // Nor has one begun that has not read all of the request.
        let is_unread = self.open.as_ref().is_some_and(|open| open.reset);
        error.retry = is_closed && is_farewell && !answered && (worker.seat.was_used() || is_unread);
        Poll::Ready(self.fail(error))
    }

    fn fail(&mut self, error: Error) -> Error {
        let RunningRequest { pool, worker, index, .. } = &self.begun;
        self.open = None;
        worker.seat.tell_broken();
        pool.finished(worker.id, *index, true);
        pool.counters.failed(error.kind);
        error
    }

    /// The connection, without its place in the event loop.
    fn taken(&mut self) -> Option<OpenSeat<P>> {
        let Open { connection, answer, pending, whole, .. } = self.open.take()?;
        let (socket, unsent) = connection.into_parts();
        let seat = self.begun.worker.seat.clone();
        Some(OpenSeat { seat, socket, unsent, answer, pending, untouched: false, whole })
    }
}

impl<P: Protocol> Open<P> {
    fn poll_event(
        &mut self,
        context: &mut Context<'_>,
        waiting: &mut Option<Instant>,
        turn: &mut Turn,
    ) -> Poll<Result<EventOf<P>, Error>> {
        // A program need not read all of its input: what it has said counts, and how it goes on.
        let mut is_sent = self.poll_flush(context, waiting).is_ready();
        loop {
            if turn.is_over() {
                turn.end(context);
                return Poll::Pending;
            }
            let (before, had_room) = (self.pending.len(), P::has_room(&self.answer));
            let next = P::next(&mut self.answer, &mut self.pending);
            if !had_room && P::has_room(&self.answer) {
                // Whoever has the body waits for that.
                context.waker().wake_by_ref();
            }
            if self.reply() {
                if self.connection.unsent().is_too_much() {
                    let why = "it asks for ever more and reads nothing of it";
                    return Poll::Ready(Err(Error::because(Kind::ProtocolViolation, why)));
                }
                is_sent = self.poll_flush(context, waiting).is_ready();
                // Whoever has a further piece of the body may not have been told yet that there is room.
                context.waker().wake_by_ref();
            }
            match next {
                Ok(Some(event)) => {
                    *waiting = None;
                    return Poll::Ready(Ok(event));
                }
                // It has asked for something, and said more behind that.
                Ok(None) if !self.pending.is_empty() && self.pending.len() < before => {
                    turn.spend(0);
                    continue;
                }
                Ok(None) => {}
                Err(why) => return Poll::Ready(Err(Error::because(Kind::ProtocolViolation, why))),
            }
            match self.connection.poll_read(context) {
                Poll::Ready(Ok(bytes)) if bytes.is_empty() => {
                    let closed = P::closed(&mut self.answer);
                    return Poll::Ready(closed.map_err(|CutOff| Error::new(Kind::ConnectionClosed)));
                }
                Poll::Ready(Ok(bytes)) => {
                    self.answered = true;
                    turn.spend(bytes.len());
                    self.pending = bytes;
                }
                Poll::Ready(Err(error)) => {
                    self.reset |= error.kind() == io::ErrorKind::ConnectionReset;
                    return Poll::Ready(Err(Error::because(Kind::ConnectionClosed, error)));
                }
                // As long as all that has come of the body is the program's, it is the client's turn.
                Poll::Pending if is_sent && !self.whole && P::has_room(&self.answer) => {
                    *waiting = None;
                    return Poll::Pending;
                }
                Poll::Pending => {
                    waiting.get_or_insert_with(Instant::now);
                    return Poll::Pending;
                }
            }
        }
    }

    /// Says what the program has asked for, if it has.
    fn reply(&mut self) -> bool {
        let unsent = self.connection.unsent();
        let before = unsent.len();
        P::reply(&mut self.answer, unsent.buffer());
        self.connection.unsent().len() > before
    }

    fn poll_flush(
        &mut self,
        context: &mut Context<'_>,
        waiting: &mut Option<Instant>,
    ) -> Poll<io::Result<()>> {
        let before = self.connection.unsent().len();
        let flushed = self.connection.poll_flush(context);
        self.reset |= matches!(flushed, Poll::Ready(Err(_)));
        if self.connection.unsent().len() < before {
            *waiting = None;
        }
        flushed
    }
}

impl<P: Protocol> Drop for Exchange<P> {
    fn drop(&mut self) {
        if let Some(taken) = self.taken() {
            self.begun.whole = Some(taken.whole);
            self.begun.place = Some(taken);
        }
    }
}

impl<P: Protocol> std::fmt::Debug for Exchange<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("worker", &self.begun.worker.id).finish_non_exhaustive()
    }
}
