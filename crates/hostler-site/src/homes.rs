//! The site's own directories, which the master has made and named in the environment.

use hostler_sys::private;
use hostler_wire::site::{RUNTIME, STATE};
use std::io;
use std::path::{Path, PathBuf};

/// Their paths; `None`: the master could not make them.
#[derive(Debug, Default)]
pub(crate) struct Homes {
    runtime: Option<PathBuf>,
    state: Option<PathBuf>,
}

impl Homes {
    /// Those that are named.
    pub(crate) fn of_environment() -> Self {
        let named = |name| std::env::var_os(name).map(PathBuf::from);
        Self { runtime: named(RUNTIME), state: named(STATE) }
    }

    /// The directory in which sockets are made, closed to others.
    ///
    /// # Errors
    /// There is none, or it is not this user's.
    pub(crate) fn runtime(&self) -> io::Result<&Path> {
        own(self.runtime.as_deref())
    }

    /// The directory of what outlives this process, closed to others.
    ///
    /// # Errors
    /// There is none, or it is not this user's.
    pub(crate) fn state(&self) -> io::Result<&Path> {
        own(self.state.as_deref())
    }
}

/// Its user may have opened it to others since it was last used.
fn own(path: Option<&Path>) -> io::Result<&Path> {
    let path = path.ok_or(rustix::io::Errno::NOENT)?;
    private::make_own(path)?;
    Ok(path)
}
