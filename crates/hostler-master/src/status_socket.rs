//! The status socket, beside the PidFile and named after it (`hostler.pid.status`): who connects is answered by the
//! serving front, which gets the listening socket as a descriptor. The master itself neither accepts nor answers.
//!
//! Whoever runs the server, root above all, is the only one who can connect: by the file's mode, and under root by
//! the directory, which is the PidFile's.

use hostler_sys::socket::{listen_privately, remove_socket};
use hostler_sys::trusted::{Trust, open_directory};
use hostler_wire::control::FromMaster;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use crate::master::Master;
use crate::report;

/// The suffix to the PidFile's name.
const SUFFIX: &str = ".status";

/// A listening status socket.
pub(crate) struct StatusSocket {
    pid_file: PathBuf,
    directory: OwnedFd,
    name: OsString,
    socket: Rc<OwnedFd>,
}

impl StatusSocket {
    fn beside(pid_file: &Path, root: bool) -> Result<Self, String> {
        let failed = |why: &dyn std::fmt::Display| {
            format!("there is no `hostler status`: can't listen on {}{SUFFIX}: {why}", pid_file.display())
        };
        let (Some(parent), Some(name)) = (pid_file.parent(), pid_file.file_name()) else {
            return Err(failed(&"it is not the path of a file"));
        };
        let trust = if root { Trust::Root(&|_| false) } else { Trust::Anyone };
        let directory = open_directory(parent, trust).map_err(|e| failed(&e))?;
        let mut name = name.to_os_string();
        name.push(SUFFIX);
        let socket = listen_privately(directory.as_fd(), &name).map_err(|e| failed(&e))?;
        Ok(Self { pid_file: pid_file.to_path_buf(), directory, name, socket: Rc::new(socket) })
    }

    /// Removes it.
    pub(crate) fn remove(self) {
        let _ = remove_socket(self.directory.as_fd(), &self.name);
    }
}

impl Master {
    /// Has the front of a generation that serves answer on the status socket, which is made if it is not there yet.
    pub(crate) fn offer_status(&mut self, number: u64, now: Instant) {
        self.place_status_socket();
        let uptime_ms = now.duration_since(self.started).as_millis() as u64;
        let generation = self.generations.iter_mut().find(|g| g.number == number);
        let front = generation.and_then(|generation| generation.front.as_mut());
        if let (Some(front), Some(status)) = (front, &self.status_socket) {
            let message =
                FromMaster::Status { generation: u32::try_from(number).unwrap_or(u32::MAX), uptime_ms };
            front.channel.queue(message, vec![status.socket.clone()]);
        }
    }

    /// The socket stands beside the PidFile, wherever that is now.
    fn place_status_socket(&mut self) {
        let wanted = self.pid_file.as_ref().map(|file| file.path().to_path_buf());
        if self.status_socket.as_ref().map(|status| &status.pid_file) == wanted.as_ref() {
            return;
        }
        if let Some(old) = self.status_socket.take() {
            old.remove();
        }
        match wanted.map(|path| StatusSocket::beside(&path, self.root)) {
            None => {}
            Some(Ok(status)) => self.status_socket = Some(status),
            Some(Err(why)) => report::error(&why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stands_beside_the_pid_file_and_goes_when_removed() {
        let path = std::env::temp_dir().join(format!("hostler-status-test-{}", std::process::id()));
        let socket = StatusSocket::beside(&path, false).ok().unwrap();
        let at = path.with_extension("status");
        assert!(std::os::unix::net::UnixStream::connect(&at).is_ok());
        socket.remove();
        assert!(!at.exists());
    }

    #[test]
    fn root_keeps_out_of_a_directory_that_all_can_write() {
        let path = std::env::temp_dir().join("hostler-status-test-root");
        assert!(StatusSocket::beside(&path, true).is_err_and(|why| why.contains("write")));
    }
}
