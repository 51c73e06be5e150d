//! Text in HTML. All of Hostler's pages are written with this.

/// Writes text with `<`, `>`, `&` and `"` as entities: as it stands in HTML and in the values of its
/// attributes, in as few parts as possible (`ap_escape_html2`).
pub fn write_html(text: &[u8], mut write: impl FnMut(&[u8])) {
    let mut start = 0;
    for (at, byte) in text.iter().enumerate() {
        let entity: &[u8] = match byte {
            b'<' => b"&lt;",
            b'>' => b"&gt;",
            b'&' => b"&amp;",
            b'"' => b"&quot;",
            _ => continue,
        };
        if start < at {
            write(&text[start..at]);
        }
        write(entity);
        start = at + 1;
    }
    if start < text.len() {
        write(&text[start..]);
    }
}

/// The same, as one piece.
#[must_use]
pub fn escape_html(text: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(text.len());
    write_html(text, |part| escaped.extend_from_slice(part));
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        let mut parts = 0;
        write_html(b"plain", |_| parts += 1);
        assert_eq!((parts, escape_html(b"<a b=\"c\">&'")), (1, b"&lt;a b=&quot;c&quot;&gt;&amp;'".to_vec()));
        assert!(escape_html(b"").is_empty());
    }
}
