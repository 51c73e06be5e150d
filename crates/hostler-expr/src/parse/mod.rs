//! The grammar: conditions, comparisons and words. String contents and variables are in
//! [`parts`](self::parts).
//!
//! Precedence, weakest first: `||`, `&&`, `!`, comparison, `.`. Nesting is limited to [`MAX_NESTING`].

mod parts;

use crate::function::{Function, list_function};
use crate::lexer::{Token, token_at};
use crate::tree::{Comparison, Condition, Inner, Root, Word};
use crate::{Expr, FileAccess, FileTest, Flags, GlobMode, Kind, ParseError, Regex, Subnet, SubrequestTest};
use std::sync::Arc;

/// Brackets, calls and nested variables inside one another. Deeper than any honest text; Apache gives up
/// while evaluating, at about 20.
const MAX_NESTING: usize = 100;

/// Longest source in bytes. Apache's limit is 8192 for one string; a .htaccess line cannot be longer.
const MAX_SOURCE: usize = 64 * 1024;

const A_WORD: &str = "a word (\"text\", %{NAME}, name(...), $1 or a number)";

pub(crate) fn parse(source: &str, kind: Kind, flags: Flags) -> Result<Expr, ParseError> {
    if source.len() > MAX_SOURCE {
        return Err(ParseError::new(0, format!("the expression is longer than {MAX_SOURCE} bytes")));
    }
    let mut parser = Parser { source, flags, position: 0, depth: 0, vary: Vec::new() };
    let root = match kind {
        Kind::Boolean => {
            let condition = parser.any()?;
            parser.expect(&Token::End, "an operator or the end")?;
            Root::Condition(condition)
        }
        Kind::String => Root::Text(parser.text(None)?),
    };
    let Parser { vary, .. } = parser;
    Ok(Expr { inner: Arc::new(Inner { source: source.into(), root, flags, vary, place: None }) })
}

struct Parser<'a> {
    source: &'a str,
    flags: Flags,
    position: usize,
    depth: usize,
    vary: Vec<String>,
}

impl<'a> Parser<'a> {
    /// The next token and where it begins, not consumed.
    fn peek(&self) -> Result<(usize, Token<'a>), ParseError> {
        token_at(self.source, self.position).map(|(start, token, _)| (start, token))
    }

    fn next(&mut self) -> Result<(usize, Token<'a>), ParseError> {
        let (start, token, end) = token_at(self.source, self.position)?;
        self.position = end;
        Ok((start, token))
    }

    fn accept(&mut self, wanted: &Token<'_>) -> Result<bool, ParseError> {
        let (_, token, end) = token_at(self.source, self.position)?;
        if token == *wanted {
            self.position = end;
        }
        Ok(token == *wanted)
    }

    fn expect(&mut self, wanted: &Token<'_>, words: &str) -> Result<(), ParseError> {
        let (start, token) = self.next()?;
        if token == *wanted { Ok(()) } else { Err(ParseError::expected(start, token, words)) }
    }

    /// Runs `inside` one level deeper.
    fn nested<T>(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        if self.depth == MAX_NESTING {
            let message = format!("brackets, functions and variables nest deeper than {MAX_NESTING} levels");
            return Err(ParseError::new(self.position, message));
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    /// `a || b || c`
    fn any(&mut self) -> Result<Condition, ParseError> {
        let first = self.all()?;
        let mut conditions = vec![first];
        while self.accept(&Token::Or)? {
            conditions.push(self.all()?);
        }
        Ok(only_or(conditions, Condition::Any))
    }

    /// `a && b && c`
    fn all(&mut self) -> Result<Condition, ParseError> {
        let first = self.not()?;
        let mut conditions = vec![first];
        while self.accept(&Token::And)? {
            conditions.push(self.not()?);
        }
        Ok(only_or(conditions, Condition::All))
    }

    /// `! a`, any number of times.
    fn not(&mut self) -> Result<Condition, ParseError> {
        let mut negated = false;
        while self.accept(&Token::Not)? {
            negated = !negated;
        }
        let condition = self.condition()?;
        Ok(if negated { Condition::Not(Box::new(condition)) } else { condition })
    }

    fn condition(&mut self) -> Result<Condition, ParseError> {
        let (start, token) = self.peek()?;
        match token {
            Token::True | Token::False => {
                self.next()?;
                Ok(Condition::Constant(token == Token::True))
            }
            Token::Open => {
                self.next()?;
                let inside = self.nested(Self::any)?;
                self.expect(&Token::Close, "an operator or \")\"")?;
                Ok(inside)
            }
            Token::Unary(letter) => {
                self.next()?;
                self.unary(start, letter)
            }
            _ => self.comparison(),
        }
    }

    fn unary(&mut self, start: usize, letter: char) -> Result<Condition, ParseError> {
        let file = match letter {
            'd' => Some(FileTest::Directory),
            'e' => Some(FileTest::Exists),
            'f' => Some(FileTest::Regular),
            's' => Some(FileTest::NotEmpty),
            'L' | 'h' => Some(FileTest::SymbolicLink),
            'x' => Some(FileTest::Executable),
            _ => None,
        };
        if file.is_some() && self.flags.files == FileAccess::Nothing {
            return Err(restricted(start, &format!("-{letter}")));
        }
        if file.is_none() && !"nzTRUAF".contains(letter) {
            let message = format!(
                "found the unary operator \"-{letter}\", expected one of -d -e -f -s -L -h -x -F -U -A -n -z -T -R"
            );
            return Err(ParseError::new(start, message));
        }
        let word = self.word()?;
        Ok(match (letter, file) {
            (_, Some(test)) => Condition::File(test, word),
            ('n', _) => Condition::NotEmpty(word),
            ('z', _) => Condition::Empty(word),
            ('T', _) => Condition::Truthy(word),
            ('R', _) => Condition::RemoteIn(subnet(start, "-R", &word)?),
            ('F', _) => Condition::Subrequest(SubrequestTest::File, word),
            _ => Condition::Subrequest(SubrequestTest::Uri, word),
        })
    }

    fn comparison(&mut self) -> Result<Condition, ParseError> {
        let left = self.word()?;
        let (start, operator) = self.next()?;
        match operator {
            Token::Strings(how, _) => self.compare(how, left, false),
            Token::Integers(how, _) => self.compare(how, left, true),
            Token::Matches => self.matches(left, false),
            Token::MatchesNot => self.matches(left, true),
            Token::In => self.list(left),
            Token::Binary(name) => self.binary(start, name, left),
            other => Err(ParseError::expected(
                start,
                other,
                "a comparison (== != < <= > >= =~ !~ -eq -ipmatch in ...)",
            )),
        }
    }

    fn compare(&mut self, how: Comparison, left: Word, integers: bool) -> Result<Condition, ParseError> {
        let right = self.word()?;
        Ok(if integers && !self.flags.ssl_compat {
            Condition::CompareIntegers(how, left, right)
        } else {
            Condition::Compare(how, left, right)
        })
    }

    fn matches(&mut self, word: Word, negated: bool) -> Result<Condition, ParseError> {
        let (start, token) = self.next()?;
        let Token::Regex { pattern, ignore_case } = token else {
            return Err(ParseError::expected(start, token, "a regular expression (/.../ or m#...#)"));
        };
        let mut options = self.flags.regex;
        options.ignore_case |= ignore_case;
        match Regex::new(pattern, options) {
            Ok(regex) => Ok(Condition::Match { word, regex, negated }),
            Err(error) => Err(ParseError::new(start, error.to_string())),
        }
    }

    /// `in { a, b }` or `in function(word)`.
    fn list(&mut self, word: Word) -> Result<Condition, ParseError> {
        let (start, token) = self.next()?;
        match token {
            Token::OpenBrace => {
                let mut items = vec![self.word()?];
                while self.accept(&Token::Comma)? {
                    items.push(self.word()?);
                }
                self.expect(&Token::CloseBrace, "\",\" or \"}\"")?;
                Ok(Condition::InWords(word, items))
            }
            Token::Name(name) => {
                let function = list_function(name).ok_or_else(|| {
                    ParseError::new(
                        start,
                        format!("found \"{name}\", expected the list function PeerExtList or {{"),
                    )
                })?;
                let argument = self.argument()?;
                Ok(Condition::InList { word, function, argument })
            }
            other => Err(ParseError::expected(start, other, "a list in { }")),
        }
    }

    /// Names are not case sensitive.
    fn binary(&mut self, start: usize, name: &str, left: Word) -> Result<Condition, ParseError> {
        let mode = match name.to_ascii_lowercase().as_str() {
            "ipmatch" => {
                let word = self.word()?;
                return Ok(Condition::IpMatch(left, subnet(start, "-ipmatch", &word)?));
            }
            "strmatch" => GlobMode::Anything,
            "strcmatch" => GlobMode::AnythingIgnoreCase,
            "fnmatch" => GlobMode::Path,
            _ => {
                let expected = "one of -ipmatch -strmatch -strcmatch -fnmatch -eq -ne -lt -le -gt -ge -in";
                let message = format!("found the binary operator \"-{name}\", expected {expected}");
                return Err(ParseError::new(start, message));
            }
        };
        Ok(Condition::Glob(mode, left, self.word()?))
    }

    /// `a . b . c`
    fn word(&mut self) -> Result<Word, ParseError> {
        let first = self.single_word()?;
        let mut words = vec![first];
        while self.accept(&Token::Dot)? {
            words.push(self.single_word()?);
        }
        Ok(concat(words))
    }

    fn single_word(&mut self) -> Result<Word, ParseError> {
        let (start, token) = self.next()?;
        match token {
            Token::Number(digits) => Ok(Word::Literal(digits.as_bytes().into())),
            Token::Quote(quote) => self.text(Some((start, quote))),
            Token::VariableStart => self.variable(start),
            Token::Group(digit) => Ok(Word::Group(digit)),
            Token::Name(name) => {
                let function = self.function(start, name)?;
                let argument = self.argument()?;
                Ok(self.call(function, argument))
            }
            other => Err(ParseError::expected(start, other, A_WORD)),
        }
    }

    /// `( word )` after a function's name.
    fn argument(&mut self) -> Result<Word, ParseError> {
        self.expect(&Token::Open, "\"(\" after a function's name (texts need quotes)")?;
        let word = self.nested(Self::word)?;
        self.expect(&Token::Close, "\")\"")?;
        Ok(word)
    }

    fn function(&self, start: usize, name: &str) -> Result<Function, ParseError> {
        let Some(function) = Function::from_name(name, self.flags) else {
            return Err(ParseError::new(
                start,
                format!("the function \"{name}\" does not exist (texts need quotes)"),
            ));
        };
        if function.looks_at_files() && self.flags.files != FileAccess::Full {
            return Err(restricted(start, &format!("{name}()")));
        }
        Ok(function)
    }

    fn call(&mut self, function: Function, argument: Word) -> Word {
        if let (Function::Req, Word::Literal(name)) = (function, &argument) {
            let name = String::from_utf8_lossy(name).into_owned();
            self.add_vary(&name);
        }
        Word::Call(function, Box::new(argument))
    }

    /// Remembers a header for `Vary`. `Host` is left out, since a cache keeps hosts apart anyway.
    fn add_vary(&mut self, name: &str) {
        let known = self.vary.iter().any(|known| known.eq_ignore_ascii_case(name));
        if !known && !self.flags.dont_vary && !name.eq_ignore_ascii_case("host") {
            self.vary.push(name.to_owned());
        }
    }
}

fn only_or(mut conditions: Vec<Condition>, several: fn(Vec<Condition>) -> Condition) -> Condition {
    match conditions.pop() {
        Some(only) if conditions.is_empty() => only,
        Some(last) => {
            conditions.push(last);
            several(conditions)
        }
        None => Condition::Constant(false),
    }
}

/// Joins words; literals that meet become one.
fn concat(words: Vec<Word>) -> Word {
    let mut joined: Vec<Word> = Vec::with_capacity(words.len());
    for word in words {
        match (joined.last_mut(), word) {
            (_, Word::Literal(text)) if text.is_empty() => {}
            (Some(Word::Literal(before)), Word::Literal(text)) => {
                *before = [&before[..], &text[..]].concat().into();
            }
            (_, word) => joined.push(word),
        }
    }
    match joined.len() {
        0 => Word::Literal([].into()),
        1 => joined.swap_remove(0),
        _ => Word::Concat(joined),
    }
}

fn restricted(start: usize, what: &str) -> ParseError {
    ParseError::new(start, format!("{what} looks at files and is not available here"))
}

/// Networks must be constant, because they are parsed once.
fn subnet(start: usize, operator: &str, word: &Word) -> Result<Subnet, ParseError> {
    let Word::Literal(text) = word else {
        return Err(ParseError::new(
            start,
            format!("{operator} needs a constant address or network on its right"),
        ));
    };
    let text = String::from_utf8_lossy(text);
    Subnet::parse(&text).map_err(|error| ParseError::new(start, format!("{operator} {text:?}: {error}")))
}
