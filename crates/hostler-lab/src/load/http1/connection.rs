//! A connection of the event loop's: plain, or with TLS between it and the kernel.

use crate::load::tls::Tls;
use anyhow::Result;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustls::ClientConnection;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A connection, possibly under way.
#[derive(Debug)]
pub(super) struct Connection {
    socket: OwnedFd,
    tls: Option<Box<ClientConnection>>,
}

impl Connection {
    pub(super) fn new(socket: OwnedFd, tls: Option<&Tls>) -> Result<Self> {
        let tls = tls.map(Tls::client).transpose()?.map(Box::new);
        Ok(Self { socket, tls })
    }

    /// Returns whether what comes is read in pieces that say nothing about whether there is more.
    pub(super) const fn in_records(&self) -> bool {
        self.tls.is_some()
    }

    /// Sends what is taken of it; nothing is before a handshake has begun.
    ///
    /// # Errors
    /// The kernel's; `AGAIN` if nothing is taken now.
    pub(super) fn send(&mut self, bytes: &[u8]) -> rustix::io::Result<usize> {
        let Some(tls) = &mut self.tls else { return send(&self.socket, bytes, SendFlags::NOSIGNAL) };
        flush(&self.socket, tls)?;
        match tls.writer().write(bytes).map_err(|e| errno(&e))? {
            // Its room is full: until the handshake is done.
            0 => Err(Errno::AGAIN),
            taken => {
                match flush(&self.socket, tls) {
                    Ok(()) | Err(Errno::AGAIN) => {}
                    Err(e) => return Err(e),
                }
                Ok(taken)
            }
        }
    }

    /// Sends what was taken before, and parts of handshakes.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn flush(&mut self) -> rustix::io::Result<()> {
        match &mut self.tls {
            Some(tls) => match flush(&self.socket, tls) {
                Err(Errno::AGAIN | Errno::NOTCONN) => Ok(()),
                flushed => flushed,
            },
            None => Ok(()),
        }
    }

    /// Reads what has come; 0: its end.
    ///
    /// # Errors
    /// The kernel's, `AGAIN` if there is nothing now; `PROTO` of what is no TLS.
    pub(super) fn recv(&mut self, buffer: &mut [u8]) -> rustix::io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return recv(&self.socket, buffer, RecvFlags::empty()).map(|(read, _)| read);
        };
        loop {
            match tls.reader().read(buffer) {
                Ok(read) => return Ok(read),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                // The connection's end without TLS's.
                Err(_) => return Ok(0),
            }
            if tls.read_tls(&mut Raw(&self.socket)).map_err(|e| errno(&e))? == 0 {
                return Ok(0);
            }
            let processed = tls.process_new_packets();
            // Answers of the handshake, or what is wrong.
            let flushed = flush(&self.socket, tls);
            processed.map_err(|_| Errno::PROTO)?;
            match flushed {
                Ok(()) | Err(Errno::AGAIN) => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn flush(socket: &OwnedFd, tls: &mut ClientConnection) -> rustix::io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(&mut Raw(socket)).map_err(|e| errno(&e))?;
    }
    Ok(())
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::PROTO)
}

/// The kernel's side.
struct Raw<'a>(&'a OwnedFd);

impl Read for Raw<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(recv(self.0, buffer, RecvFlags::empty())?.0)
    }
}

impl Write for Raw<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
