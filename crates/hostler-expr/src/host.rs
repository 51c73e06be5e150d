//! The questions of an expression: the [`Host`] trait. The front implements it over a request, SSI over a page.

use crate::{Captures, Variable};
use std::borrow::Cow;
use std::net::IpAddr;

/// A host's answer: the value, or "I must fetch this first".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// The value.
    Ready(T),
    /// Needs I/O. Evaluation stops with [`crate::EvalError::Pending`] naming the question.
    Pending,
}

/// The unary operators that look at a file (docs/manual/expr.html#unnop).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileTest {
    /// `-d`: a directory.
    Directory,
    /// `-e`: exists.
    Exists,
    /// `-f`: a regular file.
    Regular,
    /// `-s`: a regular file of more than zero bytes.
    NotEmpty,
    /// `-L`, `-h`: a symbolic link (asked of the link itself).
    SymbolicLink,
    /// `-x`: executable by somebody.
    Executable,
}

/// The unary operators that walk a sub-request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubrequestTest {
    /// `-U`, `-A`: a sub-request for the URI gets a status below 400.
    Uri,
    /// `-F`: a sub-request for the file gets a status below 300 and the file exists.
    File,
}

/// Why `file()` gave nothing; Apache makes both an evaluation error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileError {
    /// Cannot be opened or read.
    Unreadable,
    /// Larger than [`crate::Expr::MAX_FILE_SIZE`].
    TooLarge,
}

/// Supplies an expression with request data.
///
/// Header and environment names arrive as written in the expression; the host compares request and
/// response header names without regard to case. `None` and the empty string are the same to expressions.
/// Everything that may need I/O answers [`Answer`]; the defaults say "not there".
pub trait Host {
    /// The value of a variable of Apache's core (`%{REQUEST_URI}`). The `HTTP_*` variables do not come
    /// here: they are [`Host::request_header`].
    fn variable(&self, variable: Variable) -> Answer<Option<Cow<'_, [u8]>>>;

    /// A variable of mod_ssl: any name that begins with `SSL_`, and the argument of `ssl()`.
    fn ssl_variable(&self, _name: &str) -> Answer<Option<Cow<'_, [u8]>>> {
        Answer::Ready(None)
    }

    /// `req()`, `http()`, `req_novary()` and the `HTTP_*` variables: a field of the request's header.
    fn request_header(&self, name: &[u8]) -> Option<Cow<'_, [u8]>>;

    /// `resp()`: a field of the response's header (first `headers_out`, then `err_headers_out`).
    fn response_header(&self, name: &[u8]) -> Option<Cow<'_, [u8]>>;

    /// `note()`: a request note.
    fn note(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    /// `reqenv()`: the request's environment (SetEnvIf ...); within SSI, the page's variables, also `v()`.
    /// `captures` is for SSI, whose variables `0` to `9` are the groups of the last match.
    fn request_env<'a>(&'a self, name: &[u8], captures: &'a Captures) -> Option<Cow<'a, [u8]>>;

    /// `osenv()`: the server's own environment.
    fn os_env(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    /// Called when the answer depends on a request header that belongs in `Vary` (`req()`, `http()`,
    /// `HTTP_*`, but neither `req_novary()` nor `Host`). Not called with [`crate::Flags::dont_vary`] or for
    /// string expressions, as in Apache. May be called again for the same name.
    fn varies_on(&self, _header: &[u8]) {}

    /// `-d -e -f -s -L -h -x`.
    fn file_test(&self, _test: FileTest, _path: &[u8]) -> Answer<bool> {
        Answer::Ready(false)
    }

    /// `file()`: at most [`crate::Expr::MAX_FILE_SIZE`] bytes.
    fn file_contents(&self, _path: &[u8]) -> Answer<Result<Cow<'_, [u8]>, FileError>> {
        Answer::Ready(Err(FileError::Unreadable))
    }

    /// `filesize()` in bytes, `None` unless a regular file.
    fn file_size(&self, _path: &[u8]) -> Answer<Option<u64>> {
        Answer::Ready(None)
    }

    /// `filemod()` in microseconds since 1970, `None` unless a regular file.
    fn file_modified(&self, _path: &[u8]) -> Answer<Option<u64>> {
        Answer::Ready(None)
    }

    /// `-U -A -F`: the outcome of a sub-request.
    fn subrequest(&self, _test: SubrequestTest, _target: &[u8]) -> Answer<bool> {
        Answer::Ready(false)
    }

    /// The client's address for `-R`.
    fn remote_ip(&self) -> Option<IpAddr> {
        None
    }

    /// A list function of a module (`PeerExtList`).
    fn list(&self, _function: &str, _argument: &[u8]) -> Answer<Vec<Vec<u8>>> {
        Answer::Ready(Vec::new())
    }
}
