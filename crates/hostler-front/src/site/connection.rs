//! One thread's connection to a site's process: questions out, answers in, descriptors with them.
//!
//! The process belongs to a tenant. Its frames are bounded and decoded once; an answer that nobody asked for, or
//! of the wrong kind, ends the connection, and whoever waits gets [`SiteError::Gone`].

mod answers;
mod pipes;
mod reader;
mod running;

pub(crate) use running::{Listener, Running};

use crate::site::hub::{Connection, Process};
pub(crate) use answers::Parents;
use answers::{Listening, Waiter};
use hostler_gateway::supervisor::exec::Permit;
use hostler_gateway::{Error, Kind};
use hostler_sys::fdpass::{self, Wait};
use hostler_wire::build::OtherBuild;
use hostler_wire::frame;
use hostler_wire::site::{Connect, ConnectError, Entry, Run, RunError, ToSite, Walk, WalkResult};
use reader::{Reader, check_hello};
use running::Start;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;

/// Why a site's process gave no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum SiteError {
    #[error("the site's process ended while it was asked")]
    Gone,
    #[error("the site's process doesn't answer; is it stopped?")]
    Silent,
    #[error("the site's process can't be started: {0}")]
    Spawn(String),
    #[error("{0}")]
    OtherBuild(OtherBuild),
    #[error("{0}")]
    Run(RunError),
    #[error("{0}")]
    Connect(ConnectError),
}

impl From<SiteError> for Error {
    fn from(error: SiteError) -> Self {
        match error {
            SiteError::Run(error) => error.into(),
            SiteError::Connect(error) => error.into(),
            SiteError::Spawn(why) => Self::because(Kind::WorkerNotStarted, why),
            SiteError::OtherBuild(error) => Self::because(Kind::OtherBuild, error),
            SiteError::Gone => Self::new(Kind::SiteGone),
            SiteError::Silent => Self::because(Kind::WorkerNotStarted, error.to_string()),
        }
    }
}

/// The time limit for a reply of a site's process: its own user may have stopped it, or it may wait for a disk. A
/// program's own time does not count.
const PATIENCE: Duration = Duration::from_secs(15);

/// The connection.
pub(crate) struct Link {
    socket: AsyncFd<OwnedFd>,
    process: Process,
    unsent: RefCell<VecDeque<Unsent>>,
    waiting: RefCell<HashMap<u64, Waiter>>,
    next: Cell<u64>,
    dead: Cell<bool>,
    writable: tokio::sync::Notify,
}

/// A frame that has not gone out whole: its bytes, how many of them have gone, and its descriptors until the first
/// byte has.
type Unsent = (Vec<u8>, usize, Vec<OwnedFd>);

impl Link {
    /// Takes over a connection; returns it with its inotify descriptor once the site has said hello. `TimedOut`: it
    /// says nothing; with an [`OtherBuild`] inside: it says something else than a process of our build.
    pub(crate) async fn open(connection: Connection) -> io::Result<(Rc<Self>, Option<OwnedFd>)> {
        let link = Rc::new(Self {
            socket: hostler_gateway::register(connection.socket, Interest::READABLE | Interest::WRITABLE)?,
            process: connection.process,
            unsent: RefCell::default(),
            waiting: RefCell::default(),
            next: Cell::new(1),
            dead: Cell::new(false),
            writable: tokio::sync::Notify::new(),
        });
        let mut reader = Reader::default();
        let hello = tokio::time::timeout(PATIENCE, reader.next(&link)).await;
        let hello = hello.map_err(|_| {
            link.process.give_up();
            io::Error::from(io::ErrorKind::TimedOut)
        })?;
        let fds = check_hello(hello)?;
        tokio::task::spawn_local(link.clone().read(reader));
        tokio::task::spawn_local(link.clone().write());
        Ok((link, fds.into_iter().next()))
    }

    /// Returns whether nothing can be asked any more: it is closed, or the process has been given up, on whichever
    /// thread.
    pub(crate) fn is_dead(&self) -> bool {
        self.dead.get() || self.process.is_given_up()
    }

    /// Returns whether nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    /// Closes the connection: whoever waits is told.
    pub(crate) fn close(&self) {
        self.dead.set(true);
        self.waiting.borrow_mut().clear();
        self.writable.notify_one();
        let _ = rustix::net::shutdown(self.socket.get_ref(), rustix::net::Shutdown::Both);
    }

    fn id(&self) -> u64 {
        self.next.replace(self.next.get() + 1)
    }

    pub(crate) async fn walk(&self, mut walk: Walk) -> Result<(WalkResult, Option<OwnedFd>), SiteError> {
        let (tell, told) = oneshot::channel();
        walk.id = self.id();
        self.ask(walk.id, Waiter::Walk(tell), &ToSite::Walk(walk), Vec::new())?;
        self.answer(told).await
    }

    pub(crate) async fn list(
        &self,
        path: &[u8],
        prefix: &[u8],
    ) -> Result<Result<Vec<Entry>, i32>, SiteError> {
        let (tell, told) = oneshot::channel();
        let id = self.id();
        let list = ToSite::List { id, path: path.to_vec().into(), prefix: prefix.to_vec().into() };
        self.ask(id, Waiter::List(tell), &list, Vec::new())?;
        self.answer(told).await
    }

    /// Returns the parents that this front may use, too, and the programs that other fronts have started.
    pub(crate) async fn parents(&self) -> Result<Parents, SiteError> {
        let (tell, told) = oneshot::channel();
        let id = self.id();
        self.ask(id, Waiter::Parents(tell), &ToSite::Parents { id }, Vec::new())?;
        self.answer(told).await
    }

    /// Starts a program with these ends of its stdin, stdout and stderr; an engine's parent has a fourth. `permit` is
    /// kept until it has ended.
    pub(crate) async fn run(
        self: &Rc<Self>,
        mut run: Run,
        ends: Vec<OwnedFd>,
        permit: Option<Permit>,
    ) -> Result<Running, SiteError> {
        let (tell, told) = oneshot::channel();
        let (tell_exit, exit) = oneshot::channel();
        let id = self.id();
        run.id = id;
        self.ask(id, Waiter::Run(Some(tell), Some(tell_exit), permit), &ToSite::Run(run), ends)?;
        let start = Start::new(self, id);
        let (pid, adopted) = self.answer(told).await?.map_err(SiteError::Run)?;
        start.settle();
        Ok(Running::new(self, id, pid, adopted, exit))
    }

    /// Starts a program with a listening socket as its stdin, and these ends of its stdout and stderr
    /// ([`Program::Listener`](hostler_wire::site::Program::Listener)); none for one that is shared, of which the site's
    /// process gives the other ends.
    pub(crate) async fn listen(
        self: &Rc<Self>,
        mut run: Run,
        ends: Vec<OwnedFd>,
        permit: Option<Permit>,
    ) -> Result<Listener, SiteError> {
        let (tell, told) = oneshot::channel();
        let (tell_exit, exit) = oneshot::channel();
        let id = self.id();
        run.id = id;
        let waiter = Waiter::Listen(Some(tell), Some(tell_exit), permit);
        self.ask(id, waiter, &ToSite::Run(run), ends)?;
        let start = Start::new(self, id);
        let Listening { pid, path, adopted, output } = self.answer(told).await?.map_err(SiteError::Run)?;
        start.settle();
        Ok(Listener { running: Running::new(self, id, pid, adopted, exit), path, output })
    }

    /// Has the site's process connect to a Unix socket, as its user. `within`: how long a place in a full backlog is
    /// waited for, less than [`PATIENCE`].
    pub(crate) async fn connect(&self, path: &[u8], within: Duration) -> Result<OwnedFd, SiteError> {
        let (tell, told) = oneshot::channel();
        let id = self.id();
        let within = within.min(PATIENCE / 2).as_millis() as u32;
        let connect = Connect { id, path: path.to_vec().into(), within };
        self.ask(id, Waiter::Connect(tell), &ToSite::Connect(connect), Vec::new())?;
        self.answer(told).await?.map_err(SiteError::Connect)
    }

    /// Has the site's process write a piece to the end of a file that is no longer than `most` bytes; false if the
    /// site's user can't open it.
    pub(crate) async fn append(&self, path: &str, most: u64, text: &str) -> Result<bool, SiteError> {
        let (tell, told) = oneshot::channel();
        let id = self.id();
        let (path, text) = (path.as_bytes().to_vec().into(), text.as_bytes().to_vec().into());
        self.ask(id, Waiter::Append(tell), &ToSite::Append { id, path, most, text }, Vec::new())?;
        self.answer(told).await
    }

    async fn answer<T>(&self, told: oneshot::Receiver<T>) -> Result<T, SiteError> {
        match tokio::time::timeout(PATIENCE, told).await {
            Ok(answer) => answer.map_err(|_| SiteError::Gone),
            Err(_) => {
                // What it still says is for nobody.
                self.process.give_up();
                self.close();
                Err(SiteError::Silent)
            }
        }
    }

    fn ask(&self, id: u64, waiter: Waiter, message: &ToSite, fds: Vec<OwnedFd>) -> Result<(), SiteError> {
        if self.dead.get() {
            return Err(SiteError::Gone);
        }
        self.waiting.borrow_mut().insert(id, waiter);
        if self.send(message, fds) {
            Ok(())
        } else {
            self.waiting.borrow_mut().remove(&id);
            Err(SiteError::Run(RunError::TooLarge))
        }
    }

    /// Sends a frame now or as soon as the socket takes it; false if it can't be a frame.
    fn send(&self, message: &ToSite, fds: Vec<OwnedFd>) -> bool {
        let mut bytes = Vec::with_capacity(256);
        if frame::encode(message, fds.len(), &mut bytes).is_err() {
            return false;
        }
        let mut unsent = self.unsent.borrow_mut();
        unsent.push_back((bytes, 0, fds));
        if unsent.len() == 1 {
            drop(unsent);
            if !self.flush() {
                self.writable.notify_one();
            }
        }
        true
    }

    /// Sends what the socket takes; whether all has gone.
    fn flush(&self) -> bool {
        let mut unsent = self.unsent.borrow_mut();
        while let Some((bytes, at, fds)) = unsent.front_mut() {
            let borrowed: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
            match fdpass::send(self.socket.get_ref().as_fd(), &bytes[*at..], &borrowed, Wait::No) {
                Ok(n) => {
                    drop(borrowed);
                    fds.clear();
                    *at += n;
                    if *at == bytes.len() {
                        unsent.pop_front();
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return false,
                Err(_) => {
                    self.dead.set(true);
                    unsent.clear();
                }
            }
        }
        true
    }

    async fn write(self: Rc<Self>) {
        loop {
            self.writable.notified().await;
            while !self.dead.get() && !self.flush() {
                let Ok(mut ready) = self.socket.writable().await else { return };
                ready.clear_ready();
            }
            if self.dead.get() {
                return;
            }
        }
    }

    async fn read(self: Rc<Self>, mut reader: Reader) {
        while let Ok((message, fds)) = reader.next(&self).await {
            if self.dispatch(message, fds).is_none() {
                break;
            }
        }
        self.close();
    }
}
