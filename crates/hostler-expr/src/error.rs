//! Errors: a text that is no expression ([`ParseError`]), and an evaluation that cannot finish ([`EvalError`]). Callers
//! treat a failed evaluation as "false" and log its sentence, as Apache does.

use crate::place::{Place, Prefix};
use crate::{FileTest, SubrequestTest};
use std::fmt;

/// A text that is not an expression, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    position: usize,
    message: String,
}

impl ParseError {
    pub(crate) fn new(position: usize, message: impl Into<String>) -> Self {
        Self { position, message: message.into() }
    }

    pub(crate) fn expected(position: usize, found: impl fmt::Display, expected: &str) -> Self {
        Self::new(position, format!("found {found}, expected {expected}"))
    }

    /// Byte offset in the source where the error was noticed.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// The sentence without the position.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {}: {}", self.position + 1, self.message)
    }
}

impl std::error::Error for ParseError {}

/// A fact that the host has to fetch before the expression can be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Nothing: the time slice is over, or a match is postponed ([`crate::postponed`]).
    Turn,
    /// A variable, by name (`REMOTE_HOST` may need the resolver, `SSL_...` the handshake's data).
    Variable(String),
    /// `-d -e -f -s -L -h -x` on a path.
    File(FileTest, Vec<u8>),
    /// `file()`: the contents of a path.
    FileContents(Vec<u8>),
    /// `filesize()` of a path.
    FileSize(Vec<u8>),
    /// `filemod()` of a path.
    FileModified(Vec<u8>),
    /// `-U`, `-A` (a URI) or `-F` (a path), and legacy SSI's `-A`.
    Subrequest(SubrequestTest, Vec<u8>),
    /// A list function such as `PeerExtList`, with its argument.
    List(String, Vec<u8>),
}

/// An evaluation that cannot finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvalError {
    /// The host must fetch something first; evaluate again afterwards.
    Pending(Box<Question>),
    /// `file()` could not be read.
    File(String),
    /// A regular expression gave up (limits) or, in legacy SSI, does not compile. The sentence names it.
    Regex(String),
    /// A legacy SSI expression whose shape shows to be wrong only now, or more work than may be done.
    Invalid(String),
}

impl From<crate::effort::Exhausted> for EvalError {
    fn from(error: crate::effort::Exhausted) -> Self {
        Self::Invalid(error.to_string())
    }
}

impl From<crate::RegexError> for EvalError {
    fn from(error: crate::RegexError) -> Self {
        if error.is_postponed() { Self::pending(Question::Turn) } else { Self::Regex(error.to_string()) }
    }
}

impl EvalError {
    /// The same with the place of the expression.
    pub(crate) fn at(self, place: Option<&Place>) -> Self {
        let place = Prefix(place);
        match self {
            Self::Pending(_) => self,
            Self::File(reason) => Self::File(format!("{place}{reason}")),
            Self::Regex(reason) => Self::Regex(format!("{place}{reason}")),
            Self::Invalid(reason) => Self::Invalid(format!("{place}{reason}")),
        }
    }

    pub(crate) fn pending(question: Question) -> Self {
        Self::Pending(Box::new(question))
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending(question) => write!(f, "waiting for {question:?}"),
            Self::File(reason) | Self::Regex(reason) | Self::Invalid(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for EvalError {}
