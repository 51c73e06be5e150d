//! Name-value pairs (§3.4): lengths up to 127 in one byte, others in four with the highest bit set.

use crate::record::Malformed;

/// A name or a value of 2³¹ bytes or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a name or a value of {0} bytes")]
pub struct TooLong(usize);

impl TooLong {
    pub(crate) const fn of(length: usize) -> Self {
        Self(length)
    }
}

/// The longest length that one byte holds.
const SHORT: usize = 0x7F;
/// The highest bit of a length of four bytes.
const MARK: u32 = 1 << 31;

/// Appends a pair.
///
/// # Errors
/// [`TooLong`]; nothing has been appended then.
pub fn pair(name: &[u8], value: &[u8], out: &mut Vec<u8>) -> Result<(), TooLong> {
    let before = out.len();
    let lengths = length(name.len(), out).and_then(|()| length(value.len(), out));
    if lengths.is_err() {
        out.truncate(before);
        return lengths;
    }
    out.extend_from_slice(name);
    out.extend_from_slice(value);
    Ok(())
}

fn length(length: usize, out: &mut Vec<u8>) -> Result<(), TooLong> {
    match u32::try_from(length) {
        Ok(short) if length <= SHORT => out.push(short as u8),
        Ok(long) if long < MARK => out.extend_from_slice(&(long | MARK).to_be_bytes()),
        _ => return Err(TooLong(length)),
    }
    Ok(())
}

/// The pairs in the content of a record, or of a whole stream.
#[derive(Clone, Debug)]
pub struct Pairs<'a>(&'a [u8]);

impl<'a> Pairs<'a> {
    /// Iterates over the pairs in these bytes.
    #[must_use]
    pub const fn of(content: &'a [u8]) -> Self {
        Self(content)
    }

    fn length(&mut self) -> Option<usize> {
        let (first, rest) = self.0.split_first()?;
        if usize::from(*first) <= SHORT {
            self.0 = rest;
            return Some(usize::from(*first));
        }
        let (four, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        usize::try_from(u32::from_be_bytes(*four) & !MARK).ok()
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn pair(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let (name, value) = (self.length()?, self.length()?);
        Some((self.take(name)?, self.take(value)?))
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = Result<(&'a [u8], &'a [u8]), Malformed>;

    /// After an error there is nothing more.
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let pair = self.pair().ok_or(Malformed::Pairs);
        if pair.is_err() {
            self.0 = &[];
        }
        Some(pair)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(pairs: &[(&[u8], &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        pairs.iter().for_each(|(name, value)| pair(name, value, &mut out).unwrap());
        out
    }

    #[test]
    fn lengths_take_one_byte_or_four() {
        assert_eq!(encoded(&[(b"A", b"bc")]), b"\x01\x02Abc");
        let long = vec![b'x'; 128];
        assert_eq!(&encoded(&[(b"A", &long)])[..6], b"\x01\x80\0\0\x80A");
        assert_eq!(encoded(&[(b"A", &long[1..])])[..2], [1, 127]);
    }

    #[test]
    fn what_is_cut_off_is_an_error_once() {
        for cut in [&b"\x01"[..], b"\x01\x02A", b"\x01\x80\0\0", b"\xff\xff\xff\xff\xff\xff\xff\xffx"] {
            let all: Vec<_> = Pairs::of(cut).collect();
            assert_eq!(all, [Err(Malformed::Pairs)], "{cut:?}");
        }
    }

    proptest! {
        #[test]
        fn pairs_are_what_they_were(
            pairs in proptest::collection::vec(
                (proptest::collection::vec(any::<u8>(), 0..300), proptest::collection::vec(any::<u8>(), 0..300)), 0..9
            )
        ) {
            let mut out = Vec::new();
            for (name, value) in &pairs {
                pair(name, value, &mut out).unwrap();
            }
            let back: Result<Vec<_>, _> =
                Pairs::of(&out).map(|p| p.map(|(name, value)| (name.to_vec(), value.to_vec()))).collect();
            prop_assert_eq!(back, Ok(pairs));
        }
    }
}
