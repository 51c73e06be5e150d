//! Becomes the interpreter of ASGI programs: no engine, but a program that listens at its descriptor 0, in plain Python
//! (`asgi/*.py`), so that any implementation of Python will do. Those that can load the extension serve plain requests with it
//! (`cycle.rs`).

use crate::{extension, in_memory, interpreter};
use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

/// The modules, those first that others need.
const MODULES: [(&str, &str); 13] = [
    ("said", include_str!("asgi/said.py")),
    ("wire", include_str!("asgi/wire.py")),
    ("codec", include_str!("asgi/codec.py")),
    ("http", include_str!("asgi/http.py")),
    ("websocket", include_str!("asgi/websocket.py")),
    ("connection", include_str!("asgi/connection.py")),
    ("forks", include_str!("asgi/forks.py")),
    ("program", include_str!("asgi/program.py")),
    ("lifespan", include_str!("asgi/lifespan.py")),
    ("threads", include_str!("asgi/threads.py")),
    ("worker", include_str!("asgi/worker.py")),
    ("trial", include_str!("trial.py")),
    ("main", include_str!("asgi/main.py")),
];

const BOOTSTRAP: &str = include_str!("asgi/bootstrap.py");

/// Executes it with these words. Returns where that can't be; then a line of the standard error says why.
pub(crate) fn run(words: &[OsString]) -> ExitCode {
    let why = match interpreter::find() {
        Ok(found) => {
            let error = become_interpreter(&found, words);
            format!("{} can't be executed: {error}", found.display())
        }
        Err(why) => why,
    };
    eprintln!("{why}");
    ExitCode::FAILURE
}

fn become_interpreter(path: &Path, words: &[OsString]) -> io::Error {
    let mut text = Vec::new();
    for (name, module) in MODULES {
        text.extend_from_slice(format!("{name} {}\n", module.len()).as_bytes());
        text.extend_from_slice(module.as_bytes());
    }
    let (modules, extension) = match (in_memory(&text), in_memory(extension())) {
        (Ok(modules), Ok(extension)) => (modules, extension),
        (Err(error), _) | (_, Err(error)) => return error,
    };
    interpreter::home();
    let [modules, extension] =
        [&modules, &extension].map(|descriptor| descriptor.as_raw_fd().to_string().into_bytes());
    let first = [path.as_os_str().as_bytes(), b"-c", BOOTSTRAP.as_bytes(), &modules, &extension];
    let words = first.into_iter().chain(words.iter().map(|word| word.as_bytes()));
    let words: Result<Vec<CString>, _> = words.map(CString::new).collect();
    let Ok(words) = words else { return io::ErrorKind::InvalidInput.into() };
    let mut pointers: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // SAFETY: strings, and a null pointer behind the last.
    unsafe { libc::execv(pointers[0], pointers.as_ptr()) };
    io::Error::last_os_error()
}
