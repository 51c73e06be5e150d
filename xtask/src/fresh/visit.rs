//! `make run` and the set-up of the tests, on the fresh machine: what a visitor's first quarter of an hour is.

use super::machine::{CHECKOUT, Machine, USER, Who};
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::Child;
use std::time::{Duration, Instant};

/// The packages that the administrator has installed already. Debian's perl includes the headers of its library, but
/// not the library for the linker.
pub(crate) const GIVEN: &str = "gcc libc6-dev make perl";

/// On a machine that does nothing else a first build takes some minutes.
const PATIENCE: Duration = Duration::from_secs(40 * 60);

/// On nothing: what is missing is named with its reason, and how to get it.
pub(crate) fn nothing_installed(machine: &Machine) -> Result<()> {
    let (said, good) = machine.say(Who::Visitor, "./setup.sh run")?;
    if good {
        bail!("nothing can be built, but setup.sh succeeds:\n{said}");
    }
    has(
        &said,
        &[
            "gcc is missing: links",
            "as root, run: apt-get install",
            "nothing can be built without a C compiler",
        ],
    )
}

/// Without libperl-dev: everything else is built and serves.
pub(crate) fn run_without_root(machine: &Machine) -> Result<()> {
    let mut showcase =
        Serving::start(machine, Who::Visitor, "make run", |port| format!("make run LISTEN={port}"))?;
    let pages = [("/", "Server-side includes"), ("/cgi-bin/hello.sh", "Hello from process")];
    showcase.answers(&pages)?;
    let said = showcase.end()?;
    has(
        &said,
        &[
            "libperl-dev is missing: the Perl engine is linked with it",
            "still without libperl-dev",
            "perl's library can't be linked (libperl-dev): hostler-perl will not run",
            "all sites run as you",
        ],
    )
}

/// The same user's set-up of the tests: what could be unpacked is, the rest is named, and the tests can begin.
pub(crate) fn set_up_tests_without_root(machine: &Machine) -> Result<()> {
    let (said, good) = machine.say(Who::Visitor, "./setup.sh test")?;
    if !good {
        bail!("without root the tests can't be set up at all:\n{said}");
    }
    has(
        &said,
        &[
            "as root, run: apt-get install --no-install-recommends",
            "still without apache2-bin; what needs it will say so",
            "unpacking apache2 below target/oracle",
        ],
    )?;
    if !machine.path(CHECKOUT).join("target/oracle/apache2/etc/apache2/apache2.conf").is_file() {
        bail!("nothing was unpacked:\n{said}");
    }
    Ok(())
}

/// As root in the visitor's checkout, below a closed home directory: all techniques, each site as its own user.
pub(crate) fn run_as_root(machine: &Machine) -> Result<()> {
    let listen = |port| format!("make run LISTEN=localhost:{port}");
    let mut showcase = Serving::start(machine, Who::Root, "make run as root", listen)?;
    showcase.answers(&[
        ("/", "Server-side includes"),
        ("/cgi-bin/hello.sh", "Hello from process"),
        ("/guestbook", "Your words"),
        ("/perl/counter.pl", "It sees mod_perl/2"),
        ("/psgi/hello", "mounted at"),
    ])?;
    let said = showcase.end()?;
    has(&said, &["installing with apt-get:", "libperl-dev", "Other users cannot pass through"])
}

/// All that the tests need, after which nothing is missing, nothing runs and nothing keeps services from starting.
pub(crate) fn set_up_tests(machine: &Machine) -> Result<()> {
    machine.succeeds(Who::Root, "setup test", "./setup.sh test")?;
    let (said, good) = machine.say(Who::Root, "./setup.sh test")?;
    if !good || !said.is_empty() {
        bail!(
            "a second ./setup.sh test finds something to do:\n{said}\n{}",
            machine.end_of_log("setup test")
        );
    }
    if machine.path("/usr/sbin/policy-rc.d").exists() {
        bail!("setup.sh leaves behind what keeps services from being started");
    }
    let running = running(machine)?;
    if !running.is_empty() {
        bail!("after ./setup.sh test these run: {}", running.join(", "));
    }
    let (said, good) = machine.say(Who::Visitor, "./setup.sh test")?;
    if !good || !said.is_empty() {
        bail!("{USER} is told of something that is missing:\n{said}");
    }
    Ok(())
}

/// The programs that run on the machine: those of our namespace whose root it is.
fn running(machine: &Machine) -> Result<Vec<String>> {
    let root = fs::canonicalize(machine.path("/"))?;
    let mut found = Vec::new();
    for entry in fs::read_dir(machine.path("/proc"))? {
        let process = entry?.path();
        if fs::read_link(process.join("root")).is_ok_and(|its| its == root) {
            found.push(fs::read_to_string(process.join("comm")).unwrap_or_default().trim().to_owned());
        }
    }
    Ok(found)
}

/// Returns whether a text has all of these.
pub(crate) fn has(said: &str, parts: &[&str]) -> Result<()> {
    match parts.iter().find(|part| !said.contains(**part)) {
        None => Ok(()),
        Some(part) => bail!("{part:?} was not said:\n{said}"),
    }
}

/// A command that serves, in a process group of its own as at a terminal.
pub(crate) struct Serving<'a> {
    machine: &'a Machine,
    name: String,
    child: Child,
    port: u16,
}

impl<'a> Serving<'a> {
    /// Runs `line` for a free port.
    pub(crate) fn start(
        machine: &'a Machine,
        who: Who,
        name: &str,
        line: impl Fn(u16) -> String,
    ) -> Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        Self::start_on(machine, who, name, port, &line(port))
    }

    /// Runs `line`, which listens on `port`.
    pub(crate) fn start_on(
        machine: &'a Machine,
        who: Who,
        name: &str,
        port: u16,
        line: &str,
    ) -> Result<Self> {
        let log = fs::File::create(machine.log(name))?;
        let mut command = machine.command(who, line);
        let child = command.process_group(0).stdout(log.try_clone()?).stderr(log).spawn()?;
        Ok(Self { machine, name: name.to_owned(), child, port })
    }

    /// Waits until it serves, and asks for each page: 200, with this text in it.
    pub(crate) fn answers(&mut self, pages: &[(&str, &str)]) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended ({status}):\n{}", self.name, self.machine.end_of_log(&self.name));
            }
            if Instant::now() > end {
                bail!("{} does not serve in time:\n{}", self.name, self.machine.end_of_log(&self.name));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        for (path, text) in pages {
            self.page("localhost", path, text)?;
        }
        Ok(())
    }

    /// Asks for a page of a host.
    pub(crate) fn page(&self, host: &str, path: &str, text: &str) -> Result<()> {
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).context(host.to_owned())?;
        connection.set_read_timeout(Some(Duration::from_secs(60)))?;
        write!(connection, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer);
        if !answer.starts_with("HTTP/1.1 200 ") || !answer.contains(text) {
            let log = self.machine.end_of_log(&self.name);
            bail!("http://{host}{path}: {text:?} expected, but:\n{answer}\n{log}");
        }
        Ok(())
    }

    /// Stops it as Ctrl-C at a terminal does, and returns what it has said. Nothing of it goes on.
    pub(crate) fn end(mut self) -> Result<String> {
        kill_process_group(Pid::from_child(&self.child), Signal::INT)?;
        self.child.wait()?;
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let left = running(self.machine)?;
            if left.is_empty() {
                return Ok(fs::read_to_string(self.machine.log(&self.name))?);
            }
            if Instant::now() > end {
                bail!("after {} has ended these go on: {}", self.name, left.join(", "));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}
