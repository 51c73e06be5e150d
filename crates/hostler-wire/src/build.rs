//! The build id of a process: programs of different builds may misunderstand each other, and must detect that at once.
//!
//! Each program begins with the number of its build where another one listens: the planner and the master with their
//! first frame and message, a site's process and an engine's parent with their `Hello`. Whoever hears it compares it
//! with its own, once. For that the form of these first words is the same in all builds: they are the first of
//! their kinds, and nothing but this number is in them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Length of the number, in bytes.
pub const BUILD_BYTES: usize = 12;

/// The number of a build: equal where the sources of all that is said and shared between processes are.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build([u8; BUILD_BYTES]);

/// The mark by which a program's file tells its build (`strings hostler-front | grep hostler-build:`), and the number.
static STAMP: &str = concat!("hostler-build:", env!("HOSTLER_BUILD"));

impl Build {
    /// Returns the build id of this program.
    #[must_use]
    pub fn own() -> Self {
        // Read where the mark stands in the program's file: what the file tells is what the process says.
        let (_, digits) = std::hint::black_box(STAMP).split_once(':').unwrap_or_default();
        let number = u128::from_str_radix(digits, 16).unwrap_or_default();
        let mut bytes = [0; BUILD_BYTES];
        bytes.copy_from_slice(&number.to_be_bytes()[16 - BUILD_BYTES..]);
        Self(bytes)
    }

    /// The number in a message.
    #[must_use]
    pub fn from_bytes(bytes: [u8; BUILD_BYTES]) -> Self {
        Self(bytes)
    }

    /// The number for a message.
    #[must_use]
    pub fn to_bytes(self) -> [u8; BUILD_BYTES] {
        self.0
    }

    /// Compares it with that of this program; `from` and `own` are the two programs' names.
    ///
    /// # Errors
    /// [`OtherBuild`]
    pub fn check(self, from: &str, own: &str) -> Result<(), OtherBuild> {
        if self == Self::own() { Ok(()) } else { Err(OtherBuild::new(from, Some(self), own)) }
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Two programs are of different builds; with what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{from} is of build {}, {own} of build {}: install all of Hostler's programs together, \
     then stop and start the server",
    theirs.map_or_else(|| "unknown".to_owned(), |build| build.to_string()), Build::own()
)]
pub struct OtherBuild {
    from: String,
    theirs: Option<Build>,
    own: String,
}

impl OtherBuild {
    /// `theirs`: what the other program says; `None`: it says nothing that this one understands.
    #[must_use]
    pub fn new(from: &str, theirs: Option<Build>, own: &str) -> Self {
        Self { from: from.to_owned(), theirs, own: own.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_its_own_and_no_other() {
        let own = Build::own();
        assert_eq!(own.to_string(), env!("HOSTLER_BUILD"));
        assert_eq!(Build::from_bytes(own.to_bytes()), own);
        assert_eq!(own.check("a", "b"), Ok(()));
        let mut bytes = own.to_bytes();
        bytes[7] ^= 1;
        let error = Build::from_bytes(bytes).check("hostler-perl", "hostler-front").unwrap_err().to_string();
        assert!(
            error.starts_with("hostler-perl is of build ") && error.contains("start the server"),
            "{error}"
        );
        assert!(error.contains(&own.to_string()), "{error}");
    }

    #[test]
    fn first_words_have_the_same_form_in_all_builds() {
        let encoded = postcard::to_stdvec(&crate::site::FromSite::Hello(Build::own())).unwrap();
        assert_eq!(encoded, [&[0], &Build::own().to_bytes()[..]].concat());
        let mut encoded = Vec::new();
        crate::engine::FromEngine::Hello(Build::own()).encode(&mut encoded).unwrap();
        assert_eq!(encoded, [&[13, 0, 0, 0, 0, 0, 0, 0, 0], &Build::own().to_bytes()[..]].concat());
        assert_eq!(postcard::to_stdvec(&Build::own()).unwrap(), Build::own().to_bytes());
        // What a front asks for before it can have heard anything.
        assert_eq!(postcard::to_stdvec(&crate::site::ToSite::Attach).unwrap(), [0]);
    }
}
