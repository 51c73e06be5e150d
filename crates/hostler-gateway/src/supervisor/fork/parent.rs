//! The control socket to an engine's parent: frames out with their descriptors, frames in.
//!
//! The parent is a tenant's: frames are bounded, and one that can't be ends the conversation.

use crate::supervisor::Process;
use crate::{Error, register};
use hostler_sys::fdpass::{self, Wait};
use hostler_sys::pipe::{Direction, Pipe};
use hostler_wire::build::Build;
use hostler_wire::engine::{FromEngine, Setup, ToEngine};
use hostler_wire::frame::{HEAD, Head};
use std::future::ready;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A pool's interface to its process. Everything is called on one thread.
pub trait Host {
    /// Starts the engine's parent process, or unless it has to be `fresh`, takes over one that has loaded the same for
    /// another front.
    ///
    /// # Errors
    /// Whatever the cause is, it is told to the requests that wait.
    fn start(&self, fresh: bool) -> impl Future<Output = Result<NewParent, Error>>;
    /// Returns the parent's setup.
    fn setup(&self) -> Setup;
    /// A pipe for what a worker writes.
    ///
    /// # Errors
    /// The kernel's.
    fn pipe(&self) -> impl Future<Output = io::Result<Pipe>> {
        ready(Direction::FromProgram.pipe())
    }
    /// Called each second as long as the pool has processes.
    fn in_use(&self);
    /// A line that a process of the pool wrote to its standard output or error, without its end.
    fn line(&self, pid: u32, line: &[u8]);
    /// Returns whether the server is ending: then its processes end as they should, asked by others than the pool.
    fn is_ending(&self) -> bool {
        false
    }
}

/// A parent process that has been started.
pub struct NewParent {
    /// Our end of the control socket.
    pub control: OwnedFd,
    /// Our ends of the pipes of its standard output and error; they don't block.
    pub output: [OwnedFd; 2],
    /// Its process id.
    pub pid: u32,
    /// Its end of the socket over which it is told of further fronts.
    pub door: Option<OwnedFd>,
    /// It was there already, and has loaded everything.
    pub adopted: bool,
    /// The process; killing it ends its workers, too, unless others use it.
    pub process: Box<dyn Process>,
}

/// The longest frame of a parent, in bytes: a failure with what the interpreter says of it.
const LONGEST: usize = 1 << 20;

/// Longest text of a parent's that is kept, in bytes.
const LONGEST_TEXT: usize = 8 << 10;

/// The conversation.
pub(super) struct Link {
    socket: AsyncFd<OwnedFd>,
    bytes: Vec<u8>,
}

impl Link {
    pub(super) fn new(socket: OwnedFd) -> io::Result<Self> {
        // Sending and receiving say by themselves that they don't wait: the flag would be the parent's as well.
        Ok(Self { socket: register(socket, Interest::READABLE | Interest::WRITABLE)?, bytes: Vec::new() })
    }

    /// Sends a frame. Not to be dropped before it is done.
    pub(super) async fn send(&self, message: &ToEngine, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut bytes = Vec::new();
        message.encode(fds.len(), &mut bytes).map_err(io::Error::other)?;
        let mut sent = 0;
        while sent < bytes.len() {
            let fds = if sent == 0 { fds } else { &[] };
            let send = |socket: &OwnedFd| fdpass::send(socket.as_fd(), &bytes[sent..], fds, Wait::No);
            sent += self.socket.async_io(Interest::WRITABLE, send).await?;
        }
        Ok(())
    }

    /// The next frame. May be dropped at any time; nothing is lost then.
    ///
    /// # Errors
    /// The parent has closed its end, or makes no sense.
    pub(super) async fn next(&mut self) -> io::Result<FromEngine> {
        loop {
            if let Some(message) = self.cut()? {
                return Ok(message);
            }
            let bytes = &mut self.bytes;
            let read = self.socket.async_io(Interest::READABLE, |socket| {
                let mut space = [0; 4096];
                // Descriptors are not asked for: what comes is closed.
                let n = fdpass::recv(socket.as_fd(), &mut space, &mut Vec::new(), Wait::No)?;
                bytes.extend_from_slice(&space[..n]);
                Ok(n)
            });
            if read.await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// The first frame: of which build the parent is. Like [`Self::next`], which comes after it.
    ///
    /// # Errors
    /// The parent has closed its end; `InvalidData`: it says something else, as one of another build may.
    pub(super) async fn hello(&mut self) -> io::Result<Build> {
        match self.next().await {
            Ok(FromEngine::Hello(build)) => Ok(build),
            Err(e) if e.kind() != io::ErrorKind::Other => Err(e),
            Ok(_) | Err(_) => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn cut(&mut self) -> io::Result<Option<FromEngine>> {
        let Some(head) = self.bytes.first_chunk::<HEAD>() else { return Ok(None) };
        let head = Head::decode(*head).map_err(io::Error::other)?;
        if head.body > LONGEST || head.fds > 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if self.bytes.len() < HEAD + head.body {
            return Ok(None);
        }
        let message = FromEngine::decode(&self.bytes[HEAD..HEAD + head.body]).map_err(io::Error::other)?;
        self.bytes.drain(..HEAD + head.body);
        Ok(Some(message))
    }
}

/// A text of a parent's, which is shown again and again.
pub(super) fn shortened(text: String) -> String {
    if text.len() <= LONGEST_TEXT {
        return text;
    }
    String::from_utf8_lossy(&text.as_bytes()[..LONGEST_TEXT]).into_owned()
}
