//! Directives of mod_cern_meta: files beside files that hold fields of their answers.

use crate::{Arity, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part};

/// The module.
pub static MODULE: Module = Module {
    name: "cern_meta_module",
    file: "mod_cern_meta.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "MetaFiles",
        Arity::Flag,
        "On|Off",
        "Read response header fields from metadata files",
        |command, args| {
            command.dir.cern_meta.enabled = args.flag();
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::INDEXES),
    Directive::new(
        "MetaDir",
        Arity::Take1,
        "directory",
        "Set the subdirectory of metadata files (default .web)",
        |command, args| {
            command.dir.cern_meta.directory = Some(args.first().into());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::INDEXES),
    Directive::new(
        "MetaSuffix",
        Arity::Take1,
        "suffix",
        "Set the suffix of metadata file names (default .meta)",
        |command, args| {
            command.dir.cern_meta.suffix = Some(args.first().into());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::INDEXES),
];

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// MetaFiles
    pub enabled: bool,
    /// MetaDir
    pub directory: Option<Box<str>>,
    /// MetaSuffix
    pub suffix: Option<Box<str>>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        Self {
            // Quirk(apache): a section that says anything of this module says whether there are such files.
            enabled: other.enabled,
            directory: over(&self.directory, &other.directory),
            suffix: over(&self.suffix, &other.suffix),
        }
    }

    unset_part!(Dir);
}

/// mod_cern_meta has nothing per server.
pub type Server = ();
