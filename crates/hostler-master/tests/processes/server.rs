//! A running master with its directory: start it, talk to its front, look at its processes, end it.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

static NEXT: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Server {
    pub(crate) directory: PathBuf,
    pub(crate) address: SocketAddr,
    master: Child,
}

/// An address that nobody listens on at the moment.
pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

pub(crate) fn is_root() -> bool {
    hostler_sys::process::is_root()
}

/// Waits until `done`; fails the test after five seconds.
pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(5);
    while !done() {
        assert!(Instant::now() < patience, "waited in vain: {what}");
        // Time: looks again.
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns whether a process of this number runs (and is not just waiting to be reaped).
pub(crate) fn alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// The numbers of a process's children.
fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

impl Server {
    /// Starts a master with this plan (`$ADDRESS` and `$DIR` are filled in) and lines of identity under root.
    pub(crate) fn start(plan: &str) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("hostler-master-{}-{number}", std::process::id()));
        fs::create_dir_all(directory.join("libexec")).unwrap();
        let own = std::env::current_exe().unwrap();
        for name in ["hostler-front", "hostler-site", "hostler-perl"] {
            std::os::unix::fs::symlink(&own, directory.join("libexec").join(name)).unwrap();
        }
        let address = free_address();
        write_plan(&directory, plan, address);
        Self { master: launch(&directory, &own), directory, address }
    }

    /// Changes what the next generation will be.
    pub(crate) fn plan(&self, plan: &str) {
        write_plan(&self.directory, plan, self.address);
    }

    pub(crate) fn ready(self) -> Self {
        until("the server answers", || self.try_ask("pid").is_some());
        // A front may answer before the master has heard that it is ready.
        until("the master knows it", || self.errors().contains("generation 1 serves"));
        self
    }

    /// Sends the front a line and returns its answer.
    pub(crate) fn ask(&self, line: &str) -> String {
        self.try_ask(line).unwrap_or_else(|| panic!("no answer to {line}; {}", self.errors()))
    }

    pub(crate) fn try_ask(&self, line: &str) -> Option<String> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        stream.write_all(format!("{line}\n").as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    pub(crate) fn front_pid(&self) -> u32 {
        self.ask("pid").parse().unwrap()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.master.id()
    }

    pub(crate) fn children(&self) -> Vec<u32> {
        children(self.pid())
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    /// Returns the standard error of the master and its children.
    pub(crate) fn errors(&self) -> String {
        fs::read_to_string(self.directory.join("stderr")).unwrap_or_default()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }

    /// Waits for the master's end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        until("the master ends", || {
            status = self.master.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    pub(crate) fn stop(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the server's messages:\n{}", self.errors());
        }
        let _ = self.master.kill();
        let _ = self.master.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

pub(crate) fn signal(pid: u32, name: &str) {
    let status = Command::new("/bin/kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(status.unwrap().success());
}

/// Without root nobody gets an identity.
fn write_plan(directory: &Path, plan: &str, address: SocketAddr) {
    let shown = directory.display().to_string();
    let mut text = plan.replace("$ADDRESS", &address.to_string()).replace("$DIR", &shown);
    text.push_str(&format!("\nlisten {address}\nfront {}\n", if is_root() { "64890" } else { "-" }));
    let temporary = directory.join("plan.new");
    fs::write(&temporary, text).unwrap();
    fs::rename(temporary, directory.join("plan")).unwrap();
}

fn launch(directory: &Path, own: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hostler-master"));
    command.arg("--libexec").arg(directory.join("libexec")).arg("--").arg(own).arg("fake-planner");
    command.arg(directory).stdin(Stdio::null()).env("SECRET_OF_THE_OPERATOR", "x").process_group(0);
    command.stderr(fs::File::create(directory.join("stderr")).unwrap());
    command.spawn().unwrap()
}
