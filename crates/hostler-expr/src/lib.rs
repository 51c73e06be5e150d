//! Apache's expression language (`ap_expr`), as `<If>`, `Require expr`, `Header ... expr=`, `SetEnvIfExpr`
//! and the SSI elements `if` and `elif` use it, plus mod_include's legacy expressions (module [`legacy`]).
//!
//! The crate does no I/O. A source text is parsed once into an [`Expr`]; evaluating it asks a [`Host`] for
//! request data. Where the host would have to wait (a file test, a sub-request), it answers
//! [`Answer::Pending`]: evaluation stops with [`EvalError::Pending`], the driver fetches what the
//! [`Question`] names and evaluates again, from the start or, with [`Captures::keeping_progress`], from the
//! condition that stopped. Evaluation has no side effects besides the [`Captures`], so starting again is safe.
//!
//! ```
//! use hostler_expr::{Answer, Captures, Expr, Flags, Host, Kind, Variable};
//! use std::borrow::Cow;
//!
//! struct Request;
//! impl Host for Request {
//!     fn variable(&self, variable: Variable) -> Answer<Option<Cow<'_, [u8]>>> {
//!         Answer::Ready((variable == Variable::RequestUri).then_some(Cow::Borrowed(&b"/shop/7"[..])))
//!     }
//!     fn request_header(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> { None }
//!     fn response_header(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> { None }
//!     fn request_env<'a>(&'a self, _: &[u8], _: &'a Captures) -> Option<Cow<'a, [u8]>> { None }
//! }
//!
//! let expr = Expr::parse("%{REQUEST_URI} =~ m#/shop/([0-9]+)#", Kind::Boolean, Flags::default())?;
//! let mut captures = Captures::new();
//! assert_eq!(expr.test(&Request, &mut captures), Ok(true));
//! assert_eq!(captures.group(1), Some(&b"7"[..]));
//! # Ok::<(), hostler_expr::ParseError>(())
//! ```
//!
//! Reference: the manual page "Expressions in Apache HTTP Server" (docs/manual/expr.html), release 2.4.

mod captures;
mod digest;
mod error;
mod eval;
mod function;
mod glob;
mod host;
pub mod legacy;
mod lexer;
mod parse;
mod place;
pub mod postponed;
mod regex;
mod subnet;
mod text;
mod tree;
mod variable;

pub use captures::{Captures, Groups};
pub use error::{EvalError, ParseError, Question};
pub use glob::{GlobMode, glob_matches};
pub use host::{Answer, FileError, FileTest, Host, SubrequestTest};
pub use hostler_regex::effort;
pub use place::Place;
pub use regex::{Regex, RegexError, RegexOptions};
pub use subnet::{Subnet, SubnetError};
pub use tree::{Expr, FileAccess, Flags, Kind};
pub use variable::{Variable, header_of};

#[cfg(test)]
mod oracle_tests;
#[cfg(test)]
mod tests;
