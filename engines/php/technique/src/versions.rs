//! The versions of PHP that are there, each with a program of its own, and which of them a virtual host wants.

use crate::ENGINE_NAME;
use hostler_config::technique::Versions;
use std::fmt;
use std::sync::OnceLock;

static INSTALLED: OnceLock<Vec<Version>> = OnceLock::new();
static BROKEN: OnceLock<Vec<Broken>> = OnceLock::new();

/// How the programs are asked for their versions.
pub(crate) static VERSIONS: Versions = Versions {
    note: |programs| {
        let (mut versions, mut broken) = (Vec::new(), Vec::new());
        for (program, reply) in programs {
            match reply.and_then(|reply| Version::said(&program, &reply)) {
                Ok(version) => versions.push(version),
                Err(why) => broken.push(Broken { program, why }),
            }
        }
        let _ = BROKEN.set(broken);
        if !versions.is_empty() {
            install(versions);
        }
    },
    noted: || installed().iter().map(ToString::to_string).collect(),
    recall: |noted| {
        let versions: Vec<_> = noted.iter().filter_map(|line| Version::read(line)).collect();
        if !versions.is_empty() {
            install(versions);
        }
    },
    assume: || install(Vec::new()),
};

/// Notes the versions that are installed. To be called before anything is read; only the first call in a process counts.
pub fn install(versions: Vec<Version>) {
    let _ = INSTALLED.set(versions);
}

pub(crate) fn broken() -> &'static [Broken] {
    BROKEN.get().map_or(&[], Vec::as_slice)
}

/// Returns whether the engine is there.
#[must_use]
pub fn is_installed() -> bool {
    INSTALLED.get().is_some()
}

/// The versions that are there.
#[must_use]
pub(crate) fn installed() -> &'static [Version] {
    INSTALLED.get().map_or(&[], Vec::as_slice)
}

/// A version of PHP whose engine is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The name of its program, which is `hostler-NAME`: `php`, or `php8.2`.
    pub program: String,
    /// `8.2`
    pub number: String,
}

impl Version {
    /// Of a program, by the version that it has: `8.2.36`.
    #[must_use]
    pub fn of(program: &str, whole: &str) -> Option<Self> {
        let (number, _) = whole.rsplit_once('.').filter(|_| whole.matches('.').count() == 2)?;
        is_number(number).then(|| Self { program: program.to_owned(), number: number.to_owned() })
    }

    /// Of a program, by its reply to `--version`: `hostler-php 0.1.0 for PHP 8.2.36`.
    fn said(program: &str, reply: &str) -> Result<Self, String> {
        let version = reply.trim().rsplit_once(" for PHP ").and_then(|(_, whole)| Self::of(program, whole));
        version.ok_or_else(|| "its reply to --version names no version of PHP".to_owned())
    }

    /// As [`fmt::Display`] writes it.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (program, number) = text.split_once(' ')?;
        is_number(number).then(|| Self { program: program.to_owned(), number: number.to_owned() })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.program, self.number)
    }
}

/// A program for a version that is there and does not run: most often its library is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The program's name, as that of a [`Version`].
    pub(crate) program: String,
    /// The output instead of its version.
    pub(crate) why: String,
}

/// As `8.2`.
fn is_number(text: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('.').is_some_and(|(major, minor)| is_part(major) && is_part(minor))
}

/// The version that somebody asks for.
pub(crate) fn chosen<'a>(
    installed: &[Version],
    broken: &[Broken],
    wanted: &'a str,
) -> Result<&'a str, String> {
    if !is_number(wanted) {
        return Err(format!("{wanted} is not a PHP version such as 8.2"));
    }
    if !installed.is_empty() && !installed.iter().any(|version| version.number == wanted) {
        return Err(not_there(installed, broken, wanted));
    }
    Ok(wanted)
}

fn not_there(installed: &[Version], broken: &[Broken], wanted: &str) -> String {
    let does_not_run = |name: &str| {
        let found = broken.iter().find(|broken| broken.program == name)?;
        Some(format!("hostler-{name} does not run: {}", found.why))
    };
    let own = format!("{ENGINE_NAME}{wanted}");
    let mut reasons: Vec<String> = does_not_run(&own).into_iter().collect();
    if reasons.is_empty() {
        reasons.push(format!("no program hostler-{own} has been built for it"));
        // The usual one may be the one that is meant.
        reasons.extend(does_not_run(ENGINE_NAME));
    }
    let mut there: Vec<&str> = installed.iter().map(|version| &*version.number).collect();
    there.dedup();
    format!("PHP {wanted} is not available: {} (available: {})", reasons.join("; "), there.join(", "))
}

/// Returns the program to run: that of the wanted version, else the usual one.
pub(crate) fn program(installed: &'static [Version], wanted: Option<&str>) -> &'static str {
    let usual = |version: &&Version| version.program == ENGINE_NAME;
    let found = match wanted {
        Some(number) => installed.iter().find(|version| version.number == number),
        None => installed.iter().find(usual).or_else(|| installed.last()),
    };
    found.map_or(ENGINE_NAME, |version| &version.program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions() -> &'static [Version] {
        let all = [("php", "8.2.36"), ("php8.10", "8.10.0"), ("php8.4", "8.4.1")];
        Vec::leak(all.iter().filter_map(|(program, whole)| Version::of(program, whole)).collect())
    }

    #[test]
    fn a_version_is_read_as_it_was_written() {
        let version = Version::of("php8.4", "8.4.1").unwrap();
        assert_eq!(version.number, "8.4");
        assert_eq!(Version::read(&version.to_string()), Some(version));
        for text in ["", "php", "php 8", "php 8.x", "php 8.4.1"] {
            assert_eq!(Version::read(text), None, "{text}");
        }
        assert_eq!(Version::of("php", "8.4"), None);
    }

    #[test]
    fn each_version_has_its_program() {
        let all = versions();
        let program = |wanted| program(all, wanted);
        assert_eq!((program(None), program(Some("8.2"))), ("php", "php"));
        assert_eq!((program(Some("8.4")), program(Some("8.10"))), ("php8.4", "php8.10"));
        assert_eq!(super::program(&[], Some("8.4")), "php");
    }

    #[test]
    fn a_version_that_is_not_there_is_refused_with_those_that_are() {
        assert_eq!(chosen(versions(), &[], "8.4"), Ok("8.4"));
        let why = chosen(versions(), &[], "7.4").unwrap_err();
        assert!(why.contains("hostler-php7.4") && why.contains("8.2, 8.10, 8.4"), "{why}");
        assert!(chosen(versions(), &[], "eight").is_err() && chosen(&[], &[], "8").is_err());
    }

    #[test]
    fn a_version_whose_program_does_not_run_is_refused_with_the_reason() {
        let broken = [("php", "usual"), ("php8.3", "its library is gone")];
        let broken = broken.map(|(program, why)| Broken { program: program.into(), why: why.into() });
        let why = chosen(versions(), &broken, "8.3").unwrap_err();
        assert!(why.contains("hostler-php8.3 does not run: its library is gone"), "{why}");
        let why = chosen(versions(), &broken, "7.4").unwrap_err();
        assert!(
            why.contains("no program hostler-php7.4") && why.contains("hostler-php does not run"),
            "{why}"
        );
        assert_eq!(chosen(versions(), &broken, "8.4"), Ok("8.4"));
    }
}
