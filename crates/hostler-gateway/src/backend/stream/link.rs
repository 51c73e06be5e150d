//! Memory beside a connection (`hostler_ring`): requests go through one of its channels, answers come the same way, and no call
//! of the system is made for either as long as both sides are awake. The connection stays: it ends both, and a program that sleeps is
//! called over it.
//!
//! The memory is offered when the connection has been made. A program that can use it says so in its first answer, and which of its
//! processes it is: one that is to be called is called once for all of its connections.
//!
//! The program is a tenant's. It is never called by an eventfd, which it could fill and make blocking for the front, too; it rings the
//! front's threads by bells that are its pool's ([`Bells`]).

#[cfg(test)]
mod tests;
mod thread;

use super::Protocol;
use crate::backend::Common;
use crate::backend::ring::bells::Bells;
use bytes::Bytes;
use hostler_ring::Memory;
use hostler_ring::front::Channel;
use hostler_sys::fdpass::{self, Wait};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
pub(super) use thread::Conversation;
pub(crate) use thread::{announce_links, look_at_links, open_links};
use tokio::io::unix::AsyncFd;

/// Most connections of a pool that have such memory; those beyond do without.
const MOST: usize = 256;

/// State that the connections of a pool share.
#[derive(Debug)]
pub struct Links {
    threads: u32,
    /// There as long as the pool is at work, from the first connection on that has memory.
    bells: Mutex<Option<PoolBells>>,
    /// Connections that have memory.
    count: Arc<AtomicUsize>,
    /// The name of the running program's socket, where one program has all connections.
    program: Mutex<Option<Box<[u8]>>>,
}

/// The bells of a pool, and the number that no other ones have.
#[derive(Clone, Debug)]
struct PoolBells(Arc<Bells>, u64);

impl Common for Links {
    fn new(threads: u32) -> Self {
        Self { threads, bells: Mutex::default(), count: Arc::default(), program: Mutex::default() }
    }

    fn call_all(&self) {}

    fn rest(&self) {
        *self.bells.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Links {
    /// Notes the name of the socket that the pool's program listens at.
    pub(crate) fn listens_at(&self, socket: &[u8]) {
        *self.program.lock().unwrap_or_else(PoisonError::into_inner) = Some(socket.into());
    }

    /// Returns the name that was noted last.
    pub(crate) fn program(&self) -> Option<Box<[u8]>> {
        self.program.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn bells(&self) -> io::Result<PoolBells> {
        static NUMBERS: AtomicU32 = AtomicU32::new(0);
        let mut bells = self.bells.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*bells {
            return Ok(known.clone());
        }
        // Programs outlive a front, and have bells of the next one then, too.
        let number = u64::from(std::process::id()) << 32 | u64::from(NUMBERS.fetch_add(1, Relaxed));
        let made = PoolBells(Bells::new(self.threads)?, number);
        Ok(bells.insert(made).clone())
    }

    /// Offers memory over a new connection; `None`: the protocol has none, or it can't be had.
    pub(crate) fn offer<P: Protocol>(&self, socket: &Arc<OwnedFd>) -> Option<Box<Link>> {
        self.offer_by(socket, P::CALL?, P::offer_memory)
    }

    fn offer_by(
        &self,
        socket: &Arc<OwnedFd>,
        call: &'static [u8],
        message: impl FnOnce(u64) -> Vec<u8>,
    ) -> Option<Box<Link>> {
        let counted = Counted::of(&self.count)?;
        let PoolBells(bells, number) = self.bells().ok()?;
        let (memory, descriptor) = Memory::create_polled().ok()?;
        let message = message(number);
        let descriptors = [&descriptor].into_iter().chain(&bells.descriptors);
        let descriptors: Vec<_> = descriptors.map(AsFd::as_fd).collect();
        let sent = fdpass::send(socket.as_fd(), &message, &descriptors, Wait::No).ok()?;
        let channel = memory.channel(0);
        let link =
            Link { socket: socket.clone(), memory, channel, bells, call, process: None, _counted: counted };
        // Of a new connection's few bytes all have gone.
        (sent == message.len()).then(|| Box::new(link))
    }
}

/// One of the connections that have memory.
#[derive(Debug)]
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn of(count: &Arc<AtomicUsize>) -> Option<Self> {
        let counted = Self(count.clone());
        (count.fetch_add(1, Relaxed) < MOST).then_some(counted)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// A connection's memory.
#[derive(Debug)]
pub(crate) struct Link {
    socket: Arc<OwnedFd>,
    memory: Arc<Memory>,
    channel: Channel,
    bells: Arc<Bells>,
    call: &'static [u8],
    /// The program's process that uses it, by its own word; `None`: none has said that it does.
    process: Option<u32>,
    _counted: Counted,
}

/// The program to call, and the way to call it.
#[derive(Debug)]
struct Call {
    socket: Arc<OwnedFd>,
    bells: Arc<Bells>,
    process: u32,
    word: &'static [u8],
}

impl Call {
    /// Returns whether both are for the same process.
    fn is_as(&self, other: &Self) -> bool {
        self.process == other.process && Arc::ptr_eq(&self.bells, &other.bells)
    }

    /// Returns whether somebody may hear it: the connection is not closed. One who has not read earlier calls hears
    /// those.
    fn make(&self) -> bool {
        let sent = send(&self.socket, self.word, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        matches!(sent, Ok(_) | Err(Errno::AGAIN))
    }
}

impl Link {
    /// Returns whether it is used.
    pub(super) const fn is_used(&self) -> bool {
        self.process.is_some()
    }

    /// A process of the program's uses it.
    pub(super) const fn use_by(&mut self, process: u32) {
        self.process = Some(process);
    }

    /// Returns the program to call for everything done since the last call of this function.
    fn due_call(&self) -> Option<Call> {
        let process = self.process.filter(|_| self.memory.is_called())?;
        Some(self.call(process))
    }

    fn call(&self, process: u32) -> Call {
        Call { socket: self.socket.clone(), bells: self.bells.clone(), process, word: self.call }
    }

    /// Writes what there is room for: how many bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        let written = self.channel.write(bytes);
        self.call_now();
        if written == 0 && !bytes.is_empty() { Err(Errno::AGAIN) } else { Ok(written) }
    }

    /// Reads what is available, at most so many bytes.
    pub(super) fn read(&mut self, most: usize) -> Result<Vec<u8>, Errno> {
        let mut piece = Vec::new();
        self.channel.read(&mut piece, most).map_err(|_| Errno::BADMSG)?;
        self.call_now();
        Ok(piece)
    }

    fn call_now(&self) {
        if let Some(call) = self.due_call() {
            call.make();
        }
    }
}

impl Conversation {
    /// The next bytes that come; none: the other side has closed its end, and nothing is left in the memory. What it says over the
    /// socket (that it ends, and has not looked at a request) comes behind what is in the memory.
    pub(super) fn poll_read(
        &self,
        most: usize,
        socket: &AsyncFd<Arc<OwnedFd>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Bytes>> {
        let piece = self.read(most)?;
        if !piece.is_empty() {
            return Poll::Ready(Ok(piece.into()));
        }
        while let Poll::Ready(readable) = socket.poll_read_ready(context) {
            let mut said = [0; 256];
            match recv(socket.get_ref(), &mut said[..], RecvFlags::DONTWAIT) {
                // What was written before the end is there.
                Ok((0, _)) => return Poll::Ready(self.read(most).map(Bytes::from)),
                Ok((count, _)) => return Poll::Ready(Ok(Bytes::copy_from_slice(&said[..count]))),
                Err(Errno::AGAIN) => readable?.clear_ready(),
                Err(Errno::INTR) => {}
                Err(error) => {
                    let rest = self.read(most)?;
                    let rest = if rest.is_empty() { Err(error.into()) } else { Ok(rest.into()) };
                    return Poll::Ready(rest);
                }
            }
        }
        self.wait(context)
    }
}
