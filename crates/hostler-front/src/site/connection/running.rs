//! Programs that a site's process has started for us: their end, and the power to end them.

use super::Link;
use hostler_wire::site::{Exit, ToSite};
use std::os::fd::OwnedFd;
use std::rc::{Rc, Weak};
use tokio::sync::oneshot;

/// A program that listens at a Unix socket, which is its descriptor 0.
pub(crate) struct Listener {
    pub(crate) running: Running,
    /// For [`Link::connect`]: the site's process says so, and connects there itself.
    pub(crate) path: Vec<u8>,
    /// Of one that is shared: the reading ends of its stdout and stderr, as the site's process has them.
    pub(crate) output: Vec<OwnedFd>,
}

/// A program that the site's process has been asked to start. Whoever asked may go away before the answer comes (a
/// client has left): it is killed then, as nobody would watch over it or end it later. The request to kill it follows
/// the one to start it, so it finds the program whether that runs already or not.
pub(super) struct Start<'a> {
    link: &'a Link,
    id: u64,
    is_known: bool,
}

impl<'a> Start<'a> {
    pub(super) fn new(link: &'a Link, id: u64) -> Self {
        Self { link, id, is_known: false }
    }

    /// The answer has come.
    pub(super) fn settle(mut self) {
        self.is_known = true;
    }
}

impl Drop for Start<'_> {
    fn drop(&mut self) {
        if !self.is_known {
            self.link.kill(self.id);
        }
    }
}

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
    pub(super) fn new(
        link: &Rc<Link>,
        id: u64,
        pid: u32,
        adopted: bool,
        exit: oneshot::Receiver<Exit>,
    ) -> Self {
        Self { link: Rc::downgrade(link), id, pid, adopted, exit: Some(exit), ended: false }
    }

    /// Its process id, as the site's process says.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns whether it is a parent that another front has started.
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
            link.kill(self.id);
        }
    }
}

impl Link {
    /// Kills the process group of a program, which was started with this number.
    fn kill(&self, id: u64) {
        if !self.dead.get() {
            self.send(&ToSite::Kill { id }, Vec::new());
        }
    }
}
