//! The parsed expression. Conditions and words are separate types because the grammar keeps them apart.
//! Chains of `&&`, `||` and `.` are flat lists, so only brackets, calls and nested variables nest, and
//! those are bounded by the parser.

use crate::function::Function;
use crate::{
    Captures, EvalError, FileTest, GlobMode, Host, ParseError, Place, Regex, RegexOptions, Subnet,
    SubrequestTest, Variable,
};
use std::fmt;
use std::sync::Arc;

/// The language of a text: a condition or a string expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A condition: `%{REQUEST_URI} =~ /x/ && -n %{QUERY_STRING}`.
    Boolean,
    /// A text with `%{...}` in it, as `Header set X "expr=..."` or `ErrorDocument` take it.
    String,
}

/// The file-system access of an expression, by the place where it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FileAccess {
    /// Everything: the server's configuration files.
    #[default]
    Full,
    /// `-d -e -f -s -L -h -x`, but not `file()`, `filesize()` and `filemod()`: .htaccess files (Apache 2.4.67).
    TestsOnly,
    /// Nothing: SSI pages.
    Nothing,
}

/// The options for reading a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// The text's file-system access.
    pub files: FileAccess,
    /// Within SSI: `v()` exists too and is the same as `reqenv()`; `env()` looks at notes, then page
    /// variables, then the server's environment.
    pub ssi: bool,
    /// Never report header names to [`Host::varies_on`] (`Require expr` and others).
    pub dont_vary: bool,
    /// SSLRequire: both kinds of comparison compare length first, then bytes.
    pub ssl_compat: bool,
    /// Defaults of regular expressions (directive RegexDefaultOptions).
    pub regex: RegexOptions,
}

/// A parsed expression. Cloning is cheap.
#[derive(Clone)]
pub struct Expr {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) source: Box<str>,
    pub(crate) root: Root,
    pub(crate) flags: Flags,
    pub(crate) vary: Vec<String>,
    pub(crate) place: Option<Place>,
}

#[derive(Debug)]
pub(crate) enum Root {
    Condition(Condition),
    Text(Word),
}

/// Something that is true or false.
#[derive(Debug)]
pub(crate) enum Condition {
    Constant(bool),
    Not(Box<Condition>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Compare(Comparison, Word, Word),
    CompareIntegers(Comparison, Word, Word),
    Match { word: Word, regex: Regex, negated: bool },
    InWords(Word, Vec<Word>),
    InList { word: Word, function: &'static str, argument: Word },
    Empty(Word),
    NotEmpty(Word),
    Truthy(Word),
    File(FileTest, Word),
    Subrequest(SubrequestTest, Word),
    RemoteIn(Subnet),
    IpMatch(Word, Subnet),
    Glob(GlobMode, Word, Word),
}

/// `==` and `-eq` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub(crate) fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

/// Something that has a text.
#[derive(Debug)]
pub(crate) enum Word {
    Literal(Box<[u8]>),
    Variable(Variable),
    SslVariable(Box<str>),
    /// An `HTTP_*` variable.
    RequestHeader(&'static str),
    Group(u8),
    Concat(Vec<Word>),
    Call(Function, Box<Word>),
}

impl Expr {
    /// The largest file that `file()` reads, in bytes; a larger one is an evaluation error.
    pub const MAX_FILE_SIZE: u64 = 10 * 1024 * 1024;

    /// Parses a text.
    ///
    /// # Errors
    /// A sentence that says where, what was found and what was expected.
    pub fn parse(source: &str, kind: Kind, flags: Flags) -> Result<Self, ParseError> {
        crate::parse::parse(source, kind, flags)
    }

    /// Names the place where the text stands, for errors. Has no effect once it was cloned.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.place = Some(place);
        }
        self
    }

    /// The place where it stands, if [`Self::at`] has named it.
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        self.inner.place.as_ref()
    }

    /// Evaluates a condition. A string expression counts as true when its text is not empty.
    ///
    /// # Errors
    /// [`EvalError::Pending`] when the host must fetch something first; otherwise a failure that callers
    /// treat as false and log.
    pub fn test(&self, host: &dyn Host, captures: &mut Captures) -> Result<bool, EvalError> {
        crate::eval::test(&self.inner, host, captures).map_err(|error| error.at(self.inner.place.as_ref()))
    }

    /// Evaluates to a text. A condition gives `true` or the empty string.
    ///
    /// # Errors
    /// As [`Expr::test`]; callers treat a failure as "no value".
    pub fn string(&self, host: &dyn Host, captures: &Captures) -> Result<Vec<u8>, EvalError> {
        crate::eval::string(&self.inner, host, captures).map_err(|error| error.at(self.inner.place.as_ref()))
    }

    /// The text of an expression that is only a literal, so that callers can skip evaluation.
    #[must_use]
    pub fn literal(&self) -> Option<&[u8]> {
        match &self.inner.root {
            Root::Text(Word::Literal(text)) => Some(text),
            _ => None,
        }
    }

    /// The request headers with constant names that the expression reads and that belong in `Vary`
    /// (`req('X')`, `%{HTTP_COOKIE}`; not `req_novary()`, not `Host`), whether or not an evaluation gets to
    /// them. Apache adds only those that an evaluation read: see [`Host::varies_on`].
    #[must_use]
    pub fn vary_headers(&self) -> &[String] {
        &self.inner.vary
    }

    /// The text that was parsed.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.inner.source
    }

    /// Returns whether this is a condition or a text.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.inner.root {
            Root::Condition(_) => Kind::Boolean,
            Root::Text(_) => Kind::String,
        }
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expr").field(&self.source()).finish()
    }
}

impl PartialEq for Expr {
    /// Two expressions are equal when they were parsed from the same text in the same way.
    fn eq(&self, other: &Self) -> bool {
        self.source() == other.source()
            && self.kind() == other.kind()
            && self.inner.flags == other.inner.flags
    }
}

impl Eq for Expr {}
