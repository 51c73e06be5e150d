//! mod_wsgi's directives, and ours for Python: the table.

use crate::daemon::daemon;
use crate::forwarded::{fields, proxies};
use crate::parts::{DIR, HeadIsGet, SERVER};
use crate::scripts::{alias, guarding, handler_script, import};
use hostler_config::{Arity, Contexts, Directive, Effect, Module, Overrides};
use hostler_python_frames::Preload;

/// The module, under mod_wsgi's names.
pub static MODULE: Module =
    Module { name: "wsgi_module", file: "mod_wsgi.c", directives: DIRECTIVES, effect: Effect::HandsOver };

/// In an access file of class FileInfo, and everywhere else.
const fn anywhere(directive: Directive) -> Directive {
    directive.allowed(Contexts::ANYWHERE, Overrides::FILE_INFO)
}

/// Everywhere but in access files.
const fn in_sections(directive: Directive) -> Directive {
    directive.allowed(Contexts::CONFIG, Overrides::NONE)
}

/// One that would change nothing here, and nobody's access: a warning, once.
const fn ignored(name: &'static str, why: &'static str) -> Directive {
    let directive = Directive::new(name, Arity::RawArgs, "", "Not needed", |_, _| Ok(()));
    let action = hostler_config::Action::Ignored(why);
    Directive { action, ..directive }
        .allowed(Contexts::ANYWHERE, Overrides::ALL)
        .with_effect(Effect::Harmless)
}

/// One of a section.
macro_rules! flag {
    ($name:literal, $doc:literal, $field:ident) => {
        anywhere(Directive::new($name, Arity::Flag, "On|Off", $doc, |command, args| {
            command.dir.part_mut(&DIR).$field = Some(args.flag());
            Ok(())
        }))
    };
}

/// One of a server.
macro_rules! server_flag {
    ($name:literal, $doc:literal, $field:ident) => {
        Directive::new($name, Arity::Flag, "On|Off", $doc, |command, args| {
            command.server.part_mut(&SERVER).$field = Some(args.flag());
            Ok(())
        })
    };
}

/// A script that guards.
macro_rules! guard {
    ($name:literal, $doc:literal, $field:ident) => {
        Directive::new($name, Arity::TakeArgv, "file [application-group=name]", $doc, |command, args| {
            command.dir.part_mut(&DIR).$field = Some(guarding(command, args)?);
            Ok(())
        })
        .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG)
        .with_effect(Effect::Guards)
    };
}

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "WSGIScriptAlias",
        Arity::TakeArgv,
        "URL-path file|folder [process-group=name] [application-group=name] [callable-object=name] \
         [pass-authorization=On|Off]",
        "Map URLs to a WSGI script, or to a folder of WSGI scripts",
        |command, args| alias(command, args, false),
    ),
    Directive::new(
        "WSGIScriptAliasMatch",
        Arity::TakeArgv,
        "regex file (with $1 ... $9) [options as of WSGIScriptAlias]",
        "Map URLs that match a regular expression to a WSGI script",
        |command, args| alias(command, args, true),
    ),
    Directive::new(
        "WSGIDaemonProcess",
        Arity::TakeArgv,
        "name [processes=n] [threads=n] [python-home=folder] [python-path=folder:...] [home=folder] [umask=mask] \
         [display-name=text] [lang=name] [locale=name] [maximum-requests=n] [inactivity-timeout=seconds] \
         [request-timeout=seconds] [socket-timeout=seconds] [queue-timeout=seconds] [user=name] [group=name]",
        "Define a group of workers with its own interpreter, paths and limits; it has at most processes \
            times threads workers (default 1 and 15), each a process that serves one request at a time",
        daemon,
    ),
    in_sections(Directive::new(
        "WSGIProcessGroup",
        Arity::Take1,
        "name|%{GLOBAL}|%{ENV:variable}",
        "Set the WSGIDaemonProcess group that runs applications (default %{GLOBAL}: workers with the \
            server's settings)",
        |command, args| {
            command.dir.part_mut(&DIR).process_group = Some(args.first().into());
            Ok(())
        },
    )),
    in_sections(Directive::new(
        "WSGIApplicationGroup",
        Arity::Take1,
        "name|%{GLOBAL}|%{SERVER}|%{RESOURCE}|%{HOST}|%{ENV:variable}",
        "Set which applications share an interpreter (default %{RESOURCE}: one interpreter per script)",
        |command, args| {
            command.dir.part_mut(&DIR).application_group = Some(args.first().into());
            Ok(())
        },
    )),
    in_sections(Directive::new(
        "WSGIRestrictProcess",
        Arity::TakeArgv,
        "name ...",
        "Set the process groups that WSGIProcessGroup may select through a variable",
        |command, args| {
            let names = args.words.iter().map(|word| word.as_str().into()).collect();
            command.dir.part_mut(&DIR).allowed_groups = Some(names);
            Ok(())
        },
    )),
    anywhere(Directive::new(
        "WSGICallableObject",
        Arity::Take1,
        "name",
        "Set the application's name in its script (default application)",
        |command, args| {
            command.dir.part_mut(&DIR).callable = Some(args.first().into());
            Ok(())
        },
    )),
    flag!(
        "WSGIPassAuthorization",
        "Pass the Authorization header to applications (default Off)",
        pass_authorization
    ),
    flag!(
        "WSGIScriptReloading",
        "Restart workers when a script is newer than its loaded version (default On)",
        reloading
    ),
    flag!(
        "WSGIErrorOverride",
        "Replace error responses of the application with the server's error pages (default Off)",
        error_override
    ),
    flag!("WSGIChunkedRequest", "Accept request bodies of unknown length (default Off)", chunked),
    anywhere(Directive::new(
        "WSGIMapHEADToGET",
        Arity::Take1,
        "On|Off|Auto",
        "Pass HEAD requests to applications as GET (default Auto: if an output filter reads response bodies)",
        |command, args| {
            let value = match args.first().to_ascii_lowercase().as_str() {
                "on" => HeadIsGet::On,
                "off" => HeadIsGet::Off,
                "auto" => HeadIsGet::Auto,
                _ => return Err("WSGIMapHEADToGET must be one of: Off | On | Auto".to_owned()),
            };
            command.dir.part_mut(&DIR).head_is_get = Some(value);
            Ok(())
        },
    )),
    in_sections(Directive::new(
        "WSGIHandlerScript",
        Arity::TakeArgv,
        "handler file [process-group=name] [application-group=name] [pass-authorization=On|Off]",
        "Define a handler (for SetHandler and AddHandler) that calls handle_request(environ, \
            start_response) of a script",
        handler_script,
    )),
    anywhere(Directive::new(
        "WSGITrustedProxyHeaders",
        Arity::TakeArgv,
        "field ...",
        "Set the header fields from which a proxy in front sets the application's REMOTE_ADDR \
            (X-Forwarded-For, X-Client-IP, X-Real-IP), HTTP_HOST (X-Forwarded-Host, X-Host), SERVER_NAME \
            (X-Forwarded-Server), SERVER_PORT (X-Forwarded-Port), SCRIPT_NAME (X-Script-Name, \
            X-Forwarded-Script-Name) and wsgi.url_scheme (X-Forwarded-Proto, X-Forwarded-Scheme, \
            X-Scheme, X-Forwarded-HTTPS, X-Forwarded-SSL, X-HTTPS); access control and logs do not use \
            them",
        fields,
    )),
    anywhere(Directive::new(
        "WSGITrustedProxies",
        Arity::TakeArgv,
        "address|network ...",
        "Set the clients whose WSGITrustedProxyHeaders are trusted (default: all)",
        proxies,
    )),
    Directive::new(
        "WSGIImportScript",
        Arity::TakeArgv,
        "file process-group=name application-group=name",
        "Run a file when the interpreter of a group starts, before any request",
        import,
    ),
    Directive::new(
        "WSGIPythonHome",
        Arity::Take1,
        "folder",
        "Set the virtual environment whose interpreter runs applications (default: the system's python3)",
        |command, args| {
            if !args.first().starts_with('/') {
                return Err(format!("\"{}\" is not an absolute path", args.first()));
            }
            command.server.part_mut(&SERVER).python_home = Some(args.first().into());
            Ok(())
        },
    ),
    Directive::new(
        "WSGIPythonPath",
        Arity::Take1,
        "folder[:folder ...]",
        "Add folders to the beginning of sys.path",
        |command, args| {
            let folders = args.first().split(':').map(str::to_owned).collect();
            command.server.part_mut(&SERVER).python_path = Some(folders);
            Ok(())
        },
    ),
    Directive::new(
        "HostlerPython",
        Arity::Take1,
        "program",
        "Set the Python interpreter, CPython 3.9 or later; WSGIPythonHome and python-home= override it",
        |command, args| {
            if !args.first().starts_with('/') {
                return Err(format!("\"{}\" is not an absolute path", args.first()));
            }
            command.server.part_mut(&SERVER).interpreter = Some(args.first().into());
            Ok(())
        },
    ),
    Directive::new(
        "HostlerPythonPreload",
        Arity::Take12,
        "auto|on|off [URL path]",
        "Import the applications of WSGIScriptAlias and ASGIApp once, before workers are forked, so that \
            workers share their memory. auto (default) does so unless a trial import starts threads or \
            opens connections, and for ASGIApp only with more than one worker. With a URL path, the \
            WSGIScriptAlias application at that path also serves one GET request before the fork, so \
            that workers start with its first-request work already done",
        |command, args| {
            let preload = match args.first().to_ascii_lowercase().as_str() {
                "auto" => Preload::Auto,
                "on" => Preload::On,
                "off" => Preload::Off,
                other => return Err(format!("\"{other}\" is none of auto, on, off")),
            };
            let warm_up = args.word(1).map(Box::<str>::from);
            if warm_up.is_some() && preload == Preload::Off {
                return Err("with off nothing is imported ahead, and nothing can be asked for".to_owned());
            }
            if let Some(path) = warm_up.as_deref().filter(|path| !path.starts_with('/')) {
                return Err(format!("\"{path}\" is no URL's path: it begins with a slash"));
            }
            let part = command.server.part_mut(&SERVER);
            (part.preload, part.warm_up) = (Some(preload), warm_up);
            Ok(())
        },
    ),
    server_flag!(
        "WSGIRestrictSignal",
        "Ignore signal handlers that applications register (default On)",
        restrict_signal
    ),
    server_flag!(
        "WSGIRestrictStdout",
        "Raise an error if an application writes to standard output (default Off)",
        restrict_stdout
    ),
    server_flag!(
        "WSGIRestrictStdin",
        "Raise an error if an application reads standard input (default Off)",
        restrict_stdin
    ),
    server_flag!("WSGIDontWriteBytecode", "Do not write .pyc files (default Off)", dont_write_bytecode),
    Directive::new(
        "WSGIPythonOptimize",
        Arity::Take1,
        "0|1|2",
        "Set the optimization level, as Python's options -O and -OO do",
        |command, args| {
            let level = args.first().parse().ok().filter(|level| *level <= 2);
            let level: u8 = level.ok_or_else(|| format!("\"{}\" is none of 0, 1, 2", args.first()))?;
            command.server.part_mut(&SERVER).optimize = Some(level);
            Ok(())
        },
    ),
    Directive::new(
        "WSGIPythonWarnings",
        Arity::Take1,
        "filter",
        "Add a warning filter, as Python's option -W does",
        |command, args| {
            command.server.part_mut(&SERVER).warnings.push(args.first().to_owned());
            Ok(())
        },
    ),
    Directive::new(
        "WSGIPythonHashSeed",
        Arity::Take1,
        "random|number",
        "Set PYTHONHASHSEED",
        |command, args| {
            let value = args.first();
            if value != "random" && value.parse::<u32>().is_err() {
                return Err(
                    "WSGIPythonHashSeed must be \"random\" or an integer in range [0; 4294967295]".to_owned()
                );
            }
            command.server.part_mut(&SERVER).hash_seed = Some(value.into());
            Ok(())
        },
    ),
    in_sections(Directive::new(
        "WSGIDispatchScript",
        Arity::TakeArgv,
        "file [application-group=name]",
        "Set the script that selects where each request runs: process_group(environ), \
            application_group(environ) and callable_object(environ), each optional, return a name, or \
            None to keep the configured one; if the script cannot be called, the request fails",
        |command, args| {
            command.dir.part_mut(&DIR).dispatch = Some(guarding(command, args)?);
            Ok(())
        },
    )),
    guard!(
        "WSGIAccessScript",
        "Set the script whose allow_access(environ, host) controls access: True, False, or None to leave \
            the decision to other modules",
        access
    ),
    guard!(
        "WSGIAuthUserScript",
        "Set the script that checks passwords: check_password(environ, user, password) for \
            AuthBasicProvider wsgi returns True, False, None for an unknown user, or another user name; \
            get_realm_hash(environ, user, realm) for AuthDigestProvider wsgi returns a digest or None",
        users
    ),
    guard!(
        "WSGIAuthGroupScript",
        "Set the script whose groups_for_user(environ, user) returns the group names for Require wsgi-group",
        groups
    ),
    ignored("WSGIGroupAuthoritative", "Require lines say what a user needs"),
    ignored("WSGIApplicationWrapper", "wrap the application in its script"),
    ignored("WSGISocketPrefix", "there are no sockets between server and workers"),
    ignored("WSGISocketRotation", "there are no sockets between server and workers"),
    ignored("WSGIAcceptMutex", "workers do not compete for requests"),
    ignored("WSGILazyInitialization", "an interpreter starts with the first request for it"),
    ignored("WSGIRestrictEmbedded", "applications never run in the server's own processes"),
    ignored("WSGIDestroyInterpreter", "an interpreter ends with its process"),
    ignored("WSGICaseSensitivity", "files have the names that they have"),
    ignored("WSGIEnableSendfile", "the server sends the files of wsgi.file_wrapper in any case"),
    ignored("WSGIServerMetrics", "the handler server-status tells of pools"),
    ignored(
        "WSGIIgnoreActivity",
        "a pool ends when nobody has used it for inactivity-timeout or HostlerPoolIdle",
    ),
    ignored("WSGIVerboseDebugging", "use LogLevel wsgi:debug"),
    ignored("WSGIPythonEggs", "eggs are not unpacked by today's Python"),
    ignored("WSGISwitchInterval", "workers have one thread, if the application starts none"),
    ignored("WSGIPerInterpreterGIL", "each interpreter has a process, and so a lock, of its own"),
    ignored("WSGIFreeThreading", "workers have one thread, if the application starts none"),
    ignored("WSGISlowRequests", "write %D or %{ms}T into a LogFormat"),
    ignored("WSGITelemetryService", "the handler server-status tells of pools"),
    ignored("WSGITelemetryOptions", "the handler server-status tells of pools"),
    ignored("WSGIPassApacheRequest", "there is no request_rec"),
    ignored("WSGINewRelicConfigFile", "have the script start its agent"),
    ignored("WSGINewRelicEnvironment", "have the script start its agent"),
];
