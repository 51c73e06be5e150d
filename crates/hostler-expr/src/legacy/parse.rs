//! Tokens and grammar of the legacy expressions.

use super::{Chain, Logic, Node};
use crate::ParseError;
use crate::tree::Comparison;

/// Brackets and negations inside one another.
const MAX_NESTING: usize = 100;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    End,
    Text(Vec<u8>),
    Regex(Vec<u8>),
    Open,
    Close,
    Not,
    Logic(Logic),
    Compare(Comparison),
    Access,
}

/// The tree (`None` for an empty text) and the number of regular expressions in it.
pub(super) fn parse(source: &[u8]) -> Result<(Option<Chain>, usize), ParseError> {
    let mut parser = Parser { source, position: 0, start: 0, token: Token::End, depth: 0, regexes: 0 };
    parser.advance();
    if parser.token == Token::End {
        return Ok((None, 0));
    }
    let root = parser.chain()?;
    match parser.token {
        Token::End => Ok((Some(root), parser.regexes)),
        Token::Close => Err(ParseError::new(parser.start, "found \")\" without its \"(\"")),
        _ => Err(parser.unexpected("&&, || or the end")),
    }
}

struct Parser<'a> {
    source: &'a [u8],
    /// Behind the current token.
    position: usize,
    /// The start of the current token.
    start: usize,
    token: Token,
    depth: usize,
    regexes: usize,
}

impl Parser<'_> {
    /// `operand && operand || ...`
    fn chain(&mut self) -> Result<Chain, ParseError> {
        let mut operands = Vec::new();
        loop {
            let node = self.operand()?;
            let Token::Logic(logic) = self.token else {
                operands.push((node, None));
                return Ok(Chain(operands));
            };
            operands.push((node, Some(logic)));
            self.advance();
            if matches!(self.token, Token::End | Token::Close) {
                operands.push((Node::Missing, None));
                return Ok(Chain(operands));
            }
        }
    }

    fn operand(&mut self) -> Result<Node, ParseError> {
        let Token::Text(_) = self.token else { return self.unary_or_group() };
        let left = Node::Text(self.joined_texts());
        let Token::Compare(how) = self.token else { return Ok(left) };
        self.advance();
        let right = self.right_side()?;
        Ok(Node::Compare(how, Box::new(left), Box::new(right)))
    }

    fn right_side(&mut self) -> Result<Node, ParseError> {
        match &mut self.token {
            Token::Text(_) => Ok(Node::Text(self.joined_texts())),
            Token::Regex(pattern) => {
                let pattern = std::mem::take(pattern);
                self.regexes += 1;
                self.advance();
                Ok(Node::Regex(pattern))
            }
            Token::End | Token::Close => Ok(Node::Missing),
            _ => self.unary_or_group(),
        }
    }

    /// `! x`, `-A x` and `( ... )`.
    fn unary_or_group(&mut self) -> Result<Node, ParseError> {
        if self.depth == MAX_NESTING {
            return Err(ParseError::new(
                self.start,
                format!("brackets nest deeper than {MAX_NESTING} levels"),
            ));
        }
        self.depth += 1;
        let node = match self.token {
            Token::Not => {
                self.advance();
                Node::Not(Box::new(self.inner_operand()?))
            }
            Token::Access => {
                self.advance();
                Node::Access(Box::new(self.inner_operand()?))
            }
            Token::Open => self.group()?,
            _ => return Err(self.unexpected("a text, \"!\" or \"(\"")),
        };
        self.depth -= 1;
        Ok(node)
    }

    /// Parses the operand of `!` and `-A`: never a comparison.
    fn inner_operand(&mut self) -> Result<Node, ParseError> {
        match self.token {
            Token::Text(_) => {
                let text = self.joined_texts();
                if let Token::Compare(_) = self.token {
                    let message = "a comparison after ! or -A needs brackets: !(a = b)";
                    return Err(ParseError::new(self.start, message));
                }
                Ok(Node::Text(text))
            }
            Token::End | Token::Close => Ok(Node::Missing),
            _ => self.unary_or_group(),
        }
    }

    fn group(&mut self) -> Result<Node, ParseError> {
        self.advance();
        let inside = match self.token {
            Token::Close => None,
            Token::End => return Ok(Node::Unclosed),
            _ => Some(self.chain()?),
        };
        match self.token {
            Token::Close => {
                self.advance();
                Ok(Node::Group(inside))
            }
            Token::End => Ok(Node::Unclosed),
            _ => Err(self.unexpected("&&, || or \")\"")),
        }
    }

    /// Texts beside one another become one, with a space between unless the first part is empty.
    fn joined_texts(&mut self) -> Vec<u8> {
        let mut joined = Vec::new();
        while let Token::Text(text) = &mut self.token {
            if !joined.is_empty() {
                joined.push(b' ');
            }
            joined.append(text);
            self.advance();
        }
        joined
    }

    fn unexpected(&self, expected: &str) -> ParseError {
        let found = match &self.token {
            Token::End => "the end".to_owned(),
            Token::Text(text) => format!("\"{}\"", String::from_utf8_lossy(text)),
            Token::Regex(_) => "a regular expression that is not after = or !=".to_owned(),
            _ => format!("\"{}\"", String::from_utf8_lossy(&self.source[self.start..self.position])),
        };
        ParseError::expected(self.start, found, expected)
    }

    fn advance(&mut self) {
        let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
        let rest = &self.source[self.position..];
        let start = self.position + rest.iter().take_while(|byte| is_space(byte)).count();
        let rest = &self.source[start..];
        let after_access = self.token == Token::Access;
        self.start = start;
        let (token, length) = match rest {
            [] => (Token::End, 0),
            [b'(', ..] => (Token::Open, 1),
            [b')', ..] => (Token::Close, 1),
            [b'=', b'=', ..] => (Token::Compare(Comparison::Equal), 2),
            [b'=', ..] => (Token::Compare(Comparison::Equal), 1),
            [b'!', b'=', ..] => (Token::Compare(Comparison::NotEqual), 2),
            [b'!', ..] => (Token::Not, 1),
            [b'>', b'=', ..] => (Token::Compare(Comparison::GreaterOrEqual), 2),
            [b'>', ..] => (Token::Compare(Comparison::Greater), 1),
            [b'<', b'=', ..] => (Token::Compare(Comparison::LessOrEqual), 2),
            [b'<', ..] => (Token::Compare(Comparison::Less), 1),
            [b'|', b'|', ..] => (Token::Logic(Logic::Or), 2),
            [b'&', b'&', ..] => (Token::Logic(Logic::And), 2),
            [b'-', b'A', ..] => (Token::Access, 2),
            [b'\'', body @ ..] => text_until(body, Some(b'\'')).map_token(Token::Text, 1),
            [b'/', body @ ..] if !after_access => text_until(body, Some(b'/')).map_token(Token::Regex, 1),
            _ => text_until(rest, None).map_token(Token::Text, 0),
        };
        self.token = token;
        self.position = start + length;
    }
}

/// A text and how many bytes of the source it took.
struct Piece(Vec<u8>, usize);

impl Piece {
    fn map_token(self, token: fn(Vec<u8>) -> Token, before: usize) -> (Token, usize) {
        (token(self.0), self.1 + before)
    }
}

/// Reads a text up to its delimiter, or a bare word up to a space or an operator. Backslashes are removed, also
/// in regular expressions. Quirk(apache): a text whose delimiter is missing is empty.
fn text_until(rest: &[u8], delimiter: Option<u8>) -> Piece {
    let mut text = Vec::new();
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        if byte == b'\\' {
            text.extend(rest.get(at + 1));
            at = rest.len().min(at + 2);
            continue;
        }
        let ends = match delimiter {
            Some(delimiter) => byte == delimiter,
            None => ends_bare_word(byte, rest.get(at + 1)),
        };
        if ends {
            return Piece(text, at + usize::from(delimiter.is_some()));
        }
        text.push(byte);
        at += 1;
    }
    Piece(if delimiter.is_some() { Vec::new() } else { text }, at)
}

fn ends_bare_word(byte: u8, next: Option<&u8>) -> bool {
    byte.is_ascii_whitespace()
        || byte == 0x0b
        || b"()=!<>".contains(&byte)
        || ((byte == b'|' || byte == b'&') && next == Some(&byte))
}
