//! The way to site processes for all threads: asks the master to start one, and gets each thread a connection of
//! its own to it.
//!
//! **Runs as** the front. **Diagnostics**: a site that can't be started is reported to whoever asked, with errno.

use crate::io::descriptors::Descriptors;
use crate::site::limits::{self, SiteLimits};
use crate::values::stopping::Stopping;
use hostler_sys::fdpass::{self, Wait};
use hostler_wire::control::{FromFront, FromMaster, MESSAGE_SIZE};
use hostler_wire::frame;
use hostler_wire::plan::{self, SiteId};
use hostler_wire::report::Limits;
use hostler_wire::site::ToSite;
use rustix::io::Errno;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, oneshot, watch};

/// A message of the master, with its descriptors.
pub(crate) struct MasterMessage {
    pub(crate) socket: OwnedFd,
    pub(crate) generation: u32,
    /// When the server was started.
    pub(crate) started: Instant,
}

/// The time limit for the master to start a site process.
const SPAWN_TIMEOUT: Duration = Duration::from_secs(20);

enum Ask {
    /// A connection to the site's process.
    Connect(SiteId, Reply),
    /// This process of the site's does not answer: whoever asks next gets another one.
    GiveUp(SiteId, u32),
    /// The front serves from now on.
    Ready,
    /// It listens no more.
    Released,
}

type Reply = oneshot::Sender<io::Result<Connection>>;

/// A thread's connection to a site's process.
pub(crate) struct Connection {
    pub(crate) socket: OwnedFd,
    pub(crate) process: Process,
}

/// One of the processes that a site has had one after the other.
pub(crate) struct Process {
    hub: Arc<Hub>,
    site: SiteId,
    /// The master's number for it, which grows.
    number: u32,
}

impl Process {
    /// It has left somebody waiting: it is stopped, or stuck. The master ends it, and from now on all threads speak
    /// with another one.
    pub(crate) fn give_up(&self) {
        let Some(last) = self.hub.given_up.get(self.site as usize) else { return };
        if last.fetch_max(self.number, Ordering::Relaxed) < self.number {
            let _ = self.hub.asks.send(Ask::GiveUp(self.site, self.number));
        }
    }

    /// Returns whether a thread has given it up.
    pub(crate) fn is_given_up(&self) -> bool {
        let last = self.hub.given_up.get(self.site as usize);
        last.is_some_and(|last| last.load(Ordering::Relaxed) >= self.number)
    }
}

/// The threads' handle.
pub(crate) struct Hub {
    asks: mpsc::UnboundedSender<Ask>,
    /// Second of the last use, by site; seconds since the front's start.
    last_used: Vec<AtomicU32>,
    /// The number of the last process that was given up, by site.
    given_up: Vec<AtomicU32>,
    /// By site.
    limits: Vec<SiteLimits>,
    /// Why they do not hold on this machine, if so.
    why_no_limits: Option<String>,
    idle_secs: u32,
    descriptors: Arc<Descriptors>,
}

/// The other end of a [`Hub`], for the control task.
pub(crate) struct Asks(mpsc::UnboundedReceiver<Ask>);

impl Hub {
    /// `limits`: of each site.
    pub(crate) fn new(
        limits: &[plan::SiteLimits],
        idle_secs: u32,
        descriptors: Arc<Descriptors>,
    ) -> (Arc<Self>, Asks) {
        let (asks, receiver) = mpsc::unbounded_channel();
        let hub = Self {
            asks,
            last_used: limits.iter().map(|_| AtomicU32::new(0)).collect(),
            given_up: limits.iter().map(|_| AtomicU32::new(0)).collect(),
            limits: limits.iter().copied().map(SiteLimits::new).collect(),
            why_no_limits: limits::why_not_here(limits),
            idle_secs,
            descriptors,
        };
        (Arc::new(hub), Asks(receiver))
    }

    /// A new connection to the site's process, which is started if need be.
    pub(crate) async fn connect(&self, site: SiteId) -> io::Result<Connection> {
        let (reply, answer) = oneshot::channel();
        let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the server is stopping");
        self.asks.send(Ask::Connect(site, reply)).map_err(|_| gone())?;
        match tokio::time::timeout(SPAWN_TIMEOUT, answer).await {
            Ok(answer) => answer.map_err(|_| gone())?,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// The master is to know that the front serves.
    pub(crate) fn ready(&self) {
        // Without the master the front is about to end.
        let _ = self.asks.send(Ask::Ready);
    }

    /// Reports to the master that no thread listens any more.
    pub(crate) fn released(&self) {
        let _ = self.asks.send(Ask::Released);
    }

    /// Returns whether the kernel has just ended a process of the site for want of memory.
    pub(crate) fn ran_out_of_memory(&self, site: SiteId) -> bool {
        self.limits.get(site as usize).is_some_and(SiteLimits::ran_out_of_memory)
    }

    /// Returns the site's use of its limits.
    pub(crate) fn limits(&self, site: SiteId) -> Limits {
        let why = self.why_no_limits.as_deref();
        self.limits.get(site as usize).map_or(Limits::None, |limits| limits.report(why))
    }

    /// Notes that the site is in use in second `now`.
    pub(crate) fn touch(&self, site: SiteId, now: u32) {
        if let Some(last) = self.last_used.get(site as usize)
            && last.load(Ordering::Relaxed) != now
        {
            last.store(now, Ordering::Relaxed);
        }
    }

    /// Returns whether the site has not been used for its idle time.
    pub(crate) fn is_idle(&self, site: SiteId, now: u32) -> bool {
        self.last_used
            .get(site as usize)
            .is_none_or(|last| now.saturating_sub(last.load(Ordering::Relaxed)) > self.idle_secs)
    }
}

struct Control {
    socket: AsyncFd<OwnedFd>,
    hub: Arc<Hub>,
    roots: RefCell<HashMap<SiteId, Root>>,
    waiting: RefCell<HashMap<SiteId, Vec<Reply>>>,
}

/// A site's process that takes connections.
#[derive(Clone)]
struct Root {
    socket: Rc<OwnedFd>,
    number: u32,
}

/// A message of the master with its descriptors.
pub(crate) type Message = (FromMaster, Vec<OwnedFd>);

/// Talks with the master until it is gone; runs on one thread. `sites`: the processes that are there from the
/// beginning. `drain` is told when the master says so, `status` when it passes the status socket, `logs` when it passes
/// logs that it has opened again, with the position of the first.
pub(crate) async fn control(
    socket: OwnedFd,
    sites: Vec<Message>,
    mut asks: Asks,
    hub: Arc<Hub>,
    (drain, stopping): (watch::Sender<bool>, Arc<Stopping>),
    seconds: impl Fn() -> u32,
    (status, logs): (impl Fn(MasterMessage), impl Fn(usize, Vec<OwnedFd>)),
) -> io::Result<()> {
    let control = Rc::new(Control {
        socket: hostler_gateway::register(socket, Interest::READABLE)?,
        hub: hub.clone(),
        roots: RefCell::default(),
        waiting: RefCell::default(),
    });
    for (message, fds) in sites {
        control.take(message, fds);
    }
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            message = control.receive() => {
                let Some((message, fds)) = message? else { return Ok(()) };
                match message {
                    FromMaster::Stop => stopping.server_stops(),
                    FromMaster::Drain => {
                        stopping.drains();
                        let _ = drain.send(true);
                    }
                    FromMaster::Status { generation, uptime_ms } => {
                        told(fds, generation, uptime_ms).into_iter().for_each(&status);
                    }
                    FromMaster::Logs { index, .. } => logs(index as usize, fds),
                    message => control.take(message, fds),
                }
            }
            ask = asks.0.recv() => match ask {
                Some(Ask::Connect(site, reply)) => control.ask(site, reply)?,
                Some(Ask::GiveUp(site, number)) => control.give_up(site, number)?,
                Some(Ask::Ready) => control.tell(FromFront::Ready)?,
                Some(Ask::Released) => control.tell(FromFront::Released)?,
                None => return Ok(()),
            },
            _ = ticks.tick() => {
                let now = seconds();
                control.roots.borrow_mut().retain(|site, _| !hub.is_idle(*site, now));
            }
        }
    }
}

/// The sites whose processes these are.
pub(crate) fn sites_of(messages: &[Message]) -> Vec<SiteId> {
    let site = |message: &Message| match message.0 {
        FromMaster::Site { site, .. } => Some(site),
        _ => None,
    };
    messages.iter().filter_map(site).collect()
}

/// The master's word on the status socket, if the socket came with it.
fn told(fds: Vec<OwnedFd>, generation: u32, uptime_ms: u64) -> Option<MasterMessage> {
    let now = Instant::now();
    let started = now.checked_sub(Duration::from_millis(uptime_ms)).unwrap_or(now);
    fds.into_iter().next().map(|socket| MasterMessage { socket, generation, started })
}

impl Control {
    fn tell(&self, message: FromFront) -> io::Result<()> {
        fdpass::send(self.socket.get_ref().as_fd(), &message.encode(), &[], Wait::Yes).map(drop)
    }

    async fn receive(&self) -> io::Result<Option<Message>> {
        self.socket.async_io(Interest::READABLE, |socket| receive_some(socket.as_fd())).await
    }

    fn take(self: &Rc<Self>, message: FromMaster, fds: Vec<OwnedFd>) {
        match message {
            FromMaster::Site { site, number } => {
                let mut fds = fds.into_iter();
                let Some(socket) = fds.next() else { return self.not_started(site, Errno::MFILE) };
                if let Some(limits) = self.hub.limits.get(site as usize) {
                    limits.started(fds.next());
                }
                let root = Root { socket: Rc::new(socket), number };
                self.roots.borrow_mut().insert(site, root.clone());
                self.watch_root(site, &root.socket);
                for reply in self.waiting.borrow_mut().remove(&site).unwrap_or_default() {
                    let _ = reply.send(self.attach(site, &root));
                }
            }
            FromMaster::SiteFailed(site, errno) => self.not_started(site, Errno::from_raw_os_error(errno)),
            _ => {}
        }
    }

    fn not_started(&self, site: SiteId, why: Errno) {
        for reply in self.waiting.borrow_mut().remove(&site).unwrap_or_default() {
            let _ = reply.send(Err(why.into()));
        }
    }

    fn ask(&self, site: SiteId, reply: Reply) -> io::Result<()> {
        let root = self.roots.borrow().get(&site).cloned();
        if let Some(root) = root {
            let attached = self.attach(site, &root);
            if attached.is_ok() || attached.as_ref().is_err_and(is_want_of_descriptors) {
                let _ = reply.send(attached);
                return Ok(());
            }
            // It has died, and we notice before the watcher does.
            drop(self.roots.borrow_mut().remove(&site));
        } else if !self
            .hub
            .descriptors
            .suffice_for_another_site(self.socket.get_ref().as_fd())
            .unwrap_or(false)
        {
            let _ = reply.send(Err(Errno::MFILE.into()));
            return Ok(());
        }
        let mut waiting = self.waiting.borrow_mut();
        let queue = waiting.entry(site).or_default();
        // Askers that gave up no longer wait for a start that failed without a word.
        queue.retain(|other| !other.is_closed());
        queue.push(reply);
        if queue.len() == 1 { self.tell(FromFront::SpawnSite(site)) } else { Ok(()) }
    }

    /// A further connection to a site's process.
    fn attach(&self, site: SiteId, root: &Root) -> io::Result<Connection> {
        let (socket, theirs) = hostler_sys::socket::stream_pair()?;
        let mut bytes = Vec::new();
        frame::encode(&ToSite::Attach, 1, &mut bytes).map_err(io::Error::other)?;
        let sent = fdpass::send(root.socket.as_fd(), &bytes, &[theirs.as_fd()], Wait::No)?;
        if sent < bytes.len() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(Connection { socket, process: Process { hub: self.hub.clone(), site, number: root.number } })
    }

    /// Has this process of the site's ended. Another that has taken its place stays.
    fn give_up(&self, site: SiteId, number: u32) -> io::Result<()> {
        self.roots.borrow_mut().retain(|other, root| *other != site || root.number != number);
        self.tell(FromFront::EndSite(number))
    }

    /// Forgets the site's process when it ends. What it sends here (its Hello) is of no use to us.
    fn watch_root(self: &Rc<Self>, site: SiteId, root: &Rc<OwnedFd>) {
        let control = Rc::downgrade(self);
        let Ok(copy) = root.try_clone() else { return };
        let mine = Rc::downgrade(root);
        tokio::task::spawn_local(async move {
            let Ok(socket) = hostler_gateway::register(copy, Interest::READABLE) else { return };
            loop {
                let read = socket.async_io(Interest::READABLE, |socket| {
                    let (mut bytes, mut fds) = ([0; 64], Vec::new());
                    fdpass::recv(socket.as_fd(), &mut bytes, &mut fds, Wait::No)
                });
                // Once the idle check has dropped the root, this copy must go too, or the site never ends.
                let n = tokio::select! {
                    n = read => n,
                    () = tokio::time::sleep(Duration::from_secs(1)) => if mine.strong_count() == 0 { return } else { continue },
                };
                if !matches!(n, Ok(1..)) {
                    break;
                }
            }
            if let Some(control) = control.upgrade() {
                let mut roots = control.roots.borrow_mut();
                if roots.get(&site).is_some_and(|root| std::ptr::eq(Rc::as_ptr(&root.socket), mine.as_ptr()))
                {
                    roots.remove(&site);
                }
            }
        });
    }
}

/// Returns whether this process has too many open, and the other side nothing to do with it.
fn is_want_of_descriptors(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// One message of the master, where one that brings more descriptors than may be open comes without any: the front
/// serves on with those that it has.
fn receive_some(socket: BorrowedFd<'_>) -> io::Result<Option<Message>> {
    let (mut bytes, mut fds) = ([0; MESSAGE_SIZE], Vec::new());
    match fdpass::recv(socket, &mut bytes, &mut fds, Wait::No) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => decode(&bytes, fds),
        received => decode(&bytes[..received?], fds),
    }
}

/// One message of the master; `None` when it is gone.
pub(crate) fn receive_message(socket: BorrowedFd<'_>, wait: Wait) -> io::Result<Option<Message>> {
    let (mut bytes, mut fds) = ([0; MESSAGE_SIZE], Vec::new());
    let n = fdpass::recv(socket, &mut bytes, &mut fds, wait)?;
    decode(&bytes[..n], fds)
}

fn decode(bytes: &[u8], fds: Vec<OwnedFd>) -> io::Result<Option<Message>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let message = FromMaster::decode(bytes).map_err(io::Error::other)?;
    Ok(Some((message, fds)))
}
