//! mod_include's own, older expressions, which `SSILegacyExprParser on` selects: comparison of texts with
//! variables in them, such as `"$HTTP_USER_AGENT" = /Mozilla/ && $x != ''`.
//!
//! Details that an administrator may stumble over, all of them Apache's behaviour:
//! - `&&` and `||` have the same precedence and group to the right: `a && b || c` is `a && (b || c)`;
//! - words beside one another join with one space;
//! - `! a = b` is an error, write `!(a = b)`;
//! - all comparisons are of texts, also `<` and `>`;
//! - the shape of an operand is checked only when it is evaluated, so `a || b =` is true when `a` is.
//!
//! Regular expressions are compiled at evaluation, because they contain variables.

mod eval;
mod parse;
mod substitute;

use crate::tree::Comparison;
use crate::{Answer, Captures, EvalError, ParseError};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

pub use substitute::{Missing, substitute};

/// The questions of a legacy expression about its page.
pub trait Host {
    /// An SSI variable. Names `0` to `9` do not come here.
    fn variable(&self, name: &[u8]) -> Option<Cow<'_, [u8]>>;

    /// `-A`: whether a sub-request for the URI gets a status below 400.
    fn accessible(&self, _uri: &[u8]) -> Answer<bool> {
        Answer::Ready(false)
    }
}

/// A parsed legacy expression. Cloning is cheap.
#[derive(Clone)]
pub struct LegacyExpr {
    inner: Arc<Inner>,
}

struct Inner {
    source: Box<[u8]>,
    /// `None` for an empty text, which is false.
    root: Option<Chain>,
    /// Regular expressions in the whole text. While any of them has not run, nothing is short-circuited.
    regexes: usize,
}

/// `a && b || c`, grouped to the right; each operand with the operator behind it (the last has none).
struct Chain(Vec<(Node, Option<Logic>)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Logic {
    And,
    Or,
}

/// One operand. What cannot be evaluated is kept, because it is an error only if evaluation gets there.
enum Node {
    Text(Vec<u8>),
    Regex(Vec<u8>),
    Compare(Comparison, Box<Node>, Box<Node>),
    /// `!`, with `Missing` inside when nothing follows.
    Not(Box<Node>),
    /// `( ... )`; an empty one is true.
    Group(Option<Chain>),
    /// `(` without `)`.
    Unclosed,
    /// `-A`
    Access(Box<Node>),
    Missing,
}

impl LegacyExpr {
    /// Parses an expression.
    ///
    /// # Errors
    /// A sentence that says where, what was found and what was expected.
    pub fn parse(source: &[u8]) -> Result<Self, ParseError> {
        let (root, regexes) = parse::parse(source)?;
        Ok(Self { inner: Arc::new(Inner { source: source.into(), root, regexes }) })
    }

    /// Evaluates. Every regular expression that is reached replaces `captures`.
    ///
    /// # Errors
    /// [`EvalError::Pending`] when the host must answer `-A` first; [`EvalError::Invalid`] for a part that is
    /// no condition; [`EvalError::Regex`] for a pattern that does not compile or gives up. mod_include prints
    /// its error message for all but the first.
    pub fn test(&self, host: &dyn Host, captures: &mut Captures) -> Result<bool, EvalError> {
        eval::test(&self.inner, host, captures)
    }
}

impl fmt::Debug for LegacyExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LegacyExpr").field(&String::from_utf8_lossy(&self.inner.source)).finish()
    }
}
