//! Work for a site that may take long is done aside, by threads that give way to all others: reading large `.htaccess`
//! files and pages, merging what is large, checking passwords.
//!
//! One piece of work at a time for each site and thread of the front; what it takes is on the request's budget.

use crate::limits::budget;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::Halt;
use std::cell::Cell;
use tokio::sync::OwnedSemaphorePermit;

/// Adds to the niceness of threads that work aside.
const NICE: i32 = 5;

/// Leave to let work be done aside; while it waits, another request of the site may have done the same work.
pub(crate) struct Permit(OwnedSemaphorePermit);

/// Waits for the site's turn.
pub(crate) async fn permit(request: &Request) -> Result<Permit, Halt> {
    let site = request.thread.site(&request.server);
    let permit = site.aside.clone().acquire_owned().await.map_err(|_| Halt::Status(500))?;
    budget::check(request)?;
    Ok(Permit(permit))
}

/// Does the work. It goes on when the request is given up, and so does the permit.
pub(crate) async fn run<T: Send + 'static>(
    request: &Request,
    permit: Permit,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Halt> {
    let timed = move || {
        let before = budget::thread_time();
        let result = work();
        (result, budget::thread_time().saturating_sub(before))
    };
    let (result, took) = run_free(request, permit, timed).await?;
    request.budget.charge(took);
    budget::check(request)?;
    Ok(result)
}

/// The same for work whose time is none of the rules': it is not on the budget.
pub(crate) async fn run_free<T: Send + 'static>(
    request: &Request,
    permit: Permit,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Halt> {
    let done = tokio::task::spawn_blocking(move || {
        give_way();
        let result = work();
        drop(permit.0);
        result
    });
    done.await.map_err(|_| {
        log::request(request, Severity::Error, "core", "work for the request has failed");
        Halt::Status(500)
    })
}

/// Lowers the thread's priority, once.
fn give_way() {
    thread_local! {
        static DONE: Cell<bool> = const { Cell::new(false) };
    }
    if !DONE.replace(true) {
        // Of a thread, not of its process: so it is in Linux. Without it, work aside only competes.
        let _ = rustix::process::setpriority_process(None, NICE);
    }
}
