//! Starting a parent, or taking over one that exists: until workers can be forked from it.

use super::Parent;
use super::deaths::Watch;
use super::outlets::Outlets;
use super::parent::{Host, Link, NewParent, shortened};
use crate::backend::ring::memories::Memories;
use crate::backend::ring::{Pool, Worker};
use crate::pool::worker::describe;
use crate::supervisor::lines::Lines;
use crate::{Error, Kind};
use hostler_ring::Memory;
use hostler_wire::build::OtherBuild;
use hostler_wire::engine::{FromEngine, ToEngine};
use hostler_wire::frame::MAX_FDS;
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The time limit for a parent's hello with its build id; it has nothing else to do.
const HELLO: Duration = Duration::from_secs(10);
/// This program, in the parent's place of an [`OtherBuild`].
const OWN: &str = "hostler-front";
/// The time limit for a parent to answer whether it can be taken over; it has nothing else to do. If it takes longer,
/// another one is started.
const TAKEN_OVER: Duration = Duration::from_secs(5);
/// The time to wait for the exit of a parent that has closed its socket.
const ENDING: Duration = Duration::from_secs(1);

/// The parent does not listen any more.
fn gone(error: &io::Error) -> Error {
    Error::because(Kind::EngineFailed, format!("it ended: {error}"))
}

impl<H: Host + 'static> Parent<H> {
    pub(super) async fn begin(
        started: NewParent,
        pool: &Arc<Pool>,
        host: &Rc<H>,
        generation: u32,
    ) -> Result<Self, Error> {
        let NewParent { control, output, pid, process, door, adopted } = started;
        let last = Rc::new(Worker::new(0, pool, generation, Memory::create()?.0));
        let mut outputs = Vec::new();
        for pipe in output {
            let (host, last) = (host.clone(), last.clone());
            outputs.push(Lines::follow(pipe, move |line| {
                last.keep_line(line);
                host.line(pid, line);
            })?);
        }
        let mut parent = Self {
            pool: pool.clone(),
            host: host.clone(),
            link: Link::new(control)?,
            process,
            pid,
            generation,
            memories: Memories::default(),
            outlets: Outlets::of(pool, host),
            watch: Watch::default(),
        };
        let ready = if adopted {
            timeout(TAKEN_OVER, parent.take_over()).await
        } else {
            timeout(pool.settings.start_timeout, parent.set_up(door)).await
        };
        let result = match ready {
            Ok(Ok(())) => return Ok(parent),
            Ok(Err(error)) => error,
            Err(_) => Error::because(Kind::EngineFailed, "it did not finish loading in time"),
        };
        parent.process.kill();
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
        let bells = self.pool.common.bells()?;
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
        self.pool.ready(workers);
        Ok(())
    }

    /// The parent's socket is of no use while it loads: how it ended.
    async fn ended(&mut self, error: io::Error) -> Error {
        let exit = timeout(ENDING, poll_fn(|context| self.process.poll_exit(context))).await;
        match exit.ok().flatten() {
            Some(exit) => {
                let why = format!("while it loaded it ended: {}", describe(exit));
                Error::because(Kind::EngineFailed, why)
            }
            None => gone(&error),
        }
    }
}
