//! The questions of a running page to its host. Not here: anything that can take time; that is a [`Need`](crate::Need).

use std::borrow::Cow;
use std::fmt;

/// The severity of a message about a page; Apache's levels of the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The element does nothing; the visitor sees the error message.
    Error,
    /// Something is odd, and nothing is shown.
    Warning,
}

/// In which zone a time is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// The server's own zone, as of `DATE_LOCAL`.
    Local,
    /// Greenwich, as of `DATE_GMT`; `%Z` gives `GMT`.
    Gmt,
}

/// The request around a page. One host serves the outer document and everything it includes, because
/// in Apache these share one environment: a variable set by an included document is seen by its parent.
pub trait Host {
    /// Value of a variable, its name compared without regard to case.
    ///
    /// A time that was not formatted yet (see [`Environment`](crate::Environment)) is formatted with
    /// `time_format` and kept.
    fn variable(&self, name: &[u8], time_format: &[u8]) -> Option<Cow<'_, [u8]>>;

    /// `set` gives a variable a value, for this document and all others of the request.
    fn set_variable(&mut self, name: &[u8], value: &[u8]);

    /// `config timefmt` formats `DATE_LOCAL`, `DATE_GMT` and `LAST_MODIFIED` anew, at once.
    fn format_dates(&mut self, time_format: &[u8]);

    /// Appends a time (seconds since 1970, as of `flastmod`) in strftime's format.
    fn format_time(&self, seconds: i64, zone: Zone, format: &[u8], out: &mut Vec<u8>);

    /// Calls `visit` with name and value of each variable, in the order they were first set (`printenv`).
    fn each_variable(&self, time_format: &[u8], visit: &mut dyn FnMut(&[u8], &[u8]));

    /// The request as an expression sees it. Its `request_env` is not asked: names there are variables of
    /// the page, for which [`Host::variable`] answers.
    fn expression(&self) -> &dyn hostler_expr::Host;

    /// A message for the error log about line `line` of the page; the host adds the document's name.
    fn log(&self, severity: Severity, line: usize, message: fmt::Arguments<'_>);
}
