//! Programs that a site's process has started for us: their end, and the power to end them.

use super::Link;
use hostler_wire::site::{Exit, ToSite};
use std::rc::{Rc, Weak};
use tokio::sync::oneshot;

/// A program that listens at a Unix socket, which is its descriptor 0.
pub(crate) struct Listener {
    pub(crate) running: Running,
    /// For [`Link::connect`]: the site's process says so, and connects there itself.
    pub(crate) path: Vec<u8>,
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
