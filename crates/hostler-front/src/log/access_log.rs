//! Access logs (mod_log_config): which logs get a line about a request. What the line says is in [`record`] and
//! [`fast`], where it waits until it is written in [`buffers`].

mod buffers;
mod clock;
mod fast;
mod record;

pub(crate) use buffers::{Buffers, append, append_soon, flush_all, flusher};
pub(crate) use fast::{Facts, FastRecord, write_fast};
pub(crate) use record::tid;

use crate::io::sent::Delivery;
use crate::log::{self, AccessLog, Severity};
use crate::request::Request;
use crate::request::expr_host::RequestHost;
use crate::request::id;
use crate::request::thread::Thread;
use hostler_config::Server;
use hostler_config::directives::log_config::Condition;
use hostler_expr::{Captures, Expr};
use record::Record;
use std::rc::Rc;

/// The outcome of a response.
pub(crate) struct Outcome {
    pub(crate) sent: Delivery,
    /// Bytes of the request, head and body (`%I`).
    pub(crate) received: u64,
    /// The client went away before all was sent.
    pub(crate) aborted: bool,
    /// The connection stays open (`%X`).
    pub(crate) kept: bool,
}

/// Writes the lines of the virtual host's access logs for a request that was answered with this status.
pub(crate) fn write(thread: &Rc<Thread>, request: &Request, status: u16, outcome: &Outcome) {
    thread.answered(&request.server, status, outcome.sent.total, request.client.started.elapsed());
    // Refusals may be very many: they are told together, now and then.
    let refused = request.is_refused || request.original().is_refused;
    if status >= 500 && !refused && id::is_unexplained(request) {
        // The page names an id: whoever looks for it must find something.
        let message = format!("answered {status} without telling a cause");
        log::request(request, Severity::Error, "core", &message);
    }
    let logs = thread.shared.logs.access_logs(&request.server);
    if !logs.is_empty() {
        let record = Record::new(request, status, outcome);
        for access_log in logs {
            if is_met(access_log, request.original()) {
                buffers::push(thread, access_log.destination, |out| access_log.format.write(&record, out));
            }
        }
    }
    id::finished(request);
}

/// Returns whether the virtual host has an access log.
pub(crate) fn is_wanted(thread: &Thread, server: &Server) -> bool {
    !thread.shared.logs.access_logs(server).is_empty()
}

/// Conditions are asked of the request that the client sent, not of what internal redirects made of it.
fn is_met(access_log: &AccessLog, request: &Request) -> bool {
    match &access_log.condition {
        None => true,
        Some(Condition::Env { name, set }) => request.env.contains(name.as_bytes()) == *set,
        Some(Condition::Expr(expr)) => holds(expr, request),
    }
}

/// Evaluates a condition. File tests and sub-requests are unavailable: the response is already on its way.
fn holds(expr: &Expr, request: &Request) -> bool {
    let host = RequestHost::new(request);
    match expr.test(&host, &mut Captures::new()) {
        Ok(met) => met,
        Err(error) => {
            let message = format!("the condition of an access log can't be decided: {error}");
            log::request(request, Severity::Error, "log_config", &message);
            false
        }
    }
}
