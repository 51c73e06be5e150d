//! The sources of users: the arguments of AuthBasicProvider and AuthDigestProvider, aliases for them
//! (AuthnProviderAlias), and mod_authn_socache, whose cache the server has anyway.

use super::Dir;
use crate::{Args, Arity, Command, Contexts, Decides, Directive, Effect, Module, Node, Overrides};
use std::sync::Arc;

/// mod_authn_socache.
pub static SOCACHE: Module = Module {
    name: "authn_socache_module",
    file: "mod_authn_socache.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

const REMEMBERED: &str = "No effect: the server caches file contents until the files change";

static DIRECTIVES: &[Directive] = &[
    Directive::new("AuthnCacheEnable", Arity::NoArgs, "", REMEMBERED, |_, _| Ok(()))
        .allowed(Contexts::GLOBAL, Overrides::NONE),
    Directive::new("AuthnCacheSOCache", Arity::Take1, "name", REMEMBERED, |_, _| Ok(()))
        .allowed(Contexts::GLOBAL, Overrides::NONE),
    Directive::new("AuthnCacheProvideFor", Arity::Iterate, "provider ...", REMEMBERED, |_, _| Ok(()))
        .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new("AuthnCacheTimeout", Arity::Take1, "seconds", REMEMBERED, |_, _| Ok(()))
        .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    Directive::new("AuthnCacheContext", Arity::Take1, "directory|server|text", REMEMBERED, |_, _| Ok(()))
        .allowed(Contexts::DIRECTORY, Overrides::NONE),
];

/// The checker of passwords.
#[derive(Clone, Debug)]
pub enum Provider {
    /// The AuthUserFile.
    File,
    /// The AuthDBMUserFile.
    Dbm,
    /// `Anonymous` and its kin.
    Anonymous,
    /// `socache`: nobody is known to it, so whoever comes next is asked.
    Cache,
    /// A program's function (`PerlAddAuthnProvider`).
    Program(Box<str>),
    /// `wsgi`: the script in Python of wherever it is asked (`WSGIAuthUserScript`).
    Script,
    /// Another one, with settings of its own.
    Alias(Arc<Alias>),
}

/// `<AuthnProviderAlias>`
#[derive(Debug)]
pub struct Alias {
    /// The provider that is asked.
    pub base: Provider,
    /// Its settings, over the directory's.
    pub dir: Dir,
}

impl Provider {
    /// The provider of a name.
    ///
    /// # Errors
    /// If there is none, with the reason where there is one.
    pub(super) fn named(command: &Command<'_>, name: &str) -> Result<Self, String> {
        if let Some(alias) = command.authn_alias(name) {
            return Ok(Self::Alias(alias));
        }
        Ok(match (name, command.provider(Decides::Authn, name)) {
            ("file", _) => Self::File,
            (_, Some(function)) => Self::Program(function.into()),
            ("dbm", _) => Self::Dbm,
            ("anon", _) => Self::Anonymous,
            ("socache", _) => Self::Cache,
            ("wsgi", _) => Self::Script,
            ("ldap", _) => {
                return Err("LDAP is not supported".into());
            }
            ("dbd", _) => return Err("database logins are not supported".into()),
            _ => return Err(crate::unknown("authentication provider", name, &[])),
        })
    }

    /// Returns whether it can tell digests of passwords.
    pub(super) fn has_digests(&self) -> bool {
        match self {
            Self::File | Self::Dbm | Self::Cache | Self::Script => true,
            Self::Anonymous | Self::Program(_) => false,
            Self::Alias(alias) => alias.base.has_digests(),
        }
    }
}

/// `<AuthnProviderAlias base name>`
pub(super) fn alias(command: &mut Command<'_>, args: &Args, nodes: &[Node]) -> Result<(), String> {
    let [base, name] = &args.words[..] else { return Err("takes a provider and another name for it".into()) };
    if base == name {
        return Err("the other name must not be the provider's own".into());
    }
    let is_known = command.authn_alias(name).is_some() || Provider::named(command, name).is_ok();
    if is_known || matches!(name.as_str(), "ldap" | "dbd") {
        return Err(format!("the name \"{name}\" is another provider's already"));
    }
    let base = Provider::named(command, base)?;
    let dir = Dir::clone(&command.aside(nodes).auth);
    command.add_authn_alias(name, Alias { base, dir });
    Ok(())
}
