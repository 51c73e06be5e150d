//! From bytes to logical lines, and from a line to words, by the rules of Apache's `ap_cfg_getline` and
//! `ap_getword_conf`.
//!
//! A backslash at the end of a line joins the next one to it, in comments too. A `#` as the first character
//! that is not white space makes a comment, nowhere else. Words may be quoted with `"` or `'`; in a quoted
//! word a backslash protects the quote, in every word a double backslash stands for one. Lines must be UTF-8,
//! because a path that is read wrongly is an access rule that does not apply; comments may be anything. A byte
//! order mark is refused: for Apache it is a part of the first directive's name.

use std::borrow::Cow;

/// Longest logical line in bytes.
pub(crate) const MAX_LINE: usize = 1024 * 1024;

/// A logical line that says something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Number of its last physical line, from 1: what Apache reports.
    pub(crate) number: u32,
    /// The kind of line.
    pub(crate) kind: LineKind,
}

/// Kinds of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// `Name args`
    Directive(String, String),
    /// `<Name args>`
    Open(String, String),
    /// `</Name>`
    Close(String),
}

/// A line that is none: its number and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LexError {
    pub(crate) number: u32,
    pub(crate) message: String,
}

/// Reads logical lines.
pub(crate) struct Lexer<'a> {
    rest: &'a [u8],
    number: u32,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { rest: text, number: 0 }
    }

    /// The next physical line without its end, `None` at the end of the text.
    fn physical(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|b| *b == b'\n');
        let (line, rest) = match end {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        self.number = self.number.saturating_add(1);
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// The next logical line, continuation lines joined.
    fn logical(&mut self) -> Option<Cow<'a, [u8]>> {
        let first = self.physical()?;
        let Some(start) = first.strip_suffix(b"\\") else { return Some(Cow::Borrowed(first)) };
        let mut joined = start.to_vec();
        while let Some(next) = self.physical() {
            let start = next.strip_suffix(b"\\");
            joined.extend_from_slice(start.unwrap_or(next));
            if start.is_none() || joined.len() > MAX_LINE {
                break;
            }
        }
        Some(Cow::Owned(joined))
    }

    /// Everything up to the line that closes a section whose contents are not directives (`<Perl>`).
    /// `None`: the text ended first.
    pub(crate) fn raw(&mut self, name: &str) -> Option<String> {
        let mut text = String::new();
        while let Some(line) = self.physical() {
            let line = String::from_utf8_lossy(line);
            let close = line.trim().strip_prefix("</").and_then(|line| line.strip_suffix('>'));
            if close.is_some_and(|close| close.trim().eq_ignore_ascii_case(name)) {
                return Some(text);
            }
            text.push_str(&line);
            text.push('\n');
        }
        None
    }

    /// Skips documentation: up to `=cut`, or to a line like `=over apache`, below which configuration goes on until
    /// `=back` (mod_perl's rule; the end of the file ends it, too).
    pub(crate) fn skip_pod(&mut self) {
        let has = |line: &[u8], word: &[u8]| line.windows(word.len()).any(|part| part == word);
        while let Some(line) = self.logical() {
            let line = line.trim_ascii();
            let goes_on = line.starts_with(b"=over") && (has(line, b"apache") || has(line, b"httpd"));
            if line == b"=cut" || goes_on {
                return;
            }
        }
    }

    fn parse(&self, line: &[u8]) -> Result<LineKind, String> {
        if line.len() > MAX_LINE {
            return Err(format!("the line is longer than {MAX_LINE} bytes"));
        }
        if line.contains(&0) {
            return Err("the line contains a NUL byte".to_owned());
        }
        let text = std::str::from_utf8(line).map_err(|_| "the line is not UTF-8".to_owned())?;
        if text.starts_with('\u{feff}') {
            return Err("the line starts with a byte order mark: save the file without one".to_owned());
        }
        let text = text.trim_matches(is_space);
        match text.strip_prefix('<') {
            None => {
                let (name, args) = first_word(text).unwrap_or_default();
                Ok(LineKind::Directive(name, args.to_owned()))
            }
            Some(tag) => match tag.strip_prefix('/') {
                Some(name) => {
                    let name = name.strip_suffix('>').ok_or("the closing > is missing")?;
                    Ok(LineKind::Close(name.trim_matches(is_space).to_owned()))
                }
                None => {
                    let end = tag.rfind('>').ok_or("the closing > is missing")?;
                    let inside = &tag[..end];
                    let split = inside.find(is_space).unwrap_or(inside.len());
                    let args = inside[split..].trim_matches(is_space).to_owned();
                    Ok(LineKind::Open(inside[..split].to_owned(), args))
                }
            },
        }
    }
}

impl Iterator for Lexer<'_> {
    type Item = Result<Line, LexError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = self.logical()?;
            match line.iter().find(|b| !is_space(char::from(**b))) {
                None | Some(b'#') => continue,
                Some(_) => {}
            }
            let number = self.number;
            return Some(match self.parse(&line) {
                Ok(kind) => Ok(Line { number, kind }),
                Err(message) => Err(LexError { number, message }),
            });
        }
    }
}

/// The first word of the text, unquoted, and what follows it, without leading white space. `None` when there
/// is nothing but white space.
#[must_use]
pub fn first_word(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start_matches(is_space);
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    if text.is_empty() {
        return None;
    }
    let inside = &text[usize::from(quote.is_some())..];
    let mut word = String::new();
    let mut chars = inside.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let ends = quote.map_or_else(|| is_space(c), |quote| c == quote);
        if ends {
            let rest = &inside[at + usize::from(quote.is_some())..];
            return Some((word, rest.trim_start_matches(is_space)));
        }
        match chars.peek() {
            Some((_, next)) if c == '\\' && (*next == '\\' || Some(*next) == quote) => {
                word.push(*next);
                chars.next();
            }
            _ => word.push(c),
        }
    }
    Some((word, ""))
}

/// All words of the text.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let mut rest = text;
    let mut words = Vec::new();
    while let Some((word, after)) = first_word(rest) {
        words.push(word);
        rest = after;
    }
    words
}

/// C's `isspace` in the C locale.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<(u32, LineKind)> {
        Lexer::new(text.as_bytes()).map(|line| line.unwrap()).map(|line| (line.number, line.kind)).collect()
    }

    fn directive(name: &str, args: &str) -> LineKind {
        LineKind::Directive(name.to_owned(), args.to_owned())
    }

    #[test]
    fn continuation_joins_lines_without_a_space() {
        assert_eq!(lines("A b\\\nc \\\r\n  d\nE"), [(3, directive("A", "bc   d")), (4, directive("E", ""))]);
    }

    #[test]
    fn comments_start_a_line_and_continue_too() {
        assert_eq!(lines("  # x \\\nA b\nC d # e"), [(3, directive("C", "d # e"))]);
    }

    #[test]
    fn sections_keep_what_is_before_the_last_bracket() {
        let open = LineKind::Open("If".to_owned(), "\"1 > 0\"".to_owned());
        let close = LineKind::Close("If".to_owned());
        assert_eq!(lines("<If \"1 > 0\"> x\n</If>\n"), [(1, open), (2, close)]);
        assert!(Lexer::new(b"<If x").next().unwrap().is_err());
        assert!(Lexer::new(b"</If").next().unwrap().is_err());
    }

    #[test]
    fn words_follow_ap_getword_conf() {
        assert_eq!(
            words(r#"a "b c" 'd "e' "f\"g" "h\\i" j\\k l\m "n"o"#),
            ["a", "b c", "d \"e", "f\"g", "h\\i", "j\\k", "l\\m", "n", "o"]
        );
        assert_eq!(words(r#""open"#), ["open"]);
        assert_eq!(words(r#""" x"#), ["", "x"]);
        assert_eq!(words(" \t "), [""; 0]);
        assert_eq!(words(r"'it\'s' \"), ["it's", "\\"]);
    }

    #[test]
    fn only_lines_that_count_must_be_utf8() {
        assert!(Lexer::new(b"# \xff\n").next().is_none());
        assert!(Lexer::new(b"A \xff\n").next().unwrap().is_err());
        assert!(Lexer::new(b"A \0\n").next().unwrap().is_err());
    }

    #[test]
    fn a_byte_order_mark_is_an_error_that_says_so() {
        let mut lines = Lexer::new("\u{feff}# x\nA b".as_bytes());
        let error = lines.next().unwrap().unwrap_err();
        assert!(error.number == 1 && error.message.contains("byte order mark"), "{error:?}");
        assert!(lines.next().unwrap().is_ok());
    }

    #[test]
    fn a_flood_of_continuations_ends() {
        let text = b"a\\\n".repeat(MAX_LINE + 2);
        assert!(Lexer::new(&text).next().unwrap().is_err());
    }
}
