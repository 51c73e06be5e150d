//! Directives of mod_negotiation: which of several variants of a document a client gets. How one is chosen is the front's
//! business.

use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part};

/// The module.
pub static MODULE: Module = Module {
    name: "negotiation_module",
    file: "mod_negotiation.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "CacheNegotiatedDocs",
        Arity::Flag,
        "On|Off",
        "Let HTTP/1.0 caches store negotiated responses",
        |command, args| {
            command.server.negotiation.cache = Some(args.flag());
            Ok(())
        },
    ),
    Directive::new(
        "LanguagePriority",
        Arity::Iterate,
        "language ...",
        "Set the order of language variants for clients without a preference",
        |command, args| {
            command.dir.negotiation.priority.get_or_insert_default().push(args.first().into());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "ForceLanguagePriority",
        Arity::Iterate,
        "None|Prefer|Fallback [Prefer|Fallback]",
        "Apply LanguagePriority to break ties (Prefer), or if no language is acceptable (Fallback)",
        force,
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
];

/// ForceLanguagePriority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Force {
    none: bool,
    /// Between languages of one quality, LanguagePriority decides, instead of leaving it to the client (300).
    pub prefer: bool,
    /// If no language is acceptable, the first of LanguagePriority is used instead of 406.
    pub fallback: bool,
}

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// LanguagePriority
    pub priority: Option<Vec<Box<str>>>,
    force: Option<Force>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        Self { priority: over(&self.priority, &other.priority), force: over(&self.force, &other.force) }
    }

    unset_part!(Dir);
}

impl Dir {
    /// ForceLanguagePriority; unset means Prefer.
    #[must_use]
    pub fn force(&self) -> Force {
        self.force.unwrap_or(Force { none: false, prefer: true, fallback: false })
    }
}

/// A server's settings.
#[derive(Clone, Debug, Default)]
pub struct Server {
    cache: Option<bool>,
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        Self { cache: over(&self.cache, &other.cache) }
    }

    unset_part!(Server);
}

impl Server {
    /// CacheNegotiatedDocs
    #[must_use]
    pub fn caches(&self) -> bool {
        self.cache == Some(true)
    }
}

fn force(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let set = command.dir.negotiation.force.get_or_insert_default();
    match &args.first().to_ascii_lowercase()[..] {
        "none" => set.none = true,
        "prefer" => set.prefer = true,
        "fallback" => set.fallback = true,
        _ => return Err(crate::unknown("value", args.first(), &["None", "Prefer", "Fallback"])),
    }
    if set.none && (set.prefer || set.fallback) {
        return Err("None excludes Prefer and Fallback".into());
    }
    Ok(())
}
