//! Directives of mod_speling: what is done about URLs that are nearly those of files.

use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, unset_part};

/// The module.
pub static MODULE: Module = Module {
    name: "speling_module",
    file: "mod_speling.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "CheckSpelling",
        Arity::Flag,
        "On|Off",
        "Correct a single spelling mistake in a URL",
        |command, args| {
            command.dir.speling.enabled = args.flag();
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    Directive::new(
        "CheckCaseOnly",
        Arity::Flag,
        "On|Off",
        "Correct only the case of letters (CheckSpelling)",
        |command, args| {
            command.dir.speling.case_only = args.flag();
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    Directive::new(
        "CheckBasenameMatch",
        Arity::Flag,
        "On|Off",
        "Also offer files that differ only in the extension (CheckSpelling)",
        basename,
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
];

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// CheckSpelling
    pub enabled: bool,
    /// CheckCaseOnly
    pub case_only: bool,
    /// CheckBasenameMatch Off
    pub no_basename: bool,
}

impl Merge for Dir {
    /// Quirk(apache): a section that says anything of this module says all of it.
    fn merge(&self, other: &Self) -> Self {
        other.clone()
    }

    unset_part!(Dir);
}

/// mod_speling has nothing per server.
pub type Server = ();

fn basename(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    command.dir.speling.no_basename = !args.flag();
    Ok(())
}
