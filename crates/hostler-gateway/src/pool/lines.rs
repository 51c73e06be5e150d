//! What the processes of a pool write to their standard error: line by line to the log, the last ones kept.

use crate::register;
use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Longest line, in bytes; a longer one is cut into several.
const LONGEST: usize = 8 << 10;
/// Reads in a row before others get their turn.
const READS: usize = 16;

/// Where lines go.
type Sink = Box<dyn Fn(&[u8])>;

/// The reading end of a pipe.
pub(super) struct Lines {
    pipe: AsyncFd<OwnedFd>,
    /// The beginning of a line.
    partial: RefCell<Vec<u8>>,
    sink: Sink,
    ended: Cell<bool>,
}

impl Lines {
    /// Reads a pipe to its end, in the background. The descriptor must not block.
    pub(super) fn follow(pipe: OwnedFd, sink: impl Fn(&[u8]) + 'static) -> io::Result<Rc<Self>> {
        let pipe = register(pipe, Interest::READABLE)?;
        let lines = Rc::new(Self {
            pipe,
            partial: RefCell::default(),
            sink: Box::new(sink),
            ended: Cell::new(false),
        });
        tokio::task::spawn_local(lines.clone().read());
        Ok(lines)
    }

    async fn read(self: Rc<Self>) {
        loop {
            let Ok(mut ready) = self.pipe.readable().await else { return };
            match self.take_now() {
                Taken::Nothing => ready.clear_ready(),
                Taken::Much => tokio::task::yield_now().await,
                Taken::End => {
                    self.ended.set(true);
                    return;
                }
            }
        }
    }

    /// Whether all writers have closed it.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.get()
    }

    /// Takes what is there.
    pub(super) fn take_now(&self) -> Taken {
        for _ in 0..READS {
            let mut space = [0; LONGEST];
            match rustix::io::read(self.pipe.get_ref().as_fd(), &mut space) {
                Ok(0) => {
                    self.rest();
                    return Taken::End;
                }
                Ok(n) => self.cut(&space[..n]),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return Taken::Nothing,
                Err(_) => return Taken::End,
            }
        }
        Taken::Much
    }

    fn cut(&self, bytes: &[u8]) {
        let mut partial = self.partial.borrow_mut();
        partial.extend_from_slice(bytes);
        let mut start = 0;
        while start < partial.len() {
            let rest = &partial[start..];
            let end = rest.iter().take(LONGEST).position(|byte| *byte == b'\n');
            let (length, next) = match end {
                Some(end) => (end, end + 1),
                None if rest.len() >= LONGEST => (LONGEST, LONGEST),
                None => break,
            };
            self.line(&rest[..length]);
            start += next;
        }
        partial.drain(..start);
    }

    /// A line without an end is one, too, once nothing follows.
    pub(super) fn rest(&self) {
        let rest = std::mem::take(&mut *self.partial.borrow_mut());
        self.line(&rest);
    }

    fn line(&self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.is_empty() {
            (self.sink)(line);
        }
    }
}

/// What [`Lines::take_now`] has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// Nothing is left for now.
    Nothing,
    /// There may be more.
    Much,
    /// All writers have closed it.
    End,
}
