//! The text of a session: its entries as in the query of a URL, `name=value&name=value`.

use crate::values::table::Table;

/// Adds the entries of a text. What has no value is taken out; what is badly escaped is passed over.
pub(super) fn decode(encoded: &[u8], entries: &mut Table) {
    for pair in encoded.split(|&b| b == b'&') {
        let start = pair.iter().position(|&b| b != b'=').unwrap_or(pair.len());
        let pair = &pair[start..];
        let end = pair.iter().position(|&b| b == b'=').unwrap_or(pair.len());
        let (name, value) = (&pair[..end], pair.get(end + 1..).unwrap_or_default());
        if name.is_empty() {
            continue;
        }
        if value.is_empty() {
            entries.unset(name);
        } else if let (Some(name), Some(value)) = (unescaped(name), unescaped(value)) {
            entries.set(name, value);
        }
    }
}

/// The text of entries.
pub(super) fn encode(entries: &Table) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in entries.iter() {
        if !out.is_empty() {
            out.push(b'&');
        }
        push_escaped(name, &mut out);
        out.push(b'=');
        push_escaped(value, &mut out);
    }
    out
}

/// As much of a number as there is (`atoi`).
pub(super) fn number(text: &[u8]) -> i64 {
    let digits = text.iter().take_while(|b| b.is_ascii_digit());
    digits.fold(0, |n: i64, b| n.saturating_mul(10).saturating_add(i64::from(b - b'0')))
}

fn push_escaped(text: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for &byte in text {
        match byte {
            b' ' => out.push(b'+'),
            b'.' | b'-' | b'*' | b'_' => out.push(byte),
            _ if byte.is_ascii_alphanumeric() => out.push(byte),
            _ => out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]),
        }
    }
}

fn unescaped(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |b: &u8| char::from(*b).to_digit(16);
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let value = digit(bytes.next()?)? * 16 + digit(bytes.next()?)?;
                u8::try_from(value).ok().filter(|byte| *byte != 0)?
            }
            byte => *byte,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(text: &str) -> String {
        let mut entries = Table::default();
        decode(text.as_bytes(), &mut entries);
        String::from_utf8(encode(&entries)).unwrap()
    }

    #[test]
    fn what_was_written_is_read() {
        assert_eq!(again("a=b&c+d=%C3%9F%20%25"), "a=b&c+d=%c3%9f+%25");
        assert_eq!(again("&&a=1&=&b=&c&==d=e=f"), "a=1&d=e%3df");
        assert_eq!(again("a=1&A=2&b=3&b="), "a=2");
        assert_eq!(again("a=%00&b=%zz&c=%4&d=4"), "d=4");
        assert_eq!(again("a=%0d%0ax"), "a=%0d%0ax");
    }

    #[test]
    fn numbers_are_read_as_far_as_they_go() {
        assert_eq!((number(b"12x"), number(b""), number(&[b'9'; 40])), (12, 0, i64::MAX));
    }
}
