//! Configuration errors and warnings: where, which directive, what, and the accepted form.

use std::fmt;
use std::sync::Arc;

/// Something that the configuration may not say. Displayed as
/// `httpd.conf:12: AllowOverride: what is wrong; expected: AllowOverride All|None|...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file as it was named.
    pub file: Arc<str>,
    /// Line, from 1; 0 when the file as a whole is meant.
    pub line: u32,
    /// The directive, in Apache's spelling where it is known; empty when the line is not one.
    pub directive: String,
    /// The fault, without a full stop.
    pub message: String,
    /// The accepted form, directive included; empty when there is nothing to add.
    pub form: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if self.line > 0 {
            write!(f, "{}:", self.line)?;
        }
        if !self.directive.is_empty() {
            write!(f, " {}:", self.directive)?;
        }
        write!(f, " {}", self.message)?;
        if self.form.is_empty() { Ok(()) } else { write!(f, "; expected: {}", self.form) }
    }
}

impl std::error::Error for ConfigError {}

/// The message for a word that is none of the expected ones: `unknown order "x" (expected a, b or c)`. Without expected
/// words the parentheses are omitted.
#[must_use]
pub fn unknown(what: &str, word: &str, expected: &[&str]) -> String {
    let expected = match expected {
        [] => String::new(),
        [only] => format!(" (expected {only})"),
        [others @ .., last] => format!(" (expected {} or {last})", others.join(", ")),
    };
    format!("unknown {what} \"{word}\"{expected}")
}

/// Something that the operator should know and that does not stop the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The file as it was named.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// What, without a full stop.
    pub message: String,
    /// It is about a directive that has no effect in Hostler, which is worth knowing once: `hostler check` prints it.
    pub ignored: bool,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}
