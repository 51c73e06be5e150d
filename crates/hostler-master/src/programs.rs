//! The executables that the master starts, held open from its own start on, so that all generations of one
//! server are of one build although a package upgrade replaces the files.

use hostler_sys::process::Program;
use std::path::Path;

/// The three programs.
#[derive(Debug)]
pub(crate) struct Programs {
    /// Makes plans.
    pub(crate) planner: Program,
    /// `hostler-front`.
    pub(crate) front: Program,
    /// `hostler-site`.
    pub(crate) site: Program,
    /// The directory where sites find the engines.
    pub(crate) engines: Program,
}

impl Programs {
    /// # Errors
    /// Which program can't be opened, and why.
    pub(crate) fn open(planner: &Path, libexec: Option<&Path>) -> Result<Self, String> {
        let own = || std::env::current_exe().ok().and_then(|path| path.parent().map(Path::to_path_buf));
        let beside = match libexec {
            Some(directory) => directory.to_path_buf(),
            None => own().ok_or("can't tell which directory hostler-master is in")?,
        };
        Ok(Self {
            planner: open(planner)?,
            front: open(&beside.join("hostler-front"))?,
            site: open(&beside.join("hostler-site"))?,
            engines: open(&beside)?,
        })
    }
}

fn open(path: &Path) -> Result<Program, String> {
    Program::open(path).map_err(|e| format!("can't open the program {}: {e}", path.display()))
}
