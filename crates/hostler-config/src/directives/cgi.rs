//! Directives of mod_cgi and mod_cgid. Hostler runs programs in one way, so both modules are present.

use crate::{
    Action, Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part,
};
use std::time::Duration;

/// mod_cgi.
pub static MODULE: Module =
    Module { name: "cgi_module", file: "mod_cgi.c", directives: DIRECTIVES, effect: Effect::Harmless };

/// mod_cgid.
pub static CGID: Module =
    Module { name: "cgid_module", file: "mod_cgid.c", directives: CGID_DIRECTIVES, effect: Effect::Harmless };

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "ScriptLog",
        Arity::Take1,
        "file",
        "Log the input and output of failed CGI programs",
        |command, args| {
            command.server.cgi.log = Some(command.server_path(args.first()).into());
            Ok(())
        },
    ),
    Directive::new(
        "ScriptLogLength",
        Arity::Take1,
        "bytes",
        "Limit the size of the ScriptLog in bytes",
        |command, args| {
            command.server.cgi.log_length = Some(number(args.first())?);
            Ok(())
        },
    ),
    Directive::new(
        "ScriptLogBuffer",
        Arity::Take1,
        "bytes",
        "Limit how many bytes of a request body are written to the ScriptLog",
        |command, args| {
            command.server.cgi.log_buffer = Some(number(args.first())?);
            Ok(())
        },
    ),
    Directive::new(
        "CGIScriptTimeout",
        Arity::Take1,
        "time[s|ms|min|h]",
        "Set the timeout for output from a CGI program",
        script_timeout,
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
];

static CGID_DIRECTIVES: &[Directive] = &[
    Directive::new(
        "CGIDScriptTimeout",
        Arity::Take1,
        "time[s|ms|min|h]",
        "Set the timeout for output from a CGI program",
        script_timeout,
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive {
        action: Action::Ignored(
            "the process of the site's own user starts programs, and is spoken to without a socket of a name",
        ),
        ..Directive::new("ScriptSock", Arity::Take1, "file", "Socket of the CGI daemon", |_, _| Ok(()))
    },
];

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// CGIScriptTimeout or CGIDScriptTimeout; unset means Timeout.
    pub timeout: Option<Duration>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        Self { timeout: over(&self.timeout, &other.timeout) }
    }

    unset_part!(Dir);
}

/// A server's settings.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// ScriptLog, absolute.
    pub log: Option<Box<str>>,
    /// ScriptLogLength, bytes.
    pub log_length: Option<u64>,
    /// ScriptLogBuffer, bytes.
    pub log_buffer: Option<u64>,
}

impl Server {
    /// ScriptLogLength when nothing is set.
    pub const DEFAULT_LOG_LENGTH: u64 = 10_385_760;
    /// ScriptLogBuffer when nothing is set.
    pub const DEFAULT_LOG_BUFFER: u64 = 1024;
}

impl Merge for Server {
    /// A virtual host with a ScriptLog of its own takes nothing from the main server's.
    fn merge(&self, over: &Self) -> Self {
        if over.log.is_some() { over.clone() } else { self.clone() }
    }

    unset_part!(Server);
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("\"{text}\" is not a number of bytes"))
}

fn script_timeout(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let time = time(args.first()).ok_or_else(|| format!("\"{}\" is not a time", args.first()))?;
    command.dir.cgi.timeout = Some(time);
    Ok(())
}

/// Reads a time with a unit, seconds if there is none.
fn time(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let amount: u64 = text[..digits].parse().ok()?;
    let milliseconds = match &text[digits..].to_ascii_lowercase()[..] {
        "" | "s" => 1000,
        "ms" => 1,
        "mi" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    amount.checked_mul(milliseconds).filter(|time| *time > 0).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, expected) in [
            ("60", Some(60_000)),
            ("1500ms", Some(1500)),
            ("2MIN", Some(120_000)),
            ("1h", Some(3_600_000)),
            ("0", None),
            ("x", None),
            ("5d", None),
            ("", None),
        ] {
            assert_eq!(time(text), expected.map(Duration::from_millis), "{text}");
        }
    }
}
