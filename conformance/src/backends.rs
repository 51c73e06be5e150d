//! Programs that servers hand requests on to: each is started with a Unix socket that listens as its standard input, as
//! the servers' user, and ends with its server.

use crate::table::Subject;
use crate::tree::Tree;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

/// Running programs. Dropping them ends them.
#[derive(Debug, Default)]
pub(crate) struct Backends(Vec<Child>);

impl Backends {
    /// Starts those of a subject.
    ///
    /// # Errors
    /// A sentence that names the program.
    pub(crate) fn start(subject: &Subject, tree: &Tree) -> Result<Self, String> {
        let mut backends = Self::default();
        for (socket, program) in &subject.backends {
            let started = start(socket, program, tree).map_err(|error| format!("{program}: {error}"))?;
            backends.0.push(started);
        }
        Ok(backends)
    }
}

fn start(socket: &str, program: &str, tree: &Tree) -> std::io::Result<Child> {
    let path = tree.root.join(socket);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666))?;
    let mut command = Command::new(tree.root.join(program));
    let said = fs::File::create(tree.root.join("logs/backends"))?;
    command.stdin(OwnedFd::from(listener)).stdout(said.try_clone()?).stderr(said).current_dir("/");
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    if let Some((uid, gid)) = tree.owner {
        chown(&path, Some(uid), Some(gid))?;
        command.uid(uid).gid(gid);
    }
    command.spawn()
}

impl Drop for Backends {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
