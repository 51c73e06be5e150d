//! Directives of mod_log_config, and the core's about the error log: what is logged where. [`Format`] writes
//! lines of access logs.

mod error_format;
mod format;
mod item;
mod level;
mod line;
mod logitem;

pub use error_format::{ErrorFormat, ErrorItem, ErrorPiece};
pub use format::{Format, Zone};
pub use item::{PortOf, Which};
pub use level::{Level, Levels};
pub use line::{AddressOf, ConnectionStatus, Count, LogRecord, NamedSource, Text};
pub use logitem::push_escaped;

use crate::{Args, Arity, Command, Context, Contexts, Directive, Effect, Module, Overrides};
use crate::{Merge, over, unset_part};
use hostler_expr::Expr;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// The module.
pub static MODULE: Module = Module {
    name: "log_config_module",
    file: "mod_log_config.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "LogFormat",
        Arity::Take12,
        "format [name] | name",
        "Define a named log format, or set the format of TransferLog",
        log_format,
    ),
    Directive::new(
        "CustomLog",
        Arity::Take23,
        "file|\"|program\" format|name [env=[!]variable|expr=expression]",
        "Write an access log",
        |command, args| custom_log(command, args, false),
    ),
    Directive::new(
        "GlobalLog",
        Arity::Take23,
        "file|\"|program\" format|name [env=[!]variable|expr=expression]",
        "Write an access log of all virtual hosts, including those with their own log",
        |command, args| custom_log(command, args, true),
    )
    .allowed(Contexts::GLOBAL, Overrides::NONE),
    Directive::new(
        "TransferLog",
        Arity::Take1,
        "file|\"|program\"",
        "Write an access log in the format of the last LogFormat without a name",
        |command, args| push_log(command, args.first(), None, None, false),
    ),
    Directive::new(
        "CookieLog",
        Arity::Take1,
        "file|\"|program\"",
        "Write a log of cookies",
        |command, args| push_log(command, args.first(), Some("%{Cookie}n \"%r\" %t"), None, false),
    ),
    Directive::new(
        "BufferedLogs",
        Arity::Flag,
        "On|Off",
        "Buffer log lines before writing them",
        |command, args| {
            command.server.log_config.buffered = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::GLOBAL, Overrides::NONE),
    Directive::new(
        "ErrorLog",
        Arity::Take12,
        "file|\"|program\"|syslog[:facility]",
        "Set the destination of the error log",
        error_log,
    ),
    Directive::new(
        "ErrorLogFormat",
        Arity::Take12,
        "[connection|request] format",
        "Set the format of error log lines",
        error_log_format,
    ),
    Directive::new(
        "LogLevel",
        Arity::Iterate,
        "[module:]emerg|alert|crit|error|warn|notice|info|debug|trace1 ... trace8",
        "Set the verbosity of the error log",
        log_level,
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
];

/// mod_logio, whose items formats have anyway.
pub static LOGIO: Module = Module {
    name: "logio_module",
    file: "mod_logio.c",
    directives: &[Directive::new(
        "LogIOTrackTTFB",
        Arity::Flag,
        "On|Off",
        "Track the time to the first byte of a response, for %^FB",
        |command, args| {
            command.dir.log_config.first_byte = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL)],
    effect: Effect::Harmless,
};

/// When a request is logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `env=`: the variable is set, or, with `!`, is not.
    Env {
        /// The variable.
        name: Box<str>,
        /// `false` for `!`.
        set: bool,
    },
    /// `expr=`
    Expr(Expr),
}

/// A format as it is written: the name of one, or the format itself.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FormatText {
    text: Box<str>,
    format: Arc<Format>,
}

/// A CustomLog, GlobalLog or TransferLog line.
#[derive(Clone, Debug)]
struct Written {
    target: Box<str>,
    format: Option<FormatText>,
    condition: Option<Condition>,
    global: bool,
}

/// A log of requests, ready for use.
#[derive(Clone, Debug)]
pub struct Log {
    /// An absolute path, or `|` and a program.
    pub target: Box<str>,
    /// The form of a line.
    pub format: Arc<Format>,
    /// When a line is written.
    pub condition: Option<Condition>,
}

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// LogLevel, for the requests of this directory.
    pub levels: Levels,
    /// LogIOTrackTTFB
    pub first_byte: Option<bool>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        Self {
            levels: self.levels.merge(&other.levels),
            first_byte: over(&self.first_byte, &other.first_byte),
        }
    }

    unset_part!(Dir);
}

/// A server's settings.
#[derive(Clone, Debug, Default)]
pub struct Server {
    formats: BTreeMap<Box<str>, Arc<Format>>,
    usual: Option<FormatText>,
    logs: Vec<Written>,
    inherited: Vec<Written>,
    /// BufferedLogs; unset means Off.
    pub buffered: Option<bool>,
    /// ErrorLog: an absolute path, `|` and a program, or `syslog` with what follows it. Unset means
    /// `logs/error_log` under ServerRoot.
    pub error_log: Option<Box<str>>,
    /// ErrorLogFormat for messages; unset means Apache's usual layout.
    pub error_format: Option<Arc<ErrorFormat>>,
    /// LogLevel.
    pub levels: Levels,
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        let mut formats = self.formats.clone();
        formats.extend(other.formats.iter().map(|(name, format)| (name.clone(), Arc::clone(format))));
        Self {
            formats,
            usual: over(&self.usual, &other.usual),
            logs: other.logs.clone(),
            inherited: [&self.logs[..], &other.inherited].concat(),
            buffered: over(&self.buffered, &other.buffered),
            error_log: over(&self.error_log, &other.error_log),
            error_format: over(&self.error_format, &other.error_format),
            levels: self.levels.merge(&other.levels),
        }
    }

    unset_part!(Server);
}

static COMMON: LazyLock<Option<Arc<Format>>> =
    LazyLock::new(|| Format::parse(Format::COMMON).ok().map(Arc::new));

impl Server {
    /// The logs that a request is written to: a virtual host's own, or, if it has none, the main server's;
    /// GlobalLog's in any case.
    #[must_use]
    pub fn logs(&self) -> Vec<Log> {
        let inherited = self.inherited.iter().filter(|log| log.global || self.logs.is_empty());
        let ready = |log: &Written| {
            let format = match (&log.format, &self.usual) {
                (Some(format), _) | (None, Some(format)) => self.resolved(format),
                (None, None) => COMMON.clone()?,
            };
            Some(Log { target: log.target.clone(), format, condition: log.condition.clone() })
        };
        self.logs.iter().chain(inherited).filter_map(ready).collect()
    }

    /// A name means the format of that name, wherever in the file it is defined; other text is a format.
    fn resolved(&self, format: &FormatText) -> Arc<Format> {
        match self.formats.get(&format.text) {
            Some(named) => Arc::clone(named),
            None if format.text.eq_ignore_ascii_case("CLF") => {
                COMMON.clone().unwrap_or_else(|| Arc::clone(&format.format))
            }
            None => Arc::clone(&format.format),
        }
    }
}

fn parsed(text: &str) -> Result<FormatText, String> {
    Ok(FormatText { text: text.into(), format: Arc::new(Format::parse(text)?) })
}

fn log_format(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let format = parsed(args.first())?;
    let server = &mut command.server.log_config;
    match args.word(1) {
        Some(name) => {
            server.formats.insert(name.into(), format.format);
        }
        None => server.usual = Some(format),
    }
    Ok(())
}

fn custom_log(command: &mut Command<'_>, args: &Args, global: bool) -> Result<(), String> {
    let condition = args.word(2).map(|clause| condition(command, clause)).transpose()?;
    push_log(command, args.first(), args.word(1), condition, global)
}

fn push_log(
    command: &mut Command<'_>,
    target: &str,
    format: Option<&str>,
    condition: Option<Condition>,
    global: bool,
) -> Result<(), String> {
    let target = place(command, target)?;
    let format = format.map(parsed).transpose()?;
    command.server.log_config.logs.push(Written { target, format, condition, global });
    Ok(())
}

/// A file made absolute; programs stay as they are.
pub(in crate::directives) fn place(command: &Command<'_>, target: &str) -> Result<Box<str>, String> {
    match target.strip_prefix('|') {
        Some(program) if program.trim_matches(['|', '$', ' ']).is_empty() => {
            Err("a program is missing after \"|\"".into())
        }
        Some(_) => Ok(target.into()),
        None if target.is_empty() => Err("the name of the file is empty".into()),
        None => Ok(command.server_path(target).into()),
    }
}

fn condition(command: &Command<'_>, clause: &str) -> Result<Condition, String> {
    let (kind, text) = clause.split_once('=').unwrap_or((clause, ""));
    match &kind.to_ascii_lowercase()[..] {
        "env" => {
            let (name, set) = text.strip_prefix('!').map_or((text, true), |name| (name, false));
            if name.is_empty() {
                return Err("the name of a variable is missing after \"env=\"".into());
            }
            Ok(Condition::Env { name: name.into(), set })
        }
        "expr" => command.condition(text).map(Condition::Expr),
        _ => Err(crate::unknown("clause", clause, &["env=", "expr="])),
    }
}

fn error_log(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let target = args.first();
    let is_syslog = target.split(':').next().is_some_and(|word| word.eq_ignore_ascii_case("syslog"));
    if args.word(1).is_some() && !is_syslog {
        return Err("takes one argument, unless the first is syslog".into());
    }
    let place = if is_syslog { target.into() } else { place(command, target)? };
    command.server.log_config.error_log = Some(place);
    Ok(())
}

fn error_log_format(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    match (args.first().to_ascii_lowercase().as_str(), args.word(1)) {
        (_, None) => {
            let format = ErrorFormat::parse(args.first())?;
            command.server.log_config.error_format = Some(Arc::new(format));
        }
        ("connection" | "request", Some(_)) => {
            command.warn_once(
                "ErrorLogFormat",
                "ErrorLogFormat for connections and requests is ignored: Hostler does not write such lines",
            );
        }
        (word, Some(_)) => return Err(crate::unknown("kind of line", word, &["connection", "request"])),
    }
    Ok(())
}

fn log_level(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let inside = command.inside.any() || command.context == Context::Htaccess;
    let levels =
        if inside { &mut command.dir.log_config.levels } else { &mut command.server.log_config.levels };
    levels.set(args.first())
}

#[cfg(test)]
mod tests;
