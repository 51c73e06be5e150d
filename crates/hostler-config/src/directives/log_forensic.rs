//! Directives of mod_log_forensic: a line before each request is looked at, and one after, so that a log tells which
//! request a server has died of.

use crate::{Arity, Directive, Effect, Merge, Module, over, unset_part};

/// The module.
pub static MODULE: Module = Module {
    name: "log_forensic_module",
    file: "mod_log_forensic.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

static DIRECTIVES: &[Directive] = &[Directive::new(
    "ForensicLog",
    Arity::Take1,
    "file | \"|program\"",
    "Log each request before and after it is processed",
    |command, args| {
        command.server.log_forensic.target = Some(super::log_config::place(command, args.first())?);
        Ok(())
    },
)];

/// This module has nothing per directory.
pub type Dir = ();

/// A server's settings.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// ForensicLog: an absolute path, or `|` and a program.
    pub target: Option<Box<str>>,
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        Self { target: over(&self.target, &other.target) }
    }

    unset_part!(Server);
}
