//! hostler-python: becomes the interpreter that the site's applications are for, with the engine inside of it.
//!
//! It carries the extension (`lib.rs`), leaves it in memory at a descriptor, and executes the interpreter with a short text
//! (`bootstrap.py`) that loads it from there. Nothing is installed where the interpreter is. Where there is none that can
//! be used, it is the engine itself that says so: then it fails to load, and every request is told why. ASGI programs
//! are no engine's (`asgi.rs`).
//!
//! **Runs as** the site's user, started by the site's process with a socket as descriptor 0. **Diagnostics**: see
//! [`hostler_engine`].

mod asgi;
mod interpreter;

use hostler_engine::{Engine, Serve, Trip};
use hostler_wire::engine::Setup;
use hostler_wire::work::Directory;
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

// The extension's file: the linker puts it there (build.rs).
unsafe extern "C" {
    static hostler_python_extension_start: u8;
    static hostler_python_extension_end: u8;
}

/// The extension's file.
fn extension() -> &'static [u8] {
    // SAFETY: the linker defines both, the second one behind the first; nobody writes to what is between them.
    unsafe {
        let start = &raw const hostler_python_extension_start;
        let length = (&raw const hostler_python_extension_end).offset_from_unsigned(start);
        std::slice::from_raw_parts(start, length)
    }
}

const BOOTSTRAP: &str = include_str!("bootstrap.py");

fn main() -> ExitCode {
    // Python keeps nothing there, and applications see this process's environment.
    // SAFETY: the process has one thread.
    unsafe { std::env::remove_var(hostler_wire::site::STATE) };
    let arguments: Vec<_> = std::env::args_os().collect();
    match (arguments.get(1).map(|word| word.as_bytes()), arguments.get(2)) {
        (Some(b"--version"), _) => {
            println!("hostler-python {} for CPython 3.9 and later", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        // With a listening socket as descriptor 0.
        (Some(b"--asgi"), _) => asgi::run(&arguments[2..]),
        // By the text that the interpreter runs.
        (Some(b"--refuse"), Some(why)) => refuse(why.to_string_lossy().into_owned()),
        _ => match interpreter::find() {
            Ok(found) => {
                let error = become_interpreter(&found);
                refuse(format!("{} can't be executed: {error}", found.display()))
            }
            Err(why) => refuse(why),
        },
    }
}

/// Executes it, with the extension and this program at descriptors. Returns why it could not.
fn become_interpreter(path: &Path) -> io::Error {
    let prepared = || -> io::Result<(OwnedFd, OwnedFd)> {
        Ok((in_memory(extension())?, rustix::fs::open("/proc/self/exe", OFlags::RDONLY, Mode::empty())?))
    };
    let (extension, program) = match prepared() {
        Ok(prepared) => prepared,
        Err(error) => return error,
    };
    interpreter::home();
    let words = [path.as_os_str(), OsStr::new("-c"), OsStr::new(BOOTSTRAP)].map(OsStrExt::as_bytes);
    let numbers = [&extension, &program].map(|descriptor| descriptor.as_raw_fd().to_string());
    let words = words.into_iter().chain(numbers.iter().map(String::as_bytes));
    let words: Result<Vec<CString>, _> = words.map(CString::new).collect();
    let Ok(words) = words else { return io::ErrorKind::InvalidInput.into() };
    let mut pointers: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // SAFETY: strings, and a null pointer behind the last.
    unsafe { libc::execv(pointers[0], pointers.as_ptr()) };
    io::Error::last_os_error()
}

/// A file in memory that nobody can change, and that the interpreter inherits.
fn in_memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create(c"hostler-python", MemfdFlags::ALLOW_SEALING)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = &rest[written..];
    }
    rustix::fs::fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    Ok(file)
}

static WHY: OnceLock<String> = OnceLock::new();

/// The engine of a pool that has no interpreter: it says why.
fn refuse(why: String) -> ExitCode {
    let _ = WHY.set(why);
    hostler_engine::run::<Refusing>()
}

struct Refusing;

impl Engine for Refusing {
    type Worker = Self;

    fn name() -> &'static CStr {
        c"hostler-python"
    }

    fn load(_: &Setup) -> Result<Self, String> {
        Err(WHY.get().cloned().unwrap_or_default())
    }

    fn version(&self) -> String {
        String::new()
    }

    fn begin_worker(&mut self) -> Result<Self, String> {
        Self::load(&Setup::default())
    }
}

impl Serve for Refusing {
    type Directory = ();

    fn define(_: &Directory<'_>) -> Option<()> {
        Some(())
    }

    fn serve(&mut self, trip: &mut Trip<Self>) {
        let _ = trip.next();
    }
}
