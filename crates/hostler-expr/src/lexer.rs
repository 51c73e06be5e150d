//! Splits a condition into tokens. Strings and `%{...}` are not tokens: the lexer reports only where they
//! begin, and the parser reads their parts, because they nest.
//!
//! Quirk(apache): what a word means depends on the longest match, as a generated scanner decides: `m#` begins
//! a regular expression but `md5` is a name; `-f` is a unary and `-fn` a binary operator.

use crate::ParseError;
use crate::tree::Comparison;
use std::fmt;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    End,
    Open,
    Close,
    OpenBrace,
    CloseBrace,
    Comma,
    Colon,
    Dot,
    And,
    Or,
    Not,
    True,
    False,
    In,
    Strings(Comparison, &'static str),
    Integers(Comparison, &'static str),
    Matches,
    MatchesNot,
    Unary(char),
    Binary(&'a str),
    Number(&'a str),
    Name(&'a str),
    /// The opening quote of a string.
    Quote(u8),
    /// `%{`.
    VariableStart,
    /// `$0` to `$9`.
    Group(u8),
    Regex {
        pattern: &'a str,
        ignore_case: bool,
    },
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fixed = match self {
            Self::End => return f.write_str("the end"),
            Self::Strings(_, text) | Self::Integers(_, text) => text,
            Self::Unary(letter) => return write!(f, "\"-{letter}\""),
            Self::Binary(name) => return write!(f, "\"-{name}\""),
            Self::Number(text) | Self::Name(text) => text,
            Self::Quote(_) => return f.write_str("a string"),
            Self::VariableStart => "%{",
            Self::Group(digit) => return write!(f, "\"${digit}\""),
            Self::Regex { .. } => return f.write_str("a regular expression"),
            Self::Open => "(",
            Self::Close => ")",
            Self::OpenBrace => "{",
            Self::CloseBrace => "}",
            Self::Comma => ",",
            Self::Colon => ":",
            Self::Dot => ".",
            Self::And => "&&",
            Self::Or => "||",
            Self::Not => "!",
            Self::True => "true",
            Self::False => "false",
            Self::In => "in",
            Self::Matches => "=~",
            Self::MatchesNot => "!~",
        };
        write!(f, "\"{fixed}\"")
    }
}

/// Tokens spelled with signs; longer ones first.
const SIGNS: &[(&str, Token<'static>)] = &[
    ("==", Token::Strings(Comparison::Equal, "==")),
    ("=~", Token::Matches),
    ("=", Token::Strings(Comparison::Equal, "=")),
    ("!=", Token::Strings(Comparison::NotEqual, "!=")),
    ("!~", Token::MatchesNot),
    ("!", Token::Not),
    ("<=", Token::Strings(Comparison::LessOrEqual, "<=")),
    ("<", Token::Strings(Comparison::Less, "<")),
    (">=", Token::Strings(Comparison::GreaterOrEqual, ">=")),
    (">", Token::Strings(Comparison::Greater, ">")),
    ("&&", Token::And),
    ("||", Token::Or),
    ("%{", Token::VariableStart),
    (".", Token::Dot),
    ("(", Token::Open),
    (")", Token::Close),
    ("{", Token::OpenBrace),
    ("}", Token::CloseBrace),
    (",", Token::Comma),
    (":", Token::Colon),
];

/// Words with a meaning of their own. They are case sensitive.
fn keyword(name: &str) -> Option<Token<'static>> {
    Some(match name {
        "true" => Token::True,
        "false" => Token::False,
        "and" => Token::And,
        "or" => Token::Or,
        "not" => Token::Not,
        "in" => Token::In,
        _ => return integer_comparison(name),
    })
}

fn integer_comparison(name: &str) -> Option<Token<'static>> {
    Some(match name {
        "eq" => Token::Integers(Comparison::Equal, "-eq"),
        "ne" => Token::Integers(Comparison::NotEqual, "-ne"),
        "lt" => Token::Integers(Comparison::Less, "-lt"),
        "le" => Token::Integers(Comparison::LessOrEqual, "-le"),
        "gt" => Token::Integers(Comparison::Greater, "-gt"),
        "ge" => Token::Integers(Comparison::GreaterOrEqual, "-ge"),
        _ => return None,
    })
}

/// Signs that may delimit `m#...#`.
fn is_regex_delimiter(byte: u8) -> bool {
    b"/#$%^,;:_?|-!.'\"".contains(&byte)
}

/// The name (`[A-Za-z][A-Za-z0-9_]*`) at the beginning of `text`, or the empty string.
pub(crate) fn leading_name(text: &str) -> &str {
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return "";
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// Reads the token at `position` (white space before it is skipped). Returns where it began, and where the
/// next one is to be looked for.
pub(crate) fn token_at(source: &str, position: usize) -> Result<(usize, Token<'_>, usize), ParseError> {
    let skipped = source[position..].trim_start_matches([' ', '\t', '\n']);
    let start = source.len() - skipped.len();
    let (token, length) = match skipped.as_bytes() {
        [] => (Token::End, 0),
        [b'/', ..] => regex(source, start, start + 1)?,
        [quote @ (b'"' | b'\''), ..] => (Token::Quote(*quote), 1),
        [b'$', digit @ b'0'..=b'9', ..] => (Token::Group(digit - b'0'), 2),
        [b'-', ..] => dash(skipped).ok_or_else(|| unexpected(source, start))?,
        [b'0'..=b'9', ..] => number(skipped, 0),
        [first, ..] if first.is_ascii_alphabetic() => name_or_regex(source, start)?,
        _ => SIGNS
            .iter()
            .find(|(text, _)| skipped.starts_with(text))
            .map(|(text, token)| (token.clone(), text.len()))
            .ok_or_else(|| unexpected(source, start))?,
    };
    Ok((start, token, start + length))
}

fn unexpected(source: &str, at: usize) -> ParseError {
    let found = source[at..].chars().next().unwrap_or(' ');
    ParseError::new(at, format!("{found:?} cannot begin a word or an operator"))
}

fn number(text: &str, sign: usize) -> (Token<'_>, usize) {
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    (Token::Number(&text[..sign + digits]), sign + digits)
}

/// `-5`, `-eq`, `-in`, `-ipmatch`, `-f`.
fn dash(text: &str) -> Option<(Token<'_>, usize)> {
    let rest = &text[1..];
    if rest.starts_with(|c: char| c.is_ascii_digit()) {
        return Some(number(text, 1));
    }
    if !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return None;
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let name = &rest[..end];
    let token = match (name, name.as_bytes()) {
        (_, [letter]) => Token::Unary(char::from(*letter)),
        ("in", _) => Token::In,
        _ => integer_comparison(name).unwrap_or(Token::Binary(name)),
    };
    Some((token, 1 + end))
}

fn name_or_regex(source: &str, start: usize) -> Result<(Token<'_>, usize), ParseError> {
    let text = &source[start..];
    let name = leading_name(text);
    let delimiter = text.as_bytes().get(1).copied().unwrap_or(0);
    if (name == "m" || name == "m_") && is_regex_delimiter(delimiter) {
        return regex(source, start, start + 2);
    }
    Ok((keyword(name).unwrap_or(Token::Name(name)), name.len()))
}

/// A regular expression whose pattern begins at `body`; the byte before it is the delimiter, which cannot be
/// escaped. `i` is the only flag that release 2.4 knows.
fn regex(source: &str, start: usize, body: usize) -> Result<(Token<'_>, usize), ParseError> {
    let delimiter = char::from(source.as_bytes()[body - 1]);
    let Some(length) = source[body..].find(delimiter) else {
        let message = format!("the regular expression has no closing {delimiter:?}");
        return Err(ParseError::new(start, message));
    };
    let end = body + length;
    let flags = leading_name(&source[end + 1..]);
    let ignore_case = flags.starts_with('i');
    if !flags[usize::from(ignore_case)..].is_empty() && regex_flags_only(flags) {
        let message = format!(
            "found the flags \"{flags}\" after a regular expression, expected \"i\" or none (write (?s) and the \
             like inside the pattern)"
        );
        return Err(ParseError::new(end + 1, message));
    }
    let token = Token::Regex { pattern: &source[body..end], ignore_case };
    Ok((token, end + 1 + usize::from(ignore_case) - start))
}

fn regex_flags_only(flags: &str) -> bool {
    flags.bytes().all(|flag| b"ismxgn".contains(&flag))
}
