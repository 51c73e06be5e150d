//! An idle connection's seat.

use super::link::Link;
use super::socket::{Socket, is_silent};
use crate::pool::WorkerId;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::UnboundedSender;

/// A connection is closed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClosedError {
    pub(crate) worker: WorkerId,
    /// Amid a conversation: what is at its other end may be in no good state.
    pub(crate) amid: bool,
}

/// A connection's place.
#[derive(Debug)]
pub struct Seat {
    worker: WorkerId,
    /// `None`: it is being made, somebody speaks over it, or it is closed.
    socket: Mutex<Option<Socket>>,
    /// Requests that it may still serve; `u32::MAX`: any number.
    left: AtomicU32,
    /// It has served a request.
    used: AtomicBool,
    /// The task to notify when it is closed.
    closed: UnboundedSender<ClosedError>,
}

impl Seat {
    /// `most`: requests that the connection serves, 0: any number.
    pub(crate) const fn new(worker: WorkerId, closed: UnboundedSender<ClosedError>, most: u32) -> Self {
        let left = AtomicU32::new(if most == 0 { u32::MAX } else { most });
        Self { worker, socket: Mutex::new(None), left, used: AtomicBool::new(false), closed }
    }

    /// A request has been served. Whether the connection may serve another one.
    pub(super) fn has_served(&self) -> bool {
        self.used.store(true, Relaxed);
        let left = self.left();
        if left != u32::MAX {
            self.left.store(left.saturating_sub(1), Relaxed);
        }
        left > 1
    }

    /// Returns whether it has served a request before.
    pub(super) fn was_used(&self) -> bool {
        self.used.load(Relaxed)
    }

    /// Requests that it may still serve.
    pub(crate) fn left(&self) -> u32 {
        self.left.load(Relaxed)
    }

    /// The connection has been made to a program that has been sent the beginning of its first request.
    pub(crate) fn put_greeted(&self, socket: Arc<OwnedFd>) {
        let mut socket = Socket::new(socket, None);
        socket.is_greeted = true;
        self.put_back(socket);
    }

    /// The connection has been made, with memory shared beside it, if that is.
    pub(crate) fn put(&self, socket: Arc<OwnedFd>, link: Option<Box<Link>>) {
        self.put_back(Socket::new(socket, link));
    }

    /// The connection is idle.
    pub(super) fn put_back(&self, socket: Socket) {
        *self.socket.lock().unwrap_or_else(PoisonError::into_inner) = Some(socket);
    }

    /// Closes the connection, if it lies here.
    pub(crate) fn close(&self) {
        drop(self.take());
    }

    /// Takes the connection to speak over it.
    pub(super) fn take(&self) -> Option<Socket> {
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

    /// Says that the connection is closed, and nothing was lost by that.
    pub(crate) fn tell_closed(&self) {
        // Where nobody listens the pool has been told.
        let _ = self.closed.send(ClosedError { worker: self.worker, amid: false });
    }

    /// Says that the connection is closed amid a conversation.
    pub(crate) fn tell_broken(&self) {
        let _ = self.closed.send(ClosedError { worker: self.worker, amid: true });
    }
}
