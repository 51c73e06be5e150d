//! The options for calling handlers: `PerlOptions`, `PerlSendHeader`, `PerlSetupEnv`, and switches of the interpreter.

use super::generation;
use crate::{Args, Arity, Command, Context, Contexts, Directive, Overrides};
use hostler_perl_frames::{Phase, PhaseSet, directory_flag};

pub(super) static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "PerlOptions",
        Arity::Iterate,
        "[+|-]option ...",
        "Set how Perl handlers are called",
        set_options,
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::new(
        "PerlSendHeader",
        Arity::Flag,
        "On|Off",
        "Parse the header that a program prints (PerlOptions ParseHeaders)",
        |cmd, args| signed(cmd, args, Bits::PARSE_HEADERS),
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::new(
        "PerlSetupEnv",
        Arity::Flag,
        "On|Off",
        "Set CGI variables in the environment of programs (PerlOptions SetupEnv)",
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

/// `PerlOptions` that concern a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirOptions {
    /// Words without a sign: they count outside of all sections only, as in mod_perl.
    plain: u8,
    added: u8,
    removed: u8,
}

impl DirOptions {
    fn bits(self) -> u8 {
        (self.plain & !self.removed) | self.added
    }

    fn seen(self, bit: u8) -> bool {
        (self.plain | self.added | self.removed) & bit != 0
    }

    /// Returns whether handlers of a more specific section follow the outer ones instead of replacing them.
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

    /// Returns the merged settings when `over` is more specific.
    #[must_use]
    pub fn merge(self, over: Self) -> Self {
        Self {
            plain: self.plain,
            added: (self.added & !over.removed) | over.added,
            removed: (self.removed & !over.added) | over.removed,
        }
    }

    fn change(&mut self, sign: Option<u8>, bit: u8) {
        match sign {
            Some(b'+') => (self.added, self.removed) = (self.added | bit, self.removed & !bit),
            Some(b'-') => (self.added, self.removed) = (self.added & !bit, self.removed | bit),
            _ => self.plain |= bit,
        }
    }
}

/// `PerlOptions` that concern a virtual host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostOptions {
    merge_handlers: Option<bool>,
    enable: Option<bool>,
    /// `PerlOptions -Phase`, which holds where it is written and from there on.
    off: PhaseSet,
    /// The same of [`WITHOUT_EFFECT`], a bit for each: only for programs that ask.
    idle_off: u8,
    own_interpreter: bool,
    own_parent: bool,
    inherit_switches: Option<bool>,
}

impl HostOptions {
    /// `PerlOptions +Parent`, `+Clone`: the virtual host shares no interpreter with others.
    #[must_use]
    pub fn own_interpreter(self) -> bool {
        self.own_interpreter
    }

    /// `PerlOptions +Parent`: that interpreter begins empty, without what the main server has loaded into its own.
    #[must_use]
    pub fn begins_empty(self) -> bool {
        self.own_parent
    }

    /// `PerlOptions +InheritSwitches`: it has the main server's `PerlSwitches` all the same.
    #[must_use]
    pub fn inherits_switches(self) -> bool {
        self.inherit_switches == Some(true)
    }

    /// `PerlOptions -Enable`: no Perl handler of this virtual host is called.
    #[must_use]
    pub fn disabled(self) -> bool {
        self.enable == Some(false)
    }

    /// Returns the options that are switched off, under `is_perl_option_enabled`'s names.
    #[must_use]
    pub fn switched_off(self) -> Vec<String> {
        let phases = Phase::ALL.into_iter().filter(|phase| self.off.contains(*phase));
        let idle = WITHOUT_EFFECT.iter().enumerate().filter(|(at, _)| self.idle_off & (1 << at) != 0);
        let enable = self.disabled().then(|| "Enable".to_owned());
        enable
            .into_iter()
            .chain(phases.map(|phase| format!("{phase:?}")))
            .chain(idle.map(|(_, name)| (*name).to_owned()))
            .collect()
    }

    /// Returns whether handlers of this phase may still be named here: mod_perl refuses them where `PerlOptions` has
    /// switched off the phase, or Perl as a whole.
    pub(super) fn takes(self, phase: Option<Phase>, directive: &str) -> Result<(), String> {
        if self.disabled() {
            return Err(
                "names Perl in a virtual host that runs none: PerlOptions -Enable stands before".to_owned()
            );
        }
        match phase {
            Some(phase) if self.off.contains(phase) => {
                Err(format!("is disabled here: PerlOptions -{phase:?} stands before {directive}"))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether handlers of the virtual host follow the main server's instead of replacing them.
    #[must_use]
    pub fn merges_handlers(self) -> bool {
        self.merge_handlers == Some(true)
    }

    /// Returns the merged options when `over` is the virtual host's.
    #[must_use]
    pub fn merge(self, over: Self) -> Self {
        Self {
            merge_handlers: over.merge_handlers.or(self.merge_handlers),
            enable: over.enable.or(self.enable),
            off: PhaseSet(self.off.0 | over.off.0),
            idle_off: self.idle_off | over.idle_off,
            own_interpreter: self.own_interpreter || over.own_interpreter,
            own_parent: self.own_parent || over.own_parent,
            inherit_switches: over.inherit_switches.or(self.inherit_switches),
        }
    }
}

fn note(cmd: &mut Command<'_>) {
    let marks = generation::of_directive(cmd.directive, "");
    let part = super::dir(cmd);
    part.marks = part.marks | marks;
}

fn signed(cmd: &mut Command<'_>, args: &Args, bit: u8) -> Result<(), String> {
    note(cmd);
    super::dir(cmd).options.change(Some(if args.flag() { b'+' } else { b'-' }), bit);
    Ok(())
}

fn set_options(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    note(cmd);
    let word = args.first();
    let sign = word.bytes().next().filter(|b| matches!(b, b'+' | b'-'));
    let name = word.strip_prefix(['+', '-']).unwrap_or(word);
    if !cmd.inside.any() && of_host(cmd, sign, name) {
        return Ok(());
    }
    let bit = match name {
        "ParseHeaders" => Bits::PARSE_HEADERS,
        "SetupEnv" => Bits::SETUP_ENV,
        "MergeHandlers" => Bits::MERGE_HANDLERS,
        "GlobalRequest" => Bits::GLOBAL_REQUEST,
        "None" | "Unset" => 0,
        _ if cmd.inside.any() => {
            return Err(format!("unknown option \"{word}\" (expected {OF_DIRECTORY})"));
        }
        _ => return Err(format!("unknown option \"{word}\" (expected {OF_DIRECTORY}, {OF_HOST})")),
    };
    if sign.is_none() && (cmd.inside.any() || cmd.context == Context::VirtualHost) {
        cmd.warn(format!("PerlOptions {name} has no effect here without + or -, as in mod_perl"));
    }
    super::dir(cmd).options.change(sign, bit);
    Ok(())
}

const OF_DIRECTORY: &str = "ParseHeaders, SetupEnv, GlobalRequest, MergeHandlers, None";
const OF_HOST: &str = "Enable, Parent, Clone, InheritSwitches, Autoload, and the names of phases";

/// Options of a virtual host that mod_perl takes and that change nothing, there or here.
const WITHOUT_EFFECT: &[&str] =
    &["Autoload", "ChildInit", "ChildExit", "PreConnection", "ProcessConnection", "OpenLogs", "PostConfig"];

/// Carries out an option of a virtual host; `false`: it is none.
fn of_host(cmd: &mut Command<'_>, sign: Option<u8>, name: &str) -> bool {
    let on = sign != Some(b'-');
    match name {
        "MergeHandlers" => cmd.server.perl.options.merge_handlers = Some(on),
        "Enable" => cmd.server.perl.options.enable = Some(on),
        "Parent" | "Clone" => {
            cmd.server.perl.options.own_interpreter |= on;
            cmd.server.perl.options.own_parent |= on && name == "Parent";
        }
        "InheritSwitches" => cmd.server.perl.options.inherit_switches = Some(on),
        _ => {
            let Some(phase) = Phase::ALL.into_iter().find(|phase| format!("{phase:?}") == name) else {
                let Some(at) = WITHOUT_EFFECT.iter().position(|known| *known == name) else { return false };
                let idle_off = &mut cmd.server.perl.options.idle_off;
                *idle_off = if on { *idle_off & !(1 << at) } else { *idle_off | 1 << at };
                return true;
            };
            let mut this = PhaseSet::default();
            this.insert(phase);
            let off = &mut cmd.server.perl.options.off;
            off.0 = if on { off.0 & !this.0 } else { off.0 | this.0 };
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(words: &[(Option<u8>, u8)]) -> DirOptions {
        let mut options = DirOptions::default();
        words.iter().for_each(|(sign, bit)| options.change(*sign, *bit));
        options
    }

    #[test]
    fn signs_change_what_is_inherited_and_plain_words_do_not() {
        let base = options(&[(Some(b'+'), Bits::SETUP_ENV), (None, Bits::PARSE_HEADERS)]);
        assert_eq!(
            base.flags(),
            directory_flag::SETUP_ENV | directory_flag::SETUP_ENV_SET | directory_flag::PARSE_HEADERS
        );
        let over = options(&[(Some(b'-'), Bits::SETUP_ENV), (None, Bits::GLOBAL_REQUEST)]);
        assert_eq!(base.merge(over).flags(), directory_flag::SETUP_ENV_SET | directory_flag::PARSE_HEADERS);
        let off = options(&[(Some(b'-'), Bits::GLOBAL_REQUEST)]);
        assert_eq!(
            base.merge(off).flags() & directory_flag::GLOBAL_REQUEST_SET,
            directory_flag::GLOBAL_REQUEST_SET
        );
    }
}
