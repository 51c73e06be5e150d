//! The lines that a worker has written to an ErrorLog about one request, and how many it may.

use crate::log;
use crate::request::Request;
use hostler_gateway::LOGGED;
use hostler_wire::work::Severity;
use std::cell::Cell;

/// Bytes of lines so far.
#[derive(Debug, Default)]
pub(super) struct Said(Cell<usize>);

impl Said {
    /// Writes a line.
    pub(super) fn log(&self, request: &Request, severity: Severity, virtual_host: bool, text: &[u8]) {
        let before = self.0.get();
        if before >= LOGGED {
            return;
        }
        self.0.set(before + text.len() + 1);
        write(request, severity, virtual_host, text);
        if self.0.get() >= LOGGED {
            let end = b"(too many lines: the rest of this request is not logged)";
            log::of_program(request, log::Severity::Error, super::engine(request).log, end);
        }
    }
}

fn write(request: &Request, severity: Severity, virtual_host: bool, text: &[u8]) {
    let severity = match severity {
        Severity::Emerg => log::Severity::Emerg,
        Severity::Alert => log::Severity::Alert,
        Severity::Crit => log::Severity::Crit,
        Severity::Error => log::Severity::Error,
        Severity::Warn => log::Severity::Warn,
        Severity::Notice => log::Severity::Notice,
        Severity::Info => log::Severity::Info,
        Severity::Debug => log::Severity::Debug,
    };
    let end = text.iter().rposition(|b| *b != b'\n').map_or(0, |last| last + 1);
    let text = &text[..end];
    if virtual_host {
        log::of_program(request, severity, super::engine(request).log, text);
    } else {
        log::of_program_for_main(request, severity, super::engine(request).log, text);
    }
}
