//! HPACK (RFC 7541) as far as it takes to tell whether a header block can be decoded, and whether its fields may be in a
//! message. The dynamic table has the sizes of its entries and no texts.
//!
//! A block with a field that may not be there is replaced by one that changes h2's table in the same way and makes a
//! malformed message, too, of which h2 says so for the stream alone.

use crate::frame::Fault;
use crate::huffman;
use std::collections::VecDeque;

/// `SETTINGS_HEADER_TABLE_SIZE`, which the server leaves as it is.
const TABLE: usize = 4096;
/// The size of an entry besides its texts (§4.1).
const ENTRY: usize = 32;

/// The static table (appendix A): lengths of names and values, and what the names are.
const STATIC: usize = 61;
#[rustfmt::skip]
const NAMES: [usize; STATIC] = [
    10, 7, 7, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 14, 15, 15, 13, 6, 27, 3, 5, 13, 13, 19, 16, 16, 14, 16, 13, 12, 6, 4, 4, 6, 7,
    4, 4, 8, 17, 13, 8, 19, 13, 4, 8, 12, 18, 19, 5, 7, 7, 11, 6, 10, 25, 17, 10, 4, 3, 16,
];

/// The form of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    /// `:method`
    Method,
    /// Another pseudo-field of requests.
    Text,
    Field,
    /// A field of this name makes a message malformed, and its value does so.
    Bad,
}

impl Name {
    fn of(text: &[u8]) -> Self {
        match text {
            b":method" => Self::Method,
            b":path" | b":scheme" | b":authority" | b":protocol" => Self::Text,
            _ if !text.is_empty()
                && text.iter().all(|&byte| is_token(byte) && !byte.is_ascii_uppercase()) =>
            {
                Self::Field
            }
            _ => Self::Bad,
        }
    }

    fn of_static(index: usize) -> Self {
        match index {
            2 | 3 => Self::Method,
            1 | 4..=7 => Self::Text,
            8..=14 => Self::Bad,
            _ => Self::Field,
        }
    }

    /// Returns whether a field of this name may have the value (RFC 9113 §8.2.1, §8.3.1).
    fn takes(self, value: &[u8]) -> bool {
        match self {
            Self::Method => !value.is_empty() && value.iter().copied().all(is_token),
            Self::Text => std::str::from_utf8(value).is_ok() && value.iter().copied().all(is_visible),
            Self::Field => value.iter().all(|&byte| is_visible(byte) || byte == b'\t'),
            Self::Bad => false,
        }
    }
}

fn is_visible(byte: u8) -> bool {
    byte >= b' ' && byte != 0x7f
}

/// RFC 9110 §5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    name: usize,
    value: usize,
    kind: Name,
    /// A field that is this entry may be in a message.
    is_fine: bool,
}

/// A header block that can be decoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// All its fields may be in a message.
    Fine,
    /// This one is to be taken instead.
    Malformed(Vec<u8>),
}

/// The state of a connection's header compression.
#[derive(Debug)]
pub(crate) struct Decoder {
    entries: VecDeque<Entry>,
    size: usize,
    most: usize,
    /// Room for decoded texts.
    scratch: Vec<u8>,
}

/// A string literal (§5.2).
struct Literal<'a> {
    is_coded: bool,
    bytes: &'a [u8],
}

/// A part of a block that is still to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// An integer whose first byte has so many bits for it (§5.1).
    fn integer(&mut self, bits: u32) -> Result<usize, Fault> {
        let most = (1_usize << bits) - 1;
        let mut value = usize::from(self.byte()?) & most;
        if value < most {
            return Ok(value);
        }
        for shift in [0, 7, 14, 21] {
            let byte = self.byte()?;
            value += usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Fault::Compression)
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        let (first, rest) = self.0.split_first().ok_or(Fault::Compression)?;
        self.0 = rest;
        Ok(*first)
    }

    fn literal(&mut self) -> Result<Literal<'a>, Fault> {
        let is_coded = self.0.first().is_some_and(|byte| byte & 0x80 != 0);
        let length = self.integer(7)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Fault::Compression)?;
        self.0 = rest;
        Ok(Literal { is_coded, bytes })
    }
}

impl Literal<'_> {
    /// Hands over the decoded text.
    fn read<T>(&self, scratch: &mut Vec<u8>, look: impl FnOnce(&[u8]) -> T) -> Result<T, Fault> {
        if !self.is_coded {
            return Ok(look(self.bytes));
        }
        scratch.clear();
        huffman::decode(self.bytes, scratch).map_err(|_| Fault::Compression)?;
        Ok(look(scratch))
    }
}

/// A field with a malformed block: it has no place in HTTP/2 (RFC 9113 §8.2.2).
const CONNECTION: &[u8] = b"\x00\x0aconnection\x01x";

impl Decoder {
    pub(crate) fn new() -> Self {
        Self { entries: VecDeque::new(), size: 0, most: TABLE, scratch: Vec::new() }
    }

    /// Reads a block.
    pub(crate) fn check(&mut self, block: &[u8]) -> Result<Block, Fault> {
        let mut reader = Reader(block);
        let (mut changed, mut is_malformed, mut is_first) = (Vec::new(), false, true);
        while let Some(&first) = reader.0.first() {
            let begin = reader.0;
            let mut replaced = None;
            match first {
                0x80.. => {
                    let index = reader.integer(7)?;
                    is_malformed |= !self.entry(index)?.is_fine;
                }
                0x20..=0x3f => {
                    let most = reader.integer(5)?;
                    if !is_first || most > TABLE {
                        return Err(Fault::Compression);
                    }
                    self.resize(most);
                }
                _ => replaced = self.literal_field(first, &mut reader)?,
            }
            is_first &= first & 0xe0 == 0x20;
            is_malformed |= replaced.is_some();
            match replaced {
                Some(other) => changed.extend(other),
                None => changed.extend_from_slice(&begin[..begin.len() - reader.0.len()]),
            }
        }
        if !is_malformed {
            return Ok(Block::Fine);
        }
        changed.extend_from_slice(CONNECTION);
        Ok(Block::Malformed(changed))
    }

    /// A field that is a literal (§6.2); what is to be taken instead, if it may not be in a message.
    fn literal_field(&mut self, first: u8, reader: &mut Reader<'_>) -> Result<Option<Vec<u8>>, Fault> {
        let is_kept = first & 0x40 != 0;
        let index = reader.integer(if is_kept { 6 } else { 4 })?;
        let mut scratch = std::mem::take(&mut self.scratch);
        let (name, kind) = match index {
            0 => reader.literal()?.read(&mut scratch, |text| (text.len(), Name::of(text)))?,
            index => self.entry(index).map(|entry| (entry.name, entry.kind))?,
        };
        let (value, is_fine) = reader.literal()?.read(&mut scratch, |text| (text.len(), kind.takes(text)))?;
        self.scratch = scratch;
        if is_kept {
            self.insert(Entry { name, value, kind, is_fine });
        }
        match is_fine {
            true => Ok(None),
            // Nothing of this length could be in h2's table.
            false if name == 0 => Err(Fault::Protocol),
            false => Ok(Some(substitute(is_kept, name, value))),
        }
    }

    /// An entry of either table (§2.3.3).
    fn entry(&self, index: usize) -> Result<Entry, Fault> {
        let at = index.checked_sub(1).ok_or(Fault::Compression)?;
        match NAMES.get(at) {
            Some(&name) => {
                let kind = Name::of_static(index);
                Ok(Entry { name, value: 0, kind, is_fine: kind != Name::Bad })
            }
            None => self.entries.get(at - STATIC).copied().ok_or(Fault::Compression),
        }
    }

    fn insert(&mut self, entry: Entry) {
        let size = entry.name + entry.value + ENTRY;
        self.evict(self.most.saturating_sub(size));
        if size <= self.most {
            self.entries.push_front(entry);
            self.size += size;
        }
    }

    fn resize(&mut self, most: usize) {
        self.most = most;
        self.evict(most);
    }

    /// Removes the oldest entries until the others take no more than this.
    fn evict(&mut self, most: usize) {
        while self.size > most
            && let Some(oldest) = self.entries.pop_back()
        {
            self.size -= oldest.name + oldest.value + ENTRY;
        }
    }
}

/// A literal field whose texts are as long as these, and may be in a message.
fn substitute(is_kept: bool, name: usize, value: usize) -> Vec<u8> {
    let mut field = vec![if is_kept { 0x40 } else { 0 }];
    for length in [name, value] {
        integer(length, 7, &mut field);
        field.resize(field.len() + length, b'x');
    }
    field
}

fn integer(value: usize, bits: u32, out: &mut Vec<u8>) {
    let most = (1_usize << bits) - 1;
    if value < most {
        out.push(value as u8);
        return;
    }
    out.push(most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(prefix: u8, name: &str, value: &str) -> Vec<u8> {
        [&[prefix, name.len() as u8], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat()
    }

    #[test]
    fn requests_of_the_specification() {
        // RFC 7541 appendix C.4: three requests of a connection, Huffman coded.
        let mut decoder = Decoder::new();
        let first: &[u8] = &[
            0x82, 0x86, 0x84, 0x41, 0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4,
            0xff,
        ];
        let second: &[u8] = &[0x82, 0x86, 0x84, 0xbe, 0x58, 0x86, 0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf];
        let third: &[u8] = &[
            0x82, 0x87, 0x85, 0xbf, 0x40, 0x88, 0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xa9, 0x7d, 0x7f, 0x89, 0x25,
            0xa8, 0x49, 0xe9, 0x5b, 0xb8, 0xe8, 0xb4, 0xbf,
        ];
        for (block, size) in [(first, 57), (second, 110), (third, 164)] {
            assert_eq!(decoder.check(block), Ok(Block::Fine));
            assert_eq!(decoder.size, size);
        }
    }

    #[test]
    fn what_cannot_be_decoded() {
        let blocks: [&[u8]; 9] = [
            b"\x80",
            b"\xbe",
            b"\xff\xff\xff\xff\xff\xff",
            b"\x82\x3f",
            b"\x82\x20",
            b"\x3f\xe2\x1f",
            b"\x00\x05ab",
            b"\x00\x81\x00\x01a",
            b"\x7f\x00\x01a",
        ];
        for block in blocks {
            assert_eq!(Decoder::new().check(block), Err(Fault::Compression), "{block:x?}");
        }
        assert_eq!(Decoder::new().check(b"\x20\x3f\xe1\x1f\x82"), Ok(Block::Fine));
        assert_eq!(Decoder::new().check(b"\x00\x00\x01a"), Err(Fault::Protocol));
    }

    #[test]
    fn what_may_be_in_no_message_is_replaced_and_changes_the_table_alike() {
        let mut decoder = Decoder::new();
        let bad = [b"\x82", &field(0x40, "X-A", "abc")[..], b"\x84"].concat();
        let instead = [b"\x82", &field(0x40, "xxx", "xxx")[..], b"\x84", CONNECTION].concat();
        assert_eq!(decoder.check(&bad), Ok(Block::Malformed(instead)));
        assert_eq!(decoder.size, 38);
        assert_eq!(decoder.check(b"\xbe"), Ok(Block::Malformed([b"\xbe", CONNECTION].concat())));
        assert_eq!(
            decoder.check(b"\x7e\x01a"),
            Ok(Block::Malformed([&field(0x40, "xxx", "x")[..], CONNECTION].concat()))
        );
        for (name, value) in
            [("a", "b\nc"), ("a b", ""), (":status", "200"), (":none", "x"), (":method", "A B")]
        {
            let block = decoder.check(&field(0, name, value));
            assert!(matches!(block, Ok(Block::Malformed(_))), "{name}: {block:?}");
        }
        assert_eq!(decoder.check(&field(0x10, "x-a", "b\tc \u{e9}")), Ok(Block::Fine));
    }

    #[test]
    fn old_entries_make_room() {
        let mut decoder = Decoder::new();
        let long = "v".repeat(100);
        for _ in 0..100 {
            assert_eq!(decoder.check(&field(0x40, "name", &long)), Ok(Block::Fine));
        }
        assert_eq!((decoder.entries.len(), decoder.size), (30, 30 * 136));
        assert_eq!(decoder.check(b"\x20"), Ok(Block::Fine));
        assert_eq!(decoder.size, 0);
        assert_eq!(decoder.check(&field(0x40, "name", "v")), Ok(Block::Fine));
        assert_eq!(decoder.check(b"\xbe"), Err(Fault::Compression));
    }

    #[test]
    fn integers_are_written_as_they_are_read() {
        for value in [0, 126, 127, 128, 254, 255, 5000, 100_000] {
            let mut bytes = Vec::new();
            integer(value, 7, &mut bytes);
            let mut reader = Reader(&bytes);
            assert_eq!((reader.integer(7), reader.0.len()), (Ok(value), 0));
        }
    }
}
