//! LogLevel: one level for all, and others for single modules.

use std::collections::BTreeMap;
use std::fmt;

/// The severity of a message, the most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are Apache's")]
pub enum Level {
    Emerg,
    Alert,
    Crit,
    Error,
    Warn,
    Notice,
    Info,
    Debug,
    Trace1,
    Trace2,
    Trace3,
    Trace4,
    Trace5,
    Trace6,
    Trace7,
    Trace8,
}

impl Level {
    /// Every level, the gravest first.
    pub const ALL: [Self; 16] = [
        Self::Emerg,
        Self::Alert,
        Self::Crit,
        Self::Error,
        Self::Warn,
        Self::Notice,
        Self::Info,
        Self::Debug,
        Self::Trace1,
        Self::Trace2,
        Self::Trace3,
        Self::Trace4,
        Self::Trace5,
        Self::Trace6,
        Self::Trace7,
        Self::Trace8,
    ];

    const NAMES: [&str; 16] = [
        "emerg", "alert", "crit", "error", "warn", "notice", "info", "debug", "trace1", "trace2", "trace3",
        "trace4", "trace5", "trace6", "trace7", "trace8",
    ];

    /// The level of this name, in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }

    /// As the directive and the log write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// LogLevel as it applies somewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// For modules without a level of their own; unset means `warn`.
    pub usual: Option<Level>,
    /// By module, without `mod_` and the like.
    modules: BTreeMap<Box<str>, Level>,
}

impl Levels {
    /// The level up to which a module's messages are written (`ssl`, `cgi`, `core`).
    #[must_use]
    pub fn of(&self, module: &str) -> Level {
        self.modules.get(module).copied().or(self.usual).unwrap_or(Level::Warn)
    }

    /// Returns whether a module's message of this level is written.
    #[must_use]
    pub fn writes(&self, module: &str, level: Level) -> bool {
        level <= self.of(module)
    }

    /// Module by module, what is more specific counts; a level for all takes back those of single modules outside of it.
    #[must_use]
    pub fn merge(&self, over: &Self) -> Self {
        let mut modules = if over.usual.is_some() { BTreeMap::new() } else { self.modules.clone() };
        modules.extend(over.modules.iter().map(|(name, level)| (name.clone(), *level)));
        Self { usual: over.usual.or(self.usual), modules }
    }

    /// Reads `level` or `module:level`. A level without module takes back those of single modules before it.
    pub(super) fn set(&mut self, word: &str) -> Result<(), String> {
        let (module, level) =
            word.rsplit_once(':').map_or((None, word), |(module, level)| (Some(module), level));
        let level =
            Level::from_name(level).ok_or_else(|| crate::unknown("log level", level, &Level::NAMES))?;
        match module {
            Some(module) => {
                self.modules.insert(short_name(module), level);
            }
            None => *self = Self { usual: Some(level), modules: BTreeMap::new() },
        }
        Ok(())
    }
}

/// `ssl` of `ssl`, `ssl_module`, `mod_ssl.c`.
fn short_name(module: &str) -> Box<str> {
    let name = module.strip_suffix(".c").unwrap_or(module);
    let name = name.strip_prefix("mod_").unwrap_or(name);
    name.strip_suffix("_module").unwrap_or(name).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_modules() {
        let mut levels = Levels::default();
        assert_eq!(levels.of("core"), Level::Warn);
        for word in ["cgi:debug", "INFO", "mod_ssl.c:trace3", "cgi_module:error"] {
            levels.set(word).unwrap();
        }
        assert_eq!(
            [levels.of("core"), levels.of("ssl"), levels.of("cgi")],
            [Level::Info, Level::Trace3, Level::Error]
        );
        assert!(levels.writes("core", Level::Error) && !levels.writes("core", Level::Debug));
        let mut inner = Levels::default();
        inner.set("cgi:crit").unwrap();
        let merged = levels.merge(&inner);
        assert_eq!(
            [merged.of("core"), merged.of("ssl"), merged.of("cgi")],
            [Level::Info, Level::Trace3, Level::Crit]
        );
        assert!(inner.set("loud").is_err());
        inner.set("notice").unwrap();
        assert_eq!(levels.merge(&inner).of("ssl"), Level::Notice);
    }
}
