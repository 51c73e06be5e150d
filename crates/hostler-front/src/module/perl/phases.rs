//! The phases of a request that a worker runs, and their division into trips.
//!
//! Where nothing of the front's own comes between them, all phases are one trip with the response. Else each group
//! is a trip of its own, at the place that Apache gives it among its modules: mod_perl's functions come first, then
//! the front's own means for that phase. A trip that fails is an error's status, never a pass.

use super::conversation::End;
use super::directory::Programs;
use super::head::Task;
use super::state;
use super::state::HasPerl;
use super::{Answer, fail, nested, trip};
use crate::hook::phases::Phase as At;
use crate::hook::plan::plan;
use crate::hook::registry::{AnswerFate, Effect, Hook, Run};
use crate::hook::walk;
use crate::log::{self, Severity};
use crate::module::core;
use crate::module::core::types;
use crate::request::Request;
use crate::request::flow::{Continue, Flow, Halt, Outcome};
use crate::values::text;
use bytes::Bytes;
use hostler_config::directives::perl;
use hostler_config::directives::pool::Isolation;
use hostler_perl_frames::{Phase, PhaseSet};
use std::rc::Rc;
use std::sync::Arc;

/// Phases between the mapping of a URL and its response.
const BEFORE: [Phase; 6] =
    [Phase::HeaderParser, Phase::Access, Phase::Authen, Phase::Authz, Phase::Type, Phase::Fixup];
const AFTER: [Phase; 2] = [Phase::Log, Phase::Cleanup];

/// The answer of a phase's functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PhaseAnswer {
    /// One of them returned OK.
    Ok,
    /// All of them have declined, or there is none.
    Declined,
}

/// The phases, other than the response, for which the request has functions: those of its directory, and those that
/// programs have added to it on the way.
pub(crate) fn configured(request: &Request) -> PhaseSet {
    let mut phases = by_directory(request);
    phases.0 |= request.progress().pushed.0 & !(1 << Phase::Response as u8);
    phases
}

fn by_directory(request: &Request) -> PhaseSet {
    let mut phases = PhaseSet::default();
    let host = &request.server.conf.perl.options;
    if request.resource.dir.perl.is_set() && !host.disabled() {
        for (phase, _) in request.resource.dir.perl.handlers.iter() {
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

/// Returns whether functions have a say in this request that its answer from memory would pass over.
pub(crate) fn are_any(request: &Request) -> bool {
    configured(request).0 != 0 || of_server(request).0 != 0 || is_unguarded(request)
}

/// Returns whether nothing of Perl runs in the request's virtual host (`PerlOptions -Enable`).
pub(crate) fn are_disabled(request: &Request) -> bool {
    request.server.conf.perl.options.disabled()
}

/// Returns whether functions that are switched off would have had a say in who sees this: the main server's sections
/// hold in its virtual hosts, too.
fn is_unguarded(request: &Request) -> bool {
    are_disabled(request)
        && BEFORE.into_iter().any(|phase| !request.resource.dir.perl.handlers.of(phase).is_empty())
}

/// Refuses what only functions that are switched off may grant. mod_perl serves it to everybody.
fn guard(request: &mut Request) -> Outcome {
    let phase = BEFORE.into_iter().find(|phase| !request.resource.dir.perl.handlers.of(*phase).is_empty());
    let phase = phase.map_or_else(String::new, |phase| format!("{phase:?}"));
    let message = format!(
        "this virtual host runs no Perl (PerlOptions -Enable), but Perl{phase}Handler has a say in who may see this: \
         nobody may"
    );
    log::request(request, Severity::Error, hostler_perl_technique::LOG, &message);
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
    let mut phases = request.progress().pending;
    phases.insert(Phase::Response);
    if request.prev.is_none() && !request.is_sub() && !request.progress().logged {
        phases.0 |= both(configured(request), set(&AFTER)).0;
    }
    phases
}

/// The hooks of its phases.
pub(super) const HOOKS: &[Hook] = &[
    hook(
        At::PostRead,
        &["core"],
        &[],
        |request| request.is_read_anew() && is_server_s(request, Phase::PostReadRequest),
        Run::Later(|request| Box::pin(mapping(request, Phase::PostReadRequest))),
    ),
    hook(
        At::Translate,
        &[],
        &["core"],
        |request| is_mapping_s(request, Phase::Trans),
        Run::Later(|request| Box::pin(mapping(request, Phase::Trans))),
    ),
    hook(
        At::MapToStorage,
        &[],
        &[],
        |request| is_mapping_s(request, Phase::MapToStorage),
        Run::Later(|request| Box::pin(mapping(request, Phase::MapToStorage))),
    ),
    hook(At::PostPerDirConfig, &["names"], &[], may_put_off, Run::Now(put_off)),
    hook(
        At::HeaderParser,
        &["setenvif"],
        &[],
        |request| wants(request, &[Phase::HeaderParser]),
        Run::Later(|request| Box::pin(ordinary(request, Phase::HeaderParser))),
    ),
    Hook {
        effect: Effect::Satisfiable,
        ..hook(
            At::Access,
            &["ssl"],
            &["access_compat"],
            |request| has(request, Phase::Access),
            Run::Later(|request| Box::pin(ordinary(request, Phase::Access))),
        )
    },
    hook(
        At::Authn,
        &[],
        &["auth_basic"],
        |request| has(request, Phase::Authen),
        Run::Later(|request| Box::pin(authenticate(request))),
    ),
    hook(
        At::Authz,
        &[],
        &["authz_core"],
        |request| has(request, Phase::Authz),
        Run::Later(|request| Box::pin(ordinary(request, Phase::Authz))),
    ),
    hook(
        At::Type,
        &["core"],
        &[],
        |request| wants(request, &[Phase::Type, Phase::Fixup]),
        Run::Later(|request| Box::pin(type_and_fixup(request))),
    ),
    hook(
        At::Fixup,
        &[],
        &["ssl"],
        |request| wants(request, &[Phase::Fixup]),
        Run::Later(|request| Box::pin(ordinary(request, Phase::Fixup))),
    ),
];

/// The hook that refuses what functions guard that are switched off.
pub(super) const GUARD: Hook = hook(At::Access, &[], &["allowmethods"], is_unguarded, Run::Now(guard));

const fn hook(
    phase: At,
    after: &'static [&'static str],
    before: &'static [&'static str],
    when: fn(&Request) -> bool,
    run: Run,
) -> Hook {
    Hook { phase, after, before, when, effect: Effect::Decides, run }
}

/// Returns whether the virtual host has functions for a phase in which the directory is not known yet.
fn is_server_s(request: &Request, phase: Phase) -> bool {
    of_server(request).contains(phase)
}

fn is_mapping_s(request: &Request, phase: Phase) -> bool {
    is_server_s(request, phase) || request.progress().pushed.contains(phase)
}

/// A phase of mapping; OK: the front's own translation, or walk, is not wanted.
async fn mapping(request: &mut Request, phase: Phase) -> Outcome {
    let said = ask(request, set(&[phase])).await?;
    // Without a file name nothing has been translated.
    let is_done = said == PhaseAnswer::Ok && (phase != Phase::Trans || !request.resource.filename.is_empty());
    Ok(if is_done { Flow::Ok } else { Flow::Declined })
}

/// Returns whether functions of these phases are still to be asked, by a trip of their own.
fn wants(request: &Request, phases: &[Phase]) -> bool {
    let left = configured(request).0 & !request.progress().done.0 & !request.progress().pending.0;
    left & set(phases).0 != 0
}

async fn ordinary(request: &mut Request, phase: Phase) -> Outcome {
    let said = ask(request, set(&[phase])).await?;
    Ok(if said == PhaseAnswer::Ok { Flow::Ok } else { Flow::Declined })
}

/// Returns whether its functions may be put off until its handler runs.
fn may_put_off(request: &Request) -> bool {
    !request.is_sub() && !is_unguarded(request) && wants(request, &BEFORE)
}

/// Puts the functions of all phases off until the handler runs, if nothing of the front's own stands between them (no
/// rule to be asked, no redirect, no index) and the handler is one of these.
fn put_off(request: &mut Request) -> Outcome {
    // SetEnv is among the fixups, behind the functions: they do not see what it says.
    let is_seen_too_early = request.resource.dir.env.variables().next().is_some();
    if is_seen_too_early || !plan().is_clear_to_handler(super::NAME, request) {
        return Ok(Flow::Declined);
    }
    let kept = types::SavedTypes::of(request);
    types::check(request);
    if request.resource.handler.as_deref().is_some_and(super::is_handler) {
        request.is_typed = true;
        request.perl_mut().progress.put_off = true;
        // Functions of one of them may add to those after it.
        request.perl_mut().progress.pending =
            set(&[Phase::HeaderParser, Phase::Access, Phase::Type, Phase::Fixup]);
    } else {
        kept.restore(request);
    }
    Ok(Flow::Ok)
}

/// Type and Fixup, or what is left of them. Nothing of another module's comes between them, so they are one trip.
async fn type_and_fixup(request: &mut Request) -> Outcome {
    let wanted = PhaseSet(set(&[Phase::Type, Phase::Fixup]).0 & !request.progress().done.0);
    let said = ask(request, wanted).await?;
    request.perl_mut().progress.done.0 |= wanted.0;
    if request.perl_mut().progress.stopped.take() == Some(Phase::Type) {
        types::check_again(request, said == PhaseAnswer::Ok);
        request.perl_mut().progress.done.0 &= !set(&[Phase::Fixup]).0;
    }
    Ok(Flow::Ok)
}

/// Authen; whoever says OK has to say who the user is. In mod_perl 1 OK alone is enough: the user has no name then.
async fn authenticate(request: &mut Request) -> Outcome {
    let flow = ordinary(request, Phase::Authen).await?;
    if flow == Flow::Ok && request.user.is_none() && perl::generation(&request.server) == 1 {
        request.user = Some(Bytes::new());
    }
    if flow == Flow::Ok && request.user.is_none() {
        let uri = String::from_utf8_lossy(&request.target.uri);
        let message = format!("a PerlAuthenHandler that sets the user is needed to authenticate for {uri}");
        log::request(request, Severity::Error, "auth_basic", &message);
        return Err(Halt::Status(500));
    }
    Ok(flow)
}

/// Goes on with a request whose trip was to run all of its phases and has ended after this one: programs have added
/// configuration, which may be about what comes next.
pub(super) async fn resume(request: &mut Request, stopped: Phase) -> Continue {
    let passed = BEFORE.into_iter().filter(|phase| *phase <= stopped);
    passed.for_each(|phase| request.perl_mut().progress.done.insert(phase));
    let from = match stopped {
        Phase::Fixup => At::Fixup,
        Phase::Type | Phase::Authz | Phase::Authen => At::Type,
        _ => At::Access,
    };
    walk::go_on(request, from).await
}

/// Returns whether phases were put off, or a worker waits for the request's next trip.
pub(super) fn are_put_off(request: &Request) -> bool {
    request.progress().pending.0 != 0
}

/// The phases that were to run with a worker's response, now that somebody else answers.
pub(super) async fn settle(request: &mut Request) -> Continue {
    let pending = std::mem::take(&mut request.perl_mut().progress.pending);
    if pending.0 != 0 {
        ask(request, pending).await?;
        if let Some(stopped) = request.perl_mut().progress.stopped.take() {
            Box::pin(resume(request, stopped)).await?;
        }
    }
    Ok(())
}

/// Returns whether an access phase has functions that are to be asked, and is not a repetition: an internal redirect
/// under the same rules was already checked.
fn has(request: &Request, phase: Phase) -> bool {
    let repeated = request.prev.as_ref().is_some_and(|prev| {
        prev.reply.status < 400
            && prev.is_checked
            && !prev.progress().put_off
            && Arc::ptr_eq(&prev.resource.dir, &request.resource.dir)
    });
    !repeated && wants(request, &[phase])
}

/// Functions that programs have added are in the process that they were added in: where nobody can go back to it, they
/// cannot be asked, and what they may forbid is not allowed.
pub(super) fn can_be_asked(request: &Request, phases: PhaseSet) -> Continue {
    let pushed = both(request.progress().pushed, phases);
    if pushed.0 == 0
        || request.is_held()
        || nested::place(request, Isolation::Persistent).is_some()
        || both(phases, set(&AFTER)).0 != 0
    {
        return Ok(());
    }
    let message = "functions that a program has added to this request cannot be asked any more: their process is gone, \
                   or the request is a part of another that is being written";
    log::request(request, Severity::Error, hostler_perl_technique::LOG, message);
    Err(Halt::Status(500))
}

/// A trip without the response phase. Of the request's body it gets what its programs read.
async fn ask(request: &mut Request, phases: PhaseSet) -> Result<PhaseAnswer, Halt> {
    can_be_asked(request, phases)?;
    // What programs keep for later phases (pnotes, pushed handlers, cleanups) is in their process: the same one goes on.
    let stays = !request.is_part() && both(phases, set(&AFTER)).0 == 0;
    let asks_body = stays && !request.target.body.is_empty();
    if asks_body {
        request.target.body.limit(request.resource.dir.core.limit_request_body.unwrap_or(1 << 30));
        request.target.body.divide();
    }
    let task = Task { phases, asks_body, stays, ..Task::default() };
    let before = request.resource.filename.clone();
    let answer = match trip(request, &task, Isolation::Persistent, Programs::Configured).await {
        Ok(answer) => answer,
        Err(error) => return Err(fail(request, &error)),
    };
    let said = match answer {
        Answer::Body(body) => return Err(Halt::Done(body)),
        Answer::Ended(End::Done) => PhaseAnswer::Ok,
        Answer::Ended(End::Declined) => PhaseAnswer::Declined,
        Answer::Ended(End::Status(status)) => return Err(Halt::Status(status)),
        Answer::Ended(End::Redirect(target)) => {
            return Err(Halt::Redirect { method: request.target.method.clone(), target });
        }
        Answer::Ended(End::Broken(why)) => return Err(super::broken(request, &why)),
        Answer::Ended(End::Verdict(_)) => {
            return Err(super::broken(request, "it has answered what nobody has asked"));
        }
    };
    let after_mapping = both(phases, set(&BEFORE)).0 != 0;
    if after_mapping && request.resource.filename != before {
        Box::pin(core::walk::find_again(request)).await?;
    }
    Ok(said)
}

/// Asks a provider of the site's (`PerlAddAuthzProvider`, `PerlAddAuthnProvider`): its kind, the function, and what it is
/// given. Apache's number for what it says.
pub(super) async fn ask_provider(request: &mut Request, texts: &[&[u8]]) -> Result<u16, Halt> {
    if are_disabled(request) {
        let message = "this virtual host runs no Perl (PerlOptions -Enable): nobody asks the provider";
        log::request(request, Severity::Error, hostler_perl_technique::LOG, message);
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

/// Log and Cleanup of a request that was answered without a worker, or with the front's page for its status.
pub(super) fn after(mut answered: Request, finished: AnswerFate) {
    let AnswerFate { bytes, length } = finished;
    let original = answered.original();
    let phases = both(by_directory(original), set(&AFTER));
    if original.progress().logged || answered.progress().logged || phases.0 == 0 {
        state::let_go(&answered);
        return;
    }
    answered.reply.sent = Some(bytes);
    if let Some(length) = length {
        answered.reply.headers_out.set("Content-Length", text::decimal(length).as_bytes().to_vec());
    }
    if let Some(content_type) = answered.reply.headers_out.find("Content-Type") {
        answered.resource.content_type = Some(content_type.clone());
    }
    let mut request = match &answered.prev {
        None => answered,
        Some(_) => Request { next: Some(Rc::new(answered.clone())), ..answered.original().clone() },
    };
    request.target.body = crate::io::body::RequestBody::Empty;
    request.perl_mut().progress.logged = true;
    tokio::task::spawn_local(async move {
        // What they say changes nothing any more; failures are logged.
        let _ = ask(&mut request, phases).await;
    });
}
