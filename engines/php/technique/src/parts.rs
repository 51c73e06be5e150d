//! The settings of mod_php's directives, and their merge.

use crate::versions::{self, installed};
use hostler_config::{Merge, Slot, over, unset_part};

/// The slot of [`Dir`].
pub static DIR: Slot<Dir> = Slot::new();

/// The slot of [`Server`].
pub static SERVER: Slot<Server> = Slot::new();

/// One of PHP's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: Box<str>,
    /// Its value; a flag is `1` or `0`.
    pub value: Box<str>,
    /// The administrator's: what is not may not take its place, further in or not.
    pub admin: bool,
    /// It stands in an access file.
    pub access_file: bool,
}

/// A directory's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dir {
    /// Each name once, in the order in which they were first set.
    pub settings: Vec<Setting>,
    /// `HostlerPHPUserIni`.
    pub user_ini: Option<bool>,
    /// `HostlerPHPRealpath`.
    pub real_paths: Option<bool>,
}

impl Dir {
    /// Returns whether scripts are run here: `php_flag engine off` says that they are files like any other.
    #[must_use]
    pub fn runs(&self) -> bool {
        let engine = self.settings.iter().find(|setting| &*setting.name == "engine");
        engine.is_none_or(|setting| is_on(&setting.value))
    }

    /// Returns whether pages that their owner may execute are scripts: `php_flag xbithack on`.
    #[must_use]
    pub fn runs_by_execute_bit(&self) -> bool {
        self.settings.iter().any(|setting| &*setting.name == "xbithack" && is_on(&setting.value))
    }

    /// The administrator's settings. What is compiled under some of them must not be used under others. `engine` is not among
    /// them: where it is off nothing is compiled.
    pub fn admin(&self) -> impl Iterator<Item = (&str, &str)> {
        let counts = |setting: &&Setting| setting.admin && &*setting.name != "engine";
        self.settings.iter().filter(counts).map(|setting| (&*setting.name, &*setting.value))
    }

    /// Within one section the last one counts, the administrator's or not.
    pub(crate) fn set(&mut self, setting: Setting) {
        match self.settings.iter_mut().find(|known| known.name == setting.name) {
            Some(known) => *known = setting,
            None => self.settings.push(setting),
        }
    }
}

/// As PHP reads a boolean setting.
fn is_on(value: &str) -> bool {
    let is = |word: &str| value.eq_ignore_ascii_case(word);
    is("on") || is("yes") || is("true") || value.trim().parse::<i64>().is_ok_and(|number| number != 0)
}

impl Merge for Dir {
    /// The more specific one counts, unless the other is the administrator's and it is not.
    fn merge(&self, other: &Self) -> Self {
        let mut merged = self.clone();
        for setting in &other.settings {
            let known = merged.settings.iter().find(|known| known.name == setting.name);
            if known.is_none_or(|known| setting.admin || !known.admin) {
                merged.set(setting.clone());
            }
        }
        merged.user_ini = over(&self.user_ini, &other.user_ini);
        merged.real_paths = over(&self.real_paths, &other.real_paths);
        merged
    }

    unset_part!(Dir);
}

/// A server's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// `PHPVersion`.
    pub version: Option<Box<str>>,
    /// `PHPINIDir`, absolute.
    pub ini: Option<Box<str>>,
    /// `PHPWarm`: paths below the document root.
    pub warm: Vec<Box<str>>,
}

impl Server {
    /// The engine's program for it, as `php8.2`.
    #[must_use]
    pub fn program(&self) -> &'static str {
        versions::program(installed(), self.version.as_deref())
    }

    /// Names the runtime of its programs, with the version where it is known: `PHP 8.2`.
    #[must_use]
    pub fn title(&self) -> String {
        let program = self.program();
        let known = installed().iter().find(|version| version.program == program);
        let number = known.map(|version| &*version.number).or(self.version.as_deref());
        number.map_or_else(|| "PHP".to_owned(), |number| format!("PHP {number}"))
    }
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        let warm = if other.warm.is_empty() { &self.warm } else { &other.warm };
        let version = over(&self.version, &other.version);
        Self { version, ini: over(&self.ini, &other.ini), warm: warm.clone() }
    }

    unset_part!(Server);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(settings: &[(&str, &str, bool)]) -> Dir {
        let mut dir = Dir::default();
        for &(name, value, admin) in settings {
            dir.set(Setting { name: name.into(), value: value.into(), admin, access_file: false });
        }
        dir
    }

    #[test]
    fn the_administrator_s_settings_stay() {
        let outer = dir(&[("a", "1", true), ("b", "1", false), ("c", "1", true)]);
        let inner = dir(&[("a", "2", false), ("b", "2", true), ("c", "2", true), ("d", "2", false)]);
        let merged = dir(&[("a", "1", true), ("b", "2", true), ("c", "2", true), ("d", "2", false)]);
        assert_eq!(outer.merge(&inner), merged);
        assert_eq!(outer.merge(&Dir::default()), outer);
        assert_eq!(Dir::default().merge(&outer), outer);
    }

    #[test]
    fn engine_off_is_no_engine() {
        for (value, runs) in [("0", false), ("", false), ("off", false), ("1", true), ("On", true)] {
            assert_eq!(dir(&[("engine", value, true)]).runs(), runs, "{value}");
        }
        assert!(Dir::default().runs());
    }
}
