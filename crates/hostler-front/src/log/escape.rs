//! Escaping of messages in the error log: whatever a client or a program puts into them, a line stays one line and is
//! safe for a terminal.

/// Appends `text`; control characters, bytes that are not ASCII and the backslash are escaped as Apache does it
/// (`\n`, `\xhh`, `\\`). Quotes stay.
pub(super) fn push_escaped(text: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for &byte in text {
        let short = match byte {
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0b => b'v',
            b' '..=b'~' => {
                out.push(byte);
                continue;
            }
            _ => {
                out.extend_from_slice(&[
                    b'\\',
                    b'x',
                    DIGITS[usize::from(byte >> 4)],
                    DIGITS[usize::from(byte & 15)],
                ]);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', short]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_forge_a_line_is_escaped() {
        let mut out = Vec::new();
        push_escaped(b"a\nb\r\t\x08\x0b\x00\x1b[31m\\ \"q\" \xc3\xa4", &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "a\\nb\\r\\t\\b\\v\\x00\\x1b[31m\\\\ \"q\" \\xc3\\xa4");
    }
}
