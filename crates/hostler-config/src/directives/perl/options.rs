//! How handlers are called: `PerlOptions`, `PerlSendHeader`, `PerlSetupEnv`, and switches of the interpreter.

use super::generation;
use crate::{Args, Arity, Command, Contexts, Directive, Overrides};
use hostler_wire::work::{Phase, PhaseSet, directory_flag};

pub(super) static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "PerlOptions",
        Arity::Iterate,
        "[+|-]option ...",
        "How Perl handlers are called",
        set_options,
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::new(
        "PerlSendHeader",
        Arity::Flag,
        "On|Off",
        "Whether what a program prints begins with its header (PerlOptions ParseHeaders)",
        |cmd, args| signed(cmd, args, Bits::PARSE_HEADERS),
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::new(
        "PerlSetupEnv",
        Arity::Flag,
        "On|Off",
        "Whether a program finds CGI's variables in its environment (PerlOptions SetupEnv)",
        |cmd, args| signed(cmd, args, Bits::SETUP_ENV),
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
];

/// The options of a directory.
struct Bits;

impl Bits {
    const PARSE_HEADERS: u8 = 1;
    const SETUP_ENV: u8 = 2;
    const MERGE_HANDLERS: u8 = 4;
    const GLOBAL_REQUEST: u8 = 8;
}

/// `PerlOptions` that concern a directory: absolute, or changes to what the outer sections say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirOptions {
    absolute: Option<u8>,
    added: u8,
    removed: u8,
}

impl DirOptions {
    fn bits(self) -> u8 {
        (self.absolute.unwrap_or(0) & !self.removed) | self.added
    }

    fn seen(self, bit: u8) -> bool {
        (self.absolute.map_or(0, |_| bit) | self.added | self.removed) & bit != 0
    }

    /// Whether handlers of a more specific section follow the outer ones instead of replacing them.
    #[must_use]
    pub fn merges_handlers(self) -> bool {
        self.bits() & Bits::MERGE_HANDLERS != 0
    }

    /// As [`directory_flag`]s.
    #[must_use]
    pub fn flags(self) -> u32 {
        let bits = self.bits();
        let pairs = [
            (bits & Bits::PARSE_HEADERS != 0, directory_flag::PARSE_HEADERS),
            (bits & Bits::SETUP_ENV != 0, directory_flag::SETUP_ENV),
            (bits & Bits::GLOBAL_REQUEST != 0, directory_flag::GLOBAL_REQUEST),
            (bits & Bits::MERGE_HANDLERS != 0, directory_flag::MERGE_HANDLERS),
            (self.seen(Bits::SETUP_ENV), directory_flag::SETUP_ENV_SET),
            (
                self.seen(Bits::GLOBAL_REQUEST) && bits & Bits::GLOBAL_REQUEST == 0,
                directory_flag::GLOBAL_REQUEST_SET,
            ),
        ];
        pairs.into_iter().filter(|(set, _)| *set).fold(0, |flags, (_, flag)| flags | flag)
    }

    /// What applies when `over` is more specific.
    #[must_use]
    pub fn merge(self, over: Self) -> Self {
        if over.absolute.is_some() {
            return over;
        }
        Self {
            absolute: self.absolute,
            added: (self.added & !over.removed) | over.added,
            removed: (self.removed & !over.added) | over.removed,
        }
    }

    fn change(&mut self, sign: Option<u8>, bit: u8) {
        match sign {
            Some(b'+') => (self.added, self.removed) = (self.added | bit, self.removed & !bit),
            Some(b'-') => (self.added, self.removed) = (self.added & !bit, self.removed | bit),
            _ => self.absolute = Some(self.absolute.unwrap_or_default() | bit),
        }
    }
}

/// `PerlOptions` that concern a virtual host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostOptions {
    merge_handlers: Option<bool>,
    disabled: Option<bool>,
    off: PhaseSet,
}

impl HostOptions {
    /// `PerlOptions -Enable`: no Perl handler of this virtual host is called.
    #[must_use]
    pub fn disabled(self) -> bool {
        self.disabled == Some(true)
    }

    /// Phases whose handlers are not called (`PerlOptions -Access`).
    #[must_use]
    pub fn off(self) -> PhaseSet {
        self.off
    }

    /// Whether handlers of the virtual host follow the main server's instead of replacing them.
    #[must_use]
    pub fn merges_handlers(self) -> bool {
        self.merge_handlers == Some(true)
    }

    /// What applies when `over` is the virtual host's.
    #[must_use]
    pub fn merge(self, over: Self) -> Self {
        Self {
            merge_handlers: over.merge_handlers.or(self.merge_handlers),
            disabled: over.disabled.or(self.disabled),
            off: PhaseSet(self.off.0 | over.off.0),
        }
    }
}

fn note(cmd: &mut Command<'_>) {
    let marks = generation::of_directive(cmd.directive, "");
    cmd.dir.perl.marks = cmd.dir.perl.marks | marks;
}

fn signed(cmd: &mut Command<'_>, args: &Args, bit: u8) -> Result<(), String> {
    note(cmd);
    cmd.dir.perl.options.change(Some(if args.flag() { b'+' } else { b'-' }), bit);
    Ok(())
}

fn set_options(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    note(cmd);
    let word = args.first();
    let sign = word.bytes().next().filter(|b| matches!(b, b'+' | b'-'));
    let name = word.trim_start_matches(['+', '-']);
    let of_directory = match name.to_ascii_lowercase().as_str() {
        "parseheaders" => Some(Bits::PARSE_HEADERS),
        "setupenv" => Some(Bits::SETUP_ENV),
        "mergehandlers" => Some(Bits::MERGE_HANDLERS),
        "globalrequest" => Some(Bits::GLOBAL_REQUEST),
        "none" => Some(0),
        _ => None,
    };
    let in_section = cmd.inside.any() || cmd.is_htaccess();
    if !in_section && of_host(cmd, sign != Some(b'-'), name) && of_directory.is_none() {
        return Ok(());
    }
    match of_directory {
        Some(bit) => cmd.dir.perl.options.change(sign, bit),
        None if in_section => return Err(format!("\"{word}\" is not an option of a directory")),
        None => return Err(format!("\"{word}\" is not an option")),
    }
    Ok(())
}

/// Whether it is an option of a virtual host.
fn of_host(cmd: &mut Command<'_>, on: bool, name: &str) -> bool {
    let options = &mut cmd.server.perl.options;
    match name.to_ascii_lowercase().as_str() {
        "mergehandlers" => options.merge_handlers = Some(on),
        "enable" => options.disabled = Some(!on),
        "parent" | "clone" => {
            if on {
                cmd.server.perl.own_pool.get_or_insert((cmd.directive.name, cmd.origin));
            }
        }
        "autoload" | "none" => {}
        other => {
            let Some(phase) = Phase::ALL.into_iter().find(|p| format!("{p:?}").eq_ignore_ascii_case(other))
            else {
                return false;
            };
            if on {
                options.off.0 &= !(1 << phase as u8);
            } else {
                options.off.insert(phase);
            }
        }
    }
    true
}
