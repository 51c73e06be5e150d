//! Sessions (mod_session): what a site keeps with a visitor, in a cookie (mod_session_cookie), which may be encrypted
//! (mod_session_crypto). Programs see it as `HTTP_SESSION` and write it by a field of their answer; logins by forms
//! (mod_auth_form) are kept in it.
//!
//! The text of a session is Apache's, encrypted or not, so that visitors stay who they are when a site moves. A session
//! that can't be read is as good as none; it is never an error of the visitor's.

mod cookies;
mod crypto;
mod text;

use crate::hook::phases::Phase;
use crate::hook::registry::{Change, Effect, Filter, Hook, Module, Run, Stage};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::{Flow, Halt, Outcome};
use crate::request::slots::{Relation, State};
use crate::values::table::Table;
use hostler_config::directives::session::Dir;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) static MODULE: Module = Module {
    hooks: &[Hook {
        phase: Phase::Fixup,
        after: &["usertrack"],
        before: &["negotiation"],
        when: has_session,
        effect: Effect::Notes,
        run: Run::Later(|request| Box::pin(fixup(request))),
    }],
    filters: &[Filter {
        stage: Stage::Content,
        after: &["deflate"],
        sees_errors: true,
        when: |request| has_session(request) && !request.budget.has_failed(),
        run: Change::Later(|request, body, _| {
            Box::pin(async move {
                save(request).await;
                body
            })
        }),
    }],
    ..Module::new("session", has_session)
};

/// The field of `expiry`, in microseconds since 1970.
const EXPIRY: &str = "expiry";
const SECOND: i64 = 1_000_000;

/// Returns whether there is a session for the request's URL.
fn has_session(request: &Request) -> bool {
    request.resource.dir.session.is_set() && request.resource.dir.session.includes(&request.target.uri)
}

/// A visitor's session.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// The entries, by name.
    pub(crate) entries: Table,
    /// It ends then, in microseconds since 1970; 0: it does not.
    expiry: i64,
    /// Seconds that it lives after its last use; 0: no end.
    max_age: i64,
    /// It was changed.
    dirty: bool,
    /// The answer has it.
    written: bool,
}

impl Session {
    /// Changes what is kept under a name; `None`: nothing is.
    pub(crate) fn set(&mut self, name: Vec<u8>, value: Option<Vec<u8>>) {
        match value {
            Some(value) => self.entries.set(name, value),
            None => self.entries.unset(name),
        }
        self.dirty = true;
    }

    fn decode(&mut self, encoded: &[u8]) {
        text::decode(encoded, &mut self.entries);
        if let Some(expiry) = self.entries.take(EXPIRY.as_bytes()) {
            self.expiry = text::number(&expiry);
        }
    }

    fn encode(&mut self) -> Vec<u8> {
        if self.expiry != 0 {
            self.entries.set(EXPIRY, self.expiry.to_string());
        }
        text::encode(&self.entries)
    }
}

/// A session that a request can change.
pub(crate) type Shared = Rc<RefCell<Session>>;

/// The sessions that were read for a request, and for those before it on its way, by their cookies.
#[derive(Clone, Default)]
struct RequestSessions(Rc<RefCell<Vec<OfCookie>>>);

/// A cookie's name, and the session in it.
type OfCookie = (Box<str>, Shared);

impl State for RequestSessions {
    fn copy(&self) -> Box<dyn State> {
        Box::new(self.clone())
    }

    fn related(&self, _: &Request, _: Relation) -> Option<Box<dyn State>> {
        Some(Box::new(self.clone()))
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// The request's session, an empty one if there is none yet; `None`: nothing is kept here.
pub(crate) async fn load(request: &mut Request) -> Result<Option<Shared>, Halt> {
    if !has_session(request) {
        return Ok(None);
    }
    let dir = request.resource.dir.clone();
    let Some(cookie) = dir.session.cookie2.as_ref().or(dir.session.cookie.as_ref()) else {
        let message = "AH01815: session is enabled but no session modules have been configured, session not \
                       loaded (SessionCookieName)";
        log::request(request, Severity::Warn, "session", message);
        return Ok(None);
    };
    let read = request.slots.find_mut::<RequestSessions>().0.clone();
    let known =
        read.borrow().iter().find(|(name, _)| *name == cookie.name).map(|(_, session)| session.clone());
    let session = match known {
        Some(session) => session,
        None => {
            let session = Rc::new(RefCell::new(first(request, &dir.session, &cookie.name).await?));
            read.borrow_mut().push((cookie.name.clone(), session.clone()));
            request.reply.headers_out.add("Cache-Control", "no-cache, private");
            session
        }
    };
    let mut open = session.borrow_mut();
    if open.expiry != 0 && open.expiry < now() {
        // Quirk(apache): there this one comes back with each look, and a login is lost that was made meanwhile.
        *open = Session::default();
    }
    if let Some(max_age) = dir.session.max_age.filter(|max_age| *max_age != 0) {
        if open.expiry == 0 {
            open.expiry = now() + max_age * SECOND;
        }
        open.max_age = max_age;
    }
    drop(open);
    Ok(Some(session))
}

/// The session as the client has sent it.
async fn first(request: &mut Request, dir: &Dir, name: &str) -> Result<Session, Halt> {
    let mut session = Session::default();
    let Some(sent) = cookies::take(request, name, dir.remove == Some(true)) else { return Ok(session) };
    if dir.passphrases.is_empty() {
        session.decode(&sent);
        return Ok(session);
    }
    if sent.is_empty() {
        return Ok(session);
    }
    match crypto::decrypt(request, dir, &sent).await? {
        Some(plain) => session.decode(&plain),
        None => {
            let uri = String::from_utf8_lossy(&request.target.uri).into_owned();
            let message = format!(
                "AH01842: decrypt session failed, wrong passphrase? session not loaded, a new one is begun: {uri}"
            );
            log::request(request, Severity::Error, "session_crypto", &message);
        }
    }
    Ok(session)
}

/// Sets the variables for programs.
async fn fixup(request: &mut Request) -> Outcome {
    let session = load(request).await?;
    if request.resource.dir.session.env == Some(true) {
        if let Some(session) = session {
            let encoded = session.borrow_mut().encode();
            request.env.set("HTTP_SESSION", encoded);
        }
        request.target.headers_in.unset("Session");
    }
    Ok(Flow::Ok)
}

/// Writes the session into the answer, where it has changed or its end has.
async fn save(request: &mut Request) {
    let Ok(Some(session)) = load(request).await else { return };
    let dir = request.resource.dir.clone();
    if session.borrow().written {
        return;
    }
    if let Some(header) = &dir.session.header {
        let told = request
            .reply
            .err_headers_out
            .find(&**header)
            .or_else(|| request.reply.headers_out.find(&**header));
        if let Some(told) = told.cloned() {
            request.reply.err_headers_out.unset(&**header);
            request.reply.headers_out.unset(&**header);
            let mut open = session.borrow_mut();
            open.decode(&told);
            open.dirty = true;
        }
    }
    let Some(encoded) = to_write(request, &dir.session, &session) else { return };
    let encoded = if dir.session.passphrases.is_empty() || encoded.is_empty() {
        encoded
    } else {
        match crypto::encrypt(request, &dir.session, encoded).await {
            Ok(encrypted) => encrypted,
            Err(_) => {
                let message = "AH01841: encrypt session failed, session not saved";
                log::request(request, Severity::Error, "session_crypto", message);
                return;
            }
        }
    };
    let max_age = session.borrow().max_age;
    cookies::write(request, &dir.session, &encoded, max_age);
    session.borrow_mut().written = true;
}

/// The text of the session, if it has to be written.
fn to_write(request: &Request, dir: &Dir, session: &Shared) -> Option<Vec<u8>> {
    let mut session = session.borrow_mut();
    let (now, before) = (now(), session.expiry);
    if session.expiry != 0 && session.expiry < now {
        let message = "AH01819: attempt made to save a session when the session had already expired";
        log::request(request, Severity::Warn, "session", message);
        return None;
    }
    if session.max_age != 0 {
        session.expiry = now + session.max_age * SECOND;
    }
    let interval = dir.update_interval.unwrap_or(0) * SECOND;
    let is_new_enough = interval != 0 && session.expiry - before < interval;
    if !session.dirty && (is_new_enough || session.max_age == 0) {
        return None;
    }
    Some(session.encode())
}
