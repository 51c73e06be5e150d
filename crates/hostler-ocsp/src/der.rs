//! As much of DER (X.690) as the protocol needs: elements with their tag and length, and times.

pub(crate) const BOOLEAN: u8 = 0x01;
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BITS: u8 = 0x03;
pub(crate) const OCTETS: u8 = 0x04;
pub(crate) const OBJECT: u8 = 0x06;
pub(crate) const ENUMERATED: u8 = 0x0a;
pub(crate) const TIME: u8 = 0x18;
pub(crate) const SEQUENCE: u8 = 0x30;

/// `[number]` around an element.
pub(crate) const fn explicit(number: u8) -> u8 {
    0xa0 | number
}

/// `content` with a tag and its length before it.
pub(crate) fn wrapped(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let significant = &length[length.iter().take_while(|byte| **byte == 0).count()..];
    let mut out = vec![tag];
    match significant {
        [] => out.push(0),
        [byte] if *byte < 0x80 => out.push(*byte),
        // As many bytes as a usize has at most.
        bytes => {
            out.push(0x80 | bytes.len() as u8);
            out.extend_from_slice(bytes);
        }
    }
    out.extend_from_slice(content);
    out
}

/// Elements one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements<'a>(pub(crate) &'a [u8]);

impl<'a> Elements<'a> {
    /// The next one: its tag and content.
    pub(crate) fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (tag, rest) = self.0.split_first()?;
        // Tags of several bytes are none of this protocol's.
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            short @ 0..=0x7f => (usize::from(*short), rest),
            long => {
                let (bytes, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
                if bytes.is_empty() || bytes.len() > 4 {
                    return None;
                }
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, content))
    }

    /// The content of the next one, which has this tag.
    pub(crate) fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next_if(tag)
    }

    /// The same, where it may be lacking.
    pub(crate) fn next_if(&mut self, tag: u8) -> Option<&'a [u8]> {
        let mut after = *self;
        let (found, content) = after.next()?;
        (found == tag).then(|| {
            *self = after;
            content
        })
    }

    /// The next one, which has this tag, with its head.
    pub(crate) fn whole(&mut self, tag: u8) -> Option<&'a [u8]> {
        let before = self.0;
        self.expect(tag)?;
        before.get(..before.len() - self.0.len())
    }

    /// The elements in the next one, which has this tag.
    pub(crate) fn inside(&mut self, tag: u8) -> Option<Self> {
        self.expect(tag).map(Self)
    }
}

/// Seconds since 1970 of a GeneralizedTime (`YYYYMMDDHHMMSSZ`, RFC 5280 §4.1.2.5.2).
pub(crate) fn seconds(text: &[u8]) -> Option<i64> {
    let (digits, zone) = text.split_at_checked(14)?;
    if zone != b"Z" || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = |at: usize, width: usize| {
        digits[at..at + width].iter().fold(0_i64, |sum, digit| sum * 10 + i64::from(digit - b'0'))
    };
    let (year, month, day) = (number(0, 4), number(4, 2), number(6, 2));
    let (hour, minute, second) = (number(8, 2), number(10, 2), number(12, 2));
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Years begin in March here, so that the day that some of them lack is their last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (month * 153 + 2) / 5
        + day
        - 1
        - 719_468;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_all_sizes() {
        for length in [0, 1, 127, 128, 255, 256, 70_000] {
            let content = vec![7; length];
            let encoded = wrapped(OCTETS, &content);
            let mut elements = Elements(&encoded);
            assert_eq!(elements.next(), Some((OCTETS, &content[..])), "{length}");
            assert!(elements.0.is_empty());
        }
        assert_eq!(wrapped(OCTETS, &[0; 200])[..3], [OCTETS, 0x81, 200]);
        for broken in [&b"\x04"[..], b"\x04\x05abc", b"\x04\x80", b"\x04\x85\0\0\0\0\x01a", b"\x1f\x01\x01a"]
        {
            assert_eq!(Elements(broken).next(), None, "{broken:?}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(seconds(b"19700101000000Z"), Some(0));
        assert_eq!(seconds(b"20000229120000Z"), Some(951_825_600));
        assert_eq!(seconds(b"20261126210859Z"), Some(1_795_727_339));
        for broken in
            [&b"20261126210859"[..], b"20261326210859Z", b"2026112621085xZ", b"20261126210859+0100", b""]
        {
            assert_eq!(seconds(broken), None, "{broken:?}");
        }
    }
}
