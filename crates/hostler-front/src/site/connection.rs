//! One thread's connection to a site's process: questions out, answers in, descriptors with them.
//!
//! The process belongs to a tenant. Its frames are bounded and decoded once; an answer that nobody asked for, or
//! of the wrong kind, ends the connection, and whoever waits gets [`SiteError::Gone`].

use crate::site::hub::{Connection, Process};
use hostler_gateway::supervisor::exec::Permit;
use hostler_gateway::{Error, Kind};
use hostler_sys::fdpass::{self, Wait};
use hostler_wire::build::OtherBuild;
use hostler_wire::frame::{self, HEAD, Head};
use hostler_wire::site::{Entry, Exit, FromSite, Run, RunError, ToSite, Walk, Walked};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::{Rc, Weak};
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
}

impl From<SiteError> for Error {
    fn from(error: SiteError) -> Self {
        match error {
            SiteError::Run(error) => error.into(),
            SiteError::Spawn(why) => Self::because(Kind::WorkerNotStarted, why),
            SiteError::OtherBuild(error) => Self::because(Kind::OtherBuild, error),
            SiteError::Gone => Self::new(Kind::WorkerGone),
            SiteError::Silent => Self::because(Kind::WorkerNotStarted, error.to_string()),
        }
    }
}

/// How long a site's process may take for an answer: it may be stopped by its own user, or wait for a disk. A
/// program's own time is not in it.
const PATIENCE: Duration = Duration::from_secs(15);

/// More parents than these no site has.
const MOST_PARENTS: usize = 10_000;

enum Waiter {
    Walk(oneshot::Sender<(Walked, Option<OwnedFd>)>),
    List(oneshot::Sender<Result<Vec<Entry>, i32>>),
    /// The last: as long as the program runs, it is counted.
    Run(Option<oneshot::Sender<Result<Begun, RunError>>>, Option<oneshot::Sender<Exit>>, Option<Permit>),
    Parents(oneshot::Sender<Vec<String>>),
}

/// A program's process id, and whether it ran already.
type Begun = (u32, bool);

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

/// A program that was started: its end, and the power to end it.
pub(crate) struct Running {
    link: Weak<Link>,
    id: u64,
    pid: u32,
    adopted: bool,
    exit: Option<oneshot::Receiver<Exit>>,
    ended: bool,
}

impl Running {
    /// Its process id, as the site's process says.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it is a parent that another front has started.
    pub(crate) fn is_adopted(&self) -> bool {
        self.adopted
    }

    /// Waits for the program's end; `None` if its site's process ended first.
    pub(crate) async fn exit(&mut self) -> Option<Exit> {
        let exit = match &mut self.exit {
            Some(exit) => exit.await.ok(),
            None => None,
        };
        self.exit = None;
        self.ended = true;
        exit
    }

    /// Kills the program's process group.
    pub(crate) fn kill(&mut self) {
        if !self.ended {
            self.kill_group();
        }
    }

    /// Kills what is left of the program's process group, also when the program itself has ended.
    pub(crate) fn kill_group(&mut self) {
        if let Some(link) = self.link.upgrade() {
            link.send(&ToSite::Kill { id: self.id }, Vec::new());
        }
    }
}

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

    /// Whether nothing can be asked any more: it is closed, or the process has been given up, on whichever thread.
    pub(crate) fn is_dead(&self) -> bool {
        self.dead.get() || self.process.is_given_up()
    }

    /// Whether nothing is under way.
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

    pub(crate) async fn walk(&self, mut walk: Walk) -> Result<(Walked, Option<OwnedFd>), SiteError> {
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

    /// The names of the pools that have a parent, whichever front has started it.
    pub(crate) async fn parents(&self) -> Result<Vec<String>, SiteError> {
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
        let (pid, adopted) = self.answer(told).await?.map_err(SiteError::Run)?;
        Ok(Running { link: Rc::downgrade(self), id, pid, adopted, exit: Some(exit), ended: false })
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

    /// Hands an answer to whoever waits for it; `None` if nobody may get it.
    fn dispatch(&self, message: FromSite, fds: Vec<OwnedFd>) -> Option<()> {
        let mut waiting = self.waiting.borrow_mut();
        match message {
            // What has not been asked is not answered.
            FromSite::Hello(_)
            | FromSite::Listening { .. }
            | FromSite::Connected { .. }
            | FromSite::ConnectFailed { .. } => return None,
            FromSite::Walked(walked) => {
                let Waiter::Walk(tell) = waiting.remove(&walked.id)? else { return None };
                if walked.opened && fds.is_empty() {
                    return None;
                }
                let _ = tell.send((walked, fds.into_iter().next()));
            }
            FromSite::Listed { id, entries } => {
                let Waiter::List(tell) = waiting.remove(&id)? else { return None };
                let _ = tell.send(entries);
            }
            FromSite::Started { id, pid } => {
                let Waiter::Run(started, ..) = waiting.get_mut(&id)? else { return None };
                let _ = started.take()?.send(Ok((pid, false)));
            }
            FromSite::Adopted { id, pid } => {
                let Waiter::Run(started, ..) = waiting.get_mut(&id)? else { return None };
                let _ = started.take()?.send(Ok((pid, true)));
            }
            FromSite::Parents { id, pools } => {
                let Waiter::Parents(tell) = waiting.remove(&id)? else { return None };
                let _ = tell.send(Some(pools).filter(|pools| pools.len() <= MOST_PARENTS)?);
            }
            FromSite::RunFailed { id, cause } => {
                let Waiter::Run(started, ..) = waiting.remove(&id)? else { return None };
                let _ = started?.send(Err(cause));
            }
            FromSite::Exited { id, exit } => {
                let Waiter::Run(None, Some(tell), permit) = waiting.remove(&id)? else { return None };
                let _ = tell.send(exit);
                drop(permit);
            }
        }
        Some(())
    }
}

/// The first frame has to be a `Hello` of our build; its descriptors.
fn check_hello(first: io::Result<(FromSite, Vec<OwnedFd>)>) -> io::Result<Vec<OwnedFd>> {
    let (site, own) = ("hostler-site", "hostler-front");
    match first {
        Ok((FromSite::Hello(build), fds)) => build.check(site, own).map(|()| fds).map_err(io::Error::other),
        Err(e) if e.kind() != io::ErrorKind::Other => Err(e),
        // No frame of ours at all.
        Ok(_) | Err(_) => Err(io::Error::other(OtherBuild::new(site, None, own))),
    }
}

/// Cuts the stream into frames.
#[derive(Default)]
struct Reader {
    bytes: Vec<u8>,
    fds: VecDeque<OwnedFd>,
}

impl Reader {
    async fn next(&mut self, link: &Link) -> io::Result<(FromSite, Vec<OwnedFd>)> {
        loop {
            if let Some(frame) = self.cut().map_err(io::Error::other)? {
                return Ok(frame);
            }
            let mut fds = Vec::new();
            let start = self.bytes.len();
            let read = link.socket.async_io(Interest::READABLE, |socket| {
                self.bytes.resize(start + (16 << 10), 0);
                fdpass::recv(socket.as_fd(), &mut self.bytes[start..], &mut fds, Wait::No)
            });
            let n = read.await?;
            self.bytes.truncate(start + n);
            self.fds.extend(fds);
            if n == 0 || self.fds.len() > 4 * frame::MAX_FDS {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn cut(&mut self) -> Result<Option<(FromSite, Vec<OwnedFd>)>, frame::FrameError> {
        let Some(head) = self.bytes.first_chunk::<HEAD>() else { return Ok(None) };
        let head = Head::decode(*head)?;
        if self.bytes.len() < HEAD + head.body {
            return Ok(None);
        }
        if self.fds.len() < head.fds {
            return Err(frame::FrameError::Malformed);
        }
        let message = frame::decode(&self.bytes[HEAD..HEAD + head.body])?;
        self.bytes.drain(..HEAD + head.body);
        Ok(Some((message, self.fds.drain(..head.fds).collect())))
    }
}
