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
        "The WSGI script that answers for URLs, or a folder of such scripts",
        |command, args| alias(command, args, false),
    ),
    Directive::new(
        "WSGIScriptAliasMatch",
        Arity::TakeArgv,
        "regex file (with $1 ... $9) [options as of WSGIScriptAlias]",
        "The WSGI script that answers for URLs that match a regular expression",
        |command, args| alias(command, args, true),
    ),
    Directive::new(
        "WSGIDaemonProcess",
        Arity::TakeArgv,
        "name [processes=n] [threads=n] [python-home=folder] [python-path=folder:...] [home=folder] [umask=mask] \
         [display-name=text] [lang=name] [locale=name] [maximum-requests=n] [inactivity-timeout=seconds] \
         [request-timeout=seconds] [socket-timeout=seconds] [queue-timeout=seconds] [user=name] [group=name]",
        "A group of workers with an interpreter, paths and limits of their own: as many at most as processes times threads \
         (default 1 and 15), each a process that serves one request at a time",
        daemon,
    ),
    in_sections(Directive::new(
        "WSGIProcessGroup",
        Arity::Take1,
        "name|%{GLOBAL}|%{ENV:variable}",
        "Which WSGIDaemonProcess runs applications (default %{GLOBAL}: workers with the server's settings)",
        |command, args| {
            command.dir.part_mut(&DIR).process_group = Some(args.first().into());
            Ok(())
        },
    )),
    in_sections(Directive::new(
        "WSGIApplicationGroup",
        Arity::Take1,
        "name|%{GLOBAL}|%{SERVER}|%{RESOURCE}|%{HOST}|%{ENV:variable}",
        "Which applications share interpreters (default %{RESOURCE}: each script has its own)",
        |command, args| {
            command.dir.part_mut(&DIR).application_group = Some(args.first().into());
            Ok(())
        },
    )),
    in_sections(Directive::new(
        "WSGIRestrictProcess",
        Arity::TakeArgv,
        "name ...",
        "The process groups that WSGIProcessGroup may choose by a variable",
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
        "The application's name in its script (default application)",
        |command, args| {
            command.dir.part_mut(&DIR).callable = Some(args.first().into());
            Ok(())
        },
    )),
    flag!(
        "WSGIPassAuthorization",
        "Whether applications are told of Authorization (default Off)",
        pass_authorization
    ),
    flag!(
        "WSGIScriptReloading",
        "Whether a script that is newer than the one that is loaded has its workers start anew (default On)",
        reloading
    ),
    flag!(
        "WSGIErrorOverride",
        "Whether error pages are the server's, not the application's (default Off)",
        error_override
    ),
    flag!("WSGIChunkedRequest", "Whether requests may have bodies of unknown length (default Off)", chunked),
    anywhere(Directive::new(
        "WSGIMapHEADToGET",
        Arity::Take1,
        "On|Off|Auto",
        "Whether applications see GET where a client has said HEAD (default Auto: where an output filter looks at bodies)",
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
        "The script whose handle_request(environ, start_response) answers where this handler is set (SetHandler, AddHandler)",
        handler_script,
    )),
    anywhere(Directive::new(
        "WSGITrustedProxyHeaders",
        Arity::TakeArgv,
        "field ...",
        "The fields by which a proxy in front says what applications are to find in REMOTE_ADDR (X-Forwarded-For, \
         X-Client-IP, X-Real-IP), HTTP_HOST (X-Forwarded-Host, X-Host), SERVER_NAME (X-Forwarded-Server), SERVER_PORT \
         (X-Forwarded-Port), SCRIPT_NAME (X-Script-Name, X-Forwarded-Script-Name) and wsgi.url_scheme (X-Forwarded-Proto, \
         X-Forwarded-Scheme, X-Scheme, X-Forwarded-HTTPS, X-Forwarded-SSL, X-HTTPS); access and logs are as without it",
        fields,
    )),
    anywhere(Directive::new(
        "WSGITrustedProxies",
        Arity::TakeArgv,
        "address|network ...",
        "From whom the fields of WSGITrustedProxyHeaders are believed (default: whoever connects)",
        proxies,
    )),
    Directive::new(
        "WSGIImportScript",
        Arity::TakeArgv,
        "file process-group=name application-group=name",
        "A file that is run when the interpreter of a group starts, before requests",
        import,
    ),
    Directive::new(
        "WSGIPythonHome",
        Arity::Take1,
        "folder",
        "The virtual environment whose interpreter runs applications (default: the system's python3)",
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
        "Folders that come first in sys.path",
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
        "The interpreter that runs applications, of CPython 3.9 or later; WSGIPythonHome and python-home= come before",
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
        "Whether applications that WSGIScriptAlias or ASGIApp names are imported once, before workers are forked, and their \
         memory is shared; auto: unless a trial shows that they start threads or open connections, and of ASGIApp where \
         there is more than one worker (default auto). The application of WSGIScriptAlias to which the path belongs answers a \
         GET for it then, too, so that workers find done what it does with its first request",
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
        "Whether programs' own handlers of signals are left out (default On)",
        restrict_signal
    ),
    server_flag!("WSGIRestrictStdout", "Whether printing is an error (default Off)", restrict_stdout),
    server_flag!(
        "WSGIRestrictStdin",
        "Whether reading the standard input is an error (default Off)",
        restrict_stdin
    ),
    server_flag!(
        "WSGIDontWriteBytecode",
        "Whether no .pyc files are written (default Off)",
        dont_write_bytecode
    ),
    Directive::new(
        "WSGIPythonOptimize",
        Arity::Take1,
        "0|1|2",
        "As Python's options -O and -OO",
        |command, args| {
            let level = args.first().parse().ok().filter(|level| *level <= 2);
            let level: u8 = level.ok_or_else(|| format!("\"{}\" is none of 0, 1, 2", args.first()))?;
            command.server.part_mut(&SERVER).optimize = Some(level);
            Ok(())
        },
    ),
    Directive::new("WSGIPythonWarnings", Arity::Take1, "filter", "As Python's option -W", |command, args| {
        command.server.part_mut(&SERVER).warnings.push(args.first().to_owned());
        Ok(())
    }),
    Directive::new(
        "WSGIPythonHashSeed",
        Arity::Take1,
        "random|number",
        "As Python's variable PYTHONHASHSEED",
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
        "The script whose process_group(environ), application_group(environ) and callable_object(environ), as far as it has \
         them, say for each request where the application runs and what it is called: names, or None, which leaves it as \
         configured; where it can't be asked nothing answers",
        |command, args| {
            command.dir.part_mut(&DIR).dispatch = Some(guarding(command, args)?);
            Ok(())
        },
    )),
    guard!(
        "WSGIAccessScript",
        "The script whose allow_access(environ, host) says who may come in: True, False, or None, which leaves it to others",
        access
    ),
    guard!(
        "WSGIAuthUserScript",
        "The script that knows users, for AuthBasicProvider wsgi (check_password(environ, user, password): True, False, None \
         for nobody, or another name) and AuthDigestProvider wsgi (get_realm_hash(environ, user, realm): a digest or None)",
        users
    ),
    guard!(
        "WSGIAuthGroupScript",
        "The script that knows groups, for Require wsgi-group (groups_for_user(environ, user): their names)",
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
