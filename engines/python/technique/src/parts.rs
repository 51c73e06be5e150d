//! The settings of mod_wsgi's directives, and their merge.

use hostler_config::{Merge, Origin, Slot, over, unset_part};
use hostler_expr::Regex;

/// The application's name in a script where nothing else is said.
pub const CALLABLE: &str = "application";

/// The function that answers in a script of `WSGIHandlerScript`.
pub const HANDLE_REQUEST: &str = "handle_request";

/// The slot of [`Dir`].
pub static DIR: Slot<Dir> = Slot::new();

/// The slot of [`Server`].
pub static SERVER: Slot<Server> = Slot::new();

/// `WSGIMapHEADToGET`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadIsGet {
    /// Applications see HEAD.
    Off,
    /// They see GET.
    On,
    /// They see GET where something looks at the body that they would send.
    Auto,
}

/// The settings of where an application runs: in sections, or after the file of `WSGIScriptAlias`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Where {
    /// `process-group=`, `WSGIProcessGroup`
    pub process_group: Option<Box<str>>,
    /// `application-group=`, `WSGIApplicationGroup`
    pub application_group: Option<Box<str>>,
    /// `callable-object=`, `WSGICallableObject`
    pub callable: Option<Box<str>>,
    /// `pass-authorization=`, `WSGIPassAuthorization`
    pub pass_authorization: Option<bool>,
}

impl Where {
    /// The same, but for what `own` says otherwise.
    #[must_use]
    pub fn with(&self, own: Self) -> Self {
        Self {
            process_group: own.process_group.or_else(|| self.process_group.clone()),
            application_group: own.application_group.or_else(|| self.application_group.clone()),
            callable: own.callable.or_else(|| self.callable.clone()),
            pass_authorization: own.pass_authorization.or(self.pass_authorization),
        }
    }
}

/// A script that is asked before an application is: `WSGIAccessScript` and its kin, `WSGIDispatchScript`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// The script, absolute.
    pub script: Box<str>,
    /// `application-group=`
    pub application_group: Option<Box<str>>,
}

/// A script that answers for a handler's name: `WSGIHandlerScript`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandlerScript {
    /// The handler, as `SetHandler` and `AddHandler` say it.
    pub name: Box<str>,
    /// The script, absolute; its `handle_request` answers.
    pub script: Box<str>,
    /// Its own settings of where that runs.
    pub own: Where,
}

/// A directory's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dir {
    /// `WSGIProcessGroup`
    pub process_group: Option<Box<str>>,
    /// `WSGIApplicationGroup`
    pub application_group: Option<Box<str>>,
    /// `WSGICallableObject`
    pub callable: Option<Box<str>>,
    /// `WSGIPassAuthorization`
    pub pass_authorization: Option<bool>,
    /// `WSGIScriptReloading`
    pub reloading: Option<bool>,
    /// `WSGIErrorOverride`
    pub error_override: Option<bool>,
    /// `WSGIChunkedRequest`
    pub chunked: Option<bool>,
    /// `WSGIMapHEADToGET`
    pub head_is_get: Option<HeadIsGet>,
    /// `WSGIRestrictProcess`: the process groups that may be chosen.
    pub allowed_groups: Option<Vec<Box<str>>>,
    /// `WSGITrustedProxyHeaders`, as names of variables with a space between; empty: none.
    pub trusted_headers: Box<str>,
    /// `WSGITrustedProxies`, as words of [`hostler_python_frames`]; `None`: whoever connects is believed.
    pub trusted_proxies: Option<Box<str>>,
    /// `WSGIHandlerScript`, each name once.
    pub handler_scripts: Vec<HandlerScript>,
    /// `WSGIDispatchScript`
    pub dispatch: Option<Guard>,
    /// `WSGIAccessScript`
    pub access: Option<Guard>,
    /// `WSGIAuthUserScript`
    pub users: Option<Guard>,
    /// `WSGIAuthGroupScript`
    pub groups: Option<Guard>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        Self {
            process_group: over(&self.process_group, &other.process_group),
            application_group: over(&self.application_group, &other.application_group),
            callable: over(&self.callable, &other.callable),
            pass_authorization: over(&self.pass_authorization, &other.pass_authorization),
            reloading: over(&self.reloading, &other.reloading),
            error_override: over(&self.error_override, &other.error_override),
            chunked: over(&self.chunked, &other.chunked),
            head_is_get: over(&self.head_is_get, &other.head_is_get),
            allowed_groups: over(&self.allowed_groups, &other.allowed_groups),
            trusted_headers: if other.trusted_headers.is_empty() {
                &self.trusted_headers
            } else {
                &other.trusted_headers
            }
            .clone(),
            trusted_proxies: over(&self.trusted_proxies, &other.trusted_proxies),
            handler_scripts: scripts_over(&self.handler_scripts, &other.handler_scripts),
            dispatch: over(&self.dispatch, &other.dispatch),
            access: over(&self.access, &other.access),
            users: over(&self.users, &other.users),
            groups: over(&self.groups, &other.groups),
        }
    }

    unset_part!(Dir);
}

/// Merges scripts: those of a more specific section, and the others with different names.
fn scripts_over(base: &[HandlerScript], more: &[HandlerScript]) -> Vec<HandlerScript> {
    let kept = base.iter().filter(|known| !more.iter().any(|own| own.name == known.name));
    kept.chain(more).cloned().collect()
}

/// The pattern of an alias for the URL's path.
#[derive(Clone, Debug)]
pub enum Matcher {
    /// The beginning of the path, in whole components.
    Prefix(Box<str>),
    /// A regular expression.
    Regex(Regex),
}

/// `WSGIScriptAlias`, `WSGIScriptAliasMatch`.
#[derive(Clone, Debug)]
pub struct Alias {
    /// The pattern.
    pub matcher: Matcher,
    /// The script, or the folder of scripts, absolute; with `$1` ... for a regular expression.
    pub target: Box<str>,
    /// Its own settings of where the application runs.
    pub own: Where,
}

/// `WSGIDaemonProcess`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Daemon {
    /// Its name.
    pub name: Box<str>,
    /// The directive.
    pub origin: Origin,
    /// `user=`
    pub user: Option<Box<str>>,
    /// `group=`
    pub group: Option<Box<str>>,
    /// `processes=`; where it is given there is more than one process, for programs that ask.
    pub processes: Option<u32>,
    /// `threads=`
    pub threads: Option<u32>,
    /// `python-home=`
    pub python_home: Option<Box<str>>,
    /// `python-path=`
    pub python_path: Vec<String>,
    /// `home=`
    pub home: Option<Box<str>>,
    /// `umask=`
    pub umask: Option<u32>,
    /// `display-name=`
    pub display_name: Option<Box<str>>,
    /// `lang=`
    pub lang: Option<Box<str>>,
    /// `locale=`
    pub locale: Option<Box<str>>,
    /// `maximum-requests=`; 0: no limit.
    pub maximum_requests: Option<u32>,
    /// `inactivity-timeout=`, seconds; 0: none.
    pub inactivity_timeout: Option<u32>,
    /// `request-timeout=`, seconds; 0: none.
    pub request_timeout: Option<u32>,
    /// `socket-timeout=`, seconds; 0: `Timeout`.
    pub socket_timeout: Option<u32>,
    /// `queue-timeout=`, seconds; 0: none.
    pub queue_timeout: Option<u32>,
}

/// `WSGIImportScript`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Import {
    /// The file, absolute.
    pub file: Box<str>,
    /// The group that runs it.
    pub process_group: Box<str>,
    /// In which application group, as written.
    pub application_group: Box<str>,
}

/// A server's settings.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// `WSGIScriptAlias` and its sister, in the order in which they are tried.
    pub aliases: Vec<Alias>,
    /// `WSGIDaemonProcess`, with the main server's first.
    pub daemons: Vec<Daemon>,
    /// `WSGIImportScript`, with the main server's first.
    pub imports: Vec<Import>,
    /// `WSGIPythonHome`
    pub python_home: Option<Box<str>>,
    /// `WSGIPythonPath`
    pub python_path: Option<Vec<String>>,
    /// `HostlerPython`
    pub interpreter: Option<Box<str>>,
    /// `HostlerPythonPreload`
    pub preload: Option<hostler_python_frames::Preload>,
    /// The URL that is asked for then: a path, with a query perhaps.
    pub warm_up: Option<Box<str>>,
    /// `WSGIRestrictSignal`
    pub restrict_signal: Option<bool>,
    /// `WSGIRestrictStdout`
    pub restrict_stdout: Option<bool>,
    /// `WSGIRestrictStdin`
    pub restrict_stdin: Option<bool>,
    /// `WSGIDontWriteBytecode`
    pub dont_write_bytecode: Option<bool>,
    /// `WSGIPythonOptimize`
    pub optimize: Option<u8>,
    /// `WSGIPythonWarnings`
    pub warnings: Vec<String>,
    /// `WSGIPythonHashSeed`
    pub hash_seed: Option<Box<str>>,
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        Self {
            // A virtual host's own are tried first.
            aliases: [&other.aliases[..], &self.aliases].concat(),
            daemons: [&self.daemons[..], &other.daemons].concat(),
            imports: [&self.imports[..], &other.imports].concat(),
            python_home: over(&self.python_home, &other.python_home),
            python_path: over(&self.python_path, &other.python_path),
            interpreter: over(&self.interpreter, &other.interpreter),
            preload: other.preload.or(self.preload),
            // It stands in the same line.
            warm_up: if other.preload.is_some() { other.warm_up.clone() } else { self.warm_up.clone() },
            restrict_signal: other.restrict_signal.or(self.restrict_signal),
            restrict_stdout: other.restrict_stdout.or(self.restrict_stdout),
            restrict_stdin: other.restrict_stdin.or(self.restrict_stdin),
            dont_write_bytecode: other.dont_write_bytecode.or(self.dont_write_bytecode),
            optimize: other.optimize.or(self.optimize),
            warnings: [&self.warnings[..], &other.warnings].concat(),
            hash_seed: over(&self.hash_seed, &other.hash_seed),
        }
    }

    unset_part!(Server);
}
