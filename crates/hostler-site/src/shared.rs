//! Programs that listen and are shared by fronts: one that takes seconds to start (a Java virtual machine) goes on over a
//! reload, with all that it has in memory.
//!
//! Its output goes into pipes that are made here, of which each of its fronts gets the reading ends. As long as there
//! are two, whoever comes first has a line. A program whose own files were replaced since it began (its packages were
//! updated) is shared with no further front: that one starts its own, and this one goes with those that have it.

use hostler_sys::memfd;
use hostler_sys::pipe;
use hostler_sys::process::Pid;
use hostler_wire::site::Run;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The kernel's suffix of a path that leads to another file by now, or to none.
const GONE: &str = " (deleted)";
/// Most bytes of a program's list of files: some hundred files.
const MOST: usize = 256 << 10;

/// A program that is shared.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The order that started it; its number is not used.
    run: Run,
    /// The reading ends of its standard output and error.
    output: [OwnedFd; 2],
    /// A memory file in which it lists the files that it runs: other processes cannot look into it.
    code: OwnedFd,
}

impl Shared {
    /// For a program that is to be started; the writing ends are its own.
    pub(crate) fn new(run: &Run) -> io::Result<(Self, [OwnedFd; 2])> {
        let [(output, stdout), (errors, stderr)] = [pipe::for_others()?, pipe::for_others()?];
        let code = memfd::open("code")?;
        let shared = Self { run: Run { id: 0, ..run.clone() }, output: [output, errors], code };
        Ok((shared, [stdout, stderr]))
    }

    /// Returns whether another front asks for the same.
    pub(crate) fn is_started_by(&self, run: &Run) -> bool {
        let Run { id: _, program, env, suexec, limits, no_new_privs } = run;
        self.run.program == *program
            && self.run.env == *env
            && self.run.suexec == *suexec
            && self.run.limits == *limits
            && self.run.no_new_privs == *no_new_privs
    }

    /// The reading ends, for a front.
    pub(crate) fn output(&self) -> io::Result<Vec<OwnedFd>> {
        self.output.iter().map(OwnedFd::try_clone).collect()
    }

    /// For the program's descriptor 3.
    pub(crate) fn code(&self) -> BorrowedFd<'_> {
        self.code.as_fd()
    }

    /// Returns true if a file that it runs was replaced: code, or an archive of code.
    pub(crate) fn is_replaced(&self, process: Pid) -> bool {
        match memfd::peek(&self.code, MOST) {
            // Until it has written its list it can be looked into.
            Ok(code) if code.is_empty() => is_replaced(process),
            Ok(code) => code.split(|byte| *byte == b'\n').any(stands_anew),
            Err(_) => true,
        }
    }
}

/// Returns true if code that a process has mapped, or an archive of code that it has open, was replaced; in doubt too.
fn is_replaced(process: Pid) -> bool {
    let folder = format!("/proc/{}", process.as_raw_nonzero());
    let Ok(maps) = fs::read(format!("{folder}/maps")) else { return true };
    let Ok(open) = fs::read_dir(format!("{folder}/fd")) else { return true };
    let code = maps.split(|byte| *byte == b'\n').filter_map(code);
    let links = open.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    code.into_iter().any(is_gone_and_back)
        || links.into_iter().any(|link| {
            let link = link.as_os_str().as_bytes();
            link.ends_with(format!(".jar{GONE}").as_bytes()) && is_gone_and_back(link)
        })
}

/// The path of a line of `maps` that is executable (proc(5): addresses, permissions, offset, device, inode, path).
fn code(line: &[u8]) -> Option<&[u8]> {
    let mut parts = line.splitn(6, |byte| *byte == b' ');
    let permissions = parts.nth(1)?;
    let path = parts.nth(3)?.trim_ascii_start();
    (permissions.contains(&b'x') && path.starts_with(b"/")).then_some(path)
}

/// Returns whether another file has come to where this one was.
fn is_gone_and_back(path: &[u8]) -> bool {
    let Some(before) = path.strip_suffix(GONE.as_bytes()) else { return false };
    Path::new(std::ffi::OsStr::from_bytes(before)).symlink_metadata().is_ok()
}

/// Returns true if another file stands at this one's path. One that is gone, or out of reach, was not replaced.
fn stands_anew(line: &[u8]) -> bool {
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let mut number = || std::str::from_utf8(words.next()?).ok()?.parse::<u64>().ok();
    let (Some(device), Some(inode)) = (number(), number()) else { return false };
    let Some(path) = words.next() else { return false };
    let found = Path::new(OsStr::from_bytes(path)).symlink_metadata();
    found.is_ok_and(|found| (found.dev(), found.ino()) != (device, inode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostler_wire::site::Program;
    use serde_bytes::ByteBuf;
    use std::io::Write as _;

    #[test]
    fn lines_of_maps_are_read() {
        let line = b"7f0000000000-7f0000001000 r-xp 00000000 fe:00 1234   /usr/lib/a b.so (deleted)";
        assert_eq!(code(line), Some(&b"/usr/lib/a b.so (deleted)"[..]));
        assert_eq!(code(b"7f0000000000-7f0000001000 rw-p 00000000 fe:00 1234   /usr/lib/a.so"), None);
        assert_eq!(code(b"7ffc00000000-7ffc00001000 r-xp 00000000 00:00 0   [vdso]"), None);
        assert_eq!(code(b"7ffc00000000-7ffc00001000 r-xp 00000000 00:00 0 "), None);
        assert_eq!(code(b""), None);
    }

    #[test]
    fn a_file_is_replaced_where_another_one_stands() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jar");
        let gone = [path.as_os_str().as_bytes(), GONE.as_bytes()].concat();
        assert!(!is_gone_and_back(&gone), "it was removed, and that is all");
        fs::write(&path, "").unwrap();
        assert!(is_gone_and_back(&gone));
        assert!(!is_gone_and_back(path.as_os_str().as_bytes()));
    }

    #[test]
    fn a_program_is_replaced_when_another_file_stands_where_one_of_its_own_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b.jar");
        fs::write(&path, "").unwrap();
        let run = Run {
            id: 1,
            program: Program::Shell { command: ByteBuf::new(), directory: ByteBuf::new() },
            env: Vec::new(),
            suexec: false,
            limits: hostler_wire::site::Limits::default(),
            no_new_privs: true,
        };
        let own = Pid::from_raw(std::process::id().cast_signed()).unwrap();
        let (shared, _theirs) = Shared::new(&run).unwrap();
        let facts = fs::metadata(&path).unwrap();
        let mut code = fs::File::from(shared.code().try_clone_to_owned().unwrap());
        writeln!(code, "{} {} {}", facts.dev(), facts.ino(), path.display()).unwrap();
        writeln!(code, "1 2 {}", folder.path().join("missing").display()).unwrap();
        assert!(!shared.is_replaced(own));
        fs::write(folder.path().join("new"), "").unwrap();
        fs::rename(folder.path().join("new"), &path).unwrap();
        assert!(shared.is_replaced(own));
    }
}
