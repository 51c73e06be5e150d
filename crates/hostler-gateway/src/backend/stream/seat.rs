//! Where a connection lies while nobody speaks over it.

use crate::pool::WorkerId;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use tokio::sync::mpsc::UnboundedSender;

/// A connection's place.
#[derive(Debug)]
pub struct Seat {
    worker: WorkerId,
    /// `None`: it is being made, somebody speaks over it, or it is closed.
    socket: Mutex<Option<OwnedFd>>,
    /// Who is to hear that it is closed.
    closed: UnboundedSender<WorkerId>,
}

impl Seat {
    pub(crate) const fn new(worker: WorkerId, closed: UnboundedSender<WorkerId>) -> Self {
        Self { worker, socket: Mutex::new(None), closed }
    }

    /// The connection is idle.
    pub(crate) fn put(&self, socket: OwnedFd) {
        *self.socket.lock().unwrap_or_else(PoisonError::into_inner) = Some(socket);
    }

    /// Takes the connection to speak over it, or to close it.
    pub(crate) fn take(&self) -> Option<OwnedFd> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Closes the connection, if it lies here and the other side has closed it.
    pub(crate) fn sweep(&self) {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        if socket.as_ref().is_some_and(|socket| !is_silent(socket)) {
            *socket = None;
            self.tell_closed();
        }
    }

    /// Says that the connection is closed.
    pub(crate) fn tell_closed(&self) {
        // Where nobody listens the pool has been told.
        let _ = self.closed.send(self.worker);
    }
}

/// Whether a connection that is idle is as it should be: open, and nothing has been said unasked.
pub(super) fn is_silent(socket: &OwnedFd) -> bool {
    let mut one = [0; 1];
    matches!(recv(socket, &mut one, RecvFlags::PEEK | RecvFlags::DONTWAIT), Err(Errno::AGAIN))
}
