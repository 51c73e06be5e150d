//! The variables of one request, as Apache's `subprocess_env` holds them: names regardless of case, in the
//! order they first appeared. A convenience for hosts; the evaluation itself only knows [`Host`](crate::Host).

use std::borrow::Cow;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::coding::{shell_escape, unescape_url};

/// Longest name that is compared without an allocation of its own.
const SHORT_NAME: usize = 64;

/// Variables by name.
///
/// A variable may be deferred: its value is computed when first asked for, and kept. Apache does so with
/// `DATE_LOCAL`, `DATE_GMT`, `LAST_MODIFIED` and `USER_NAME`.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    entries: Vec<Entry>,
    index: HashTable<usize>,
    hasher: RandomState,
}

#[derive(Clone, Debug)]
struct Entry {
    name: Cow<'static, [u8]>,
    /// Empty as long as it is deferred.
    value: OnceLock<Vec<u8>>,
}

impl Environment {
    /// No variables.
    pub fn new() -> Environment {
        Environment::default()
    }

    /// Gives a variable a value; the spelling and place of a known name stay.
    pub fn set(&mut self, name: &[u8], value: &[u8]) {
        let Some(at) = self.position(name) else {
            self.push(Cow::Owned(name.to_vec()), OnceLock::from(value.to_vec()));
            return;
        };
        let slot = &mut self.entries[at].value;
        if let Some(old) = slot.get_mut() {
            old.clear();
            old.extend_from_slice(value);
        } else {
            *slot = OnceLock::from(value.to_vec());
        }
    }

    /// The same for a name known when compiling, which need not be copied, and a value at hand.
    pub fn set_known(&mut self, name: &'static str, value: Vec<u8>) {
        self.put(name, OnceLock::from(value));
    }

    /// Makes a variable deferred.
    pub fn defer(&mut self, name: &'static str) {
        self.put(name, OnceLock::new());
    }

    /// Sets `QUERY_STRING` and `QUERY_STRING_UNESCAPED` for a document that was asked for with a query. Of an
    /// included document they stay when the outer one goes on; one without a query leaves them as they are.
    pub fn set_query(&mut self, query: &[u8]) {
        let (mut unescaped, mut escaped) = (Vec::new(), Vec::new());
        unescape_url(query, &mut unescaped);
        shell_escape(&unescaped, &mut escaped);
        self.set(b"QUERY_STRING", query);
        self.set(b"QUERY_STRING_UNESCAPED", &escaped);
    }

    /// A variable's value. `compute` makes a deferred one from its name.
    pub fn value(&self, name: &[u8], compute: impl FnOnce(&[u8]) -> Vec<u8>) -> Option<&[u8]> {
        let entry = &self.entries[self.position(name)?];
        Some(entry.value.get_or_init(|| compute(&entry.name)))
    }

    /// Visits all variables in order, computing the deferred ones.
    pub fn each(&self, mut compute: impl FnMut(&[u8]) -> Vec<u8>, visit: &mut dyn FnMut(&[u8], &[u8])) {
        for entry in &self.entries {
            visit(&entry.name, entry.value.get_or_init(|| compute(&entry.name)));
        }
    }

    fn put(&mut self, name: &'static str, value: OnceLock<Vec<u8>>) {
        match self.position(name.as_bytes()) {
            Some(at) => self.entries[at].value = value,
            None => self.push(Cow::Borrowed(name.as_bytes()), value),
        }
    }

    fn push(&mut self, name: Cow<'static, [u8]>, value: OnceLock<Vec<u8>>) {
        let hash = hash(&self.hasher, &name);
        let (entries, hasher) = (&self.entries, &self.hasher);
        self.index.insert_unique(hash, entries.len(), |at| hash_of(hasher, entries, *at));
        self.entries.push(Entry { name, value });
    }

    fn position(&self, name: &[u8]) -> Option<usize> {
        let hash = hash(&self.hasher, name);
        self.index.find(hash, |at| self.entries[*at].name.eq_ignore_ascii_case(name)).copied()
    }
}

fn hash_of(hasher: &RandomState, entries: &[Entry], at: usize) -> u64 {
    entries.get(at).map_or(0, |entry| hash(hasher, &entry.name))
}

/// Hash of a name in capitals.
fn hash(hasher: &RandomState, name: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    let mut capitals = [0; SHORT_NAME];
    if let Some(capitals) = capitals.get_mut(..name.len()) {
        capitals.copy_from_slice(name);
        capitals.make_ascii_uppercase();
        state.write(capitals);
    } else {
        state.write(&name.to_ascii_uppercase());
    }
    state.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(environment: &Environment, name: &str) -> Option<String> {
        let value = environment.value(name.as_bytes(), |name| [name, b"!"].concat());
        value.map(|value| String::from_utf8_lossy(value).into_owned())
    }

    #[test]
    fn names_ignore_case_and_keep_their_first_spelling() {
        let mut environment = Environment::new();
        environment.defer("DATE_GMT");
        environment.set(b"Colour", b"red");
        environment.set(b"COLOUR", b"blue");
        assert_eq!(text(&environment, "colour").as_deref(), Some("blue"));
        assert_eq!(text(&environment, "date_gmt").as_deref(), Some("DATE_GMT!"));
        assert_eq!(text(&environment, "unknown"), None);
        let mut all = Vec::new();
        environment.each(<[u8]>::to_vec, &mut |name, value| all.push((name.to_vec(), value.to_vec())));
        assert_eq!(
            all,
            [(b"DATE_GMT".to_vec(), b"DATE_GMT!".to_vec()), (b"Colour".to_vec(), b"blue".to_vec())]
        );
    }

    #[test]
    fn many_and_long_names() {
        let mut environment = Environment::new();
        for number in 0..500 {
            environment.set(format!("{number:0100}").as_bytes(), number.to_string().as_bytes());
        }
        assert_eq!(text(&environment, &format!("{:0100}", 321)).as_deref(), Some("321"));
    }
}
