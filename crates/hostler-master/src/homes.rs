//! The directories of sites: one for what lives as long as processes do (sockets), one for what outlives them (the work
//! of a servlet container, uploads on their way).
//!
//! Under root they are `/run/hostler/site-UID` and `/var/lib/hostler/site-UID`, the site user's alone, and root alone can
//! change what is above them: no tenant can have made another's first. All servers of a machine share them, as they do
//! the user. Without root all sites are the user who started the server, in whose own directories they are:
//! `$XDG_RUNTIME_DIR/hostler` and `$XDG_STATE_HOME/hostler`, or one with an unguessable name.
//!
//! **Diagnostics**: a directory that cannot be had is an error; the site runs without it, and what needs it reports that.

use hostler_sys::private;
use hostler_sys::trusted::{Trust, open_directory};
use hostler_wire::plan::SitePlan;
use hostler_wire::site::{RUNTIME, STATE};
use std::ffi::{CString, OsStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::report;

/// Our directory in the system's.
const NAME: &str = "hostler";
/// Its parent directories under root.
const RUN: &str = "/run";
const LIB: &str = "/var/lib";

/// Makes them.
pub(crate) struct Homes {
    root: bool,
    /// Without root: those of all sites.
    own: Option<Own>,
    /// The last complaint: it is not repeated with each process.
    complaint: String,
}

struct Own {
    runtime: PathBuf,
    state: PathBuf,
    /// A directory that is removed at the end.
    unique: Option<PathBuf>,
}

impl Homes {
    pub(crate) fn new(root: bool) -> Self {
        Self { root, own: None, complaint: String::new() }
    }

    /// Makes a site's directories if they are missing; the entries of its process's environment that name them.
    pub(crate) fn of(&mut self, site: &SitePlan) -> Vec<CString> {
        let uid_gid = site.identity.as_ref().map(|identity| (identity.uid, identity.gid));
        let made = match uid_gid {
            Some((uid, gid)) if self.root => homes_of_user(uid, gid),
            _ => self.own().map_or_else(|why| [Err(why.clone()), Err(why)], |own| own.map(Ok)),
        };
        let mut complaint = String::new();
        let mut entries = Vec::new();
        for (name, home) in [RUNTIME, STATE].into_iter().zip(made) {
            match home {
                Ok(path) => entries.extend(entry(name, &path)),
                Err(why) => complaint = why,
            }
        }
        if !complaint.is_empty() && self.complaint != complaint {
            report::error(&format_args!("the site {} lacks a directory of its own: {complaint}", site.name));
        }
        self.complaint = complaint;
        entries
    }

    fn own(&mut self) -> Result<[PathBuf; 2], String> {
        let own = match self.own.take() {
            Some(own) => own,
            None => Own::make()?,
        };
        let homes = [own.runtime.clone(), own.state.clone()];
        self.own = Some(own);
        Ok(homes)
    }

    /// Removes a directory with an unguessable name: no later server could find it.
    pub(crate) fn remove(&mut self) {
        if let Some(unique) = self.own.take().and_then(|own| own.unique) {
            let _ = std::fs::remove_dir_all(unique);
        }
    }
}

fn homes_of_user(uid: u32, gid: u32) -> [Result<PathBuf, String>; 2] {
    let name = format!("site-{uid}");
    let make = |above: &str| -> Result<PathBuf, String> {
        let parent = open_directory(Path::new(above), Trust::Root(&|_| false)).map_err(|e| e.to_string())?;
        let common = Path::new(above).join(NAME);
        let failed = |path: &Path, e: &dyn std::fmt::Display| format!("cannot make {}: {e}", path.display());
        private::make_common(parent.as_fd(), OsStr::new(NAME)).map_err(|e| failed(&common, &e))?;
        let directory = open_directory(&common, Trust::Root(&|_| false)).map_err(|e| e.to_string())?;
        let path = common.join(&name);
        private::make_for(directory.as_fd(), OsStr::new(&name), uid, gid).map_err(|e| failed(&path, &e))?;
        Ok(path)
    };
    [make(RUN), make(LIB)]
}

impl Own {
    fn make() -> Result<Self, String> {
        let runtime = variable("XDG_RUNTIME_DIR").filter(|path| private::is_private(path));
        let runtime = runtime.and_then(|path| below(&path));
        let state = variable("XDG_STATE_HOME")
            .or_else(|| variable("HOME").map(|home| home.join(".local/state")))
            .filter(|path| std::fs::create_dir_all(path).is_ok())
            .and_then(|path| below(&path));
        if let (Some(runtime), Some(state)) = (&runtime, &state) {
            return Ok(Self { runtime: runtime.clone(), state: state.clone(), unique: None });
        }
        let common = std::env::temp_dir();
        let unique = private::make_unique(&common)
            .map_err(|e| format!("cannot make a directory in {}: {e}", common.display()))?;
        Ok(Self {
            runtime: runtime.unwrap_or_else(|| unique.clone()),
            state: state.unwrap_or_else(|| unique.clone()),
            unique: Some(unique),
        })
    }
}

/// Our directory in one of the user's, if it can be had.
fn below(path: &Path) -> Option<PathBuf> {
    let own = path.join(NAME);
    (private::is_safe_parent(path) && private::make_own(&own).is_ok()).then_some(own)
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn entry(name: &str, path: &Path) -> Option<CString> {
    let mut text = OsString::from(name);
    text.push("=");
    text.push(path);
    CString::new(text.as_bytes()).ok()
}
