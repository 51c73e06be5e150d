//! The fronts that a parent works for. Each has its own control socket, its own numbers for workers, and its own bells;
//! no worker of one has anything of another's.

use hostler_wire::build::Build;
use hostler_wire::engine::{FromEngine, WorkerId};
use hostler_wire::site::Exit;
use rustix::process::Pid;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use crate::control::Control;

/// The front's number; never reused.
pub(crate) type LinkId = u32;

/// A front.
pub(crate) struct Link {
    pub(crate) id: LinkId,
    pub(crate) control: Control,
    /// By which its workers wake its threads.
    pub(crate) wakers: Vec<OwnedFd>,
}

/// A worker that runs.
pub(crate) struct Child {
    /// The front that it is for.
    pub(crate) link: LinkId,
    pub(crate) worker: WorkerId,
    pub(crate) pid: Pid,
    /// Its front is gone: when it is killed, if it has not finished by then.
    pub(crate) last: Option<Instant>,
}

impl Link {
    /// Greets a front.
    pub(crate) fn open(id: LinkId, socket: OwnedFd) -> io::Result<Self> {
        let mut control = Control::new(socket);
        control.send(&FromEngine::Hello(Build::own()))?;
        Ok(Self { id, control, wakers: Vec::new() })
    }

    /// Tells how one of its workers has ended, with the next flush.
    pub(crate) fn tell_end(&mut self, worker: WorkerId, exit: Exit) -> io::Result<()> {
        self.control.send_later(&FromEngine::Exited { worker, exit })
    }
}
