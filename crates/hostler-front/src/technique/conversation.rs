//! A conversation with a worker about one request, which only answers: the request's body goes to it while its answer
//! comes, and its log lines are written.

use crate::io::body::RequestBody;
use crate::request::Request;
use crate::technique::reply::Head;
use crate::technique::said::Said;
use crate::technique::upload::Upload;
use bytes::Bytes;
use hostler_gateway::backend::ring::{Exchange, Frame};
use hostler_gateway::{Error, Kind};
use hostler_wire::work::{FromWorker, Outcome};
use std::future::poll_fn;
use std::task::{Context, Poll, Waker, ready};

/// Longest cause that a worker may give for an answer that broke off, in bytes.
const LONGEST_CAUSE: usize = 8 << 10;

/// What a worker has said.
pub(crate) enum Event {
    Head(Box<Head>),
    Body(Bytes),
    Finished(End),
}

/// How its work has ended.
pub(crate) enum End {
    Done,
    Status(u16),
    Broken(String),
}

/// A conversation.
pub(crate) struct Conversation {
    exchange: Exchange,
    upload: Upload,
    said: Said,
}

impl Conversation {
    /// `module`: whose lines those are which the worker writes to the log.
    pub(crate) fn new(exchange: Exchange, body: Option<RequestBody>, module: &'static str) -> Self {
        Self { exchange, upload: Upload::of(body), said: Said::by(module) }
    }

    /// Whether nothing has come only because it is the others' turn.
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
            let frame = match ready!(self.exchange.poll_next(context)) {
                Some(frame) => frame?,
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
            FromWorker::End { .. } => return Err(lied("it ended a request that it had not answered")),
            FromWorker::ReadBody(_) | FromWorker::Own(_) => {
                return Err(lied("it has asked what it may not ask"));
            }
        }))
    }

    /// The answer is there; the worker may still be at what comes after it. What it writes is logged.
    pub(crate) fn part(mut self, request: &Request) {
        let mut context = Context::from_waker(Waker::noop());
        loop {
            match self.exchange.poll_next(&mut context) {
                Poll::Ready(Some(Ok(frame))) => self.write_rest(request, &frame),
                Poll::Ready(_) => return,
                Poll::Pending => break,
            }
        }
        let request = request.for_log();
        tokio::task::spawn_local(async move {
            while let Some(Ok(frame)) = poll_fn(|context| self.exchange.poll_next(context)).await {
                self.write_rest(&request, &frame);
            }
        });
    }

    fn write_rest(&self, request: &Request, frame: &Frame) {
        let said = FromWorker::decode(frame.kind, &frame.body);
        if let Ok(FromWorker::Log { severity, virtual_host, text }) = said {
            self.said.log(request, severity, virtual_host, text);
        }
    }
}

fn end(outcome: &Outcome<'_>) -> Result<End, Error> {
    Ok(match outcome {
        Outcome::Done => End::Done,
        Outcome::Status(status) => End::Status(*status),
        Outcome::Broken(why) => {
            End::Broken(String::from_utf8_lossy(&why[..why.len().min(LONGEST_CAUSE)]).into_owned())
        }
        Outcome::Declined | Outcome::Redirect(_) | Outcome::Verdict(_) => {
            return Err(lied("it has answered what nobody has asked"));
        }
    })
}

fn lied(how: &'static str) -> Error {
    Error::because(Kind::WorkerLied, how)
}
