//! The executables that the master starts, held open from its own start on, so that all generations of one
//! server are of one build, the engines of old ones too, although a package upgrade replaces the files.

use hostler_sys::process::Program;
use hostler_wire::engine::ENGINES;
use std::io::ErrorKind;
use std::path::Path;

/// The programs.
#[derive(Debug)]
pub(crate) struct Programs {
    /// Makes plans.
    pub(crate) planner: Program,
    /// `hostler-front`.
    pub(crate) front: Program,
    /// `hostler-site`.
    pub(crate) site: Program,
    /// Those of [`ENGINES`] that are installed.
    pub(crate) engines: [Option<Program>; ENGINES.len()],
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
        let mut engines = [const { None }; ENGINES.len()];
        for (name, engine) in ENGINES.iter().zip(&mut engines) {
            *engine = open_installed(&beside.join(format!("hostler-{name}")))?;
        }
        Ok(Self {
            planner: open(planner)?,
            front: open(&beside.join("hostler-front"))?,
            site: open(&beside.join("hostler-site"))?,
            engines,
        })
    }
}

/// `None`: it is not there.
fn open_installed(path: &Path) -> Result<Option<Program>, String> {
    match Program::open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        other => other.map(Some).map_err(|e| cant_open(path, &e)),
    }
}

fn open(path: &Path) -> Result<Program, String> {
    Program::open(path).map_err(|e| cant_open(path, &e))
}

fn cant_open(path: &Path, error: &std::io::Error) -> String {
    format!("can't open the program {}: {error}", path.display())
}
