//! One request's conversation with its worker.

use super::place::Channel;
use super::step::{Failure, Step, step};
use super::thread::{self, Entry};
use super::{Cutter, Frame, Pool, RunningRequest, Unsent};
use crate::backend::Request as _;
use crate::backend::turn::Turn;
use crate::pool::WorkerId;
use crate::{Error, Kind};
use hostler_wire::work::{FromWorker, ToWorker};
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, ready};

/// The conversation with a worker about one request, on the thread where it began. To be polled by one task.
///
/// It should be read to its end: `End` comes when the worker has done its cleanup, after the answer is complete.
/// Dropped before that, the request is abandoned ([`OnAbandon`]): its worker serves nobody else until it has finished,
/// and is killed when that takes longer than it may.
///
/// [`OnAbandon`]: crate::backend::OnAbandon
pub struct Exchange {
    begun: RunningRequest,
    /// The channel's slot in this thread.
    slot: usize,
    cutter: Cutter,
    unsent: Unsent,
    over: bool,
    /// The answer is complete.
    finished: bool,
    /// Something has been said beyond the request itself, or come back: it can't be given to another worker.
    bound: bool,
    /// The worker has died before it took the request: another is waited for.
    again: Option<Again>,
    /// More of the request's body is to come: as long as all that has come is the worker's, it is the client's turn.
    uploading: bool,
    /// The whole request has been said, or is in [`Self::unsent`].
    whole: bool,
    /// Configurations that the worker has been told by it, after that of the request itself.
    defined: Vec<u32>,
    /// Bytes of answers among what has not gone, at most.
    answers: usize,
    /// A writer found no room and is to be woken when there is some.
    awaits_room: bool,
    /// The input it was given since it last had to wait.
    turn: Turn,
    /// Slots are a thread's own.
    not_send: PhantomData<Rc<()>>,
}

type Again = Pin<Box<dyn Future<Output = Result<RunningRequest, Error>>>>;

/// Configurations that a conversation remembers to have told; beyond that it tells them again.
const DEFINED: usize = 1024;

impl Exchange {
    pub(super) fn new(begun: RunningRequest) -> Self {
        begun.pool.counters.begun.fetch_add(1, Relaxed);
        Self::with(begun)
    }

    fn with(mut begun: RunningRequest) -> Self {
        let uploading = begun.work.has_body();
        let place = begun.place.take();
        let over = place.is_none();
        let (slot, cutter, unsent) = match place {
            Some(Channel { channel, cutter, unsent, .. }) => {
                (thread::enter(Entry::new(channel, &begun)), cutter, unsent)
            }
            None => (usize::MAX, Cutter::default(), Unsent::default()),
        };
        Self {
            begun,
            slot,
            cutter,
            unsent,
            over,
            finished: false,
            bound: false,
            again: None,
            uploading,
            whole: !uploading,
            answers: 0,
            awaits_room: false,
            turn: Turn::default(),
            defined: Vec::new(),
            not_send: PhantomData,
        }
    }

    /// The next message, the last of which is `End`; then `None`. After an error there is nothing more.
    ///
    /// After many in a row there is none for a while, so that a worker that never stops takes no more than its turn:
    /// see [`Self::rests`].
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame, Error>>> {
        loop {
            if self.turn.is_over() {
                self.turn.end(context);
                return Poll::Pending;
            }
            self.turn.rests = false;
            match self.poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.turn.spend(frame.body.len());
                    if frame.kind != FromWorker::BODY || !frame.body.is_empty() {
                        return Poll::Ready(Some(Ok(frame)));
                    }
                }
                Poll::Pending => {
                    self.turn = Turn::default();
                    return Poll::Pending;
                }
                done => return done,
            }
        }
    }

    /// Returns whether the request is run to its end when this is dropped.
    #[must_use]
    pub fn runs_to_end(&self) -> bool {
        self.begun.runs_on()
    }

    /// Returns whether [`Self::poll_next`] has given nothing because it was the others' turn, not because nothing is
    /// there.
    #[must_use]
    pub fn rests(&self) -> bool {
        self.turn.rests
    }

    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame, Error>>> {
        if let Some(again) = &mut self.again {
            let begun = ready!(again.as_mut().poll(context));
            self.again = None;
            match begun {
                Ok(begun) => {
                    let (told, bound) = (std::mem::take(&mut self.unsent), self.bound);
                    let (uploading, whole, awaits_room) = (self.uploading, self.whole, self.awaits_room);
                    *self = Self::with(begun);
                    (self.bound, self.awaits_room) = (bound, awaits_room);
                    (self.uploading, self.whole) = (uploading, whole);
                    self.unsent.append(&told);
                }
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
        if self.over {
            return Poll::Ready(None);
        }
        let (cutter, unsent) = (&mut self.cutter, &mut self.unsent);
        let (uploading, answers, kept) = (self.uploading, self.answers, &self.begun.pool.common.kept);
        let step = thread::with(self.slot, |entry| {
            let step = step(entry, (cutter, kept), unsent, answers, context);
            if uploading && unsent.is_empty() {
                entry.waiting = None;
            }
            step
        });
        match step {
            None => Poll::Ready(None),
            Some(Step::Wait) => {
                // What had no room may have gone just now: then no room is waited for that the worker would tell of.
                if self.unsent.is_empty() && std::mem::take(&mut self.awaits_room) {
                    context.waker().wake_by_ref();
                }
                Poll::Pending
            }
            Some(Step::Frame(frame)) => {
                self.bound = true;
                match frame.kind {
                    FromWorker::END => self.end(&frame),
                    FromWorker::FINISHED => self.finished = true,
                    FromWorker::PRINTED => self.begun.worker.keep_line(&frame.body),
                    _ => {}
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Step::Fail(Failure::Died)) if self.may_begin_again() => self.poll_frame(context),
            Some(Step::Stuck) => {
                self.begin_again();
                self.begun.pool.clone().returned(&self.begun);
                self.poll_frame(context)
            }
            Some(Step::Fail(failure)) => Poll::Ready(Some(Err(self.fail(&failure)))),
        }
    }

    /// Returns whether the worker has died without having taken the request; it waits for another then.
    fn may_begin_again(&mut self) -> bool {
        if self.bound || thread::with(self.slot, |entry| entry.channel.take_back()) != Some(true) {
            return false;
        }
        self.begin_again();
        true
    }

    /// Waits for another worker.
    fn begin_again(&mut self) {
        drop(thread::leave(self.slot));
        self.over = true;
        self.unsent = Unsent::default();
        let (pool, work, since) = (self.begun.pool.clone(), self.begun.work.again(), self.begun.since);
        self.again = Some(Box::pin(async move { pool.wait_for_worker(work, since).await }));
    }

    /// The worker has asked for the body, which follows from now on: until its end the client may be the one to move.
    pub fn begin_upload(&mut self) {
        (self.uploading, self.whole) = (true, false);
    }

    /// Says something to the worker. What there is no room for is kept until there is: see [`Self::poll_room`].
    pub fn tell(&mut self, message: &ToWorker<'_>) {
        if self.over && self.again.is_none() {
            return;
        }
        self.bound = true;
        if let ToWorker::BodyEnd(complete) = message {
            (self.uploading, self.whole) = (false, *complete);
        }
        if matches!(message, ToWorker::Body(_) | ToWorker::BodyEnd(_)) {
            message.encode(self.unsent.buffer());
        } else {
            self.answer(|buffer| message.encode(buffer));
        }
        let unsent = &mut self.unsent;
        thread::with(self.slot, |entry| {
            entry.bind();
            entry.flush(unsent);
        });
    }

    /// Ready when all that was said has gone to the worker: time to read the next piece of the request's body.
    pub fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.again.is_some() {
            // Whoever polls the messages is woken when there is a worker.
            self.awaits_room = true;
            return Poll::Pending;
        }
        if self.over {
            return Poll::Ready(());
        }
        let unsent = &mut self.unsent;
        let ready = thread::with(self.slot, |entry| {
            entry.flush(unsent);
            let ready = unsent.is_empty() || entry.worker.is_dead() || entry.late;
            if !ready {
                entry.wait(context);
            }
            ready
        });
        self.awaits_room = ready == Some(false);
        if self.awaits_room { Poll::Pending } else { Poll::Ready(()) }
    }

    /// The answer to a request that stays with its worker ([`request_flag::STAYS`]) is complete, and a further trip of
    /// it may follow: dropped, it is abandoned after all.
    ///
    /// [`request_flag::STAYS`]: hostler_wire::work::request_flag::STAYS
    pub fn stay(&mut self) {
        self.finished = false;
    }

    /// Another trip of a request that stays: its configuration and its encoded head, as in [`super::Work`].
    pub fn again(&mut self, directory: &(u32, Arc<[u8]>), request: &[u8]) {
        if self.over {
            return;
        }
        // What the worker knows by others may be in a request that is placed behind this one, not read yet.
        let mut defines = false;
        if directory.0 != self.begun.work.directory.0 && !self.defined.contains(&directory.0) {
            if self.defined.len() == DEFINED {
                self.defined.clear();
            }
            self.defined.push(directory.0);
            defines = true;
        }
        self.answer(|buffer| {
            buffer.extend_from_slice(if defines { &directory.1 } else { &[] });
            buffer.extend_from_slice(request);
        });
        let unsent = &mut self.unsent;
        thread::with(self.slot, |entry| entry.flush(unsent));
    }

    fn answer(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.unsent.is_empty() {
            self.answers = 0;
        }
        let before = self.unsent.len();
        write(self.unsent.buffer());
        self.answers += self.unsent.len() - before;
    }

    /// Returns whether the worker is one of this pool.
    #[must_use]
    pub fn is_in(&self, pool: &Arc<Pool>) -> bool {
        Arc::ptr_eq(&self.begun.pool, pool)
    }

    /// No further trip comes: the worker may clean up in peace.
    pub fn release(&mut self) {
        self.tell(&ToWorker::Release);
        self.finished = true;
    }

    /// The worker's number and process id.
    #[must_use]
    pub fn worker(&self) -> (WorkerId, u32) {
        (self.begun.worker.id, self.begun.worker.pid.load(Relaxed))
    }

    /// The worker has said its last word: it is the pool's again.
    fn end(&mut self, frame: &Frame) {
        self.over = true;
        drop(thread::leave(self.slot));
        let RunningRequest { pool, worker, index, since, .. } = &self.begun;
        pool.counters.served.fetch_add(1, Relaxed);
        worker.ended.fetch_add(1, Relaxed);
        pool.counters.latency.add(since.elapsed());
        let (exits, micros) = match FromWorker::decode(frame.kind, &frame.body) {
            Ok(FromWorker::End { exits, micros }) => (exits, micros),
            _ => (false, u32::MAX),
        };
        pool.locked(|state, out| {
            state.usual.add(micros);
            state.finished(pool, worker.id, *index, exits, out);
        });
    }

    fn fail(&mut self, failure: &Failure) -> Error {
        self.over = true;
        drop(thread::leave(self.slot));
        let RunningRequest { pool, worker, since, .. } = &self.begun;
        let error = match failure {
            Failure::Died => match worker.death.get() {
                Some(death) => worker.died(*death, *since),
                None => Error::new(Kind::WorkerDied),
            },
            Failure::Late => self.about(Kind::WorkerTimeout, &format!(": {}", self.begun.work.timeout)),
            Failure::Violation(violation) => self.about(Kind::WorkerViolation, &format!(": {violation}")),
        };
        pool.counters.failed(error.kind);
        if !matches!(failure, Failure::Died) {
            pool.kill(worker.id);
        }
        error
    }

    fn about(&self, kind: Kind, what: &str) -> Error {
        let worker = &self.begun.worker;
        let mut error = Error::because(kind, format!("worker {}{what}", worker.pid.load(Relaxed)));
        error.last_lines = worker.lines_since(self.begun.since);
        error
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        if let Some(entry) = thread::leave(self.slot) {
            let (unsent, cutter) = (std::mem::take(&mut self.unsent), std::mem::take(&mut self.cutter));
            let channel = Channel {
                unsent,
                cutter,
                finished: self.finished,
                told: false,
                runs_on: false,
                channel: entry.channel,
            };
            self.begun.place = Some(channel);
            self.begun.whole = Some(self.whole);
            self.begun.behind &= !self.bound;
        }
    }
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("worker", &self.worker()).finish_non_exhaustive()
    }
}
