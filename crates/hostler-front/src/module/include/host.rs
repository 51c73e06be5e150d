//! The request as a document in it sees it: `hostler-ssi`'s view.

use super::dates;
use super::variables::Variables;
use crate::limits::budget;
use crate::log;
use crate::request::Request;
use crate::request::expr_host::RequestHost;
use hostler_ssi::{Host, Severity, Zone};
use std::borrow::Cow;
use std::fmt;

/// Messages about one request's documents that get into the log. A page that includes itself has thousands.
const MOST_MESSAGES: u32 = 100;

/// A document's view while it runs.
pub(super) struct View<'a> {
    pub(super) variables: &'a mut Variables,
    /// The page that was asked for: what variables tell of.
    pub(super) page: &'a Request,
    /// The document itself: what expressions ask about, and whose file errors name.
    pub(super) document: &'a Request,
    pub(super) expression: &'a RequestHost<&'a Request>,
}

impl Host for View<'_> {
    fn variable(&self, name: &[u8], time_format: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.variables.value(self.page, name, time_format)
    }

    fn set_variable(&mut self, name: &[u8], value: &[u8]) {
        if !self.variables.set(name, value) {
            let name = String::from_utf8_lossy(name);
            let message =
                format!("too much memory for variables, so {name} keeps its old value in a document");
            self.message(log::Severity::Error, &message);
        }
    }

    fn format_dates(&mut self, time_format: &[u8]) {
        self.variables.format_dates(self.page, time_format);
    }

    fn format_time(&self, seconds: i64, zone: Zone, format: &[u8], out: &mut Vec<u8>) {
        dates::format(seconds, zone, format, out);
    }

    fn each_variable(&self, time_format: &[u8], visit: &mut dyn FnMut(&[u8], &[u8])) {
        for (name, value) in self.variables.all(self.page, time_format).iter() {
            visit(name, value);
        }
    }

    fn expression(&self) -> &dyn hostler_expr::Host {
        self.expression
    }

    fn log(&self, severity: Severity, line: usize, message: fmt::Arguments<'_>) {
        let severity = match severity {
            Severity::Error => log::Severity::Error,
            Severity::Warning => log::Severity::Warn,
        };
        self.message(severity, &format!("{message} in line {line}"));
    }
}

impl View<'_> {
    fn message(&self, severity: log::Severity, message: &str) {
        let so_far = self.variables.count_message();
        if so_far > MOST_MESSAGES {
            return;
        }
        let last =
            if so_far == MOST_MESSAGES { " (further messages about this request are left out)" } else { "" };
        let file = String::from_utf8_lossy(&self.document.resource.filename);
        let message = format!("{message} of {file}{last}");
        if severity == log::Severity::Error {
            budget::log_failure(self.document, "include", &message);
        } else {
            log::request(self.document, severity, "include", &message);
        }
    }
}
