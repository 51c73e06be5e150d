//! The executables that the master starts, held open from its own start on, or from the first plan on that names them, so
//! that all generations of one server are of one build, the engines of old ones too, although a package upgrade replaces
//! the files.

use hostler_sys::process::Program;
use hostler_wire::engine::{ENGINES, MOST_ENGINES, is_name};
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// The programs.
#[derive(Debug)]
pub(crate) struct Programs {
    /// Makes plans.
    pub(crate) planner: Program,
    /// `hostler-front`.
    pub(crate) front: Program,
    /// `hostler-site`.
    pub(crate) site: Program,
    /// The engines that plans have named.
    pub(crate) engines: Vec<Engine>,
    /// The folder of all programs but the planner.
    beside: PathBuf,
}

/// An engine's program.
#[derive(Debug)]
pub(crate) struct Engine {
    name: String,
    /// It.
    pub(crate) program: Program,
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
            engines: Vec::new(),
            beside,
        })
    }

    /// Opens the engines of this plan that are not held yet.
    ///
    /// # Errors
    /// Which can't be opened, and why; a name that none can have.
    pub(crate) fn hold(&mut self, names: &[String]) -> Result<(), String> {
        for name in names {
            if self.engines.iter().any(|known| known.name == *name) {
                continue;
            }
            if !is_name(name) || self.engines.len() == MOST_ENGINES {
                return Err(format!("the plan has an engine {name:?} that there can't be"));
            }
            let program = open(&self.beside.join(format!("hostler-{name}")))?;
            self.engines.push(Engine { name: name.clone(), program });
        }
        Ok(())
    }

    /// Returns the list of them for a site's process.
    pub(crate) fn names(&self) -> Option<CString> {
        let names: Vec<&str> = self.engines.iter().map(|engine| engine.name.as_str()).collect();
        CString::new(format!("{ENGINES}={}", names.join(":"))).ok()
    }
}

fn open(path: &Path) -> Result<Program, String> {
    Program::open(path).map_err(|error| format!("can't open the program {}: {error}", path.display()))
}
