//! mod_proxy_fcgi's directives: what FastCGI applications are told. Which requests are handed to one, handlers
//! (`SetHandler "proxy:unix:/path|fcgi://localhost"`) and mod_proxy's directives say.

use crate::directives::core::values::choice;
use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part};
use hostler_expr::{Expr, Flags, Kind};
use std::sync::Arc;

/// The module.
pub static MODULE: Module = Module {
    name: "proxy_fcgi_module",
    file: "mod_proxy_fcgi.c",
    directives: DIRECTIVES,
    effect: Effect::Guards,
};

/// mod_proxy_scgi.
pub static SCGI: Module = Module {
    name: "proxy_scgi_module",
    file: "mod_proxy_scgi.c",
    directives: OF_SCGI,
    effect: Effect::Harmless,
};

/// mod_proxy_uwsgi.
pub static UWSGI: Module =
    Module { name: "proxy_uwsgi_module", file: "mod_proxy_uwsgi.c", directives: &[], effect: Effect::Guards };

/// mod_proxy_ajp.
pub static AJP: Module =
    Module { name: "proxy_ajp_module", file: "mod_proxy_ajp.c", directives: &[], effect: Effect::Guards };

static OF_SCGI: &[Directive] = &[
    Directive::new(
        "ProxySCGIInternalRedirect",
        Arity::Take1,
        "On|Off",
        "Serve a local redirect of an SCGI program internally instead of sending it to the client (default \
            On)",
        |command, args| {
            let follows = choice(args.first(), &[("on", true), ("off", false)])?;
            command.dir.proxy_fcgi.scgi_redirects = Some(follows);
            Ok(())
        },
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "ProxySCGISendfile",
        Arity::Take1,
        "Off",
        "Only Off is accepted: SCGI programs cannot have the server send a file",
        |_, args| match &*args.first().to_ascii_lowercase() {
            "off" => Ok(()),
            _ => Err("only Off is supported: files named by a program are not sent".to_owned()),
        },
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
];

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "ProxyFCGIBackendType",
        Arity::Take1,
        "FPM|GENERIC",
        "Set the form of SCRIPT_FILENAME: as php-fpm expects it from Apache (FPM, default), or the plain \
            path (GENERIC)",
        |command, args| {
            command.dir.proxy_fcgi.backend = Some(match &args.first().to_ascii_uppercase()[..] {
                "FPM" => Backend::Fpm,
                "GENERIC" => Backend::Generic,
                _ => return Err("FPM or GENERIC is expected".into()),
            });
            Ok(())
        },
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "ProxyFCGISetEnvIf",
        Arity::Take23,
        "condition [!]variable [value-expression]",
        "Set or remove a variable right before the request is sent to the application, if a condition is \
            true",
        set_env_if,
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
];

/// `ProxyFCGIBackendType`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// php-fpm, which takes off again what Apache puts before the path.
    #[default]
    Fpm,
    /// Anything else.
    Generic,
}

/// A `ProxyFCGISetEnvIf` line.
#[derive(Clone, Debug)]
pub struct Rule {
    /// When it applies.
    pub condition: Expr,
    /// The variable.
    pub name: Box<str>,
    /// Its value; `None`: it is removed.
    pub value: Option<Expr>,
}

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// `ProxyFCGIBackendType`
    pub backend: Option<Backend>,
    /// `ProxyFCGISetEnvIf`, in order.
    pub rules: Vec<Arc<Rule>>,
    /// `ProxySCGIInternalRedirect`; unset means On.
    pub scgi_redirects: Option<bool>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        Self {
            backend: over(&self.backend, &other.backend),
            rules: [&self.rules[..], &other.rules].concat(),
            scgi_redirects: over(&self.scgi_redirects, &other.scgi_redirects),
        }
    }

    unset_part!(Dir);
}

/// Nothing per server.
pub type Server = ();

fn set_env_if(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let condition = command.expr(args.first(), Kind::Boolean, Flags::default())?;
    let name = args.word(1).unwrap_or_default();
    let (name, removes) = match name.strip_prefix('!') {
        Some(name) => (name, true),
        None => (name, false),
    };
    if name.is_empty() {
        return Err("the variable is missing".into());
    }
    let value = match args.word(2) {
        Some(_) if removes => return Err("a variable that is removed has no value".into()),
        Some(text) => Some(command.string_expr(text)?),
        None if removes => None,
        None => Some(command.string_expr("")?),
    };
    command.dir.proxy_fcgi.rules.push(Arc::new(Rule { condition, name: name.into(), value }));
    Ok(())
}
