//! A request to a worker and its answer back, for techniques that only answer: one trip, without questions.

use crate::hook::registry::Later;
use crate::io::body::{Body, BodyError, BodyStream};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::Halt;
use crate::request::reply::Marks;
use crate::request::settings;
use crate::technique::begin::{self, Begin};
use crate::technique::conversation::{Conversation, End, Event};
use crate::technique::dialect::{Dialect, Late};
use crate::technique::fast::{self, Handover};
use crate::technique::framed;
use crate::technique::gathered::{AnswerPieces, Remains};
use crate::technique::head::{self, Texts};
use crate::technique::reply::FieldMerge;
use crate::technique::upload::is_withheld;
use crate::values::status;
use bytes::Bytes;
use hostler_config::technique::Engine;
use hostler_gateway::backend::ring::Work;
use hostler_gateway::backend::{OnAbandon, TimeLimit};
use hostler_gateway::{Error, Kind};
use hostler_wire::codec::Encoder;
use hostler_wire::work::{RequestHead, ToWorker, message, request_flag};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The most bytes of a response that are gathered so that its length is known before it is sent.
pub(crate) const WHOLE: usize = 64 << 10;

/// The longest time a program may continue after its client has left: programs do work of their own in requests that
/// nothing waits for (WordPress' cron).
pub(crate) const LONGEST_ALONE: Duration = Duration::from_secs(600);

/// Has the engine answer.
pub(crate) fn respond(request: &mut Request, ask: Ask) -> Later<'_, Result<Body, Halt>> {
    Box::pin(async move {
        let engine = ask.engine;
        let answer = trip(request, ask).await;
        let body = outcome(request, engine, answer)?;
        Ok(framed::take_off(request, body))
    })
}

/// The request to a pool.
pub(crate) struct Ask {
    /// The engine, which is also the module whose lines stand in the log.
    pub(crate) engine: &'static Engine,
    /// The messages that its workers may send beyond a response; `None`: none.
    pub(crate) dialect: Option<&'static dyn Dialect>,
    /// A process for this request alone.
    pub(crate) one_shot: bool,
    /// The group whose pool it is for, if the engine's programs are divided.
    pub(crate) group: Option<Arc<str>>,
    /// The time limit; `None`: `HostlerWorkerTimeout`.
    pub(crate) timeout: Option<TimeLimit>,
    /// The treatment of the request when its client leaves.
    pub(crate) on_abandon: OnAbandon,
    /// The merge of the response's fields with those that are set already.
    pub(crate) merge: FieldMerge,
    /// The number of the configuration, and the message that defines it.
    pub(crate) directory: (u32, Arc<[u8]>),
    /// `PATH_TRANSLATED`.
    pub(crate) translated: Option<Vec<u8>>,
    /// The handler's name, which may come from a media type.
    pub(crate) handler: &'static [u8],
}

fn outcome(request: &mut Request, engine: &Engine, answer: Result<Answer, Error>) -> Result<Body, Halt> {
    match answer {
        Ok(Answer::Body(body)) => Ok(body),
        // These have no body, and describe what would have been one with the program's fields.
        Ok(Answer::Ended(End::Status(status @ (204 | 304)))) => {
            request.reply.status = status;
            Ok(Body::Empty)
        }
        Ok(Answer::Ended(End::Done)) => Ok(Body::Empty),
        Ok(Answer::Ended(End::Status(status))) => Err(Halt::Status(status)),
        Ok(Answer::Ended(End::Redirect(target))) => {
            // Its body has been read, or is not wanted: the next request has none.
            request.target.headers_in.unset("Content-Length");
            Err(Halt::Redirect { method: Bytes::from_static(b"GET"), target })
        }
        Ok(Answer::Ended(End::Broken(why))) => {
            let said = format!("the answer broke off before it was sent: {why}");
            log::request(request, Severity::Error, engine.log, &said);
            Err(Halt::Status(500))
        }
        Err(error) => Err(fail(request, engine.log, &error)),
    }
}

enum Answer {
    /// The request's head is set; this is the body.
    Body(Body),
    /// Nothing was sent.
    Ended(End),
}

async fn trip(request: &mut Request, ask: Ask) -> Result<Answer, Error> {
    let Ask { engine, dialect, one_shot, group, timeout, on_abandon, merge, directory, translated, handler } =
        ask;
    let body = (!request.target.body.is_empty()).then(|| request.target.body.clone());
    let withholds = is_withheld(request);
    let asked = if withholds { request_flag::BODY_ASKED } else { 0 };
    let flags = head::flags(request) | asked | if body.is_some() { request_flag::BODY } else { 0 };
    let texts = Texts::of(request, translated);
    let head = head::common(request, engine, &texts, directory.0, flags, Some(handler));
    let timeout = timeout.unwrap_or_else(|| settings::worker_timeout(&request.server));
    let work = Work {
        thread: request.thread.index,
        directory: directory.clone(),
        request: encoded(&head),
        timeout,
        on_abandon,
    };
    let task =
        fast::Task { engine, one_shot, group: group.clone(), directory, texts, handler: Some(handler) };
    fast::remember(request, task, Rc::new(Answering { engine, dialect, timeout, on_abandon, merge }));
    let exchange =
        match begin::begin(&request.thread, &request.server, engine, one_shot, group.as_ref(), work) {
            Begin::Now(exchange) => exchange,
            Begin::Never(refusal) => return Err(refusal),
            Begin::Later(pool, work) => begin::later(request, &pool, work).await?,
        };
    let conversation = match withholds {
        true => Conversation::new(exchange, None, engine, dialect).withholding(body),
        false => Conversation::new(exchange, body, engine, dialect),
    };
    converse(request, conversation, merge).await
}

/// The message with which a worker is asked.
pub(crate) fn encoded(head: &RequestHead<'_>) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(1024);
    message(&mut encoded, ToWorker::REQUEST, |e: &mut Encoder<'_>| head.encode(e));
    encoded
}

/// The fast path of these techniques.
struct Answering {
    engine: &'static Engine,
    dialect: Option<&'static dyn Dialect>,
    timeout: TimeLimit,
    on_abandon: OnAbandon,
    merge: FieldMerge,
}

impl fast::Way for Answering {
    fn encoded(&self, _: &Request, head: RequestHead<'_>) -> Vec<u8> {
        encoded(&head)
    }

    fn timeout(&self, _: &Request) -> TimeLimit {
        self.timeout
    }

    fn on_abandon(&self, _: &Request) -> OnAbandon {
        self.on_abandon
    }

    fn goes_on_whole(&self) -> bool {
        true
    }

    fn go_on<'a>(
        &self,
        request: &'a mut Request,
        answer: Result<Handover, Error>,
    ) -> Later<'a, Result<Body, Halt>> {
        let (engine, dialect, merge) = (self.engine, self.dialect, self.merge);
        Box::pin(async move {
            let answer = match answer {
                Ok(taken) => {
                    let conversation = Conversation::taken_over(taken, engine, dialect);
                    converse(request, conversation, merge).await
                }
                Err(error) => Err(error),
            };
            outcome(request, engine, answer)
        })
    }
}

async fn converse(
    request: &mut Request,
    mut conversation: Conversation,
    merge: FieldMerge,
) -> Result<Answer, Error> {
    let (mut gathered, mut has_head) = (AnswerPieces::of(request), false);
    loop {
        let event = poll_fn(|context| match conversation.poll_event(request, context) {
            // What has come is passed on before more is waited for: a head that comes alone has been flushed by the program.
            Poll::Pending if has_head && !conversation.rests() => Poll::Ready(None),
            polled => polled.map(Some),
        });
        match event.await.transpose()? {
            Some(Event::Head(head)) if !has_head => {
                head.apply(request, merge, false);
                if request.reply.reason.is_none() && !status::has_line(request.reply.status) {
                    request.reply.marks.set(Marks::WITHOUT_LINE);
                }
                has_head = true;
            }
            Some(Event::Head(_)) => {
                return Err(Error::because(Kind::WorkerViolation, "it sent a second head"));
            }
            Some(Event::Body(piece)) => {
                gathered.push(piece);
                if gathered.exceeds(WHOLE) {
                    return Ok(stream(request, conversation, gathered));
                }
            }
            Some(Event::Logged(logged)) => logged.apply(request),
            Some(Event::Finished(end)) => {
                let tail = conversation.take_tail();
                conversation.part(request);
                return match tail {
                    None => Ok(finished(end, gathered)),
                    Some(tail) if gathered.length() == 0 && matches!(end, End::Done) => {
                        // A file is the same each time.
                        request.reply.marks.unset(Marks::UNRANGED);
                        Ok(Answer::Body(tail))
                    }
                    Some(_) => Err(Error::because(Kind::WorkerViolation, MIXED)),
                };
            }
            None => return Ok(stream(request, conversation, gathered)),
        }
    }
}

/// Of one whose answer is a file that the front sends.
const MIXED: &str = "it has sent something else beside a file";

/// Of one that has sent an answer, and then a redirect.
const REDIRECTED_LATE: &str = "it has redirected the request after its answer had begun";

fn finished(end: End, gathered: AnswerPieces) -> Answer {
    match end {
        End::Done => Answer::Body(gathered.into_body()),
        end if gathered.length() == 0 => Answer::Ended(end),
        // A status after output: the output has been sent, as in Apache.
        End::Status(_) => Answer::Body(gathered.into_body()),
        End::Redirect(_) => {
            Answer::Body(Body::Stream(Box::new(Remains { gathered, why: Some(REDIRECTED_LATE.to_owned()) })))
        }
        End::Broken(why) => Answer::Body(Body::Stream(Box::new(Remains { gathered, why: Some(why) }))),
    }
}

/// The front does not read on for a client that leaves: the worker is to hear of it with what it writes next.
fn stream(request: &mut Request, conversation: Conversation, gathered: AnswerPieces) -> Answer {
    if conversation.runs_to_end() {
        request.end_with_client();
    }
    let late = request.slots.find_mut::<Late>().clone();
    let request = Box::new(request.clone());
    Answer::Body(Body::Stream(Box::new(Output { conversation: Some(conversation), gathered, request, late })))
}

/// No worker has answered: the cause goes to the log.
pub(crate) fn fail(request: &mut Request, engine: &str, error: &Error) -> Halt {
    let about =
        if request.resource.filename.is_empty() { &request.target.uri } else { &request.resource.filename };
    if error.kind == Kind::QueueFull {
        // There may be very many of these.
        log::failure_soon(request, engine, error, about);
    } else {
        log::failure(request, engine, error, about);
    }
    request.is_refused = matches!(error.kind, Kind::QueueFull | Kind::QueueTimeout);
    if let Some(seconds) = error.retry_after {
        request.reply.headers_out.set("Retry-After", seconds.to_string());
    }
    Halt::Status(error.status())
}

/// An answer's body on its way.
struct Output {
    /// `None`: the answer is complete, or has broken off.
    conversation: Option<Conversation>,
    /// Output that arrived before anything took it.
    gathered: AnswerPieces,
    /// The request, for the log.
    request: Box<Request>,
    late: Late,
}

impl BodyStream for Output {
    fn rests(&self) -> bool {
        self.conversation.as_ref().is_some_and(Conversation::rests)
    }

    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(piece) = self.gathered.pop() {
            return Poll::Ready(Some(Ok(piece)));
        }
        let Some(conversation) = &mut self.conversation else { return Poll::Ready(None) };
        match ready!(conversation.poll_event(&self.request, context)) {
            Ok(Event::Body(piece)) => Poll::Ready(Some(Ok(piece))),
            Ok(Event::Logged(logged)) => {
                self.late.put(logged);
                self.poll_chunk(context)
            }
            Ok(Event::Head(_)) => self.break_off("it sent a second head".to_owned()),
            Ok(Event::Finished(end)) => {
                let tail = conversation.take_tail();
                if let Some(conversation) = self.conversation.take() {
                    conversation.part(&self.request);
                }
                match end {
                    _ if tail.is_some() => self.break_off(MIXED.to_owned()),
                    End::Broken(why) => Poll::Ready(Some(Err(BodyError::Script(why)))),
                    End::Redirect(_) => self.break_off(REDIRECTED_LATE.to_owned()),
                    // A status, once the head is gone: the program's answer stands as it is.
                    End::Done | End::Status(_) => Poll::Ready(None),
                }
            }
            Err(error) => self.break_off(log::cause(&self.request, &error, &self.request.resource.filename)),
        }
    }
}

impl Output {
    fn break_off(&mut self, why: String) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.conversation = None;
        Poll::Ready(Some(Err(BodyError::Script(why))))
    }
}
