//! The load generator: plans, and what came of one.
//!
//! Open plans are measured from the *intended* send time, so that a server that stalls is charged for all that it
//! kept waiting (no coordinated omission). One thread does it all: an event loop of its own for HTTP/1.1
//! ([`http1`]), tokio's for HTTP/2 ([`h2`]).

pub mod direct;
mod h2;
mod http1;
mod limit;
mod outcome;
mod plan;
mod schedule;
pub mod synthetic;
mod tally;
#[cfg(test)]
mod tests;
mod think;
mod timers;
pub(crate) mod tls;
mod url;

pub use limit::{Limit, limit};
pub use outcome::{Errors, MOST_REQUESTS, Outcome, PhaseOutcome, Request, Second};
pub use plan::{MOST_CLIENTS, Phase, Plan, Protocol, Stop, Target, Think};
pub use url::may_load;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// To break off a plan from another thread; what there is so far is returned.
pub type Cancel = Arc<AtomicBool>;

/// Told about ten times a second: seconds done and, as far as that can be told, in all.
pub type Progress<'a> = dyn FnMut(f64, Option<f64>) + 'a;

/// Loads a target by a plan. `progress` is called about ten times a second with seconds done and, where known, in all
/// (of plans that end by requests: an estimate).
///
/// # Errors
/// A plan without sense ([`Plan::check`]), or the generator's own: no sockets, no ports. What the server does wrong is
/// in the outcome.
pub fn run(
    target: &Target,
    plan: &Plan,
    cancel: &Cancel,
    progress: &mut dyn FnMut(f64, Option<f64>),
) -> anyhow::Result<Outcome> {
    plan.check().map_err(|problem| anyhow::anyhow!(problem))?;
    allow_descriptors();
    match plan.protocol {
        Protocol::Http1 => http1::run(target, plan, cancel, progress),
        Protocol::H2 => h2::run(target, plan, cancel, progress),
    }
}

/// Raises the limit of descriptors as far as it goes: each client needs one.
fn allow_descriptors() {
    use hostler_sys::limits::{Bounds, Limit, current, set};
    let bounds = current(Limit::Descriptors);
    let _ = set(Limit::Descriptors, Bounds { soft: bounds.hard, ..bounds });
}

/// Processor time that this thread has used so far.
#[expect(clippy::cast_precision_loss, reason = "seconds")]
fn thread_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
