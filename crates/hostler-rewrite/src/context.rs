//! The settings of mod_rewrite's directives for a server or a directory, and the inheritance from a more general place.

use crate::expand::Maps;
use crate::rule::Rules;
use std::sync::Arc;

/// `RewriteOptions`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options(u16);

impl Options {
    /// `Inherit`: the rules of the more general place come after the own ones.
    pub const INHERIT: Self = Self(1);
    /// `InheritBefore`: they come before them.
    pub const INHERIT_BEFORE: Self = Self(2);
    /// `InheritDown`: as if all more specific places said `Inherit`.
    pub const INHERIT_DOWN: Self = Self(4);
    /// `InheritDownBefore`: as if they said `InheritBefore`.
    pub const INHERIT_DOWN_BEFORE: Self = Self(8);
    /// `IgnoreInherit`: whatever the more general places say.
    pub const IGNORE_INHERIT: Self = Self(16);
    /// `AllowNoSlash`: rules of a directory count for its name without a slash.
    pub const ALLOW_NO_SLASH: Self = Self(32);
    /// `AllowAnyURI`: rules of a server see targets that are no paths.
    pub const ALLOW_ANY_URI: Self = Self(64);
    /// `MergeBase`: RewriteBase counts for more specific places too.
    pub const MERGE_BASE: Self = Self(128);
    /// `IgnoreContextInfo`: results are not put below the prefix of an Alias.
    pub const IGNORE_CONTEXT_INFO: Self = Self(256);
    /// `LegacyPrefixDocRoot`: a result that has named this server may be a path of the file system.
    pub const LEGACY_PREFIX_DOC_ROOT: Self = Self(512);
    /// `LongURLOptimization`: about memory, which is no matter here.
    pub const LONG_URL_OPTIMIZATION: Self = Self(1024);

    /// The option of a name.
    ///
    /// # Errors
    /// A sentence for what is none.
    pub fn parse(word: &str) -> Result<Self, String> {
        let known = [
            ("inherit", Self::INHERIT),
            ("inheritbefore", Self::INHERIT_BEFORE),
            ("inheritdown", Self::INHERIT_DOWN),
            ("inheritdownbefore", Self::INHERIT_DOWN_BEFORE),
            ("ignoreinherit", Self::IGNORE_INHERIT),
            ("allownoslash", Self::ALLOW_NO_SLASH),
            ("allowanyuri", Self::ALLOW_ANY_URI),
            ("mergebase", Self::MERGE_BASE),
            ("ignorecontextinfo", Self::IGNORE_CONTEXT_INFO),
            ("legacyprefixdocroot", Self::LEGACY_PREFIX_DOC_ROOT),
            ("longurloptimization", Self::LONG_URL_OPTIMIZATION),
        ];
        let found = known.iter().find(|(name, _)| word.eq_ignore_ascii_case(name));
        found.map(|(_, option)| *option).ok_or_else(|| format!("unknown option '{word}'"))
    }

    /// Returns whether all of these are on.
    #[must_use]
    pub fn has(self, options: Self) -> bool {
        self.0 & options.0 == options.0
    }

    /// These, and those.
    #[must_use]
    pub fn with(self, options: Self) -> Self {
        Self(self.0 | options.0)
    }
}

/// The order of inherited and own rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleOrder {
    Nothing,
    Before,
    After,
}

/// The settings of a server or a directory.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// `RewriteEngine`
    pub engine: Option<bool>,
    /// `RewriteOptions`
    pub options: Option<Options>,
    /// `RewriteRule`
    pub rules: Rules,
    /// `RewriteMap`
    pub maps: Arc<Maps>,
    /// `RewriteBase`
    pub base: Option<Arc<str>>,
    /// The directory that the rules are of, with a slash at its end; `None`: a server's.
    pub directory: Option<Arc<str>>,
}

impl Context {
    /// Returns whether the engine is on.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.engine == Some(true)
    }

    /// Returns whether an option is on.
    #[must_use]
    pub fn has(&self, option: Options) -> bool {
        self.options.unwrap_or_default().has(option)
    }

    /// Returns the merged settings when `over` is more specific.
    #[must_use]
    pub fn merge(&self, over: &Self) -> Self {
        let options = over.options.or(self.options);
        let has = |option| options.unwrap_or_default().has(option);
        let down = |option| self.has(option) && !over.has(Options::IGNORE_INHERIT);
        let inherited = if has(Options::INHERIT) || down(Options::INHERIT_DOWN) {
            RuleOrder::After
        } else if has(Options::INHERIT_BEFORE) || down(Options::INHERIT_DOWN_BEFORE) {
            RuleOrder::Before
        } else {
            RuleOrder::Nothing
        };
        let maps =
            || Arc::new(self.maps.iter().chain(&*over.maps).map(|(k, v)| (k.clone(), v.clone())).collect());
        let (rules, maps) = match inherited {
            RuleOrder::Nothing => (over.rules.clone(), over.maps.clone()),
            RuleOrder::Before => (self.rules.followed_by(&over.rules), maps()),
            RuleOrder::After => (over.rules.followed_by(&self.rules), maps()),
        };
        let base = over.base.clone().or_else(|| self.base.clone().filter(|_| has(Options::MERGE_BASE)));
        Self {
            engine: over.engine.or(self.engine),
            options,
            rules,
            maps,
            base,
            directory: over.directory.clone(),
        }
    }
}

/// Checks the argument of `RewriteBase`.
///
/// # Errors
/// A sentence for what is no path of a URL.
pub fn check_base(base: &str) -> Result<(), String> {
    if base.is_empty() {
        return Err("empty URL not allowed".into());
    }
    if !base.starts_with('/') {
        return Err("argument is not a valid URL".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;
    use crate::rule::Rule;
    use hostler_expr::RegexOptions;

    fn context(rule: &str, options: &[&str]) -> Context {
        let mut context = Context::default();
        let rule = Rule::parse(rule, RegexOptions::default(), Vec::new(), Place::default()).unwrap();
        context.rules.push(rule);
        for option in options {
            let all = context.options.unwrap_or_default().with(Options::parse(option).unwrap());
            context.options = Some(all);
        }
        context
    }

    fn merged(general: &[&str], specific: &[&str]) -> Vec<String> {
        let merged = context("general -", general).merge(&context("specific -", specific));
        merged.rules.list().iter().map(|rule| rule.pattern().to_owned()).collect()
    }

    #[test]
    fn rules_are_inherited_only_on_demand() {
        assert_eq!(merged(&[], &[]), ["specific"]);
        assert_eq!(merged(&[], &["Inherit"]), ["specific", "general"]);
        assert_eq!(merged(&[], &["InheritBefore"]), ["general", "specific"]);
        assert_eq!(merged(&["InheritDown"], &[]), ["specific", "general"]);
        assert_eq!(merged(&["InheritDownBefore"], &[]), ["general", "specific"]);
        assert_eq!(merged(&["InheritDown"], &["IgnoreInherit"]), ["specific"]);
        assert!(Options::parse("MaxRedirects=5").is_err());
    }

    #[test]
    fn a_base_counts_for_its_own_place_unless_merged() {
        let with_base = Context { base: Some("/a".into()), ..Context::default() };
        assert_eq!(with_base.merge(&Context::default()).base, None);
        let merging = Context { options: Some(Options::MERGE_BASE), ..Context::default() };
        assert_eq!(with_base.merge(&merging).base.as_deref(), Some("/a"));
        assert!(check_base("").is_err() && check_base("a").is_err() && check_base("/").is_ok());
    }
}
