//! Header and environment tables: ordered, names compared without case (ASCII), several entries of one name
//! allowed. The operations are those of `apr_table`, because directives are defined in their words.

use bytes::Bytes;

/// An ordered list of (name, value); small enough that a scan beats a hash.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    entries: Vec<(Bytes, Bytes)>,
}

impl Table {
    pub(crate) fn with_capacity(n: usize) -> Self {
        Self { entries: Vec::with_capacity(n) }
    }

    /// The first value of `name`.
    pub(crate) fn find(&self, name: impl AsRef<[u8]>) -> Option<&Bytes> {
        let name = name.as_ref();
        self.entries.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v)
    }

    pub(crate) fn contains(&self, name: impl AsRef<[u8]>) -> bool {
        self.find(name).is_some()
    }

    /// Returns the number of `name`'s entries.
    pub(crate) fn count(&self, name: impl AsRef<[u8]>) -> usize {
        let name = name.as_ref();
        self.entries.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).count()
    }

    /// All values of `name`, in order.
    pub(crate) fn all<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a Bytes> {
        self.entries.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v)
    }

    /// All values of `name` joined with `, ` (RFC 9110 §5.2); `None` if there is none.
    pub(crate) fn joined(&self, name: &[u8]) -> Option<Bytes> {
        let mut values = self.all(name);
        let first = values.next()?;
        let Some(second) = values.next() else { return Some(first.clone()) };
        let mut out = first.to_vec();
        for value in std::iter::once(second).chain(values) {
            out.extend_from_slice(b", ");
            out.extend_from_slice(value);
        }
        Some(out.into())
    }

    /// Replaces every entry of `name` by one, at the place of the first.
    pub(crate) fn set(&mut self, name: impl Into<Bytes>, value: impl Into<Bytes>) {
        let (name, value) = (name.into(), value.into());
        let Some(at) = self.entries.iter().position(|(n, _)| n.eq_ignore_ascii_case(&name)) else {
            self.entries.push((name, value));
            return;
        };
        self.entries[at].1 = value;
        let mut index = 0;
        self.entries.retain(|(n, _)| {
            index += 1;
            index - 1 <= at || !n.eq_ignore_ascii_case(&name)
        });
    }

    /// Copies all entries into one piece of their own: for a table that outlives, for long, the buffers that it has been read into.
    pub(crate) fn detach(&mut self) {
        let length = self.entries.iter().map(|(name, value)| name.len() + value.len()).sum();
        let mut all = Vec::with_capacity(length);
        for (name, value) in &self.entries {
            all.extend_from_slice(name);
            all.extend_from_slice(value);
        }
        let mut all = Bytes::from(all);
        for (name, value) in &mut self.entries {
            *name = all.split_to(name.len());
            *value = all.split_to(value.len());
        }
    }

    /// Adds an entry, whatever is there.
    pub(crate) fn add(&mut self, name: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.entries.push((name.into(), value.into()));
    }

    /// Joins `value` to the entry of `name` with `, `, or adds it. The result is the name and what it was there with before.
    pub(crate) fn merge(&mut self, name: impl Into<Bytes>, value: &Bytes) -> Option<(Bytes, Bytes)> {
        let name = name.into();
        match self.entries.iter_mut().find(|(n, _)| n.eq_ignore_ascii_case(&name)) {
            Some((_, old)) => {
                let mut joined = Vec::with_capacity(old.len() + 2 + value.len());
                joined.extend_from_slice(old);
                joined.extend_from_slice(b", ");
                joined.extend_from_slice(value);
                Some((name, std::mem::replace(old, joined.into())))
            }
            None => {
                self.entries.push((name, value.clone()));
                None
            }
        }
    }

    pub(crate) fn unset(&mut self, name: impl AsRef<[u8]>) {
        let name = name.as_ref();
        self.entries.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
    }

    /// Removes all entries of `name` and returns the first.
    pub(crate) fn take(&mut self, name: &[u8]) -> Option<Bytes> {
        let found = self.find(name).cloned();
        if found.is_some() {
            self.unset(name);
        }
        found
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Bytes, &Bytes)> {
        self.entries.iter().map(|(n, v)| (n, v))
    }

    /// Adds all entries of `other` (`apr_table_overlay`'s order).
    pub(crate) fn append(&mut self, mut other: Self) {
        self.entries.append(&mut other.entries);
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_replaces_all_in_place() {
        let mut t = Table::default();
        t.add("A", "1");
        t.add("B", "2");
        t.add("a", "3");
        t.set("a", "4");
        let seen: Vec<_> = t.iter().map(|(n, v)| (n.clone(), v.clone())).collect();
        assert_eq!(seen, [("A".into(), "4".into()), ("B".into(), Bytes::from("2"))]);
    }

    #[test]
    fn a_table_of_its_own_says_the_same_and_holds_nothing_else() {
        let buffer = Bytes::from(b"Name: value\r\nEmpty:\r\n".to_vec());
        let mut t = Table::default();
        t.add(buffer.slice(0..4), buffer.slice(6..11));
        t.add(buffer.slice(13..18), buffer.slice(19..19));
        t.detach();
        assert!(buffer.is_unique());
        let seen: Vec<_> = t.iter().map(|(n, v)| (n.clone(), v.clone())).collect();
        assert_eq!(seen, [("Name".into(), "value".into()), ("Empty".into(), Bytes::new())]);
    }

    #[test]
    fn merge_joins_and_joined_reads_all() {
        let mut t = Table::default();
        t.merge("Vary", &"a".into());
        t.merge("vary", &"b".into());
        assert_eq!(t.find("VARY").unwrap(), "a, b");
        t.add("Vary", "c");
        assert_eq!(t.joined(b"vary").unwrap(), "a, b, c");
        t.unset("vary");
        assert_eq!(t.len(), 0);
    }
}
