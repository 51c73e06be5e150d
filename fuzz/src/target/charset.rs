//! The character set of a page, as it and its media type tell it.

use hostler_html::charset::{charset_of, is_text, skip, sniff, with_charset};

/// The input is the media type, a line end, and the page.
pub fn target(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (kind, page) = data.split_at(end);
    let _ = is_text(kind);
    let changed = with_charset(kind, "utf-8");
    assert_eq!(charset_of(&changed).as_deref(), Some("utf-8"), "what was said is what is read");
    let mut rest = page.to_vec();
    if let Some(name) = sniff(kind, &mut rest) {
        assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()), "{name:?}");
    }
    assert!(rest.len() <= page.len(), "nothing is added");
    let before = rest.clone();
    skip(&mut rest, &["html".into(), "p".into()]);
    assert!(before.ends_with(&rest), "only what stands before is left out");
}
