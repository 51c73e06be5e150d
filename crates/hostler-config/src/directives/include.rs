//! Directives of mod_include: server-side includes. What pages may do is in `hostler-ssi`.

use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part};
use hostler_ssi::{Markers, Settings};
use std::sync::Arc;

/// The module.
pub static MODULE: Module =
    Module { name: "include_module", file: "mod_include.c", directives: DIRECTIVES, effect: Effect::Guards };

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "XBitHack",
        Arity::Take1,
        "On|Off|Full",
        "Process executable HTML files for server-side includes",
        x_bit_hack,
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    Directive::new(
        "SSIErrorMsg",
        Arity::Take1,
        "text",
        "Set the message that replaces an SSI element that fails",
        |command, args| {
            command.dir.include.error_message = Some(args.first().as_bytes().into());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::new(
        "SSITimeFormat",
        Arity::Take1,
        "format",
        "Set the strftime format of dates in SSI pages",
        |command, args| {
            command.dir.include.time_format = Some(args.first().as_bytes().into());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::new(
        "SSIUndefinedEcho",
        Arity::Take1,
        "text",
        "Set the text shown for an undefined variable",
        |command, args| {
            command.dir.include.undefined_echo = Some(args.first().as_bytes().into());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::new(
        "SSILegacyExprParser",
        Arity::Flag,
        "On|Off",
        "Parse the conditions of SSI pages with the syntax of Apache 2.2",
        |command, args| {
            command.dir.include.legacy_expressions = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::LIMIT),
    Directive::new(
        "SSILastModified",
        Arity::Flag,
        "On|Off",
        "Send a Last-Modified header with SSI pages",
        |command, args| {
            command.dir.include.last_modified = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::LIMIT),
    Directive::new(
        "SSIETag",
        Arity::Flag,
        "On|Off",
        "Send an ETag header with SSI pages",
        |command, args| {
            command.dir.include.etag = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::LIMIT),
    Directive::new(
        "SSIStartTag",
        Arity::Take1,
        "text",
        "Set the string that starts an SSI element",
        |command, args| {
            Markers::new(args.first().as_bytes(), b"-->").map_err(|error| error.to_string())?;
            command.server.include.start_tag = Some(args.first().into());
            Ok(())
        },
    ),
    Directive::new(
        "SSIEndTag",
        Arity::Take1,
        "text",
        "Set the string that ends an SSI element",
        |command, args| {
            Markers::new(b"<!--#", args.first().as_bytes()).map_err(|error| error.to_string())?;
            command.server.include.end_tag = Some(args.first().into());
            Ok(())
        },
    ),
];

/// XBitHack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XBitHack {
    /// The bits mean nothing.
    Off,
    /// A file that its owner may execute is read as a page.
    On,
    /// The same, and one that its group may execute has a Last-Modified.
    Full,
}

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// XBitHack; unset means Off.
    pub x_bit_hack: Option<XBitHack>,
    /// SSIErrorMsg
    pub error_message: Option<Arc<[u8]>>,
    /// SSITimeFormat
    pub time_format: Option<Arc<[u8]>>,
    /// SSIUndefinedEcho
    pub undefined_echo: Option<Arc<[u8]>>,
    /// SSILegacyExprParser; unset means Off.
    pub legacy_expressions: Option<bool>,
    /// SSILastModified; unset means Off.
    pub last_modified: Option<bool>,
    /// SSIETag; unset means Off.
    pub etag: Option<bool>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        Self {
            x_bit_hack: over(&self.x_bit_hack, &other.x_bit_hack),
            error_message: over(&self.error_message, &other.error_message),
            time_format: over(&self.time_format, &other.time_format),
            undefined_echo: over(&self.undefined_echo, &other.undefined_echo),
            legacy_expressions: over(&self.legacy_expressions, &other.legacy_expressions),
            last_modified: over(&self.last_modified, &other.last_modified),
            etag: over(&self.etag, &other.etag),
        }
    }

    unset_part!(Dir);
}

impl Dir {
    /// Returns the initial settings of a page. `no_exec` is Options IncludesNOEXEC.
    #[must_use]
    pub fn settings(&self, no_exec: bool) -> Settings {
        let usual = Settings::default();
        let or = |set: &Option<Arc<[u8]>>, usual: Arc<[u8]>| set.clone().unwrap_or(usual);
        Settings {
            error_message: or(&self.error_message, usual.error_message),
            undefined_echo: or(&self.undefined_echo, usual.undefined_echo),
            time_format: or(&self.time_format, usual.time_format),
            no_exec,
        }
    }
}

/// A server's settings.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// SSIStartTag
    pub start_tag: Option<Box<str>>,
    /// SSIEndTag
    pub end_tag: Option<Box<str>>,
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        Self {
            start_tag: over(&self.start_tag, &other.start_tag),
            end_tag: over(&self.end_tag, &other.end_tag),
        }
    }

    unset_part!(Server);
}

impl Server {
    /// Returns the marks around an element.
    #[must_use]
    pub fn markers(&self) -> Markers {
        let start = self.start_tag.as_deref().unwrap_or("<!--#");
        let end = self.end_tag.as_deref().unwrap_or("-->");
        // Both were checked when they were set.
        Markers::new(start.as_bytes(), end.as_bytes()).unwrap_or_default()
    }
}

fn x_bit_hack(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    command.dir.include.x_bit_hack = Some(match &args.first().to_ascii_lowercase()[..] {
        "off" => XBitHack::Off,
        "on" => XBitHack::On,
        "full" => XBitHack::Full,
        _ => return Err(crate::unknown("value", args.first(), &["On", "Off", "Full"])),
    });
    Ok(())
}
