//! Scripts in Python that decide who may see what: `WSGIAccessScript` in a phase of its own, `WSGIAuthUserScript` as what
//! `AuthBasicProvider wsgi` and `AuthDigestProvider wsgi` ask, `WSGIAuthGroupScript` as what `Require wsgi-group` asks.
//!
//! They run in workers of the site's, which are in no process group, as under mod_wsgi; each question is a trip of its own.
//! If a guard can't be asked, the response is 500: nothing has let the client through.

use super::facts_of;
use super::told::{self, MatchedRules};
use crate::hook::phases::Phase;
use crate::hook::registry::{AboutUser, Effect, Hook, Later, Module, OfUser, Run};
use crate::log::{self, Severity};
use crate::request::flow::{Flow, Halt, Outcome};
use crate::request::{Request, settings};
use crate::technique::begin::{self, Begin};
use crate::technique::conversation::{Conversation, End, Event};
use crate::technique::head::{self, Texts};
use crate::technique::respond::{encoded, fail};
use bytes::Bytes;
use hostler_gateway::backend::OnAbandon;
use hostler_gateway::backend::ring::Work;
use hostler_gateway::{Error, Kind};
use hostler_python_frames::guard::{GuardQuestion, GuardReply, Question};
use hostler_python_technique::groups::Group;
use hostler_python_technique::{DIR, ENGINE, Guard, LOG};
use hostler_wire::codec::Encoder;
use hostler_wire::work::request_flag;
use std::future::poll_fn;
use std::sync::Arc;

/// Registers the access hooks.
pub(crate) static MODULE: Module = Module {
    hooks: &[Hook {
        phase: Phase::Access,
        after: &["access_compat", "perl", "ssl", "fcgid"],
        before: &[],
        when: |request| request.resource.dir.part(&DIR).access.is_some(),
        effect: Effect::Satisfiable,
        run: Run::Later(|request| Box::pin(access(request))),
    }],
    asks_programs: true,
    knows_users: Some(knows),
    ..Module::new("wsgi_guard", |request| request.resource.dir.part(&DIR).access.is_some())
};

/// Most bytes that an answer to a question may have.
const LONGEST: usize = 1 << 20;

/// `WSGIAccessScript`
async fn access(request: &mut Request) -> Outcome {
    let dir = request.resource.dir.clone();
    let Some(guard) = &dir.part(&DIR).access else { return Ok(Flow::Declined) };
    let peer = &request.client.peer;
    let host = peer.names.client().map_or_else(|| peer.remote.ip().to_string(), str::to_owned);
    match ask(request, guard, MatchedRules::default(), Question::Access { host: host.as_bytes() }).await? {
        GuardReply::Yes => Ok(Flow::Ok),
        GuardReply::Nothing => Ok(Flow::Declined),
        _ => {
            let name = String::from_utf8_lossy(&request.resource.filename);
            let why = format!("Client denied by server configuration: '{name}'.");
            log::request(request, Severity::Error, LOG, &why);
            Err(Halt::Status(403))
        }
    }
}

/// `WSGIAuthUserScript`, `WSGIAuthGroupScript`
fn knows<'a>(
    request: &'a mut Request,
    user: &'a [u8],
    about: AboutUser<'a>,
) -> Later<'a, Result<OfUser, Halt>> {
    Box::pin(async move {
        let dir = request.resource.dir.clone();
        let (guard, name, question) = match about {
            AboutUser::Password(password) => {
                (&dir.part(&DIR).users, "WSGIAuthUserScript", Question::Password { user, password })
            }
            AboutUser::Digest(realm) => {
                (&dir.part(&DIR).users, "WSGIAuthUserScript", Question::Digest { user, realm })
            }
            AboutUser::Groups => (&dir.part(&DIR).groups, "WSGIAuthGroupScript", Question::Groups { user }),
        };
        let Some(guard) = guard else {
            let uri = String::from_utf8_lossy(&request.target.uri);
            log::request(request, Severity::Error, LOG, &format!("{name} is needed to know users for {uri}"));
            return Err(Halt::Status(500));
        };
        let said = ask(request, guard, MatchedRules::default(), question).await?;
        Ok(match (about, said) {
            (AboutUser::Password(_), GuardReply::Yes) => OfUser::Right(None),
            (AboutUser::Password(_), GuardReply::User(name)) => OfUser::Right(Some(name.into())),
            (AboutUser::Password(_), GuardReply::No) => OfUser::Wrong,
            (AboutUser::Password(_) | AboutUser::Digest(_), GuardReply::Nothing) => OfUser::Unknown,
            (AboutUser::Digest(_), GuardReply::Digest(digest)) => OfUser::Digest(digest.into()),
            (AboutUser::Groups, GuardReply::Groups(groups)) => {
                OfUser::Groups(groups.into_iter().map(Bytes::from).collect())
            }
            _ => OfUser::Failed,
        })
    })
}

/// Asks a script. `led`: what has led to the application, as far as the script is told of that.
pub(super) async fn ask(
    request: &mut Request,
    guard: &Guard,
    led: MatchedRules,
    question: Question<'_>,
) -> Result<GuardReply, Halt> {
    let asked = GuardQuestion { script: guard.script.as_bytes(), question };
    let group = facts_of(request, |facts| Group::of_guard(guard, facts));
    let directory = told::known(request, led, None);
    trip(request, &group, directory, &asked).await.map_err(|error| fail(request, LOG, &error))
}

async fn trip(
    request: &Request,
    group: &Group,
    directory: (u32, Arc<[u8]>),
    asked: &GuardQuestion<'_>,
) -> Result<GuardReply, Error> {
    let mut own = Vec::new();
    asked.encode(&mut Encoder(&mut own));
    // It is asked about the request, and reads nothing of its body.
    let flags = head::flags(request) & !request_flag::BODY;
    let texts = Texts::of(request, None);
    let mut head = head::common(request, &ENGINE, &texts, directory.0, flags, None);
    head.own = &own;
    let work = Work {
        thread: request.thread.index,
        directory,
        request: encoded(&head),
        timeout: settings::worker_timeout(&request.server),
        on_abandon: OnAbandon::TakeBackOrKill(settings::timeout(&request.server)),
    };
    let group: Arc<str> = group.name().into();
    let exchange = match begin::begin(&request.thread, &request.server, &ENGINE, false, Some(&group), work) {
        Begin::Now(exchange) => exchange,
        Begin::Never(refusal) => return Err(refusal),
        Begin::Later(pool, work) => begin::later(request, &pool, work).await?,
    };
    answer(request, Conversation::new(exchange, None, &ENGINE, None)).await
}

async fn answer(request: &Request, mut conversation: Conversation) -> Result<GuardReply, Error> {
    let lied = |why: &str| Error::because(Kind::WorkerViolation, why);
    let mut body = Vec::new();
    loop {
        match poll_fn(|context| conversation.poll_event(request, context)).await? {
            Event::Body(piece) if body.len() + piece.len() > LONGEST => {
                return Err(lied("a script that guards has said more than a mebibyte"));
            }
            Event::Body(piece) => body.extend_from_slice(&piece),
            Event::Finished(End::Done) => {
                conversation.part(request);
                return GuardReply::decode(&body).map_err(|_| lied("it has not said what it was asked"));
            }
            Event::Finished(_) | Event::Head(_) | Event::Logged(_) => {
                return Err(lied("it has not said what it was asked"));
            }
        }
    }
}
