//! Memory that two processes share: a mapped memory file that nobody can shorten, sleeping and waking on one of its
//! words (futex), and counters that wake a poller (eventfd).
//!
//! The other process may be hostile and may write at any moment. So bytes are only ever copied in or out, and words
//! are atomics; no reference to shared bytes is handed out.

use rustix::event::EventfdFlags;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::io::{Errno, ReadWriteFlags};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::thread::futex;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Seals against changes of the length: otherwise the other process could truncate the file, and touching it would be
/// SIGBUS.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// A memory file mapped for reading and writing, shared with whoever else maps it. Its bytes begin as zeros.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread; its bytes are reached by copies through raw pointers
// and by atomics only.
unsafe impl Send for Mapping {}
// SAFETY: as above. That two threads copy into the same place at once is excluded by the callers' protocol, as it
// has to be between processes.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// A new memory file of `length` bytes, its length sealed, mapped; close-on-exec. `name` shows in `/proc`.
    ///
    /// # Errors
    /// The kernel's (ENOMEM, EMFILE).
    pub fn create(name: &str, length: usize) -> io::Result<(Self, OwnedFd)> {
        let fd = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&fd, length as u64)?;
        fcntl_add_seals(&fd, SEALS)?;
        Ok((Self::map(&fd, length)?, fd))
    }

    /// Maps a memory file that another process created.
    ///
    /// # Errors
    /// `InvalidData` when its length is another or not sealed; the kernel's.
    pub fn attach(fd: impl AsFd, length: usize) -> io::Result<Self> {
        let fd = fd.as_fd();
        let seals = fcntl_get_seals(fd).unwrap_or(SealFlags::empty());
        if !seals.contains(SEALS) || fstat(fd)?.st_size as u64 != length as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not the expected shared memory"));
        }
        Self::map(fd, length)
    }

    fn map(fd: impl AsFd, length: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe { mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, fd, 0) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }

    /// Returns the start of the mapping (aligned to a page). Valid as long as `self`.
    #[must_use]
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Its length, in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Copies `bytes` to the offset `at`.
    ///
    /// # Panics
    /// When they would lie outside.
    pub fn put(&self, at: usize, bytes: &[u8]) {
        let target = self.place(at, bytes.len());
        // SAFETY: `place` has checked the range; private memory can't overlap a mapping of our own making.
        unsafe { target.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
    }

    /// Fills `into` from the offset `at`.
    ///
    /// # Panics
    /// When the bytes would lie outside.
    // Never inlined: the compiler must not fold the copy away and read the shared bytes a second time later.
    #[inline(never)]
    pub fn copy(&self, at: usize, into: &mut [u8]) {
        let source = self.place(at, into.len());
        // SAFETY: as in `put`. What the other process writes meanwhile gives arbitrary bytes, all of them valid.
        unsafe { source.copy_to_nonoverlapping(into.as_mut_ptr(), into.len()) }
    }

    /// Appends `length` bytes from the offset `at` to `into`.
    ///
    /// # Panics
    /// When the bytes would lie outside.
    #[inline(never)]
    pub fn append(&self, at: usize, length: usize, into: &mut Vec<u8>) {
        let source = self.place(at, length);
        into.reserve(length);
        // SAFETY: the range was checked, `reserve` has made room for `length` bytes behind the vector's own, and
        // all of them are written before its length says so.
        unsafe {
            source.copy_to_nonoverlapping(into.as_mut_ptr().add(into.len()), length);
            into.set_len(into.len() + length);
        }
    }

    fn place(&self, at: usize, length: usize) -> *mut u8 {
        assert!(at <= self.length && length <= self.length - at, "outside of the shared memory");
        // SAFETY: within the mapping.
        unsafe { self.start.as_ptr().add(at) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing that borrows from it outlives it. It can't fail for a range that
        // was mapped as a whole.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// The result of a [`wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitResult {
    /// Woken, or the word had another value: look again.
    Woken,
    /// The time is over.
    TimedOut,
    /// A signal handler ran.
    Interrupted,
}

/// Sleeps while the word has the value `expected`, until [`wake`], also one in another process.
#[must_use]
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) -> WaitResult {
    let timeout = timeout.map(|timeout| futex::Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    });
    match futex::wait(word, futex::Flags::empty(), expected, timeout.as_ref()) {
        Err(Errno::TIMEDOUT) => WaitResult::TimedOut,
        Err(Errno::INTR) => WaitResult::Interrupted,
        _ => WaitResult::Woken,
    }
}

/// Wakes whoever sleeps on the word. Errors don't matter: a word that can't be waited on has no sleeper.
pub fn wake(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), u32::MAX >> 1);
}

/// A new counter at 0, non-blocking, close-on-exec, for a poller.
///
/// # Errors
/// The kernel's (EMFILE).
pub fn bell() -> io::Result<OwnedFd> {
    Ok(rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

/// Adds one to the counter: whoever polls it wakes. A full counter is readable anyway.
pub fn ring(bell: impl AsFd) {
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
}

/// Takes the counter back to 0; false: it was. Never blocks, even if another holder of the same counter has made it
/// blocking: that flag is shared by all processes that have it.
pub fn clear(bell: impl AsFd) -> bool {
    let mut count = [0; 8];
    let mut buffers = [io::IoSliceMut::new(&mut count)];
    // An offset of -1 is `read` without an offset.
    rustix::io::preadv2(bell, &mut buffers, u64::MAX, ReadWriteFlags::NOWAIT).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FallocateFlags, fallocate};
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::sync::atomic::Ordering;
    use std::time::Instant;

    fn word(mapping: &Mapping) -> &AtomicU32 {
        // SAFETY: the first bytes of a mapping that is longer and aligned to a page.
        unsafe { mapping.start().cast().as_ref() }
    }

    #[test]
    fn both_mappings_see_what_either_writes() {
        let (ours, fd) = Mapping::create("test", 8192).unwrap();
        let theirs = Mapping::attach(&fd, 8192).unwrap();
        ours.put(4094, b"abcd");
        let mut bytes = b"x".to_vec();
        theirs.append(4094, 4, &mut bytes);
        assert_eq!(bytes, b"xabcd");
        theirs.put(8191, b"z");
        ours.copy(8191, &mut bytes[..1]);
        assert_eq!(bytes, b"zabcd");
    }

    #[test]
    #[should_panic(expected = "outside")]
    fn nothing_is_written_over_the_end() {
        Mapping::create("test", 4096).unwrap().0.put(4093, b"four");
    }

    #[test]
    #[should_panic(expected = "outside")]
    fn an_offset_past_the_end_is_refused_for_no_bytes_even() {
        Mapping::create("test", 4096).unwrap().0.append(usize::MAX, 1, &mut Vec::new());
    }

    #[test]
    fn no_holder_can_change_the_length() {
        let (_mapping, fd) = Mapping::create("test", 4096).unwrap();
        let file = File::from(fd.try_clone().unwrap());
        for length in [0, 4095, 4097, 1 << 30] {
            assert_eq!(file.set_len(length).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        }
        assert!(fcntl_add_seals(&fd, SealFlags::WRITE).is_err());
    }

    #[test]
    fn a_hole_that_another_holder_makes_reads_as_zeros() {
        let (mapping, fd) = Mapping::create("test", 8192).unwrap();
        mapping.put(4090, b"0123456789");
        let holes = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&fd, holes, 4096, 4096).unwrap();
        let mut bytes = [1; 10];
        mapping.copy(4090, &mut bytes);
        assert_eq!(&bytes, b"012345\0\0\0\0");
        mapping.put(8000, b"again");
    }

    #[test]
    fn memory_of_another_length_or_without_seals_is_refused() {
        let (_mapping, fd) = Mapping::create("test", 8192).unwrap();
        assert_eq!(Mapping::attach(&fd, 4096).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let open = memfd_create("open", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&open, 4096).unwrap();
        assert_eq!(Mapping::attach(&open, 4096).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(Mapping::attach(File::open("/dev/null").unwrap(), 4096).is_err());
    }

    #[test]
    fn who_sleeps_on_a_word_is_woken_through_another_mapping() {
        let (ours, fd) = Mapping::create("test", 4096).unwrap();
        let theirs = Mapping::attach(&fd, 4096).unwrap();
        assert_eq!(wait(word(&ours), 1, None), WaitResult::Woken, "another value: no sleep");
        assert_eq!(wait(word(&ours), 0, Some(Duration::from_millis(5))), WaitResult::TimedOut);
        let sleeper = std::thread::spawn(move || {
            while word(&theirs).load(Ordering::SeqCst) == 0 {
                assert_eq!(wait(word(&theirs), 0, Some(Duration::from_secs(20))), WaitResult::Woken);
            }
        });
        // Time: nothing tells that the other thread sleeps; where it does not yet, less is tested.
        std::thread::sleep(Duration::from_millis(20));
        word(&ours).store(1, Ordering::SeqCst);
        wake(word(&ours));
        sleeper.join().unwrap();
    }

    #[test]
    fn a_bell_is_heard_once_however_often_it_rings() {
        let bell = bell().unwrap();
        assert!(!clear(&bell));
        (0..1000).for_each(|_| ring(&bell));
        assert!(clear(&bell));
        assert!(!clear(&bell));
    }

    #[test]
    fn a_bell_never_blocks_who_silences_or_rings_it() {
        let bell = bell().unwrap();
        // SAFETY: plain system calls on a descriptor that is open.
        unsafe { libc::fcntl(bell.as_raw_fd(), libc::F_SETFL, 0) };
        let start = Instant::now();
        assert!(!clear(&bell), "blocking now, and yet it returns");
        // Time: whoever blocks there blocks for ever.
        assert!(start.elapsed() < Duration::from_secs(1));
    }
}
