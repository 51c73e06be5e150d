//! The parent: loads what is to be shared, forks workers on demand, tells how they ended. It works for the front that it
//! was started for, and for that of each later generation which has the same loaded.

use hostler_sys::poll::{self, Watch};
use hostler_sys::process::{Change, ExitCause, Signal, kill, next_change};
use hostler_sys::signal::Signals;
use hostler_wire::engine::{FromEngine, Setup, ToEngine, WorkerId};
use hostler_wire::site::Exit;
use rustix::process::Pid;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::control::Control;
use crate::link::{Child, Link, LinkId};
use crate::notes::{self, Notes};
use crate::{Engine, Side, process, worker};

/// The time limit for workers' requests in progress after their front has gone.
const LAST_REQUEST: Duration = Duration::from_secs(10);

/// The longest time that a worker may be stopped by a signal (SIGSTOP); then it is killed.
const STOPPED: Duration = Duration::from_secs(5);

/// The time in which ended workers are not reported singly.
const REST: Duration = Duration::from_millis(3);

/// Workers that are forked before the first of them is told of.
const TOGETHER: usize = 4;

/// The interval at which workers that should finish are reminded.
const PAUSE: Duration = Duration::from_millis(100);

/// Works for the front at this socket, and for those that are attached later, until all are gone.
pub(crate) fn run<E: Engine>(socket: OwnedFd) -> io::Result<()> {
    let mut first = Link::open(0, socket)?;
    let mut door = None;
    let setup = loop {
        match first.control.receive()? {
            None => return Ok(()),
            Some((ToEngine::Wakers, more)) => first.wakers.extend(more),
            Some((ToEngine::Door, socket)) => door = socket.into_iter().next().map(Control::new),
            Some((ToEngine::Setup(setup), _)) => break setup,
            Some((ToEngine::Fork { worker }, _)) => {
                first.control.send(&FromEngine::ForkFailed { worker, errno: libc::EAGAIN })?;
            }
            Some((ToEngine::Kill { .. } | ToEngine::Retire { .. } | ToEngine::Adopt, _)) => {}
        }
    };
    let title = format!("{}: {}", E::name().to_string_lossy(), setup.title);
    process::title(&title);
    let engine = match E::load(&setup) {
        Ok(engine) => engine,
        Err(why) => return first.control.send(&FromEngine::Failed { why }),
    };
    let title = engine.title().unwrap_or(title);
    process::title(&title);
    // Only now: programs that preloaded code starts would inherit the blocked signals.
    let signals = Signals::block(&[Signal::CHILD, Signal::TERM, Signal::INT, Signal::HUP])?;
    first.control.send(&FromEngine::Ready { version: engine.version(), workers: 0 })?;
    let mut parent = Parent {
        engine,
        links: vec![first],
        last_link: 0,
        door,
        signals,
        setup,
        title: title + " worker",
        own: rustix::process::getpid(),
        workers: Vec::new(),
        notes: Notes::new()?,
        hurry_at: Instant::now(),
    };
    parent.engine.before_fork();
    let served = parent.serve();
    parent.end();
    served
}

struct Parent<E> {
    engine: E,
    /// The fronts that it works for.
    links: Vec<Link>,
    last_link: LinkId,
    /// The socket over which the site's process announces further fronts.
    door: Option<Control>,
    signals: Signals,
    setup: Box<Setup>,
    /// The workers' name.
    title: String,
    /// This process.
    own: Pid,
    workers: Vec<Child>,
    /// Which of them have begun, and why others could not.
    notes: Notes,
    /// When those who are to finish are told so again.
    hurry_at: Instant,
}

/// The descriptors with events.
struct Events {
    links: Vec<LinkId>,
    door: bool,
    notes: bool,
    signals: bool,
}

impl<E: Engine> Parent<E> {
    fn serve(&mut self) -> io::Result<()> {
        let mut rest = None;
        while !self.links.is_empty() || !self.workers.is_empty() {
            // Workers that serve one request each end all the time: of those that end soon after another is told with
            // it, or with the next that is forked.
            let left = rest.and_then(|since: Instant| REST.checked_sub(since.elapsed()));
            let heard = self.wait(left)?;
            if heard.notes {
                self.read_notes()?;
            }
            if heard.signals {
                if self.take_signals()? {
                    return Ok(());
                }
                rest = self.setup.one_shot.then(Instant::now);
            }
            if heard.door {
                self.welcome()?;
            }
            for link in &heard.links {
                self.hear(*link)?;
            }
            if left.is_some() && !heard.links.is_empty() {
                self.reap_all()?;
            }
            self.hurry_workers();
            for link in &mut self.links {
                link.control.flush()?;
            }
        }
        Ok(())
    }

    /// `rest`: signals are left alone for so long.
    fn wait(&self, rest: Option<Duration>) -> io::Result<Events> {
        let controls = self.links.iter().map(|link| &link.control).chain(&self.door);
        let mut watches: Vec<_> =
            controls.map(|control| Watch { fd: control.as_fd(), write: control.has_unsent() }).collect();
        watches.push(Watch { fd: self.notes.reader(), write: false });
        if rest.is_none() {
            watches.push(Watch { fd: self.signals.as_fd(), write: false });
        }
        let has_frame = self.links.iter().any(|link| link.control.has_frame());
        let hurries = self.workers.iter().any(|forked| forked.last.is_some());
        let timeout = if has_frame { Some(Duration::ZERO) } else { rest.or(hurries.then_some(PAUSE)) };
        let ready = poll::wait(&watches, timeout)?;
        let reads = |at: usize| ready.get(at).is_some_and(|ready| ready.read);
        let of_links = self.links.iter().enumerate();
        let door = self.links.len();
        let notes = door + usize::from(self.door.is_some());
        Ok(Events {
            links: of_links
                .filter(|(at, link)| reads(*at) || link.control.has_frame())
                .map(|(_, link)| link.id)
                .collect(),
            door: self.door.is_some() && reads(door),
            notes: reads(notes),
            signals: rest.is_none() && reads(notes + 1),
        })
    }

    /// Returns whether to stop.
    fn take_signals(&mut self) -> io::Result<bool> {
        let mut stop = false;
        while let Some(signal) = self.signals.next()? {
            stop |= signal == Signal::TERM;
        }
        self.reap_all()?;
        Ok(stop)
    }

    /// Tells the fronts which workers have begun.
    fn read_notes(&mut self) -> io::Result<()> {
        for pid in self.notes.begun() {
            let begun = |known: &&Child| known.pid.as_raw_nonzero().get().unsigned_abs() == pid;
            let Some(Child { link, worker, .. }) = self.workers.iter().find(begun) else { continue };
            if let Some(link) = self.links.iter_mut().find(|known| known.id == *link) {
                link.control.send_later(&FromEngine::Began { worker: *worker })?;
            }
        }
        Ok(())
    }

    fn reap_all(&mut self) -> io::Result<()> {
        while let Some((pid, change)) = next_change() {
            // A program's own child, left over by preloaded code, is nobody's news.
            let Some(place) = self.workers.iter().position(|known| known.pid == pid) else { continue };
            let Change::Ended(ended) = change else {
                if change == Change::Stopped {
                    // Its request would wait forever. If the worker continues in time, it finishes the request and exits.
                    self.workers[place].last.get_or_insert(Instant::now() + STOPPED);
                }
                continue;
            };
            let Child { link, worker, .. } = self.workers.swap_remove(place);
            let exit = match ended {
                ExitCause::Status(status) => Exit::Status(status),
                ExitCause::Signal(signal) => Exit::Signal(signal),
            };
            let why = if exit == Exit::Status(notes::STATUS) {
                self.read_notes()?;
                self.notes.reason(pid)
            } else {
                None
            };
            let Some(link) = self.links.iter_mut().find(|known| known.id == link) else { continue };
            match why {
                Some(why) => link.control.send_later(&FromEngine::WorkerFailed { worker, why })?,
                None => link.tell_end(worker, exit)?,
            }
        }
        Ok(())
    }

    /// A front says something, or has gone.
    fn hear(&mut self, id: LinkId) -> io::Result<()> {
        let Some(at) = self.links.iter().position(|link| link.id == id) else { return Ok(()) };
        let Some((message, descriptors)) = self.links[at].control.receive()? else {
            self.leave(at);
            return Ok(());
        };
        self.obey(at, &message, descriptors)?;
        // What has come meanwhile is answered with it.
        for _ in 1..TOGETHER {
            let Some((message, descriptors)) = self.links[at].control.receive_now()? else { break };
            self.obey(at, &message, descriptors)?;
        }
        Ok(())
    }

    fn obey(&mut self, at: usize, message: &ToEngine, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        match message {
            ToEngine::Wakers => self.links[at].wakers.extend(descriptors),
            ToEngine::Fork { worker } => return self.fork(at, *worker, descriptors),
            ToEngine::Kill { worker } => self.signal(at, *worker, Signal::KILL),
            ToEngine::Retire { worker } => self.signal(at, *worker, Signal::TERM),
            ToEngine::Setup(_) | ToEngine::Door | ToEngine::Adopt => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "what is said once, or elsewhere"));
            }
        }
        Ok(())
    }

    fn signal(&self, at: usize, worker: WorkerId, signal: Signal) {
        let id = self.links[at].id;
        if let Some(known) = self.workers.iter().find(|known| known.link == id && known.worker == worker) {
            kill(known.pid, signal);
        }
    }

    fn fork(&mut self, at: usize, worker: WorkerId, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        let Ok([memory, stderr]) = <[OwnedFd; 2]>::try_from(descriptors) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a worker without its descriptors"));
        };
        E::around_fork(Side::Before);
        let forked = process::fork();
        E::around_fork(if matches!(forked, Ok(None)) { Side::Child } else { Side::Parent });
        let answer = match forked {
            Ok(None) => self.become_worker(at, memory, stderr),
            Ok(Some(pid)) => {
                self.workers.push(Child { link: self.links[at].id, worker, pid, last: None });
                FromEngine::Forked { worker, pid: pid.as_raw_nonzero().get().unsigned_abs() }
            }
            Err(e) => FromEngine::ForkFailed { worker, errno: e.raw_os_error().unwrap_or(libc::EAGAIN) },
        };
        self.links[at].control.send_later(&answer)
    }

    /// The child's way. What the parent owns is never dropped here but for the descriptors, which must not stay open.
    fn become_worker(&mut self, at: usize, memory: OwnedFd, stderr: OwnedFd) -> ! {
        let wakers = std::mem::take(&mut self.links[at].wakers);
        for link in &mut self.links {
            process::close_borrowed(link.control.as_fd());
            link.wakers.clear();
        }
        if let Some(door) = &self.door {
            process::close_borrowed(door.as_fd());
        }
        process::close_borrowed(self.signals.as_fd());
        let start = worker::Start {
            parent: self.own,
            memory,
            stderr,
            wakers,
            setup: &self.setup,
            title: &self.title,
            notes: &self.notes,
        };
        worker::run(&mut self.engine, start)
    }

    /// The site's process tells of a further front. A door at which anything else comes is closed.
    fn welcome(&mut self) -> io::Result<()> {
        match self.door.as_mut().map(Control::receive) {
            Some(Ok(Some((ToEngine::Adopt, descriptors)))) => self.adopt(descriptors),
            _ => {
                self.door = None;
                Ok(())
            }
        }
    }

    fn adopt(&mut self, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        let Ok([socket, _, stderr]) = <[OwnedFd; 3]>::try_from(descriptors) else { return Ok(()) };
        self.last_link += 1;
        let mut link = Link::open(self.last_link, socket)?;
        if !self.engine.is_unchanged() {
            return link.control.send(&FromEngine::Stale);
        }
        process::speak_to(&stderr)?;
        let workers = self.workers.iter().filter(|forked| forked.last.is_none()).count();
        let workers = u32::try_from(workers).unwrap_or(u32::MAX);
        link.control.send(&FromEngine::Ready { version: self.engine.version(), workers })?;
        self.links.push(link);
        Ok(())
    }

    /// A front is gone: its workers finish the requests they are at, and go. Without any front no further one is taken.
    fn leave(&mut self, at: usize) {
        let gone = self.links.remove(at);
        self.hurry_at = Instant::now();
        let deadline = self.hurry_at + LAST_REQUEST;
        for forked in self.workers.iter_mut().filter(|forked| forked.link == gone.id) {
            forked.last = Some(deadline);
        }
        if self.links.is_empty() {
            self.door = None;
        }
    }

    /// Tells workers that are to finish so, once more, and kills those who don't.
    fn hurry_workers(&mut self) {
        let now = Instant::now();
        if now < self.hurry_at {
            return;
        }
        self.hurry_at = now + PAUSE;
        for (last, forked) in self.workers.iter().filter_map(|forked| Some((forked.last?, forked))) {
            kill(forked.pid, if last <= now { Signal::KILL } else { Signal::TERM });
        }
    }

    /// The end of this process: all workers finish and go, but not whenever they like.
    fn end(&mut self) {
        self.door = None;
        while !self.links.is_empty() {
            self.leave(0);
        }
        let deadline = Instant::now() + LAST_REQUEST;
        while !self.workers.is_empty() && Instant::now() < deadline {
            self.hurry_workers();
            let watches = [Watch { fd: self.signals.as_fd(), write: false }];
            let _ = poll::wait(&watches, Some(PAUSE));
            while let Ok(Some(_)) = self.signals.next() {}
            if self.reap_all().is_err() {
                break;
            }
        }
        self.workers.iter().for_each(|forked| kill(forked.pid, Signal::KILL));
    }
}
