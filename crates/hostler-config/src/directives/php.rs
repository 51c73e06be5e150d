//! mod_php's directives: `php_value`, `php_flag`, their sisters of the administrator, and `PHPINIDir`; and one of ours for
//! `.user.ini` files.
//!
//! They are there where the PHP engine is ([`install`]); without it they are a missing module's, and what would be handed
//! to it is refused.
//!
//! None of them guards: they configure scripts, and Apache skips a block for another version of mod_php in the same way.

use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part};
use std::sync::OnceLock;

mod version;

pub use version::{Broken, Version};

/// The module, under mod_php's names.
pub static MODULE: Module =
    Module { name: "php_module", file: "mod_php.c", directives: DIRECTIVES, effect: Effect::Harmless };

/// Handlers that the engine answers for, which are media types, too (`AddType application/x-httpd-php .php`).
pub const HANDLERS: [&str; 3] = ["application/x-httpd-php", "php-script", "application/x-httpd-php-source"];

/// The engine's name.
pub const ENGINE: &str = "php";

static INSTALLED: OnceLock<Vec<Version>> = OnceLock::new();
static BROKEN: OnceLock<Vec<Broken>> = OnceLock::new();

/// Says which versions there are. To be called before anything is read; only the first call in a process counts.
pub fn install(versions: Vec<Version>) {
    let _ = INSTALLED.set(versions);
}

/// Says which programs are there and do not run, so that whoever asks for their versions hears why. As [`install`].
pub fn install_broken(programs: Vec<Broken>) {
    let _ = BROKEN.set(programs);
}

fn broken() -> &'static [Broken] {
    BROKEN.get().map_or(&[], Vec::as_slice)
}

/// Returns whether the engine is there.
#[must_use]
pub fn is_installed() -> bool {
    INSTALLED.get().is_some()
}

/// The versions that are there.
#[must_use]
pub fn installed() -> &'static [Version] {
    INSTALLED.get().map_or(&[], Vec::as_slice)
}

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "php_value",
        Arity::Take2,
        "name value",
        "Set a PHP setting; \"none\" sets it to an empty value",
        |command, args| set(command, args, false, value),
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    Directive::new(
        "php_flag",
        Arity::Take2,
        "name on|off",
        "Set a PHP setting to 1 or 0",
        |command, args| set(command, args, false, flag),
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS),
    Directive::new(
        "php_admin_value",
        Arity::Take2,
        "name value",
        "Set a PHP setting; neither .htaccess files nor programs can change it",
        |command, args| set(command, args, true, value),
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "php_admin_flag",
        Arity::Take2,
        "name on|off",
        "Set a PHP setting to 1 or 0; neither \
        .htaccess files nor programs can change it",
        |command, args| set(command, args, true, flag),
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "PHPINIDir",
        Arity::Take1,
        "directory|file",
        "Set the location of php.ini; only the first one counts (default: that of the system's mod_php, \
            otherwise the library's own)",
        |command, args| {
            let path = command.server_path(args.first());
            command.server.php.ini.get_or_insert(path.into());
            Ok(())
        },
    ),
    Directive::new(
        "PHPVersion",
        Arity::Take1,
        "version",
        "Set the PHP version, such as 8.2, if several are installed (default: that of hostler-php)",
        |command, args| {
            command.server.php.version = Some(version::chosen(installed(), broken(), args.first())?.into());
            Ok(())
        },
    ),
    Directive::new(
        "HostlerPHPUserIni",
        Arity::Flag,
        "On|Off",
        "Read .user.ini files, as php-fpm does and mod_php does not (default On)",
        |command, args| {
            command.dir.php.user_ini = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "HostlerPHPRealpath",
        Arity::Flag,
        "On|Off",
        "Pass scripts the real path of the script and of their document root, with symbolic links resolved, \
            for sites that deploy a release by switching a link (default Off)",
        |command, args| {
            command.dir.php.real_paths = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "PHPWarm",
        Arity::Iterate,
        "URL-path [URL-path] ...",
        "Run scripts below the document root once before workers are forked, so that they are already \
            compiled for the first visitors; their output is discarded",
        warm,
    ),
];

fn warm(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let path = args.first();
    let is_inside = path.starts_with('/') && !path.split('/').any(|part| part == "..");
    if !is_inside || path.contains(['?', '#']) {
        return Err(format!(
            "{path} is not the path of a script below the document root, such as /index.php"
        ));
    }
    command.server.php.warm.push(path.into());
    Ok(())
}

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

    /// Within one section the last one counts, whoever's it is.
    fn set(&mut self, setting: Setting) {
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
        version::program(installed(), self.version.as_deref())
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

fn set(command: &mut Command<'_>, args: &Args, admin: bool, read: fn(&str) -> &str) -> Result<(), String> {
    let name = args.first();
    // A folder that works under Apache goes on working: there the worker says so.
    if let Some(why) = too_late(name).filter(|_| !command.is_htaccess()) {
        // As under Apache it has no effect; here the operator hears of it.
        let directive = command.directive.name;
        command.warn(format!("{directive} {name} has no effect: it {why}"));
        return Ok(());
    }
    let value = read(args.word(1).unwrap_or_default()).into();
    let access_file = command.is_htaccess();
    command.dir.php.set(Setting { name: name.into(), value, admin, access_file });
    Ok(())
}

fn value(text: &str) -> &str {
    if text.eq_ignore_ascii_case("none") { "" } else { text }
}

fn flag(text: &str) -> &str {
    if text.eq_ignore_ascii_case("on") || text == "1" { "1" } else { "0" }
}

/// Settings that count only when PHP starts, which has no effect here.
fn too_late(name: &str) -> Option<&'static str> {
    const NAMES: [&str; 3] = ["extension", "zend_extension", "extension_dir"];
    const OF_OPCACHE: [&str; 4] = ["preload", "preload_user", "memory_consumption", "max_accelerated_files"];
    let of_opcache = name.strip_prefix("opcache.").is_some_and(|rest| OF_OPCACHE.contains(&rest));
    (of_opcache || NAMES.contains(&name))
        .then_some("is only read when PHP starts, so it belongs in php.ini (PHPINIDir)")
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

    #[test]
    fn values_are_read_as_mod_php_reads_them() {
        assert_eq!((value("None"), value("x")), ("", "x"));
        assert_eq!((flag("ON"), flag("1"), flag("yes"), flag("off")), ("1", "1", "0", "0"));
        assert!(too_late("opcache.preload").is_some() && too_late("opcache.enable").is_none());
    }
}
