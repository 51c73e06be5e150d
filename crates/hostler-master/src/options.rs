//! The master's command line: `hostler-master [--libexec DIR] -- PLANNER [ARGUMENT]...`
//!
//! Operators use `hostler run`, which puts it together.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The master's options.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// The folder of `hostler-front` and `hostler-site`; the master's own directory if not given.
    pub(crate) libexec: Option<PathBuf>,
    /// The program that makes plans.
    pub(crate) planner: PathBuf,
    /// Its arguments, from `argv[0]` on.
    pub(crate) planner_args: Vec<CString>,
}

const USAGE: &str = "usage: hostler-master [--libexec DIR] -- PLANNER [ARGUMENT]... \
                     (see `hostler run`, which starts it for you)";

impl Options {
    /// # Errors
    /// The fault, as a sentence.
    pub(crate) fn from_arguments(mut arguments: impl Iterator<Item = OsString>) -> Result<Self, String> {
        let mut libexec = None;
        loop {
            match arguments.next() {
                Some(word) if word == "--" => break,
                Some(word) if word == "--libexec" => {
                    libexec = Some(PathBuf::from(arguments.next().ok_or(USAGE)?));
                }
                Some(word) => return Err(format!("unknown argument {word:?}; {USAGE}")),
                None => return Err(USAGE.to_string()),
            }
        }
        let planner = PathBuf::from(arguments.next().ok_or(USAGE)?);
        let words = std::iter::once(planner.clone().into_os_string()).chain(arguments);
        let planner_args = words
            .map(|word| {
                CString::new(word.into_vec()).map_err(|_| "an argument contains a NUL byte".to_string())
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { libexec, planner, planner_args })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::from_arguments(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_planner_and_its_arguments_follow_two_dashes() {
        let options = parse("--libexec /x -- /bin/plan -f --libexec").unwrap();
        assert_eq!(options.libexec, Some(PathBuf::from("/x")));
        assert_eq!(options.planner, PathBuf::from("/bin/plan"));
        assert_eq!(
            options.planner_args,
            [c"/bin/plan".to_owned(), c"-f".to_owned(), c"--libexec".to_owned()]
        );
    }

    #[test]
    fn anything_else_shows_the_usage() {
        for line in ["", "--", "--libexec", "run", "--libexec /x"] {
            assert!(parse(line).unwrap_err().contains("usage:"), "{line}");
        }
    }
}
