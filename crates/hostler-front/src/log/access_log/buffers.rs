//! Lines on their way to the logs: those of one turn of the event loop become one write for each log.
//!
//! Every thread has its own, so that writing a line takes no lock. The end of the front flushes them.

use crate::log::{self, Logs, Severity};
use crate::request::thread::{SharedState, Thread};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;

/// Bytes that are written at once, whatever the turn. (`BufferedLogs` of Apache holds 4 KB.)
const FULL: usize = 48 << 10;
const FULL_BUFFERED: usize = 4000;
/// The longest time `BufferedLogs` may hold a line.
const HOLD: Duration = Duration::from_secs(1);
/// Empty buffers kept for further use: as many logs as a turn usually writes to.
const SPARE: usize = 16;

/// Lines not yet written.
pub(crate) struct Buffers {
    lines: RefCell<Lines>,
    /// Something has been put in.
    filled: Notify,
    /// Bytes of a log that are too many to wait.
    full: usize,
    hold: bool,
}

#[derive(Default)]
struct Lines {
    /// By destination; those without lines take no memory.
    of: Vec<Vec<u8>>,
    /// Destinations that have lines.
    waiting: Vec<usize>,
    spare: Vec<Vec<u8>>,
}

impl Buffers {
    pub(crate) fn new(shared: &SharedState) -> Self {
        Self::of(&shared.logs)
    }

    fn of(logs: &Logs) -> Self {
        let lines = Lines { of: vec![Vec::new(); logs.len()], ..Lines::default() };
        Self {
            lines: RefCell::new(lines),
            filled: Notify::new(),
            full: if logs.buffered { FULL_BUFFERED } else { FULL },
            hold: logs.buffered,
        }
    }

    /// Takes the lines of a log that has many, or of any log if `all`.
    fn take(&self, all: bool) -> Option<(usize, Vec<u8>)> {
        let mut lines = self.lines.borrow_mut();
        let Lines { of, waiting, .. } = &mut *lines;
        let at = if all {
            waiting.len().checked_sub(1)
        } else {
            waiting.iter().position(|i| of[*i].len() >= self.full)
        }?;
        let index = waiting.swap_remove(at);
        Some((index, std::mem::take(&mut of[index])))
    }

    /// Takes the lines of this log.
    fn take_one(&self, index: usize) -> Option<Vec<u8>> {
        let mut lines = self.lines.borrow_mut();
        let Lines { of, waiting, .. } = &mut *lines;
        let at = waiting.iter().position(|known| *known == index)?;
        waiting.swap_remove(at);
        Some(std::mem::take(&mut of[index]))
    }

    fn give_back(&self, mut buffer: Vec<u8>) {
        let mut lines = self.lines.borrow_mut();
        if lines.spare.len() < SPARE && buffer.capacity() <= 2 * FULL {
            buffer.clear();
            lines.spare.push(buffer);
        }
    }
}

impl Lines {
    /// The buffer of a log, to append a line to.
    fn buffer(&mut self, index: usize) -> Option<&mut Vec<u8>> {
        let buffer = self.of.get_mut(index)?;
        if buffer.is_empty() {
            *buffer = self.spare.pop().unwrap_or_default();
            self.waiting.push(index);
        }
        Some(buffer)
    }
}

/// Appends a line to a log; `line` writes it.
pub(super) fn push(thread: &Thread, index: usize, line: impl FnOnce(&mut Vec<u8>)) {
    let buffers = &thread.access_logs;
    let length = {
        let mut lines = buffers.lines.borrow_mut();
        let Some(buffer) = lines.buffer(index) else { return };
        line(buffer);
        buffer.len()
    };
    buffers.filled.notify_one();
    if length >= buffers.full {
        flush(thread, false);
    }
}

/// Appends a line of an error log at the end of the turn; at once where lines of access logs wait for longer.
pub(crate) fn append_soon(thread: &Thread, index: usize, line: &[u8]) {
    if thread.access_logs.hold {
        return append(thread, index, line);
    }
    push(thread, index, |out| out.extend_from_slice(line));
}

/// Appends a line of an error log now, after what waits for the same log. Where would the failure of the error log be
/// told?
pub(crate) fn append(thread: &Thread, index: usize, line: &[u8]) {
    let waiting = thread.access_logs.take_one(index);
    let log = thread.shared.logs.destination(index);
    match waiting {
        Some(mut lines) => {
            lines.extend_from_slice(line);
            let _ = log.and_then(|log| log.append(&lines));
            thread.access_logs.give_back(lines);
        }
        None => drop(log.and_then(|log| log.append(line))),
    }
}

/// Writes out what is buffered.
pub(crate) fn flush_all(thread: &Thread) {
    flush(thread, true);
}

fn flush(thread: &Thread, all: bool) {
    let logs = &thread.shared.logs;
    while let Some((index, lines)) = thread.access_logs.take(all) {
        let failed = logs.destination(index).and_then(|log| log.append(&lines));
        thread.access_logs.give_back(lines);
        if let Some(errno) = failed {
            let target = logs.target(index);
            log::server(
                thread,
                Severity::Error,
                &format!("can't write to {target}: {errno}; lines of it are lost"),
            );
        }
    }
}

/// Writes the lines of a turn at its end: it is woken by the first of them, and its own turn comes after those
/// of all tasks that were ready then.
pub(crate) async fn flusher(thread: Rc<Thread>) {
    loop {
        thread.access_logs.filled.notified().await;
        if thread.access_logs.hold {
            tokio::time::sleep(HOLD).await;
        }
        flush(&thread, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffers() -> Buffers {
        let lines = RefCell::new(Lines { of: vec![Vec::new(); 3], ..Lines::default() });
        Buffers { lines, filled: Notify::new(), full: 10, hold: false }
    }

    #[test]
    fn lines_wait_by_log() {
        let buffers = buffers();
        for (index, line) in [(2, "one\n"), (0, "other\n"), (2, "two\n")] {
            buffers.lines.borrow_mut().buffer(index).unwrap().extend_from_slice(line.as_bytes());
        }
        assert!(buffers.take(false).is_none(), "nothing is full");
        let mut taken = vec![buffers.take(true).unwrap(), buffers.take(true).unwrap()];
        taken.sort();
        assert_eq!(taken, [(0, b"other\n".to_vec()), (2, b"one\ntwo\n".to_vec())]);
        assert!(buffers.take(true).is_none());
        assert!(buffers.take_one(2).is_none());
        buffers.lines.borrow_mut().buffer(1).unwrap().extend_from_slice(b"one\n");
        buffers.lines.borrow_mut().buffer(2).unwrap().extend_from_slice(b"two\n");
        assert_eq!(buffers.take_one(1), Some(b"one\n".to_vec()));
        assert_eq!(buffers.take(true), Some((2, b"two\n".to_vec())));
        assert!(buffers.lines.borrow_mut().buffer(3).is_none());
    }

    #[test]
    fn a_full_log_does_not_wait_for_the_others() {
        let buffers = buffers();
        buffers.lines.borrow_mut().buffer(0).unwrap().extend_from_slice(b"a\n");
        buffers.lines.borrow_mut().buffer(1).unwrap().extend_from_slice(b"a long line\n");
        assert_eq!(buffers.take(false).unwrap().0, 1);
        assert!(buffers.take(false).is_none());
        buffers.give_back(b"used\n".to_vec());
        assert_eq!(
            buffers.lines.borrow_mut().buffer(1).unwrap().len(),
            0,
            "a buffer that is used again is empty"
        );
    }
}
