//! FastCGI programs that decide who may see what (FastCGI §6.3), as mod_fcgid asks them: a 200 lets the request pass, and
//! its `Variable-...` fields become variables of the request. Whatever else happens refuses it, unless the program is not
//! the last word (`...Authoritative Off`).

use super::{MODULE_NAME, remember, status};
use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Run};
use crate::log::{self, Severity};
use crate::module::auth;
use crate::module::cgi;
use crate::module::socket::talk::{Ask, Redirects, consult, fail};
use crate::request::Request;
use crate::request::flow::{Flow, Halt, Outcome};
use bytes::Bytes;
use hostler_cgi::Header;
use hostler_config::directives::auth::Credentials;
use hostler_config::directives::fcgid::{RoleProgram, Roles, Wrapper};
use hostler_gateway::Error;
use hostler_gateway::backend::fastcgi::FastCgi;
use hostler_gateway::backend::stream::{Keep, Role};
use std::sync::Arc;

/// Variables that such a program does not get: it answers for no script, and gets no body.
const UNTOLD: [&str; 9] = [
    "CONTENT_LENGTH",
    "PATH_INFO",
    "PATH_TRANSLATED",
    "SCRIPT_NAME",
    "HTTP_KEEP_ALIVE",
    "HTTP_TE",
    "HTTP_TRAILER",
    "HTTP_TRANSFER_ENCODING",
    "HTTP_UPGRADE",
];

/// A role, as programs are told of it.
struct Kind {
    name: &'static str,
    of: fn(&Roles) -> &RoleProgram,
    /// True if it gets the user's password, and a refusal asks for another.
    knows_user: bool,
}

const ACCESS: Kind = Kind { name: "ACCESS_CHECKER", of: |roles| &roles.access, knows_user: false };
const AUTHENTICATOR: Kind =
    Kind { name: "AUTHENTICATOR", of: |roles| &roles.authenticator, knows_user: true };
const AUTHORIZER: Kind = Kind { name: "AUTHORIZER", of: |roles| &roles.authorizer, knows_user: true };

pub(super) const HOOKS: &[Hook] = &[
    Hook {
        phase: Phase::Access,
        after: &["access_compat", "perl", "ssl"],
        before: &[],
        when: |request| request.resource.dir.fcgid.roles.access.is_set(),
        effect: Effect::Satisfiable,
        run: Run::Later(|request| Box::pin(decide(request, &ACCESS))),
    },
    Hook {
        phase: Phase::Authn,
        after: &["auth_digest", "auth_basic"],
        before: &[],
        when: |request| request.resource.dir.fcgid.roles.authenticator.is_set(),
        effect: Effect::Decides,
        run: Run::Later(|request| Box::pin(decide(request, &AUTHENTICATOR))),
    },
    Hook {
        phase: Phase::Authz,
        after: &["perl"],
        before: &["authz_core"],
        when: |request| request.resource.dir.fcgid.roles.authorizer.is_set(),
        effect: Effect::Decides,
        run: Run::Later(|request| Box::pin(decide(request, &AUTHORIZER))),
    },
    // Quirk(mod_fastcgi): a file that is named as a program is one, whatever its handler was.
    Hook {
        phase: Phase::Fixup,
        after: &["charset_lite"],
        before: &[],
        when: is_named,
        effect: Effect::Decides,
        run: Run::Now(|request| {
            request.resource.handler = Some(Bytes::from_static(b"fastcgi-script"));
            Ok(Flow::Ok)
        }),
    },
];

/// Returns whether `FastCgiServer` or `FastCgiExternalServer` names the request's file.
pub(super) fn is_named(request: &Request) -> bool {
    let fcgid = &request.server.conf.fcgid;
    let names_any = !(fcgid.named.is_empty() && fcgid.externals.is_empty());
    names_any && fcgid.names(&request.resource.filename)
}

pub(super) fn is_set(request: &Request) -> bool {
    request.resource.dir.fcgid.roles.is_set()
}

async fn decide(request: &mut Request, kind: &'static Kind) -> Outcome {
    let dir = request.resource.dir.clone();
    let asked = (kind.of)(&dir.fcgid.roles);
    let Some(program) = &asked.program else { return Ok(Flow::Declined) };
    let mut password = None;
    if kind.knows_user {
        let field = request.header("Authorization").map(<[u8]>::to_vec);
        let Some(credentials) = field.and_then(|field| Credentials::parse(&field)) else {
            return Err(auth::unauthorized(request).await);
        };
        request.user = Some(Bytes::from(credentials.user));
        request.auth_type = Some(Bytes::from_static(b"Basic"));
        password = Some(credentials.password);
    }
    let header = match ask(request, kind, program, password).await {
        Ok(header) => header,
        // Who can't be asked lets nobody through, whatever others would say.
        Err(error) => return Err(fail(request, MODULE_NAME, &error, 500)),
    };
    let code = header.status.as_ref().map_or(200, |status| status.code);
    if code == 200 && header.location.is_none() {
        for (name, value) in &header.fields {
            if name.get(..9).is_some_and(|start| start.eq_ignore_ascii_case(b"Variable-")) {
                request.env.set(name[9..].to_vec(), value.clone());
            }
        }
        return Ok(Flow::Ok);
    }
    let uri = String::from_utf8_lossy(&request.target.uri).into_owned();
    let why = format!("the program {} refuses {uri} as {}: {code}", program.command[0], kind.name);
    log::request(request, Severity::Info, MODULE_NAME, &why);
    if asked.authoritative == Some(false) {
        return Ok(Flow::Declined);
    }
    Err(if kind.knows_user { auth::unauthorized(request).await } else { Halt::Status(401) })
}

async fn ask(
    request: &mut Request,
    kind: &Kind,
    program: &Arc<Wrapper>,
    password: Option<Vec<u8>>,
) -> Result<Header, Error> {
    let mut environment = cgi::environment(request).await;
    UNTOLD.iter().for_each(|name| environment.unset(name));
    environment.set("HTTP_CONNECTION", "close");
    environment.set("FCGI_APACHE_ROLE", kind.name);
    if let Some(password) = password {
        environment.set("REMOTE_PASSWD", password);
    }
    let script = Bytes::from([b"\0", kind.name.as_bytes()].concat());
    let (target, timeout) = remember(request, Some(program), script, (0, 0, 0, 0));
    let ask = Ask {
        target,
        environment,
        keep: Keep::Connection,
        role: Role::Authorizer,
        file: None,
        timeout,
        module: MODULE_NAME,
        redirects: Redirects::Cgi,
        status,
    };
    consult::<FastCgi>(request, ask).await
}
