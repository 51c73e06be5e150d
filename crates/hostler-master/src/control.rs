//! The control socket to a front: sixteen bytes a message in both directions, never blocking.
//!
//! A front's messages are not trusted: a message that is not one of ours, descriptors (a front has none to send),
//! or more questions than it reads answers for, and the front is done for.

use hostler_sys::fdpass::{MAX_FDS, Wait, recv, send};
use hostler_wire::control::{FromFront, FromMaster, MESSAGE_SIZE};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

/// Most answers that wait for a front that does not read them.
const MOST_WAITING: usize = 1024;

struct Outgoing {
    bytes: [u8; MESSAGE_SIZE],
    fds: Vec<Rc<OwnedFd>>,
}

/// Our end of a front's control socket.
pub(crate) struct Channel {
    socket: OwnedFd,
    outbox: VecDeque<Outgoing>,
}

/// A front's message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FrontMessage {
    /// A message.
    Message(FromFront),
    /// Nothing at the moment.
    Nothing,
    /// Its end of the socket is closed.
    Closed,
    /// Something a front of ours does not send; why, in words.
    Malformed(&'static str),
}

impl Channel {
    /// For the master's end of a `SOCK_SEQPACKET` pair.
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, outbox: VecDeque::new() }
    }

    /// The socket, to wait for.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Returns whether something waits to be sent.
    pub(crate) fn waiting(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Queues a message with its descriptors; [`Channel::flush`] sends it.
    pub(crate) fn queue(&mut self, message: FromMaster, fds: Vec<Rc<OwnedFd>>) {
        self.outbox.push_back(Outgoing { bytes: message.encode(), fds });
    }

    /// Queues descriptors in batches, each with the message that `message` makes of its index and count.
    pub(crate) fn queue_batches(&mut self, fds: &[Rc<OwnedFd>], message: impl Fn(u32, u32) -> FromMaster) {
        for (batch, fds) in fds.chunks(MAX_FDS).enumerate() {
            self.queue(message((batch * MAX_FDS) as u32, fds.len() as u32), fds.to_vec());
        }
    }

    /// Sends what the socket takes.
    ///
    /// # Errors
    /// The kernel's: the front has gone, or descriptors can't be passed.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while let Some(first) = self.outbox.front() {
            let fds: Vec<BorrowedFd<'_>> = first.fds.iter().map(AsFd::as_fd).collect();
            match send(self.socket.as_fd(), &first.bytes, &fds, Wait::No) {
                Ok(_) => {
                    self.outbox.pop_front();
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Drops what waits to be sent: nobody is there to read it.
    pub(crate) fn forget(&mut self) {
        self.outbox.clear();
    }

    /// The next thing that the front has said.
    pub(crate) fn hear(&self) -> FrontMessage {
        if self.outbox.len() > MOST_WAITING {
            return FrontMessage::Malformed("it does not read its answers");
        }
        let mut bytes = [0; MESSAGE_SIZE];
        let mut fds = Vec::new();
        match recv(self.socket.as_fd(), &mut bytes, &mut fds, Wait::No) {
            Ok(_) if !fds.is_empty() => FrontMessage::Malformed("it sent descriptors"),
            Ok(0) => FrontMessage::Closed,
            Ok(n) => match FromFront::decode(&bytes[..n]) {
                Ok(message) => FrontMessage::Message(message),
                Err(_) => FrontMessage::Malformed("it sent a malformed control message"),
            },
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => FrontMessage::Nothing,
            Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                FrontMessage::Malformed("it sent a malformed control message")
            }
            Err(_) => FrontMessage::Closed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostler_sys::socket::seqpacket_pair;

    fn pair() -> (Channel, OwnedFd) {
        let (ours, theirs) = seqpacket_pair().unwrap();
        (Channel::new(ours), theirs)
    }

    fn say(front: &OwnedFd, bytes: &[u8]) {
        send(front.as_fd(), bytes, &[], Wait::Yes).unwrap();
    }

    #[test]
    fn hears_messages_and_the_end() {
        let (channel, front) = pair();
        assert_eq!(channel.hear(), FrontMessage::Nothing);
        say(&front, &FromFront::SpawnSite(4).encode());
        assert_eq!(channel.hear(), FrontMessage::Message(FromFront::SpawnSite(4)));
        drop(front);
        assert_eq!(channel.hear(), FrontMessage::Closed);
    }

    #[test]
    fn anything_else_is_malformed() {
        let (channel, front) = pair();
        say(&front, b"short");
        assert!(matches!(channel.hear(), FrontMessage::Malformed(_)));
        say(&front, &[0; 17]);
        assert!(matches!(channel.hear(), FrontMessage::Malformed(_)));
        send(front.as_fd(), &FromFront::Ready.encode(), &[front.as_fd()], Wait::Yes).unwrap();
        assert_eq!(channel.hear(), FrontMessage::Malformed("it sent descriptors"));
    }

    #[test]
    fn a_front_that_reads_nothing_is_not_waited_for() {
        let (mut channel, front) = pair();
        for site in 0..=20 * MOST_WAITING as u32 {
            channel.queue(FromMaster::SiteFailed(site, 11), Vec::new());
        }
        channel.flush().unwrap();
        assert!(channel.waiting());
        assert_eq!(channel.hear(), FrontMessage::Malformed("it does not read its answers"));
        drop(front);
        assert!(channel.flush().is_err());
    }

    #[test]
    fn descriptors_go_in_batches_that_say_where_they_belong() {
        let (mut channel, front) = pair();
        let fd = Rc::new(front.try_clone().unwrap());
        let many = vec![fd; MAX_FDS + 1];
        channel.queue_batches(&many, |index, count| FromMaster::Logs { index, count });
        channel.flush().unwrap();
        for (index, count) in [(0, MAX_FDS), (MAX_FDS, 1)] {
            let (mut bytes, mut fds) = ([0; MESSAGE_SIZE], Vec::new());
            recv(front.as_fd(), &mut bytes, &mut fds, Wait::Yes).unwrap();
            let message = FromMaster::Logs { index: index as u32, count: count as u32 };
            assert_eq!((FromMaster::decode(&bytes), fds.len()), (Ok(message), count));
        }
    }
}
