//! A running `hostler run`: started on a free port, watched, and ended whatever happens.

use crate::client::{Connection, Response};
use crate::site::Site;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// The time limit for the server to listen, and later to exit. Generous: the machine may be busy with a build.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(10);

/// A running server with its site. Dropping it ends every process of it.
#[derive(Debug)]
pub struct Server {
    site: Site,
    child: Child,
    port: u16,
}

impl Server {
    pub(crate) fn start(
        site: Site,
        mut command: Command,
        config: &Path,
        port: u16,
        environment: &[(String, String)],
    ) -> Result<Self, String> {
        let console = File::create(site.path("logs/console")).expect("the console log");
        command.arg("run").arg("-f").arg(config).args(site.arguments());
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(console.try_clone().expect("a descriptor")).stderr(console);
        let child = command.spawn().expect("the hostler program starts");
        let mut server = Self { site, child, port };
        server.await_ready()?;
        Ok(server)
    }

    /// The port of its first `Listen`.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The site's files.
    #[must_use]
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// The process id of the foreground process, the master.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A connection to send bytes of one's own on.
    #[must_use]
    pub fn connect(&self) -> Connection {
        Connection::to(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)))
    }

    /// `GET` with `Host: localhost` on a connection of its own.
    #[must_use]
    pub fn get(&self, target: &str) -> Response {
        self.get_with(target, "Host: localhost\r\n")
    }

    /// `GET` with these fields, each ended by CRLF; `Host` is the caller's to give.
    #[must_use]
    pub fn get_with(&self, target: &str, fields: &str) -> Response {
        self.request(format!("GET {target} HTTP/1.1\r\n{fields}Connection: close\r\n\r\n").as_bytes())
    }

    /// Sends these bytes on a connection of their own and reads one answer.
    #[must_use]
    pub fn request(&self, bytes: &[u8]) -> Response {
        let mut connection = self.connect();
        connection.send(bytes);
        connection.response()
    }

    /// The ErrorLog so far.
    #[must_use]
    pub fn error_log(&self) -> String {
        fs::read_to_string(self.site.path("logs/error.log")).unwrap_or_default()
    }

    /// The access log so far.
    #[must_use]
    pub fn access_log(&self) -> String {
        fs::read_to_string(self.site.path("logs/access.log")).unwrap_or_default()
    }

    /// Returns the programs' standard output and standard error.
    #[must_use]
    pub fn console(&self) -> String {
        fs::read_to_string(self.site.path("logs/console")).unwrap_or_default()
    }

    /// Waits until the ErrorLog contains `text`, and returns that line.
    ///
    /// # Panics
    /// With the log, if it does not come in time.
    #[must_use]
    pub fn await_error(&self, text: &str) -> String {
        let found =
            await_some(|| self.error_log().lines().find(|line| line.contains(text)).map(str::to_owned));
        found
            .unwrap_or_else(|| panic!("no {text:?} in the ErrorLog:\n{}{}", self.error_log(), self.console()))
    }

    /// Sends a signal to the master.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended already; whoever cares sees it in `await_end`.
            let _ = kill_process(pid, signal);
        }
    }

    /// Waits until the master has ended.
    ///
    /// # Panics
    /// If it does not end in time.
    pub fn await_end(&mut self) -> ExitStatus {
        await_some(|| self.child.try_wait().ok().flatten()).expect("the server ends in time")
    }

    fn await_ready(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("{}{}({status})", self.console(), self.error_log()));
            }
            if TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok() {
                return Ok(());
            }
            // Time: looks again.
            std::thread::sleep(PAUSE);
        }
        Err(format!("{}{}(not listening in time)", self.console(), self.error_log()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("The server said:\n{}{}", self.console(), self.error_log());
        }
        self.signal(Signal::INT);
        if await_some(|| self.child.try_wait().ok().flatten()).is_none() {
            // The others end with the master.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Tries until there is an answer or patience ends.
fn await_some<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() > deadline {
            return None;
        }
        // Time: looks again.
        std::thread::sleep(PAUSE);
    }
}

/// Returns whether the tests run as root.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The `hostler` command: `HOSTLER_BIN`, or the one that was built beside this test.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn hostler() -> PathBuf {
    if let Some(named) = std::env::var_os("HOSTLER_BIN") {
        return named.into();
    }
    // target/PROFILE/deps/scenarios-HASH
    let test = std::env::current_exe().expect("the test's own path");
    let beside = test.ancestors().nth(2).expect("a folder for the profile").join("hostler");
    assert!(beside.exists(), "{} is missing: run `cargo build --workspace` first", beside.display());
    beside
}

/// A port that nobody listens on, and that this process has not handed out before.
///
/// Below the range that the kernel takes for outgoing connections, so that none of these grabs it in between.
pub fn free_port() -> u16 {
    const FIRST: u16 = 10_000;
    const COUNT: u16 = 20_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Processes that run at the same time begin at different places.
    let start = std::process::id().wrapping_mul(97);
    for _ in 0..COUNT {
        let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let offset = u16::try_from(start.wrapping_add(step) % u32::from(COUNT)).unwrap_or_default();
        if TcpListener::bind((Ipv4Addr::LOCALHOST, FIRST + offset)).is_ok() {
            return FIRST + offset;
        }
    }
    panic!("no free port");
}
