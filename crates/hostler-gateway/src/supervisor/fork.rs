//! Workers that are forked from a warm parent, which has loaded what they need, and that are spoken to through shared
//! memory.
//!
//! **Runs as** the front. **Diagnostics**: why a parent can't be started is told to the requests that wait for it; ends
//! of parents and workers that nobody has asked for go to the host's log.

mod deaths;
mod farewell;
mod outlets;
mod parent;
mod start;

pub use parent::{Host, NewParent};

use super::{End, Process, SeatEvent, Source, Supervisor};
use crate::Error;
use crate::backend::ring::memories::Memories;
use crate::backend::ring::{Pool, Ring, Worker};
use crate::pool::WorkerId;
use crate::pool::maintain::FAREWELL;
use deaths::Watch;
use farewell::Farewell;
use hostler_ring::Memory;
use hostler_wire::engine::{FromEngine, ToEngine};
use hostler_wire::site::Exit;
use outlets::Outlets;
use parent::{Link, shortened};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};

/// The time by which the front may hear of the server's end later than its processes do.
const LAST_WORD: Duration = Duration::from_millis(250);

impl Pool {
    /// Keeps the pool's processes until it is closed. To be spawned on a thread's `LocalSet`, once for each pool.
    pub async fn maintain<H: Host + 'static>(self: Arc<Self>, host: H) {
        self.supervise(Fork { host: Rc::new(host) }).await;
    }
}

/// The supervisor.
struct Fork<H> {
    host: Rc<H>,
}

/// A warm parent.
struct Parent<H> {
    pool: Arc<Pool>,
    host: Rc<H>,
    link: Link,
    process: Box<dyn Process>,
    pid: u32,
    /// The pool's parent, by number.
    generation: u32,
    memories: Memories,
    outlets: Outlets,
    watch: Watch,
}

impl<H: Host + 'static> Supervisor<Ring> for Fork<H> {
    type Source = Parent<H>;

    /// The first parent may be one that is there already; what has ended or was given up here is replaced by a new one.
    async fn start(&self, pool: &Arc<Pool>, generation: u32) -> Result<Parent<H>, Error> {
        let started = self.host.start(generation > 1).await?;
        let adopted = started.adopted;
        match Parent::begin(started, pool, &self.host, generation).await {
            Err(_) if adopted => {
                Parent::begin(self.host.start(true).await?, pool, &self.host, generation).await
            }
            begun => begun,
        }
    }
}

impl<H: Host + 'static> Parent<H> {
    /// A worker's standard error, the end to write to.
    async fn outlet(&mut self, worker: WorkerId, one_shot: bool) -> io::Result<Rc<OwnedFd>> {
        if let Some(kept) = one_shot.then(|| self.outlets.reuse(worker)).flatten() {
            return Ok(kept);
        }
        self.outlets.open(worker, one_shot, self.host.pipe().await?)
    }

    async fn send(&self, message: &ToEngine, fds: &[BorrowedFd<'_>]) -> Result<(), End> {
        match timeout(FAREWELL, self.link.send(message, fds)).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(End::Gone),
        }
    }

    /// Logs an unexpected end. When the server stops, nothing replaces the process, and the front may hear of its
    /// processes' ends before it hears of its own: it waits for that.
    fn complain(&self, end: End) {
        let line: &[u8] = match end {
            End::Gone => b"the warm parent ended unasked; another takes its place",
            End::Stuck => b"the warm parent is stopped or stuck; another takes its place",
            End::Closed | End::Evicted | End::Idle | End::Renewed => return,
        };
        let (host, pool, pid) = (self.host.clone(), self.pool.clone(), self.pid);
        spawn_local(async move {
            sleep(LAST_WORD).await;
            if !host.is_ending() && !pool.is_closed() {
                host.line(pid, line);
            }
        });
    }
}

impl<H: Host + 'static> Source<Ring> for Parent<H> {
    async fn add(&mut self, worker: WorkerId) -> Result<io::Result<Arc<Memory>>, End> {
        let one_shot = self.pool.settings.one_shot;
        let shared = if one_shot { self.memories.passing() } else { Memories::lasting() };
        let stderr = self.outlet(worker, one_shot).await;
        let ((memory, descriptor), stderr) = match shared.and_then(|shared| Ok((shared, stderr?))) {
            Ok(shared) => shared,
            Err(why) => return Ok(Err(why)),
        };
        self.send(&ToEngine::Fork { worker }, &[descriptor.as_fd(), stderr.as_fd()]).await?;
        Ok(Ok(memory))
    }

    async fn retire(&mut self, worker: WorkerId) -> Result<(), End> {
        self.send(&ToEngine::Retire { worker }, &[]).await
    }

    async fn kill(&mut self, worker: WorkerId) -> Result<(), End> {
        self.send(&ToEngine::Kill { worker }, &[]).await
    }

    async fn event(&mut self) -> Result<SeatEvent, End> {
        let message = self.link.next().await.map_err(|_| End::Gone)?;
        Ok(match message {
            FromEngine::Forked { worker, pid } if self.pool.settings.one_shot => {
                SeatEvent::Began(worker, pid)
            }
            FromEngine::Forked { worker, pid } => SeatEvent::Made(worker, pid),
            FromEngine::Began { worker } => SeatEvent::Began(worker, self.pool.pid_of(worker)),
            FromEngine::ForkFailed { worker, errno } => {
                self.outlets.forget(worker);
                SeatEvent::Failed(worker, io::Error::from_raw_os_error(errno).to_string())
            }
            FromEngine::Exited { worker, exit } => {
                // What it wrote at its end belongs to the cause of it.
                self.outlets.close(worker);
                SeatEvent::Ended(worker, exit)
            }
            FromEngine::WorkerFailed { worker, why } => {
                self.outlets.close(worker);
                SeatEvent::Failed(worker, shortened(why))
            }
            FromEngine::Hello(_)
            | FromEngine::Ready { .. }
            | FromEngine::Stale
            | FromEngine::Failed { .. } => SeatEvent::Other,
        })
    }

    fn each_second(&mut self, now: Instant) -> Result<(), End> {
        self.host.in_use();
        if self.watch.is_stuck(&self.pool, &self.outlets.ended(), now) { Err(End::Stuck) } else { Ok(()) }
    }

    fn crashed(&self, worker: &Arc<Worker>, exit: Exit, busy: bool) {
        deaths::tell(&self.host, worker, exit, busy);
    }

    fn not_made(&self, why: &str) {
        self.host.line(self.pid, format!("no further worker can be made: {why}").as_bytes());
    }

    fn parent(&self) -> Option<u32> {
        Some(self.pid)
    }

    fn end(self, end: End) {
        self.complain(end);
        let Self { pool, link, process, generation, outlets, .. } = self;
        // That tells it to end, if it has not.
        drop(link);
        let lines = outlets.into_lines();
        Farewell { pool, process, generation, lines }.begin(end.is_unasked());
    }
}
