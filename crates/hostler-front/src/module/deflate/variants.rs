//! Compressed copies of a small file. They live with the open file, which is replaced when the file changes, so
//! they can't outlive what they are copies of.

use super::encoder::Recipe;
use bytes::Bytes;
use std::cell::RefCell;

/// Copies kept per file: virtual hosts may compress differently, but hardly in more ways.
const MAX: usize = 4;

/// The compressed copies of one file.
#[derive(Debug, Default)]
pub(crate) struct Variants(RefCell<Vec<(Recipe, Bytes)>>);

impl Variants {
    /// The copy by `recipe`; `make` makes it if there is none yet.
    pub(super) fn find_or_make(&self, recipe: Recipe, make: impl FnOnce() -> Bytes) -> Bytes {
        let known = self.0.borrow().iter().find(|(made, _)| *made == recipe).map(|(_, copy)| copy.clone());
        if let Some(copy) = known {
            return copy;
        }
        let copy = make();
        let mut copies = self.0.borrow_mut();
        if copies.len() == MAX {
            copies.remove(0);
        }
        copies.push((recipe, copy.clone()));
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::super::encoder::tests::{BROTLI, GZIP};
    use super::*;

    #[test]
    fn a_copy_is_made_once_for_each_recipe() {
        let variants = Variants::default();
        let made = |recipe, text: &'static [u8]| variants.find_or_make(recipe, || Bytes::from_static(text));
        assert_eq!(made(GZIP, b"one"), "one");
        assert_eq!(made(BROTLI, b"two"), "two");
        assert_eq!(made(GZIP, b"other"), "one");
        assert_eq!(made(BROTLI, b"other"), "two");
    }
}
