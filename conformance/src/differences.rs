//! The cases in which Hostler answers otherwise than Apache on purpose, each with its reason.

use crate::client::Exchange;
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
    /// Hostler's response; replaces the case's whole expectation.
    pub hostler: Expect,
}

/// A field that Hostler's own pages (status 300 and above) carry with another value.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldDifference {
    /// Name of the field.
    pub name: String,
    /// Why, in a sentence.
    pub reason: String,
    /// Apache's value.
    pub apache: String,
    /// Hostler's value, which counts as Apache's.
    pub hostler: String,
}

/// Everything that differs on purpose.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Differences {
    /// Case by case.
    #[serde(default, rename = "difference")]
    pub cases: Vec<Difference>,
    /// In every page that a server writes itself.
    #[serde(default, rename = "field")]
    pub fields: Vec<FieldDifference>,
}

impl Differences {
    /// Hostler's exchange with the values of Apache in the fields that differ on purpose, and which these were.
    #[must_use]
    pub fn as_apache(&self, exchange: &Exchange) -> (Exchange, Vec<usize>) {
        let mut exchange = exchange.clone();
        let mut used = Vec::new();
        let pages = exchange.responses.iter_mut().filter(|response| response.status >= 300);
        for (name, value) in pages.flat_map(|response| &mut response.fields) {
            let differs =
                |field: &FieldDifference| field.name.eq_ignore_ascii_case(name) && field.hostler == *value;
            if let Some(index) = self.fields.iter().position(differs) {
                value.clone_from(&self.fields[index].apache);
                used.push(index);
            }
        }
        (exchange, used)
    }
}

/// Reads `differences.toml`.
///
/// # Errors
/// A sentence that names the file, where it cannot be read or an entry has no reason.
pub fn load(path: &Path) -> Result<Differences, String> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(|error| at(&error))?;
    let listed: Differences = toml::from_str(&text).map_err(|error| at(&error))?;
    match listed.cases.iter().find(|difference| difference.reason.trim().is_empty()) {
        Some(unexplained) => Err(at(&format!("{} has no reason", unexplained.case))),
        None => Ok(listed),
    }
}
