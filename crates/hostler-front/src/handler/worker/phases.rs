//! Which of a request's phases are a worker's, and in how many trips they are run.
//!
//! Where nothing of the front's own comes between them, all phases are one trip with the response. Else each group
//! is a trip of its own, at the place that Apache gives it among its modules: mod_perl's functions come first, then
//! the front's own means for that phase. A trip that fails is an error's status, never a pass.

use super::conversation::End;
use super::directory::Programs;
use super::head::Task;
use super::{Answer, fail, nested, trip};
use crate::access;
use crate::log::{self, Severity};
use crate::map::{self, fixup, types};
use crate::request::Request;
use crate::serve::{Halt, Phase as Outcome};
use crate::text;
use hostler_config::directives::pool::Isolation;
use hostler_wire::work::{Phase, PhaseSet};
use std::rc::Rc;
use std::sync::Arc;

/// Phases between the mapping of a URL and its response.
const BEFORE: [Phase; 6] =
    [Phase::HeaderParser, Phase::Access, Phase::Authen, Phase::Authz, Phase::Type, Phase::Fixup];
/// The phases of mapping.
pub(crate) const TRANS: Phase = Phase::Trans;
pub(crate) const MAP_TO_STORAGE: Phase = Phase::MapToStorage;
/// The phases that decide who may see it.
pub(crate) const ACCESS: Phase = Phase::Access;
pub(crate) const AUTHEN: Phase = Phase::Authen;
pub(crate) const AUTHZ: Phase = Phase::Authz;
const AFTER: [Phase; 2] = [Phase::Log, Phase::Cleanup];

/// What a phase's functions have said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// One of them returned OK.
    Ok,
    /// All of them have declined, or there is none.
    Declined,
}

/// The phases, other than the response, for which the request has functions: those of its directory, and those that
/// programs have added to it on the way.
pub(crate) fn configured(request: &Request) -> PhaseSet {
    let mut phases = by_directory(request);
    phases.0 |= request.progress.pushed.0 & !(1 << Phase::Response as u8);
    phases
}

fn by_directory(request: &Request) -> PhaseSet {
    let mut phases = PhaseSet::default();
    let host = &request.server.conf.perl.options;
    if request.dir.perl.is_set() && !host.disabled() {
        for (phase, _) in request.dir.perl.handlers.iter() {
            if phase != Phase::Response {
                phases.insert(phase);
            }
        }
    }
    phases
}

/// The same, of the phases in which the directory is not known yet.
fn of_server(request: &Request) -> PhaseSet {
    let perl = &request.server.conf.perl;
    let mut phases = PhaseSet::default();
    if perl.is_set() && !perl.options.disabled() {
        for (phase, _) in perl.handlers.iter() {
            phases.insert(phase);
        }
    }
    phases
}

/// Whether functions have a say in this request that its answer from memory would pass over.
pub(crate) fn are_any(request: &Request) -> bool {
    configured(request).0 != 0 || of_server(request).0 != 0 || is_unguarded(request)
}

/// Whether nothing of Perl runs in the request's virtual host (`PerlOptions -Enable`).
pub(crate) fn are_disabled(request: &Request) -> bool {
    request.server.conf.perl.options.disabled()
}

/// Whether functions that are switched off would have had a say in who sees this: the main server's sections hold in
/// its virtual hosts, too.
fn is_unguarded(request: &Request) -> bool {
    are_disabled(request) && BEFORE.into_iter().any(|phase| !request.dir.perl.handlers.of(phase).is_empty())
}

/// Refuses what only functions that are switched off may grant. mod_perl serves it to everybody.
pub(crate) fn guard(request: &Request) -> Outcome {
    if !is_unguarded(request) {
        return Ok(());
    }
    let phase = BEFORE.into_iter().find(|phase| !request.dir.perl.handlers.of(*phase).is_empty());
    let phase = phase.map_or_else(String::new, |phase| format!("{phase:?}"));
    let message = format!(
        "this virtual host runs no Perl (PerlOptions -Enable), but Perl{phase}Handler has a say in who may see this: \
         nobody may"
    );
    log::request(request, Severity::Error, "perl", &message);
    Err(Halt::Status(500))
}

fn both(a: PhaseSet, b: PhaseSet) -> PhaseSet {
    PhaseSet(a.0 & b.0)
}

fn set(phases: &[Phase]) -> PhaseSet {
    let mut set = PhaseSet::default();
    phases.iter().for_each(|phase| set.insert(*phase));
    set
}

/// The phases of the trip that answers.
pub(super) fn with_response(request: &Request) -> PhaseSet {
    let mut phases = request.progress.pending;
    phases.insert(Phase::Response);
    if request.prev.is_none() && !request.is_sub() && !request.progress.logged {
        phases.0 |= both(configured(request), set(&AFTER)).0;
    }
    phases
}

/// PostReadRequest, before anything is known of the URL but its text.
pub(crate) async fn post_read_request(request: &mut Request) -> Outcome {
    if !request.is_sub() && of_server(request).contains(Phase::PostReadRequest) {
        ask(request, set(&[Phase::PostReadRequest])).await?;
    }
    Ok(())
}

/// Trans or MapToStorage; [`Said::Ok`]: the front's own translation, or walk, is not wanted.
pub(crate) async fn of_mapping(request: &mut Request, phase: Phase) -> Result<Said, Halt> {
    if of_server(request).contains(phase) || request.progress.pushed.contains(phase) {
        ask(request, set(&[phase])).await
    } else {
        Ok(Said::Declined)
    }
}

/// The phases from HeaderParser to Fixup, of the front's own means and of the configured functions.
pub(crate) async fn prepare(request: &mut Request) -> Outcome {
    guard(request)?;
    let phases = both(configured(request), set(&BEFORE));
    crate::names::look_up(request).await;
    if fits_one_trip(request) {
        let kept = types::Kept::of(request);
        types::check(request);
        if request.handler.as_deref().is_some_and(super::is_handler) {
            map::header_parser(request).await?;
            fixup::run(request).await?;
            // Functions of one of them may add to those after it.
            let wanted = set(&[Phase::HeaderParser, Phase::Access, Phase::Type, Phase::Fixup]);
            let any = both(phases, wanted).0 != 0;
            request.progress.pending = if any { wanted } else { PhaseSet::default() };
            return Ok(());
        }
        kept.restore(request);
    }
    if !request.is_sub() {
        map::header_parser(request).await?;
        if phases.contains(Phase::HeaderParser) {
            ask(request, set(&[Phase::HeaderParser])).await?;
        }
    }
    access::check(request).await?;
    request.progress.checked = true;
    types::check(request);
    after_access(request, &[Phase::Type, Phase::Fixup]).await
}

/// Type and Fixup, or what is left of them.
async fn after_access(request: &mut Request, phases: &[Phase]) -> Outcome {
    let wanted = set(phases);
    if both(configured(request), wanted).0 != 0 {
        let said = ask(request, wanted).await?;
        if request.progress.stopped.take() == Some(Phase::Type) {
            types::check_again(request, said == Said::Ok);
            if configured(request).contains(Phase::Fixup) {
                ask(request, set(&[Phase::Fixup])).await?;
            }
        }
    }
    fixup::run(request).await
}

/// Goes on with a request whose trip was to run all of its phases and has ended after this one: programs have added
/// configuration, which may be about what comes next.
pub(super) async fn resume(request: &mut Request, stopped: Phase) -> Outcome {
    if stopped <= Phase::Access {
        if stopped == Phase::Access {
            access::check_rules(request).await?;
        } else {
            access::check(request).await?;
        }
    }
    if stopped <= Phase::Type {
        types::check_again(request, false);
    }
    match stopped {
        Phase::Fixup => fixup::run(request).await,
        Phase::Type => after_access(request, &[Phase::Fixup]).await,
        _ => after_access(request, &[Phase::Type, Phase::Fixup]).await,
    }
}

/// Whether none of the front's own means stands between the phases: no rule to be asked, no redirect, no index.
fn fits_one_trip(request: &Request) -> bool {
    let dir = &request.dir;
    !request.is_sub()
        && access::is_open(request)
        && dir.core.allow_methods.is_none()
        && !request.found.is_directory()
        && !dir.alias.is_set()
        && !dir.actions.is_set()
        && !dir.rewrite.context.is_on()
        && dir.dir.fallback_resource().is_none()
        && !matches!(&*request.method, b"TRACE" | b"CONNECT")
        && &*request.uri != b"*"
}

/// The phases that were to run with a worker's response, now that somebody else answers.
pub(crate) async fn settle(request: &mut Request) -> Outcome {
    let pending = std::mem::take(&mut request.progress.pending);
    if pending.0 != 0 {
        ask(request, pending).await?;
        if let Some(stopped) = request.progress.stopped.take() {
            Box::pin(resume(request, stopped)).await?;
        }
    }
    Ok(())
}

/// Whether an access phase has functions, and is not a repetition: an internal redirect under the same rules was
/// already checked.
pub(crate) fn has(request: &Request, phase: Phase) -> bool {
    let repeated = request.prev.as_ref().is_some_and(|prev| {
        prev.status < 400 && prev.progress.checked && Arc::ptr_eq(&prev.dir, &request.dir)
    });
    !repeated && configured(request).contains(phase)
}

/// Runs one access phase.
pub(crate) async fn decide(request: &mut Request, phase: Phase) -> Result<Said, Halt> {
    if has(request, phase) { Box::pin(ask(request, set(&[phase]))).await } else { Ok(Said::Declined) }
}

/// Functions that programs have added are in the process that they were added in: where nobody can go back to it, they
/// cannot be asked, and what they may forbid is not allowed.
pub(super) fn can_be_asked(request: &Request, phases: PhaseSet) -> Outcome {
    let pushed = both(request.progress.pushed, phases);
    if pushed.0 == 0
        || request.held.is_kept()
        || nested::place(request, Isolation::Persistent).is_some()
        || both(phases, set(&AFTER)).0 != 0
    {
        return Ok(());
    }
    let message = "functions that a program has added to this request cannot be asked any more: their process is gone, \
                   or the request is a part of another that is being written";
    log::request(request, Severity::Error, "perl", message);
    Err(Halt::Status(500))
}

/// A trip without the response phase. Of the request's body it gets what its programs read.
async fn ask(request: &mut Request, phases: PhaseSet) -> Result<Said, Halt> {
    can_be_asked(request, phases)?;
    // What programs keep for later phases (pnotes, pushed handlers, cleanups) is in their process: the same one goes on.
    let stays = !request.is_part() && both(phases, set(&AFTER)).0 == 0;
    let asks_body = stays && !request.body.is_empty();
    if asks_body {
        request.body.limit(request.dir.core.limit_request_body.unwrap_or(1 << 30));
        request.body.divide();
    }
    let task = Task { phases, asks_body, stays, ..Task::default() };
    let before = request.filename.clone();
    let answer = match trip(request, &task, Isolation::Persistent, Programs::Configured).await {
        Ok(answer) => answer,
        Err(error) => return Err(fail(request, &error)),
    };
    let said = match answer {
        Answer::Body(body) => return Err(Halt::Done(body)),
        Answer::Ended(End::Done) => Said::Ok,
        Answer::Ended(End::Declined) => Said::Declined,
        Answer::Ended(End::Status(status)) => return Err(Halt::Status(status)),
        Answer::Ended(End::Redirect(target)) => {
            return Err(Halt::Redirect { method: request.method.clone(), target });
        }
        Answer::Ended(End::Broken(why)) => return Err(super::broken(request, &why)),
        Answer::Ended(End::Verdict(_)) => {
            return Err(super::broken(request, "it has answered what nobody has asked"));
        }
    };
    let after_mapping = both(phases, set(&BEFORE)).0 != 0;
    if after_mapping && request.filename != before {
        Box::pin(map::find_again(request)).await?;
    }
    Ok(said)
}

/// Asks a provider of the site's (`PerlAddAuthzProvider`, `PerlAddAuthnProvider`): its kind, the function, and what it is
/// given. Apache's number for what it says.
pub(crate) async fn ask_provider(request: &mut Request, texts: &[&[u8]]) -> Result<u16, Halt> {
    if are_disabled(request) {
        let message = "this virtual host runs no Perl (PerlOptions -Enable): nobody asks the provider";
        log::request(request, Severity::Error, "perl", message);
        return Err(Halt::Status(500));
    }
    let provider = texts.join(&0);
    let stays = !request.is_part();
    let task = Task { provider: Some(&provider), stays, ..Task::default() };
    match trip(request, &task, Isolation::Persistent, Programs::Configured).await {
        Ok(Answer::Ended(End::Verdict(said))) => Ok(said),
        Ok(_) => Err(super::broken(request, "the provider has not said what it was asked")),
        Err(error) => Err(fail(request, &error)),
    }
}

/// Log and Cleanup of a request that was answered without a worker, or with the front's page for its status. `bytes`:
/// of the body that was sent, or after HEAD would have been; `length`: what was told of it.
pub(crate) fn after(mut answered: Request, bytes: u64, length: Option<u64>) {
    let original = answered.original();
    let phases = both(by_directory(original), set(&AFTER));
    if original.progress.logged || answered.progress.logged || phases.0 == 0 {
        answered.held.release(&answered);
        return;
    }
    answered.sent = Some(bytes);
    if let Some(length) = length {
        answered.headers_out.set("Content-Length", text::decimal(length).as_bytes().to_vec());
    }
    if let Some(content_type) = answered.headers_out.find("Content-Type") {
        answered.content_type = Some(content_type.clone());
    }
    let mut request = match &answered.prev {
        None => answered,
        Some(_) => Request { next: Some(Rc::new(answered.clone())), ..answered.original().clone() },
    };
    request.body = crate::body::RequestBody::Empty;
    request.progress.logged = true;
    tokio::task::spawn_local(async move {
        // What they say changes nothing any more; failures are logged.
        let _ = ask(&mut request, phases).await;
    });
}
