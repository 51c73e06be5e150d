//! Media types by extension: the text of a TypesConfig file, read once.

use super::builtin;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// Media types by extension, lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Types {
    by_extension: HashMap<Box<str>, Arc<str>>,
}

static BUILT_IN: LazyLock<Arc<Types>> = LazyLock::new(|| {
    let mut types = Types::default();
    for (name, extensions) in builtin::TYPES {
        types.add(name, extensions.split(' '));
    }
    Arc::new(types)
});

impl Types {
    /// Reads the file's format: a media type and its extensions on each line; `#` begins a comment line.
    /// Where an extension comes twice, the last counts.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut types = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split_ascii_whitespace();
            if let Some(name) = words.next() {
                types.add(name, words);
            }
        }
        types
    }

    fn add<'t>(&mut self, name: &str, extensions: impl Iterator<Item = &'t str>) {
        let name: Arc<str> = name.into();
        for extension in extensions {
            self.by_extension.insert(extension.to_ascii_lowercase().into(), Arc::clone(&name));
        }
    }

    /// The types of the usual extensions, for a server without TypesConfig.
    #[must_use]
    pub fn built_in() -> &'static Arc<Self> {
        &BUILT_IN
    }

    /// The type of an extension (lower case, without its dot).
    #[must_use]
    pub fn of(&self, extension: &str) -> Option<&str> {
        self.by_extension.get(extension).map(|name| &**name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_types_file() {
        let types = Types::parse("# comment\ntext/html html HTM\n\napplication/x-none\ntext/x-late\thtm\n");
        assert_eq!(types.of("html"), Some("text/html"));
        assert_eq!(types.of("htm"), Some("text/x-late"));
        assert_eq!(types.of("comment"), None);
    }

    #[test]
    fn the_built_in_table() {
        for (extension, expected) in
            [("html", "text/html"), ("png", "image/png"), ("woff2", "font/woff2"), ("gz", "application/gzip")]
        {
            assert_eq!(Types::built_in().of(extension), Some(expected));
        }
    }
}
