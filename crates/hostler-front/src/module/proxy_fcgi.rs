//! Handlers that name a program at a socket: `proxy:unix:/path|fcgi://localhost`, `proxy:fcgi://host:port`, and the same
//! of `scgi` and `uwsgi` (mod_proxy_fcgi, mod_proxy_scgi, mod_proxy_uwsgi).
//!
//! Connections are not kept, as in Apache: who accepts them is somebody else's, and an idle one may keep a process of his
//! busy. Behind `ProxyPass` they are with `enablereuse=on`.

use crate::hook::registry::{Handler, Module};
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::memory::handlers;
use crate::module::cgi::{self, ClientBody};
use crate::module::socket::talk::{Ask, NoAnswer, Redirects, attempt};
use crate::module::socket::worker::{self, Worker};
use crate::request::Request;
use crate::request::expr_host;
use crate::request::flow::Halt;
use crate::request::reply::Marks;
use crate::request::settings;
use crate::technique::sockets::{Address, Target};
use crate::technique::upstreams::Upstreams;
use hostler_cgi::Environment;
use hostler_config::directives::proxy::parameters::Parameters;
use hostler_config::directives::proxy::url::Url;
use hostler_config::directives::proxy::{self as config};
use hostler_config::directives::proxy_fcgi::Backend;
use hostler_config::pools;
use hostler_expr::{Captures, EvalError};
use hostler_gateway::backend::fastcgi::FastCgi;
use hostler_gateway::backend::plain::{Scgi, Uwsgi};
use hostler_gateway::backend::stream::{Keep, Role};
use hostler_gateway::pool::Settings;
use hostler_gateway::{Error, Kind};
use std::sync::Arc;
use std::time::Duration;

/// The log's name of the module.
const MODULE_NAME: &str = "proxy_fcgi";

/// Most connections to one program. Those that are too many wait where they would wait at the program's own socket.
pub(crate) const MOST: u32 = 256;

pub(crate) static MODULE: Module = Module {
    handlers: &[
        Handler {
            names: &["proxy:fcgi"],
            types: &[],
            when: |_| true,
            settles: false,
            run: |request| Box::pin(handle(request)),
        },
        Handler {
            names: &["proxy:scgi", "proxy:uwsgi"],
            types: &[],
            when: |_| true,
            settles: false,
            run: |request| Box::pin(handle(request)),
        },
    ],
    ..Module::new(MODULE_NAME, |_| false)
};

/// Handles a request; the timeout applies if no other is configured.
async fn handle(request: &mut Request) -> Result<Body, Halt> {
    handlers::remember(request, "");
    let name = request.resource.handler.clone().unwrap_or_default();
    let mut worker = worker::parse(name.get("proxy:".len()..).unwrap_or_default()).map_err(|why| {
        let message = format!("the handler {:?} names no program: {why}", name.escape_ascii().to_string());
        log::request(request, Severity::Error, MODULE_NAME, &message);
        Halt::Status(500)
    })?;
    let path = [&worker.path[..], &request.resource.filename].concat();
    let said = said(request, &name, &path)?;
    if let Some(socket) = said.as_ref().and_then(|said| said.url.unix.as_deref()) {
        worker.address = Address::Unix(socket.as_bytes().into());
    }
    if let Address::Tcp { host, port } = &worker.address
        && !request.resource.dir.reach.may_reach(&name, host, *port)
    {
        let message = format!(
            "the handler {:?} stands in an access file, and {host}:{port} is not allowed there: HostlerProxyAllow \
             {host}:{port} in the server's configuration would allow it",
            name.escape_ascii().to_string()
        );
        log::request(request, Severity::Error, MODULE_NAME, &message);
        return Err(Halt::Status(403));
    }
    let parameters = said.map(|said| said.parameters.clone()).unwrap_or_default();
    let usual = || request.server.conf.proxy.timeout.unwrap_or_else(|| settings::timeout(&request.server));
    let timeout = parameters.timeout.unwrap_or_else(usual);
    let target = Arc::new(Target {
        address: worker.address.clone(),
        connect_timeout: parameters.connect_timeout.unwrap_or(timeout),
        settings: said_connections(request, &parameters),
    });
    let keep = kept(&parameters);
    let served = serve(request, &worker, target, (&path, keep), timeout, &mut None).await;
    served.map_err(|missed| missed.halt(request, MODULE_NAME))
}

/// Returns the configuration of the program that a handler names (`<Proxy "unix:/path|fcgi://NAME">` with parameters).
fn said(request: &Request, name: &[u8], path: &[u8]) -> Result<Option<Arc<config::Worker>>, Halt> {
    let url = std::str::from_utf8(&name["proxy:".len()..]).ok().and_then(|url| Url::parse(url).ok());
    let said = url.and_then(|url| request.server.conf.proxy.worker(&url, path));
    let Some(said) = said else { return Ok(None) };
    let upstream = request.thread.shared.of::<Upstreams>().worker(said);
    if upstream.is_some_and(|upstream| !upstream.is_usable()) {
        let message = format!("{}: it takes no requests (status=)", said.url);
        log::request(request, Severity::Error, MODULE_NAME, &message);
        return Err(Halt::Status(503));
    }
    Ok(Some(said.clone()))
}

/// Quirk(apache): FastCGI's connections are kept only where that is said.
pub(crate) fn kept(parameters: &Parameters) -> Keep {
    if parameters.reuse == Some(true) { Keep::Connection } else { Keep::Nothing }
}

/// Returns the number of connections, and the time that idle ones are kept.
pub(crate) fn said_connections(request: &Request, parameters: &Parameters) -> Settings {
    let mut settings = connections(request, parameters.max.unwrap_or(MOST));
    settings.idle = parameters.ttl.unwrap_or(settings.idle);
    settings.max_spare = parameters.soft_max.map_or(settings.max_spare, |most| most.min(settings.max_spare));
    settings
}

/// Connections that are made when they are needed, as many as there are requests.
pub(crate) fn connections(request: &Request, most: u32) -> Settings {
    let queue = pools::settings(&request.server);
    Settings {
        max_workers: most,
        max_workers_set_by: "the most connections (max=)",
        max_spare: most,
        queue_length: queue.queue_length as usize,
        queue_timeout: Duration::from_secs(queue.queue_timeout.into()),
        idle: Duration::from_secs(60),
        on_demand: true,
        patience: Duration::ZERO,
        pauses: (Duration::ZERO, Duration::ZERO),
        ..Settings::default()
    }
}

/// Has a program answer. `path`: what the program's URL and the request come to, behind the host. `client`: what has been
/// read of the request's body; it stays there for another program where this one can't be connected to.
pub(crate) async fn serve(
    request: &mut Request,
    worker: &Worker,
    target: Arc<Target>,
    (path, keep): (&[u8], Keep),
    timeout: Duration,
    client: &mut Option<ClientBody>,
) -> Result<Body, NoAnswer> {
    let mut environment = cgi::environment(request).await;
    let is_fastcgi = worker.scheme == "fcgi";
    let script = match request.resource.dir.proxy_fcgi.backend.unwrap_or_default() {
        Backend::Generic if is_fastcgi => path.to_vec(),
        Backend::Generic | Backend::Fpm => [b"proxy:", worker.origin.as_bytes(), path].concat(),
    };
    environment.set("SCRIPT_FILENAME", script);
    if is_fastcgi {
        set_env_if(request, &mut environment).await?;
    } else if worker.scheme == "scgi" {
        environment.unset("GATEWAY_INTERFACE");
    }
    if worker.scheme == "uwsgi" {
        // As mod_proxy_uwsgi: applications log their users in themselves, whatever CGIPassAuth says.
        if let Some(login) = request.target.headers_in.find("Authorization") {
            environment.set("HTTP_AUTHORIZATION", login);
        }
        if request.resource.filename.starts_with(b"proxy:") {
            // There is no folder in which it would stand.
            environment.unset("PATH_TRANSLATED");
        }
    }
    let follows = worker.scheme == "scgi" && request.resource.dir.proxy_fcgi.scgi_redirects != Some(false);
    let redirects = if follows { Redirects::Cgi } else { Redirects::Program };
    let ask = Ask {
        target,
        environment,
        keep,
        role: Role::Responder,
        file: None,
        timeout,
        module: MODULE_NAME,
        redirects,
        status,
    };
    let body = match &*worker.scheme {
        "fcgi" => attempt::<FastCgi>(request, ask, client).await?,
        "scgi" => attempt::<Scgi>(request, ask, client).await?,
        _ => attempt::<Uwsgi>(request, ask, client).await?,
    };
    // It is a server behind a proxy.
    request.reply.marks.set(Marks::KEEPS_SERVER);
    Ok(body)
}

/// Apache has one status for a program that breaks off, and for one that can't be reached.
fn status(error: &Error) -> u16 {
    match error.kind {
        Kind::ConnectionClosed | Kind::ProtocolViolation => 503,
        _ => error.status(),
    }
}

/// `ProxyFCGISetEnvIf`: conditions see the variables as the program would.
async fn set_env_if(request: &mut Request, environment: &mut Environment) -> Result<(), Halt> {
    if request.resource.dir.proxy_fcgi.rules.is_empty() {
        return Ok(());
    }
    for (name, value) in environment.iter() {
        request.env.set(name.to_vec(), value.to_vec());
    }
    let dir = request.resource.dir.clone();
    for rule in &dir.proxy_fcgi.rules {
        let evaluated = expr_host::with_host(request, |host| {
            let mut captures = Captures::default();
            if !rule.condition.test(host, &mut captures)? {
                return Ok(None);
            }
            match &rule.value {
                Some(value) => Ok(Some(Some(value.string(host, &captures)?))),
                None => Ok(Some(None)),
            }
        });
        match evaluated.await {
            Ok(None) => {}
            Ok(Some(Some(value))) => {
                request.env.set(rule.name.to_string(), value.clone());
                environment.set(rule.name.as_bytes(), value);
            }
            Ok(Some(None)) => {
                request.env.unset(&*rule.name);
                environment.unset(rule.name.as_bytes());
            }
            Err(error) => return Err(not_evaluated(request, &error)),
        }
    }
    Ok(())
}

/// Refuses the request: the program may use the missing value for access control.
fn not_evaluated(request: &Request, error: &EvalError) -> Halt {
    let message = format!("ProxyFCGISetEnvIf can't be carried out: {error}");
    log::request(request, Severity::Error, MODULE_NAME, &message);
    Halt::Status(500)
}
