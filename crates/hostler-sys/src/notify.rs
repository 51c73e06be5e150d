//! Messages to the service manager that started the service: sd_notify(3), over the socket named by `NOTIFY_SOCKET`.
//!
//! Without that variable nothing is said. The manager is never waited for, and one that is gone is no error.

use rustix::time::{ClockId, clock_gettime};
use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The variables that a service manager sets for one process alone; they are not for its children.
pub const VARIABLES: [&str; 3] = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

/// The way to the service manager.
#[derive(Debug)]
pub struct Notifier {
    socket: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
}

impl Notifier {
    /// As this process's environment says.
    #[must_use]
    pub fn of_environment() -> Self {
        let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
        let socket = std::env::var_os("NOTIFY_SOCKET").and_then(|name| connect(name).ok());
        let ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|time| ours && *time > 0).map(Duration::from_micros);
        Self { watchdog: watchdog.filter(|_| socket.is_some()), socket }
    }

    /// Returns how long the manager waits for [`Self::alive`] before it considers the service dead; `None`: it does not
    /// wait.
    #[must_use]
    pub fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    /// The service serves; `status` is for people.
    pub fn ready(&self, status: &str) {
        self.say(&format!("READY=1\nSTATUS={status}\n"));
    }

    /// It reads its configuration anew; [`Self::ready`] ends that.
    pub fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
        self.say(&format!("RELOADING=1\nMONOTONIC_USEC={micros}\nSTATUS=reading the configuration\n"));
    }

    /// It ends.
    pub fn stopping(&self) {
        self.say("STOPPING=1\nSTATUS=stopping\n");
    }

    /// It goes on.
    pub fn alive(&self) {
        self.say("WATCHDOG=1\n");
    }

    fn say(&self, state: &str) {
        if let Some((socket, address)) = &self.socket {
            let _ = socket.send_to_addr(state.as_bytes(), address);
        }
    }
}

/// The socket's name is a path, or behind an `@` one without a file.
fn connect(name: OsString) -> io::Result<(UnixDatagram, SocketAddr)> {
    let name = name.into_vec();
    let address = match name.split_first() {
        Some((b'@', rest)) => SocketAddr::from_abstract_name(rest)?,
        Some((b'/', _)) => SocketAddr::from_pathname(OsString::from_vec(name))?,
        _ => return Err(io::ErrorKind::InvalidInput.into()),
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    Ok((socket, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_hears_what_is_said_by_path_and_by_name() {
        let folder = std::env::temp_dir().join(format!("hostler-notify-{}", std::process::id()));
        let path = SocketAddr::from_pathname(&folder).unwrap();
        let name = format!("hostler-notify-{}", std::process::id());
        let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
        let words = [folder.clone().into_os_string(), format!("@{name}").into()];
        for (address, word) in [path, abstract_name].into_iter().zip(words) {
            let manager = UnixDatagram::bind_addr(&address).unwrap();
            let notifier = Notifier { socket: connect(word).ok(), watchdog: None };
            notifier.ready("generation 1 serves");
            let mut said = [0; 200];
            let n = manager.recv(&mut said).unwrap();
            assert_eq!(&said[..n], b"READY=1\nSTATUS=generation 1 serves\n");
        }
        std::fs::remove_file(folder).unwrap();
    }

    #[test]
    fn what_is_no_socket_s_name_is_none() {
        for name in ["", "relative"] {
            assert!(connect(name.into()).is_err(), "{name}");
        }
    }
}
