//! The site's own log of failed programs (ScriptLog): opened for each entry, so that a log that was moved away or
//! removed comes back. Not the server's logs: those the master opens.

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::{self, Errno};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Writes `text` to the end of a regular file, unless that is longer than `most` bytes already.
///
/// # Errors
/// As the kernel tells why the file can't be opened; what is none is never waited for.
pub(crate) fn append(path: &[u8], most: u64, text: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::CLOEXEC
        | OFlags::NONBLOCK
        | OFlags::NOCTTY;
    let file = open(OsStr::from_bytes(path), flags, Mode::from_raw_mode(0o644))?;
    let found = fstat(&file)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    if u64::try_from(found.st_size).is_ok_and(|size| size <= most) {
        // One write for one entry, so that entries never mix.
        let _ = rustix::io::write(&file, text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_was_removed_comes_back_and_a_full_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let bytes = path.as_os_str().as_bytes();
        append(bytes, 5, b"first\n").unwrap();
        append(bytes, 5, b"second\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"first\n", "six bytes are more than five");
        std::fs::remove_file(&path).unwrap();
        append(bytes, 5, b"third\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"third\n");
        assert!(append(b"/dev/null", 5, b"x").is_err());
        assert!(append(b"/no/such/folder/log", 5, b"x").is_err());
    }
}
