//! The destination of a log: a file opened for appending, or the pipe of a program (`|program`).

use rustix::fs::FileType;
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

/// Longest write that a pipe takes whole (`PIPE_BUF`, pipe(7)).
const PIPE_WRITE: usize = 4096;
/// Longest write to a file. (The kernel holds the file's lock meanwhile.)
const FILE_WRITE: usize = 64 << 10;

/// An open log.
#[derive(Debug)]
pub(crate) struct Destination {
    descriptor: OwnedFd,
    /// Most bytes of one write.
    pub(crate) longest: usize,
    /// The last write ended within a line (the disk is full): the next begins a new one.
    torn: AtomicBool,
    /// It has been said that writing fails.
    failing: AtomicBool,
    /// Lines that could not be written and have not been reported.
    lost: AtomicU64,
    /// The error of the last of them.
    errno: AtomicI32,
}

impl Destination {
    pub(crate) fn new(descriptor: OwnedFd) -> Self {
        let pipe = rustix::fs::fstat(&descriptor)
            .is_ok_and(|s| FileType::from_raw_mode(s.st_mode) == FileType::Fifo);
        let longest = if pipe { PIPE_WRITE } else { FILE_WRITE };
        Self {
            descriptor,
            longest,
            torn: AtomicBool::new(false),
            failing: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            errno: AtomicI32::new(0),
        }
    }

    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.descriptor
    }

    /// Appends whole lines, in as few writes as keep lines whole among those of other threads and generations.
    /// Returns the error of the first failure in a row; what could not be written is lost, and counted.
    pub(crate) fn append(&self, lines: &[u8]) -> Option<Errno> {
        let mut rest = lines;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(whole_lines(rest, self.longest));
            rest = after;
            if let Err((written, errno)) = self.write_all(piece) {
                self.lose(&[&piece[written..], rest], errno);
                return (!self.failing.swap(true, Ordering::Relaxed)).then_some(errno);
            }
        }
        self.failing.store(false, Ordering::Relaxed);
        None
    }

    fn lose(&self, pieces: &[&[u8]], errno: Errno) {
        let lines = pieces.iter().map(|piece| memchr::memchr_iter(b'\n', piece).count() as u64).sum();
        self.errno.store(errno.raw_os_error(), Ordering::Relaxed);
        self.lost.fetch_add(lines, Ordering::Relaxed);
    }

    /// Lines that were lost and have not been reported.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Returns true if the last write failed.
    pub(crate) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    /// Takes their number, to be reported, and the error of the last one.
    pub(crate) fn take_lost(&self) -> (u64, Errno) {
        (self.lost.swap(0, Ordering::Relaxed), Errno::from_raw_os_error(self.errno.load(Ordering::Relaxed)))
    }

    /// So many were not reported, and will be.
    pub(crate) fn not_told(&self, count: u64) {
        self.lost.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns how much was written before it failed.
    fn write_all(&self, piece: &[u8]) -> Result<(), (usize, Errno)> {
        if self.torn.load(Ordering::Relaxed) && self.write_some(b"\n") == Ok(1) {
            self.torn.store(false, Ordering::Relaxed);
        }
        let mut at = 0;
        while at < piece.len() {
            match self.write_some(&piece[at..]) {
                Ok(n) if n > 0 => at += n,
                failed => {
                    self.torn.store(at > 0, Ordering::Relaxed);
                    return Err((at, failed.err().unwrap_or(Errno::IO)));
                }
            }
        }
        Ok(())
    }

    fn write_some(&self, bytes: &[u8]) -> Result<usize, Errno> {
        rustix::io::retry_on_intr(|| rustix::io::write(self.descriptor.as_fd(), bytes))
    }
}

/// Returns how much of `lines` one write takes: as many whole lines as fit, or the first line if it is longer.
fn whole_lines(lines: &[u8], longest: usize) -> usize {
    if lines.len() <= longest {
        return lines.len();
    }
    match memchr::memrchr(b'\n', &lines[..longest]) {
        Some(end) => end + 1,
        None => memchr::memchr(b'\n', lines).map_or(lines.len(), |end| end + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn writes_hold_whole_lines() {
        assert_eq!(whole_lines(b"a\nb\n", 100), 4);
        assert_eq!(whole_lines(b"aa\nbb\ncc\n", 7), 6);
        assert_eq!(whole_lines(b"aaaaaaaa\nb\n", 4), 9);
        assert_eq!(whole_lines(b"no end", 3), 6);
    }

    #[test]
    fn a_pipe_gets_all_of_it() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let log = Destination::new(writer.into());
        assert_eq!(log.longest, PIPE_WRITE);
        let lines = "some line of a log\n".repeat(1000);
        assert_eq!(log.append(lines.as_bytes()), None);
        drop(log);
        let mut seen = String::new();
        reader.read_to_string(&mut seen).unwrap();
        assert_eq!(seen, lines);
    }

    #[test]
    fn a_full_disk_is_told_once_and_harms_nobody() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let log = Destination::new(full.into());
        assert_eq!(log.append(b"a line\n"), Some(Errno::NOSPC));
        assert_eq!(log.append(b"a line\nanother\n"), None);
        assert_eq!((log.lost(), log.is_failing()), (3, true));
        assert_eq!(log.take_lost(), (3, Errno::NOSPC));
        assert_eq!(log.lost(), 0);
    }

    #[test]
    fn what_a_full_log_could_not_take_is_counted() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        let log = Destination::new(writer.into());
        let line = format!("{}\n", "x".repeat(99));
        let mut sent = 0;
        while log.append(line.repeat(10).as_bytes()).is_none() {
            sent += 10;
        }
        assert_eq!(log.lost(), 10, "after {sent} lines");
        let mut some = vec![0; 8192];
        reader.read_exact(&mut some).unwrap();
        assert_eq!(log.append(line.as_bytes()), None);
        assert!(!log.is_failing());
        assert_eq!(log.take_lost(), (10, Errno::AGAIN));
    }
}
