//! Logins by a form in a page (mod_auth_form): the name and the password come once, in a form, and are kept in the
//! session ([`crate::module::session`]). A form that is posted to a URL that wants a login logs in and is not seen by
//! who answers for the URL; or a page posts to the handler `form-login-handler`.
//!
//! Where one is sent after a login is said by the form, as in Apache: whoever must not be sent elsewhere has a page that
//! names no place, and `AuthFormLoginSuccessLocation`.

use super::providers::{self, Verdict};
use super::{incomplete, realm};
use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Handler, Hook, Module, Run};
use crate::io::body::{Body, RequestBody};
use crate::log::{self, Severity};
use crate::module::session;
use crate::request::flow::{Continue, Flow, Halt, Outcome};
use crate::request::slots::{Relation, State};
use crate::request::{Origin, Request};
use base64::Engine as _;
use bytes::Bytes;
use hostler_config::directives::auth::form::{self, Form, FormError};
use hostler_config::directives::auth::{AuthType, Credentials, same};
use hostler_expr::{Captures, Expr};
use md5::{Digest as _, Md5};
use std::fmt::Write as _;

const LOGIN: &str = "form-login-handler";
const LOGOUT: &str = "form-logout-handler";
const REDIRECT: &str = "form-redirect-handler";

pub(crate) static MODULE: Module = Module {
    hooks: &[
        Hook {
            phase: Phase::Authn,
            after: &["perl", "auth_digest"],
            before: &["auth_basic"],
            when: |request| request.resource.dir.auth.kind == Some(AuthType::Form),
            effect: Effect::Decides,
            run: Run::Later(|request| Box::pin(login(request))),
        },
        // A login that goes on with another method is answered by who answers for that.
        Hook {
            phase: Phase::Handler,
            after: &["actions"],
            before: &[],
            when: wants_other_method,
            effect: Effect::Decides,
            run: Run::Now(|request| Err(go_on(request))),
        },
    ],
    handlers: &[
        Handler {
            names: &[LOGIN],
            types: &[],
            when: |_| true,
            settles: false,
            run: |request| Box::pin(log_in(request)),
        },
        Handler {
            names: &[LOGOUT],
            types: &[],
            when: |_| true,
            settles: false,
            run: |request| Box::pin(log_out(request)),
        },
        Handler {
            names: &[REDIRECT],
            types: &[],
            when: |_| true,
            settles: false,
            run: |request| Box::pin(std::future::ready(Err(go_on(request)))),
        },
    ],
    ..Module::new("auth_form", |request| request.user.is_some())
};

/// A form's fields; kept for requests that continue in this one's place.
#[derive(Clone, Default)]
struct FormFields {
    realm: Vec<u8>,
    user: Option<Vec<u8>>,
    password: Option<Vec<u8>>,
    location: Option<Vec<u8>>,
    method: Option<Vec<u8>>,
    kind: Option<Vec<u8>>,
    body: Option<Vec<u8>>,
}

impl State for FormFields {
    fn copy(&self) -> Box<dyn State> {
        Box::new(self.clone())
    }

    fn related(&self, _: &Request, _: Relation) -> Option<Box<dyn State>> {
        Some(self.copy())
    }
}

/// Returns the directory's settings of forms.
fn settings(request: &Request) -> Form {
    request.resource.dir.auth.form.as_deref().cloned().unwrap_or_default()
}

/// Authentication where `AuthType Form` applies.
async fn login(request: &mut Request) -> Outcome {
    let form = settings(request);
    let Some(realm) = realm(request).await? else { return Err(incomplete(request, "AuthName")) };
    request.auth_type = Some(Bytes::from_static(b"Form"));
    let wanted = match from_session(request, &form, &realm).await? {
        Ok(()) => return Ok(Flow::Ok),
        Err(location) if request.target.method == "POST" && request.origin == Origin::Client => {
            match from_form(request, &form, &realm).await? {
                Ok(()) => return Ok(Flow::Ok),
                Err(sent) => sent.or(location),
            }
        }
        Err(location) => location,
    };
    Err(turned_away(request, &form, wanted).await)
}

/// Answers a visitor who has to log in; `wanted`: the target in the form.
async fn turned_away(request: &mut Request, form: &Form, wanted: Option<Vec<u8>>) -> Halt {
    if let Some(required) = &form.required {
        return match text(request, required).await {
            Ok(location) => sent_to(request, location, 302),
            Err(halt) => halt,
        };
    }
    if let Some(location) = wanted {
        return sent_to(request, location, 302);
    }
    if form.may_be_stored != Some(true) {
        request.reply.err_headers_out.add("Cache-Control", "no-store");
    }
    Halt::Status(401)
}

/// A login that has been made before; inside, `Err`: it has to be made.
async fn from_session(
    request: &mut Request,
    form: &Form,
    realm: &[u8],
) -> Result<Result<(), Option<Vec<u8>>>, Halt> {
    let said = request.slots.find::<FormFields>().filter(|said| said.realm == realm).cloned();
    let is_whole = said.as_ref().is_some_and(|said| said.user.is_some() && said.password.is_some());
    let (user, password, site) = match said.filter(|_| is_whole) {
        Some(said) => (said.user, said.password, None),
        None => {
            let Some(session) = session::load(request).await? else { return Ok(Err(None)) };
            let open = session.borrow();
            let find = |what: &str| open.entries.find(key(realm, what)).map(|value| value.to_vec());
            (find("user"), find("pw"), find("site"))
        }
    };
    if let Some(user) = &user {
        request.user = Some(Bytes::copy_from_slice(user));
    }
    let (Some(user), Some(password)) = (user, password) else { return Ok(Err(None)) };
    let is_signed = match (&form.site, site) {
        (Some(passphrase), Some(sent)) => same(&signature(&user, passphrase), &sent),
        _ => false,
    };
    let credentials = Credentials { user, password };
    if is_signed || is_right(request, form, &credentials).await? {
        give(request, form, &credentials);
        return Ok(Ok(()));
    }
    Ok(Err(None))
}

/// A login by the form that was posted to this URL. Inside, `Err`: it is none, and where it wanted to go on.
async fn from_form(
    request: &mut Request,
    form: &Form,
    realm: &[u8],
) -> Result<Result<(), Option<Vec<u8>>>, Halt> {
    let said = said(request, form, realm).await?;
    request.slots.put(said.clone());
    replace_body(request, &said);
    let (Some(user), Some(password)) = (said.user.clone(), said.password.clone()) else {
        return Ok(Err(said.location));
    };
    let credentials = Credentials { user, password };
    if !is_right(request, form, &credentials).await? {
        return Ok(Err(said.location));
    }
    give(request, form, &credentials);
    keep(request, form, realm, Some(&credentials)).await?;
    if let Some(location) = said.location {
        return Err(sent_to(request, location, 302));
    }
    if let Some(success) = &form.success {
        let location = text(request, success).await?;
        return Err(sent_to(request, location, 302));
    }
    Ok(Ok(()))
}

/// Reads the form. What comes first of a name counts.
async fn said(request: &mut Request, form: &Form, realm: &[u8]) -> Result<FormFields, Halt> {
    let mut said = FormFields { realm: realm.to_vec(), ..FormFields::default() };
    let kind = request.header("Content-Type").unwrap_or_default();
    let of_form = b"application/x-www-form-urlencoded";
    let is_form = kind.get(..of_form.len()).is_some_and(|start| start.eq_ignore_ascii_case(of_form));
    let whole = whole(request, form.size()).await?;
    if !is_form {
        return Ok(said);
    }
    let fields = form::fields(&whole, form.size()).map_err(|error| match error {
        FormError::TooLarge => too_large(request),
        FormError::Malformed => Halt::Status(400),
    })?;
    for (name, value) in fields.into_iter().rev() {
        let is = |named: &Option<Box<str>>, usual: &str| name == named.as_deref().unwrap_or(usual).as_bytes();
        let place = if is(&form.user, "httpd_username") {
            &mut said.user
        } else if is(&form.password, "httpd_password") {
            &mut said.password
        } else if is(&form.location, "httpd_location") {
            &mut said.location
        } else if is(&form.method, "httpd_method") {
            &mut said.method
        } else if is(&form.kind, "httpd_mimetype") {
            &mut said.kind
        } else if is(&form.body, "httpd_body") {
            &mut said.body
        } else {
            continue;
        };
        *place = Some(value);
    }
    // Known in the log even when the password is wrong.
    if let Some(user) = &said.user {
        request.user = Some(Bytes::copy_from_slice(user));
    }
    Ok(said)
}

fn too_large(request: &Request) -> Halt {
    log::request(request, Severity::Error, "auth_form", "the form is larger than AuthFormSize");
    Halt::Status(413)
}

/// The request's body, as far as a form of this many bytes can be long when each of them is escaped.
async fn whole(request: &Request, most: usize) -> Result<Vec<u8>, Halt> {
    // Names that are no fields count, too; `&` and `=` do not.
    let most = most.saturating_mul(4).saturating_add(64);
    request.target.body.limit(most as u64);
    let mut whole = Vec::new();
    while let Some(piece) = request.target.body.chunk().await {
        let piece = piece.map_err(|error| Halt::Status(error.status()))?;
        if whole.len() + piece.len() > most {
            return Err(too_large(request));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole)
}

/// The form is for us alone; who answers gets what it names in its place.
fn replace_body(request: &mut Request, said: &FormFields) {
    let body = match (&said.body, &said.kind) {
        (Some(body), Some(kind)) => {
            request.target.headers_in.set("Content-Type", kind.clone());
            Bytes::copy_from_slice(body)
        }
        _ => Bytes::new(),
    };
    request.target.headers_in.unset("Transfer-Encoding");
    request.target.headers_in.set("Content-Length", body.len().to_string());
    request.target.body = RequestBody::kept(body);
}

/// Returns whether a provider knows the user with this password.
async fn is_right(request: &mut Request, form: &Form, credentials: &Credentials) -> Result<bool, Halt> {
    let uri = String::from_utf8_lossy(&request.target.uri).into_owned();
    let user = String::from_utf8_lossy(&credentials.user).into_owned();
    let failure = match providers::check_with(request, &form.providers, credentials).await? {
        Verdict::Right => return Ok(true),
        Verdict::UserNotFound => format!("AH01808: user '{user}' not found: {uri}"),
        Verdict::Wrong => {
            format!("AH01807: user '{user}': authentication failure for \"{uri}\": password Mismatch")
        }
        Verdict::Failed => {
            return Err(incomplete(request, "a provider that can tell (it said AUTH_GENERAL_ERROR)"));
        }
    };
    log::request(request, Severity::Error, "auth_form", &failure);
    Ok(false)
}

/// The request has this user; AuthFormFakeBasicAuth tells what stands behind.
fn give(request: &mut Request, form: &Form, credentials: &Credentials) {
    request.user = Some(Bytes::copy_from_slice(&credentials.user));
    if form.fake == Some(true) {
        let plain = [&credentials.user[..], b":", &credentials.password].concat();
        let encoded = base64::engine::general_purpose::STANDARD.encode(plain);
        request.target.configure("Authorization", format!("Basic {encoded}"));
    }
}

/// Keeps a login in the session, or forgets the one that is there.
async fn keep(
    request: &mut Request,
    form: &Form,
    realm: &[u8],
    credentials: Option<&Credentials>,
) -> Continue {
    let Some(session) = session::load(request).await? else {
        if credentials.is_some() {
            let message =
                "there is no session that the login could be kept in (Session On, SessionCookieName)";
            log::request(request, Severity::Warn, "auth_form", message);
        }
        return Ok(());
    };
    let signed = credentials.and_then(|known| Some(signature(&known.user, form.site.as_deref()?)));
    let mut open = session.borrow_mut();
    open.set(key(realm, "user"), credentials.map(|known| known.user.clone()));
    open.set(key(realm, "pw"), credentials.map(|known| known.password.clone()));
    open.set(key(realm, "site"), signed);
    Ok(())
}

fn key(realm: &[u8], what: &str) -> Vec<u8> {
    [realm, b"-", what.as_bytes()].concat()
}

/// AuthFormSitePassphrase's signature of a user, as Apache makes it.
fn signature(user: &[u8], passphrase: &str) -> Vec<u8> {
    let digest = Md5::digest([user, b":", passphrase.as_bytes()].concat());
    let mut out = String::with_capacity(32);
    digest.iter().for_each(|byte| write!(out, "{byte:02x}").unwrap_or_default());
    out.into_bytes()
}

async fn text(request: &Request, expr: &Expr) -> Result<Vec<u8>, Halt> {
    let evaluated =
        crate::request::expr_host::with_host(request, |host| expr.string(host, &Captures::new())).await;
    evaluated
        .map_err(|error| incomplete(request, &format!("a place to go on at that can be evaluated ({error})")))
}

/// Sends the client to another place.
fn sent_to(request: &mut Request, location: Vec<u8>, status: u16) -> Halt {
    if location.iter().any(|&b| b < b' ' || b == 0x7f) {
        let message = "the form names a place to go on at that has control characters";
        log::request(request, Severity::Error, "auth_form", message);
        return Halt::Status(400);
    }
    request.reply.headers_out.set("Location", location);
    Halt::Status(status)
}

/// `SetHandler form-login-handler`
async fn log_in(request: &mut Request) -> Result<Body, Halt> {
    if request.target.method != "POST" {
        let message = "AH01811: the form-login-handler only supports the POST method";
        log::request(request, Severity::Error, "auth_form", message);
        return Err(Halt::Status(405));
    }
    let form = settings(request);
    let Some(realm) = realm(request).await? else { return Err(incomplete(request, "AuthName")) };
    let said = said(request, &form, &realm).await?;
    if let (Some(user), Some(password)) = (said.user.clone(), said.password.clone()) {
        let credentials = Credentials { user, password };
        if is_right(request, &form, &credentials).await? {
            keep(request, &form, &realm, Some(&credentials)).await?;
            let location = match (said.location, &form.success) {
                (Some(location), _) => location,
                (None, Some(success)) => text(request, success).await?,
                (None, None) => return Ok(page(request, "You are logged in.\n")),
            };
            return Err(sent_to(request, location, 302));
        }
    }
    match &form.required {
        Some(required) => {
            let location = text(request, required).await?;
            Err(sent_to(request, location, 302))
        }
        None => Err(Halt::Status(401)),
    }
}

/// `SetHandler form-logout-handler`
async fn log_out(request: &mut Request) -> Result<Body, Halt> {
    let form = settings(request);
    if let Some(realm) = realm(request).await? {
        keep(request, &form, &realm, None).await?;
    }
    request.reply.err_headers_out.add("Cache-Control", "no-store");
    match &form.logout {
        Some(logout) => {
            let location = text(request, logout).await?;
            Err(sent_to(request, location, 307))
        }
        None => Ok(page(request, "You are logged out.\n")),
    }
}

fn page(request: &mut Request, text: &'static str) -> Body {
    request.resource.content_type = Some(Bytes::from_static(b"text/plain; charset=utf-8"));
    Body::Bytes(Bytes::from_static(text.as_bytes()))
}

/// Returns whether the form that has logged in names another method than its own.
fn wants_other_method(request: &Request) -> bool {
    let said = request.slots.find::<FormFields>().filter(|_| request.origin == Origin::Client);
    said.is_some_and(|said| {
        said.method.as_ref().is_some_and(|method| method[..] != request.target.method[..])
    })
}

/// The request that the form names in its place.
fn go_on(request: &mut Request) -> Halt {
    let said = request.slots.find::<FormFields>().cloned().unwrap_or_default();
    let (Some(method), Some(_), Some(_)) = (said.method, said.kind, said.body) else {
        let message =
            "AH01813: internal redirect requested but one or all of method, mimetype or body are missing";
        log::request(request, Severity::Error, "auth_form", message);
        return Halt::Status(500);
    };
    let is_token = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
    if method.is_empty() || !method.iter().all(is_token) {
        return Halt::Status(400);
    }
    // The body goes on with it.
    let method = Bytes::from(method);
    request.target.method = method.clone();
    let target = hostler_rewrite::Function::Escape.apply(&request.target.uri).to_vec();
    Halt::Redirect { method, target }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_apache_s() {
        // printf 'ann:site' | md5sum
        assert_eq!(signature(b"ann", "site"), b"e956fe8e1a71ac8f9f290853864e1254");
        assert!(same(b"ab", b"ab") && !same(b"ab", b"ac") && !same(b"ab", b"a"));
    }
}
