//! Decoding of character entities, in attribute values and by the coding `entity`.
//!
//! mod_include knows the entities of ISO 8859-1 up to six letters and gives one byte for each. What is not
//! such an entity stays; a numeric reference outside printable ISO 8859-1 disappears.

use memchr::memchr;

/// Letters of the longest name.
const LONGEST_NAME: usize = 6;

/// Names by their length, with the byte each stands for.
const NAMES: [(&str, u8); 65] = [
    ("lt", 0x3c),
    ("gt", 0x3e),
    ("amp", 0x26),
    ("ETH", 0xd0),
    ("eth", 0xf0),
    ("quot", 0x22),
    ("Auml", 0xc4),
    ("Euml", 0xcb),
    ("Iuml", 0xcf),
    ("Ouml", 0xd6),
    ("Uuml", 0xdc),
    ("auml", 0xe4),
    ("euml", 0xeb),
    ("iuml", 0xef),
    ("ouml", 0xf6),
    ("uuml", 0xfc),
    ("yuml", 0xff),
    ("Acirc", 0xc2),
    ("Aring", 0xc5),
    ("AElig", 0xc6),
    ("Ecirc", 0xca),
    ("Icirc", 0xce),
    ("Ocirc", 0xd4),
    ("Ucirc", 0xdb),
    ("THORN", 0xde),
    ("szlig", 0xdf),
    ("acirc", 0xe2),
    ("aring", 0xe5),
    ("aelig", 0xe6),
    ("ecirc", 0xea),
    ("icirc", 0xee),
    ("ocirc", 0xf4),
    ("ucirc", 0xfb),
    ("thorn", 0xfe),
    ("Agrave", 0xc0),
    ("Aacute", 0xc1),
    ("Atilde", 0xc3),
    ("Ccedil", 0xc7),
    ("Egrave", 0xc8),
    ("Eacute", 0xc9),
    ("Igrave", 0xcc),
    ("Iacute", 0xcd),
    ("Ntilde", 0xd1),
    ("Ograve", 0xd2),
    ("Oacute", 0xd3),
    ("Otilde", 0xd5),
    ("Oslash", 0xd8),
    ("Ugrave", 0xd9),
    ("Uacute", 0xda),
    ("Yacute", 0xdd),
    ("agrave", 0xe0),
    ("aacute", 0xe1),
    ("atilde", 0xe3),
    ("ccedil", 0xe7),
    ("egrave", 0xe8),
    ("eacute", 0xe9),
    ("igrave", 0xec),
    ("iacute", 0xed),
    ("ntilde", 0xf1),
    ("ograve", 0xf2),
    ("oacute", 0xf3),
    ("otilde", 0xf5),
    ("oslash", 0xf8),
    ("ugrave", 0xf9),
    ("uacute", 0xfa),
];

/// Appends text with its entities decoded.
pub(crate) fn decode_entities(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr(b'&', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        // Only a numeric reference can be long; so a flood of ampersands costs no search each.
        let reach = if rest.get(1) == Some(&b'#') { rest.len() } else { rest.len().min(LONGEST_NAME + 2) };
        let end = memchr(b';', &rest[..reach]).unwrap_or(0);
        let name = rest.get(1..end).unwrap_or_default();
        if let Some(digits) = name.strip_prefix(b"#") {
            out.extend(numeric(digits));
            rest = &rest[end + 1..];
        } else if let Some(byte) = named(name) {
            out.push(byte);
            rest = &rest[end + 1..];
        } else {
            out.push(b'&');
            rest = &rest[1..];
        }
    }
    out.extend_from_slice(rest);
}

/// A byte that a numeric reference may stand for: tab, newline, or printable in ISO 8859-1.
fn numeric(digits: &[u8]) -> Option<u8> {
    let mut value = 0_u8;
    for digit in digits {
        let digit = char::from(*digit).to_digit(10)? as u8;
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    matches!(value, 9 | 10 | 32..=126 | 161..).then_some(value)
}

fn named(name: &[u8]) -> Option<u8> {
    NAMES.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, byte)| *byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        decode_entities(text.as_bytes(), &mut out);
        out
    }

    #[test]
    fn known_entities_become_one_byte() {
        assert_eq!(decoded("&lt;b&gt; &amp;&quot;&eacute;&#65;&#233;"), b"<b> &\"\xe9A\xe9");
    }

    #[test]
    fn others_stay_or_disappear() {
        assert_eq!(decoded("&nbsp;&euro;&toolongname;& ;&;"), b"&nbsp;&euro;&toolongname;& ;&;");
        assert_eq!(decoded("a&#0;b&#8364;c&#x41;d&#127;e&#999999999999;f"), b"abcdef");
        assert_eq!(decoded("no end &lt"), b"no end &lt");
    }
}
