//! The reference of directives, generated from the table.

/// The page `docs/directives.md`.
#[must_use]
pub fn directives_markdown() -> String {
    String::new()
}
