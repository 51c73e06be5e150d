//! FastCGI programs that the server starts (mod_fcgid): the checks before one is asked, which one it is, and what it is
//! told. The site's process starts them, as its user; each process serves one request at a time, over a connection that
//! is kept.
//!
//! **Diagnostics**: what programs write to their standard error goes to the virtual host's ErrorLog, with the process's
//! number where no request is known for it.

mod external;
mod fast;
mod filter;
mod roles;

use crate::hook::registry::{Handler, Module};
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::memory::handlers;
use crate::module::cgi;
use crate::module::socket::talk::{Ask, Redirects, respond};
use crate::request::Request;
use crate::request::flow::Halt;
use crate::request::reply::Marks;
use crate::request::settings::DEFAULT_PATH;
use crate::technique::sockets::{Address, Listening, Target};
use bytes::Bytes;
use hashbrown::HashMap;
use hostler_cgi::{Environment, http_variable};
use hostler_config::directives::fcgid::{FILTER, Options, Wrapper};
use hostler_config::{DirConfig, pools};
use hostler_gateway::backend::fastcgi::FastCgi;
use hostler_gateway::backend::stream::{Keep, Role};
use hostler_gateway::pool::Settings;
use hostler_gateway::supervisor::listen::Lives;
use hostler_gateway::{Error, Kind};
use hostler_http1::framing;
use hostler_techniques::FCGID;
use std::cell::RefCell;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;
use std::time::Duration;

/// The log's name of the module.
const MODULE_NAME: &str = "fcgid";

/// Connections that wait until a program accepts them; there is one at a time.
const BACKLOG: u32 = 16;

pub(crate) static MODULE: Module = Module {
    handlers: &[Handler {
        names: FCGID.handlers,
        types: &[],
        when: |_| true,
        settles: false,
        run: |request| Box::pin(handle(request)),
    }],
    hooks: roles::HOOKS,
    asks_programs: true,
    ..Module::new(MODULE_NAME, roles::is_set)
};

async fn handle(request: &mut Request) -> Result<Body, Halt> {
    let dir = request.resource.dir.clone();
    if request.resource.handler.as_deref() == Some(FILTER.as_bytes()) {
        handlers::remember(request, "");
        return filter::handle(request, &dir).await;
    }
    if let Some(external) = external::of(request) {
        handlers::remember(request, "");
        return external::handle(request, &external).await;
    }
    let wrapper = dir.fcgid.wrapper(&request.resource.filename);
    check(request, wrapper)?;
    let (target, timeout) = known(request, wrapper);
    fast::remember(request, &target, timeout);
    limit_body(request)?;
    let environment = told(request).await;
    let ask = Ask {
        target,
        environment,
        keep: Keep::Connection,
        role: Role::Responder,
        file: None,
        timeout,
        module: MODULE_NAME,
        redirects: Redirects::Cgi,
        status,
    };
    // Quirk(mod_fcgid): what a program says goes on at once, so that a short answer, too, is one that is worth compressing.
    request.reply.marks.set(Marks::FLUSHED);
    let body = respond::<FastCgi>(request, ask).await?;
    if body.len() == Some(0) {
        request.reply.marks.unset(Marks::FLUSHED);
    }
    Ok(body)
}

/// Returns the request's environment for a program.
async fn told(request: &mut Request) -> Environment {
    let mut environment = cgi::environment(request).await;
    add_own(request, &mut environment);
    environment
}

/// Adds mod_fcgid's variables beyond CGI's.
fn add_own(request: &Request, environment: &mut Environment) {
    pass_fields(request, environment);
    if request.target.body.is_empty() {
        // Quirk(mod_fcgid): it always tells a length.
        environment.set("CONTENT_LENGTH", "0");
    }
}

/// `FcgidPassHeader`
fn pass_fields(request: &Request, environment: &mut Environment) {
    for name in &request.server.conf.fcgid.pass_headers {
        let variable = http_variable(name.as_bytes(), true);
        if let Some((variable, value)) = variable.zip(request.target.headers_in.joined(name.as_bytes())) {
            environment.set(variable, value);
        }
    }
}

/// The checks of mod_fcgid, in its order.
fn check(request: &Request, wrapper: Option<&Arc<Wrapper>>) -> Result<(), Halt> {
    let reject = |(status, why): cgi::Refusal| refuse(request, status, why);
    // Quirk(mod_fastcgi): whom the operator has named may run, whatever Options say.
    if !roles::is_named(request) {
        cgi::may_run(request).map_err(reject)?;
    }
    if wrapper.is_some_and(|wrapper| wrapper.is_virtual) {
        return Ok(());
    }
    cgi::is_script(request).map_err(reject)
}

fn refuse(request: &Request, status: u16, why: &str) -> Halt {
    let message = format!("{why}: {}", String::from_utf8_lossy(&request.resource.filename));
    log::request(request, Severity::Error, MODULE_NAME, &message);
    Halt::Status(status)
}

/// `FcgidMaxRequestLen`, beside LimitRequestBody.
fn limit_body(request: &Request) -> Result<(), Halt> {
    let Some(most) = request.server.conf.fcgid.max_request_len else { return Ok(()) };
    let announced =
        request.target.headers_in.find("Content-Length").and_then(|value| framing::decimal(value));
    if announced.is_some_and(|length| length > most) {
        return Err(refuse(request, 413, "the request's body is longer than FcgidMaxRequestLen"));
    }
    let own = request.resource.dir.core.limit_request_body.unwrap_or(1 << 30);
    request.target.body.limit(if own == 0 { most.max(1) } else { own.min(most.max(1)) });
    Ok(())
}

/// mod_fcgid has one status for a program that breaks off, however it does.
fn status(error: &Error) -> u16 {
    match error.kind {
        Kind::ConnectionClosed | Kind::ProtocolViolation | Kind::WorkerDied | Kind::NotFound => 500,
        _ => error.status(),
    }
}

/// Programs remembered per thread; beyond this all are forgotten (hostile .htaccess files could fill it).
const MAX: usize = 4096;

/// The facts about a script's programs.
struct ProgramFacts {
    target: Arc<Target>,
    timeout: Duration,
    /// Keeps the address in the key taken.
    _dir: Arc<DirConfig>,
}

/// Directory configuration, virtual host, script, and which file that is.
type Key = (usize, u32, Bytes, Version);

/// A file's number, and when it was last changed: a script that is replaced is run by other processes.
type Version = (u64, u64, i64, u32);

thread_local! {
    static KNOWN: RefCell<HashMap<Key, ProgramFacts, foldhash::fast::RandomState>> = RefCell::default();
}

/// The programs for a request, and how long one may neither read nor write.
fn known(request: &Request, wrapper: Option<&Arc<Wrapper>>) -> (Arc<Target>, Duration) {
    let info = request.resource.found.info().filter(|_| wrapper.is_none());
    let version = info.map_or((0, 0, 0, 0), |info| (info.dev, info.ino, info.mtime, info.mtime_nsec));
    let script =
        if wrapper.is_none() { Bytes::copy_from_slice(&request.resource.filename) } else { suffix(request) };
    remember(request, wrapper, script, version)
}

/// The same by what tells them apart.
fn remember(
    request: &Request,
    wrapper: Option<&Arc<Wrapper>>,
    script: Bytes,
    version: Version,
) -> (Arc<Target>, Duration) {
    let key = (Arc::as_ptr(&request.resource.dir) as usize, request.server.id, script, version);
    KNOWN.with_borrow_mut(|known| {
        if let Some(found) = known.get(&key) {
            return (found.target.clone(), found.timeout);
        }
        if known.len() >= MAX {
            known.clear();
        }
        let (target, timeout) = target(request, wrapper, version);
        let target = Arc::new(target);
        known.insert(
            key,
            ProgramFacts { target: target.clone(), timeout, _dir: request.resource.dir.clone() },
        );
        (target, timeout)
    })
}

/// By which a wrapper is chosen.
fn suffix(request: &Request) -> Bytes {
    let dot = request.resource.filename.iter().rposition(|byte| *byte == b'.');
    dot.map_or_else(Bytes::new, |at| Bytes::copy_from_slice(&request.resource.filename[at..]))
}

fn target(request: &Request, wrapper: Option<&Arc<Wrapper>>, version: Version) -> (Target, Duration) {
    let conf = &request.server.conf.fcgid;
    let command: Vec<Box<[u8]>> = match wrapper {
        Some(wrapper) => wrapper.command.iter().map(|word| word.as_bytes().into()).collect(),
        None => vec![request.resource.filename.as_slice().into()],
    };
    let path = command[0].clone();
    let own = std::str::from_utf8(&path).ok().and_then(|path| conf.of_command.get(path));
    let options = own.map_or_else(|| conf.options.clone(), |own| conf.options.merge(own));
    let seconds = |set: Option<u32>, usual: u32| Duration::from_secs(set.unwrap_or(usual).into());
    let directory = path.iter().rposition(|byte| *byte == b'/').map_or(&b"/"[..], |at| &path[..at.max(1)]);
    let listening = Listening {
        module: None,
        directory: directory.into(),
        path: path.clone(),
        args: command[1..].to_vec(),
        env: environment(&options),
        backlog: BACKLOG,
        limits: pools::limits(&request.server),
        version,
        shared: false,
        most: conf.max_processes.unwrap_or(1000),
    };
    let lives = Lives {
        requests: options.max_requests.unwrap_or(0),
        idle: seconds(options.idle_timeout, 300),
        lifetime: seconds(options.lifetime, 3600),
        busy: seconds(options.busy_timeout, 300),
        least: options.min_processes.unwrap_or(3),
    };
    let target = Target {
        address: Address::Programs(listening, lives),
        connect_timeout: seconds(options.connect_timeout, 3),
        settings: settings(request, &options),
    };
    (target, seconds(options.io_timeout, 40))
}

/// Programs are started for requests that wait.
fn settings(request: &Request, options: &Options) -> Settings {
    let queue = pools::settings(&request.server);
    let most = options.max_processes.unwrap_or(100).max(1);
    Settings {
        max_workers: most,
        max_workers_set_by: "FcgidMaxProcessesPerClass",
        max_spare: most,
        queue_length: queue.queue_length as usize,
        queue_timeout: Duration::from_secs(queue.queue_timeout.into()),
        idle: Duration::from_secs(queue.idle.into()),
        on_demand: true,
        ..Settings::default()
    }
}

/// Returns the environment that a program is started with: the configured variables, and the search path.
fn environment(options: &Options) -> Vec<Box<[u8]>> {
    let entry = |name: &str, value: &[u8]| [name.as_bytes(), b"=", value].concat().into_boxed_slice();
    let mut entries: Vec<_> = options.env.iter().map(|(name, value)| entry(name, value.as_bytes())).collect();
    for (name, usual) in [("PATH", Some(DEFAULT_PATH)), ("TZ", None)] {
        let own = std::env::var_os(name).map(OsStringExt::into_vec).filter(|value| !value.is_empty());
        if let Some(value) =
            own.as_deref().or(usual).filter(|_| !options.env.iter().any(|(set, _)| set == name))
        {
            entries.push(entry(name, value));
        }
    }
    entries
}
