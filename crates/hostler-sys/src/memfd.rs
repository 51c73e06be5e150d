//! Sealed memory files: bytes that one process hands another once and nobody can change afterwards.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, memfd_create};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;

const SEALS: SealFlags =
    SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::WRITE).union(SealFlags::SEAL);

/// A memory file with these bytes, sealed against every change; close-on-exec. `name` shows in `/proc`.
///
/// # Errors
/// The kernel's (ENOMEM, EMFILE).
pub fn sealed(name: &str, bytes: &[u8]) -> io::Result<OwnedFd> {
    let fd = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = File::from(fd);
    file.write_all(bytes)?;
    fcntl_add_seals(&file, SEALS)?;
    Ok(file.into())
}

/// An empty memory file that others may write to; close-on-exec. `name` shows in `/proc`.
///
/// # Errors
/// The kernel's (ENOMEM, EMFILE).
pub fn open(name: &str) -> io::Result<OwnedFd> {
    Ok(memfd_create(name, MemfdFlags::CLOEXEC)?)
}

/// Reads the beginning of a memory file that others may write to, at most `most` bytes.
///
/// # Errors
/// The kernel's.
pub fn peek(fd: impl AsFd, most: usize) -> io::Result<Vec<u8>> {
    let size = usize::try_from(fstat(fd.as_fd())?.st_size).unwrap_or(0).min(most);
    let mut bytes = vec![0; size];
    let read = rustix::io::retry_on_intr(|| rustix::io::pread(fd.as_fd(), &mut bytes[..], 0))?;
    bytes.truncate(read);
    Ok(bytes)
}

/// The bytes of a sealed memory file, at most `limit` of them.
///
/// # Errors
/// `InvalidData` when the file is not sealed against writing and shrinking, or longer than `limit`.
pub fn read(fd: impl AsFd, limit: u64) -> io::Result<Vec<u8>> {
    let unusable = |why| io::Error::new(io::ErrorKind::InvalidData, why);
    let fd = fd.as_fd();
    let seals = fcntl_get_seals(fd).unwrap_or(SealFlags::empty());
    if !seals.contains(SealFlags::WRITE | SealFlags::SHRINK) {
        return Err(unusable("not a sealed memory file"));
    }
    let size = u64::try_from(fstat(fd)?.st_size).ok().filter(|size| *size <= limit);
    let size = size.and_then(|size| usize::try_from(size).ok());
    let mut bytes = vec![0; size.ok_or_else(|| unusable("a memory file is longer than announced"))?];
    File::from(fd.try_clone_to_owned()?).read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_can_be_read_and_not_written() {
        let fd = sealed("test", b"plan").unwrap();
        assert_eq!(read(fd.as_fd(), 4).unwrap(), b"plan");
        assert_eq!(read(fd.as_fd(), 3).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(File::from(fd).write_all_at(b"x", 0).is_err());
    }

    #[test]
    fn an_unsealed_file_is_refused() {
        let fd = memfd_create("open", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        assert!(read(fd.as_fd(), 100).is_err());
        assert!(read(File::open("/dev/null").unwrap().as_fd(), 100).is_err());
    }
}
