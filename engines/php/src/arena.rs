//! Texts that end with NUL, for C, in one buffer that is used again with each request.

use libc::c_char;

use crate::ffi::{Pair, Pairs};

/// The start of a text, and its length.
#[derive(Clone, Copy)]
pub(crate) struct Text {
    start: usize,
    length: usize,
}

/// Texts, and lists of pairs of them. Pointers into it are taken when all of them are in.
#[derive(Default)]
pub(crate) struct Arena {
    bytes: Vec<u8>,
    texts: Vec<(Text, Text)>,
    pairs: Vec<Pair>,
}

impl Arena {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.texts.clear();
        self.pairs.clear();
    }

    /// Returns whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn push(&mut self, text: &[u8]) -> Text {
        self.push_parts([text])
    }

    /// A text of several parts.
    pub(crate) fn push_parts<'a>(&mut self, parts: impl IntoIterator<Item = &'a [u8]>) -> Text {
        let start = self.bytes.len();
        parts.into_iter().for_each(|part| self.bytes.extend_from_slice(part));
        let length = self.bytes.len() - start;
        self.bytes.push(0);
        Text { start, length }
    }

    /// The name of a header field's variable: `HTTP_USER_AGENT`.
    pub(crate) fn push_variable(&mut self, field: &[u8]) -> Text {
        let name = self.push_parts([b"HTTP_", field]);
        for byte in &mut self.bytes[name.start..name.start + name.length] {
            *byte = if *byte == b'-' { b'_' } else { byte.to_ascii_uppercase() };
        }
        name
    }

    /// Adds a pair to the list.
    pub(crate) fn pair(&mut self, name: Text, value: Text) {
        self.texts.push((name, value));
    }

    /// Adds a pair of texts to the list.
    pub(crate) fn put(&mut self, name: &[u8], value: &[u8]) {
        let name = self.push(name);
        let value = self.push(value);
        self.pair(name, value);
    }

    /// As C takes it. Valid until something is added, or all cleared.
    pub(crate) fn pointer(&self, text: Text) -> *const c_char {
        self.bytes[text.start..].as_ptr().cast()
    }

    /// The list as C takes it. Valid until something is added, or all cleared.
    pub(crate) fn pairs(&mut self) -> Pairs {
        let bytes = &self.bytes;
        let at = |text: Text| bytes[text.start..].as_ptr().cast();
        let pair = |&(name, value): &(Text, Text)| Pair {
            name: at(name),
            name_length: name.length,
            value: at(value),
            value_length: value.length,
        };
        self.pairs.clear();
        self.pairs.extend(self.texts.iter().map(pair));
        Pairs { list: self.pairs.as_ptr(), count: self.pairs.len() }
    }
}

#[cfg(test)]
impl Arena {
    /// The list, for tests.
    pub(crate) fn read(&self) -> Vec<(String, String)> {
        let text = |text: Text| {
            let bytes = &self.bytes[text.start..text.start + text.length];
            String::from_utf8_lossy(bytes).into_owned()
        };
        self.texts.iter().map(|&(name, value)| (text(name), text(value))).collect()
    }
}
