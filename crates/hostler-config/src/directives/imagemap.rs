//! Directives of mod_imagemap: pictures whose parts lead to different places, as a file on the server says.

use crate::{Arity, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part};

/// The module.
pub static MODULE: Module = Module {
    name: "imagemap_module",
    file: "mod_imagemap.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "ImapMenu",
        Arity::Take1,
        "none|formatted|semiformatted|unformatted",
        "Set the menu that is shown if a request has no coordinates",
        |command, args| {
            command.dir.imagemap.menu = Some(args.first().into());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::INDEXES),
    Directive::new(
        "ImapDefault",
        Arity::Take1,
        "error|nocontent|map|referer|URL",
        "Set the target of coordinates outside all areas of a map",
        |command, args| {
            command.dir.imagemap.default = Some(args.first().into());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::INDEXES),
    Directive::new(
        "ImapBase",
        Arity::Take1,
        "map|referer|URL",
        "Set the base of relative URLs in map files",
        |command, args| {
            command.dir.imagemap.base = Some(args.first().into());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::INDEXES),
];

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// ImapMenu
    pub menu: Option<Box<str>>,
    /// ImapDefault
    pub default: Option<Box<str>>,
    /// ImapBase
    pub base: Option<Box<str>>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        Self {
            menu: over(&self.menu, &other.menu),
            default: over(&self.default, &other.default),
            base: over(&self.base, &other.base),
        }
    }

    unset_part!(Dir);
}

/// mod_imagemap has nothing per server.
pub type Server = ();
