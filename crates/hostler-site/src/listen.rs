//! The socket of a program that listens. It is made in the site's runtime directory, which only the site's user may
//! enter, and loses its name there at once. Only this process, which keeps the inode open, can connect to it, and nothing is
//! left behind when this process is killed.

use hostler_sys::fs::Node;
use hostler_sys::private;
use hostler_sys::socket::listen_for_program;
use hostler_wire::site::{RunError, RunningListener};
use rustix::fs::{AtFlags, CWD, unlinkat};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::homes::Homes;
use crate::walk::errno;

/// The socket's name, as long as it has one.
const NAME: &str = "socket";
/// The first byte of the names of these sockets in `Connect`; those of files begin with a slash.
const MARK: u8 = b'@';

/// A socket that a program listens at.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: Node,
    name: Vec<u8>,
    program: RunningListener,
}

/// Makes a socket that listens: its place, and the program's descriptor.
///
/// # Errors
/// [`RunError::Listen`]
pub(crate) fn listen(
    homes: &Homes,
    program: RunningListener,
    backlog: u32,
) -> Result<(Listener, OwnedFd), RunError> {
    let runtime = homes.runtime().map_err(|error| RunError::Listen {
        directory: hostler_wire::site::RUNTIME.to_owned(),
        errno: errno(&error),
    })?;
    let failed = |error: io::Error| RunError::Listen {
        directory: runtime.display().to_string(),
        errno: errno(&error),
    };
    // Without root it may be one for all, in which others make directories, too.
    let directory = private::make_unique(runtime).map_err(failed)?;
    let made = Listener::make(&directory, program, backlog);
    let _ = unlinkat(CWD, &directory, AtFlags::REMOVEDIR);
    made.map_err(failed)
}

impl Listener {
    fn make(directory: &Path, program: RunningListener, backlog: u32) -> io::Result<(Self, OwnedFd)> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let directory = Node::directory(directory.as_os_str().as_bytes())?;
        let socket = listen_for_program(directory.as_fd(), OsStr::new(NAME), backlog)?;
        let node = directory.child(NAME.as_bytes());
        let _ = unlinkat(directory.as_fd(), NAME, AtFlags::empty());
        // Another process of the site has others.
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}{}.{number}", char::from(MARK), std::process::id());
        Ok((Self { socket: node?, name: name.into_bytes(), program }, socket))
    }

    /// Its name in `Connect`.
    pub(crate) fn name(&self) -> &[u8] {
        &self.name
    }

    /// The program that listens.
    pub(crate) fn program(&self) -> &RunningListener {
        &self.program
    }

    /// The socket's inode.
    pub(crate) fn socket(&self) -> &Node {
        &self.socket
    }
}

/// Returns true if this is the name of such a socket.
pub(crate) fn is_name(path: &[u8]) -> bool {
    path.first() == Some(&MARK)
}
