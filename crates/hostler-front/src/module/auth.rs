//! Who may see it: Order/Allow/Deny, Require, basic authentication, Satisfy; in the order of Apache's
//! `ap_process_request_internal`.
//!
//! Everything here fails closed: what can't be evaluated is an error, never a pass.

pub(crate) mod passwords;

use crate::hook::serve::{Halt, Phase};
use crate::io::open_file::OpenFile;
use crate::limits::aside;
use crate::log::{self, Severity};
use crate::module::perl::phases::{self, Said};
use crate::request::Request;
use crate::request::expr_host::RequestHost;
use crate::request::names;
use bytes::Bytes;
use hostler_config::directives::auth::{self, AuthType};
use hostler_config::directives::authz::{Decision, Facts, Need, Stop, Verdict, decide};
use hostler_expr::{Answer, EvalError, Host};
use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

/// Whether the answer is "yes" for every request, whatever it looks like.
pub(crate) fn is_open(request: &Request) -> bool {
    let dir = &request.dir;
    !dir.ssl.require_ssl.unwrap_or(false)
        && dir.ssl.require.is_empty()
        && dir.authz.static_verdict() == Some(Verdict::Granted)
        && (!dir.access_compat.is_set() || dir.access_compat.static_answer() == Some(true))
}

/// Checks access; may log the user in.
pub(crate) async fn check(request: &mut Request) -> Phase {
    phases::guard(request)?;
    let dir = request.dir.clone();
    before_functions(request).await?;
    // mod_perl's functions for authentication are asked only where a rule wants a user.
    let said = phases::decide(request, phases::ACCESS).await;
    if !Arc::ptr_eq(&dir, &request.dir) {
        // They have added rules, perhaps such as were asked before them.
        before_functions(request).await?;
    }
    after_functions(request, said.map(drop)).await
}

/// The same for a request whose functions have had their say, and have added rules.
pub(crate) async fn check_rules(request: &mut Request) -> Phase {
    before_functions(request).await?;
    after_functions(request, Ok(())).await
}

/// What comes before the functions of the access phase.
async fn before_functions(request: &mut Request) -> Phase {
    if !crate::hook::filter::methods_allowed(request) {
        return Err(Halt::Status(405));
    }
    if is_open(request) {
        return Ok(());
    }
    encryption(request).await?;
    // An internal redirect or include under the same rules was already checked (the user stays known).
    if let Some(prev) = &request.prev
        && Arc::ptr_eq(&prev.dir, &request.dir)
        && prev.status < 400
        && request.user.is_none()
    {
        request.user.clone_from(&prev.user);
        request.auth_type.clone_from(&prev.auth_type);
    }
    Ok(())
}

async fn after_functions(request: &mut Request, said: Phase) -> Phase {
    if is_open(request) {
        return said;
    }
    let mut known = Known::default();
    let dir = request.dir.clone();
    let method = String::from_utf8_lossy(&request.method).into_owned();
    let any = dir.access_compat.satisfies_any(&method);
    let by_function = match said {
        Err(Halt::Status(_)) if any => false,
        said => said.map(|()| true)?,
    };
    let by_address = by_function && ask(request, &mut known, |facts| dir.access_compat.allows(facts)).await?;
    if !by_address && !any {
        denied(request, "AH01630: client denied by server configuration");
        return Err(Halt::Status(403));
    }
    if any && by_address {
        return Ok(());
    }
    require(request, &mut known).await
}

fn forbidden(request: &Request) -> Phase {
    denied(request, "AH01630: client denied by server configuration");
    Err(Halt::Status(403))
}

fn denied(request: &Request, why: &str) {
    let path = if request.filename.is_empty() { &request.uri } else { &request.filename };
    log::request(
        request,
        Severity::Error,
        "authz_core",
        &format!("{why}: {}", String::from_utf8_lossy(path)),
    );
}

/// SSLRequireSSL and SSLRequire: neither Satisfy nor a login gets around them.
async fn encryption(request: &Request) -> Phase {
    let dir = request.dir.clone();
    let refuse = |why: &str| {
        let path = String::from_utf8_lossy(&request.filename);
        log::request(request, Severity::Error, "ssl", &format!("access to {path} denied: {why}"));
        Err(Halt::Status(403))
    };
    if dir.ssl.require_ssl == Some(true) && request.peer.tls.is_none() {
        return refuse("the connection is not encrypted (SSLRequireSSL)");
    }
    for condition in &dir.ssl.require {
        match crate::request::expr_host::test(request, condition, &mut hostler_expr::Captures::new()).await {
            Ok(true) => {}
            Ok(false) => return refuse("SSLRequire does not hold"),
            Err(error) => return refuse(&format!("SSLRequire can't be evaluated: {error}")),
        }
    }
    Ok(())
}

/// Require, with a login where it asks for one.
async fn require(request: &mut Request, known: &mut Known) -> Phase {
    match decided(request, known).await? {
        Decision::Allow => return Ok(()),
        Decision::Authenticate => {}
        Decision::Forbidden => return forbidden(request),
        Decision::Unauthorized => return unauthorized(request).await,
    }
    if phases::decide(request, phases::AUTHEN).await? == Said::Declined {
        login(request, known).await?;
    } else if request.user.is_none() {
        return Err(incomplete(request, "a PerlAuthenHandler that sets the user"));
    }
    if phases::decide(request, phases::AUTHZ).await? == Said::Ok {
        return Ok(());
    }
    known.logged_in = true;
    known.programs.clear();
    match decided(request, known).await? {
        Decision::Allow => Ok(()),
        Decision::Forbidden => forbidden(request),
        Decision::Authenticate | Decision::Unauthorized => {
            let user = String::from_utf8_lossy(request.user.as_deref().unwrap_or_default()).into_owned();
            let message = format!(
                "user {user}: authorization failure for \"{}\"",
                String::from_utf8_lossy(&request.uri)
            );
            log::request(request, Severity::Error, "authz_core", &message);
            unauthorized(request).await
        }
    }
}

/// What the rules of Require come to now; functions may have added some since they were last asked.
async fn decided(request: &mut Request, known: &mut Known) -> Result<Decision, Halt> {
    let dir = request.dir.clone();
    let verdict = ask(request, known, |facts| dir.authz.verdict(facts)).await?;
    let logged_in = known.logged_in || request.user.is_some();
    Ok(decide(verdict, logged_in, dir.auth.has_auth_type(), &dir.authz))
}

async fn unauthorized(request: &mut Request) -> Phase {
    let dir = request.dir.clone();
    match crate::request::expr_host::with_host(request, |host| dir.auth.challenge(host)).await {
        Ok(Some(challenge)) => request.err_headers_out.set("WWW-Authenticate", challenge),
        Ok(None) => {}
        Err(error) => {
            log::request(
                request,
                Severity::Error,
                "auth_basic",
                &format!("AuthName can't be evaluated: {error}"),
            );
            return Err(Halt::Status(500));
        }
    }
    Err(Halt::Status(401))
}

/// Something is missing that authentication needs: nobody gets in, and the operator is told.
fn incomplete(request: &Request, what: &str) -> Halt {
    let message = format!("{what} is needed to authenticate for {}", String::from_utf8_lossy(&request.uri));
    log::request(request, Severity::Error, "auth_basic", &message);
    Halt::Status(500)
}

/// AuthBasicFake, once everything is decided: it logs nobody in here, but in what stands behind.
pub(crate) async fn fake(request: &mut Request) -> Phase {
    let dir = request.dir.clone();
    match crate::request::expr_host::with_host(request, |host| dir.auth.fake_authorization(host)).await {
        Ok(Some(field)) => request.headers_in.set("Authorization", field),
        Ok(None) => {}
        Err(error) => return Err(incomplete(request, &format!("a value for AuthBasicFake ({error})"))),
    }
    Ok(())
}

/// Basic authentication (RFC 7617) against AuthUserFile.
async fn login(request: &mut Request, known: &mut Known) -> Phase {
    let dir = request.dir.clone();
    if dir.auth.kind != Some(AuthType::Basic) {
        return Err(incomplete(request, "AuthType Basic"));
    }
    if dir.auth.realm.is_none() {
        return Err(incomplete(request, "AuthName"));
    }
    let field = request.header("Authorization").map(<[u8]>::to_vec);
    let Some(credentials) = field.and_then(|f| auth::Credentials::parse(&f)) else {
        return unauthorized(request).await;
    };
    let user = String::from_utf8_lossy(&credentials.user).into_owned();
    // Known in the log even when the password is wrong.
    request.user = Some(Bytes::copy_from_slice(&credentials.user));
    let mut said = Checked::UserNotFound;
    for provider in providers(&dir.auth.providers) {
        said = match provider {
            auth::Provider::File => by_file(request, known, &user, &credentials.password).await?,
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
            return Ok(());
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
    unauthorized(request).await
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

async fn by_file(
    request: &mut Request,
    known: &mut Known,
    user: &str,
    password: &[u8],
) -> Result<Checked, Halt> {
    let Some(file) = request.dir.auth.user_file.clone() else {
        return Err(incomplete(request, "AuthUserFile"));
    };
    let name = user.to_owned();
    let hash =
        known.search(request, &file, move |text| auth::password_hash(text, &name).map(str::to_owned)).await?;
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
    Ok(match phases::ask_provider(request, &texts).await? {
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

/// What had to be fetched for the rules.
#[derive(Default)]
struct Known {
    /// Who asks has been found out, or is nobody.
    logged_in: bool,
    client_name: Option<Option<String>>,
    addresses: HashMap<String, Vec<IpAddr>>,
    members: HashMap<String, bool>,
    /// What functions have said about words of Require; they may say something else of a user.
    programs: HashMap<(String, String), u16>,
}

/// Largest password or group file, in bytes.
const LARGEST: u64 = 16 << 20;

impl Known {
    /// Looks for something in a password or group file, read as the site's user.
    async fn search<T: Send + 'static>(
        &self,
        request: &Request,
        path: &str,
        look: impl FnOnce(&str) -> T + Send + 'static,
    ) -> Result<T, Halt> {
        let site = request.thread.site(&request.server);
        let facts = site.walk(path.as_bytes(), &crate::module::core::walk::no_access_files()).await;
        let file = facts.ok().and_then(|facts| facts.file.clone()).filter(|file| file.info.size <= LARGEST);
        let unreadable = || {
            let message = format!(
                "could not open password or group file {path}: the site's user must be able to read it, and it may \
                 have no more than {LARGEST} bytes"
            );
            log::request(request, Severity::Error, "authn_file", &message);
            Halt::Status(500)
        };
        let file = file.ok_or_else(unreadable)?;
        if let Some(text) = file.content() {
            return Ok(look(&String::from_utf8_lossy(&text)));
        }
        let permit = aside::permit(request).await?;
        let size = file.info.size;
        let descriptor = file.descriptor().try_clone().map_err(|_| unreadable())?;
        let found = aside::run(request, permit, move || {
            let text = OpenFile::whole(&descriptor, size)?;
            Some(look(&String::from_utf8_lossy(&text)))
        });
        found.await?.ok_or_else(unreadable)
    }

    async fn fetch(&mut self, request: &mut Request, need: Need) -> Result<(), Halt> {
        match need {
            Need::ClientName => {
                let name = names::client_for_access(&request.peer).await;
                self.client_name = Some(name);
            }
            Need::Addresses(name) => {
                let found = names::addresses(&name).await;
                self.addresses.insert(name, found);
            }
            Need::Membership(group) => {
                let member = match (&request.dir.auth.group_file, &request.user) {
                    (Some(file), Some(user)) => {
                        let (user, group) = (String::from_utf8_lossy(user).into_owned(), group.clone());
                        let look = move |text: &str| auth::is_member(text, &group, &user);
                        self.search(request, file, look).await?
                    }
                    _ => false,
                };
                self.members.insert(group, member);
            }
            Need::Program(function, words) => {
                let texts: [&[u8]; 3] = [b"authz", function.as_bytes(), words.as_bytes()];
                let said = phases::ask_provider(request, &texts).await?;
                self.programs.insert((function, words), said);
            }
            Need::Expression(_) => {}
        }
        Ok(())
    }
}

/// Asks rules until they need nothing more.
async fn ask<T>(
    request: &mut Request,
    known: &mut Known,
    rules: impl Fn(&dyn Facts) -> Result<T, Stop>,
) -> Result<T, Halt> {
    loop {
        let mut need = None;
        let seen: &Request = request;
        let outcome = crate::request::expr_host::with_host(seen, |host| {
            let facts = View {
                request: seen,
                known,
                host,
                method: String::from_utf8_lossy(&seen.method).into_owned(),
            };
            match rules(&facts) {
                Ok(value) => Ok(Some(value)),
                Err(Stop::Pending(Need::Expression(question))) => Err(EvalError::Pending(question)),
                Err(Stop::Pending(other)) => {
                    need = Some(other);
                    Ok(None)
                }
                Err(Stop::Failed(why)) => Err(EvalError::Invalid(why)),
            }
        });
        match outcome.await {
            Ok(Some(value)) => return Ok(value),
            Ok(None) => {}
            Err(error) => {
                log::request(
                    request,
                    Severity::Error,
                    "authz_core",
                    &format!("access can't be decided: {error}"),
                );
                return Err(Halt::Status(500));
            }
        }
        if let Some(need) = need {
            known.fetch(request, need).await?;
        }
    }
}

/// A request as rules see it.
struct View<'a> {
    request: &'a Request,
    known: &'a Known,
    host: &'a RequestHost<&'a Request>,
    method: String,
}

impl Facts for View<'_> {
    fn method(&self) -> &str {
        &self.method
    }

    fn user(&self) -> Option<&str> {
        std::str::from_utf8(self.request.user.as_deref()?).ok()
    }

    fn has_env(&self, name: &str) -> bool {
        self.request.env.contains(name)
    }

    fn client_ip(&self) -> IpAddr {
        self.request.peer.remote.ip()
    }

    fn local_ip(&self) -> IpAddr {
        self.request.peer.local.ip()
    }

    fn is_encrypted(&self) -> bool {
        self.request.peer.tls.is_some()
    }

    fn client_name(&self) -> Answer<Option<Cow<'_, str>>> {
        match &self.known.client_name {
            None => Answer::Pending,
            Some(name) => Answer::Ready(name.as_deref().map(Cow::Borrowed)),
        }
    }

    fn addresses(&self, name: &str) -> Answer<Vec<IpAddr>> {
        self.known.addresses.get(name).map_or(Answer::Pending, |found| Answer::Ready(found.clone()))
    }

    fn is_member(&self, group: &str) -> Answer<bool> {
        self.known.members.get(group).map_or(Answer::Pending, |member| Answer::Ready(*member))
    }

    fn program(&self, function: &str, words: &str) -> Answer<u16> {
        let said = self.known.programs.get(&(function.to_owned(), words.to_owned()));
        said.map_or(Answer::Pending, |said| Answer::Ready(*said))
    }

    fn expression_host(&self) -> &dyn Host {
        self.host
    }
}
