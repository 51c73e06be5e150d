//! Doc comments say what an item is or does. One that begins with a question word makes the reader guess ("What has been
//! heard"), so none does (CONTRIBUTING.md).

use crate::source;
use anyhow::{Result, bail};
use std::path::Path;

/// The folders with sources.
const FOLDERS: [&str; 7] = ["crates", "engines", "xtask", "tests", "conformance", "bench", "fuzz"];
/// The first words that are refused.
const REFUSED: [&str; 4] = ["What", "Whether", "Who", "Whose"];

pub(crate) fn run() -> Result<()> {
    let mut wrong = Vec::new();
    for folder in FOLDERS {
        for source in source::below(Path::new(folder))? {
            let places = refused(&source.text);
            wrong.extend(
                places.into_iter().map(|(at, line)| format!("{}:{at}: {line}", source.path.display())),
            );
        }
    }
    if !wrong.is_empty() {
        bail!(
            "a doc comment begins with a noun or a verb, not with {}:\n{}",
            REFUSED.join(", "),
            wrong.join("\n")
        );
    }
    Ok(())
}

/// The lines, by number, that begin a doc comment with such a word; a line that goes on with a sentence may.
fn refused(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut is_start = true;
    for (at, line) in text.lines().enumerate() {
        let comment = ["/// ", "//! "].iter().find_map(|mark| line.trim_start().strip_prefix(mark));
        let word = comment.and_then(|comment| comment.split(' ').next());
        if is_start && word.is_some_and(|word| REFUSED.contains(&word)) {
            found.push((at + 1, line.trim()));
        }
        is_start =
            comment.is_none_or(|comment| comment.ends_with(['.', ':', '#']) || comment.starts_with('#'));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_that_begin_a_comment_are_looked_at() {
        assert_eq!(refused("/// What it is.\nfn a() {}\n"), [(1, "/// What it is.")]);
        assert_eq!(refused("    /// # Errors\n    /// What is wrong.\n"), [(2, "/// What is wrong.")]);
        assert_eq!(refused("//! One thing.\n//!\n//! Whether it is.\n"), [(3, "//! Whether it is.")]);
        assert_eq!(refused("/// Asks the person\n/// Who knows. What is asked.\n/// The rest.\n"), []);
    }
}
