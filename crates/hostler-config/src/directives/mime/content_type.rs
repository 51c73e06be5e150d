//! Putting a character set into a media type.

use std::borrow::Cow;

/// The media type with AddCharset's character set in place of its own, and its parameters in mod_mime's
/// spelling: `; ` before each. What is not a media type stays as it is.
pub(super) fn with_charset<'a>(media_type: Cow<'a, str>, charset: Option<&str>) -> Cow<'a, str> {
    if charset.is_none() && !media_type.contains(';') {
        return media_type;
    }
    rewritten(&media_type, charset).map_or(media_type, Cow::Owned)
}

fn rewritten(media_type: &str, charset: Option<&str>) -> Option<String> {
    let (essence, parameters) = media_type.split_once(';').unwrap_or((media_type, ""));
    let (kind, subtype) = essence.trim().split_once('/')?;
    let (kind, subtype) = (kind.trim(), subtype.split_whitespace().next()?);
    let mut out = format!("{kind}/{subtype}");
    let mut pending = charset;
    for parameter in split_parameters(parameters) {
        let (name, value) = parameter.split_once('=')?;
        match (name.trim(), charset) {
            ("charset", Some(_)) => {
                if let Some(charset) = pending.take() {
                    out.extend(["; charset=", charset]);
                }
            }
            (name, _) => out.extend(["; ", name, "=", value.trim()]),
        }
    }
    if let Some(charset) = pending {
        out.extend(["; charset=", charset]);
    }
    Some(out)
}

/// Splits at semicolons outside of quotes.
fn split_parameters(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() {
            return None;
        }
        let (mut quoted, mut escaped) = (false, false);
        let end = rest.bytes().position(|byte| {
            let ends = byte == b';' && !quoted;
            quoted ^= byte == b'"' && !escaped;
            escaped = byte == b'\\' && quoted && !escaped;
            ends
        });
        let (parameter, after) = end.map_or((rest, ""), |end| (&rest[..end], &rest[end + 1..]));
        rest = after;
        Some(parameter)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn character_sets() {
        for (media_type, charset, expected) in [
            ("text/html", None, "text/html"),
            ("text/html", Some("utf-8"), "text/html; charset=utf-8"),
            ("text/html;charset=latin1;a=b", Some("utf-8"), "text/html; charset=utf-8; a=b"),
            ("text/html;charset=latin1;a=b", None, "text/html; charset=latin1; a=b"),
            ("text/html; a=\"x;charset=y\"", Some("utf-8"), "text/html; a=\"x;charset=y\"; charset=utf-8"),
            ("my-handler", Some("utf-8"), "my-handler"),
            ("text / html ; a = b", None, "text/html; a=b"),
        ] {
            assert_eq!(with_charset(media_type.into(), charset), expected, "{media_type}");
        }
    }
}
