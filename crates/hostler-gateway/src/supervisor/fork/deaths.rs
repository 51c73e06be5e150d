//! The deaths of workers, each told once: by the request that it took with it, or else here.

use super::parent::Host;
use crate::backend::ring::{Pool, Ring, Worker};
use crate::pool::maintain::FAREWELL;
use crate::pool::worker::{Record, describe};
use crate::pool::{WorkerId, WorkerState};
use hostler_sys::stat::Stat;
use hostler_wire::site::Exit;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The time in which a request should notice that its worker is gone.
const NOTICED: Duration = Duration::from_secs(1);

/// The time limit for a parent to report that a worker has exited.
const TELLING: Duration = Duration::from_secs(3);

/// Looks for what a parent should have told and has not: one that is stopped would keep it from the pool for ever.
#[derive(Default)]
pub(super) struct Watch {
    /// Workers that are dead, and since when this is known.
    untold: HashMap<WorkerId, Instant>,
}

impl Watch {
    /// Returns whether the parent has left a worker unforked, or a death untold, for too long. `closed`: workers whose
    /// standard error nobody holds any more; one that lives may have closed it.
    pub(super) fn is_stuck(&mut self, pool: &Pool, closed: &[WorkerId], now: Instant) -> bool {
        let late = |record: &Record<Ring>| {
            let is_unforked = record.state == WorkerState::Starting && record.worker.pid.load(Relaxed) == 0;
            is_unforked && now.saturating_duration_since(record.since) >= FAREWELL
        };
        let (suspects, is_late) = {
            let state = pool.lock();
            let pid = |id| Some((id, state.records.get(&id)?.worker.pid.load(Relaxed)));
            let suspects: Vec<_> = closed.iter().copied().filter_map(pid).collect();
            (suspects, state.records.values().any(late))
        };
        let known = std::mem::take(&mut self.untold);
        let dead = suspects.into_iter().filter(|(_, pid)| Stat::of(*pid).is_some_and(|stat| stat.is_dead()));
        self.untold = dead.map(|(id, _)| (id, *known.get(&id).unwrap_or(&now))).collect();
        is_late || self.untold.values().any(|since| now.duration_since(*since) >= TELLING)
    }
}

/// Returns whether a process is alive.
pub(super) fn runs(pid: u32) -> bool {
    Stat::of(pid).is_some_and(|stat| !stat.is_dead())
}

/// Has a worker's end told that nobody asked for. `busy`: it had a request, which tells it, unless the worker had not
/// begun it, or had answered it: then the request is not lost, and says nothing.
pub(super) fn tell<H: Host + 'static>(host: &Rc<H>, worker: &Arc<Worker>, exit: Exit, busy: bool) {
    let (host, worker) = (host.clone(), worker.clone());
    let line = move || {
        if !worker.told.load(Relaxed) {
            let text = format!("the worker ended unasked: {}", describe(exit));
            host.line(worker.pid.load(Relaxed), text.as_bytes());
        }
    };
    if !busy {
        return line();
    }
    tokio::task::spawn_local(async move {
        tokio::time::sleep(NOTICED).await;
        line();
    });
}
