//! Escaping of foreign bytes in a log: no quote, control character or non-ASCII byte appears as it is.

/// Appends `text` as Apache's logs show it: `\"`, `\\`, `\n` and so on, `\xhh` for what else does not print.
pub fn push_escaped(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    loop {
        let (plain, special) = rest.split_at(plain_length(rest));
        out.extend_from_slice(plain);
        let Some((&byte, after)) = special.split_first() else { return };
        rest = after;
        match byte {
            0x08 => out.extend_from_slice(b"\\b"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x0b => out.extend_from_slice(b"\\v"),
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            byte => push_hex(byte, out),
        }
    }
}

fn is_plain(byte: u8) -> bool {
    byte.wrapping_sub(b' ') <= b'~' - b' ' && byte != b'"' && byte != b'\\'
}

/// Returns how many bytes at the start need no escape. Nearly all text needs none, so it is checked in blocks, without
/// a branch for each byte.
fn plain_length(text: &[u8]) -> usize {
    const BLOCK: usize = 16;
    let whole = |block: &&[u8]| block.iter().fold(true, |plain, byte| plain & is_plain(*byte));
    let skipped = text.chunks_exact(BLOCK).take_while(whole).count() * BLOCK;
    skipped + text[skipped..].iter().take_while(|byte| is_plain(**byte)).count()
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
        let cases: [(&[u8], &str); 6] = [
            (b"plain ~text", "plain ~text"),
            (b"a\"b\\c", "a\\\"b\\\\c"),
            (b"\x08\n\r\t\x0b", "\\b\\n\\r\\t\\v"),
            (b"\x00\x1b\x7f\xc3\xa4", "\\x00\\x1b\\x7f\\xc3\\xa4"),
            (b"", ""),
            (
                b"0123456789abcdef0123456789abcde\"0123456789abcdef",
                "0123456789abcdef0123456789abcde\\\"0123456789abcdef",
            ),
        ];
        for (text, expected) in cases {
            let mut out = Vec::new();
            push_escaped(text, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        }
    }
}
