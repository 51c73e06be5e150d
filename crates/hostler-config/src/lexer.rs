//! From bytes to logical lines, and from a line to words, by the rules of Apache's `ap_cfg_getline` and
//! `ap_getword_conf`.
//!
//! A backslash at the end of a line joins the next one to it. A `#` as the first character that is not white
//! space makes a comment, nowhere else. Words may be quoted with `"` or `'`; inside quotes a backslash
//! protects the quote and itself, elsewhere it is an ordinary character.

/// Longest logical line in bytes (Apache: `VARBUF_MAX_LEN`, 16 MiB; nobody needs that).
pub const MAX_LINE: usize = 1024 * 1024;

/// A logical line that says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Number of its last physical line, from 1: what Apache reports.
    pub number: u32,
    /// What kind of line.
    pub kind: LineKind<'a>,
}

/// Kinds of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind<'a> {
    /// `Name args`
    Directive(&'a str, &'a str),
    /// `<Name args>`
    Open(&'a str, &'a str),
    /// `</Name>`
    Close(&'a str),
}

/// Reads logical lines.
pub struct Lexer<'a> {
    _text: &'a [u8],
}

/// The first word of the text, unquoted, and what follows it, without leading white space. `None` when there
/// is nothing but white space.
#[must_use]
pub fn first_word(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start_matches(is_space);
    let quote = match text.chars().next()? {
        c @ ('"' | '\'') => c,
        _ => {
            let end = text.find(is_space).unwrap_or(text.len());
            return Some((text[..end].to_owned(), text[end..].trim_start_matches(is_space)));
        }
    };
    let mut word = String::new();
    let mut chars = text[1..].char_indices();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return Some((word, text[1 + at + 1..].trim_start_matches(is_space)));
        }
        if c == '\\' {
            match chars.clone().next() {
                Some((_, next)) if next == quote || next == '\\' => {
                    word.push(next);
                    chars.next();
                    continue;
                }
                _ => {}
            }
        }
        word.push(c);
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
