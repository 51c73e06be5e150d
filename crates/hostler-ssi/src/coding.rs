//! The codings that `echo` and `set` apply to values, and the escapes they are made of.
//!
//! Apache's values are C strings, so a decoded NUL byte ends the value. Escapes follow `ap_escape_html2`,
//! `ap_escape_uri`, `ap_escape_urlencoded`, `ap_escape_shell_cmd`, `ap_unescape_url` and `apr_base64_decode`.

mod entity;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hostler_cgi::write_html;
use memchr::memchr;

pub(crate) use entity::decode_entities;

/// One word of an `encoding` or `decoding` list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Url,
    UrlEncoded,
    Base64,
    Entity,
}

/// A list of codings, applied in its order, up to a word that is no coding.
#[derive(Clone, Debug, Default)]
pub(crate) struct Codings {
    pub(crate) list: Vec<Coding>,
    /// The word that ended the list with an error.
    pub(crate) unknown: Option<Box<[u8]>>,
}

impl Codings {
    /// Splits at commas, spaces and tabs; `none` does nothing.
    pub(crate) fn parse(text: &[u8]) -> Codings {
        let mut codings = Codings::default();
        let words = text.split(|byte| matches!(byte, b',' | b' ' | b'\t')).filter(|word| !word.is_empty());
        for word in words {
            let coding = match word.to_ascii_lowercase().as_slice() {
                b"none" => continue,
                b"url" => Coding::Url,
                b"urlencoded" => Coding::UrlEncoded,
                b"base64" => Coding::Base64,
                b"entity" => Coding::Entity,
                _ => {
                    codings.unknown = Some(word.into());
                    break;
                }
            };
            codings.list.push(coding);
        }
        codings
    }

    pub(crate) fn entity() -> Codings {
        Codings { list: vec![Coding::Entity], unknown: None }
    }

    /// True if a value passes unchanged and without an error.
    pub(crate) fn is_none(&self) -> bool {
        self.list.is_empty() && self.unknown.is_none()
    }
}

impl Coding {
    pub(crate) fn decode(self, text: &[u8], out: &mut Vec<u8>) {
        match self {
            Coding::Url => unescape_url(text, out),
            Coding::UrlEncoded => unescape_form(text, out),
            Coding::Base64 => decode_base64(text, out),
            Coding::Entity => decode_entities(text, out),
        }
    }

    pub(crate) fn encode(self, text: &[u8], out: &mut Vec<u8>) {
        match self {
            Coding::Url => escape_bytes(text, is_plain_in_path, out),
            Coding::UrlEncoded => escape_form(text, out),
            Coding::Base64 => out.extend_from_slice(STANDARD.encode(text).as_bytes()),
            Coding::Entity => write_html(text, |part| out.extend_from_slice(part)),
        }
    }
}

/// The part of a value before its first NUL, as a C string ends there.
pub(crate) fn until_nul(text: &[u8]) -> &[u8] {
    memchr(0, text).map_or(text, |end| &text[..end])
}

/// Appends text with a backslash before each byte that a shell might act on (`ap_escape_shell_cmd`).
///
/// Made for `QUERY_STRING_UNESCAPED`. A newline is escaped as well, so a shell joins the lines.
pub fn shell_escape(text: &[u8], out: &mut Vec<u8>) {
    for byte in until_nul(text) {
        if b"&;`'\"|*?~<>^()[]{}$\\\n".contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
}

/// Appends text with each `%XX` decoded; a `%` without two hexadecimal digits stays (`ap_unescape_url`).
pub fn unescape_url(text: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    let mut rest = text;
    while let Some(at) = memchr(b'%', rest) {
        out.extend_from_slice(&rest[..at]);
        let decoded =
            rest.get(at + 1..at + 3).and_then(|digits| Some(hex(digits[0])? << 4 | hex(digits[1])?));
        out.push(decoded.unwrap_or(b'%'));
        rest = &rest[at + if decoded.is_some() { 3 } else { 1 }..];
    }
    out.extend_from_slice(rest);
    let kept = until_nul(&out[start..]).len();
    out.truncate(start + kept);
}

fn unescape_form(text: &[u8], out: &mut Vec<u8>) {
    let spaced: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    unescape_url(&spaced, out);
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// Decodes up to the first byte outside the alphabet, and leaves out a lone last digit.
fn decode_base64(text: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    let (mut bits, mut count) = (0_u32, 0);
    for value in text.iter().map_while(|byte| base64_value(*byte)) {
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    let kept = until_nul(&out[start..]).len();
    out.truncate(start + kept);
}

fn base64_value(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

/// Bytes that `ap_escape_uri` leaves alone.
fn is_plain_in_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"$-_.+!*'(),:;@&=/~".contains(&byte)
}

fn escape_bytes(text: &[u8], is_plain: fn(u8) -> bool, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in text {
        if is_plain(*byte) {
            out.push(*byte);
        } else {
            out.extend_from_slice(&[b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
}

/// A form's coding: a space becomes `+`, and only letters, digits and `.-*_` stay.
fn escape_form(text: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    escape_bytes(text, |byte| byte.is_ascii_alphanumeric() || b".-*_ ".contains(&byte), out);
    for byte in &mut out[start..] {
        if *byte == b' ' {
            *byte = b'+';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: &[u8] = b" !\"#$%&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~\xc3\xa9";

    fn encoded(coding: Coding, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        coding.encode(text, &mut out);
        out
    }

    fn decoded(coding: Coding, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        coding.decode(text, &mut out);
        out
    }

    #[test]
    fn url_and_form_codings_escape_as_apache_does() {
        let url: &[u8] = b"%20!%22%23$%25&'()*+,-./09:;%3c=%3e%3f@AZ%5b%5c%5d%5e_%60az%7b%7c%7d~%c3%a9";
        assert_eq!(encoded(Coding::Url, EVERYTHING), url);
        let form: &[u8] = b"+%21%22%23%24%25%26%27%28%29*%2b%2c-.%2f09%3a%3b%3c%3d%3e%3f%40AZ%5b%5c%5d%5e_%60az%7b%7c%7d%7e%c3%a9";
        assert_eq!(encoded(Coding::UrlEncoded, EVERYTHING), form);
        assert_eq!(decoded(Coding::UrlEncoded, form), EVERYTHING);
        assert_eq!(decoded(Coding::Url, b"a%zz%2fb%4+%"), b"a%zz/b%4+%");
        assert_eq!(decoded(Coding::Url, b"a%00b"), b"a");
    }

    #[test]
    fn entities_and_base64() {
        assert_eq!(encoded(Coding::Entity, b"<a href=\"x'y\">&"), b"&lt;a href=&quot;x'y&quot;&gt;&amp;");
        assert_eq!(encoded(Coding::Base64, b"ab"), b"YWI=");
        assert_eq!(decoded(Coding::Base64, b"YWI="), b"ab");
        assert_eq!(decoded(Coding::Base64, b"YWJjZ"), b"abc");
        assert_eq!(decoded(Coding::Base64, b"YW!Jj"), b"a");
    }

    #[test]
    fn lists_end_at_an_unknown_word() {
        let codings = Codings::parse(b"URL,\tbase64 none, rot13, entity");
        assert_eq!(codings.list, [Coding::Url, Coding::Base64]);
        assert_eq!(codings.unknown.as_deref(), Some(&b"rot13"[..]));
        assert!(Codings::parse(b" none,").is_none());
    }

    #[test]
    fn shell_characters_get_a_backslash() {
        let mut out = Vec::new();
        shell_escape(b"a=b;c & $(d)\n", &mut out);
        assert_eq!(out, b"a=b\\;c \\& \\$\\(d\\)\\\n");
    }
}
