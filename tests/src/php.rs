//! The versions of PHP that the engine was built for.

use crate::hostler;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A version of PHP that scripts are run with.
#[derive(Clone, Debug)]
pub struct Php {
    /// The engine's program for it.
    pub program: String,
    /// `8.2`
    pub number: String,
    /// `8.2.36`
    pub whole: String,
    extensions: PathBuf,
}

impl Php {
    /// The usual one, of `hostler-php`; `None`: without PHP's library it does not run.
    #[must_use]
    pub fn usual() -> Option<&'static Self> {
        static DEFAULT: OnceLock<Option<Php>> = OnceLock::new();
        DEFAULT.get_or_init(|| Self::of(&hostler().with_file_name("hostler-php"))).as_ref()
    }

    /// Others, that are installed beside it and have programs of their own.
    ///
    /// # Panics
    /// If the programs' folder cannot be read.
    #[must_use]
    pub fn others() -> Vec<Self> {
        let folder = hostler().parent().expect("programs are in a folder").read_dir();
        let paths = folder.expect("the programs").flatten().map(|entry| entry.path());
        let is_other = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let number = name.strip_prefix("hostler-php").unwrap_or_default();
            number.contains('.') && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        };
        let is_usual = |php: &Self| Self::usual().is_some_and(|usual| usual.number == php.number);
        paths.filter(is_other).filter_map(|path| Self::of(&path)).filter(|php| !is_usual(php)).collect()
    }

    fn of(program: &Path) -> Option<Self> {
        let said = said(Command::new(program).arg("--version"))?;
        let whole = said.rsplit_once(" for PHP ")?.1.to_owned();
        let number = whole.rsplit_once('.')?.0.to_owned();
        let asked = self::said(Command::new(format!("php-config{number}")).arg("--extension-dir"));
        let program = program.file_name()?.to_str()?.to_owned();
        Some(Self { program, number, whole, extensions: asked.unwrap_or_default().into() })
    }

    /// Returns whether an extension is installed.
    #[must_use]
    pub fn has(&self, extension: &str) -> bool {
        self.extensions.join(format!("{extension}.so")).exists()
    }
}

fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
}

/// The usual version; returns from the test, saying so, unless PHP can be run, with these of its extensions.
#[macro_export]
macro_rules! needs_php {
    ($($extension:literal),*) => {{
        let Some(php) = $crate::Php::usual() else {
            $crate::untested("PHP's library or headers are missing (./setup.sh test)");
            return;
        };
        let extensions: &[&str] = &[$($extension),*];
        if let Some(name) = extensions.iter().find(|name| !php.has(name)) {
            $crate::untested(format_args!("PHP's extension {name} is missing (./setup.sh test)"));
            return;
        }
        php
    }};
}
