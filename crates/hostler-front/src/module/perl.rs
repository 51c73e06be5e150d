//! Handlers that run in warm workers: `perl-script`, `modperl`, `psgi`, and scripts with `Isolation fork`.
//!
//! ```text
//! phases        which of a request's phases are a worker's, and in how many trips they are run
//! directory     the configuration, as a worker is told of it
//! head          the request, as a worker is told of it
//! configure     configuration that a program adds for one request
//! trip          what a worker is sent, and what becomes of what it says
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
//! fast          URLs whose phases come to the same for every request
//! ```
//!
//! **Diagnostics**: everything goes to the virtual host's ErrorLog under `perl`: what programs log, and for each 5xx
//! one line with the cause and the id that the error page shows.

mod apply;
mod configure;
mod conversation;
mod directory;
mod fast;
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
mod state;
mod trip;

use held::WaitingWorker;
use nested::Within;
use output::Late;
use state::HasPerl;
use trip::{Answer, Stays, converse, errors_stay, logs, trip};

use crate::hook::registry::{Handler, Module, Settle};
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::module::include;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::request::reply::Marks;
use crate::technique::fast::Handover;
use crate::technique::framed;
use crate::technique::respond;
use crate::technique::upload::is_withheld;
use bytes::Bytes;
use conversation::{Conversation, End};
use directory::Programs;
use head::Task;
use hostler_config::directives::pool::Isolation;
use hostler_config::technique::{self, Engine, Phases, Technique};
use hostler_gateway::Error;
use hostler_perl_frames::{Phase, PhaseSet};
use hostler_perl_technique::{PERL, PSGI};
use hostler_techniques::CGI;

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

/// Applies a worker's changes received while its response was sent.
fn late_changes(request: &mut Request) {
    if request.perl().is_none_or(|perl| perl.late.is_none()) {
        return;
    }
    let late = request.perl_mut().late.take();
    if let Some(changes) = late.and_then(|late| late.borrow_mut().take()) {
        changes.apply_to_log(request);
    }
}

/// The work that workers have done, or still have to do, for a request.
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
    /// The number of additions.
    pub(crate) additions: u8,
    /// Filters that have seen the request's body, or its answer: phases of that name.
    pub(crate) filtered: PhaseSet,
}

/// Returns whether a handler's name is one of those that run in workers.
pub(crate) fn is_handler(name: &[u8]) -> bool {
    technique::of_handler(name)
        .is_some_and(|technique| technique.engine() == Some(&hostler_perl_technique::ENGINE))
}

/// The engine that a request's handler runs in; without one, the engine that has a say in phases before it.
fn engine(request: &Request) -> &'static Engine {
    let technique = request.resource.handler.as_deref().and_then(technique::of_handler);
    technique.and_then(Technique::engine).unwrap_or(&hostler_perl_technique::ENGINE)
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
    let asks_body = is_withheld(request);
    if asks_body {
        request.target.body.divide();
    }
    let task = Task { phases, handler, body, asks_body, stays: expands, errors_stay, ..Task::default() };
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
async fn go_on(request: &mut Request, answer: Result<Handover, Error>, errors: bool) -> Result<Body, Halt> {
    let before = request.resource.handler.clone();
    let answer = match answer {
        Ok(taken) => {
            let logs = request.progress().logged;
            let stays = Stays { asked: false, whole: false, logs, errors, filters: false };
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

/// No worker has answered: the cause goes to the log.
fn fail(request: &mut Request, error: &Error) -> Halt {
    let halt = respond::fail(request, engine(request).log, error);
    // It would have to wait for the same.
    request.perl_mut().progress.logged = true;
    halt
}
