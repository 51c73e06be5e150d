//! The code that a site's warm parent loads before its workers are forked.

use super::super::core::values::number;
use super::{generation, section};
use crate::table::Action;
use crate::{Args, Arity, Command, Context, Contexts, Directive, Origin, Overrides};
use hostler_perl_frames::PreloadKind;

/// A knob without effect here.
const fn ignored(name: &'static str, why: &'static str) -> Directive {
    Directive {
        name,
        arity: Arity::RawArgs,
        form: "",
        doc: "A setting of mod_perl's interpreters",
        contexts: Contexts::SERVER,
        overrides: Overrides::NONE,
        action: Action::Ignored(why),
        effect: None,
    }
}

/// Outside of sections, and in .htaccess, where it is left to the first request that needs it.
const fn loads(
    name: &'static str,
    form: &'static str,
    doc: &'static str,
    set: fn(&mut Command<'_>, &Args) -> Result<(), String>,
) -> Directive {
    Directive::new(name, Arity::Iterate, form, doc, set).allowed(Contexts::ANYWHERE, Overrides::ALL)
}

const POOL: &str =
    "each worker has one interpreter of its own; StartServers, MaxRequestWorkers and so on size the pool";
const FRESH: &str = "a reload starts new interpreters if the code they loaded has changed";

pub(super) static DIRECTIVES: &[Directive] = &[
    loads("PerlModule", "module ...", "Load modules before workers are forked", module),
    loads(
        "PerlRequire",
        "file ...",
        "Set files to run before workers are forked; relative to ServerRoot if they exist there, otherwise \
            searched in @INC",
        |cmd, args| file(cmd, PreloadKind::File, args),
    ),
    Directive::new(
        "PerlConfigRequire",
        Arity::Iterate,
        "file ...",
        "Set files to run before workers are forked",
        |cmd, args| file(cmd, PreloadKind::File, args),
    ),
    Directive::new(
        "PerlPostConfigRequire",
        Arity::Iterate,
        "file ...",
        "Set files to run before workers are forked, after everything else is loaded",
        |cmd, args| file(cmd, PreloadKind::LateFile, args),
    ),
    Directive::new(
        "PerlLoadModule",
        Arity::Iterate,
        "module ...",
        "Load modules that add directives (Apache2::Module::add) before workers are forked",
        module,
    ),
    Directive::section(
        "Perl",
        "<Perl>",
        "Run Perl code before workers are forked, as the site's user; the configuration it builds takes the \
            section's place",
        section::open,
    ),
    Directive::new(
        "PerlSwitches",
        Arity::Iterate,
        "switch ...",
        "Set command-line switches of the interpreter",
        |cmd, args| {
            switch(cmd, args.first());
            Ok(())
        },
    ),
    Directive::new(
        "PerlTaintCheck",
        Arity::Flag,
        "On|Off",
        "Enable taint mode (the interpreter's switch -T)",
        |cmd, args| flag(cmd, args, "-T"),
    ),
    Directive::new(
        "PerlWarn",
        Arity::Flag,
        "On|Off",
        "Enable warnings (the interpreter's switch -w)",
        |cmd, args| flag(cmd, args, "-w"),
    ),
    Directive::new(
        "PerlApiVersion",
        Arity::Take1,
        "1|2",
        "Set the generation of the mod_perl API (default: 1 if classes such as Apache::Registry are \
            configured and none such as ModPerl::Registry, or PerlHandler and not PerlResponseHandler; \
            otherwise 2)",
        |cmd, args| {
            cmd.server.perl.api_version = Some(number(args.first(), 1..=2u8)?);
            Ok(())
        },
    ),
    ignored("PerlTrace", "Hostler does not support mod_perl's traces"),
    ignored("PerlFreshRestart", FRESH),
    ignored("PerlRestartHandler", FRESH),
    ignored("PerlInterpStart", POOL),
    ignored("PerlInterpMax", POOL),
    ignored("PerlInterpMinSpare", POOL),
    ignored("PerlInterpMaxSpare", POOL),
    ignored("PerlInterpMaxRequests", POOL),
    ignored("PerlInterpScope", POOL),
];

/// Something to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preload {
    /// Its kind.
    pub kind: PreloadKind,
    /// A module's name, a file's path, a function, or code.
    pub text: Box<str>,
    /// The directive.
    pub origin: Origin,
    /// It is a handler with a `+`: if there is no such module, one of that name without its last part.
    pub handler: bool,
    /// It is what a line with a directive of a module says.
    pub call: bool,
    /// The configuration it builds follows the directive: it was run when the configuration was read.
    pub configured: bool,
}

/// Adds something to load.
pub(super) fn add(cmd: &mut Command<'_>, kind: PreloadKind, text: &str) {
    let configured = cmd.builder.facts.configured.contains(&cmd.origin);
    let preload =
        Preload { kind, text: text.into(), origin: cmd.origin, handler: false, call: false, configured };
    let (name, is_htaccess) = (cmd.directive.name, cmd.is_htaccess());
    let perl = &mut cmd.server.perl;
    match name {
        "PerlRequire" if !perl.has_started && !is_htaccess => {
            let place = perl.required;
            perl.preload.insert(place, preload);
            perl.required += 1;
            return;
        }
        "Perl" | "PerlLoadModule" | "PerlConfigRequire" => perl.has_started = true,
        _ => {}
    }
    push(cmd, preload);
}

/// A variable that is set while the interpreter runs already: what is loaded behind the line finds it.
pub(super) fn set_env(cmd: &mut Command<'_>, name: &str, value: &str) {
    if !cmd.server.perl.has_started || cmd.context != Context::Main {
        return;
    }
    let (kind, text) =
        (PreloadKind::Code, format!("$ENV{{{}}} = {};", super::quoted(name), super::quoted(value)).into());
    push(cmd, Preload { kind, text, origin: cmd.origin, handler: false, call: false, configured: false });
}

/// Adds a call of a module's function, for one of its directives.
pub(super) fn add_call(cmd: &mut Command<'_>, code: &str) {
    let (kind, text) = (PreloadKind::Code, code.into());
    push(cmd, Preload { kind, text, origin: cmd.origin, handler: false, call: true, configured: false });
}

/// Adds the package of a handler. `package->method` names it; of `package::function` only the end is to guess.
pub(super) fn add_handler(cmd: &mut Command<'_>, name: &str) {
    let package = name.split_once("->").map_or(name, |(package, _)| package).trim_end_matches("::");
    let handler = !name.contains("->");
    let (kind, text) = (PreloadKind::Module, package.into());
    push(cmd, Preload { kind, text, origin: cmd.origin, handler, call: false, configured: false });
}

/// In .htaccess nothing is loaded beforehand.
fn push(cmd: &mut Command<'_>, preload: Preload) {
    if !cmd.is_htaccess() {
        cmd.server.perl.preload.push(preload);
    }
}

fn note(cmd: &mut Command<'_>, name: &str) {
    let marks = generation::of_class(name) | generation::of_directive(cmd.directive, name);
    cmd.server.perl.marks = cmd.server.perl.marks | marks;
}

/// mod_perl has both in its table for all places and refuses them in sections itself.
fn not_in_section(cmd: &mut Command<'_>) -> Result<(), String> {
    if cmd.is_htaccess() {
        let name = cmd.directive.name;
        cmd.warn(format!("{name} loads nothing from .htaccess; handlers load their modules themselves"));
        return Ok(());
    }
    if cmd.inside.any() { Err("is not allowed inside a section".to_owned()) } else { Ok(()) }
}

fn module(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    not_in_section(cmd)?;
    // mod_perl has `require NAME;` made of it: what ends a statement may stand there.
    let name = args.first().trim_end_matches(';');
    let is_part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '\'');
    if !name.split("::").all(is_part) && !name.ends_with(".pm") {
        return Err(format!("\"{}\" is not the name of a module", args.first()));
    }
    note(cmd, name);
    add(cmd, PreloadKind::Module, name);
    Ok(())
}

fn file(cmd: &mut Command<'_>, kind: PreloadKind, args: &Args) -> Result<(), String> {
    not_in_section(cmd)?;
    note(cmd, "");
    if args.first().is_empty() {
        return Err("needs the name of a file".to_owned());
    }
    add(cmd, kind, args.first());
    Ok(())
}

fn switch(cmd: &mut Command<'_>, word: &str) {
    note(cmd, "");
    cmd.server.perl.switches.push(word.into());
}

fn flag(cmd: &mut Command<'_>, args: &Args, word: &str) -> Result<(), String> {
    note(cmd, "");
    if args.flag() {
        switch(cmd, word);
    }
    Ok(())
}
