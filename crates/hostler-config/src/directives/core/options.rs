//! Options and AllowOverride: features of a directory, and what its .htaccess may change.

use crate::{Args, Command, Overrides};
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
    /// Every bit: what AllowOverride Options permits without a list.
    pub const EVERY: Self = Self(127);

    /// Whether all of the bits are set.
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

impl Options {
    /// The features in effect. Without any directive: FollowSymLinks.
    #[must_use]
    pub fn bits(self) -> OptionBits {
        let base = self.absolute.unwrap_or(OptionBits::FOLLOW_SYM_LINKS);
        (base & !self.removed) | self.added
    }

    /// Whether all of the features are in effect.
    #[must_use]
    pub fn contains(self, bits: OptionBits) -> bool {
        self.bits().contains(bits)
    }

    pub(super) fn merge(&self, over: &Self) -> Self {
        if over.absolute.is_some() {
            return *over;
        }
        let added = (self.added & !over.removed) | over.added;
        Self { absolute: self.absolute, added, removed: (self.removed & !over.added) | over.removed }
    }
}

/// Which mistakes in .htaccess are only logged (`AllowOverride Nonfatal=`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nonfatal {
    /// Directives that AllowOverride forbids.
    pub overrides: bool,
    /// Unknown directives.
    pub unknown: bool,
}

/// What the .htaccess of a directory may contain.
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

/// `Options`
pub(super) fn options(_cmd: &mut Command<'_>, _args: &Args) -> Result<(), String> {
    Ok(())
}
