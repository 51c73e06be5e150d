//! A worker, as the pool knows it.

use super::settings::Settings;
use super::ticket::{Placed, Ticket};
use super::{WorkerId, WorkerState, WorkerStatus};
use crate::{Error, Kind};
use hostler_ring::Memory;
use hostler_wire::site::Exit;
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// Lines of a worker's stderr that are kept for the cause of an error.
const KEPT: usize = 10;
/// Bytes kept of each.
const KEPT_LINE: usize = 300;

/// What all who speak with a worker share.
pub(super) struct Worker {
    pub(super) id: WorkerId,
    /// Which parent of the pool has forked it.
    pub(super) parent: u32,
    pub(super) pid: AtomicU32,
    pub(super) memory: Arc<Memory>,
    /// Its running request has been offered, so that another may be placed behind it.
    pub(super) open: AtomicBool,
    /// Set when it is gone.
    pub(super) death: OnceLock<Death>,
    /// Memory of its own, in bytes, as last looked at.
    pub(super) bytes: AtomicU64,
    last_lines: Mutex<VecDeque<String>>,
}

/// How a worker has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Death {
    /// As its parent says.
    Exit(Exit),
    /// Its parent is gone, so nobody can say.
    Orphaned,
}

impl Worker {
    pub(super) fn new(id: WorkerId, parent: u32, memory: Arc<Memory>) -> Arc<Self> {
        Arc::new(Self {
            id,
            parent,
            pid: AtomicU32::new(0),
            memory,
            open: AtomicBool::new(false),
            death: OnceLock::new(),
            bytes: AtomicU64::new(0),
            last_lines: Mutex::default(),
        })
    }

    pub(super) fn is_dead(&self) -> bool {
        self.death.get().is_some()
    }

    /// The error for a request that it took with it.
    pub(super) fn died(&self, death: Death) -> Error {
        let why = match death {
            Death::Exit(exit) => super::maintain::describe(exit),
            Death::Orphaned => "its parent has ended".to_owned(),
        };
        let pid = self.pid.load(Relaxed);
        let mut error = Error::because(Kind::WorkerDied, format!("worker {pid}: {why}"));
        error.last_lines = self.last_lines();
        error
    }

    /// Keeps a line of its stderr.
    pub(super) fn keep_line(&self, line: &[u8]) {
        let mut lines = self.last_lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT {
            lines.pop_front();
        }
        lines.push_back(line[..line.len().min(KEPT_LINE)].escape_ascii().to_string());
    }

    pub(super) fn last_lines(&self) -> Vec<String> {
        self.last_lines.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// What only the pool knows about a worker; changed under its lock.
pub(super) struct Record {
    pub(super) worker: Arc<Worker>,
    pub(super) state: WorkerState,
    pub(super) since: Instant,
    /// Requests it has been given.
    pub(super) requests: u64,
    /// The channel of the running request; the other one is for what is placed behind it.
    pub(super) channel: usize,
    /// The thread on which that runs.
    pub(super) thread: u32,
    /// Numbers of configurations that it has been told.
    pub(super) told: HashSet<u32, foldhash::fast::RandomState>,
    /// The request behind the running one.
    pub(super) placed: Option<Placed>,
    /// It is at its last request: nothing is placed behind it.
    pub(super) last: bool,
}

impl Record {
    pub(super) fn new(worker: Arc<Worker>) -> Self {
        Self {
            worker,
            state: WorkerState::Starting,
            since: Instant::now(),
            requests: 0,
            channel: 0,
            thread: 0,
            told: HashSet::default(),
            placed: None,
            last: false,
        }
    }

    pub(super) fn status(&self) -> WorkerStatus {
        WorkerStatus {
            id: self.worker.id,
            pid: self.worker.pid.load(Relaxed),
            state: self.state,
            requests: self.requests,
            memory: self.worker.bytes.load(Relaxed),
            since: self.since.elapsed(),
        }
    }

    /// Whether further requests may be given to it at some time.
    pub(super) fn lasts(&self) -> bool {
        self.state != WorkerState::Ending && !self.last
    }

    /// Whether a request may be placed behind the one that runs.
    pub(super) fn is_placeable(&self) -> bool {
        self.state == WorkerState::Busy
            && !self.last
            && self.placed.is_none()
            && self.worker.open.load(Acquire)
            && !self.worker.is_dead()
    }

    /// It has been given one more request.
    pub(super) fn given(&mut self, settings: &Settings) {
        self.requests += 1;
        let most = if settings.one_shot { 1 } else { u64::from(settings.max_requests) };
        self.last = most > 0 && self.requests >= most;
    }

    /// Takes back what was placed behind, unless the worker has taken it.
    pub(super) fn take_back(&mut self) -> Option<Ticket> {
        let mut placed = self.placed.take()?;
        if placed.channel.take_back() {
            self.taken_back(&placed);
            return Some(placed.ticket);
        }
        self.placed = Some(placed);
        None
    }

    pub(super) fn taken_back(&mut self, placed: &Placed) {
        self.requests = self.requests.saturating_sub(1);
        self.last = false;
        if placed.defines {
            self.told.remove(&placed.ticket.work.directory.0);
        }
    }
}
