//! The socket over which the master attaches the fronts of later generations. It is not a connection: this process does
//! not live for it, and says nothing there.

use hostler_sys::fdpass::{self, Wait};
use hostler_wire::frame::{self, FrameError, HEAD, Head};
use hostler_wire::site::ToSite;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::connection::malformed;

/// Bytes asked for in one call: many frames of this kind.
const PIECE: usize = 512;

/// Our end.
#[derive(Debug)]
pub(crate) struct Door {
    socket: OwnedFd,
    received: Vec<u8>,
    descriptors: Vec<OwnedFd>,
    closed: bool,
}

impl Door {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, received: Vec::new(), descriptors: Vec::new(), closed: false }
    }

    /// Returns whether the master has closed its end.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Closes the door to all but those already waiting.
    pub(crate) fn shut(&mut self) {
        // The master then finds it closed; if that fails it has closed it itself.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Read);
    }

    /// The connections that have been attached.
    pub(crate) fn waiting(&mut self) -> io::Result<Vec<OwnedFd>> {
        self.receive()?;
        let mut connections = Vec::new();
        while let Some(head) = self.received.first_chunk::<HEAD>() {
            let Head { body, fds } = Head::decode(*head).map_err(malformed)?;
            let Some(frame) = self.received.get(HEAD..HEAD + body) else { break };
            let request: ToSite = frame::decode(frame).map_err(malformed)?;
            if request != ToSite::Attach || fds != 1 || self.descriptors.is_empty() {
                return Err(malformed(FrameError::Malformed));
            }
            self.received.drain(..HEAD + body);
            connections.push(self.descriptors.remove(0));
        }
        Ok(connections)
    }

    fn receive(&mut self) -> io::Result<()> {
        loop {
            let mut piece = [0; PIECE];
            match fdpass::recv(self.socket.as_fd(), &mut piece, &mut self.descriptors, Wait::No) {
                Ok(0) => self.closed = true,
                Ok(n) => {
                    self.received.extend_from_slice(&piece[..n]);
                    continue;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) if e.kind() == io::ErrorKind::ConnectionReset => self.closed = true,
                Err(e) => return Err(e),
            }
            return Ok(());
        }
    }
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
