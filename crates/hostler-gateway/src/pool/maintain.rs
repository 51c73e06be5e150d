//! A pool's processes: starts the parent, forks, replaces and ends workers, and says so to whoever waits.
//!
//! **Runs as** the front, a task on one of its threads. **Diagnostics**: why an engine can't be started is told to
//! the requests that wait for it, and again to those that come before the next attempt.

use super::growth::{self, Pace};
use super::state::{Phase, State};
use super::worker::{Death, Record, Worker};
use super::{Facts, Pool, WorkerId, WorkerState, weight};
use crate::backend::ring::memories::Memories;
use crate::supervisor::fork::deaths::{self, Watch, describe};
use crate::supervisor::fork::farewell::{End, Farewell};
use crate::supervisor::fork::lines::Lines;
use crate::supervisor::fork::outlets::Outlets;
use crate::supervisor::fork::parent::{Host, Link, Started, shortened};
use crate::{Error, Kind, Process};
use hostler_ring::Memory;
use hostler_wire::build::OtherBuild;
use hostler_wire::engine::{FromEngine, ToEngine};
use hostler_wire::frame::MAX_FDS;
use hostler_wire::site::Exit;
use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::time::{sleep_until, timeout};

const SECOND: Duration = Duration::from_secs(1);
/// How long a parent may take until it says of which build it is; it has nothing else to do.
const HELLO: Duration = Duration::from_secs(10);
/// This program, in the parent's place of an [`OtherBuild`].
const OWN: &str = "hostler-front";
/// How long a parent that is to be taken over may take to say that it can be; it has nothing else to do. One that
/// takes longer is of no use: another one is started.
const TAKEN_OVER: Duration = Duration::from_secs(5);
/// How often memory is looked at, in seconds.
const WEIGHING: u32 = 5;
/// How long a worker that is ending may take; how long a parent may take to end one that is to be killed.
pub(crate) const FAREWELL: Duration = Duration::from_secs(10);
/// First and longest pause after an engine could not be started.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(8));
/// A parent that has lived for so long may be replaced at once.
const LONG: Duration = Duration::from_secs(5);

impl Pool {
    /// Keeps the pool's processes until it is closed. To be spawned on a thread's `LocalSet`, once for each pool.
    pub async fn maintain<H: Host + 'static>(self: Arc<Self>, host: H) {
        let host = Rc::new(host);
        let (mut generation, mut pause, mut again) = (0, PAUSES.0, false);
        while self.wanted(again).await {
            again = false;
            generation += 1;
            self.lock().phase = Phase::Starting;
            // In a place of its own: a pool without a parent, which may stay one for long, takes little memory.
            let life = Box::pin(async {
                let keeper = Keeper::start(&self, &host, generation).await?;
                let since = Instant::now();
                Ok::<_, Error>((keeper.keep().await, since.elapsed()))
            });
            match life.await {
                Ok((end, lived)) => {
                    self.counters.ended(end);
                    if end.unasked().is_some() && lived < LONG {
                        // One that ends again and again must not be started in a circle.
                        tokio::time::sleep(pause).await;
                        pause = (pause * 2).min(PAUSES.1);
                    } else {
                        pause = PAUSES.0;
                    }
                    again = end.unasked().is_some();
                }
                Err(error) => {
                    self.failed(&error, pause);
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
        }
    }

    /// Waits until there is something to do; false: the pool is closed. `again`: its parent has ended in use.
    async fn wanted(&self, again: bool) -> bool {
        loop {
            {
                let state = self.lock();
                if state.closing {
                    return false;
                }
                if again || state.waiting() > 0 || !state.warmers.is_empty() {
                    return true;
                }
            }
            self.attention.notified().await;
        }
    }

    /// The engine can't be started: all who wait are told, and those who come in the near future.
    fn failed(self: &Arc<Self>, error: &Error, pause: Duration) {
        let why = error.source.as_ref().map_or_else(|| error.to_string(), ToString::to_string);
        self.locked(|state, out| {
            let again = || Error { origin: error.origin, ..Error::because(error.kind, why.clone()) };
            let again = || Error { last_lines: error.last_lines.clone(), ..again() };
            state.fail_all(|| again().retry_after(pause.as_secs() as u32 + 1), out);
            state.phase = Phase::Failed(error.kind, why.clone(), Instant::now() + pause);
            state.growth_due = None;
            state.warmers.clear();
        });
        *self.facts() = Facts::default();
        self.rest();
    }
}

/// The parent does not listen any more.
fn gone(error: &io::Error) -> Error {
    Error::because(Kind::EngineFailed, format!("it ended: {error}"))
}

/// What stands between a pool and one parent process.
struct Keeper<H> {
    pool: Arc<Pool>,
    host: Rc<H>,
    link: Link,
    process: Box<dyn Process>,
    pid: u32,
    /// Which parent of the pool it is.
    generation: u32,
    pace: Pace,
    memories: Memories,
    outlets: Outlets,
    /// Workers that the parent was told to kill, and when.
    doomed: HashMap<WorkerId, Instant>,
    watch: Watch,
    next_second: Instant,
    seconds: u32,
}

impl<H: Host + 'static> Keeper<H> {
    /// The first parent may be one that is there already; what has ended or was given up here is replaced by a new one.
    async fn start(pool: &Arc<Pool>, host: &Rc<H>, generation: u32) -> Result<Self, Error> {
        let started = host.start(generation > 1).await?;
        let adopted = started.adopted;
        match Self::begin(started, pool, host, generation).await {
            Err(_) if adopted => Self::begin(host.start(true).await?, pool, host, generation).await,
            begun => begun,
        }
    }

    async fn begin(started: Started, pool: &Arc<Pool>, host: &Rc<H>, generation: u32) -> Result<Self, Error> {
        let Started { control, output, pid, process, door, adopted } = started;
        let last = Rc::new(Worker::new(0, pool, generation, Memory::create()?.0));
        let mut outputs = Vec::new();
        for pipe in output {
            let (host, last) = (host.clone(), last.clone());
            outputs.push(Lines::follow(pipe, move |line| {
                last.keep_line(line);
                host.line(pid, line);
            })?);
        }
        let mut keeper = Self {
            pool: pool.clone(),
            host: host.clone(),
            link: Link::new(control)?,
            process,
            pid,
            generation,
            pace: Pace::default(),
            memories: Memories::default(),
            outlets: Outlets::of(pool, host),
            doomed: HashMap::new(),
            watch: Watch::default(),
            next_second: Instant::now(),
            seconds: 0,
        };
        let ready = if adopted {
            timeout(TAKEN_OVER, keeper.take_over()).await
        } else {
            timeout(pool.settings.start_timeout, keeper.set_up(door)).await
        };
        let result = match ready {
            Ok(Ok(())) => return Ok(keeper),
            Ok(Err(error)) => error,
            Err(_) => Error::because(Kind::EngineFailed, "it did not finish loading in time"),
        };
        keeper.process.kill();
        for lines in &outputs {
            lines.take_now();
            lines.rest();
        }
        Err(Error { last_lines: last.last_lines(), ..result })
    }

    /// Tells the parent what it needs, and waits until it has loaded.
    async fn set_up(&mut self, door: Option<OwnedFd>) -> Result<(), Error> {
        self.greet().await?;
        if let Some(door) = door {
            self.link.send(&ToEngine::Door, &[door.as_fd()]).await.map_err(|e| gone(&e))?;
        }
        let setup = ToEngine::Setup(Box::new(self.host.setup()));
        self.link.send(&setup, &[]).await.map_err(|e| gone(&e))?;
        self.ready().await
    }

    /// A parent that has loaded for another front says whether that still holds. The pool begins with as many workers
    /// as there are of that one's.
    async fn take_over(&mut self) -> Result<(), Error> {
        self.greet().await?;
        self.ready().await
    }

    async fn greet(&mut self) -> Result<(), Error> {
        let hello = timeout(HELLO, self.link.hello()).await;
        match hello.unwrap_or_else(|_| Err(io::ErrorKind::InvalidData.into())) {
            Ok(build) => build.check("the engine", OWN).map_err(|e| Error::because(Kind::OtherBuild, e))?,
            Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                return Err(Error::because(Kind::OtherBuild, OtherBuild::new("the engine", None, OWN)));
            }
            Err(error) => return Err(self.ended(error).await),
        }
        let bells = self.pool.bells()?;
        let bells: Vec<BorrowedFd<'_>> = bells.descriptors.iter().map(AsFd::as_fd).collect();
        for some in bells.chunks(MAX_FDS) {
            self.link.send(&ToEngine::Wakers, some).await.map_err(|e| gone(&e))?;
        }
        Ok(())
    }

    async fn ready(&mut self) -> Result<(), Error> {
        let workers = match self.link.next().await {
            Ok(FromEngine::Ready { version, workers }) => {
                let mut facts = self.pool.facts();
                facts.pid = Some(self.pid);
                facts.version = shortened(version);
                workers
            }
            Ok(FromEngine::Stale) => {
                return Err(Error::because(Kind::EngineFailed, "what it has loaded has changed"));
            }
            Ok(FromEngine::Failed { why }) => {
                return Err(Error::because(Kind::EngineNotLoaded, shortened(why)));
            }
            Ok(_) => return Err(Error::because(Kind::EngineFailed, "it answers what it was not asked")),
            Err(error) => return Err(self.ended(error).await),
        };
        let mut state = self.pool.lock();
        state.phase = Phase::Ready;
        state.target = state.target.max(workers.min(self.pool.settings.max_workers) as usize);
        state.last_use = Instant::now();
        // Those that came while it loaded may be more than the workers that it begins with.
        state.growth_due = (state.waiting() > 0).then(|| Instant::now() + growth::PATIENCE);
        Ok(())
    }

    /// The parent's socket is of no use while it loads: how it ended.
    async fn ended(&mut self, error: io::Error) -> Error {
        let exit = timeout(SECOND, poll_fn(|context| self.process.poll_exit(context))).await;
        match exit.ok().flatten() {
            Some(exit) => {
                let why = format!("while it loaded it ended: {}", describe(exit));
                Error::because(Kind::EngineFailed, why)
            }
            None => gone(&error),
        }
    }

    /// Serves the pool as long as the parent lives and is needed.
    async fn keep(mut self) -> End {
        let end = loop {
            let due = match self.step().await {
                Ok(due) => due,
                Err(end) => break end,
            };
            tokio::select! {
                message = self.link.next() => match message {
                    Ok(message) => self.told(&message),
                    Err(_) => break End::Gone,
                },
                () = self.pool.attention.notified() => {}
                () = sleep_until(due.into()) => {}
            }
            // A parent that says ever more leaves others their turns.
            tokio::task::coop::consume_budget().await;
        };
        // At the end of the server nothing takes its place.
        if let Some(line) = end.unasked().filter(|_| !self.host.is_ending() && !self.pool.lock().closing) {
            self.host.line(self.pid, line);
        }
        let Self { pool, link, process, generation, outlets, .. } = self;
        // That tells it to end, if it has not.
        drop(link);
        let lines = outlets.into_lines();
        Farewell { pool, process, generation, lines }.begin(end.unasked().is_some());
        end
    }

    /// Does what is to be done now. When there is something to do next.
    async fn step(&mut self) -> Result<Instant, End> {
        let now = Instant::now();
        self.pool.look_after_abandoned(now);
        let second = now >= self.next_second;
        if second {
            self.next_second = now + SECOND;
            self.seconds = self.seconds.wrapping_add(1);
            self.each_second(now)?;
        }
        let (forks, kills, retired) = {
            let mut state = self.pool.lock();
            let evicted = std::mem::take(&mut state.evicted);
            if (state.closing || evicted) && state.is_quiet() && state.abandoned.is_empty() {
                return Err(if state.closing { End::Closed } else { End::Evicted });
            }
            let forks = growth::wanted(&mut state, &self.pool.settings, &mut self.pace, now, second);
            let forks: Vec<_> = (0..forks).map(|_| state.next_id()).collect();
            if forks.is_empty() {
                state.tell_warmers();
            }
            (forks, std::mem::take(&mut state.kills), std::mem::take(&mut state.retired))
        };
        for worker in kills {
            self.doomed.insert(worker, now);
            self.send(&ToEngine::Kill { worker }, &[]).await?;
        }
        for worker in retired {
            self.send(&ToEngine::Retire { worker }, &[]).await?;
        }
        for worker in forks {
            self.fork(worker).await?;
        }
        Ok(self.due())
    }

    fn due(&self) -> Instant {
        let state = self.pool.lock();
        let looks = state.abandoned.iter().map(|abandoned| abandoned.look.0);
        let growth = state.growth_due.map(|due| due.max(self.pace.not_before.unwrap_or(due)));
        looks.chain(growth).fold(self.next_second, Instant::min)
    }

    async fn send(&self, message: &ToEngine, fds: &[BorrowedFd<'_>]) -> Result<(), End> {
        match timeout(FAREWELL, self.link.send(message, fds)).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(End::Gone),
        }
    }

    async fn fork(&mut self, id: WorkerId) -> Result<(), End> {
        let Ok((memory, descriptor, stderr)) = self.prepare(id).inspect_err(|why| self.not_made(why)) else {
            return Ok(());
        };
        let worker = Worker::new(id, &self.pool, self.generation, memory);
        self.pool.lock().records.insert(id, Record::new(worker));
        self.send(&ToEngine::Fork { worker: id }, &[descriptor.as_fd(), stderr.as_fd()]).await
    }

    /// Memory and standard error for a worker.
    fn prepare(&mut self, id: WorkerId) -> io::Result<(Arc<Memory>, Rc<OwnedFd>, Rc<OwnedFd>)> {
        let one_shot = self.pool.settings.one_shot;
        let (memory, descriptor) = if one_shot { self.memories.passing()? } else { Memories::lasting()? };
        Ok((memory, descriptor, self.outlets.open(id, one_shot)?))
    }

    /// What the parent says of its workers is believed: it can only harm its own pool.
    fn told(&mut self, message: &FromEngine) {
        match *message {
            FromEngine::Forked { worker, pid } => {
                let known = self.pool.locked(|state, out| state.forked(&self.pool, worker, pid, out));
                self.pool.counters.forked.fetch_add(u64::from(known), Relaxed);
            }
            FromEngine::ForkFailed { worker, errno } => {
                self.outlets.forget(worker);
                self.pool.lock().records.remove(&worker);
                self.not_made(&io::Error::from_raw_os_error(errno));
            }
            FromEngine::Exited { worker, exit } => {
                // What it wrote at its end belongs to the cause of it.
                self.outlets.close(worker);
                self.doomed.remove(&worker);
                let died =
                    |state: &mut State, out: &mut _| state.died(&self.pool, worker, Death::Exit(exit), out);
                match self.pool.locked(died) {
                    // One that exits after its last word may be gone before that has been read.
                    Some(record) if record.state != WorkerState::Ending && exit != Exit::Status(0) => {
                        self.pool.counters.crashed.fetch_add(1, Relaxed);
                        self.stumbled();
                        let busy = record.state == WorkerState::Busy;
                        deaths::tell(&self.host, &record.worker, exit, busy);
                    }
                    _ => {}
                }
            }
            FromEngine::WorkerFailed { worker, ref why } => {
                self.outlets.close(worker);
                self.doomed.remove(&worker);
                let death = Death::Exit(Exit::Status(1));
                let died = |state: &mut State, out: &mut _| state.died(&self.pool, worker, death, out);
                if self.pool.locked(died).is_some() {
                    self.not_made(&shortened(why.clone()));
                }
            }
            FromEngine::Hello(_)
            | FromEngine::Ready { .. }
            | FromEngine::Stale
            | FromEngine::Failed { .. } => {}
        }
    }

    fn stumbled(&mut self) {
        self.pace.stumbled(Instant::now(), self.pool.counters.served.load(Relaxed));
    }

    fn not_made(&mut self, why: &dyn std::fmt::Display) {
        self.stumbled();
        self.pool.lock().unmade = Some(why.to_string());
        if self.pace.tells(Instant::now()) {
            self.host.line(self.pid, format!("no further worker can be made: {why}").as_bytes());
        }
    }

    fn each_second(&mut self, now: Instant) -> Result<(), End> {
        self.host.in_use();
        if self.seconds % WEIGHING == 1 {
            weight::weigh(&self.pool, self.pid);
            if let Some(budget) = self.pool.budget.get() {
                budget.enforce();
            }
        }
        if self.doomed.values().any(|since| now.duration_since(*since) >= FAREWELL) {
            // The parent does not do what it is told.
            return Err(End::Stuck);
        }
        if self.watch.is_stuck(&self.pool, &self.outlets.ended(), now) {
            return Err(End::Stuck);
        }
        let pool = &self.pool;
        pool.locked(|state, _| {
            if growth::too_many(state, &pool.settings)
                && let Some(coldest) = state.idle.first().copied()
            {
                state.end(pool, coldest);
                state.retired.push(coldest);
            }
            let late = |record: &&Record| {
                record.state == WorkerState::Ending && now.duration_since(record.since) >= FAREWELL
            };
            let late: Vec<_> = state.records.values().filter(late).map(|r| r.worker.id).collect();
            state.kills.extend(late.into_iter().filter(|id| !self.doomed.contains_key(id)));
            let idle = pool.settings.idle;
            let unused = !idle.is_zero() && now.saturating_duration_since(state.last_use) >= idle;
            if unused && state.is_quiet() && state.abandoned.is_empty() { Err(End::Idle) } else { Ok(()) }
        })
    }
}
