//! Maps (`RewriteMap`): where they come from, and those of them that are functions or files. Opening files and asking
//! programs is the host's.

use crate::uri;
use hostler_dbm::Kind;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// A function of the server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `int:toupper`
    ToUpper,
    /// `int:tolower`
    ToLower,
    /// `int:escape`
    Escape,
    /// `int:unescape`
    Unescape,
}

impl Function {
    /// The function's value; it has one for every key.
    #[must_use]
    pub fn apply(self, key: &[u8]) -> Vec<u8> {
        match self {
            Self::ToUpper => key.to_ascii_uppercase(),
            Self::ToLower => key.to_ascii_lowercase(),
            Self::Escape => uri::escape(key),
            Self::Unescape => uri::unescape(key),
        }
    }
}

/// The source of a map's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `txt:path`: lines of a key and a value.
    Text(Box<str>),
    /// `rnd:path`: the same, with values of several parts (`a|b`) of which one is taken.
    Random(Box<str>),
    /// `dbm:path`, `dbm=kind:path`: a DBM file, by the name that the kind makes of the path.
    Dbm(Kind, Box<str>),
    /// `prg:path argument ...`: a program that is told keys and tells values, a line each.
    Program(Box<[Box<str>]>),
    /// `int:name`
    Function(Function),
}

impl Source {
    /// The file that it is read from, or that is run.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Text(path) | Self::Random(path) | Self::Dbm(_, path) => Some(path),
            Self::Program(words) => words.first().map(|path| &**path),
            Self::Function(_) => None,
        }
    }

    /// The same source with another file.
    #[must_use]
    pub fn with_file(self, path: &str) -> Self {
        match self {
            Self::Text(_) => Self::Text(path.into()),
            Self::Random(_) => Self::Random(path.into()),
            Self::Dbm(kind, _) => Self::Dbm(kind, path.into()),
            Self::Program(mut words) => {
                if let Some(first) = words.first_mut() {
                    *first = path.into();
                }
                Self::Program(words)
            }
            function @ Self::Function(_) => function,
        }
    }

    /// Reads the second argument of `RewriteMap`.
    ///
    /// # Errors
    /// For what is none, and for sources that are not there, with the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').unwrap_or(("txt", text));
        let kind = kind.to_ascii_lowercase();
        let (base, of_files) = kind.split_once('=').unwrap_or((&kind, "default"));
        Ok(match (base, rest) {
            ("txt", path) => Self::Text(path.into()),
            ("rnd", path) => Self::Random(path.into()),
            ("int", name) => Self::Function(function(name)?),
            ("dbm", path) => {
                let kind = Kind::parse(of_files)?;
                Self::Dbm(kind, kind.file(path).into())
            }
            ("prg", line) => Self::Program(program(line)?),
            ("dbd" | "fastdbd", _) => {
                return Err("maps of the kind dbd are not implemented: the server speaks to no database; give the map \
                            as text (txt:)"
                    .into());
            }
            // Quirk(apache): what has no known kind is the path of a text.
            _ => Self::Text(text.into()),
        })
    }
}

/// A program and its arguments, in words as a shell would have them.
fn program(line: &str) -> Result<Box<[Box<str>]>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let (mut quote, mut characters) = (None, line.chars());
    while let Some(next) = characters.next() {
        match (next, quote) {
            ('\\', _) => word.get_or_insert_default().extend(characters.next()),
            ('"' | '\'', None) => {
                quote = Some(next);
                word.get_or_insert_default();
            }
            (_, Some(open)) if open == next => quote = None,
            (' ' | '\t', None) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(next),
        }
    }
    words.extend(word);
    if words.is_empty() {
        return Err("after \"prg:\" must come the path of a program".into());
    }
    Ok(words.into_iter().map(String::into_boxed_str).collect())
}

fn function(name: &str) -> Result<Function, String> {
    Ok(match name {
        "toupper" => Function::ToUpper,
        "tolower" => Function::ToLower,
        "escape" => Function::Escape,
        "unescape" => Function::Unescape,
        _ => return Err(format!("internal map not found:{name}")),
    })
}

/// Longest line of a text map in bytes; what is behind it begins another line, as in Apache.
const LONGEST_LINE: usize = 1023;

/// The approximate size of an entry besides its key and value: two allocations, and its place in the table.
const OVERHEAD: usize = 96;

/// A map's file that has been read.
#[derive(Clone, Debug, Default)]
pub struct FileMap {
    values: HashMap<Box<[u8]>, Box<[u8]>>,
    size: usize,
}

impl FileMap {
    /// Reads a file of this source's kind. `None`: it would take more than `most` bytes of memory, by [`Self::size`].
    ///
    /// # Errors
    /// For a DBM file that is damaged or of another kind.
    pub fn read(source: &Source, file: &[u8], most: usize) -> Result<Option<Self>, hostler_dbm::Error> {
        let Source::Dbm(kind, _) = source else { return Ok(Self::parse(file, most)) };
        let mut map = Self::default();
        let mut fits = true;
        hostler_dbm::read(*kind, file, &mut |key, value| {
            map.size += key.len() + value.len() + OVERHEAD;
            fits = map.size <= most;
            if fits {
                map.values.insert(key.into(), value.into());
            }
            fits
        })?;
        Ok(fits.then_some(map))
    }

    /// Reads lines of a key and a value with white space between; the first line of a key counts. What begins with
    /// `#` or white space is none, and what follows the value means nothing. `None`: it would take more than `most` bytes
    /// of memory, by [`Self::size`]; short lines take many times what they have in the file.
    #[must_use]
    pub fn parse(text: &[u8], most: usize) -> Option<Self> {
        let mut map = Self::default();
        for line in text.split(|byte| *byte == b'\n').flat_map(|line| line.chunks(LONGEST_LINE)) {
            let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
            let Some(end) = line.iter().position(is_space).filter(|end| *end > 0 && line[0] != b'#') else {
                continue;
            };
            let mut words = line[end..].split(is_space).filter(|word| !word.is_empty());
            if let (Some(value), Entry::Vacant(entry)) = (words.next(), map.values.entry(line[..end].into()))
            {
                map.size += end + value.len() + OVERHEAD;
                if map.size > most {
                    return None;
                }
                entry.insert(value.into());
            }
        }
        Some(map)
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.values.get(key).map(|value| &**value)
    }

    /// Bytes of memory that it takes, about.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }
}

/// One part of a value of several (`a|b|c`), by a number that may be any.
#[must_use]
pub fn part(value: &[u8], random: u64) -> &[u8] {
    let count = 1 + memchr::memchr_iter(b'|', value).count() as u64;
    let chosen = usize::try_from(random % count).unwrap_or_default();
    value.split(|byte| *byte == b'|').nth(chosen).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_a_key_and_a_value() {
        let text = b"# c d\na  1 # x\nb\n c 3\nd\t4\r\na 2\n\ne 5";
        let map = FileMap::parse(text, 1 << 20).unwrap();
        let get =
            |key: &str| map.get(key.as_bytes()).map(|value| String::from_utf8_lossy(value).into_owned());
        assert_eq!(get("a"), Some("1".into()));
        assert_eq!(get("d"), Some("4".into()));
        assert_eq!(get("e"), Some("5".into()));
        for none in ["b", "c", "#", "", "a  1"] {
            assert_eq!(get(none), None, "{none}");
        }
    }

    #[test]
    fn a_map_has_a_bound_in_memory_whatever_its_file_has() {
        let text = (0..3000).flat_map(|n| format!("{n:x} 1\n").into_bytes()).collect::<Vec<u8>>();
        let size = FileMap::parse(&text, 1 << 20).unwrap().size();
        assert!(size > 10 * text.len(), "{size}");
        assert!(FileMap::parse(&text, size).is_some());
        assert!(FileMap::parse(&text, size - 1).is_none());
    }

    #[test]
    fn parts_are_taken_in_turn() {
        assert_eq!((part(b"a|b", 0), part(b"a|b", 1), part(b"a|b", 2)), (&b"a"[..], &b"b"[..], &b"a"[..]));
        assert_eq!(part(b"", 7), b"");
    }

    #[test]
    fn sources_are_told_apart() {
        assert_eq!(Source::parse("txt:/a"), Ok(Source::Text("/a".into())));
        assert_eq!(Source::parse("/a:b"), Ok(Source::Text("/a:b".into())));
        assert_eq!(Source::parse("int:tolower"), Ok(Source::Function(Function::ToLower)));
        assert_eq!(Source::parse("dbm:/a"), Ok(Source::Dbm(Kind::Default, "/a".into())));
        assert_eq!(Source::parse("dbm=SDBM:/a"), Ok(Source::Dbm(Kind::Sdbm, "/a.pag".into())));
        let words = |words: &[&str]| Ok(Source::Program(words.iter().map(|word| Box::from(*word)).collect()));
        assert_eq!(Source::parse("prg:/a"), words(&["/a"]));
        assert_eq!(Source::parse(r#"prg:/a b "c d" 'e f'g\ h """#), words(&["/a", "b", "c d", "e fg h", ""]));
        for refused in ["int:x", "dbm=ndbm:/a", "dbm=x:/a", "prg:", "dbd:SELECT", "fastdbd:SELECT"] {
            assert!(Source::parse(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn functions_have_a_value_for_every_key() {
        assert_eq!(Function::Escape.apply(b"a b?"), b"a%20b%3f");
        assert_eq!(Function::Unescape.apply(b"a%20b"), b"a b");
        assert_eq!(Function::ToUpper.apply(b"aB"), b"AB");
    }
}
