//! A program's error lines: each goes to the log at once, the last ones are kept for the cause of an error.

use super::Sink;
use crate::LOGGED;
use crate::lines::{AT_ONCE, LAST_READS, LONGEST, Lines, RestOfLines};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::Sleep;

/// Lines kept.
const KEPT: usize = 3;
/// Bytes kept of each of them.
const KEPT_LINE: usize = 300;
/// Reads in a row before something else gets its turn.
const READS: usize = 4;
/// Lines in a row: many programs may write at once.
const LINES: usize = AT_ONCE / 4;
/// The cost of a line besides its text, in bytes of [`LOGGED`].
const LINE: usize = 64;
/// A program that has written [`LOGGED`] bytes is read this seldom. It waits meanwhile, and so takes no more of our time.
const PAUSE: Duration = Duration::from_millis(10);

pub(super) struct Stderr<S: Sink> {
    pipe: Option<pipe::Receiver>,
    sink: S,
    lines: Lines,
    last: VecDeque<Vec<u8>>,
    logged: usize,
    /// It has written too much, and is not read before then.
    pause: Option<Pin<Box<Sleep>>>,
}

impl<S: Sink> Stderr<S> {
    pub(super) fn new(pipe: OwnedFd, sink: S) -> io::Result<Self> {
        let pipe = pipe::Receiver::from_owned_fd_unchecked(pipe)?;
        Ok(Self {
            pipe: Some(pipe),
            sink,
            lines: Lines::default(),
            last: VecDeque::new(),
            logged: 0,
            pause: None,
        })
    }

    /// Reads what there is, if not more than is logged in one turn; whether there was anything.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> bool {
        if let Some(pause) = &mut self.pause {
            if pause.as_mut().poll(context).is_pending() {
                return false;
            }
            self.pause = None;
        }
        let mut any = false;
        for _ in 0..if self.logged < LOGGED { READS } else { LAST_READS } {
            if self.take_lines(LINES) {
                break;
            }
            let Some(pipe) = &mut self.pipe else { return any };
            let buffer = self.lines.buffer();
            // Most programs say nothing here.
            buffer.reserve(if any { LONGEST } else { 256 });
            match pin!(pipe.read_buf(buffer)).poll(context) {
                Poll::Pending => return any,
                Poll::Ready(Ok(1..)) => any = true,
                Poll::Ready(_) => self.close(),
            }
        }
        if self.logged >= LOGGED {
            let pause = self.pause.insert(Box::pin(tokio::time::sleep(PAUSE)));
            // From now on it wakes the task.
            let _ = pause.as_mut().poll(context);
            return true;
        }
        let _ = pin!(tokio::task::yield_now()).poll(context);
        true
    }

    /// Takes what is there right now, and no more.
    pub(super) fn finish(&mut self) {
        // What was written before the program's end is there, but the runtime may not know it yet.
        for _ in 0..LAST_READS {
            let Some(pipe) = &self.pipe else { return };
            let mut space = [0; LONGEST];
            match rustix::io::read(pipe.as_fd(), &mut space) {
                Ok(n @ 1..) => self.lines.buffer().extend_from_slice(&space[..n]),
                _ => break,
            }
        }
        if self.take_lines(LINES) {
            self.hand_over();
        }
        self.close();
    }

    /// Gives lines that are too many for now to the sink. The cause of an error is still found among the last ones.
    fn hand_over(&mut self) {
        let mut lines = std::mem::take(&mut self.lines);
        let room = LOGGED.saturating_sub(self.logged);
        lines.buffer().truncate(room);
        let tail = lines.buffer().len().saturating_sub(KEPT * LONGEST);
        let mut last = Lines::default();
        last.buffer().extend_from_slice(&lines.buffer()[tail..]);
        last.take_rest(|line| self.keep(line));
        self.sink.rest(RestOfLines::new(lines));
    }

    pub(super) fn last_lines(&self) -> Vec<String> {
        self.last.iter().map(|line| line.escape_ascii().to_string()).collect()
    }

    fn close(&mut self) {
        self.pipe = None;
        let mut lines = std::mem::take(&mut self.lines);
        lines.take_rest(|line| self.log(line));
    }

    /// Logs lines that are complete; whether there may be more.
    fn take_lines(&mut self, most: usize) -> bool {
        if self.logged >= LOGGED {
            self.lines = Lines::default();
            return false;
        }
        let mut lines = std::mem::take(&mut self.lines);
        let more = lines.take(most, |line| self.log(line));
        self.lines = lines;
        more
    }

    fn log(&mut self, line: &[u8]) {
        if self.logged >= LOGGED {
            return;
        }
        self.logged += line.len() + LINE;
        self.sink.line(line);
        if self.logged >= LOGGED {
            self.sink.line(b"(too much on stderr: the rest of this request is not logged)");
        }
        self.keep(line);
    }

    fn keep(&mut self, line: &[u8]) {
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(line[..line.len().min(KEPT_LINE)].to_vec());
    }
}
