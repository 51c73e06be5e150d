//! A conversation with a worker about one request, in one trip: the request's body goes to it while its answer comes, its
//! log lines are written, and what it asks is answered ([`super::dialect`]).

use crate::io::body::{Body, BodyStream, RequestBody};
use crate::request::Request;
use crate::technique::dialect::{Answer, Dialect, LogNotes, Own, PendingAnswer};
use crate::technique::fast::Handover;
use crate::technique::reply::Head;
use crate::technique::said::LineLog;
use crate::technique::upload::Upload;
use bytes::Bytes;
use hostler_config::technique::Engine;
use hostler_gateway::backend::ring::{Exchange, Frame};
use hostler_gateway::{Error, Kind};
use hostler_wire::work::{FromWorker, Outcome, ToWorker};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker, ready};

/// Longest cause that a worker may give for an answer that broke off, in bytes.
const LONGEST_CAUSE: usize = 8 << 10;

/// A worker's message.
pub(crate) enum Event {
    Head(Box<Head>),
    Body(Bytes),
    /// For the logs.
    Logged(Box<LogNotes>),
    Finished(End),
}

/// The end of its work.
pub(crate) enum End {
    Done,
    Status(u16),
    /// It goes on as a request for this local URL.
    Redirect(Vec<u8>),
    Broken(String),
}

/// A conversation.
pub(crate) struct Conversation {
    exchange: Exchange,
    upload: Upload,
    /// The worker may ask for the body.
    asks_body: bool,
    said: LineLog,
    /// Messages that somebody else has taken, still to be looked at.
    taken: VecDeque<Frame>,
    /// The error after those.
    failed: Option<Error>,
    dialect: Option<&'static dyn Dialect>,
    /// The worker's question, while the answer is being found, and the part of that for its own response.
    question: Option<PendingAnswer>,
    part: Option<Part>,
    /// The end of the response.
    tail: Option<Body>,
}

/// A part of the request's own response, and the message to the worker when it was sent, or has failed.
struct Part {
    body: Box<dyn BodyStream>,
    told: Vec<u8>,
    broken: Vec<u8>,
}

impl Conversation {
    /// With a worker of this engine.
    pub(crate) fn new(
        exchange: Exchange,
        body: Option<RequestBody>,
        engine: &Engine,
        dialect: Option<&'static dyn Dialect>,
    ) -> Self {
        Self {
            said: LineLog::by(engine.log, &exchange),
            exchange,
            upload: Upload::of(body),
            asks_body: false,
            taken: VecDeque::new(),
            failed: None,
            dialect,
            question: None,
            part: None,
            tail: None,
        }
    }

    /// The same; the worker asks for the body.
    pub(crate) fn withholding(self, body: Option<RequestBody>) -> Self {
        Self { upload: Upload::withheld(body), asks_body: true, ..self }
    }

    /// Goes on with one that the fast path has begun.
    pub(crate) fn taken_over(
        taken: Handover,
        engine: &Engine,
        dialect: Option<&'static dyn Dialect>,
    ) -> Self {
        let Handover { exchange, frames, failed } = taken;
        Self { taken: frames.into_iter().collect(), failed, ..Self::new(exchange, None, engine, dialect) }
    }

    /// Takes the end of the response that does not come from the worker.
    pub(crate) fn take_tail(&mut self) -> Option<Body> {
        self.tail.take()
    }

    /// Returns whether the worker runs its request to its end if its client leaves, and is told of that.
    pub(crate) fn runs_to_end(&self) -> bool {
        self.exchange.runs_to_end()
    }

    /// Returns whether nothing has come only because it is the others' turn.
    pub(crate) fn rests(&self) -> bool {
        self.exchange.rests()
    }

    /// The next thing said. After an error, or after [`Event::Finished`], there is nothing more.
    pub(crate) fn poll_event(
        &mut self,
        request: &Request,
        context: &mut Context<'_>,
    ) -> Poll<Result<Event, Error>> {
        loop {
            self.upload.poll(&mut self.exchange, context)?;
            if let Some(piece) = ready!(self.poll_question(context)) {
                return Poll::Ready(Ok(Event::Body(piece)));
            }
            let frame = match self.taken.pop_front() {
                Some(frame) => frame,
                None => ready!(self.poll_frame(context))?,
            };
            if let Some(event) = self.take(request, frame)? {
                return Poll::Ready(Ok(event));
            }
        }
    }

    /// Gives what of the answer to a question becomes a part of the request's own; `None`: nothing is asked.
    fn poll_question(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if let Some(part) = &mut self.part {
                let piece = ready!(part.body.poll_chunk(context));
                if let Some(Ok(piece)) = piece {
                    if piece.is_empty() {
                        continue;
                    }
                    return Poll::Ready(Some(piece));
                }
                let Some(Part { told, broken, .. }) = self.part.take() else { continue };
                self.exchange.tell(&ToWorker::Own(if piece.is_some() { &broken } else { &told }));
                continue;
            }
            let Some(question) = &mut self.question else { return Poll::Ready(None) };
            let Answer { part, told, broken, tail } = ready!(question.as_mut().poll(context));
            self.question = None;
            self.tail = tail;
            match part {
                Some(body) => self.part = Some(Part { body, told, broken }),
                None => self.exchange.tell(&ToWorker::Own(&told)),
            }
        }
    }

    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Result<Frame, Error>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Err(error));
        }
        let unanswered = || Err(lied("it ended a request that it had not answered"));
        Poll::Ready(ready!(self.exchange.poll_next(context)).unwrap_or_else(unanswered))
    }

    fn take(&mut self, request: &Request, frame: Frame) -> Result<Option<Event>, Error> {
        let message = frame.body;
        let said = FromWorker::decode(frame.kind, &message).map_err(|_| lied("a message is malformed"))?;
        Ok(Some(match said {
            FromWorker::Body(_) if message.is_empty() => return Ok(None),
            FromWorker::Body(_) => Event::Body(message),
            FromWorker::Head(head) => Event::Head(Box::new(Head::of(&message, &head)?)),
            FromWorker::Finished(outcome) => {
                // Nothing more of the request's body is wanted.
                self.upload = Upload::default();
                Event::Finished(end(&outcome)?)
            }
            FromWorker::Log { severity, virtual_host, text } => {
                self.said.log(request, severity, virtual_host, text);
                return Ok(None);
            }
            FromWorker::Printed(line) => {
                self.said.print(request, line);
                return Ok(None);
            }
            FromWorker::End { .. } => return Err(lied("it ended a request that it had not answered")),
            FromWorker::Own(own) => {
                let own = message.slice_ref(own);
                match self.dialect.ok_or_else(forbidden)?.meaning(request, &own)? {
                    Own::Told => return Ok(None),
                    Own::Logged(logged) => Event::Logged(logged),
                    Own::PendingAnswer(question) => {
                        self.question = Some(question);
                        return Ok(None);
                    }
                }
            }
            FromWorker::ReadBody(_) if self.asks_body => {
                if self.upload.release() {
                    self.exchange.begin_upload();
                }
                return Ok(None);
            }
            FromWorker::ReadBody(_) => return Err(forbidden()),
        }))
    }

    /// The answer is there; the worker may still be at what comes after it. What it writes is logged.
    pub(crate) fn part(self, request: &Request) {
        let Self { mut exchange, said, .. } = self;
        part_with(move |context| exchange.poll_next(context), request, said);
    }
}

/// The same, of one that had not become a conversation; `module`: whose lines those are that the worker writes.
pub(crate) fn part(mut exchange: Exchange, request: &Request, module: &'static str) {
    let said = LineLog::by(module, &exchange);
    part_with(move |context| exchange.poll_next(context), request, said);
}

/// The same, of whatever gives its messages.
pub(crate) fn part_with<F>(mut next: F, request: &Request, said: LineLog)
where
    F: FnMut(&mut Context<'_>) -> Poll<Option<Result<Frame, Error>>> + 'static,
{
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match next(&mut context) {
            Poll::Ready(Some(Ok(frame))) => write_rest(request, &frame, &said),
            Poll::Ready(_) => return,
            Poll::Pending => break,
        }
    }
    let request = request.for_log();
    tokio::task::spawn_local(async move {
        while let Some(Ok(frame)) = poll_fn(&mut next).await {
            write_rest(&request, &frame, &said);
        }
    });
}

fn write_rest(request: &Request, frame: &Frame, said: &LineLog) {
    match FromWorker::decode(frame.kind, &frame.body) {
        Ok(FromWorker::Log { severity, virtual_host, text }) => {
            said.log(request, severity, virtual_host, text);
        }
        Ok(FromWorker::Printed(line)) => said.print(request, line),
        _ => {}
    }
}

fn end(outcome: &Outcome<'_>) -> Result<End, Error> {
    Ok(match outcome {
        Outcome::Done => End::Done,
        Outcome::Status(status) => End::Status(*status),
        Outcome::Broken(why) => {
            End::Broken(String::from_utf8_lossy(&why[..why.len().min(LONGEST_CAUSE)]).into_owned())
        }
        Outcome::Redirect(target) if target.starts_with(b"/") => End::Redirect(target.to_vec()),
        Outcome::Declined | Outcome::Redirect(_) | Outcome::Verdict(_) => {
            return Err(lied("it has answered what nobody has asked"));
        }
    })
}

fn forbidden() -> Error {
    lied("it has asked what it may not ask")
}

fn lied(how: &'static str) -> Error {
    Error::because(Kind::WorkerViolation, how)
}
