//! A client's preferences (RFC 9110 §12.5), in the lax form that Apache reads: `Accept` and related fields, and the
//! same form in type maps and media types with their parameters.

/// Entries of a field that are looked at; what follows is as good as not said.
const MOST: usize = 256;

/// One entry: a media type, language, character set or coding, and its parameters. All in lower case.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entry {
    pub(super) name: String,
    /// `q` or `qs`
    pub(super) quality: f32,
    /// `level` of HTML.
    pub(super) level: f32,
    pub(super) charset: String,
}

/// All entries of a field.
pub(super) fn entries(field: &[u8]) -> Vec<Entry> {
    let text = String::from_utf8_lossy(field);
    let mut rest = &*text;
    let mut all = Vec::new();
    while !rest.is_empty() && all.len() < MOST {
        let (one, after) = entry(rest);
        all.push(one);
        rest = after;
    }
    all
}

/// The first entry, and what follows it. Entries may be separated by blanks alone.
pub(super) fn entry(text: &str) -> (Entry, &str) {
    let (name, mut rest) = token(text, false);
    let name = name.to_ascii_lowercase();
    // Quirk(apache): HTML is of level 2 unless something else is said.
    let level = match &name[..] {
        "text/html" | "text/x-server-parsed-html" => 2.0,
        "text/x-server-parsed-html3" => 3.0,
        _ => 0.0,
    };
    let mut one = Entry { name, quality: 1.0, level, charset: String::new() };
    while let Some(after) = rest.strip_prefix(';') {
        let (parameter, after) = token(after, true);
        rest = after;
        one.take(parameter);
    }
    (one, rest.strip_prefix(',').unwrap_or(rest))
}

impl Entry {
    fn take(&mut self, parameter: &str) {
        let end = parameter.find(|c: char| c.is_ascii_whitespace() || c == '=');
        let Some(end) = end else { return };
        let (name, value) = parameter.split_at(end);
        let value = value.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '=');
        let value = match value.strip_prefix('"') {
            Some(quoted) => quoted.split(['"', '\r', '\n']).next(),
            None => value.split_ascii_whitespace().next(),
        };
        let value = value.unwrap_or_default().to_ascii_lowercase();
        match &name.to_ascii_lowercase()[..] {
            "q" | "qs" => self.quality = quality(&value),
            "level" => {
                let digits: String = value.chars().take_while(char::is_ascii_digit).take(6).collect();
                self.level = digits.parse().unwrap_or(0.0);
            }
            "charset" => self.charset = value,
            _ => {}
        }
    }
}

/// A text up to `,` or `;`, and unless `blanks` up to the first blank; quotes hide all of these. Then what follows it and
/// its blanks.
pub(super) fn token(text: &str, blanks: bool) -> (&str, &str) {
    let text = text.trim_ascii_start();
    let mut quoted = false;
    let end = text.bytes().position(|byte| {
        let ends = !quoted && (matches!(byte, b';' | b',') || (!blanks && byte.is_ascii_whitespace()));
        quoted ^= byte == b'"';
        ends
    });
    let (token, rest) = text.split_at(end.unwrap_or(text.len()));
    (token, rest.trim_ascii_start())
}

/// A quality (RFC 9110 §12.4.2); whatever is none is 1.
fn quality(value: &str) -> f32 {
    let value = value.trim_ascii_start();
    let fraction = match value.strip_prefix('0') {
        Some("") => return 0.0,
        Some(rest) => rest,
        None if value.starts_with('.') => value,
        None => return 1.0,
    };
    let Some(digits) = fraction.strip_prefix('.') else { return 0.0 };
    let digits: Vec<u8> = digits.bytes().take_while(u8::is_ascii_digit).take(3).map(|b| b - b'0').collect();
    let digit = |n: usize| u16::from(digits.get(n).copied().unwrap_or(0));
    f32::from(digit(0) * 100 + digit(1) * 10 + digit(2)) / 1000.0
}

/// Words separated by `,`, `;` or blanks, in lower case: languages.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut rest = text;
    let mut all = Vec::new();
    while !rest.is_empty() && all.len() < MOST {
        let (word, after) = token(rest, false);
        all.push(word.to_ascii_lowercase());
        rest = after.strip_prefix([',', ';']).unwrap_or(after);
    }
    all
}

/// The preferences in a request's fields; `None`: it has no such field.
#[derive(Debug, Default)]
pub(super) struct Preferences {
    pub(super) types: Option<Vec<Entry>>,
    pub(super) languages: Option<Vec<Entry>>,
    pub(super) charsets: Option<Vec<Entry>>,
    pub(super) encodings: Option<Vec<Entry>>,
    /// The client tells media types apart by quality.
    pub(super) rates_types: bool,
}

impl Preferences {
    pub(super) fn of(request: &crate::request::Request) -> Self {
        let field = |name: &str| request.header(name).map(entries);
        let types = field("Accept");
        Self {
            rates_types: types.iter().flatten().any(|one| one.quality < 1.0),
            types,
            languages: field("Accept-Language"),
            charsets: field("Accept-Charset"),
            encodings: field("Accept-Encoding"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualities() {
        let cases: [(&str, f32); 9] = [
            ("1", 1.0),
            ("0", 0.0),
            ("0.5", 0.5),
            (".25", 0.25),
            ("0.1234", 0.123),
            ("0.", 0.0),
            ("2", 1.0),
            ("x", 1.0),
            ("", 1.0),
        ];
        for (text, expected) in cases {
            assert!((quality(text) - expected).abs() < f32::EPSILON, "{text}");
        }
    }

    #[test]
    fn entries_with_parameters() {
        let all = entries(b"Text/HTML;level=3;q=0.5, image/*; q=.2 ;x, a/b;charset=\"UTF-8\", c/d e/f,");
        let names: Vec<_> = all.iter().map(|one| &one.name[..]).collect();
        assert_eq!(names, ["text/html", "image/*", "a/b", "c/d", "e/f"]);
        assert!((all[0].level - 3.0).abs() < f32::EPSILON && (all[0].quality - 0.5).abs() < f32::EPSILON);
        assert!((all[1].quality - 0.2).abs() < f32::EPSILON);
        assert_eq!(all[2].charset, "utf-8");
        assert_eq!(entries(b" ").len(), 1);
        assert_eq!(entries(b"a;q"), entries(b"a"));
    }

    #[test]
    fn no_field_is_read_for_ever() {
        assert_eq!(entries(&b"a,".repeat(4000)).len(), MOST);
        assert_eq!(words("en, de-CH;fr"), ["en", "de-ch", "fr"]);
    }
}
