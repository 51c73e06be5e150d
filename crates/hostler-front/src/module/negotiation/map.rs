//! Type maps: files that list the variants of a document, in paragraphs of header lines, with `#` comments. A variant's
//! text may stand in the map itself (`Body:`).

use super::accept;
use super::variant::Variant;
use std::ops::Range;

/// Largest map that is read, and most variants.
pub(super) const LARGEST: u64 = 1 << 20;
const MOST: usize = super::MOST_VARIANTS;
/// Longest header of a map, with its continuations (Apache's line buffer).
const LONGEST: usize = 8192;

/// The fault of a map.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// It can't be used.
    Syntax(String),
    /// The rest of the map is ignored; the variants so far count.
    Rest(String),
}

/// The variants of a map, whose file is called `name`; and what is wrong with it.
pub(super) fn read(text: &[u8], name: &str) -> (Vec<Variant>, Option<Broken>) {
    let mut reader = Reader { text, at: 0 };
    let mut all = Vec::new();
    let mut current = Paragraph::default();
    loop {
        match reader.header() {
            Header::Line(line) => {
                let end = reader.at;
                if let Err(broken) = current.take(&line, &mut reader, name, end) {
                    return (all, Some(broken));
                }
            }
            end => {
                let done = std::mem::take(&mut current);
                if done.says_something && !done.variant.file.is_empty() {
                    all.push(done.variant);
                }
                if matches!(end, Header::End) || all.len() == MOST {
                    return (all, None);
                }
            }
        }
    }
}

/// A variant while its lines are read.
#[derive(Default)]
struct Paragraph {
    variant: Variant,
    says_something: bool,
}

impl Paragraph {
    fn take(&mut self, line: &str, reader: &mut Reader<'_>, name: &str, at: usize) -> Result<(), Broken> {
        let shown = || line.trim_ascii().chars().take(80).collect::<String>();
        let (field, value) = line
            .split_once(':')
            .ok_or_else(|| Broken::Syntax(format!("there is no colon in the line \"{}\"", shown())))?;
        let value = value.trim_ascii_start();
        if value.is_empty() {
            return Err(Broken::Syntax(format!("nothing follows the colon in the line \"{}\"", shown())));
        }
        let value = &without_comments(value)[..];
        let variant = &mut self.variant;
        let first = || accept::token(value, false).0.to_owned();
        self.says_something |= field.to_ascii_lowercase().starts_with("content-");
        match &field.to_ascii_lowercase()[..] {
            "uri" => variant.file = first(),
            "content-type" => variant.set_type(accept::entry(value).0),
            "content-length" => {
                let length = first();
                let bytes = length.parse().ok().filter(|bytes| *bytes <= i64::MAX as u64);
                let wrong = || Broken::Rest(format!("Content-Length: \"{length}\" is not a length"));
                variant.length = Some(bytes.ok_or_else(wrong)?);
            }
            "content-language" => variant.languages = accept::words(value),
            "content-encoding" => variant.encoding = Some(first()),
            "description" => {
                let value = value.strip_suffix('\n').unwrap_or(value);
                variant.description = value.replace('\n', " ");
            }
            "body" => {
                let tag = value.trim_ascii_end();
                let body = reader.body(tag.as_bytes(), at).ok_or_else(|| {
                    Broken::Rest(format!("no line \"{tag}\" ends what begins with Body: {tag}"))
                })?;
                variant.body = Some(body.start);
                variant.length = Some(body.len() as u64);
                variant.file = name.to_owned();
            }
            _ => {}
        }
        Ok(())
    }
}

/// Comments in brackets are blanks.
fn without_comments(value: &str) -> String {
    let mut inside = false;
    let blank = |c: char| {
        inside |= c == '(';
        let hidden = inside;
        inside &= c != ')';
        if hidden { ' ' } else { c }
    };
    value.chars().map(blank).collect()
}

enum Header {
    Line(String),
    /// A blank line.
    Separator,
    End,
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// The next line, with its end.
    fn line(&mut self) -> Option<&'a [u8]> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |n| n + 1);
        self.at += end;
        Some(&rest[..end])
    }

    /// The next header with its continuations; comments are left out.
    fn header(&mut self) -> Header {
        let first = loop {
            match self.line() {
                None => return Header::End,
                Some(line) if line.starts_with(b"#") => {}
                Some(line) => break line,
            }
        };
        if first.trim_ascii().is_empty() {
            return Header::Separator;
        }
        let mut whole = first.to_vec();
        if !first.to_ascii_lowercase().starts_with(b"body:") {
            self.continuations(&mut whole);
        }
        whole.truncate(LONGEST);
        Header::Line(String::from_utf8_lossy(&whole).into_owned())
    }

    fn continuations(&mut self, whole: &mut Vec<u8>) {
        loop {
            let before = self.at;
            match self.line() {
                Some(line) if line.starts_with(b"#") => {}
                Some(line) if line[0].is_ascii_whitespace() && !line.trim_ascii().is_empty() => {
                    whole.extend_from_slice(line.trim_ascii_start());
                }
                _ => {
                    self.at = before;
                    return;
                }
            }
        }
    }

    /// Reads up to the next `tag`; reading continues after its line.
    fn body(&mut self, tag: &[u8], at: usize) -> Option<Range<usize>> {
        let length = memchr::memmem::find(&self.text[at..], tag)?;
        self.at = at + length + tag.len();
        self.line();
        Some(at..at + length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_variants() {
        let text = b"# a map\nURI: page\n\nURI: page.en.html ; vary=\"x\"\nContent-type: text/html;\n  qs=0.5 (good)\n\
            Content-language: en, en-gb\n\nURI: page.txt\nContent-type: Text/Plain; charset=UTF-8\nDescription: plain\n\
            Content-length: 12\n";
        let (all, broken) = read(text, "page.var");
        assert_eq!(broken, None);
        let files: Vec<_> = all.iter().map(|one| &one.file[..]).collect();
        assert_eq!(files, ["page.en.html", "page.txt"]);
        assert_eq!(all[0].languages, ["en", "en-gb"]);
        assert!((all[0].source_quality - 0.5).abs() < f32::EPSILON);
        assert_eq!(
            (&all[1].charset[..], all[1].length, &all[1].description[..]),
            ("utf-8", Some(12), "plain")
        );
    }

    #[test]
    fn bodies_stand_between_their_tags() {
        let text = b"Content-language: de\nContent-type: text/html\nBody:--x--\nHallo\n--x-- rest\n\n\
            Content-language: en\nContent-type: text/html\nBody:y\nHello\ny\n";
        let (all, broken) = read(text, "e.var");
        assert_eq!(broken, None);
        let bodies: Vec<_> =
            all.iter().map(|v| &text[v.body.unwrap()..][..v.length.unwrap() as usize]).collect();
        assert_eq!(bodies, [&b"Hallo\n"[..], b"Hello\n"]);
        assert_eq!(all[1].file, "e.var");
    }

    #[test]
    fn what_is_wrong_is_told() {
        let broken = |text: &str| read(text.as_bytes(), "m").1;
        assert!(matches!(broken("URI page\n"), Some(Broken::Syntax(_))));
        assert!(matches!(broken("URI:\n"), Some(Broken::Syntax(_))));
        assert!(matches!(broken("URI: a\nContent-length: x\n"), Some(Broken::Rest(_))));
        assert!(matches!(broken("Content-type: a/b\nBody:z\nno end\n"), Some(Broken::Rest(_))));
    }
}
