//! The cases in which Hostler answers otherwise than Apache on purpose, each with its reason.

use crate::table::Expect;
use serde::Deserialize;
use std::fs;
use std::path::Path;

/// One intended difference.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// `subject/case`.
    pub case: String,
    /// Why, in a sentence for an administrator.
    pub reason: String,
    /// What Hostler answers; takes the place of the case's whole expectation.
    pub hostler: Expect,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    #[serde(default)]
    difference: Vec<Difference>,
}

/// Reads `differences.toml`.
///
/// # Errors
/// A sentence that names the file, where it cannot be read or an entry has no reason.
pub fn load(path: &Path) -> Result<Vec<Difference>, String> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(|error| at(&error))?;
    let listed: Listed = toml::from_str(&text).map_err(|error| at(&error))?;
    match listed.difference.iter().find(|difference| difference.reason.trim().is_empty()) {
        Some(unexplained) => Err(at(&format!("{} has no reason", unexplained.case))),
        None => Ok(listed.difference),
    }
}
