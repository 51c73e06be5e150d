//! mod_fcgid's directives: FastCGI programs that the server starts, as many as it needs, as the site's user.
//!
//! Directives for mod_fcgid's own daemon (scoring of spawns, scan intervals, tables in files) are accepted and have no
//! effect: a pool starts programs when requests wait, and pauses when they die.

mod mod_fastcgi;
mod options;
mod roles;

pub use mod_fastcgi::{External, MODULE as MOD_FASTCGI};
pub use options::{Options, Variables};
pub use roles::{RoleProgram, Roles};

use crate::directives::core::values::number;
use crate::{
    Action, Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The module.
pub static MODULE: Module =
    Module { name: "fcgid_module", file: "mod_fcgid.c", directives: DIRECTIVES, effect: Effect::Harmless };

/// The handlers: mod_fcgid's, and mod_fastcgi's for the same.
pub const HANDLERS: &[&str] = &["fcgid-script", "fastcgi-script", FILTER];
/// The handler of files that a program is to filter: the one that FcgidWrapper names for them.
pub const FILTER: &str = "fcgid-filter";

const OWN_WAY: &str = "Hostler starts programs on demand, and throttles restarts of programs that die";

/// A number that is an option of programs.
macro_rules! option {
    ($name:literal, $form:literal, $doc:literal, $field:ident) => {
        Directive::new($name, Arity::Take1, $form, $doc, |command, args| {
            command.server.fcgid.options.$field = Some(number(args.first(), 0..=u32::MAX)?);
            Ok(())
        })
    };
}

/// One that means nothing here.
macro_rules! ignored {
    ($name:literal) => {
        Directive {
            action: Action::Ignored(OWN_WAY),
            ..Directive::new($name, Arity::RawArgs, "", "No effect", |_, _| Ok(()))
        }
    };
}

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "FcgidWrapper",
        Arity::Take123,
        "command [suffix] [virtual]",
        "Set the program that runs FastCGI scripts, optionally only those with a suffix",
        wrapper,
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO)
    .with_effect(Effect::HandsOver),
    option!(
        "FcgidBusyTimeout",
        "seconds",
        "Limit the time of one request, in seconds (default 300)",
        busy_timeout
    ),
    option!(
        "FcgidConnectTimeout",
        "seconds",
        "Set the timeout for connecting to a program, in seconds (default 3)",
        connect_timeout
    ),
    option!(
        "FcgidIOTimeout",
        "seconds",
        "Set the timeout for reading from and writing to a program, in seconds (default 40)",
        io_timeout
    ),
    option!(
        "FcgidIdleTimeout",
        "seconds",
        "Stop a process that is idle for this many seconds; 0: never (default 300)",
        idle_timeout
    ),
    option!(
        "FcgidProcessLifeTime",
        "seconds",
        "Limit the lifetime of a process in seconds; 0: no limit (default 3600)",
        lifetime
    ),
    option!(
        "FcgidMaxProcessesPerClass",
        "number",
        "Limit the number of processes of one program (default 100)",
        max_processes
    ),
    option!(
        "FcgidMinProcessesPerClass",
        "number",
        "Set how many idle processes a program keeps while it is in use (default 3)",
        min_processes
    ),
    Directive::new(
        "FcgidMaxRequestsPerProcess",
        Arity::Take1,
        "number",
        "Replace a process after this many requests; 0 and -1: never (default)",
        |command, args| {
            let count = if args.first() == "-1" { 0 } else { number(args.first(), 0..=u32::MAX)? };
            command.server.fcgid.options.max_requests = Some(count);
            Ok(())
        },
    ),
    Directive::new(
        "FcgidMaxProcesses",
        Arity::Take1,
        "number",
        "Limit the number of FastCGI processes of a site (default 1000)",
        |command, args| {
            command.server.fcgid.max_processes = Some(number(args.first(), 1..=u32::MAX)?);
            Ok(())
        },
    ),
    Directive::new(
        "FcgidMaxRequestLen",
        Arity::Take1,
        "bytes",
        "Limit the size of a request body in bytes (default: only LimitRequestBody applies)",
        |command, args| {
            command.server.fcgid.max_request_len = Some(number(args.first(), 0..=u64::MAX)?);
            Ok(())
        },
    ),
    Directive::new(
        "FcgidInitialEnv",
        Arity::Take12,
        "name [value]",
        "Set an environment variable of programs; without a value, copy it from the server's environment",
        |command, args| {
            let value = match args.word(1) {
                Some(value) => Some(value.to_owned()),
                None => command.environment(args.first()),
            };
            command.server.fcgid.options.env.set(args.first(), &value.unwrap_or_default());
            Ok(())
        },
    ),
    Directive::new(
        "FcgidPassHeader",
        Arity::Iterate,
        "field ...",
        "Pass request header fields, such as Authorization, to programs under their own names",
        |command, args| {
            command.server.fcgid.pass_headers.push(args.first().into());
            Ok(())
        },
    ),
    Directive::new(
        "FcgidCmdOptions",
        Arity::RawArgs,
        "command option [value] ...",
        "Set the options of one program, overriding the other directives",
        options::of_command,
    ),
    Directive {
        action: Action::Ignored("responses are passed on as they arrive"),
        ..Directive::new("FcgidOutputBufferSize", Arity::Take1, "bytes", "No effect", |_, _| Ok(()))
    },
    Directive {
        action: Action::Ignored("bodies are passed on as they arrive, and never stored in files"),
        ..Directive::new("FcgidMaxRequestInMem", Arity::Take1, "bytes", "No effect", |_, _| Ok(()))
    },
    Directive {
        action: Action::Ignored("sockets are created in directories that only the site's user can enter"),
        ..Directive::new("FcgidIPCDir", Arity::Take1, "directory", "No effect", |_, _| Ok(()))
    },
    Directive {
        action: Action::Ignored("PATH_INFO is always the rest of the URL after the script"),
        ..Directive::new("FcgidFixPathinfo", Arity::Take1, "1", "No effect", |_, _| Ok(()))
    },
    ignored!("FcgidBusyScanInterval"),
    ignored!("FcgidErrorScanInterval"),
    ignored!("FcgidIdleScanInterval"),
    ignored!("FcgidZombieScanInterval"),
    ignored!("FcgidProcessTableFile"),
    ignored!("FcgidSpawnScore"),
    ignored!("FcgidSpawnScoreUpLimit"),
    ignored!("FcgidTerminationScore"),
    ignored!("FcgidTimeScore"),
    roles::program!("FcgidAccessChecker", access),
    roles::authoritative!("FcgidAccessCheckerAuthoritative", access),
    roles::program!("FcgidAuthenticator", authenticator),
    roles::authoritative!("FcgidAuthenticatorAuthoritative", authenticator),
    roles::program!("FcgidAuthorizer", authorizer),
    roles::authoritative!("FcgidAuthorizerAuthoritative", authorizer),
];

/// The names of mod_fcgid's directives before 2.3, which it still accepts, and their current names.
pub const FORMER_NAMES: &[(&str, &str)] = &[
    ("BusyScanInterval", "FcgidBusyScanInterval"),
    ("BusyTimeout", "FcgidBusyTimeout"),
    ("DefaultInitEnv", "FcgidInitialEnv"),
    ("DefaultMaxClassProcessCount", "FcgidMaxProcessesPerClass"),
    ("DefaultMinClassProcessCount", "FcgidMinProcessesPerClass"),
    ("ErrorScanInterval", "FcgidErrorScanInterval"),
    ("FCGIWrapper", "FcgidWrapper"),
    ("IdleScanInterval", "FcgidIdleScanInterval"),
    ("IdleTimeout", "FcgidIdleTimeout"),
    ("IPCCommTimeout", "FcgidIOTimeout"),
    ("IPCConnectTimeout", "FcgidConnectTimeout"),
    ("MaxProcessCount", "FcgidMaxProcesses"),
    ("MaxRequestInMem", "FcgidMaxRequestInMem"),
    ("MaxRequestLen", "FcgidMaxRequestLen"),
    ("MaxRequestsPerProcess", "FcgidMaxRequestsPerProcess"),
    ("OutputBufferSize", "FcgidOutputBufferSize"),
    ("PassHeader", "FcgidPassHeader"),
    ("PHP_Fix_Pathinfo_Enable", "FcgidFixPathinfo"),
    ("ProcessLifeTime", "FcgidProcessLifeTime"),
    ("SocketPath", "FcgidIPCDir"),
    ("SpawnScore", "FcgidSpawnScore"),
    ("SpawnScoreUpLimit", "FcgidSpawnScoreUpLimit"),
    ("TerminationScore", "FcgidTerminationScore"),
    ("TimeScore", "FcgidTimeScore"),
    ("ZombieScanInterval", "FcgidZombieScanInterval"),
];

/// A program that runs scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrapper {
    /// Its path, absolute, and its arguments.
    pub command: Vec<Box<str>>,
    /// True if there need not be a file.
    pub is_virtual: bool,
}

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// By the suffix of scripts, with its dot; empty: all others.
    wrappers: BTreeMap<Box<str>, Arc<Wrapper>>,
    /// Programs that decide who may see what.
    pub roles: Roles,
}

impl Dir {
    /// Returns the program that runs a script; `None`: it runs by itself.
    #[must_use]
    pub fn wrapper(&self, script: &[u8]) -> Option<&Arc<Wrapper>> {
        let own = script
            .iter()
            .rposition(|byte| *byte == b'.')
            .and_then(|at| std::str::from_utf8(&script[at..]).ok());
        own.and_then(|suffix| self.wrappers.get(suffix)).or_else(|| self.wrappers.get(""))
    }
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        let mut wrappers = self.wrappers.clone();
        wrappers.extend(other.wrappers.iter().map(|(suffix, wrapper)| (suffix.clone(), wrapper.clone())));
        Self { wrappers, roles: self.roles.merge(&other.roles) }
    }

    unset_part!(Dir);
}

/// A server's settings.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// The options of programs.
    pub options: Options,
    /// `FcgidMaxProcesses`
    pub max_processes: Option<u32>,
    /// `FcgidMaxRequestLen`, bytes.
    pub max_request_len: Option<u64>,
    /// `FcgidPassHeader`
    pub pass_headers: Vec<Box<str>>,
    /// `FcgidCmdOptions` and `FastCgiServer`, by the program's path.
    pub of_command: BTreeMap<Box<str>, Options>,
    /// The paths of `FastCgiServer`.
    pub named: BTreeSet<Box<str>>,
    /// `FastCgiExternalServer`, by the path that stands for it.
    pub externals: BTreeMap<Box<str>, Arc<External>>,
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        let mut of_command = self.of_command.clone();
        of_command.extend(other.of_command.iter().map(|(path, options)| (path.clone(), options.clone())));
        // Quirk(apache): a virtual host that names fields takes none of the main server's.
        let pass_headers =
            if other.pass_headers.is_empty() { &self.pass_headers } else { &other.pass_headers };
        Self {
            options: self.options.merge(&other.options),
            max_processes: over(&self.max_processes, &other.max_processes),
            max_request_len: over(&self.max_request_len, &other.max_request_len),
            pass_headers: pass_headers.clone(),
            of_command,
            named: self.named.union(&other.named).cloned().collect(),
            externals: self
                .externals
                .iter()
                .chain(&other.externals)
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect(),
        }
    }

    unset_part!(Server);
}

impl Server {
    /// Returns whether the operator has named this file as a program, in mod_fastcgi's words.
    #[must_use]
    pub fn names(&self, file: &[u8]) -> bool {
        let file = std::str::from_utf8(file);
        file.is_ok_and(|file| self.named.contains(file) || self.externals.contains_key(file))
    }
}

fn wrapper(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let mut words: Vec<Box<str>> = crate::words(args.first()).into_iter().map(Into::into).collect();
    let program = words.first_mut().filter(|word| !word.is_empty()).ok_or("the command is missing")?;
    *program = command.server_path(program).into();
    let (mut suffix, mut is_virtual) = ("", false);
    for word in args.words.iter().skip(1) {
        let names_suffix = word.starts_with('.') && word.len() > 1 && !word.contains(['/', '\\']);
        if word.eq_ignore_ascii_case("virtual") {
            is_virtual = true;
        } else if names_suffix && suffix.is_empty() {
            suffix = word;
        } else {
            return Err(format!("\"{word}\" is neither a suffix, .php say, nor virtual"));
        }
    }
    if suffix[1.min(suffix.len())..].contains('.') {
        command.warn(format!(
            "FcgidWrapper: no file has the suffix \"{suffix}\": a suffix begins at the last dot of a name"
        ));
    }
    let wrapper = Wrapper { command: words, is_virtual };
    command.dir.fcgid.wrappers.insert(suffix.into(), Arc::new(wrapper));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_the_wrapper_of_its_suffix_or_the_one_of_all() {
        let wrapper = |program: &str| Arc::new(Wrapper { command: vec![program.into()], is_virtual: false });
        let outer = Dir { wrappers: [("".into(), wrapper("all"))].into(), ..Dir::default() };
        let merged =
            outer.merge(&Dir { wrappers: [(".php".into(), wrapper("php"))].into(), ..Dir::default() });
        let of = |script: &[u8]| merged.wrapper(script).map(|wrapper| wrapper.command[0].to_string());
        assert_eq!(of(b"/a.php").as_deref(), Some("php"));
        assert_eq!(of(b"/a.php.x").as_deref(), Some("all"));
        assert_eq!(of(b"/a").as_deref(), Some("all"));
        assert!(Dir::default().wrapper(b"/a").is_none());
    }
}
