//! The fields of a negotiated response: `Vary`, `TCN`, `Alternates` (RFC 2295), and the list of variants for people.

use super::variant::Variant;
use crate::request::Request;
use bytes::Bytes;
use hostler_cgi::escape_html;
use hostler_config::directives::alias::escape_path;
use std::fmt::Write as _;

/// True if a variant was chosen, or there is but a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Result {
    Choice,
    List,
}

/// The fields about negotiation.
pub(super) fn fields(
    request: &mut Request,
    variants: &[Variant],
    transparent: bool,
    alternates: bool,
    result: Result,
) {
    if alternates && !variants.is_empty() {
        let list: Vec<String> = variants.iter().map(alternate).collect();
        request.reply.err_headers_out.merge("Alternates", &Bytes::from(list.join(", ")));
    }
    let differ = |side: fn(&Variant) -> String| {
        variants.first().is_some_and(|first| variants.iter().any(|other| side(other) != side(first)))
    };
    let sides: [(bool, &str); 5] = [
        (transparent, "negotiate"),
        (differ(|v| v.media_type.clone()), "accept"),
        (differ(|v| v.languages.join(",")), "accept-language"),
        (differ(|v| v.charset.clone()), "accept-charset"),
        (differ(|v| v.encoding.clone().unwrap_or_default()), "accept-encoding"),
    ];
    let names: Vec<&str> = sides.into_iter().filter(|(differs, _)| *differs).map(|(_, name)| name).collect();
    if !names.is_empty() {
        request.reply.err_headers_out.merge("Vary", &Bytes::from(names.join(",")));
    }
    if transparent {
        let text: &[u8] = if result == Result::List { b"list" } else { b"choice" };
        request.reply.err_headers_out.set("TCN", Bytes::from_static(text));
    }
}

/// A segment of a path as a relative URL: a colon in it must not look like a scheme's.
pub(super) fn escape(file: &str) -> Vec<u8> {
    escape_path(file.as_bytes())
}

/// An element of `Alternates` (RFC 2295 §5).
fn alternate(variant: &Variant) -> String {
    let file = String::from_utf8_lossy(&escape(&variant.file)).into_owned();
    let mut text = format!("{{\"{file}\" {}", quality(variant.source_quality));
    let mut say = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = write!(text, " {{{name} {value}}}");
        }
    };
    say("type", &variant.media_type);
    say("charset", &variant.charset);
    say("language", &variant.languages.join(","));
    say("encoding", variant.encoding.as_deref().unwrap_or_default());
    if let Some(length) = variant.length.filter(|_| !variant.has_handler) {
        say("length", &length.to_string());
    }
    text.push('}');
    text
}

/// With three digits after the point, and no zeros at the end.
fn quality(value: f32) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The list for people, in HTML.
pub(super) fn list(variants: &[Variant]) -> String {
    let html = |text: &str| String::from_utf8_lossy(&escape_html(text.as_bytes())).into_owned();
    let mut out = String::from("Available variants:\n<ul>\n");
    for variant in variants {
        let href = html(&String::from_utf8_lossy(&escape(&variant.file)));
        let _ = write!(out, "<li><a href=\"{href}\">{}</a> ", html(&variant.file));
        out.push_str(&html(&variant.description));
        let languages = variant.languages.join(",");
        let sides = [
            ("type", &variant.media_type[..]),
            ("language", &languages),
            ("charset", &variant.charset),
            ("encoding", variant.encoding.as_deref().unwrap_or_default()),
        ];
        for (name, value) in sides.into_iter().filter(|(_, value)| !value.is_empty()) {
            let _ = write!(out, ", {name} {}", html(value));
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualities_are_short() {
        assert_eq!([1.0, 0.5, 0.25, 0.001, 0.0].map(quality), ["1", "0.5", "0.25", "0.001", "0"]);
    }

    #[test]
    fn a_list_is_html() {
        let variant = Variant { file: "<a&b>".into(), media_type: "text/html".into(), ..Variant::default() };
        assert!(
            list(&[variant]).contains("<a href=\"%3ca&amp;b%3e\">&lt;a&amp;b&gt;</a> , type text/html</li>")
        );
    }
}
