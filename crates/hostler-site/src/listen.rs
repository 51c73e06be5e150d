//! The socket of a program that listens: in a directory of its own, which nobody but the site's user may enter, so that
//! whoever connects is that user's, and the front through [`crate::connect`].

use hostler_sys::fs::Node;
use hostler_sys::socket::listen_for_program;
use hostler_wire::site::RunError;
use rustix::fs::{AtFlags, Mode, mkdirat, unlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use crate::walk::errno;

/// Where the directories are made: where each user may make some, and none another's.
const PLACE: &str = "/tmp";
/// The socket's name in its directory.
const NAME: &str = "socket";
/// Names that are tried: one that is taken is somebody's who has guessed it, or very bad luck.
const TRIES: u32 = 16;

/// The socket's place in the file system, which goes with the value.
#[derive(Debug)]
pub(crate) struct Place {
    /// Where its directory is.
    parent: Node,
    name: OsString,
    directory: Node,
}

/// Makes a socket that listens.
pub(crate) fn listen(backlog: u32) -> Result<(Place, OwnedFd), RunError> {
    let failed = |error: io::Error| RunError::Listen { directory: PLACE.to_owned(), errno: errno(&error) };
    let place = Place::make().map_err(failed)?;
    let socket = listen_for_program(place.directory.as_fd(), OsStr::new(NAME), backlog).map_err(failed)?;
    Ok((place, socket))
}

impl Place {
    fn make() -> io::Result<Self> {
        let parent = Node::directory(PLACE.as_bytes())?;
        for _ in 0..TRIES {
            let name = OsString::from(format!("hostler-{:016x}", random()));
            match mkdirat(parent.as_fd(), &name, Mode::RWXU) {
                Ok(()) => {}
                Err(Errno::EXIST) => continue,
                Err(error) => return Err(error.into()),
            }
            let directory = parent.child(name.as_bytes())?;
            // Somebody else's by now is not ours, though who could have done that could do all.
            if !directory.is_directory() || directory.stat().st_uid != rustix::process::geteuid().as_raw() {
                return Err(Errno::ACCESS.into());
            }
            return Ok(Self { parent, name, directory });
        }
        Err(Errno::EXIST.into())
    }

    /// The socket's path.
    pub(crate) fn path(&self) -> Vec<u8> {
        [PLACE.as_bytes(), b"/", self.name.as_bytes(), b"/", NAME.as_bytes()].concat()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = unlinkat(self.directory.as_fd(), NAME, AtFlags::empty());
        let _ = unlinkat(self.parent.as_fd(), &self.name, AtFlags::REMOVEDIR);
    }
}

/// A number that others don't know.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
