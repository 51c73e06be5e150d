//! The standard error of programs, cut into lines: a bounded number at a time, so that other work proceeds.

use std::cell::Cell;

/// Longest line, in bytes; a longer one is cut into several.
pub(crate) const LONGEST: usize = 8 << 10;
/// Lines in a row before others get their turn.
pub(crate) const AT_ONCE: usize = 64;
/// Reads of [`LONGEST`] bytes when a program has ended, and no later turn follows: more than a pipe holds that nobody
/// has enlarged.
pub(crate) const LAST_READS: usize = 16;

/// Bytes that have come and are no line yet, or a line that is still to be handed out.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
    /// The start of the bytes that have not been handed out.
    at: usize,
}

impl Lines {
    /// The buffer to append to what has come.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..self.at);
        self.at = 0;
        &mut self.bytes
    }

    /// Hands out at most so many lines that are whole; whether there may be more. Empty ones are left out.
    pub(crate) fn take(&mut self, most: usize, mut line: impl FnMut(&[u8])) -> bool {
        for _ in 0..most {
            let rest = &self.bytes[self.at..];
            let (length, next) = match memchr::memchr(b'\n', &rest[..rest.len().min(LONGEST)]) {
                Some(end) => (end, end + 1),
                None if rest.len() >= LONGEST => (LONGEST, LONGEST),
                None => return false,
            };
            hand_out(&rest[..length], &mut line);
            self.at += next;
        }
        true
    }

    /// Hands out all that there is: a line without an end is one, too, once nothing follows.
    pub(crate) fn take_rest(&mut self, mut line: impl FnMut(&[u8])) {
        self.take(usize::MAX, &mut line);
        hand_out(&self.bytes[self.at..], line);
        *self = Self::default();
    }
}

/// Tasks of a thread that hand out such lines at the same time, at most; each has what a pipe holds.
const MOST_PENDING: u32 = 64;

thread_local! {
    /// Those that are not done.
    static PENDING: Cell<u32> = const { Cell::new(0) };
}

/// One of [`PENDING`].
struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        PENDING.set(PENDING.get() - 1);
    }
}

/// Lines of a program that has ended, too many to be logged at once: it may have written a hundred thousand.
pub struct RestOfLines(Lines);

impl RestOfLines {
    pub(crate) fn new(lines: Lines) -> Self {
        Self(lines)
    }

    /// Hands out all at once.
    pub fn at_once(mut self, line: impl FnMut(&[u8])) {
        self.0.take_rest(line);
    }

    /// Hands them out in a task of its own, on a thread's `LocalSet`, in turns with other work. If [`MOST_PENDING`] such tasks
    /// are not done yet, hands out all at once: programs that leave lines faster than they are logged fill no memory.
    pub fn later(self, line: impl FnMut(&[u8]) + 'static) {
        let pending = PENDING.get();
        if pending >= MOST_PENDING {
            return self.at_once(line);
        }
        PENDING.set(pending + 1);
        let counted = Counted;
        tokio::task::spawn_local(async move {
            self.in_turns(line).await;
            drop(counted);
        });
    }

    async fn in_turns(mut self, mut line: impl FnMut(&[u8])) {
        while self.0.take(AT_ONCE / 4, &mut line) {
            tokio::task::yield_now().await;
        }
        self.0.take_rest(line);
    }
}

fn hand_out(line: &[u8], mut to: impl FnMut(&[u8])) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !line.is_empty() {
        to(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future as _;

    #[tokio::test]
    async fn very_many_lines_leave_others_their_turn() {
        let mut lines = Lines::default();
        lines.buffer().extend_from_slice("x\n".repeat(1000).as_bytes());
        lines.buffer().extend_from_slice(b"end");
        let seen = std::cell::Cell::new(0);
        let mut all = std::pin::pin!(RestOfLines::new(lines).in_turns(|_| seen.set(seen.get() + 1)));
        let mut turns = 0;
        let others = std::future::poll_fn(|context| {
            let before = seen.get();
            let polled = all.as_mut().poll(context);
            assert!(seen.get() - before <= AT_ONCE);
            turns += 1;
            polled
        });
        others.await;
        assert!(seen.get() == 1001 && turns > 30, "{} in {turns}", seen.get());
    }

    #[tokio::test]
    async fn lines_that_come_faster_than_they_are_logged_fill_no_memory() {
        let seen = std::rc::Rc::new(Cell::new(0_u32));
        let local = tokio::task::LocalSet::new();
        let leave = || {
            let mut lines = Lines::default();
            lines.buffer().extend_from_slice(b"x\nend");
            let seen = seen.clone();
            RestOfLines::new(lines).later(move |_| seen.set(seen.get() + 1));
        };
        let all = async {
            (0..MOST_PENDING).for_each(|_| leave());
            assert_eq!((seen.get(), PENDING.get()), (0, MOST_PENDING));
            leave();
            assert_eq!((seen.get(), PENDING.get()), (2, MOST_PENDING));
        };
        local.run_until(all).await;
        local.await;
        assert_eq!((seen.get(), PENDING.get()), (2 * (MOST_PENDING + 1), 0));
    }

    #[test]
    fn lines_are_handed_out_so_many_at_a_time() {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        lines.buffer().extend_from_slice(b"one\n\ntwo\r\nthr");
        assert!(lines.take(1, |line| seen.push(line.to_vec())));
        assert_eq!(seen, [b"one"]);
        assert!(!lines.take(9, |line| seen.push(line.to_vec())));
        lines.buffer().extend_from_slice(b"ee\nfour");
        lines.take_rest(|line| seen.push(line.to_vec()));
        assert_eq!(seen, [&b"one"[..], b"two", b"three", b"four"]);
        lines.take_rest(|_| panic!("nothing is left"));
    }

    #[test]
    fn a_long_line_is_cut_into_several() {
        let mut lines = Lines::default();
        lines.buffer().resize(2 * LONGEST + 5, b'x');
        let mut lengths = Vec::new();
        lines.take_rest(|line| lengths.push(line.len()));
        assert_eq!(lengths, [LONGEST, LONGEST, 5]);
    }
}
