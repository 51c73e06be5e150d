//! The contents of quotes, of `%{...}` and of string expressions: text with escapes, groups and variables.
//! `%{function:text}` may nest.

use super::{Parser, concat};
use crate::lexer::leading_name;
use crate::tree::Word;
use crate::variable::header_of;
use crate::{ParseError, Variable};

/// The end of a text.
#[derive(Clone, Copy, PartialEq)]
enum Until {
    Quote(u8),
    Brace,
    End,
}

impl Until {
    fn describe(self) -> &'static str {
        match self {
            Self::Quote(b'"') => "the closing \"",
            Self::Quote(_) => "the closing '",
            Self::Brace => "the closing }",
            Self::End => "the end",
        }
    }
}

impl Parser<'_> {
    /// A string after its opening quote (`quote` says where that was), or a whole string expression.
    pub(super) fn text(&mut self, quote: Option<(usize, u8)>) -> Result<Word, ParseError> {
        match quote {
            Some((start, quote)) => self.parts(start, Until::Quote(quote)),
            None => self.parts(0, Until::End),
        }
    }

    /// `%{NAME}` or `%{function:text}`, after its `%{`.
    pub(super) fn variable(&mut self, start: usize) -> Result<Word, ParseError> {
        let name_at = self.position;
        let name = leading_name(&self.source[name_at..]);
        self.position += name.len();
        if name.is_empty() {
            return Err(ParseError::new(
                name_at,
                "found no name after \"%{\", expected %{NAME} or %{function:text}",
            ));
        }
        match self.source.as_bytes().get(self.position) {
            Some(b'}') => {
                self.position += 1;
                self.named_variable(name_at, name)
            }
            Some(b':') => {
                self.position += 1;
                let function = self.function(name_at, name)?;
                let argument_at = self.position;
                let argument = self.nested(|parser| parser.parts(start, Until::Brace))?;
                if self.position == argument_at + 1 {
                    return Err(ParseError::new(argument_at, format!("%{{{name}:}} has no argument")));
                }
                Ok(self.call(function, argument))
            }
            _ => {
                let message =
                    format!("the variable %{{{name} is not closed, expected \"}}\" or \":\" after its name");
                Err(ParseError::new(self.position, message))
            }
        }
    }

    fn named_variable(&mut self, at: usize, name: &str) -> Result<Word, ParseError> {
        if let Some(header) = header_of(name) {
            self.add_vary(header);
            return Ok(Word::RequestHeader(header));
        }
        if name.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("SSL_")) {
            return Ok(Word::SslVariable(name.to_ascii_uppercase().into()));
        }
        match Variable::from_name(name) {
            Some(variable) => Ok(Word::Variable(variable)),
            None => Err(ParseError::new(
                at,
                format!(
                    "the variable \"{name}\" does not exist (use %{{req:...}} or %{{reqenv:...}} for others)"
                ),
            )),
        }
    }

    /// Text parts up to and including the end mark.
    fn parts(&mut self, start: usize, until: Until) -> Result<Word, ParseError> {
        let mut words = Vec::new();
        let mut chunk = Chunk::default();
        loop {
            let rest = &self.source.as_bytes()[self.position..];
            match (rest, until) {
                ([], Until::End) => break,
                ([], _) => {
                    let message = format!("found the end, expected {} of what begins here", until.describe());
                    return Err(ParseError::new(start, message));
                }
                ([b'\n', ..], _) => {
                    return Err(ParseError::new(
                        self.position,
                        "found a line break inside a text, write \\n",
                    ));
                }
                ([byte, ..], Until::Quote(quote)) if *byte == quote => {
                    self.position += 1;
                    break;
                }
                ([b'}', ..], Until::Brace) => {
                    self.position += 1;
                    break;
                }
                ([b'"' | b'\'', ..], Until::Brace) => {
                    let message = "found a quote inside %{...}, expected the argument without quotes";
                    return Err(ParseError::new(self.position, message));
                }
                ([b'\\', ..], _) => chunk.push(self.escape()?),
                ([b'$', digit @ b'0'..=b'9', ..], _) => {
                    words.push(chunk.take());
                    words.push(Word::Group(digit - b'0'));
                    self.position += 2;
                }
                ([b'%', b'{', ..], _) => {
                    words.push(chunk.take());
                    let start = self.position;
                    self.position += 2;
                    words.push(self.nested(|parser| parser.variable(start))?);
                }
                ([byte, ..], _) => {
                    chunk.push(*byte);
                    self.position += 1;
                }
            }
        }
        words.push(chunk.take());
        Ok(concat(words))
    }

    /// `\101` (one to three octal digits), `\n \r \t \b \f`, or the character itself.
    fn escape(&mut self) -> Result<u8, ParseError> {
        let at = self.position;
        let rest = &self.source.as_bytes()[at + 1..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 {
            self.position = at + 1 + digits;
            return octal(&rest[..digits])
                .ok_or_else(|| ParseError::new(at, "an escape with digits is \\0 to \\377, in octal"));
        }
        let Some(&byte) = rest.first() else {
            return Err(ParseError::new(at, "found a backslash at the end, expected a character after it"));
        };
        self.position = at + 2;
        Ok(match byte {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 8,
            b'f' => 12,
            other => other,
        })
    }
}

fn octal(digits: &[u8]) -> Option<u8> {
    if digits.len() > 3 || digits.iter().any(|digit| *digit > b'7') {
        return None;
    }
    let value = digits.iter().fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
    u8::try_from(value).ok()
}

/// Literal text being collected.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    ended: bool,
}

impl Chunk {
    /// Quirk(apache): texts end at a NUL (`\0`); what follows it up to the next part is dropped.
    fn push(&mut self, byte: u8) {
        self.ended |= byte == 0;
        if !self.ended {
            self.bytes.push(byte);
        }
    }

    fn take(&mut self) -> Word {
        self.ended = false;
        Word::Literal(std::mem::take(&mut self.bytes).into())
    }
}
