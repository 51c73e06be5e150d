//! mod_fastcgi's directives, the older module's words for what mod_fcgid does: programs that the server starts
//! (`FastCgiServer`), programs that are there (`FastCgiExternalServer`), and those that decide who may see what.

use super::{OWN_WAY, Options, roles};
use crate::directives::core::values::number;
use crate::{Action, Args, Arity, Command, Contexts, Directive, Effect, Module, Overrides, words};
use std::sync::Arc;

/// The module.
pub static MODULE: Module = Module {
    name: "fastcgi_module",
    file: "mod_fastcgi.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

/// A program that is there already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// Its socket's path, absolute.
    pub socket: Option<Box<str>>,
    /// Or its host and port.
    pub host: Option<(Box<str>, u16)>,
    /// `-idle-timeout`: how long it may be silent, in seconds (default 30).
    pub timeout: Option<u32>,
    /// `-appConnTimeout`: how long a connection may take, in seconds.
    pub connect_timeout: Option<u32>,
}

/// Options that speak of how mod_fastcgi's own process manager works, and have a value.
const OWN: &[&str] = &[
    "-init-start-delay",
    "-listen-queue-depth",
    "-minserverlife",
    "-multithreshold",
    "-priority",
    "-restart-delay",
    "-singlethreshold",
    "-startdelay",
    "-startprocesses",
    "-updateinterval",
    "-gainvalue",
    "-killinterval",
];

/// The flags without an argument. Responses are always forwarded as they arrive.
const OWN_FLAGS: &[&str] = &["-autoupdate", "-flush", "-nph", "-restart"];

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "FastCgiServer",
        Arity::RawArgs,
        "file [option value ...]",
        "Start a FastCGI program, with a number of processes",
        server,
    ),
    Directive::new(
        "FastCgiExternalServer",
        Arity::RawArgs,
        "file -host host:port|-socket path [option value ...]",
        "Map a file name to a running FastCGI program; the file need not exist",
        external,
    ),
    Directive::new(
        "FastCgiConfig",
        Arity::RawArgs,
        "option value ...",
        "Set the default options of FastCGI programs",
        |command, args| {
            let words = words(&args.raw);
            let mut fields = Vec::new();
            let mut options = command.server.fcgid.options.clone();
            read(&mut options, &mut fields, &words)?;
            command.server.fcgid.options = options;
            command.server.fcgid.pass_headers.append(&mut fields);
            Ok(())
        },
    ),
    Directive::new(
        "FastCgiWrapper",
        Arity::Take1,
        "On|Off",
        "No effect: programs always run as the site's user",
        |_, args| {
            match args.first().to_ascii_lowercase().as_str() {
            "on" | "off" => Ok(()),
            _ => Err("custom wrappers are not supported: programs run as the site's user (AssignUserID, SuexecUserGroup)"
                .to_owned()),
        }
        },
    ),
    Directive {
        action: Action::Ignored("sockets are created in directories that only the site's user can enter"),
        ..Directive::new("FastCgiIpcDir", Arity::RawArgs, "directory", "No effect", |_, _| Ok(()))
    },
    roles::program!("FastCgiAccessChecker", access),
    roles::authoritative!("FastCgiAccessCheckerAuthoritative", access),
    roles::program!("FastCgiAuthenticator", authenticator),
    roles::authoritative!("FastCgiAuthenticatorAuthoritative", authenticator),
    roles::program!("FastCgiAuthorizer", authorizer),
    roles::authoritative!("FastCgiAuthorizerAuthoritative", authorizer),
];

/// Reads options of programs that the server starts.
fn read(options: &mut Options, fields: &mut Vec<Box<str>>, words: &[String]) -> Result<(), String> {
    let mut words = words.iter();
    while let Some(option) = words.next() {
        let name = option.to_ascii_lowercase();
        if OWN_FLAGS.contains(&&*name) {
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{option} has no value"))?;
        let seconds = || number::<u32>(value, 0..=u32::MAX).map(Some);
        match &*name {
            "-processes" => (options.min_processes, options.max_processes) = (seconds()?, seconds()?),
            "-maxclassprocesses" | "-maxprocesses" => options.max_processes = seconds()?,
            "-minprocesses" => options.min_processes = seconds()?,
            "-idle-timeout" => options.io_timeout = seconds()?,
            "-appconntimeout" => options.connect_timeout = seconds()?,
            "-initial-env" => {
                let (name, value) = value.split_once('=').unwrap_or((value, ""));
                options.env.set(name, value);
            }
            "-pass-header" => fields.push(value.as_str().into()),
            "-socket" | "-port" => {
                return Err(format!(
                    "{option} is not supported: the socket is created in a directory that only the site's user can enter; \
                     use FastCgiExternalServer for a program with its own socket"
                ));
            }
            known if OWN.contains(&known) => {}
            _ => return Err(format!("unknown option \"{option}\" ({OWN_WAY})")),
        }
    }
    Ok(())
}

/// `FastCgiServer file option value ...`
fn server(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let words = words(&args.raw);
    let program = words.first().ok_or("the program is missing")?;
    let (mut options, mut fields) = (Options::default(), Vec::new());
    read(&mut options, &mut fields, &words[1..])?;
    let program = command.server_path(program);
    command.server.fcgid.named.insert(program.as_str().into());
    command.server.fcgid.of_command.insert(program.into(), options);
    command.server.fcgid.pass_headers.append(&mut fields);
    Ok(())
}

/// `FastCgiExternalServer file -host host:port|-socket path ...`
fn external(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let words = words(&args.raw);
    let mut words = words.iter();
    let file = words.next().ok_or("the name of a file is missing")?;
    let mut made = External { socket: None, host: None, timeout: None, connect_timeout: None };
    let mut fields = Vec::new();
    while let Some(option) = words.next() {
        let name = option.to_ascii_lowercase();
        if OWN_FLAGS.contains(&&*name) {
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{option} has no value"))?;
        match &*name {
            "-host" => {
                let (host, port) = value.rsplit_once(':').ok_or("-host has the form host:port")?;
                let port = number(port, 1..=u16::MAX)?;
                made.host = Some((host.trim_matches(['[', ']']).into(), port));
            }
            "-socket" => made.socket = Some(command.server_path(value).into()),
            "-idle-timeout" => made.timeout = Some(number(value, 1..=u32::MAX)?),
            "-appconntimeout" => made.connect_timeout = Some(number(value, 0..=u32::MAX)?),
            "-pass-header" => fields.push(value.as_str().into()),
            _ => return Err(crate::unknown("option of an external server", option, &[])),
        }
    }
    if made.socket.is_some() == made.host.is_some() {
        return Err("either -host or -socket says where the program is".to_owned());
    }
    let file = command.server_path(file);
    command.server.fcgid.externals.insert(file.into(), Arc::new(made));
    command.server.fcgid.pass_headers.append(&mut fields);
    Ok(())
}
