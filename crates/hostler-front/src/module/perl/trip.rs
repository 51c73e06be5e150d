//! One trip of a request to a worker: what it is sent, and what it says until the answer is complete, or has to be passed on
//! as it comes.

use super::conversation::{Conversation, End, Event};
use super::directory::Programs;
use super::head::{Task, Texts};
use super::output::{Late, Output};
use super::state::HasPerl;
use super::{configure, directory, engine, fast, head, held, nested, redirect, state};
use crate::hook::error;
use crate::io::body::Body;
use crate::module::{alias, include};
use crate::request::{Request, settings};
use crate::technique::begin::{self, Begin};
use crate::technique::fast as fast_path;
use crate::technique::gathered::{AnswerPieces, Remains};
use crate::technique::reply::FieldMerge;
use hostler_config::directives::pool::Isolation;
use hostler_gateway::backend::OnAbandon;
use hostler_gateway::backend::ring::Work;
use hostler_gateway::{Error, Kind};
use hostler_perl_frames::{Phase, PhaseSet};
use std::future::poll_fn;
use std::task::Poll;

/// The most bytes of a response that are gathered so that its length is known before it is sent.
const WHOLE: usize = 64 << 10;

/// The purpose of a trip, and its result.
pub(super) enum Answer {
    /// The request's head is set; this is the body.
    Body(Body),
    /// Nothing was sent.
    Ended(End),
}

/// Sends the request to a worker, and takes what it says until the answer is complete, or has to be passed on as
/// it comes.
pub(super) async fn trip(
    request: &mut Request,
    task: &Task<'_>,
    isolation: Isolation,
    programs: Programs,
) -> Result<Answer, Error> {
    let translated = if request.resource.path_info.is_empty() || !task.phases.contains(Phase::Response) {
        None
    } else {
        let path_info = request.resource.path_info.clone();
        alias::translate_only(request, &path_info).await
    };
    let known = directory::known(request, programs);
    let texts = Texts::of(request, translated);
    if request.within().is_none() && request.is_sub() {
        if request.perl().is_some_and(|perl| perl.is_instead) {
            // That worker knows nothing yet of the request that this is a part of.
            state::release(request);
        }
        request.perl_mut().within = request.perl().and_then(|perl| perl.held.part());
    }
    let within = nested::place(request, isolation).filter(|_| programs == Programs::Configured);
    let instead = held::goes_on(request, isolation);
    let own_body = within.is_none();
    let task = &Task { body: task.body && own_body, asks_body: task.asks_body && own_body, ..*task };
    let head = head::head(request, &texts, &known, task);
    let work = Work {
        thread: request.thread.index,
        directory: known.definition(),
        request: head::encoded_with(head, request, within.as_ref(), instead),
        timeout: settings::worker_timeout(&request.server),
        on_abandon: OnAbandon::TakeBackOrKill(settings::timeout(&request.server)),
    };
    if task.phases.contains(Phase::Response) {
        let (engine, one_shot) = (engine(request), isolation == Isolation::Fork);
        let (directory, texts) = (known.definition(), texts.common);
        let handler = task.handler;
        let remembered = fast_path::Task { engine, one_shot, group: None, directory, texts, handler };
        fast::remember(request, remembered, task.phases, task.errors_stay);
    }
    let conversation = match within {
        Some(within) => {
            request.perl_mut().within = Some(within.clone());
            within.begin(&work)
        }
        None => started(request, task, isolation, work).await?,
    };
    request.perl_mut().is_instead = false;
    request.perl_mut().progress.logged |= logs(task.phases);
    request.perl_mut().progress.asked = true;
    request.perl_mut().progress.stopped = None;
    request.perl_mut().progress.pending = PhaseSet::default();
    let responds = task.phases.contains(Phase::Response);
    let stays = Stays {
        asked: task.stays,
        whole: task.stays && responds,
        logs: logs(task.phases) && responds,
        errors: task.errors_stay,
        filters: task.body && task.handler.is_some_and(super::filter::is_own),
    };
    converse(request, conversation, stays).await
}

/// True if a worker keeps a request when its trip has ended.
#[derive(Clone, Copy)]
pub(super) struct Stays {
    /// It was asked to.
    pub(super) asked: bool,
    /// With its whole answer, which is a page to expand; any other is let go.
    pub(super) whole: bool,
    /// It does if the front is to make the answer, for the Log and Cleanup phases that this trip was to have.
    pub(super) logs: bool,
    /// It does if that is an error.
    pub(super) errors: bool,
    /// Its output is a filter's: the head waits until the filter has let something through.
    pub(super) filters: bool,
}

/// The front's next step with the worker at the end of a trip.
#[derive(Clone, Copy)]
pub(super) enum Then {
    /// It has let the request go.
    Part,
    /// It has kept the request, which is over.
    Release,
    /// It has kept the request for its next trip.
    Keep,
}

impl Stays {
    pub(super) fn at(self, end: &End, request: &mut Request) -> Then {
        let made_by_front = matches!(end, End::Status(_) | End::Declined | End::Redirect(_));
        if self.logs && made_by_front {
            request.perl_mut().progress.logged = false;
        }
        let wanted = if self.whole { matches!(end, End::Done) } else { self.asked };
        let goes_on = matches!(*end, End::Status(status) if error::is_followed(request, status));
        match self.keeps(end) {
            false => Then::Part,
            true if wanted || (self.logs && matches!(end, End::Status(_))) || goes_on => Then::Keep,
            true => Then::Release,
        }
    }

    /// Returns whether the worker has kept the request.
    pub(super) fn keeps(self, end: &End) -> bool {
        self.asked || matches!(*end, End::Status(status) if self.logs || (self.errors && status >= 400))
    }
}

/// Returns whether the worker is to keep the request if it comes to an error: the error's document may be Perl's, too,
/// which sees what the request has kept (`prev`, its `pnotes`).
pub(super) fn errors_stay(request: &Request, isolation: Isolation) -> bool {
    isolation == Isolation::Persistent && !request.is_sub() && request.within().is_none()
}

/// With the worker that waits for this request, or with any.
async fn started(
    request: &Request,
    task: &Task<'_>,
    isolation: Isolation,
    work: Work,
) -> Result<Conversation, Error> {
    let body = (task.body && !task.asks_body).then(|| request.target.body.clone());
    let instead = held::goes_on(request, isolation);
    if let Some(held) = held::take(request, isolation) {
        return Ok(if instead { held.instead(&work, body) } else { held.again(&work, body) });
    }
    let one_shot = isolation == Isolation::Fork;
    let exchange = match begin::begin(&request.thread, &request.server, engine(request), one_shot, None, work)
    {
        Begin::Now(exchange) => exchange,
        Begin::Never(refusal) => return Err(refusal),
        Begin::Later(pool, work) => begin::later(request, &pool, work).await?,
    };
    Ok(Conversation::around(exchange, body, request.within().cloned()))
}

/// Returns whether these phases are what is left after an answer.
pub(super) fn logs(phases: PhaseSet) -> bool {
    phases.contains(Phase::Log) || phases.contains(Phase::Cleanup)
}

pub(super) async fn converse(
    request: &mut Request,
    mut conversation: Conversation,
    stays: Stays,
) -> Result<Answer, Error> {
    let (mut gathered, mut has_head) = (AnswerPieces::of(request), false);
    loop {
        let event = poll_fn(|context| match conversation.poll_event(request, context) {
            // What has come is passed on before more is waited for.
            Poll::Pending if has_head && !stays.whole && !stays.filters && !conversation.rests() => {
                Poll::Ready(None)
            }
            polled => polled.map(Some),
        });
        match event.await.transpose()? {
            Some(Event::Head(head)) => {
                head.apply(request, FieldMerge::Whole, request.progress().is_script);
                has_head = true;
            }
            Some(Event::Early(status, fields)) if !has_head => {
                request.tell_early(status, fields.iter().map(|(name, value)| (&**name, &**value)));
            }
            // The answer has begun: an interim response in it would be taken for its body.
            Some(Event::Early(..)) => {}
            Some(Event::Changes(changes)) => changes.apply(request),
            Some(Event::Configure(wish)) => {
                let outcome = configure::add(request, &wish, has_head).await;
                conversation.tell_configured(outcome);
            }
            Some(Event::Standing(pushed, stopped)) => {
                let progress = &mut request.perl_mut().progress;
                (progress.pushed, progress.stopped) = (pushed, stopped);
            }
            Some(Event::Redirect(onward)) if has_head || request.is_part() => {
                conversation.splice(request, onward);
                has_head = true;
            }
            Some(Event::Redirect(onward)) => {
                return Ok(redirect::follow(request, conversation, stays, onward).await);
            }
            Some(Event::Finished(end)) => {
                let stopped = request.progress().stopped.is_some() && !conversation.is_inside();
                if stopped && request.is_part() {
                    // Nobody else can go on with it, and what was added must not be passed over.
                    conversation.release();
                    conversation.part(request);
                    return Err(Error::because(
                        Kind::WorkerViolation,
                        "it added configuration to a part of a page",
                    ));
                }
                let then = stays.at(&end, request);
                leave(request, conversation, if stopped { Then::Keep } else { then });
                return Ok(finished(end, has_head, gathered));
            }
            Some(Event::Body(piece)) => {
                gathered.push(piece);
                if if stays.whole { gathered.length() > include::LONGEST } else { gathered.exceeds(WHOLE) } {
                    return Ok(stream(request, conversation, gathered, stays));
                }
            }
            None => return Ok(stream(request, conversation, gathered, stays)),
        }
    }
}

/// At the end of a trip.
pub(super) fn leave(request: &mut Request, mut conversation: Conversation, then: Then) {
    match then {
        Then::Keep => request.perl_mut().held.keep(conversation),
        Then::Part => conversation.part(request),
        Then::Release => {
            conversation.release();
            conversation.part(request);
        }
    }
}

fn finished(end: End, has_head: bool, gathered: AnswerPieces) -> Answer {
    let length = gathered.length();
    match end {
        End::Done if !has_head => Answer::Ended(End::Done),
        End::Verdict(_) => Answer::Ended(end),
        End::Broken(why) if length == 0 => Answer::Ended(End::Broken(why)),
        // A status, a redirect or a refusal after output: the output has been sent, as in Apache.
        End::Status(_) | End::Declined | End::Redirect(_) if length == 0 => Answer::Ended(end),
        End::Broken(why) => Answer::Body(Body::Stream(Box::new(Remains { gathered, why: Some(why) }))),
        _ => Answer::Body(gathered.into_body()),
    }
}

fn stream(
    request: &mut Request,
    mut conversation: Conversation,
    gathered: AnswerPieces,
    mut stays: Stays,
) -> Answer {
    if std::mem::take(&mut stays.asked) {
        // Who has begun to answer needs no further trip.
        conversation.release();
        (stays.logs, stays.errors) = (false, false);
    }
    let late = Late::default();
    request.perl_mut().late = Some(late.clone());
    let request = Box::new(request.clone());
    Answer::Body(Body::Stream(Box::new(Output {
        conversation: Some(conversation),
        stays,
        gathered,
        request,
        late,
    })))
}
