//! What the warm parent of a site loads before its workers are forked.

use super::generation;
use crate::table::Action;
use crate::{Args, Arity, Command, Contexts, Directive, Node, Origin, Overrides};
use hostler_wire::engine::PreloadKind;

/// Without effect here.
const fn ignored(name: &'static str, why: &'static str) -> Directive {
    let action = Action::Ignored(why);
    let doc = "A knob of mod_perl's interpreters";
    Directive {
        name,
        arity: Arity::RawArgs,
        form: "",
        doc,
        contexts: Contexts::SERVER,
        overrides: Overrides::NONE,
        action,
    }
}

const POOL: &str =
    "each worker has an interpreter of its own; StartServers, MaxRequestWorkers and so on size the pool";

pub(super) static DIRECTIVES: &[Directive] = &[
    Directive::new("PerlModule", Arity::Iterate, "module ...", "Modules to load beforehand", |cmd, args| {
        note(cmd, args.first());
        add(cmd, PreloadKind::Module, args.first());
        Ok(())
    })
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::new("PerlRequire", Arity::Iterate, "file ...", "Files to run beforehand", |cmd, args| {
        file(cmd, PreloadKind::File, args)
    })
    .allowed(Contexts::ANYWHERE, Overrides::ALL),
    Directive::new(
        "PerlConfigRequire",
        Arity::Iterate,
        "file ...",
        "Files to run beforehand",
        |cmd, args| file(cmd, PreloadKind::File, args),
    ),
    Directive::new(
        "PerlPostConfigRequire",
        Arity::Iterate,
        "file ...",
        "Files to run beforehand, once everything else is loaded",
        |cmd, args| file(cmd, PreloadKind::LateFile, args),
    ),
    Directive::section("Perl", "<Perl>", "Code to run beforehand, as the site's user", section),
    Directive::new(
        "PerlSwitches",
        Arity::Iterate,
        "switch ...",
        "Switches of the interpreter",
        |cmd, args| {
            note(cmd, "");
            switch(cmd, args.first());
            Ok(())
        },
    ),
    Directive::new("PerlTaintCheck", Arity::Flag, "On|Off", "The switch -T", |cmd, args| {
        flag(cmd, args, "-T")
    }),
    Directive::new("PerlWarn", Arity::Flag, "On|Off", "The switch -w", |cmd, args| flag(cmd, args, "-w")),
    Directive::new(
        "PerlApiVersion",
        Arity::Take1,
        "1|2",
        "The generation of mod_perl's API that programs get (default: as the names of handlers and modules show)",
        |cmd, args| {
            cmd.server.perl.api_version = Some(super::super::core::values::number(args.first(), 1..=2u8)?);
            Ok(())
        },
    ),
    ignored("PerlTrace", "Hostler has no such trace"),
    ignored("PerlFreshRestart", "each start and reload of Hostler begins with fresh interpreters"),
    ignored("PerlRestartHandler", "each start and reload of Hostler begins with fresh interpreters"),
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
    /// What it is.
    pub kind: PreloadKind,
    /// A module's name, a file's absolute path, a function, or code.
    pub text: Box<str>,
    /// The directive.
    pub origin: Origin,
}

/// Adds something to load, unless the line is in .htaccess: then it is loaded when it is needed.
pub(super) fn add(cmd: &mut Command<'_>, kind: PreloadKind, text: &str) {
    if cmd.is_htaccess() {
        return;
    }
    cmd.server.perl.preload.push(Preload { kind, text: text.into(), origin: cmd.origin });
}

/// The package that a handler's name leads to.
pub(super) fn package(name: &str) -> &str {
    name.split_once("->").map_or(name, |(package, _)| package)
}

fn note(cmd: &mut Command<'_>, name: &str) {
    let marks = generation::of_class(name) | generation::of_directive(cmd.directive, name);
    cmd.server.perl.marks = cmd.server.perl.marks | marks;
}

fn file(cmd: &mut Command<'_>, kind: PreloadKind, args: &Args) -> Result<(), String> {
    note(cmd, "");
    let path = cmd.server_path(args.first());
    add(cmd, kind, &path);
    Ok(())
}

fn switch(cmd: &mut Command<'_>, word: &str) {
    cmd.server.perl.switches.push(word.into());
}

fn flag(cmd: &mut Command<'_>, args: &Args, word: &str) -> Result<(), String> {
    note(cmd, "");
    if args.flag() {
        switch(cmd, word);
    }
    Ok(())
}

fn section(_: &mut Command<'_>, _: &Args, _: &[Node]) -> Result<(), String> {
    Err("is not possible yet".to_owned())
}
