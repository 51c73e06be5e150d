//! Basic authentication (RFC 7617): who the user is, by name and password.

use super::providers::{self, Verdict};
use super::{incomplete, unauthorized};
use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::{Flow, Outcome};
use bytes::Bytes;
use hostler_config::directives::auth::{self, AuthType};

pub(crate) static MODULE: Module = Module {
    hooks: &[
        Hook {
            phase: Phase::Authn,
            after: &["perl"],
            before: &[],
            when: |_| true,
            effect: Effect::Decides,
            run: Run::Later(|request| Box::pin(login(request))),
        },
        // Once everything is decided: it logs nobody in here, but in what stands behind.
        Hook {
            phase: Phase::Fixup,
            after: &["dir"],
            before: &[],
            when: |request| request.resource.dir.auth.fake.is_some(),
            effect: Effect::Notes,
            run: Run::Later(|request| Box::pin(fake(request))),
        },
    ],
    // Whoever logs in is a user of the request's, which an answer for all does not have.
    ..Module::new("auth_basic", |request| request.user.is_some())
};

/// Basic authentication (RFC 7617).
async fn login(request: &mut Request) -> Outcome {
    let dir = request.resource.dir.clone();
    if dir.auth.kind != Some(AuthType::Basic) {
        return Err(incomplete(request, "AuthType Basic"));
    }
    if dir.auth.realm.is_none() {
        return Err(incomplete(request, "AuthName"));
    }
    let field = request.header("Authorization").map(<[u8]>::to_vec);
    let Some(credentials) = field.and_then(|f| auth::Credentials::parse(&f)) else {
        return Err(unauthorized(request).await);
    };
    let user = String::from_utf8_lossy(&credentials.user).into_owned();
    // Known in the log even when the password is wrong.
    request.user = Some(Bytes::copy_from_slice(&credentials.user));
    let said = providers::check(request, &credentials).await?;
    // Quirk(apache): with Off whoever is not known here is asked for elsewhere, if there is anybody.
    let may_pass = dir.auth.authoritative == Some(false) && dir.fcgid.roles.authenticator.is_set();
    if may_pass && matches!(said, Verdict::UserNotFound | Verdict::Failed) {
        return Ok(Flow::Declined);
    }
    let uri = String::from_utf8_lossy(&request.target.uri).into_owned();
    // Tools that ban addresses (fail2ban) know these two by their numbers.
    let failure = match said {
        Verdict::Right => {
            request.auth_type = Some(Bytes::from_static(b"Basic"));
            return Ok(Flow::Ok);
        }
        Verdict::UserNotFound => format!("AH01618: user {user} not found: {uri}"),
        Verdict::Wrong => {
            format!("AH01617: user {user}: authentication failure for \"{uri}\": Password Mismatch")
        }
        Verdict::Failed => {
            return Err(incomplete(request, "a provider that can tell (it said AUTH_GENERAL_ERROR)"));
        }
    };
    log::request(request, Severity::Error, "auth_basic", &failure);
    Err(unauthorized(request).await)
}

/// AuthBasicFake, once everything is decided: it logs nobody in here, but in what stands behind.
async fn fake(request: &mut Request) -> Outcome {
    let dir = request.resource.dir.clone();
    match crate::request::expr_host::with_host(request, |host| dir.auth.fake_authorization(host)).await {
        Ok(Some(field)) => request.target.configure("Authorization", field),
        Ok(None) => {}
        Err(error) => return Err(incomplete(request, &format!("a value for AuthBasicFake ({error})"))),
    }
    Ok(Flow::Ok)
}
