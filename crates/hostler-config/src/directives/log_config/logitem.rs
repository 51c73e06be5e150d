//! How foreign bytes look in a log: no quote, control character or non-ASCII byte as it stands.

/// Appends `text` as Apache's logs show it: `\"`, `\\`, `\n` and so on, `\xhh` for what else does not print.
pub fn push_escaped(text: &[u8], out: &mut Vec<u8>) {
    let mut copied = 0;
    for (at, byte) in text.iter().enumerate() {
        if matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\') {
            continue;
        }
        out.extend_from_slice(&text[copied..at]);
        copied = at + 1;
        match byte {
            0x08 => out.extend_from_slice(b"\\b"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x0b => out.extend_from_slice(b"\\v"),
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            byte => push_hex(*byte, out),
        }
    }
    out.extend_from_slice(&text[copied..]);
}

fn push_hex(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"\\x");
    out.push(DIGITS[usize::from(byte >> 4)]);
    out.push(DIGITS[usize::from(byte & 15)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_print_is_escaped() {
        let cases: [(&[u8], &str); 5] = [
            (b"plain ~text", "plain ~text"),
            (b"a\"b\\c", "a\\\"b\\\\c"),
            (b"\x08\n\r\t\x0b", "\\b\\n\\r\\t\\v"),
            (b"\x00\x1b\x7f\xc3\xa4", "\\x00\\x1b\\x7f\\xc3\\xa4"),
            (b"", ""),
        ];
        for (text, expected) in cases {
            let mut out = Vec::new();
            push_escaped(text, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        }
    }
}
