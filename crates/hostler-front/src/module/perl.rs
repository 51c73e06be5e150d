//! Handlers that run in warm workers: `perl-script`, `modperl`, `psgi`, and scripts with `Isolation fork`.
//!
//! ```text
//! phases        which of a request's phases are a worker's, and in how many trips they are run
//! directory     the configuration, as a worker is told of it
//! head          the request, as a worker is told of it
//! configure     configuration that a program adds for one request
//! conversation  one trip: request out, answer in, with questions on the way
//! nested        requests inside of requests: in the conversation that the worker waits in
//! filter        filters in Perl, for what others answer and what clients send
//! held          the worker that waits for a request's next trip
//! redirect      another request's answer in the place of this one's
//! apply         what the worker says of the request
//! output        the rest of a long answer
//! raw           answers with their own head, for clients that can't be sent them so
//! questions     what other URLs map to, and their answers as part of this one
//! script        CGI scripts that run in forks of a warm interpreter
//! short         URLs whose phases come to the same for every request
//! ```
//!
//! **Diagnostics**: everything goes to the virtual host's ErrorLog under `perl`: what programs log, and for each 5xx
//! one line with the cause and the id that the error page shows.

mod apply;
mod configure;
mod conversation;
mod directory;
mod filter;
mod head;
mod held;
mod nested;
mod output;
pub(crate) mod phases;
mod questions;
mod raw;
mod redirect;
mod script;
mod short;
mod state;

use held::Held;
use nested::Within;
use output::Late;
use state::HasPerl;

use crate::hook::error;
use crate::hook::registry::{Handler, Module, Settle};
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::module::alias;
use crate::module::include;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::request::reply::Marks;
use crate::request::settings;
use crate::technique::begin::{self, Begin};
use crate::technique::framed;
use crate::technique::gathered::{Gathered, Remains};
use crate::technique::respond;
use crate::technique::short::{self as short_way, Taken};
use bytes::Bytes;
use conversation::{Conversation, End, Event};
use directory::Programs;
use head::{Task, Texts};
use hostler_config::directives::pool::Isolation;
use hostler_config::technique::{self, Engine, Phases, Technique};
use hostler_gateway::backend::OnAbandon;
use hostler_gateway::backend::ring::Work;
use hostler_gateway::{Error, Kind};
use hostler_perl_frames::{Phase, PhaseSet};
use hostler_perl_technique::{PERL, PSGI};
use hostler_techniques::CGI;
use output::Output;
use std::future::poll_fn;
use std::task::Poll;

/// How much of an answer is gathered so that its length is known before it is sent, in bytes.
const WHOLE: usize = 64 << 10;

/// The module's name.
const NAME: &str = "perl";

/// The functions of mod_perl, and the handlers that are Perl programs.
pub(crate) static MODULE: Module = Module {
    hooks: phases::HOOKS,
    handlers: &[
        Handler {
            names: CGI.handlers,
            types: &[],
            when: |request| {
                CGI.isolation(&request.resource.dir) == Isolation::Fork && !phases::are_disabled(request)
            },
            settles: false,
            run: |request| Box::pin(script::handle(request)),
        },
        warm(&PERL),
        warm(&PSGI),
    ],
    outputs: &[filter::OUTPUT],
    inputs: &[filter::INPUT],
    asks_programs: true,
    settle: Some(Settle { when: phases::are_put_off, run: |request| Box::pin(phases::settle(request)) }),
    release: Some(state::release),
    provider: Some(|request, texts| Box::pin(phases::ask_provider(request, texts))),
    before_log: Some(late_changes),
    cleanup: Some(phases::after),
    ..Module::new(NAME, |request| request.progress().asked || phases::are_any(request))
};

/// A technique whose programs are in workers.
const fn warm(technique: &'static Technique) -> Handler {
    Handler {
        names: technique.handlers,
        types: &[],
        when: |_| true,
        settles: true,
        run: |request| Box::pin(handle(request)),
    }
}

/// Refuses what functions guard that a virtual host has switched off.
pub(crate) static GUARD: Module = Module { hooks: &[phases::GUARD], ..Module::new("perl_guard", |_| false) };

/// What a worker has told while its answer was sent.
fn late_changes(request: &mut Request) {
    if request.perl().is_none_or(|perl| perl.late.is_none()) {
        return;
    }
    let late = request.perl_mut().late.take();
    if let Some(changes) = late.and_then(|late| late.borrow_mut().take()) {
        changes.apply_to_log(request);
    }
}

/// What workers have done, or are still to do, for a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// Phases before the response that will be run in one trip with it.
    pub(crate) pending: PhaseSet,
    /// A worker has got the request with its Log and Cleanup phases.
    pub(crate) logged: bool,
    /// Phases whose functions have been asked, in a trip for several of them.
    pub(crate) done: PhaseSet,
    /// Its functions were put off until the handler's trip.
    pub(crate) put_off: bool,
    /// The request's file itself is run.
    pub(crate) is_script: bool,
    /// A worker has seen it in an earlier trip: what came of that may be this request's alone.
    pub(crate) asked: bool,
    /// Phases to which programs have added functions while the request was on its way.
    pub(crate) pushed: PhaseSet,
    /// The last trip has ended after this phase, as its programs had added configuration.
    pub(crate) stopped: Option<Phase>,
    /// How often they have.
    pub(crate) additions: u8,
    /// Filters that have seen the request's body, or its answer: phases of that name.
    pub(crate) filtered: PhaseSet,
}

/// Whether a handler's name is one of those that run in workers.
pub(crate) fn is_handler(name: &[u8]) -> bool {
    technique::of_handler(name)
        .is_some_and(|technique| technique.engine() == Some(&hostler_perl_technique::ENGINE))
}

/// The engine that a request's handler runs in; without one, the engine that has a say in phases before it.
fn engine(request: &Request) -> &'static Engine {
    let technique = request.resource.handler.as_deref().and_then(technique::of_handler);
    technique.and_then(Technique::engine).unwrap_or(&hostler_perl_technique::ENGINE)
}

/// What a trip was for, and what came of it.
enum Answer {
    /// The request's head is set; this is the body.
    Body(Body),
    /// Nothing was sent.
    Ended(End),
}

/// Runs the request's response phase in a worker.
async fn handle(request: &mut Request) -> Result<Body, Halt> {
    let body = run(request).await?;
    Ok(framed::take_off(request, body))
}

async fn run(request: &mut Request) -> Result<Body, Halt> {
    if phases::are_disabled(request) {
        let handler =
            String::from_utf8_lossy(request.resource.handler.as_deref().unwrap_or_default()).into_owned();
        let message =
            format!("this virtual host runs no Perl (PerlOptions -Enable): nothing answers for {handler}");
        log::request(request, Severity::Error, engine(request).log, &message);
        return Err(Halt::Status(500));
    }
    if is_declined_beforehand(request) {
        return crate::hook::handler::send_file(request).await;
    }
    let technique = request.resource.handler.as_deref().and_then(technique::of_handler);
    let isolation =
        technique.map_or(Isolation::Persistent, |technique| technique.isolation(&request.resource.dir));
    let phases = phases::with_response(request);
    phases::can_be_asked(request, PhaseSet(1 << Phase::Response as u8))?;
    respond(request, phases, isolation, Programs::Configured, None).await
}

/// mod_perl declines where no handler is configured; a phase before could still set one.
fn is_declined_beforehand(request: &Request) -> bool {
    let technique = request.resource.handler.as_deref().and_then(technique::of_handler);
    technique.is_none_or(|technique| technique.phases == Phases::All)
        && !request.is_held()
        && request.resource.dir.perl.handlers.of(Phase::Response).is_empty()
        && phases::configured(request).0 == 0
}

/// One trip with the response phase, and what it means.
async fn respond(
    request: &mut Request,
    phases: PhaseSet,
    isolation: Isolation,
    programs: Programs,
    handler: Option<&'static [u8]>,
) -> Result<Body, Halt> {
    let before = request.resource.handler.clone();
    // The worker waits until a page is expanded: what Perl includes in it sees what its request has kept.
    let expands = programs == Programs::Configured
        && isolation == Isolation::Persistent
        && !request.is_part()
        && include::expands(request);
    let body = !request.target.body.is_empty();
    let errors_stay = errors_stay(request, isolation);
    let task = Task { phases, handler, body, stays: expands, errors_stay, ..Task::default() };
    let answer = trip(request, &task, isolation, programs).await;
    if answer.is_ok()
        && let Some(stopped) = request.perl_mut().progress.stopped.take()
    {
        Box::pin(phases::resume(request, stopped)).await?;
        return Box::pin(crate::hook::handler::respond(request)).await;
    }
    outcome(request, before, answer).await
}

/// Goes on with an answer that has turned out not to be plain.
async fn go_on(request: &mut Request, answer: Result<Taken, Error>, errors: bool) -> Result<Body, Halt> {
    let before = request.resource.handler.clone();
    let answer = match answer {
        Ok(taken) => {
            let logs = request.progress().logged;
            let stays = Stays { asked: false, whole: false, logs, errors };
            converse(request, Conversation::taken_over(taken), stays).await
        }
        Err(error) => Err(error),
    };
    if answer.is_ok()
        && let Some(stopped) = request.perl_mut().progress.stopped.take()
    {
        Box::pin(phases::resume(request, stopped)).await?;
        return Box::pin(crate::hook::handler::respond(request)).await;
    }
    outcome(request, before, answer).await
}

async fn outcome(
    request: &mut Request,
    before: Option<Bytes>,
    answer: Result<Answer, Error>,
) -> Result<Body, Halt> {
    let by_filters = matches!(answer, Ok(Answer::Body(_) | Answer::Ended(End::Done)));
    if by_filters && !request.progress().is_script && engine(request) == &hostler_perl_technique::ENGINE {
        // What a worker prints has been through its filters.
        request.perl_mut().progress.filtered.insert(Phase::OutputFilter);
        request.reply.marks.set(Marks::FLUSHED);
    }
    match answer {
        Err(error) => Err(fail(request, &error)),
        Ok(Answer::Body(body)) => raw::arrange(request, body).await,
        Ok(Answer::Ended(End::Done)) => Ok(Body::Empty),
        // These have no body, and describe what would have been one with the program's fields.
        Ok(Answer::Ended(End::Status(status @ (204 | 304)))) => {
            request.reply.status = status;
            Ok(Body::Empty)
        }
        Ok(Answer::Ended(End::Status(status))) => Err(Halt::Status(status)),
        Ok(Answer::Ended(End::Redirect(target))) => {
            Err(Halt::Redirect { method: request.target.method.clone(), target })
        }
        Ok(Answer::Ended(End::Broken(why))) => Err(broken(request, &why)),
        Ok(Answer::Ended(End::Declined)) => decline(request, before).await,
        Ok(Answer::Ended(End::Verdict(_))) => Err(broken(request, "it has answered what nobody has asked")),
    }
}

/// The front goes on: with the handler that the worker has set, or with the default handler, as after Apache's
/// other modules have declined too.
async fn decline(request: &mut Request, before: Option<Bytes>) -> Result<Body, Halt> {
    if request.progress().is_script {
        // The file itself is a program's source.
        let file = String::from_utf8_lossy(&request.resource.filename).into_owned();
        return Err(broken(request, &format!("the interpreter has declined to run the script {file}")));
    }
    let another =
        request.resource.handler != before && !request.resource.handler.as_deref().is_some_and(is_handler);
    if another {
        Box::pin(crate::hook::handler::respond(request)).await
    } else {
        crate::hook::handler::send_file(request).await
    }
}

/// The program's own words: why there is no answer.
fn broken(request: &mut Request, why: &str) -> Halt {
    let message = format!("the answer broke off before it was sent: {why}");
    log::request(request, Severity::Error, engine(request).log, &message);
    Halt::Status(500)
}

/// Sends the request to a worker, and takes what it says until the answer is complete, or has to be passed on as
/// it comes.
async fn trip(
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
    let timeout = settings::timeout(&request.server);
    let work = Work {
        thread: request.thread.index,
        directory: known.definition(),
        request: head::encoded_with(head, request, within.as_ref(), instead),
        timeout,
        on_abandon: OnAbandon::TakeBackOrKill(timeout),
    };
    if task.phases.contains(Phase::Response) {
        let (engine, one_shot) = (engine(request), isolation == Isolation::Fork);
        let (directory, texts) = (known.definition(), texts.common);
        let remembered = short_way::Task { engine, one_shot, directory, texts, handler: task.handler };
        short::remember(request, remembered, task.phases, task.errors_stay);
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
    };
    converse(request, conversation, stays).await
}

/// Whether a worker keeps a request when its trip has ended.
#[derive(Clone, Copy)]
struct Stays {
    /// It was asked to.
    asked: bool,
    /// With its whole answer, which is a page to expand; any other is let go.
    whole: bool,
    /// It does if the front is to make the answer, for the Log and Cleanup phases that this trip was to have.
    logs: bool,
    /// It does if that is an error.
    errors: bool,
}

/// What the front is to do about the worker at the end of a trip.
#[derive(Clone, Copy)]
enum Then {
    /// It has let the request go.
    Part,
    /// It has kept the request, which is over.
    Release,
    /// It has kept the request for its next trip.
    Keep,
}

impl Stays {
    fn at(self, end: &End, request: &mut Request) -> Then {
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

    /// Whether the worker has kept the request.
    fn keeps(self, end: &End) -> bool {
        self.asked || matches!(*end, End::Status(status) if self.logs || (self.errors && status >= 400))
    }
}

/// Whether the worker is to keep the request if it comes to an error: the error's document may be Perl's, too, which sees
/// what the request has kept (`prev`, its `pnotes`).
fn errors_stay(request: &Request, isolation: Isolation) -> bool {
    isolation == Isolation::Persistent && !request.is_sub() && request.within().is_none()
}

/// With the worker that waits for this request, or with any.
async fn started(
    request: &Request,
    task: &Task<'_>,
    isolation: Isolation,
    work: Work,
) -> Result<Conversation, Error> {
    let body = task.body.then(|| request.target.body.clone());
    let instead = held::goes_on(request, isolation);
    if let Some(held) = held::take(request, isolation) {
        return Ok(if instead { held.instead(&work, body) } else { held.again(&work, body) });
    }
    let one_shot = isolation == Isolation::Fork;
    let exchange = match begin::begin(&request.thread, &request.server, engine(request), one_shot, work) {
        Begin::Now(exchange) => exchange,
        Begin::Never(refusal) => return Err(refusal),
        Begin::Later(pool, work) => pool.begin(work).await?,
    };
    Ok(Conversation::around(exchange, body, request.within().cloned()))
}

/// Whether these phases are what is left after an answer.
fn logs(phases: PhaseSet) -> bool {
    phases.contains(Phase::Log) || phases.contains(Phase::Cleanup)
}

async fn converse(
    request: &mut Request,
    mut conversation: Conversation,
    stays: Stays,
) -> Result<Answer, Error> {
    let (mut gathered, mut has_head) = (Gathered::default(), false);
    loop {
        let event = poll_fn(|context| match conversation.poll_event(request, context) {
            // What has come is passed on before more is waited for.
            Poll::Pending if gathered.length() > 0 && !stays.whole && !conversation.rests() => {
                Poll::Ready(None)
            }
            polled => polled.map(Some),
        });
        match event.await.transpose()? {
            Some(Event::Head(head)) => {
                head.apply(request, request.progress().is_script);
                has_head = true;
            }
            Some(Event::Changes(changes)) => changes.apply(request),
            Some(Event::Configure(wish)) => {
                let outcome = configure::add(request, &wish, has_head).await;
                conversation.tell_configured(outcome);
            }
            Some(Event::Standing(pushed, stopped)) => {
                let progress = &mut request.perl_mut().progress;
                (progress.pushed, progress.stopped) = (pushed, stopped);
            }
            Some(Event::Redirect(target)) if has_head || request.is_part() => {
                conversation.splice(request, &target);
                has_head = true;
            }
            Some(Event::Redirect(target)) => {
                return Ok(redirect::follow(request, conversation, stays, target).await);
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
                if gathered.length() > if stays.whole { include::LONGEST } else { WHOLE } {
                    return Ok(stream(request, conversation, gathered, stays));
                }
            }
            None => return Ok(stream(request, conversation, gathered, stays)),
        }
    }
}

/// At the end of a trip.
fn leave(request: &mut Request, mut conversation: Conversation, then: Then) {
    match then {
        Then::Keep => request.perl_mut().held.keep(conversation),
        Then::Part => conversation.part(request),
        Then::Release => {
            conversation.release();
            conversation.part(request);
        }
    }
}

fn finished(end: End, has_head: bool, gathered: Gathered) -> Answer {
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
    gathered: Gathered,
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

/// No worker has answered: the cause goes to the log.
fn fail(request: &mut Request, error: &Error) -> Halt {
    let halt = respond::fail(request, engine(request).log, error);
    // It would have to wait for the same.
    request.perl_mut().progress.logged = true;
    halt
}
