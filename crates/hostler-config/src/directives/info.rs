//! Directives of mod_info: a page about how the server is set up (the handler `server-info`).

use crate::{Arity, Directive, Effect, Merge, Module, unset_part};

/// The module.
pub static MODULE: Module =
    Module { name: "info_module", file: "mod_info.c", directives: DIRECTIVES, effect: Effect::Harmless };

static DIRECTIVES: &[Directive] = &[Directive::new(
    "AddModuleInfo",
    Arity::Take2,
    "module text",
    "Add HTML text to the server-info entry of a module",
    |command, args| {
        let text = args.word(1).unwrap_or_default();
        command.server.info.notes.push((args.first().into(), text.into()));
        Ok(())
    },
)];

/// This module has nothing per directory.
pub type Dir = ();

/// A server's settings.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// AddModuleInfo: the module's file, and the text.
    pub notes: Vec<(Box<str>, Box<str>)>,
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        Self { notes: [&self.notes[..], &other.notes].concat() }
    }

    unset_part!(Server);
}
