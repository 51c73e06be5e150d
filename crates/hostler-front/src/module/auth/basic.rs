//! Basic authentication (RFC 7617): who the user is, by a password file or by a function of the site's.

use super::rules::Known;
use super::{incomplete, unauthorized};
use crate::hook::phases::Phase;
use crate::hook::plan::plan;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::limits::aside;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::{Flow, Halt, Outcome};
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
            when: |request| request.dir.auth.fake.is_some(),
            effect: Effect::Notes,
            run: Run::Later(|request| Box::pin(fake(request))),
        },
    ],
    // Whoever logs in is a user of the request's, which an answer for all does not have.
    ..Module::new("auth_basic", |request| request.user.is_some())
};

/// Basic authentication (RFC 7617) against AuthUserFile.
async fn login(request: &mut Request) -> Outcome {
    let dir = request.dir.clone();
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
    let mut said = Checked::UserNotFound;
    for provider in providers(&dir.auth.providers) {
        said = match provider {
            auth::Provider::File => by_file(request, &user, &credentials.password).await?,
            auth::Provider::Program(function) => by_program(request, function, &credentials).await?,
        };
        if said != Checked::UserNotFound {
            break;
        }
    }
    let uri = String::from_utf8_lossy(&request.uri).into_owned();
    // Tools that ban addresses (fail2ban) know these two by their numbers.
    let failure = match said {
        Checked::Right => {
            request.user = Some(Bytes::from(credentials.user));
            request.auth_type = Some(Bytes::from_static(b"Basic"));
            return Ok(Flow::Ok);
        }
        Checked::UserNotFound => format!("AH01618: user {user} not found: {uri}"),
        Checked::Wrong => {
            format!("AH01617: user {user}: authentication failure for \"{uri}\": Password Mismatch")
        }
        Checked::Failed => {
            return Err(incomplete(request, "a provider that can tell (it said AUTH_GENERAL_ERROR)"));
        }
    };
    log::request(request, Severity::Error, "auth_basic", &failure);
    Err(unauthorized(request).await)
}

/// What a provider has said of a name and a password.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Checked {
    Right,
    Wrong,
    UserNotFound,
    Failed,
}

fn providers(named: &[auth::Provider]) -> &[auth::Provider] {
    if named.is_empty() { &[auth::Provider::File] } else { named }
}

async fn by_file(request: &mut Request, user: &str, password: &[u8]) -> Result<Checked, Halt> {
    let Some(file) = request.dir.auth.user_file.clone() else {
        return Err(incomplete(request, "AuthUserFile"));
    };
    let name = user.to_owned();
    let hash = Known::default()
        .search(request, &file, move |text| auth::password_hash(text, &name).map(str::to_owned))
        .await?;
    Ok(match hash {
        None => Checked::UserNotFound,
        Some(hash) if verified(request, password, &hash, user).await? => Checked::Right,
        Some(_) => Checked::Wrong,
    })
}

/// Apache's `authn_status`: denied, granted, user found, user not found, general error.
async fn by_program(
    request: &mut Request,
    function: &str,
    credentials: &auth::Credentials,
) -> Result<Checked, Halt> {
    if credentials.user.contains(&0) {
        return Ok(Checked::Wrong);
    }
    let texts: [&[u8]; 4] = [b"authn", function.as_bytes(), &credentials.user, &credentials.password];
    Ok(match plan().ask_provider(request, &texts).await? {
        0 => Checked::Wrong,
        1 => Checked::Right,
        3 => Checked::UserNotFound,
        _ => Checked::Failed,
    })
}

/// bcrypt takes long by design, so it happens on another thread, and a right password is remembered for a while.
async fn verified(request: &Request, password: &[u8], hash: &str, user: &str) -> Result<bool, Halt> {
    if request.thread.passwords.borrow().was_right(password, hash) {
        return Ok(true);
    }
    if auth::takes_too_long(password, hash) {
        let message = format!(
            "the password of user {user} can't be checked: it was hashed in so many rounds that checking it would take \
             minutes"
        );
        log::request(request, Severity::Error, "authn_file", &message);
        return Err(Halt::Status(500));
    }
    let (password_copy, hash_copy) = (password.to_vec(), hash.to_owned());
    let permit = aside::permit(request).await?;
    let fits = aside::run_free(request, permit, move || auth::verify(&password_copy, &hash_copy)).await?;
    if fits {
        request.thread.passwords.borrow_mut().keep(password, hash);
    }
    Ok(fits)
}

/// AuthBasicFake, once everything is decided: it logs nobody in here, but in what stands behind.
async fn fake(request: &mut Request) -> Outcome {
    let dir = request.dir.clone();
    match crate::request::expr_host::with_host(request, |host| dir.auth.fake_authorization(host)).await {
        Ok(Some(field)) => request.headers_in.set("Authorization", field),
        Ok(None) => {}
        Err(error) => return Err(incomplete(request, &format!("a value for AuthBasicFake ({error})"))),
    }
    Ok(Flow::Ok)
}
