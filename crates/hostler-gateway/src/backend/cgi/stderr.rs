//! A program's error lines: each goes to the log at once, the last ones are kept for the cause of an error.

use super::Sink;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::task::{Context, Poll};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

/// Longest line, in bytes; a longer one is cut into several.
const LINE: usize = 8 << 10;
/// Bytes that one request may write to the log. What comes after is read, so that the program does not block,
/// and dropped: a program must not be able to fill the server's disk by one request.
const MOST: usize = 4 << 20;
/// Lines kept.
const KEPT: usize = 3;
/// Bytes kept of each of them.
const KEPT_LINE: usize = 300;
/// Reads in a row before something else gets its turn.
const READS: usize = 4;

pub(super) struct Stderr<S: Sink> {
    pipe: Option<pipe::Receiver>,
    sink: S,
    /// The beginning of a line.
    partial: Vec<u8>,
    last: VecDeque<Vec<u8>>,
    logged: usize,
}

impl<S: Sink> Stderr<S> {
    pub(super) fn new(pipe: OwnedFd, sink: S) -> io::Result<Self> {
        let pipe = pipe::Receiver::from_owned_fd_unchecked(pipe)?;
        Ok(Self { pipe: Some(pipe), sink, partial: Vec::new(), last: VecDeque::new(), logged: 0 })
    }

    /// Reads what there is; whether there was anything.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> bool {
        let mut any = false;
        for _ in 0..READS {
            let Some(pipe) = &mut self.pipe else { return any };
            // Most programs say nothing here.
            self.partial.reserve(if any { LINE } else { 256 });
            match pin!(pipe.read_buf(&mut self.partial)).poll(context) {
                Poll::Pending => return any,
                Poll::Ready(Ok(1..)) => {
                    any = true;
                    self.lines();
                }
                Poll::Ready(_) => self.close(),
            }
        }
        context.waker().wake_by_ref();
        any
    }

    /// Takes what is there right now, and no more.
    pub(super) fn finish(&mut self) {
        // What was written before the program's end is there, but the runtime may not know it yet.
        for _ in 0..MOST / LINE {
            let Some(pipe) = &self.pipe else { return };
            let mut space = [0; LINE];
            match rustix::io::read(pipe.as_fd(), &mut space) {
                Ok(n @ 1..) => {
                    self.partial.extend_from_slice(&space[..n]);
                    self.lines();
                }
                _ => self.close(),
            }
        }
        self.close();
    }

    pub(super) fn last_lines(&self) -> Vec<String> {
        self.last.iter().map(|line| line.escape_ascii().to_string()).collect()
    }

    fn close(&mut self) {
        self.pipe = None;
        if !self.partial.is_empty() {
            let line = std::mem::take(&mut self.partial);
            self.log(&line);
        }
    }

    /// Logs the lines that are complete.
    fn lines(&mut self) {
        let mut bytes = std::mem::take(&mut self.partial);
        let mut start = 0;
        loop {
            let rest = &bytes[start..];
            let end = rest.iter().take(LINE).position(|byte| *byte == b'\n');
            match end {
                Some(end) => {
                    self.log(&rest[..end]);
                    start += end + 1;
                }
                None if rest.len() >= LINE => {
                    self.log(&rest[..LINE]);
                    start += LINE;
                }
                None => break,
            }
        }
        bytes.drain(..start);
        self.partial = bytes;
    }

    fn log(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.logged >= MOST || line.is_empty() {
            return;
        }
        self.logged += line.len() + 1;
        self.sink.line(line);
        if self.logged >= MOST {
            self.sink.line(b"(too much on stderr: the rest of this request is not logged)");
        }
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(line[..line.len().min(KEPT_LINE)].to_vec());
    }
}
