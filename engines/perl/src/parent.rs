//! The parent: loads what is to be shared, forks workers on demand, tells how they ended.

use hostler_sys::poll::{self, Watch};
use hostler_sys::process::{Ended, Signal, kill, reap};
use hostler_sys::signal::Signals;
use hostler_wire::build::Build;
use hostler_wire::engine::{FromEngine, Preload, PreloadKind, Setup, ToEngine, WorkerId};
use hostler_wire::site::Exit;
use rustix::process::Pid;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::control::Control;
use crate::{perl, process, worker};

/// How long workers may take for the requests they are at, once the front is gone.
const LAST_REQUEST: Duration = Duration::from_secs(10);

/// How long ended workers are not told of singly.
const REST: Duration = Duration::from_millis(3);

/// Workers that are forked before the first of them is told of.
const TOGETHER: usize = 4;

/// Serves the control socket until the front closes it.
pub(crate) fn run(socket: OwnedFd) -> io::Result<()> {
    let mut control = Control::new(socket);
    control.send(&FromEngine::Hello(Build::own()))?;
    let mut wakers = Vec::new();
    let setup = loop {
        match control.receive()? {
            None => return Ok(()),
            Some((ToEngine::Wakers, more)) => wakers.extend(more),
            Some((ToEngine::Setup(setup), _)) => break setup,
            Some((ToEngine::Fork { worker }, _)) => {
                control.send(&FromEngine::ForkFailed { worker, errno: libc::EAGAIN })?;
            }
            Some((ToEngine::Kill { .. } | ToEngine::Retire { .. }, _)) => {}
        }
    };
    process::title(&format!("hostler-perl: {}", setup.title));
    if let Err(why) = load(&setup) {
        return control.send(&FromEngine::Failed { why });
    }
    // Only now: programs that preloaded code starts would inherit the blocked signals.
    let signals = Signals::block(&[Signal::CHILD, Signal::TERM, Signal::INT, Signal::HUP])?;
    control.send(&FromEngine::Ready { version: perl::version() })?;
    let title = format!("hostler-perl: {} worker", setup.title);
    let own = rustix::process::getpid();
    let mut parent = Parent { control, signals, wakers, setup, title, own, workers: Vec::new() };
    if parent.setup.one_shot {
        // Last of all: what was given back until now is not taken again.
        perl::prepare_forks();
    }
    let served = parent.serve();
    parent.end();
    served
}

/// Everything in the order of the configuration, but what asks to come last.
fn load(setup: &Setup) -> Result<(), String> {
    perl::boot(setup)?;
    let is_late = |kind| matches!(kind, PreloadKind::LateFile | PreloadKind::LateCall);
    let (late, early): (Vec<_>, Vec<_>) = setup.preload.iter().partition(|preload| is_late(preload.kind));
    early.into_iter().chain(late).try_for_each(perl::preload)?;
    // What workers would else load one by one; those that serve one request, with each request.
    let own: &[&str] =
        if setup.one_shot { &["PerlIO::scalar", "Hostler::Script"] } else { &["PerlIO::scalar"] };
    let module = |name: &&str| Preload {
        kind: PreloadKind::Module,
        text: (*name).to_owned(),
        origin: String::new(),
        configured: false,
    };
    own.iter().map(module).try_for_each(|module| perl::preload(&module))
}

struct Parent {
    control: Control,
    signals: Signals,
    wakers: Vec<OwnedFd>,
    setup: Box<Setup>,
    /// The workers' name.
    title: String,
    /// This process.
    own: Pid,
    workers: Vec<(WorkerId, Pid)>,
}

impl Parent {
    fn serve(&mut self) -> io::Result<()> {
        let mut rest = None;
        loop {
            // Workers that serve one request each end all the time: of those that end soon after another is told with
            // it, or with the next that is forked.
            let left = rest.and_then(|since: Instant| REST.checked_sub(since.elapsed()));
            let watches = [
                Watch { fd: self.control.as_fd(), write: false },
                Watch { fd: self.signals.as_fd(), write: false },
            ];
            let watched = if left.is_some() { &watches[..1] } else { &watches };
            let ready = poll::wait(watched, left)?;
            if ready.get(1).is_some_and(|ready| ready.read) {
                if self.take_signals()? {
                    return Ok(());
                }
                rest = self.setup.one_shot.then(Instant::now);
            }
            if ready[0].read {
                let Some((message, descriptors)) = self.control.receive()? else { return Ok(()) };
                self.obey(&message, descriptors)?;
                // What has come meanwhile is answered with it.
                for _ in 1..TOGETHER {
                    let Some((message, descriptors)) = self.control.receive_now()? else { break };
                    self.obey(&message, descriptors)?;
                }
                if left.is_some() {
                    self.reap_all()?;
                }
            }
            self.control.flush()?;
        }
    }

    /// Whether to stop.
    fn take_signals(&mut self) -> io::Result<bool> {
        let mut stop = false;
        while let Some(signal) = self.signals.next()? {
            stop |= signal == Signal::TERM;
        }
        self.reap_all()?;
        Ok(stop)
    }

    fn reap_all(&mut self) -> io::Result<()> {
        while let Some((pid, ended)) = reap() {
            // A program's own child, left over by preloaded code, is nobody's news.
            let Some(place) = self.workers.iter().position(|(_, known)| *known == pid) else { continue };
            let (worker, _) = self.workers.swap_remove(place);
            let exit = match ended {
                Ended::Status(status) => Exit::Status(status),
                Ended::Signal(signal) => Exit::Signal(signal),
            };
            self.control.send_later(&FromEngine::Exited { worker, exit })?;
        }
        Ok(())
    }

    fn obey(&mut self, message: &ToEngine, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        match message {
            ToEngine::Wakers => self.wakers.extend(descriptors),
            ToEngine::Fork { worker } => return self.fork(*worker, descriptors),
            ToEngine::Kill { worker } => self.signal(*worker, Signal::KILL),
            ToEngine::Retire { worker } => self.signal(*worker, Signal::TERM),
            ToEngine::Setup(_) => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a second setup"));
            }
        }
        Ok(())
    }

    fn signal(&self, worker: WorkerId, signal: Signal) {
        if let Some((_, pid)) = self.workers.iter().find(|(known, _)| *known == worker) {
            kill(*pid, signal);
        }
    }

    fn fork(&mut self, worker: WorkerId, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        let Ok([memory, stderr]) = <[OwnedFd; 2]>::try_from(descriptors) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a worker without its descriptors"));
        };
        let answer = match process::fork() {
            Ok(None) => self.become_worker(memory, stderr),
            Ok(Some(pid)) => {
                self.workers.push((worker, pid));
                FromEngine::Forked { worker, pid: pid.as_raw_nonzero().get().unsigned_abs() }
            }
            Err(e) => FromEngine::ForkFailed { worker, errno: e.raw_os_error().unwrap_or(libc::EAGAIN) },
        };
        self.control.send_later(&answer)
    }

    /// The child's way. What the parent owns is never dropped here but for the descriptors, which must not stay open.
    fn become_worker(&mut self, memory: OwnedFd, stderr: OwnedFd) -> ! {
        process::close_borrowed(self.control.as_fd());
        process::close_borrowed(self.signals.as_fd());
        let wakers = std::mem::take(&mut self.wakers);
        worker::run(worker::Start {
            parent: self.own,
            memory,
            stderr,
            wakers,
            setup: &self.setup,
            title: &self.title,
        })
    }

    /// The front is gone: workers finish the requests they are at, and go.
    fn end(&mut self) {
        let deadline = Instant::now() + LAST_REQUEST;
        let pause = Duration::from_millis(100);
        while !self.workers.is_empty() && Instant::now() < deadline {
            self.workers.iter().for_each(|(_, pid)| kill(*pid, Signal::TERM));
            let watches = [Watch { fd: self.signals.as_fd(), write: false }];
            let _ = poll::wait(&watches, Some(pause));
            while let Ok(Some(_)) = self.signals.next() {}
            if self.reap_all().and_then(|()| self.control.flush()).is_err() {
                break;
            }
        }
        self.workers.iter().for_each(|(_, pid)| kill(*pid, Signal::KILL));
    }
}
