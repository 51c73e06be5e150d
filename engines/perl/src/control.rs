//! The control socket: frames from and to the front (`hostler_wire::frame`), blocking.

use hostler_sys::fdpass;
use hostler_wire::engine::{FromEngine, ToEngine};
use hostler_wire::frame::{self, FrameError, Head};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The front's end of the socket pair is its other side.
pub(crate) struct Control {
    socket: OwnedFd,
    descriptors: Vec<OwnedFd>,
}

impl Control {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, descriptors: Vec::new() }
    }

    /// The next frame with its descriptors; `None`: the front has closed.
    pub(crate) fn receive(&mut self) -> io::Result<Option<(ToEngine, Vec<OwnedFd>)>> {
        let mut head = [0; frame::HEAD];
        if !self.fill(&mut head)? {
            return Ok(None);
        }
        let head = Head::decode(head).map_err(malformed)?;
        let mut body = vec![0; head.body];
        if !self.fill(&mut body)? {
            return Ok(None);
        }
        if self.descriptors.len() < head.fds {
            return Err(malformed(FrameError::Malformed));
        }
        let descriptors = self.descriptors.drain(..head.fds).collect();
        Ok(Some((frame::decode(&body).map_err(malformed)?, descriptors)))
    }

    fn fill(&mut self, bytes: &mut [u8]) -> io::Result<bool> {
        match fdpass::recv_exact(self.socket.as_fd(), bytes, &mut self.descriptors) {
            Ok(()) => Ok(true),
            Err(e) if is_gone(&e) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Sends a frame; one that the front does not take any more is no error: its end shows at the next `receive`.
    pub(crate) fn send(&self, message: &FromEngine) -> io::Result<()> {
        let mut bytes = Vec::new();
        frame::encode(message, 0, &mut bytes).map_err(malformed)?;
        match fdpass::send_all(self.socket.as_fd(), &bytes, &[]) {
            Err(e) if !is_gone(&e) => Err(e),
            _ => Ok(()),
        }
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn is_gone(e: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(e.kind(), UnexpectedEof | ConnectionReset | BrokenPipe)
}

fn malformed(e: FrameError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, e)
}
