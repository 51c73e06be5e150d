//! The memory that a pool's processes hold.

use super::Pool;
use crate::backend::Backend;
use std::sync::atomic::Ordering::Relaxed;

/// Notes what the pool's parent, if it has one, and its workers hold.
pub(crate) fn measure<B: Backend>(pool: &Pool<B>, parent: Option<u32>) {
    let process = parent.unwrap_or(0);
    let parent = parent.map_or(0, memory);
    pool.facts().memory = parent;
    let workers: Vec<_> = pool.lock().records.values().map(|record| record.worker.clone()).collect();
    for worker in workers {
        let pid = worker.pid.load(Relaxed);
        // A connection to the one process is no process of its own.
        if pid == 0 || pid == process {
            continue;
        }
        let all = memory(pid);
        // What it shares with its parent since it was forked counts in both.
        worker.bytes.store(all.saturating_sub(parent).max(1 << 20), Relaxed);
    }
}

/// Memory of a process that is not a file's, in bytes, as far as the kernel tells; 0: it is gone.
fn memory(pid: u32) -> u64 {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/statm")) else { return 0 };
    let mut pages = text.split_ascii_whitespace().skip(1).map(|number| number.parse::<u64>().unwrap_or(0));
    let (resident, shared) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    resident.saturating_sub(shared) * rustix::param::page_size() as u64
}
