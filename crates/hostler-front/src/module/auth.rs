//! Access rules: Order, Allow, Deny (mod_access_compat), Require (mod_authz_core), basic authentication
//! (mod_auth_basic). `hook/access.rs` decides when each is asked, and applies `Satisfy`.
//!
//! Everything here fails closed: what can't be evaluated is an error, never a pass.

pub(crate) mod basic;
pub(crate) mod digest;
mod files;
pub(crate) mod form;
pub(crate) mod passwords;
mod providers;
mod rules;

use crate::hook::access::satisfies_any;
use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::{Flow, Halt, Outcome};
use hostler_config::directives::auth::AuthType;
use hostler_config::directives::authz::{Decision, Verdict, decide};
use rules::{RuleFacts, ask};

pub(crate) static ACCESS_COMPAT: Module = Module {
    hooks: &[Hook {
        phase: Phase::Access,
        after: &["perl", "ssl"],
        before: &[],
        when: |request| !is_open(request),
        effect: Effect::Satisfiable,
        run: Run::Later(|request| Box::pin(by_address(request))),
    }],
    ..Module::new("access_compat", |request| !is_open(request))
};

pub(crate) static AUTHZ_CORE: Module = Module {
    hooks: &[
        Hook {
            phase: Phase::AccessEx,
            after: &[],
            before: &[],
            when: |request| !is_open(request),
            effect: Effect::Decides,
            run: Run::Later(|request| Box::pin(without_login(request))),
        },
        Hook {
            phase: Phase::Authz,
            after: &["perl"],
            before: &[],
            when: |_| true,
            effect: Effect::Decides,
            run: Run::Later(|request| Box::pin(with_login(request))),
        },
    ],
    ..Module::new("authz_core", |request| !is_open(request))
};

/// Returns whether the answer is "yes" for every request, whatever it looks like.
pub(crate) fn is_open(request: &Request) -> bool {
    let dir = &request.resource.dir;
    !dir.ssl.require_ssl.unwrap_or(false)
        && dir.ssl.require.is_empty()
        && dir.authz.static_verdict() == Some(Verdict::Granted)
        && (!dir.access_compat.is_set() || dir.access_compat.static_answer() == Some(true))
}

/// Order, Allow, Deny.
async fn by_address(request: &mut Request) -> Outcome {
    let dir = request.resource.dir.clone();
    if ask(request, &mut RuleFacts::default(), |facts| dir.access_compat.allows(facts)).await? {
        return Ok(Flow::Ok);
    }
    // A login may do.
    if satisfies_any(request) { Err(Halt::Status(403)) } else { Err(forbidden(request)) }
}

/// Require, as far as nobody has to be known for it.
async fn without_login(request: &mut Request) -> Outcome {
    let has_user = request.user.is_some();
    match decided(request, has_user).await? {
        Decision::Allow => Ok(Flow::Ok),
        Decision::Authenticate => Ok(Flow::Declined),
        Decision::Forbidden => Err(forbidden(request)),
        Decision::Unauthorized => Err(unauthorized(request).await),
    }
}

/// Require, now that the user is known.
async fn with_login(request: &mut Request) -> Outcome {
    match decided(request, true).await? {
        Decision::Allow => Ok(Flow::Ok),
        Decision::Forbidden => Err(forbidden(request)),
        Decision::Authenticate | Decision::Unauthorized => {
            let user = String::from_utf8_lossy(request.user.as_deref().unwrap_or_default()).into_owned();
            let message = format!(
                "user {user}: authorization failure for \"{}\"",
                String::from_utf8_lossy(&request.target.uri)
            );
            log::request(request, Severity::Error, "authz_core", &message);
            Err(unauthorized(request).await)
        }
    }
}

/// Evaluates the rules of Require now; functions may have added some since the last time.
async fn decided(request: &mut Request, logged_in: bool) -> Result<Decision, Halt> {
    let dir = request.resource.dir.clone();
    let verdict = ask(request, &mut RuleFacts::default(), |facts| dir.authz.verdict(facts)).await?;
    Ok(decide(verdict, logged_in, dir.auth.has_auth_type(), &dir.authz))
}

fn forbidden(request: &Request) -> Halt {
    denied(request, "AH01630: client denied by server configuration");
    Halt::Status(403)
}

fn denied(request: &Request, why: &str) {
    let path =
        if request.resource.filename.is_empty() { &request.target.uri } else { &request.resource.filename };
    log::request(
        request,
        Severity::Error,
        "authz_core",
        &format!("{why}: {}", String::from_utf8_lossy(path)),
    );
}

/// Asks for a login.
pub(crate) async fn unauthorized(request: &mut Request) -> Halt {
    let dir = request.resource.dir.clone();
    if dir.auth.kind == Some(AuthType::Digest) {
        return digest::challenge(request, false).await;
    }
    match crate::request::expr_host::with_host(request, |host| dir.auth.challenge(host)).await {
        Ok(Some(challenge)) => request.reply.err_headers_out.set("WWW-Authenticate", challenge),
        Ok(None) => {}
        Err(error) => {
            log::request(
                request,
                Severity::Error,
                "auth_basic",
                &format!("AuthName can't be evaluated: {error}"),
            );
            return Halt::Status(500);
        }
    }
    Halt::Status(401)
}

/// AuthName; `None`: there is none.
async fn realm(request: &Request) -> Result<Option<Vec<u8>>, Halt> {
    let dir = request.resource.dir.clone();
    let realm = crate::request::expr_host::with_host(request, |host| dir.auth.plain_realm(host)).await;
    realm.map_err(|error| incomplete(request, &format!("an AuthName that can be evaluated ({error})")))
}

/// Something is missing that authentication needs: nobody gets in, and the operator is told.
fn incomplete(request: &Request, what: &str) -> Halt {
    let message =
        format!("{what} is needed to authenticate for {}", String::from_utf8_lossy(&request.target.uri));
    log::request(request, Severity::Error, "auth_basic", &message);
    Halt::Status(500)
}
