//! The functions that only change a text: escapes, base64, hexadecimal, LDAP. (Upper and lower case are the
//! standard library's ASCII ones: Apache runs in the C locale.)

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Upper half of the table that decides what `escape()` leaves alone: letters, digits and these.
const PATH_SAFE: &[u8] = b"$-_.+!*'(),:;@&=/~";

/// `escape()`: everything outside letters, digits and [`PATH_SAFE`] becomes `%hh`, in lower case.
pub(crate) fn escape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 8);
    for &byte in text {
        if byte.is_ascii_alphanumeric() || PATH_SAFE.contains(&byte) {
            out.push(byte);
        } else {
            out.push(b'%');
            push_hex(&mut out, byte);
        }
    }
    out
}

fn push_hex(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(DIGITS[usize::from(byte >> 4)]);
    out.push(DIGITS[usize::from(byte & 15)]);
}

/// Lower-case hexadecimal digits of a digest.
pub(crate) fn hex(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() * 2);
    bytes.iter().for_each(|byte| push_hex(&mut out, *byte));
    out
}

/// `unescape()`: decodes `%hh`, but leaves `%2F` as it is. A malformed escape or `%00` makes the whole result
/// empty, as in Apache.
pub(crate) fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            out.push(*first);
            continue;
        }
        let [high, low, after @ ..] = tail else { return Vec::new() };
        let (Some(high_value), Some(low_value)) = (hex_value(*high), hex_value(*low)) else {
            return Vec::new();
        };
        rest = after;
        match high_value * 16 + low_value {
            0 => return Vec::new(),
            b'/' => out.extend_from_slice(&[b'%', *high, *low]),
            byte => out.push(byte),
        }
    }
    out
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// `base64()`
pub(crate) fn base64(text: &[u8]) -> Vec<u8> {
    STANDARD.encode(text).into_bytes()
}

/// `unbase64()`: stops at the first character that is not of the alphabet; padding is optional.
pub(crate) fn unbase64(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut bits, mut count) = (0_u32, 0);
    for digit in text.iter().map_while(|byte| base64_value(*byte)) {
        bits = (bits << 6) | digit;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count).to_le_bytes()[0]);
        }
    }
    until_nul(out)
}

fn base64_value(byte: u8) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

/// Quirk(apache): values are C strings, so whatever decodes or reads bytes stops at a NUL.
pub(crate) fn until_nul(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(end) = memchr::memchr(0, &bytes) {
        bytes.truncate(end);
    }
    bytes
}

/// `ldap()`: escapes for both distinguished names (RFC 4514) and filters (RFC 4515), as `\hh`. Quirk(apache):
/// `#`, `=` and spaces stay, also where a distinguished name would need them escaped.
pub(crate) fn ldap(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 8);
    for &byte in text {
        if byte.is_ascii_control() || byte >= 0x7f || b"\\\"+,;<>*()".contains(&byte) {
            out.push(b'\\');
            push_hex(&mut out, byte);
        } else {
            out.push(byte);
        }
    }
    out
}

/// The integer at the beginning of a text, as C's `strtoll`: white space, sign, digits; saturating; 0 for none.
pub(crate) fn integer(text: &[u8]) -> i64 {
    let text = match text.iter().position(|byte| !byte.is_ascii_whitespace() && *byte != 0x0b) {
        Some(start) => &text[start..],
        None => return 0,
    };
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let mut value = 0_i64;
    for digit in digits.iter().take_while(|byte| byte.is_ascii_digit()) {
        let digit = i64::from(digit - b'0');
        value = value.saturating_mul(10);
        value = if negative { value.saturating_sub(digit) } else { value.saturating_add(digit) };
    }
    value
}

/// `-T`: false for the empty string, `off`, `no`, `false` (any case) and `0`.
pub(crate) fn is_truthy(text: &[u8]) -> bool {
    !(text.is_empty()
        || text == b"0"
        || [&b"off"[..], b"no", b"false"].iter().any(|word| text.eq_ignore_ascii_case(word)))
}
