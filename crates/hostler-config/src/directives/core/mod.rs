//! Directives of Apache's core, and of the small modules that Hostler counts with it.

mod options;
mod paths;
mod sections;

pub use options::{Allow, Nonfatal, OptionBits, Options};

use crate::{Arity, Contexts, Directive, Merge, Module, Overrides, Section, over, unset_part};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The module.
pub static MODULE: Module = Module { name: "core_module", file: "core.c", directives: DIRECTIVES };

/// mpm-itk's directives.
pub static ITK: Module = Module { name: "mpm_itk_module", file: "mpm_itk.c", directives: &[] };

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "ServerName",
        Arity::Take1,
        "[scheme://]name[:port]",
        "Name of the server",
        paths::server_name,
    ),
    Directive::new("DocumentRoot", Arity::Take1, "directory", "Root of the documents", paths::document_root),
    Directive::new(
        "Options",
        Arity::TakeArgv,
        "[+|-]option ...",
        "Features of a directory",
        options::options,
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    Directive::section("Directory", "<Directory [~] path>", "Settings for a directory", sections::directory)
        .allowed(Contexts::SERVER, Overrides::NONE),
    Directive::section("Files", "<Files [~] name>", "Settings for files by name", sections::files)
        .allowed(Contexts::ANYWHERE, Overrides::ALL),
];

/// What a directory sets.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// `Options`
    pub options: Options,
    /// Files sections, in order.
    pub files: Vec<Arc<Section>>,
    /// If sections, in order.
    pub ifs: Vec<Arc<Section>>,
}

impl Merge for Dir {
    fn merge(&self, over: &Self) -> Self {
        Self {
            options: self.options.merge(&over.options),
            files: [&self.files[..], &over.files[..]].concat(),
            ifs: [&self.ifs[..], &over.ifs[..]].concat(),
        }
    }

    unset_part!(Dir);
}

/// What a server sets.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// `ServerName`
    pub server_name: Option<String>,
    /// `DocumentRoot`, absolute, without a slash at the end.
    pub document_root: Option<String>,
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        Self {
            server_name: over(&self.server_name, &other.server_name),
            document_root: over(&self.document_root, &other.document_root),
        }
    }

    unset_part!(Server);
}
