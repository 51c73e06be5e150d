//! A connection to the front: frames in, frames out, never waiting.
//!
//! Answers are queued and sent as the front takes them; while too much is queued no further request is read.

use hostler_sys::fdpass::{self, Wait};
use hostler_sys::fs::Watches;
use hostler_wire::build::Build;
use hostler_wire::frame::{self, FrameError, HEAD, Head};
use hostler_wire::site::{FromSite, ToSite};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes asked for in one call.
const PIECE: usize = 16 << 10;
/// No more requests are read while so many bytes of answers wait.
const MOST_QUEUED: usize = 1 << 20;
/// Most bytes of small answers that travel in one call.
const JOINED: usize = 16 << 10;

/// One of the front's connections.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: OwnedFd,
    watches: Option<Watches>,
    received: Vec<u8>,
    descriptors: Vec<OwnedFd>,
    outgoing: VecDeque<Outgoing>,
    queued: usize,
}

/// Bytes to be sent, with descriptors that go with the first of them.
#[derive(Debug)]
struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
    descriptors: Vec<OwnedFd>,
}

/// The messages of a call of [`Connection::receive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// Something.
    Bytes,
    /// Nothing for now.
    Nothing,
    /// The front has closed it.
    Closed,
}

impl Connection {
    /// Takes a new connection and greets the front.
    pub(crate) fn new(socket: OwnedFd) -> io::Result<Self> {
        let watches = Watches::new().ok();
        let shared = watches.as_ref().and_then(|watches| watches.as_fd().try_clone_to_owned().ok());
        let mut connection = Self {
            socket,
            watches: if shared.is_some() { watches } else { None },
            received: Vec::new(),
            descriptors: Vec::new(),
            outgoing: VecDeque::new(),
            queued: 0,
        };
        connection.queue(&FromSite::Hello(Build::own()), shared.into_iter().collect()).map_err(malformed)?;
        Ok(connection)
    }

    /// Returns the watches, if inotify is available.
    pub(crate) fn watches(&self) -> Option<&Watches> {
        self.watches.as_ref()
    }

    /// Returns whether answers wait to be sent.
    pub(crate) fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Returns whether requests are read: not while the front leaves its answers lying.
    pub(crate) fn is_open_for_requests(&self) -> bool {
        self.queued < MOST_QUEUED
    }

    /// Returns whether a whole request has been received and may be answered now.
    pub(crate) fn has_request(&self) -> bool {
        let head = self.received.first_chunk::<HEAD>().map(|head| Head::decode(*head));
        let whole = head.is_some_and(|head| head.is_ok_and(|head| self.received.len() >= HEAD + head.body));
        whole && self.is_open_for_requests()
    }

    /// Reads once.
    pub(crate) fn receive(&mut self) -> io::Result<Message> {
        let start = self.received.len();
        self.received.resize(start + PIECE, 0);
        let n =
            fdpass::recv(self.socket.as_fd(), &mut self.received[start..], &mut self.descriptors, Wait::No);
        self.received.truncate(start + *n.as_ref().unwrap_or(&0));
        match n {
            Ok(0) => Ok(Message::Closed),
            Ok(_) => Ok(Message::Bytes),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(Message::Nothing),
            Err(e) if e.kind() == io::ErrorKind::ConnectionReset => Ok(Message::Closed),
            Err(e) => Err(e),
        }
    }

    /// The next whole request that has been received, with its descriptors.
    pub(crate) fn next_request(&mut self) -> io::Result<Option<(ToSite, Vec<OwnedFd>)>> {
        let Some(head) = self.received.first_chunk::<HEAD>() else { return Ok(None) };
        let Head { body, fds } = Head::decode(*head).map_err(malformed)?;
        let Some(frame) = self.received.get(HEAD..HEAD + body) else { return Ok(None) };
        let request = frame::decode(frame).map_err(malformed)?;
        if fds > self.descriptors.len() {
            return Err(malformed(FrameError::Malformed));
        }
        self.received.drain(..HEAD + body);
        Ok(Some((request, self.descriptors.drain(..fds).collect())))
    }

    /// Queues an answer, to be sent by [`Self::flush`].
    pub(crate) fn queue(&mut self, answer: &FromSite, descriptors: Vec<OwnedFd>) -> Result<(), FrameError> {
        if let Some(last) = self.outgoing.back_mut()
            && descriptors.is_empty()
            && last.bytes.len() < JOINED
        {
            let before = last.bytes.len();
            frame::encode(answer, 0, &mut last.bytes)?;
            self.queued += last.bytes.len() - before;
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(512);
        frame::encode(answer, descriptors.len(), &mut bytes)?;
        self.queued += bytes.len();
        self.outgoing.push_back(Outgoing { bytes, sent: 0, descriptors });
        Ok(())
    }

    /// Sends what the front takes without waiting. `false`: the front is gone.
    pub(crate) fn flush(&mut self) -> bool {
        while let Some(next) = self.outgoing.front_mut() {
            let fds: Vec<BorrowedFd<'_>> = next.descriptors.iter().map(AsFd::as_fd).collect();
            match fdpass::send(self.socket.as_fd(), &next.bytes[next.sent..], &fds, Wait::No) {
                Ok(n) => {
                    next.descriptors.clear();
                    next.sent += n;
                    self.queued -= n;
                    if next.sent == next.bytes.len() {
                        self.outgoing.pop_front();
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
        }
        true
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The error of a front that does not keep to the protocol.
pub(crate) fn malformed(error: FrameError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
