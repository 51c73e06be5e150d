//! Programs that servers hand requests on to: each is started with a socket that listens as its standard input, as
//! the servers' user, and ends with its server.

use crate::table::Subject;
use crate::tree::Tree;
use std::fs;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

/// The prefix of a backend's name that listens on a TCP port (`tcp:ONE` at `@ONE@`) instead of a Unix socket.
pub(crate) const TCP: &str = "tcp:";

/// Running programs. Dropping them ends them.
#[derive(Debug, Default)]
pub(crate) struct Backends(Vec<Child>);

impl Backends {
    /// Starts those of a subject. `sockets`: those of the ones at TCP ports, in the order of their names.
    ///
    /// # Errors
    /// A sentence that names the program.
    pub(crate) fn start(subject: &Subject, tree: &Tree, sockets: Vec<TcpListener>) -> Result<Self, String> {
        let mut backends = Self::default();
        let mut sockets = sockets.into_iter().peekable();
        for (socket, program) in &subject.backends {
            let listener = match sockets.next_if(|_| socket.starts_with(TCP)) {
                Some(listener) => Ok(OwnedFd::from(listener)),
                None => unix(socket, tree),
            };
            let started = listener.and_then(|listener| start(listener, program, tree));
            let started = started.map_err(|error| format!("{program}: {error}"))?;
            backends.0.push(started);
        }
        Ok(backends)
    }
}

fn unix(socket: &str, tree: &Tree) -> std::io::Result<OwnedFd> {
    let path = tree.root.join(socket);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666))?;
    if let Some((uid, gid)) = tree.owner {
        chown(&path, Some(uid), Some(gid))?;
    }
    Ok(listener.into())
}

fn start(listener: OwnedFd, program: &str, tree: &Tree) -> std::io::Result<Child> {
    let mut command = Command::new(tree.root.join(program));
    let said = fs::File::create(tree.root.join("logs/backends"))?;
    command.stdin(listener).stdout(said.try_clone()?).stderr(said).current_dir("/");
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    if let Some((uid, gid)) = tree.owner {
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
