//! The directive of ASGI programs, and with what the program that serves one is started. `SetHandler asgi` says that a
//! program answers, `ASGIApp` which one; the words of a `WSGIDaemonProcess` hold for it, too, where `WSGIProcessGroup`
//! names one.

use crate::groups::{self, GLOBAL};
use crate::options::split;
use crate::parts::{DIR as WSGI_DIR, SERVER as WSGI_SERVER};
use crate::setup;
use hostler_config::technique::Variables;
use hostler_config::{
    Args, Arity, Command, Config, Contexts, DirConfig, Directive, Effect, Kind, Merge, Module, Overrides,
    Server, Slot, unset_part,
};
use hostler_python_frames::Preload;

/// The module's name in logs.
pub const LOG: &str = "asgi";

/// The module. Apache has no such one.
pub static MODULE: Module =
    Module { name: "asgi_module", file: "mod_asgi.c", directives: DIRECTIVES, effect: Effect::HandsOver };

static DIRECTIVES: &[Directive] = &[Directive::new(
    "ASGIApp",
    Arity::RawArgs,
    "module[:name]|file[:name] [workers=number] [home=folder] [python-home=folder] [python-path=folder:...] \
     [root-path=path] [max-message=bytes] [ping=seconds] [wsgi-threads=number]",
    "Set the ASGI application for requests with the handler asgi: a module or a file (relative to \
        ServerRoot), and the application's name in it (default application or app; with name() it is \
        called as a factory). workers is the number of worker processes (default 1); each serves many \
        requests concurrently. home is the working directory and is searched for modules; python-home is \
        the virtual environment; root-path is the mount path (default: the path of the <Location>). \
        max-message limits a WebSocket message in bytes (default 16777216). ping is the interval in \
        seconds after which a silent WebSocket client is pinged (default 20; 0: never). With \
        wsgi-threads the application is a WSGI application, and each worker runs its requests in that \
        number of threads; use it for applications that keep state in memory across requests",
    app,
)
.allowed(Contexts::ANYWHERE, Overrides::FILE_INFO)];

/// The slot of [`Dir`].
pub static DIR: Slot<Dir> = Slot::new();

/// A directory's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dir {
    /// `ASGIApp`
    pub app: Option<App>,
}

/// An application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct App {
    /// A module or an absolute path, with or without a name behind it.
    pub said: Box<str>,
    /// Its mount point, without a slash at the end.
    pub root_path: Box<str>,
    /// `workers=`
    pub workers: Option<u32>,
    /// `home=`
    pub home: Option<Box<str>>,
    /// `python-home=`
    pub python_home: Option<Box<str>>,
    /// `python-path=`
    pub python_path: Vec<String>,
    /// `max-message=`
    pub max_message: Option<u32>,
    /// `ping=`
    pub ping: Option<u32>,
    /// `wsgi-threads=`: it is an application of WSGI.
    pub threads: Option<u32>,
}

impl Merge for Dir {
    fn merge(&self, over: &Self) -> Self {
        if over.app.is_some() { over.clone() } else { self.clone() }
    }

    unset_part!(Dir);
}

/// Most workers of an application.
const MOST_WORKERS: u32 = 1000;

fn app(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let (words, options) = split(&args.raw, 1)?;
    let said = words.first().map_or("", String::as_str);
    if said.is_empty() || said.starts_with(':') {
        return Err("needs a module (package.module:name) or a file (/path/app.py)".to_owned());
    }
    // As Python's: what has a slash or ends as a file does is one.
    let (head, name) = said.rsplit_once(':').map_or((said, None), |(head, name)| (head, Some(name)));
    let is_file = head.contains('/') || head.ends_with(".py");
    let said = match (is_file, name) {
        (true, Some(name)) => format!("{}:{name}", command.server_path(head)),
        (true, None) => command.server_path(head),
        (false, _) => said.to_owned(),
    };
    let place = command.place.filter(|place| place.kind == Kind::Location && place.regex.is_none());
    let root_path = place.map_or("", |place| place.path.trim_end_matches('/')).into();
    let mut app = App { said: said.into(), root_path, ..App::default() };
    for (key, value) in &options {
        set(&mut app, key, value)?;
    }
    *command.dir.part_mut(&DIR) = Dir { app: Some(app) };
    Ok(())
}

fn set(app: &mut App, key: &str, value: &str) -> Result<(), String> {
    let number = |least: u32, most: u32| match value.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
        _ => Err(format!("{key}={value} is not a number from {least} to {most}")),
    };
    let folder = || {
        if value.starts_with('/') {
            Ok(Some(value.into()))
        } else {
            Err(format!("{key}={value} is not an absolute path"))
        }
    };
    match key {
        "workers" => app.workers = number(1, MOST_WORKERS)?,
        "home" => app.home = folder()?,
        "python-home" => app.python_home = folder()?,
        "python-path" => app.python_path = value.split(':').map(str::to_owned).collect(),
        "root-path" if value.is_empty() || value == "/" => app.root_path = "".into(),
        "root-path" if value.starts_with('/') => app.root_path = value.trim_end_matches('/').into(),
        "root-path" => return Err(format!("root-path={value} does not begin with a slash")),
        "max-message" => app.max_message = number(125, 1 << 30)?,
        "ping" => app.ping = number(0, 86_400)?,
        "wsgi-threads" => app.threads = number(1, MOST_WORKERS)?,
        _ => return Err(format!("there is no option {key}=")),
    }
    Ok(())
}

fn preload(preload: Preload) -> &'static str {
    match preload {
        Preload::Auto => "auto",
        Preload::On => "on",
        Preload::Off => "off",
    }
}

/// With what the program that serves an application is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Its words.
    pub args: Vec<String>,
    /// Variables beside those that all have.
    pub environment: Variables,
    /// Seconds until it ends when nobody uses it; `None`: as all pools.
    pub idle: Option<u32>,
    /// Seconds that a request may take until its answer begins; `None`: `Timeout`.
    pub timeout: Option<u32>,
}

/// The program of a directory's application.
///
/// # Errors
/// `WSGIProcessGroup` names none that there is.
pub fn program(config: &Config, server: &Server, dir: &DirConfig, app: &App) -> Result<Program, String> {
    let group = dir.part(&WSGI_DIR).process_group.as_deref().filter(|name| *name != GLOBAL);
    let daemon = match group {
        Some(name) => Some(
            groups::daemon(config, server, name)
                .ok_or_else(|| format!("No WSGI daemon process called '{name}' has been configured"))?,
        ),
        None => None,
    };
    let own = server.conf.part(&WSGI_SERVER);
    let mut environment = setup::environment(config, &[server.id], group.unwrap_or_default());
    if let Some(home) = &app.python_home {
        setup::replace_home(&mut environment, home);
    }
    let path = match (&app.python_path[..], daemon.map(|daemon| &daemon.python_path[..]), &own.python_path) {
        ([], None | Some([]), Some(path)) => &path[..],
        ([], Some(path), _) => path,
        (path, _, _) => path,
    };
    let mut args = vec!["--asgi".to_owned(), format!("app={}", app.said)];
    let mut word = |name: &str, value: String| args.push(format!("{name}={value}"));
    word("workers", app.workers.or(daemon.and_then(|daemon| daemon.processes)).unwrap_or(1).to_string());
    path.iter().for_each(|folder| word("path", folder.clone()));
    let home = app.home.as_deref().or(daemon.and_then(|daemon| daemon.home.as_deref()));
    let options = [
        ("home", home.map(str::to_owned)),
        ("umask", daemon.and_then(|daemon| daemon.umask).map(|mask| format!("{mask:o}"))),
        ("requests", daemon.and_then(|daemon| daemon.maximum_requests).map(|count| count.to_string())),
        ("max-message", app.max_message.map(|bytes| bytes.to_string())),
        ("ping", app.ping.map(|seconds| seconds.to_string())),
        ("threads", app.threads.map(|count| count.to_string())),
        ("preload", Some(preload(own.preload.unwrap_or_default()).to_owned())),
        ("reload", dir.part(&WSGI_DIR).reloading.unwrap_or(true).then(|| "on".to_owned())),
    ];
    options
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .for_each(|(name, value)| word(name, value));
    let some = |value: Option<u32>| value.filter(|value| *value > 0);
    Ok(Program {
        args,
        environment,
        idle: some(daemon.and_then(|daemon| daemon.inactivity_timeout)),
        timeout: some(daemon.and_then(|daemon| daemon.request_timeout)),
    })
}
