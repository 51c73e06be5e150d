//! Cuts a byte stream into records, wherever it is split. Content is handed on as it comes, not gathered: a record of
//! 64 KiB that trickles in takes no memory here.

use crate::record::{HEADER, Header, Malformed};

/// Part of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A record begins.
    Begin(Header),
    /// Content of the record that has begun, not empty; its next part, if not all of it.
    Content(Header, &'a [u8]),
    /// All of the record's content has come; what follows is padding at most.
    End(Header),
}

/// The splitter.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// The header of the next record, as far as it has come.
    head: [u8; HEADER],
    filled: usize,
    /// The record that has begun and whose content has not all come.
    open: Option<(Header, u16)>,
    /// Bytes of padding that are still to come.
    padding: u8,
}

impl Records {
    /// Returns the next piece in these bytes, and how many of them it uses. `None`: all are used, and more are needed.
    /// Call it again with the rest.
    ///
    /// # Errors
    /// [`Malformed::Version`]; nothing after it can be understood.
    pub fn next<'a>(&mut self, bytes: &'a [u8]) -> Result<(usize, Option<Piece<'a>>), Malformed> {
        if let Some((header, left)) = self.open {
            return Ok(self.content(header, left, bytes));
        }
        let skipped = bytes.len().min(usize::from(self.padding));
        self.padding -= skipped as u8;
        let rest = &bytes[skipped..];
        let taken = rest.len().min(HEADER - self.filled);
        self.head[self.filled..self.filled + taken].copy_from_slice(&rest[..taken]);
        self.filled += taken;
        if self.filled < HEADER {
            return Ok((bytes.len(), None));
        }
        self.filled = 0;
        let header = Header::decode(self.head)?;
        self.open = Some((header, header.content));
        Ok((skipped + taken, Some(Piece::Begin(header))))
    }

    fn content<'a>(&mut self, header: Header, left: u16, bytes: &'a [u8]) -> (usize, Option<Piece<'a>>) {
        if left == 0 {
            self.open = None;
            self.padding = header.padding;
            return (0, Some(Piece::End(header)));
        }
        let taken = bytes.len().min(usize::from(left));
        if taken == 0 {
            return (0, None);
        }
        self.open = Some((header, left - taken as u16));
        (taken, Some(Piece::Content(header, &bytes[..taken])))
    }

    /// Returns whether the stream may end here: between two records.
    #[must_use]
    pub fn is_between(&self) -> bool {
        self.open.is_none() && self.filled == 0 && self.padding == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RecordType;
    use proptest::prelude::*;

    /// The records in these pieces, contents joined.
    fn cut(pieces: &[&[u8]]) -> Result<Vec<(Header, Vec<u8>)>, Malformed> {
        let (mut records, mut found) = (Records::default(), Vec::<(Header, Vec<u8>)>::new());
        for piece in pieces {
            let mut rest = *piece;
            loop {
                let (used, part) = records.next(rest)?;
                rest = &rest[used..];
                match part {
                    Some(Piece::Begin(header)) => found.push((header, Vec::new())),
                    Some(Piece::Content(_, bytes)) => found.last_mut().unwrap().1.extend_from_slice(bytes),
                    Some(Piece::End(_)) => {}
                    None => break,
                }
            }
            assert!(rest.is_empty());
        }
        Ok(found)
    }

    fn record(content: &[u8], padding: u8) -> (Header, Vec<u8>) {
        let content_length = content.len() as u16;
        let header = Header { kind: RecordType::Stdout, request: 1, content: content_length, padding };
        let bytes = [&header.encode()[..], content, &vec![0xAA; padding.into()]].concat();
        (header, bytes)
    }

    proptest! {
        #[test]
        fn records_are_the_same_wherever_they_are_split(
            records in proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..40), 0_u8..9), 1..5),
            cuts in proptest::collection::vec(0_usize..200, 0..9),
        ) {
            let all: Vec<_> = records.iter().map(|(content, padding)| record(content, *padding)).collect();
            let bytes: Vec<u8> = all.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
            let expected: Vec<_> =
                all.iter().zip(&records).map(|((header, _), (content, _))| (*header, content.clone())).collect();
            let mut cuts: Vec<_> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<_> = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
            prop_assert_eq!(cut(&pieces), Ok(expected));
        }
    }

    #[test]
    fn a_stream_may_end_between_records_only() {
        let (_, bytes) = record(b"abc", 2);
        for length in 1..bytes.len() {
            let mut records = Records::default();
            let mut rest = &bytes[..length];
            while let (used, Some(_)) = records.next(rest).unwrap() {
                rest = &rest[used..];
            }
            assert!(!records.is_between(), "{length}");
        }
        assert!(Records::default().is_between());
    }
}
