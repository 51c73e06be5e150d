//! Requests that another server answers (mod_proxy, mod_proxy_http, mod_proxy_http2, mod_proxy_balancer,
//! mod_proxy_wstunnel).
//!
//! - `target`: which URL a request has there, and whose it is;
//! - `outgoing`, `upload`: what that server is sent;
//! - `choice`: whom of a balancer's members it is sent to;
//! - `run`: how it is sent, and what becomes of it if that fails;
//! - `http2`: the same over HTTP/2;
//! - `secure`: TLS to it;
//! - `answer`, `output`: what comes back;
//! - `checks`: whether members of balancers are there, asked in advance;
//! - `programs`: those that speak another protocol than HTTP.
//!
//! A request is another server's only by the configuration: what a tenant's program sets of handler and file name makes
//! none of it.
//!
//! **Diagnostics**: under `proxy`: for each 502, 503 and 504 one line with the server and the cause.

pub(crate) mod answer;
pub(crate) mod checks;
pub(crate) mod choice;
mod containers;
mod fast;
mod http2;
mod outgoing;
mod output;
mod programs;
mod run;
mod secure;
mod target;
mod upload;

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Handler, Hook, Module, Run};
use crate::hook::sections;
use crate::io::body::Body;
use crate::limits::budget;
use crate::log::{self, Severity};
use crate::request::flow::{Flow, Halt, Outcome};
use crate::request::slots::{Relation, State};
use crate::request::{FileEntry, Request};
use bytes::Bytes;
use hostler_config::directives::jk::mounts::Rule;
use hostler_config::directives::proxy::Balancer;
use hostler_config::directives::proxy::parameters::Parameters;
use hostler_config::directives::proxy::pass::{Form, Mapping, RequestUrl, Verdict};
use hostler_config::directives::proxy::url::Url;
use hostler_config::{Pattern, Section};
use hostler_expr::{GlobMode, RegexError, glob_matches};
use std::sync::Arc;

/// The module.
pub(crate) static MODULE: Module = Module {
    hooks: &[
        Hook {
            phase: Phase::PreTranslate,
            after: &[],
            before: &[],
            when: |request| request.server.conf.proxy.maps_encoded,
            effect: Effect::Decides,
            run: Run::Now(|request| translate_by(request, |mapping| mapping != Mapping::Decoded)),
        },
        Hook {
            phase: Phase::Translate,
            after: &["rewrite"],
            before: &["alias"],
            when: |request| {
                !request.server.conf.proxy.passes.is_empty()
                    || request.resource.dir.proxy.pass.is_some()
                    || is_proxied(request)
            },
            effect: Effect::Decides,
            run: Run::Now(translate),
        },
        Hook {
            phase: Phase::MapToStorage,
            after: &["perl"],
            before: &["core"],
            when: is_proxied,
            effect: Effect::Decides,
            run: Run::Later(|request| Box::pin(map(request))),
        },
        Hook {
            phase: Phase::Fixup,
            after: &["rewrite"],
            before: &["ssl"],
            when: is_proxied,
            effect: Effect::Notes,
            run: Run::Now(|request| {
                let path_info = request.env.find("proxy-fcgi-pathinfo").cloned();
                request.slots.find_mut::<ProxyState>().path_info = path_info;
                Ok(Flow::Declined)
            }),
        },
    ],
    handlers: &[
        Handler {
            names: &[HANDLER],
            types: &[],
            when: is_proxied,
            settles: false,
            run: |request| Box::pin(run::handle(request)),
        },
        Handler {
            names: &[
                "proxy:http",
                "proxy:https",
                "proxy:ws",
                "proxy:wss",
                "proxy:h2",
                "proxy:h2c",
                "proxy:ajp",
                "proxy:balancer",
            ],
            types: &[],
            when: |_| true,
            settles: false,
            run: |request| Box::pin(by_handler(request)),
        },
    ],
    ..Module::new("proxy", is_proxied)
};

/// The handler of what another server answers.
const HANDLER: &str = "proxy-server";
/// The prefix of such a request's file name; its URL follows.
const PREFIX: &[u8] = b"proxy:";

/// A request is another server's.
#[derive(Clone, Debug, Default)]
struct ProxyState {
    /// The form of the path, as sent with `nocanon`.
    form: Form,
    /// The line's parameters for a server that the request has named.
    parameters: Option<Arc<Parameters>>,
    /// `proxy-fcgi-pathinfo`, as it is before mod_env's variables are set.
    path_info: Option<Bytes>,
    /// A worker of mod_jk's answers.
    mounted: Option<Arc<JkAnswer>>,
}

/// The response's source under mod_jk's directives.
#[derive(Clone, Debug)]
pub(crate) struct JkAnswer {
    /// Its containers.
    pub(crate) containers: Arc<Balancer>,
    /// The mount's rule for responses.
    pub(crate) rule: Rule,
}

impl State for ProxyState {
    fn copy(&self) -> Box<dyn State> {
        Box::new(self.clone())
    }

    fn related(&self, _: &Request, _: Relation) -> Option<Box<dyn State>> {
        None
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn holds(&self) -> bool {
        // As it came it may have a query.
        self.form != Form::AsSent
    }
}

fn is_proxied(request: &Request) -> bool {
    request.slots.find::<ProxyState>().is_some()
}

/// `ProxyPass` and its kin, but for those that have been asked before the path was decoded.
fn translate(request: &mut Request) -> Outcome {
    if is_proxied(request) {
        return Ok(Flow::Ok);
    }
    translate_by(request, |mapping| mapping == Mapping::Decoded)
}

/// `ProxyPass` and its kin: the Location's, else the first of the server's that has something to say.
fn translate_by(request: &mut Request, is_asked: fn(Mapping) -> bool) -> Outcome {
    if request.target.uri.first() != Some(&b'/') {
        return Ok(Flow::Declined);
    }
    // SetEnvIf says of some requests that they are not for others.
    if request.env.contains("no-proxy") {
        return Ok(Flow::Declined);
    }
    let (server, dir) = (request.server.clone(), request.resource.dir.clone());
    let raw = raw_target(request);
    let variable = |name: &str| request.env.find(name).map(|value| value.to_vec());
    let asked = RequestUrl { path: &request.target.uri, raw: &raw, variable: &variable };
    let passes = dir.proxy.pass.iter().chain(&server.conf.proxy.passes);
    let (mut found, mut parameters) = (Verdict::No, None);
    for pass in passes.filter(|pass| is_asked(pass.mapping)) {
        found = pass.apply(&dir.proxy, asked).map_err(|error| gave_up(request, &error))?;
        if found != Verdict::No {
            parameters.clone_from(&pass.parameters);
            break;
        }
    }
    let Verdict::To { url, form, path, .. } = found else { return Ok(Flow::Declined) };
    begin(request, &url, ProxyState { form, parameters, ..ProxyState::default() });
    if let Some(path) = path {
        request.target.uri = path;
    }
    Ok(Flow::Ok)
}

fn gave_up(request: &Request, error: &RegexError) -> Halt {
    budget::log_failure(request, "proxy", &format!("a pattern of ProxyPassMatch gave up: {error}"));
    Halt::Status(500)
}

/// A rule of rewriting has said that another server answers for this URL (`P`); `raw`: it is sent as it is. Quirk(apache): what
/// is behind a file's name stays there, and is told to FastCGI programs.
pub(crate) fn aim(request: &mut Request, url: &[u8], raw: bool) {
    request.resource.found = FileEntry::Nothing;
    let form = if raw { Form::AsSent } else { Form::Decoded };
    begin(request, url, ProxyState { form, ..ProxyState::default() });
}

/// Returns the URL that rules are applied to, where a `ProxyPass` was evaluated before the path was decoded.
pub(crate) fn led_to(request: &Request) -> Option<Vec<u8>> {
    is_proxied(request).then(|| request.resource.filename.clone())
}

/// A worker of mod_jk's answers for this path, which is told as it is.
pub(crate) fn mount(request: &mut Request, path: &[u8], mounted: JkAnswer) {
    let url = [b"balancer://jk", path].concat();
    begin(
        request,
        &url,
        ProxyState { form: Form::AsSent, mounted: Some(Arc::new(mounted)), ..ProxyState::default() },
    );
}

/// Returns the request's mount under mod_jk's directives.
fn mounted(request: &Request) -> Option<&Arc<JkAnswer>> {
    request.slots.find::<ProxyState>()?.mounted.as_ref()
}

/// Answers a request that [`mount`] has made another server's.
pub(crate) async fn answer_mounted(request: &mut Request) -> Result<Body, Halt> {
    run::handle(request).await
}

/// From here on the request is that of another server.
fn begin(request: &mut Request, url: &[u8], proxied: ProxyState) {
    request.resource.filename = [PREFIX, url].concat();
    request.resource.handler = Some(Bytes::from_static(HANDLER.as_bytes()));
    request.slots.put(proxied);
    // Its type is what the other server says.
    request.is_typed = true;
}

/// Path and query as the client sent them; of a request that goes on for another, that one's.
pub(crate) fn raw_target(request: &Request) -> Vec<u8> {
    if request.prev.is_some() || request.is_sub() {
        let mut whole = hostler_config::directives::alias::escape_path(&request.target.uri);
        if let Some(args) = &request.target.args {
            whole.push(b'?');
            whole.extend_from_slice(args);
        }
        return whole;
    }
    let target = &*request.client.target;
    let start = match memchr::memmem::find(target, b"://").filter(|_| !target.starts_with(b"/")) {
        Some(at) => at + 3 + target[at + 3..].iter().position(|b| *b == b'/').unwrap_or(0),
        None => 0,
    };
    target[start..].to_vec()
}

/// `SetHandler "proxy:http://..."`: the server is asked for the file, by its path (`proxy_handler`). What an access file names
/// has to be allowed; balancers are the operator's to name, and so are servers that a program sets.
async fn by_handler(request: &mut Request) -> Result<Body, Halt> {
    let name = request.resource.handler.clone().unwrap_or_default();
    let shown = || format!("the handler {:?}", name.escape_ascii().to_string());
    let refused = |request: &Request, status: u16, why: &str| {
        log::request(request, Severity::Error, "proxy", &format!("{}: {why}", shown()));
        Halt::Status(status)
    };
    let url = name.get("proxy:".len()..).unwrap_or_default();
    let parsed = std::str::from_utf8(url).map_err(|_| "it is not text".to_owned()).and_then(Url::parse);
    let parsed = parsed.map_err(|why| refused(request, 500, &why))?;
    let reach = &request.resource.dir.reach;
    let path = [parsed.path.as_bytes(), &request.resource.filename].concat();
    let known = request.server.conf.proxy.worker(&parsed, &path);
    let has_socket = parsed.unix.is_some() || known.is_some_and(|worker| worker.url.unix.is_some());
    let may = match (has_socket, parsed.is_balancer()) {
        (_, true) => reach.is_named(&name),
        // Connected to by the site's process, as its user.
        (true, false) => true,
        (false, false) => reach.may_reach(&name, &parsed.host, parsed.port()),
    };
    if !may {
        let why =
            "it is not the server's configuration that names it, and HostlerProxyAllow does not allow it";
        return Err(refused(request, 403, why));
    }
    let url = [url, &request.resource.filename].concat();
    begin(request, &url, ProxyState::default());
    run::handle(request).await
}

/// `<Proxy>`: in the place of the directories that a file would have.
async fn map(request: &mut Request) -> Outcome {
    request.resource.path_info.clear();
    request.resource.found = FileEntry::Nothing;
    if mounted(request).is_some() {
        return Ok(Flow::Ok);
    }
    let server = request.server.clone();
    let url = request.resource.filename[PREFIX.len()..].to_vec();
    let mut overs = sections::Overs::new();
    for section in &server.conf.proxy.sections {
        let applies = budget::matched(request, || applies(section, &url)).await?;
        if applies.map_err(|error| sections::gave_up(request, &error))? {
            sections::set_matches(request, section, &url).await?;
            overs.push(section.conf.clone());
        }
    }
    sections::merge(request, &overs).await?;
    Ok(Flow::Ok)
}

fn applies(section: &Section, url: &[u8]) -> Result<bool, RegexError> {
    match &section.pattern {
        Pattern::Plain(beginning) => {
            Ok(url.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning)))
        }
        Pattern::Glob(glob) => Ok(glob_matches(glob, url, GlobMode::Anything)),
        Pattern::Regex(regex) => regex.is_match(url),
        Pattern::Condition { .. } => Ok(false),
    }
}
