//! A conversation with a worker: the request's body goes to it while its answer comes, its log lines are written,
//! and its questions about other URLs are answered on the way.

use super::NAME;
use super::apply::Changes;
use super::nested::{Line, Turn, Within};
use super::questions;
use super::questions::{PendingAnswer, Sub, WorkerAnswer};
use crate::io::body::{BodyError, BodyStream, RequestBody};
use crate::log;
use crate::request::Request;
use crate::technique::conversation::part_with;
use crate::technique::directories::EncodedSettings;
use crate::technique::fast::Handover;
use crate::technique::reply::Head;
use crate::technique::said::LineLog;
use bytes::Bytes;
use hostler_gateway::backend::ring::{Exchange, Frame, Work};
use hostler_gateway::{Error, Kind};
use hostler_perl_frames::{FromPerl, Phase, PhaseSet, ToPerl};
use hostler_wire::work::{FromWorker, Outcome, ToWorker};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// The most looked-up requests that are kept to be run as they are; older ones are looked up again.
const KEPT: usize = 16;

/// Bytes of answers that are kept for them, in all.
const KEPT_BYTES: usize = 1 << 20;
/// Longest cause that a worker may give for an answer that broke off, in bytes.
const LONGEST_CAUSE: usize = 8 << 10;

/// A worker's message.
pub(super) enum Event {
    Head(Box<Head>),
    Body(Bytes),
    /// An interim response: status and fields.
    Early(u16, Vec<(Bytes, Bytes)>),
    Changes(Box<Changes>),
    /// Configuration to be added; the worker waits for what becomes of it.
    Configure(Box<Wish>),
    /// The additions to later phases, and the phase at which the trip stopped because of new configuration.
    Standing(PhaseSet, Option<Phase>),
    /// The request goes on as another one, and the worker waits for what becomes of it.
    Redirect(Onward),
    Finished(End),
}

/// As what a request goes on.
pub(super) struct Onward {
    /// URL-path with query.
    pub(super) target: Vec<u8>,
    /// It begins with this one's content type.
    pub(super) keeps_type: bool,
}

/// The end of its work.
pub(super) enum End {
    Done,
    Status(u16),
    Declined,
    Redirect(Vec<u8>),
    Broken(String),
    /// A provider's answer.
    Verdict(u16),
}

/// Lines of configuration that a program adds.
pub(super) struct Wish {
    pub(super) text: Bytes,
    /// Apache's `OR_` bits.
    pub(super) overrides: u32,
    /// The phase that runs.
    pub(super) phase: u8,
}

/// The source of a part of another response.
enum Other {
    /// A sub-request's, with its status.
    Part(u16),
    /// The request that continues in its place.
    Next(Box<Request>),
}

/// A conversation.
pub(crate) struct Conversation {
    line: Rc<Line>,
    /// It is one inside of another, which goes on afterwards.
    is_inside: bool,
    turn: Option<Turn>,
    question: Option<PendingAnswer>,
    /// The looked-up requests.
    subs: VecDeque<Box<Sub>>,
    /// The answer of another request, which goes into this one's.
    spliced: Option<(Box<dyn BodyStream>, Other)>,
    /// Messages that somebody else has taken, still to be looked at.
    taken: VecDeque<Frame>,
    /// The error after those.
    failed: Option<Error>,
}

impl Conversation {
    pub(super) fn new(exchange: Exchange, body: Option<RequestBody>) -> Self {
        Self::around(exchange, body, None)
    }

    /// One about a request that has a place in a conversation with a worker of another pool (`outer`).
    pub(super) fn around(exchange: Exchange, body: Option<RequestBody>, outer: Option<Within>) -> Self {
        let line = Line::new(exchange);
        line.set_upload(body);
        line.set_outer(outer);
        Self::on(line)
    }

    fn on(line: Rc<Line>) -> Self {
        Self {
            line,
            is_inside: false,
            turn: None,
            question: None,
            subs: VecDeque::new(),
            spliced: None,
            taken: VecDeque::new(),
            failed: None,
        }
    }

    /// One inside of another, whose trip has begun. The body is that one's.
    pub(super) fn inside(line: Rc<Line>, turn: Turn) -> Self {
        Self { is_inside: true, turn: Some(turn), ..Self::on(line) }
    }

    /// Goes on with one that the fast path has begun.
    pub(super) fn taken_over(taken: Handover) -> Self {
        let Handover { exchange, frames, failed } = taken;
        Self { taken: frames.into_iter().collect(), failed, ..Self::new(exchange, None) }
    }

    /// Another trip of a request that stays with its worker.
    pub(super) fn again(self, work: &Work, body: Option<RequestBody>) -> Self {
        self.line.set_waits(false);
        self.line.exchange().again(&work.directory, &work.request);
        self.line.set_upload(body);
        Self { subs: self.subs, ..Self::on(self.line) }
    }

    /// The first trip of the request that goes on in the place of the one that stayed. What that one has looked up is
    /// its own.
    pub(super) fn instead(self, work: &Work, body: Option<RequestBody>) -> Self {
        Self { subs: VecDeque::new(), ..self.again(work, body) }
    }

    /// One trip is over; the worker waits for another.
    pub(super) fn stay(&mut self) {
        self.line.set_waits(true);
        self.line.exchange().stay();
    }

    /// The request goes on as another: the worker is told how that was answered, and finishes what it is at.
    pub(super) fn tell_next(&mut self, next: &Request) {
        self.line.set_waits(false);
        questions::tell_next(next, &mut self.line.exchange());
    }

    /// The same where the answer has begun, or is a part of another's: what the other request is answered comes next in
    /// it.
    pub(super) fn splice(&mut self, request: &Request, onward: Onward) {
        self.question = Some(questions::go_on(&self.line, request, onward));
    }

    /// Returns whether nothing has come only because it is the others' turn.
    pub(super) fn rests(&self) -> bool {
        self.line.exchange().rests()
    }

    /// Returns whether it is inside of another.
    pub(super) fn is_inside(&self) -> bool {
        self.is_inside
    }

    /// The place of the request that goes on in this one's.
    pub(super) fn next_of(&self, request: &Request) -> Within {
        Within::asker(&self.line, request).redirected()
    }

    /// The place of a sub-request that is made while the worker waits.
    pub(super) fn part_of(&self) -> Within {
        Within::of_main(&self.line).sub()
    }

    /// There will be no other: the worker ends the request once it has said what it is saying.
    pub(super) fn release(&mut self) {
        self.line.set_waits(false);
        self.line.exchange().release();
    }

    /// The next thing said. After an error, or after [`Event::Finished`], there is nothing more.
    pub(super) fn poll_event(
        &mut self,
        request: &Request,
        context: &mut Context<'_>,
    ) -> Poll<Result<Event, Error>> {
        loop {
            if let Err(error) = self.line.poll_upload(context) {
                return Poll::Ready(Err(error));
            }
            if let Some(piece) = ready!(self.poll_question(request, context)) {
                return Poll::Ready(Ok(Event::Body(piece)));
            }
            if self.taken.is_empty()
                && let Some(error) = self.failed.take()
            {
                return Poll::Ready(Err(error));
            }
            if self.line.is_torn() {
                return Poll::Ready(Err(lied("a part of it was given up before it was complete")));
            }
            let next = match self.taken.pop_front() {
                Some(frame) => Some(Ok(frame)),
                None => ready!(self.line.exchange().poll_next(context)),
            };
            let frame = match next {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => return Poll::Ready(Err(lied("it ended a request that it had not answered"))),
            };
            if let Some(event) = self.take(request, frame)? {
                return Poll::Ready(Ok(event));
            }
        }
    }

    fn take(&mut self, request: &Request, frame: Frame) -> Result<Option<Event>, Error> {
        let message = frame.body;
        let said = FromWorker::decode(frame.kind, &message).map_err(|_| lied("a message is malformed"))?;
        let event = match said {
            FromWorker::Body(_) if message.is_empty() => return Ok(None),
            FromWorker::Body(_) => Event::Body(message),
            FromWorker::Head(head) => Event::Head(Box::new(Head::of(&message, &head)?)),
            FromWorker::Finished(outcome) => {
                match self.turn.take() {
                    Some(turn) => turn.finish(),
                    // Nothing more of the request's body is wanted.
                    None => self.line.set_upload(None),
                }
                Event::Finished(end(&outcome))
            }
            FromWorker::Log { severity, virtual_host, text } => {
                self.line.said.log(request, severity, virtual_host, text);
                return Ok(None);
            }
            FromWorker::Printed(line) => {
                self.line.said.print(request, line);
                return Ok(None);
            }
            FromWorker::ReadBody(most) => {
                self.question = Some(questions::read_body(request.target.body.clone(), most));
                return Ok(None);
            }
            FromWorker::Own(own) => {
                let own = FromPerl::decode(own).map_err(|_| lied("a message is malformed"))?;
                return Ok(self.take_own(request, &message, own));
            }
            FromWorker::End { .. } => return Err(lied("it ended a request that it had not answered")),
        };
        Ok(Some(event))
    }

    fn take_own(&mut self, request: &Request, message: &Bytes, own: FromPerl<'_>) -> Option<Event> {
        Some(match own {
            FromPerl::Changes(changes) => Event::Changes(Box::new(Changes::of(message, &changes))),
            FromPerl::LookUp { method, target, file } => {
                self.line.set_waits(true);
                self.question = Some(questions::look_up(&self.line, request, method, target, file));
                return None;
            }
            FromPerl::Run { target, id, changes } => {
                self.line.set_waits(true);
                let place = self.subs.iter().position(|sub| sub.is(id));
                let sub = place.and_then(|place| self.subs.remove(place));
                let changes = changes.map(|changes| Changes::of(message, &changes));
                self.question = Some(match sub {
                    Some(sub) => questions::run(sub, changes),
                    None => questions::run_anew(&self.line, request, target),
                });
                return None;
            }
            FromPerl::Configure { text, overrides, phase } => {
                let text = message.slice_ref(text);
                Event::Configure(Box::new(Wish { text, overrides, phase }))
            }
            FromPerl::Standing { pushed, stopped } => Event::Standing(pushed, stopped),
            FromPerl::Early { status, fields } => {
                let owned = |bytes| message.slice_ref(bytes);
                Event::Early(
                    status,
                    fields.into_iter().map(|(name, value)| (owned(name), owned(value))).collect(),
                )
            }
            FromPerl::Redirect { target, keeps_type } => {
                self.line.set_waits(true);
                Event::Redirect(Onward { target: target.to_vec(), keeps_type })
            }
        })
    }

    /// Moves an open question on; a piece of body if its answer has one.
    fn poll_question(&mut self, request: &Request, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(question) = &mut self.question {
            let answered = ready!(question.as_mut().poll(context));
            self.question = None;
            match answered {
                WorkerAnswer::LookedUp(sub) => {
                    self.line.set_waits(false);
                    sub.tell(&mut self.line.exchange());
                    self.keep(sub);
                }
                WorkerAnswer::Ran(body, status) => self.spliced = Some((body, Other::Part(status))),
                WorkerAnswer::Read(piece) => self.tell_piece(piece),
                WorkerAnswer::WentOn(body, next) => self.spliced = Some((body, Other::Next(next))),
            }
        }
        let Some((stream, _)) = &mut self.spliced else { return Poll::Ready(None) };
        match ready!(stream.poll_chunk(context)) {
            Some(Ok(piece)) => Poll::Ready(Some(piece)),
            end => {
                let broken = matches!(end, Some(Err(_)));
                if let Some(Err(error)) = end {
                    log::request(
                        request,
                        log::Severity::Error,
                        super::engine(request).log,
                        &format!("a sub-request broke off: {error}"),
                    );
                }
                let other = self.spliced.take().map(|(_, other)| other);
                self.line.set_waits(false);
                match other {
                    Some(Other::Next(next)) => self.tell_next(&next),
                    Some(Other::Part(status)) if !broken => {
                        questions::tell(&mut self.line.exchange(), &ToPerl::Ran(status));
                    }
                    _ => questions::tell(&mut self.line.exchange(), &ToPerl::Ran(500)),
                }
                Poll::Ready(None)
            }
        }
    }

    /// Keeps what was looked up, and forgets older ones that are too many, or too large together.
    fn keep(&mut self, sub: Box<Sub>) {
        self.subs.truncate(KEPT - 1);
        self.subs.push_front(sub);
        let mut bytes = 0;
        let fitting = self.subs.iter().take_while(|sub| {
            bytes += sub.bytes();
            bytes <= KEPT_BYTES
        });
        let fitting = fitting.count().max(1);
        self.subs.truncate(fitting);
    }

    /// A piece of the request's body, or its end, as the worker has asked for it.
    fn tell_piece(&mut self, piece: Option<Result<Bytes, BodyError>>) {
        let mut exchange = self.line.exchange();
        match piece {
            Some(Ok(piece)) => exchange.tell(&ToWorker::Body(&piece)),
            None => exchange.tell(&ToWorker::BodyEnd(true)),
            Some(Err(error)) => {
                exchange.tell(&ToWorker::BodyEnd(false));
                self.failed = Some(Error::from(&error));
            }
        }
    }

    /// Reports the outcome of configuration that was to be added.
    pub(super) fn tell_configured(&mut self, outcome: Result<Rc<EncodedSettings>, String>) {
        let mut message = Vec::with_capacity(64);
        match outcome {
            Ok(known) => {
                ToPerl::Configured(Ok(known.id)).encode(&mut message);
                self.line.exchange().again(&(known.id, known.message.clone()), &message);
            }
            Err(why) => {
                questions::tell(&mut self.line.exchange(), &ToPerl::Configured(Err(why.as_bytes())));
            }
        }
    }

    /// The answer is there; the worker may still be at its Log and Cleanup handlers. What they write is logged.
    pub(super) fn part(self, request: &Request) {
        if !self.is_inside {
            let line = self.line;
            let said = LineLog::by(NAME, &line.exchange());
            part_with(move |context| line.exchange().poll_next(context), request, said);
        }
    }
}

fn end(outcome: &Outcome<'_>) -> End {
    match outcome {
        Outcome::Done => End::Done,
        Outcome::Status(status) => End::Status(*status),
        Outcome::Declined => End::Declined,
        Outcome::Redirect(target) => End::Redirect(target.to_vec()),
        Outcome::Broken(why) => {
            End::Broken(String::from_utf8_lossy(&why[..why.len().min(LONGEST_CAUSE)]).into_owned())
        }
        Outcome::Verdict(said) => End::Verdict(*said),
    }
}

fn lied(how: &'static str) -> Error {
    Error::because(Kind::WorkerViolation, how)
}
