//! A control socket: frames from and to a front (`hostler_wire::frame`). The door, where the site's process tells of
//! further fronts, is one, too.

use hostler_sys::fdpass::{self, Wait};
use hostler_wire::engine::{FromEngine, ToEngine};
use hostler_wire::frame::{self, FrameError, Head};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes asked for at once.
const CHUNK: usize = 4 << 10;

/// The front's end of the socket pair is its other side.
pub(crate) struct Control {
    socket: OwnedFd,
    /// Received bytes that were not taken yet.
    bytes: Vec<u8>,
    descriptors: Vec<OwnedFd>,
    /// Bytes to be sent.
    unsent: Vec<u8>,
}

impl Control {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, bytes: Vec::new(), descriptors: Vec::new(), unsent: Vec::new() }
    }

    /// The next frame with its descriptors; `None`: the front has closed.
    pub(crate) fn receive(&mut self) -> io::Result<Option<(ToEngine, Vec<OwnedFd>)>> {
        loop {
            if let Some(frame) = self.cut()? {
                return Ok(Some(frame));
            }
            if !self.fill(Wait::Yes)? {
                return Ok(None);
            }
        }
    }

    /// Returns whether a whole frame has come that was not taken.
    pub(crate) fn has_frame(&self) -> bool {
        let head = self.bytes.first_chunk::<{ frame::HEAD }>().map(|head| Head::decode(*head));
        head.is_some_and(|head| head.is_ok_and(|head| self.bytes.len() >= frame::HEAD + head.body))
    }

    /// The next frame if it has come.
    pub(crate) fn receive_now(&mut self) -> io::Result<Option<(ToEngine, Vec<OwnedFd>)>> {
        match self.cut()? {
            None => {
                let filled = self.fill(Wait::No);
                // The end shows at the next `receive`.
                if filled.is_ok_and(|filled| filled) { self.cut() } else { Ok(None) }
            }
            frame => Ok(frame),
        }
    }

    /// Takes a frame from what has come.
    fn cut(&mut self) -> io::Result<Option<(ToEngine, Vec<OwnedFd>)>> {
        let Some(head) = self.bytes.first_chunk::<{ frame::HEAD }>() else { return Ok(None) };
        let head = Head::decode(*head).map_err(malformed)?;
        let Some(body) = self.bytes.get(frame::HEAD..frame::HEAD + head.body) else { return Ok(None) };
        let message = ToEngine::decode(body).map_err(malformed)?;
        if self.descriptors.len() < head.fds {
            return Err(malformed(FrameError::Malformed));
        }
        let descriptors = self.descriptors.drain(..head.fds).collect();
        self.bytes.drain(..frame::HEAD + head.body);
        if self.bytes.is_empty() {
            // A setup may have been long.
            self.bytes.shrink_to(CHUNK);
        }
        Ok(Some((message, descriptors)))
    }

    /// Reads what has come. The kernel ends each piece with the first descriptors in it, so a child that is forked
    /// between two frames has no others.
    fn fill(&mut self, wait: Wait) -> io::Result<bool> {
        let before = self.bytes.len();
        self.bytes.resize(before + CHUNK, 0);
        let read = fdpass::recv(self.socket.as_fd(), &mut self.bytes[before..], &mut self.descriptors, wait);
        self.bytes.truncate(before + read.as_ref().map_or(0, |count| *count));
        match read {
            Ok(count) => Ok(count > 0),
            Err(e) if is_gone(&e) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Sends a frame, and what was put off, however long that takes.
    pub(crate) fn send(&mut self, message: &FromEngine) -> io::Result<()> {
        self.send_later(message)?;
        let sent = fdpass::send_all(self.socket.as_fd(), &self.unsent, &[]);
        self.unsent.clear();
        forgive(sent)
    }

    /// Puts a frame off until the next [`flush`](Self::flush).
    pub(crate) fn send_later(&mut self, message: &FromEngine) -> io::Result<()> {
        message.encode(&mut self.unsent).map_err(malformed)
    }

    /// Returns whether something was put off that is still to be sent.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends of what was put off what the front takes at once: one that is stuck must not hold up others. What it does
    /// not take any more is no error: its end shows at the next `receive`.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match fdpass::send(self.socket.as_fd(), &self.unsent, &[], Wait::No) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) => {
                    self.unsent.clear();
                    return forgive(Err(e));
                }
            }
        }
        Ok(())
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn forgive(sent: io::Result<()>) -> io::Result<()> {
    match sent {
        Err(e) if !is_gone(&e) => Err(e),
        _ => Ok(()),
    }
}

fn is_gone(e: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(e.kind(), UnexpectedEof | ConnectionReset | BrokenPipe)
}

fn malformed(e: FrameError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, e)
}
