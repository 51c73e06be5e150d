//! Bytes and descriptors over Unix sockets (`SCM_RIGHTS`).
//!
//! Nothing here knows a message format: callers put their own heads in front. Received descriptors are always
//! close-on-exec, and a message whose descriptors did not all arrive is an error, never a short list.

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

pub use crate::exec::inherited;

/// Most descriptors in one call of [`send`]; a message with more of them is refused by [`recv`].
pub const MAX_FDS: usize = 64;

/// True if a call may sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Sleep until the kernel can do it (unless the socket itself is non-blocking).
    Yes,
    /// `MSG_DONTWAIT`: [`io::ErrorKind::WouldBlock`] instead of sleeping.
    No,
}

/// Sends `bytes`, with `fds` attached to the first of them; returns how many bytes went out.
///
/// On a stream socket it may be fewer than given: the descriptors have then gone all the same, so the rest is
/// sent without them. Never raises SIGPIPE.
///
/// # Errors
/// The kernel's; `InvalidInput` when there are more than [`MAX_FDS`] descriptors or descriptors without bytes.
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>], wait: Wait) -> io::Result<usize> {
    let mut flags = SendFlags::NOSIGNAL;
    if wait == Wait::No {
        flags |= SendFlags::DONTWAIT;
    }
    if fds.is_empty() {
        return Ok(rustix::io::retry_on_intr(|| rustix::net::send(socket, bytes, flags))?);
    }
    if fds.len() > MAX_FDS || bytes.is_empty() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let bytes = [IoSlice::new(bytes)];
    Ok(rustix::io::retry_on_intr(|| rustix::net::sendmsg(socket, &bytes, &mut control, flags))?)
}

/// Sends all of `bytes` over a stream socket, with `fds` attached to the first of them.
///
/// # Errors
/// As [`send`]; `WriteZero` when the kernel takes nothing.
pub fn send_all(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut sent = send(socket, bytes, fds, Wait::Yes)?;
    while sent < bytes.len() {
        match send(socket, &bytes[sent..], &[], Wait::Yes)? {
            0 => return Err(io::Error::from(io::ErrorKind::WriteZero)),
            n => sent += n,
        }
    }
    Ok(())
}

/// Receives into `bytes` and appends the descriptors that came along to `fds`; returns the number of bytes
/// (0: the peer has closed its end).
///
/// # Errors
/// The kernel's; `InvalidData` when the message or its descriptors were cut off (a datagram longer than `bytes`,
/// more descriptors than [`MAX_FDS`] or than this process may open). All descriptors of that message are closed
/// and `fds` is as before; `bytes` has what it had room for.
pub fn recv(
    socket: BorrowedFd<'_>,
    bytes: &mut [u8],
    fds: &mut Vec<OwnedFd>,
    wait: Wait,
) -> io::Result<usize> {
    let mut flags = RecvFlags::CMSG_CLOEXEC;
    if wait == Wait::No {
        flags |= RecvFlags::DONTWAIT;
    }
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut into = [IoSliceMut::new(bytes)];
    let message = rustix::io::retry_on_intr(|| rustix::net::recvmsg(socket, &mut into, &mut control, flags))?;
    let before = fds.len();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = part {
            fds.extend(received);
        }
    }
    let cut = message.flags.intersects(ReturnFlags::CTRUNC | ReturnFlags::TRUNC);
    if cut || fds.len() - before > MAX_FDS {
        fds.truncate(before);
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message or its descriptors were cut off"));
    }
    Ok(message.bytes)
}

/// Fills `bytes` from a stream socket; descriptors on the way are appended to `fds`.
///
/// # Errors
/// As [`recv`]; `UnexpectedEof` when the peer closes before all has come.
pub fn recv_exact(socket: BorrowedFd<'_>, bytes: &mut [u8], fds: &mut Vec<OwnedFd>) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        match recv(socket, &mut bytes[filled..], fds, Wait::Yes)? {
            0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            n => filled += n,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::{seqpacket_pair, stream_pair};
    use rustix::io::{FdFlags, fcntl_getfd};
    use std::os::fd::AsFd;

    #[test]
    fn descriptors_arrive_with_the_first_byte_and_are_close_on_exec() {
        let (a, b) = stream_pair().unwrap();
        let (x, y) = rustix::pipe::pipe().unwrap();
        assert_eq!(send(a.as_fd(), b"abc", &[x.as_fd(), y.as_fd()], Wait::Yes).unwrap(), 3);
        let mut fds = Vec::new();
        let mut byte = [0];
        assert_eq!(recv(b.as_fd(), &mut byte, &mut fds, Wait::Yes).unwrap(), 1);
        assert_eq!(fds.len(), 2);
        assert!(fds.iter().all(|fd| fcntl_getfd(fd).unwrap().contains(FdFlags::CLOEXEC)));
        let mut rest = [0; 2];
        recv_exact(b.as_fd(), &mut rest, &mut fds).unwrap();
        assert_eq!((&rest, fds.len()), (b"bc", 2));
    }

    #[test]
    fn nothing_to_read_would_block() {
        let (a, b) = seqpacket_pair().unwrap();
        let e = recv(b.as_fd(), &mut [0; 8], &mut Vec::new(), Wait::No).unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::WouldBlock);
        drop(a);
        assert_eq!(recv(b.as_fd(), &mut [0; 8], &mut Vec::new(), Wait::No).unwrap(), 0);
    }

    #[test]
    fn too_many_descriptors_are_an_error_and_all_closed() {
        // A pipe whose only writers were sent shows that they were closed.
        let (a, b) = seqpacket_pair().unwrap();
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let many = vec![writer.as_fd(); MAX_FDS + 10];
        let mut space = vec![MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FDS + 10))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&many)));
        let bytes = [IoSlice::new(b"x")];
        rustix::net::sendmsg(&a, &bytes, &mut control, SendFlags::empty()).unwrap();
        drop(writer);
        let mut fds = Vec::new();
        let e = recv(b.as_fd(), &mut [0; 8], &mut fds, Wait::Yes).unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::InvalidData);
        assert!(fds.is_empty());
        assert_eq!(rustix::io::read(&reader, &mut [0; 1]).unwrap(), 0);
    }

    #[test]
    fn a_datagram_longer_than_the_buffer_is_an_error() {
        let (a, b) = seqpacket_pair().unwrap();
        send(a.as_fd(), b"longer than four", &[], Wait::Yes).unwrap();
        let e = recv(b.as_fd(), &mut [0; 4], &mut Vec::new(), Wait::Yes).unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn more_than_the_limit_is_not_sent() {
        let (a, _b) = seqpacket_pair().unwrap();
        let many = vec![a.as_fd(); MAX_FDS + 1];
        assert_eq!(send(a.as_fd(), b"x", &many, Wait::Yes).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert!(send(a.as_fd(), b"", &many[..1], Wait::Yes).is_err());
    }
}
