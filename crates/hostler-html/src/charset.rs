//! The character set of a page: what its media type says, or its first bytes, its XML declaration, its `<meta>`.

/// Returns whether it is a text, or XML (RFC 7303).
#[must_use]
pub fn is_text(kind: &[u8]) -> bool {
    let kind = kind.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii().to_ascii_lowercase();
    kind.starts_with(b"text/") || kind == b"application/xml" || kind.ends_with(b"+xml")
}

/// The name of the character set that a page tells; the `<meta>` that does is taken out: it won't be true any more.
#[must_use]
pub fn sniff(kind: &[u8], page: &mut Vec<u8>) -> Option<String> {
    let of_kind = charset_of(kind);
    let of_mark = match &page[..] {
        [0xef, 0xbb, 0xbf, ..] => Some("utf-8"),
        [0xfe, 0xff, ..] | [0, b'<', 0, ..] => Some("utf-16be"),
        [0xff, 0xfe, ..] | [b'<', 0, ..] => Some("utf-16le"),
        _ => None,
    };
    let end = if page.starts_with(b"<?xml") { memchr::memmem::find(page, b"?>") } else { None };
    let of_declaration = end.and_then(|end| after(&page[..end], b"encoding="));
    let mut found = of_kind.or_else(|| of_mark.map(str::to_owned)).or(of_declaration);
    if let Some((start, end)) = meta(page) {
        found = found.or_else(|| after(&page[start..end], b"charset="));
        page.drain(start..end);
    }
    found
}

/// The name of the character set that a media type tells.
#[must_use]
pub fn charset_of(kind: &[u8]) -> Option<String> {
    after(kind, b"charset=")
}

/// The word behind this one.
fn after(text: &[u8], word: &[u8]) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let at = memchr::memmem::find(&lower, word)? + word.len();
    let rest = lower[at..].iter().skip_while(|byte| b"\"'".contains(byte));
    let name: Vec<u8> =
        rest.copied().take_while(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte)).collect();
    String::from_utf8(name).ok().filter(|name| !name.is_empty())
}

/// Finds the `<meta http-equiv=Content-Type>` element.
fn meta(page: &[u8]) -> Option<(usize, usize)> {
    let lower = page.to_ascii_lowercase();
    let mut from = 0;
    while let Some(at) = memchr::memmem::find(&lower[from..], b"<meta") {
        let start = from + at;
        // Where one tag has no end no later one has.
        let end = start + memchr::memchr(b'>', &lower[start..])? + 1;
        let tag = &lower[start..end];
        let names = memchr::memmem::find(tag, b"http-equiv").map(|at| &tag[at + 10..]);
        let value = names.and_then(|names| {
            let at = names.iter().position(|byte| !b" \t\r\n='\"".contains(byte))?;
            Some(&names[at..])
        });
        if value.is_some_and(|value| value.starts_with(b"content-type")) {
            return Some((start, end));
        }
        from = end;
    }
    None
}

/// Takes out what stands before the first of these elements.
pub fn skip(page: &mut Vec<u8>, starts: &[Box<str>]) {
    let begins = |at: &usize| {
        let rest = &page[at + 1..];
        let is = |name: &str| {
            rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
        };
        starts.iter().any(|name| is(name))
    };
    if let Some(at) = memchr::memchr_iter(b'<', page).find(begins) {
        page.drain(..at);
    }
}

/// A media type with another character set.
#[must_use]
pub fn with_charset(kind: &[u8], charset: &str) -> Vec<u8> {
    let lower = kind.to_ascii_lowercase();
    let Some(at) = memchr::memmem::find(&lower, b"charset=") else {
        return [kind, b";charset=", charset.as_bytes()].concat();
    };
    let (before, value) = kind.split_at(at + 8);
    let end = value.iter().position(|byte| b"; ".contains(byte)).unwrap_or(value.len());
    [before, charset.as_bytes(), &value[end..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_tells_its_character_set() {
        for (kind, page, expected) in [
            ("text/html; charset=\"KOI8-R\"", "<p>", Some("koi8-r")),
            ("text/html", "<p>", None),
            ("text/xml", "<?xml version='1.0' encoding='shift_jis'?><p>", Some("shift_jis")),
            ("text/html", "\u{feff}<p>", Some("utf-8")),
            (
                "text/html",
                "<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=windows-1251'><p>",
                Some("windows-1251"),
            ),
            ("text/html", "<meta name=x><meta http-equiv=refresh content='charset=x'><p>", None),
        ] {
            let mut page = page.as_bytes().to_vec();
            assert_eq!(sniff(kind.as_bytes(), &mut page).as_deref(), expected, "{kind}");
            assert!(page.ends_with(b"<p>") && !page.starts_with(b"<META"));
        }
        assert_eq!(with_charset(b"text/html; charset=x; a=b", "utf-8"), b"text/html; charset=utf-8; a=b");
        assert_eq!(with_charset(b"text/html", "utf-8"), b"text/html;charset=utf-8");
        assert!(is_text(b"Application/XHTML+XML; a=b") && !is_text(b"application/xmlx"));
    }

    #[test]
    fn what_stands_before_the_page_is_left_out() {
        for (page, expected) in [("x <b><HTML>", "<HTML>"), ("x <b>", "x <b>"), ("<html>", "<html>")] {
            let mut bytes = page.as_bytes().to_vec();
            skip(&mut bytes, &["html".into()]);
            assert_eq!(bytes, expected.as_bytes(), "{page}");
        }
    }
}
