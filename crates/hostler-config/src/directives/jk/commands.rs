//! The directives, one by one.

use super::mounts::{Mount, Source};
use super::{HANDLER, INDICATOR, UriForm, properties};
use crate::command::Context;
use crate::directives::core::values::choice;
use crate::section::Kind;
use crate::{Action, Args, Arity, Command, Contexts, Directive, Effect, Overrides};

const OWN_LOG: &str = "worker messages go to the ErrorLog";
const NO_SHARED_FILE: &str = "all workers' states are one process's";

/// One whose effect somebody else has.
const fn elsewhere(name: &'static str, why: &'static str) -> Directive {
    let directive = Directive::new(name, Arity::RawArgs, "", "No effect", |_, _| Ok(()));
    Directive { action: Action::Ignored(why), ..directive }.with_effect(Effect::Harmless)
}

/// Names of variables other than mod_ssl's: only the usual ones are possible.
const fn indicator(name: &'static str) -> Directive {
    Directive::refused(
        name,
        "Not supported",
        "containers are sent what the server itself knows about the client",
    )
}

const fn placed(directive: Directive) -> Directive {
    directive.allowed(Contexts::CONFIG, Overrides::NONE)
}

pub(super) static DIRECTIVES: &[Directive] = &[
    Directive::new("JkWorkersFile", Arity::Take1, "file", "Read worker properties from a file", workers_file),
    Directive::new(
        "JkWorkerProperty",
        Arity::RawArgs,
        "worker.list=name,...|worker.name.property=value",
        "Set a property of a worker, such as type, host, port or balance_workers",
        worker_property,
    ),
    placed(Directive::new(
        "JkMount",
        Arity::Take12,
        "URL-path worker[;rule=value ...] (in <Location>: without URL-path)",
        "Map URLs to a worker; * and ? are wildcards",
        |command, args| mount(command, args, ""),
    )),
    placed(Directive::new(
        "JkUnMount",
        Arity::Take12,
        "URL-path worker|* (in <Location>: without URL-path)",
        "Exclude URLs from a worker's mounts",
        |command, args| mount(command, args, "!"),
    )),
    Directive::new(
        "JkMountFile",
        Arity::Take1,
        "file",
        "Read mounts from a file (/path=worker, !/path=worker); it is read again when the server is reloaded",
        mount_file,
    ),
    elsewhere("JkMountFileReload", "files are read again when the server is reloaded"),
    Directive::new(
        "JkMountCopy",
        Arity::Take1,
        "On|Off|All",
        "Copy the main server's mounts to this virtual host, or to all of them",
        mount_copy,
    ),
    Directive::new(
        "JkAutoAlias",
        Arity::Take1,
        "folder",
        "Set the folder of web applications whose static files are served directly if no worker is mapped \
            to their URL",
        |command, args| {
            command.server.jk.alias = Some(command.server_path(args.first()).into());
            Ok(())
        },
    ),
    Directive::new(
        "JkStripSession",
        Arity::Take12,
        "On|Off [;jsessionid]",
        "Remove the session ID from URLs that are not mapped to a worker",
        |command, args| {
            let is_on = choice(args.first(), &[("on", true), ("off", false)])?;
            command.server.jk.strip =
                Some(if is_on { args.word(1).unwrap_or(";jsessionid").into() } else { "".into() });
            Ok(())
        },
    ),
    Directive::new(
        "JkEnvVar",
        Arity::Take12,
        "variable [value]",
        "Pass a variable to servlet containers as a request attribute, with an optional default value",
        |command, args| {
            let own = &mut command.server.jk.variables;
            own.retain(|(name, _)| **name != *args.first());
            own.push((args.first().into(), args.word(1).map(Into::into)));
            Ok(())
        },
    ),
    Directive::new(
        "JkOptions",
        Arity::Iterate,
        "[+|-]option ...",
        "Set how requests are forwarded to servlet containers",
        option,
    ),
    Directive::new(
        "JkExtractSSL",
        Arity::Flag,
        "On|Off",
        "Pass information about the client's TLS connection to servlet containers",
        |command, args| {
            command.server.jk.extract_ssl = Some(args.flag());
            Ok(())
        },
    ),
    Directive::new(
        "JkWorkerIndicator",
        Arity::Take1,
        "JK_WORKER_NAME",
        "Set the variable that names the worker for SetHandler jakarta-servlet",
        |_, args| match args.first() {
            INDICATOR => Ok(()),
            _ => Err(format!("is only supported with {INDICATOR}, which SetEnv sets for {HANDLER}")),
        },
    ),
    elsewhere("JkLogFile", OWN_LOG),
    elsewhere("JkLogLevel", OWN_LOG),
    elsewhere("JkLogStampFormat", OWN_LOG),
    elsewhere("JkRequestLogFormat", "use %{JK_WORKER_NAME}n and related notes in a LogFormat"),
    elsewhere("JkShmFile", NO_SHARED_FILE),
    elsewhere("JkShmSize", NO_SHARED_FILE),
    elsewhere("JkWatchdogInterval", "connections that idle too long are closed by themselves"),
    indicator("JkRequestIdIndicator"),
    indicator("JkRemoteAddrIndicator"),
    indicator("JkRemotePortIndicator"),
    indicator("JkRemoteHostIndicator"),
    indicator("JkRemoteUserIndicator"),
    indicator("JkAuthTypeIndicator"),
    indicator("JkLocalNameIndicator"),
    indicator("JkLocalAddrIndicator"),
    indicator("JkLocalPortIndicator"),
    indicator("JkIgnoreCLIndicator"),
    usual("JkHTTPSIndicator", "HTTPS", |_, args| of_tls(args, "HTTPS")),
    usual("JkSSLPROTOCOLIndicator", "SSL_PROTOCOL", |_, args| of_tls(args, "SSL_PROTOCOL")),
    usual("JkCERTSIndicator", "SSL_CLIENT_CERT", |_, args| of_tls(args, "SSL_CLIENT_CERT")),
    usual("JkCIPHERIndicator", "SSL_CIPHER", |_, args| of_tls(args, "SSL_CIPHER")),
    usual("JkSESSIONIndicator", "SSL_SESSION_ID", |_, args| of_tls(args, "SSL_SESSION_ID")),
    usual("JkKEYSIZEIndicator", "SSL_CIPHER_USEKEYSIZE", |_, args| of_tls(args, "SSL_CIPHER_USEKEYSIZE")),
    usual("JkCERTCHAINPrefix", "SSL_CLIENT_CERT_CHAIN_", |_, args| of_tls(args, "SSL_CLIENT_CERT_CHAIN_")),
];

type Set = fn(&mut Command<'_>, &Args) -> Result<(), String>;

/// A name of mod_ssl's, which may be said.
const fn usual(name: &'static str, form: &'static str, set: Set) -> Directive {
    Directive::new(
        name,
        Arity::Take1,
        form,
        "Accepted only with mod_ssl's variable name; other names are not supported",
        set,
    )
    .with_effect(Effect::Harmless)
}

fn of_tls(args: &Args, usual: &str) -> Result<(), String> {
    if args.first() == usual {
        return Ok(());
    }
    Err(format!("is only supported with mod_ssl's variable {usual}"))
}

fn of_main_server(command: &Command<'_>) -> Result<(), String> {
    if command.context == Context::Main && !command.inside.any() {
        return Ok(());
    }
    Err("is not allowed in <VirtualHost>: workers belong to the whole server".to_owned())
}

fn workers_file(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    of_main_server(command)?;
    let text = command.attached(args.first()).ok_or_else(|| format!("cannot read {}", args.first()))?;
    let read = properties::of_file(&text, command.origin);
    command.server.jk.properties.extend(read);
    Ok(())
}

fn worker_property(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    of_main_server(command)?;
    let line = crate::lexer::words(&args.raw).join(" ");
    let property =
        properties::of_line(&line, command.origin).ok_or_else(|| format!("\"{line}\" is not name=value"))?;
    command.server.jk.properties.push(property);
    Ok(())
}

fn mount(command: &mut Command<'_>, args: &Args, prefix: &str) -> Result<(), String> {
    let of_location = command.place.filter(|place| place.kind == Kind::Location && place.regex.is_none());
    let (path, worker) = match (of_location, args.word(1)) {
        (Some(place), None) => (place.path.to_string(), args.first()),
        (Some(_), Some(_)) => {
            return Err("takes no URL-path in <Location>: the Location's is meant".to_owned());
        }
        (None, Some(worker)) if !command.inside.any() => (args.first().to_owned(), worker),
        (None, None) if !command.inside.any() => return Err("needs a URL-path and a worker".to_owned()),
        _ => return Err("is only allowed in <Location>, in <VirtualHost> and outside sections".to_owned()),
    };
    let path = format!("{prefix}{path}");
    let mounts = Mount::new(&path, worker, (Source::Line, command.host(), command.origin))?;
    command.server.jk.mounts.extend(mounts);
    Ok(())
}

fn mount_file(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let text = command.attached(args.first()).ok_or_else(|| format!("cannot read {}", args.first()))?;
    let at = (Source::File, command.host(), command.origin);
    for property in properties::of_file(&text, command.origin) {
        // "-" is a mount that is switched off, in front of the path or of the worker.
        if property.name.starts_with('-') || property.value.starts_with('-') {
            continue;
        }
        let mounts = Mount::new(&property.name, &property.value, at)?;
        command.server.jk.mounts.extend(mounts);
    }
    Ok(())
}

fn mount_copy(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let words = [("on", Some(true)), ("off", Some(false)), ("all", None)];
    match choice(args.first(), &words)? {
        Some(copies) => command.server.jk.copies = Some(copies),
        None => {
            of_main_server(command)?;
            command.server.jk.copies_all = true;
        }
    }
    Ok(())
}

fn option(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let word = args.first();
    let (is_set, name) = match word.as_bytes().first() {
        Some(b'-') => (false, &word[1..]),
        Some(b'+') => (true, &word[1..]),
        _ => (true, word),
    };
    let name = name.to_ascii_lowercase();
    let jk = &mut command.server.jk;
    if name.starts_with("forwarduri") {
        let forms = [
            ("forwarduriproxy", UriForm::Proxy),
            ("forwarduricompat", UriForm::Compat),
            ("forwarduricompatunparsed", UriForm::Unparsed),
            ("forwarduriescaped", UriForm::Escaped),
        ];
        if !is_set {
            return Err(format!("{word} is not supported: set another form instead"));
        }
        jk.uri = Some(choice(&name, &forms)?);
        return Ok(());
    }
    match &*name {
        "disablereuse" => jk.disables_reuse = Some(is_set),
        "rejectunsafeuri" => jk.rejects_unsafe = Some(is_set),
        "forwardlocaladdress" => jk.local_address = Some(is_set),
        // Pieces are never held back, and the size of a key is always told.
        "flushpackets" | "flushheader" | "forwardkeysize" => {}
        "collapseslashesall" | "collapseslashesnone" | "collapseslashesunmount" => {}
        "forwarddirectories" | "forwardphysicaladdress" | "forwardsslcertchain" if is_set => {
            return Err(format!("{word} is not supported"));
        }
        "forwarddirectories" | "forwardphysicaladdress" | "forwardsslcertchain" => {}
        _ => return Err(crate::unknown("option", word, &[])),
    }
    Ok(())
}
