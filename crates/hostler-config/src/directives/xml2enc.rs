//! Directives of mod_xml2enc: pages of any character set become UTF-8.

use super::charset_lite::{Charset, charset};
use crate::{Arity, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The module.
pub static MODULE: Module = Module {
    name: "xml2enc_module",
    file: "mod_xml2enc.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "xml2EncDefault",
        Arity::Take1,
        "charset",
        "Set the character set of pages that declare none",
        |command, args| {
            command.dir.xml2enc.default = Some(charset(args.first())?);
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "xml2EncAlias",
        Arity::Iterate2,
        "charset alias ...",
        "Define aliases of a character set",
        |command, args| {
            let [name, alias] = &args.words[..] else { return Err("a character set and its names".into()) };
            let known = charset(name)?;
            command.server.xml2enc.aliases.insert(alias.to_ascii_lowercase().into(), known);
            Ok(())
        },
    )
    .allowed(Contexts::SERVER, Overrides::NONE),
    Directive::new(
        "xml2StartParse",
        Arity::Iterate,
        "element ...",
        "Set the elements that a page may start with; anything before them is removed",
        |command, args| {
            let starts = Arc::make_mut(command.dir.xml2enc.starts.get_or_insert_default());
            starts.push(args.first().into());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
];

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// xml2EncDefault
    pub default: Option<Charset>,
    /// xml2StartParse
    pub starts: Option<Arc<Vec<Box<str>>>>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        Self { default: over(&self.default, &other.default), starts: over(&self.starts, &other.starts) }
    }

    unset_part!(Dir);
}

/// A virtual host's settings.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// xml2EncAlias, by names in lower case.
    pub aliases: BTreeMap<Box<str>, Charset>,
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        let mut aliases = self.aliases.clone();
        aliases.extend(other.aliases.iter().map(|(name, charset)| (name.clone(), charset.clone())));
        Self { aliases }
    }

    unset_part!(Server);
}

impl Server {
    /// The character set of this name.
    #[must_use]
    pub fn charset(&self, name: &str) -> Option<Charset> {
        self.aliases.get(&*name.to_ascii_lowercase()).cloned().or_else(|| charset(name).ok())
    }
}
