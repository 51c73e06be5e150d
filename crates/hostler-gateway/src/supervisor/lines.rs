//! The standard error of a pool's processes: line by line to the log; the last lines are kept.

use crate::lines::{self, AT_ONCE, LAST_READS, LONGEST, RestOfLines};
use crate::register;
use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Lines that are handed out at once when a process has ended.
const AT_LAST: usize = 16 * AT_ONCE;

/// The destination of lines.
type Sink = Rc<dyn Fn(&[u8])>;

/// The reading end of a pipe.
pub(crate) struct Lines {
    pipe: AsyncFd<OwnedFd>,
    lines: RefCell<lines::Lines>,
    sink: Sink,
    ended: Cell<bool>,
}

impl Lines {
    /// Reads a pipe to its end, in the background. The descriptor must not block.
    pub(crate) fn follow(pipe: OwnedFd, sink: impl Fn(&[u8]) + 'static) -> io::Result<Rc<Self>> {
        let pipe = register(pipe, Interest::READABLE)?;
        let lines =
            Rc::new(Self { pipe, lines: RefCell::default(), sink: Rc::new(sink), ended: Cell::new(false) });
        tokio::task::spawn_local(lines.clone().read());
        Ok(lines)
    }

    async fn read(self: Rc<Self>) {
        loop {
            let Ok(mut ready) = self.pipe.readable().await else { return };
            match self.take_turn() {
                LineResult::Nothing => ready.clear_ready(),
                LineResult::Much => tokio::task::yield_now().await,
                LineResult::End => {
                    self.ended.set(true);
                    return;
                }
            }
        }
    }

    /// Returns whether all writers have closed it.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.get()
    }

    /// Reads what is there, as much as a pipe usually holds, for [`Self::rest`].
    pub(crate) fn take_now(&self) -> LineResult {
        let mut reads = (0..LAST_READS).map(|_| self.read_some());
        reads.find(|taken| *taken != LineResult::Much).unwrap_or(LineResult::Much)
    }

    /// Takes so much of what is there that nobody waits for it.
    fn take_turn(&self) -> LineResult {
        if self.take_lines(AT_ONCE) {
            return LineResult::Much;
        }
        let taken = self.read_some();
        // What does not come to its turn is taken in the next one.
        if self.take_lines(AT_ONCE) && taken == LineResult::Nothing { LineResult::Much } else { taken }
    }

    fn read_some(&self) -> LineResult {
        let mut space = [0; LONGEST];
        match rustix::io::read(self.pipe.get_ref().as_fd(), &mut space) {
            Ok(0) => {
                self.rest();
                LineResult::End
            }
            Ok(n) => {
                self.lines.borrow_mut().buffer().extend_from_slice(&space[..n]);
                LineResult::Much
            }
            Err(rustix::io::Errno::INTR) => LineResult::Much,
            Err(rustix::io::Errno::AGAIN) => LineResult::Nothing,
            Err(_) => LineResult::End,
        }
    }

    /// Hands out so many lines; whether there may be more.
    fn take_lines(&self, most: usize) -> bool {
        // Taken out: whatever is done with a line, it may come back here.
        let mut lines = self.lines.take();
        let more = lines.take(most, &*self.sink);
        self.lines.replace(lines);
        more
    }

    /// Hands out what is left: a line without an end is one, too, once nothing follows. A process may leave very many lines
    /// behind: those beyond [`AT_LAST`] come in turns. Returns whether there were none.
    pub(crate) fn rest(&self) -> bool {
        let mut lines = self.lines.take();
        if !lines.take(AT_LAST, &*self.sink) {
            lines.take_rest(&*self.sink);
            return true;
        }
        let sink = self.sink.clone();
        RestOfLines::new(lines).later(move |line| sink(line));
        false
    }
}

/// The result of [`Lines::take_now`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineResult {
    /// Nothing is left for now.
    Nothing,
    /// There may be more.
    Much,
    /// All writers have closed it.
    End,
}
