//! Directives of mod_filter.

use crate::{Directive, Merge, Module, unset_part};

/// The module.
pub static MODULE: Module = Module { name: "filter_module", file: "mod_filter.c", directives: DIRECTIVES };

static DIRECTIVES: &[Directive] = &[];

/// What a directory sets.
#[derive(Clone, Debug, Default)]
pub struct Dir {}

impl Merge for Dir {
    fn merge(&self, _over: &Self) -> Self {
        Self {}
    }

    unset_part!(Dir);
}

/// What a server sets.
#[derive(Clone, Debug, Default)]
pub struct Server {}

impl Merge for Server {
    fn merge(&self, _over: &Self) -> Self {
        Self {}
    }

    unset_part!(Server);
}
