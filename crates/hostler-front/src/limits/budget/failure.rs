//! Why a request cannot be answered as its rules say, and its one line in the log.

use crate::limits::watch::Place;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::Halt;
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The budget is used up.
    Spent,
    /// Work that cannot let others go on took too long.
    Stretch,
    /// A rule could not be carried out; the log has the reason.
    Rule,
    /// It has waited there for too long ([`crate::limits::watch`]).
    Silent(Place),
    /// The server stops before the request is done.
    Stopping,
}

/// Returns an error if the request has failed, and logs it, once.
pub(crate) fn check(request: &Request) -> Result<(), Halt> {
    let budget = &request.budget;
    let Some(failure) = budget.failed.get() else { return Ok(()) };
    if !budget.logged.replace(true) {
        let cause = cause(request).map_or_else(String::new, |cause| cause + ": ");
        let rules = "its .htaccess files, includes and expressions";
        let message = match failure {
            Failure::Spent => format!(
                "{cause}the request has used up {} ms of CPU time for {rules} (HostlerRequestBudget)",
                budget.most.get().as_millis()
            ),
            Failure::Stretch => format!(
                "{cause}a single step of {rules} took more than {} ms of CPU time, a hundredth of HostlerRequestBudget",
                budget.stretch().as_millis()
            ),
            Failure::Silent(place) => format!(
                "killed: nothing has happened for {} s (HostlerWaitTimeout) in {} of {}, at {}",
                budget.watched.patience().as_secs(),
                place.step,
                place.module,
                about(request)
            ),
            Failure::Stopping => format!("killed: {}", request.thread.shared.cut_off_cause()),
            Failure::Rule => {
                format!("{cause}a rule of {rules} could not be carried out, so the request is refused")
            }
        };
        log::request(request, Severity::Error, "core", &message);
    }
    Err(Halt::Status(if failure == Failure::Stopping { 503 } else { 500 }))
}

/// Returns the subject of a request: its file, or its URL where it has none yet.
fn about(request: &Request) -> Cow<'_, str> {
    let filename = &request.resource.filename;
    String::from_utf8_lossy(if filename.is_empty() { &request.target.uri } else { filename })
}

/// Returns the message of the rule that used up the budget, with its place; a page's expressions have that of the page.
fn cause(request: &Request) -> Option<String> {
    let place = request.budget.place.take().map(|place| place.to_string());
    let Some(cause) = request.budget.cause.take() else { return place };
    if cause.starts_with('/') {
        return Some(cause);
    }
    Some(format!("{}: {cause}", place.unwrap_or_else(|| about(request).into_owned())))
}

/// Logs that a rule could not be carried out. If there was no time for it, this becomes a part of [`check`]'s line.
pub(crate) fn log_failure(request: &Request, module: &str, reason: &str) {
    if !becomes_cause(request, reason) {
        log::request(request, Severity::Error, module, reason);
    }
}

/// The same for a rule that may guard something: the request fails. Only the first one is logged.
pub(crate) fn fail_rule(request: &Request, module: &str, reason: &str) {
    let budget = &request.budget;
    if !becomes_cause(request, reason) && !budget.has_failed() {
        log::request(request, Severity::Error, module, reason);
        budget.failed.set(Some(Failure::Rule));
    }
}

fn becomes_cause(request: &Request, reason: &str) -> bool {
    let budget = &request.budget;
    let lacks_time = matches!(budget.failed.get(), Some(Failure::Spent | Failure::Stretch));
    if lacks_time {
        budget.cause.borrow_mut().get_or_insert_with(|| reason.to_owned());
    }
    lacks_time
}
