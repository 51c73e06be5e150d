//! A worker, as the pool knows it.

use super::settings::Settings;
use super::ticket::{PlacedRequest, Ticket};
use super::{Pool, WorkerId, WorkerState, WorkerStatus};
use crate::backend::{Backend, Place as _};
use crate::{Error, Kind};
use hostler_wire::site::Exit;
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Lines of a worker's stderr that are kept for the cause of an error.
const KEPT: usize = 10;
/// Bytes kept of each.
const KEPT_LINE: usize = 300;
/// Numbers of configurations that are remembered of a worker.
const TOLD: usize = 4096;
/// The age that output may have when its request is known to have begun, and still be its own: a worker begins a
/// request placed behind another before the front has heard that the other has ended.
const EARLY: Duration = Duration::from_millis(50);

/// State that everything speaking with a worker shares.
pub struct Worker<B: Backend> {
    pub(crate) id: WorkerId,
    pub(crate) pool: Weak<Pool<B>>,
    /// The pool's parent that has forked it.
    pub(crate) parent: u32,
    pub(crate) pid: AtomicU32,
    /// The means of reaching it.
    pub(crate) seat: B::Seat,
    /// Requests that have got a channel and have not been offered yet: nothing is placed behind those.
    pub(crate) opening: AtomicU32,
    /// Requests that it has ended, as far as the front has heard.
    pub(crate) ended: AtomicU32,
    /// It takes no further requests: what waits behind its last one is to be given to others.
    pub(crate) going: AtomicBool,
    /// Set when it is gone.
    pub(crate) death: OnceLock<Death>,
    /// A request that it took with it has its end for a cause.
    pub(crate) told: AtomicBool,
    /// Memory of its own, in bytes, as last looked at.
    pub(crate) bytes: AtomicU64,
    last_lines: Mutex<VecDeque<(Instant, String)>>,
}

/// The way a worker has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Death {
    /// As its parent says.
    Exit(Exit),
    /// Its parent is gone, so nobody can say.
    Orphaned,
}

impl<B: Backend> Worker<B> {
    pub(crate) fn new(id: WorkerId, pool: &Arc<Pool<B>>, parent: u32, seat: B::Seat) -> Arc<Self> {
        Arc::new(Self {
            id,
            pool: Arc::downgrade(pool),
            parent,
            pid: AtomicU32::new(0),
            seat,
            opening: AtomicU32::new(0),
            ended: AtomicU32::new(0),
            going: AtomicBool::new(false),
            death: OnceLock::new(),
            told: AtomicBool::new(false),
            bytes: AtomicU64::new(0),
            last_lines: Mutex::default(),
        })
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.death.get().is_some()
    }

    pub(crate) fn begin_opening(&self) {
        self.opening.fetch_add(1, Relaxed);
    }

    pub(crate) fn end_opening(&self) {
        self.opening.fetch_sub(1, Release);
    }

    /// The error for a request, begun at `since`, that it took with it.
    pub(crate) fn died(&self, death: Death, since: Instant) -> Error {
        self.told.store(true, Relaxed);
        let why = match death {
            Death::Exit(exit) => describe(exit),
            Death::Orphaned => "its parent has ended".to_owned(),
        };
        let pid = self.pid.load(Relaxed);
        let mut error = Error::because(Kind::WorkerDied, format!("worker {pid}: {why}"));
        error.last_lines = self.lines_since(since);
        error
    }

    /// Keeps a line of its stderr.
    pub(crate) fn keep_line(&self, line: &[u8]) {
        let mut lines = self.last_lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT {
            lines.pop_front();
        }
        lines.push_back((Instant::now(), line[..line.len().min(KEPT_LINE)].escape_ascii().to_string()));
    }

    /// All that are kept.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        self.lines(|_| true)
    }

    /// Returns the lines since a request began, not those of earlier requests.
    pub(crate) fn lines_since(&self, since: Instant) -> Vec<String> {
        self.lines(|arrived| arrived + EARLY >= since)
    }

    fn lines(&self, wanted: impl Fn(Instant) -> bool) -> Vec<String> {
        let lines = self.last_lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().filter(|(arrived, _)| wanted(*arrived)).map(|(_, line)| line.clone()).collect()
    }
}

/// Describes a process's exit in words.
pub(crate) fn describe(exit: Exit) -> String {
    match exit {
        Exit::Status(status) => format!("exited with status {status}"),
        Exit::Signal(signal) => format!("killed by {}", crate::signal_name(signal)),
    }
}

/// The pool's own record of a worker; changed under its lock.
pub(crate) struct Record<B: Backend> {
    pub(crate) worker: Arc<Worker<B>>,
    pub(crate) state: WorkerState,
    pub(crate) since: Instant,
    /// The thread of the front whose request it has had last.
    pub(crate) thread: u32,
    /// Requests it has been given.
    pub(crate) requests: u64,
    /// So many are given to it; 0: any number.
    most: u64,
    /// Channels of the running request, and of those that are with it for good or until they get stuck: a bit for
    /// each.
    pub(crate) held: u32,
    /// The requests among them that carry a configuration.
    pub(crate) defining: u32,
    /// Numbers of configurations that it has been told.
    pub(crate) told: HashSet<u32, foldhash::fast::RandomState>,
    /// The request behind the running one.
    pub(crate) placed: Option<PlacedRequest<B>>,
    /// It is at its last request: nothing is placed behind it.
    pub(crate) last: bool,
}

impl<B: Backend> Record<B> {
    pub(crate) fn new(worker: Arc<Worker<B>>, settings: &Settings) -> Self {
        Self {
            worker,
            most: if settings.one_shot { 1 } else { u64::from(settings.max_requests) },
            state: WorkerState::Starting,
            since: Instant::now(),
            thread: u32::MAX,
            requests: 0,
            held: 0,
            defining: 0,
            told: HashSet::default(),
            placed: None,
            last: false,
        }
    }

    pub(crate) fn status(&self) -> WorkerStatus {
        WorkerStatus {
            id: self.worker.id,
            pid: self.worker.pid.load(Relaxed),
            state: self.state,
            requests: self.requests,
            memory: self.worker.bytes.load(Relaxed),
            since: self.since.elapsed(),
        }
    }

    /// Returns whether further requests may be given to it at some time.
    pub(crate) fn lasts(&self) -> bool {
        self.state != WorkerState::Ending && !self.last
    }

    /// Returns whether a request may be placed behind the one that runs.
    pub(crate) fn is_placeable(&self) -> bool {
        self.state == WorkerState::Busy
            && !self.goes_next()
            && self.placed.is_none()
            && self.has_room()
            && self.worker.opening.load(Acquire) == 0
            && !self.worker.is_dead()
    }

    /// Returns whether its next request is its last, or what it is at already is. That one is not placed behind
    /// another: its successor would be made, and if it were then taken back there were two.
    pub(crate) fn goes_next(&self) -> bool {
        self.last || self.most > 0 && self.requests + 1 >= self.most
    }

    /// Returns whether a channel is not in use.
    pub(crate) fn has_room(&self) -> bool {
        self.free().is_some()
    }

    /// A channel that is not in use.
    pub(crate) fn free(&self) -> Option<usize> {
        let placed = self.placed.as_ref().map_or(0, |placed| 1 << placed.index);
        let index = (self.held | placed).trailing_ones() as usize;
        (index < B::capacity(&self.worker.seat)).then_some(index)
    }

    /// Takes a channel that is not in use.
    pub(crate) fn hold(&mut self) -> Option<usize> {
        let index = self.free()?;
        self.held |= 1 << index;
        Some(index)
    }

    /// Releases this channel; false: it was free.
    pub(crate) fn let_go(&mut self, index: usize) -> bool {
        let was_held = self.held & 1 << index != 0;
        self.held &= !(1 << index);
        self.defining &= !(1 << index);
        was_held
    }

    /// Returns whether it has to be told this configuration, which it knows from now on.
    pub(crate) fn tell(&mut self, directory: Option<u32>) -> bool {
        let Some(directory) = directory else { return false };
        // There are ever more numbers where access files change; a worker may be told one again.
        if self.told.len() >= TOLD && !self.told.contains(&directory) {
            self.told.clear();
        }
        self.told.insert(directory)
    }

    /// It has been given one more request.
    pub(crate) fn given(&mut self) {
        self.requests += 1;
        self.last = self.most > 0 && self.requests >= self.most;
    }

    /// Takes back what was placed behind, unless the worker has taken it.
    pub(crate) fn take_back(&mut self) -> Option<Ticket<B>> {
        let mut placed = self.placed.take()?;
        if placed.place.take_back() {
            self.taken_back(placed.defined());
            return Some(placed.ticket);
        }
        self.placed = Some(placed);
        None
    }

    /// It has not seen a request that it had been given, nor the configuration that this would have told.
    pub(crate) fn taken_back(&mut self, defines: Option<u32>) {
        self.requests = self.requests.saturating_sub(1);
        self.last = false;
        if let Some(id) = defines {
            self.told.remove(&id);
        }
    }
}
