//! The lines that a worker has written to an ErrorLog about one request, and how many it may.

use crate::log;
use crate::request::Request;
use hostler_gateway::LOGGED;
use hostler_gateway::backend::ring::Exchange;
use hostler_wire::work::Severity;
use std::cell::Cell;

/// The lines written so far.
#[derive(Debug)]
pub(crate) struct LineLog {
    /// The module named in the lines.
    module: &'static str,
    /// The worker's process.
    pid: u32,
    /// In bytes.
    written: Cell<usize>,
}

impl LineLog {
    /// For a request whose programs are this module's; who serves it.
    pub(crate) fn by(module: &'static str, exchange: &Exchange) -> Self {
        Self { module, pid: exchange.worker().1, written: Cell::new(0) }
    }

    /// Writes a line.
    pub(crate) fn log(&self, request: &Request, severity: Severity, virtual_host: bool, text: &[u8]) {
        self.write(request, text, |text| write(request, self.module, severity, virtual_host, text));
    }

    /// Writes a line of its standard error, as one that has come by the worker's pipe.
    pub(crate) fn print(&self, request: &Request, line: &[u8]) {
        self.write(request, line, |line| {
            let who = format!("process {}", self.pid);
            log::program(&request.thread, &request.server, self.module, &who, line);
        });
    }

    fn write(&self, request: &Request, text: &[u8], write: impl FnOnce(&[u8])) {
        let before = self.written.get();
        if before >= LOGGED {
            return;
        }
        self.written.set(before + text.len() + 1);
        write(text);
        if self.written.get() >= LOGGED {
            let end = b"(too many lines: the rest of this request is not logged)";
            log::of_program(request, log::Severity::Error, self.module, end);
        }
    }
}

fn write(request: &Request, module: &str, severity: Severity, virtual_host: bool, text: &[u8]) {
    let severity = log::of_wire(severity);
    let end = text.iter().rposition(|b| *b != b'\n').map_or(0, |last| last + 1);
    let text = &text[..end];
    if virtual_host {
        log::of_program(request, severity, module, text);
    } else {
        log::of_program_for_main(request, severity, module, text);
    }
}
