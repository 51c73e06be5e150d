//! Options and AllowOverride: features of a directory, and what its .htaccess may change.

use crate::{Args, Arity, Command, Contexts, Directive, Effect, Overrides};
use std::collections::BTreeSet;
use std::ops::{BitAnd, BitOr, Not};
use std::sync::Arc;

/// Features of a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OptionBits(u8);

impl OptionBits {
    /// `None`
    pub const NONE: Self = Self(0);
    /// `Indexes`
    pub const INDEXES: Self = Self(1);
    /// `IncludesNOEXEC`, and part of `Includes`.
    pub const INCLUDES: Self = Self(2);
    /// The other part of `Includes`: `#exec` is allowed.
    pub const INCLUDES_EXEC: Self = Self(4);
    /// `FollowSymLinks`
    pub const FOLLOW_SYM_LINKS: Self = Self(8);
    /// `ExecCGI`
    pub const EXEC_CGI: Self = Self(16);
    /// `SymLinksIfOwnerMatch`
    pub const SYM_LINKS_IF_OWNER_MATCH: Self = Self(32);
    /// `MultiViews`
    pub const MULTI_VIEWS: Self = Self(64);
    /// `All`: everything but MultiViews and SymLinksIfOwnerMatch.
    pub const ALL: Self = Self(1 | 2 | 4 | 8 | 16);
    /// Every bit: what AllowOverride permits where it names no options.
    pub const EVERY: Self = Self(127);

    /// Returns whether all of the bits are set.
    #[must_use]
    pub const fn contains(self, bits: Self) -> bool {
        self.0 & bits.0 == bits.0
    }
}

impl BitOr for OptionBits {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for OptionBits {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for OptionBits {
    type Output = Self;

    fn not(self) -> Self {
        Self(!self.0 & Self::EVERY.0)
    }
}

/// The `Options` of a section: absolute, or changes to what the outer sections say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// An absolute setting (`Options Indexes`); `None` when only `+` and `-` were used, or nothing.
    absolute: Option<OptionBits>,
    added: OptionBits,
    removed: OptionBits,
}

/// The settings of each directory that a walk needs before everything is merged.
#[derive(Clone, Debug, Default)]
pub struct Permissions {
    options: Options,
    allow_override: Option<AllowOverride>,
    allow_override_list: Option<std::sync::Arc<std::collections::BTreeSet<String>>>,
}

impl Permissions {
    /// Returns the settings of one section or file.
    #[must_use]
    pub fn of(dir: &super::Dir) -> Self {
        Self {
            options: dir.options,
            allow_override: dir.allow_override,
            allow_override_list: dir.allow_override_list.clone(),
        }
    }

    /// Returns the merged settings when `over` is more specific.
    #[must_use]
    pub fn merge(&self, over: &Self) -> Self {
        Self {
            options: self.options.merge(&over.options),
            allow_override: over.allow_override.or(self.allow_override),
            allow_override_list: crate::part::over(&self.allow_override_list, &over.allow_override_list),
        }
    }

    /// `Options`.
    #[must_use]
    pub fn options(&self) -> Options {
        self.options
    }

    /// The directives allowed in .htaccess.
    #[must_use]
    pub fn allow(&self) -> Allow {
        let given = self.allow_override.unwrap_or_default();
        let list = self.allow_override_list.clone().unwrap_or_default();
        Allow { classes: given.classes, options: given.options, nonfatal: given.nonfatal, list }
    }
}

impl Options {
    /// The features in effect. Without any directive: FollowSymLinks.
    #[must_use]
    pub fn bits(self) -> OptionBits {
        let base = self.absolute.unwrap_or(OptionBits::FOLLOW_SYM_LINKS);
        (base & !self.removed) | self.added
    }

    /// Returns whether all of the features are in effect.
    #[must_use]
    pub fn contains(self, bits: OptionBits) -> bool {
        self.bits().contains(bits)
    }

    pub(super) fn merge(&self, over: &Self) -> Self {
        if over.absolute.is_some() {
            return *over;
        }
        let added = (self.added & !over.removed) | over.added;
        let mut merged =
            Self { absolute: self.absolute, added, removed: (self.removed & !over.added) | over.removed };
        let includes = OptionBits::INCLUDES | OptionBits::INCLUDES_EXEC;
        if self.contains(includes) && over.added & includes == OptionBits::INCLUDES {
            // `+IncludesNOEXEC` below `Includes` takes `#exec` away.
            merged.change(Some(b'-'), OptionBits::INCLUDES_EXEC);
        }
        merged
    }

    /// Carries out one word: `+`, `-` or no sign.
    fn change(&mut self, sign: Option<u8>, bits: OptionBits) {
        match sign {
            Some(b'+') => {
                self.added = self.added | bits;
                self.removed = self.removed & !bits;
            }
            Some(b'-') => {
                self.removed = self.removed | bits;
                self.added = self.added & !bits;
            }
            _ => self.absolute = Some(self.absolute.unwrap_or_default() | bits),
        }
    }
}

/// The errors in .htaccess that are only logged (`AllowOverride Nonfatal=`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nonfatal {
    /// Directives that AllowOverride forbids.
    pub overrides: bool,
    /// Unknown directives.
    pub unknown: bool,
}

/// `AllowOverride`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllowOverride {
    /// Classes of directives.
    pub classes: Overrides,
    /// The features that Options may mention (all of them without a list).
    pub options: OptionBits,
    /// Mistakes that are only logged.
    pub nonfatal: Nonfatal,
}

impl Default for AllowOverride {
    fn default() -> Self {
        Self { classes: Overrides::NONE, options: OptionBits::EVERY, nonfatal: Nonfatal::default() }
    }
}

/// The directives that a directory's .htaccess may contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allow {
    /// Classes of directives (AllowOverride).
    pub classes: Overrides,
    /// The features that Options may mention.
    pub options: OptionBits,
    /// Mistakes that are only logged.
    pub nonfatal: Nonfatal,
    /// Single directives, in lower case (AllowOverrideList).
    pub list: Arc<BTreeSet<String>>,
}

impl Allow {
    /// Returns whether an .htaccess file is read at all.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.classes != Overrides::NONE || !self.list.is_empty()
    }

    /// Returns whether the directive may be used.
    #[must_use]
    pub fn permits(&self, directive: &Directive) -> bool {
        self.classes.intersects(directive.overrides)
            || self.list.contains(&directive.name.to_ascii_lowercase())
    }
}

pub(super) static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "Options",
        Arity::TakeArgv,
        "[+|-]option ...",
        "Enable or disable features of a directory",
        set_options,
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS)
    .with_effect(Effect::HarmlessIf(only_multi_views)),
    Directive::new(
        "AllowOverride",
        Arity::TakeArgv,
        "All|None|AuthConfig|FileInfo|Indexes|Limit|Options[=option,...]|Nonfatal=All|Override|Unknown ...",
        "Set the classes of directives that .htaccess files may contain",
        allow_override,
    )
    .allowed(Contexts::DIRECTORY, Overrides::NONE),
    Directive::new(
        "AllowOverrideList",
        Arity::TakeArgv,
        "None|directive ...",
        "Set the individual directives that .htaccess files may contain",
        allow_override_list,
    )
    .allowed(Contexts::DIRECTORY, Overrides::NONE),
];

fn option(name: &str) -> Option<OptionBits> {
    Some(match name.to_ascii_lowercase().as_str() {
        "indexes" => OptionBits::INDEXES,
        "includes" => OptionBits::INCLUDES | OptionBits::INCLUDES_EXEC,
        "includesnoexec" => OptionBits::INCLUDES,
        "followsymlinks" => OptionBits::FOLLOW_SYM_LINKS,
        "symlinksifownermatch" => OptionBits::SYM_LINKS_IF_OWNER_MATCH,
        "execcgi" => OptionBits::EXEC_CGI,
        "multiviews" => OptionBits::MULTI_VIEWS,
        "runscripts" | "none" => OptionBits::NONE,
        "all" => OptionBits::ALL,
        _ => return None,
    })
}

const OPTIONS: &str = "Indexes, Includes, IncludesNOEXEC, FollowSymLinks, SymLinksIfOwnerMatch, ExecCGI, MultiViews, All or None";

/// Returns whether it is about MultiViews alone, which there are none of.
fn only_multi_views(words: &[String]) -> bool {
    words
        .iter()
        .all(|word| word.strip_prefix(['+', '-']).is_some_and(|name| name.eq_ignore_ascii_case("multiviews")))
}

/// `Options`. All words with a sign, or none.
fn set_options(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let allowed = cmd.builder.allow.as_ref().map_or(OptionBits::EVERY, |allow| allow.options);
    let signed = args.words.iter().filter(|word| word.starts_with(['+', '-'])).count();
    if signed != 0 && signed != args.words.len() {
        return Err("either all options must start with + or -, or none may".to_owned());
    }
    let options = &mut cmd.dir.core.options;
    if signed == 0 && !args.words.is_empty() {
        *options = Options { absolute: Some(OptionBits::NONE), ..Options::default() };
    }
    for (index, word) in args.words.iter().enumerate() {
        let name = word.trim_start_matches(['+', '-']);
        let bits = option(name).ok_or_else(|| format!("unknown option \"{word}\" (expected {OPTIONS})"))?;
        let whole = name.eq_ignore_ascii_case("all") || name.eq_ignore_ascii_case("none");
        if whole && index > 0 && signed == 0 {
            return Err(format!("{name} must be the first option"));
        }
        if name.eq_ignore_ascii_case("none") && signed > 0 {
            return Err("None cannot take + or -".to_owned());
        }
        if !allowed.contains(bits) {
            return Err(format!("the option {name} is not allowed here (AllowOverride)"));
        }
        options.change(word.as_bytes().first().copied(), bits);
    }
    Ok(())
}

/// `AllowOverride`
fn allow_override(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    if cmd.inside.location || cmd.inside.files {
        cmd.warn("AllowOverride has no effect in <Location> and <Files>");
    }
    let mut allow = AllowOverride::default();
    for word in &args.words {
        let (class, value) =
            word.split_once('=').map_or((word.as_str(), None), |(class, value)| (class, Some(value)));
        let class = class.to_ascii_lowercase();
        if !matches!(&*class, "options" | "nonfatal") && value.is_some() {
            cmd.warn(format!(
                "AllowOverride {word}: the list is ignored: only Options and Nonfatal have one"
            ));
        }
        match (class.as_str(), value) {
            // Quirk(Apache): these two set everything that stands before them back, Nonfatal too.
            ("none", _) => (allow.classes, allow.nonfatal) = (Overrides::NONE, Nonfatal::default()),
            ("all", _) => (allow.classes, allow.nonfatal) = (Overrides::ALL, Nonfatal::default()),
            ("authconfig", _) => allow.classes = allow.classes | Overrides::AUTH_CONFIG,
            ("fileinfo", _) => allow.classes = allow.classes | Overrides::FILE_INFO,
            ("indexes", _) => allow.classes = allow.classes | Overrides::INDEXES,
            ("limit", _) => allow.classes = allow.classes | Overrides::LIMIT,
            ("options", value) => {
                allow.classes = allow.classes | Overrides::OPTIONS;
                // Without a list neither MultiViews nor SymLinksIfOwnerMatch is among them.
                allow.options = value.map_or(Ok(OptionBits::ALL), option_list)?;
            }
            ("nonfatal", Some(value)) => {
                if !nonfatal(&mut allow.nonfatal, value) {
                    cmd.warn(format!("AllowOverride {word} is ignored (expected All, Override or Unknown)"));
                }
            }
            _ => return Err(crate::unknown("class", word, &[])),
        }
    }
    cmd.dir.core.allow_override = Some(allow);
    Ok(())
}

/// Returns whether there is such a value.
fn nonfatal(nonfatal: &mut Nonfatal, value: &str) -> bool {
    match value.to_ascii_lowercase().as_str() {
        "override" => nonfatal.overrides = true,
        "unknown" => nonfatal.unknown = true,
        "all" => *nonfatal = Nonfatal { overrides: true, unknown: true },
        _ => return false,
    }
    true
}

/// `Indexes,MultiViews`. As in Apache, FollowSymLinks and SymLinksIfOwnerMatch come as they are named.
fn option_list(list: &str) -> Result<OptionBits, String> {
    list.split(',').filter(|name| !name.is_empty()).try_fold(OptionBits::NONE, |bits, name| {
        let more = option(name).ok_or_else(|| format!("unknown option \"{name}\" (expected {OPTIONS})"))?;
        Ok(bits | more)
    })
}

/// `AllowOverrideList`
fn allow_override_list(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let none = args.words.len() == 1 && args.first().eq_ignore_ascii_case("none");
    let names = if none { &[][..] } else { &args.words[..] };
    for name in names {
        match cmd.find(name) {
            None => cmd.warn(format!("AllowOverrideList names \"{name}\", which is not a directive")),
            Some(found) if !found.contexts.in_htaccess() => {
                cmd.warn(format!(
                    "AllowOverrideList names {}, which .htaccess may never contain",
                    found.name
                ));
            }
            Some(_) => {}
        }
    }
    let names = names.iter().map(|name| name.to_ascii_lowercase()).collect();
    cmd.dir.core.allow_override_list = Some(Arc::new(names));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(words: &[(Option<u8>, OptionBits)]) -> Options {
        let mut options = Options::default();
        if words.iter().all(|(sign, _)| sign.is_none()) {
            options.absolute = Some(OptionBits::NONE);
        }
        words.iter().for_each(|(sign, bits)| options.change(*sign, *bits));
        options
    }

    #[test]
    fn signs_change_and_plain_words_replace() {
        let base = options(&[(None, OptionBits::INDEXES)]);
        let more = options(&[(Some(b'+'), OptionBits::EXEC_CGI), (Some(b'-'), OptionBits::INDEXES)]);
        assert_eq!(base.merge(&more).bits(), OptionBits::EXEC_CGI);
        let replaced = more.merge(&base);
        assert_eq!(replaced.bits(), OptionBits::INDEXES);
        assert_eq!(
            Options::default().merge(&more).bits(),
            OptionBits::EXEC_CGI | OptionBits::FOLLOW_SYM_LINKS
        );
    }

    #[test]
    fn includes_without_exec_takes_exec_away() {
        let includes = OptionBits::INCLUDES | OptionBits::INCLUDES_EXEC;
        let base = options(&[(None, includes)]);
        let noexec = options(&[(Some(b'+'), OptionBits::INCLUDES)]);
        assert_eq!(base.merge(&noexec).bits(), OptionBits::INCLUDES);
    }
}
