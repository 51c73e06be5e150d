//! The directive of PSGI programs: `SetHandler psgi` says that a program answers, `PSGIApp` which one.

use crate::{Arity, Contexts, Directive, Merge, Module, Overrides, over, unset_part};

/// The module. Apache has no such one; the directive's name is Plack::Handler::Apache2's idea of `psgi_app`.
pub static MODULE: Module = Module { name: "psgi_module", file: "mod_psgi.c", directives: DIRECTIVES };

static DIRECTIVES: &[Directive] = &[Directive::new(
    "PSGIApp",
    Arity::Take1,
    "file",
    "The PSGI program that answers where the handler is psgi; relative to ServerRoot",
    |command, args| {
        if args.first().is_empty() {
            return Err("needs the name of a file".to_owned());
        }
        command.dir.psgi.app = Some(command.server_path(args.first()).into());
        Ok(())
    },
)
.allowed(Contexts::ANYWHERE, Overrides::FILE_INFO)];

/// What a directory sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dir {
    /// `PSGIApp`, absolute.
    pub app: Option<Box<str>>,
}

impl Merge for Dir {
    fn merge(&self, over_: &Self) -> Self {
        Self { app: over(&self.app, &over_.app) }
    }

    unset_part!(Dir);
}

/// Nothing per server.
pub type Server = ();
