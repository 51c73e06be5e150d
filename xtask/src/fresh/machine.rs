//! A minimal Debian root: how it is made, what of this machine it gets, and how commands are run in it.
//!
//! Of this machine: the Rust toolchain (mounted, read-only), copies of the crates that it has, and how its apt and its
//! cargo reach their sources. Nothing else: neither its packages nor its configuration.

use super::root;
use crate::cargo;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A user of that machine without sudo, and where the checkout is, below a home directory that is closed to others.
pub(crate) const USER: &str = "visitor";
pub(crate) const CHECKOUT: &str = "/home/visitor/hostler";
const CERTIFICATES: &str = "/etc/machine-certificates.crt";
const TOOLCHAIN: &str = "/opt/rust";
/// Of both users: what one has built, the other one need not build again.
const CARGO_HOME: &str = "/home/visitor/.cargo";

/// The user who runs a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Root,
    Visitor,
}

/// The root and what its commands have in their environment.
pub(crate) struct Machine {
    folder: PathBuf,
    environment: Vec<(String, String)>,
}

impl Machine {
    /// Makes it. Only in a mount namespace of our own: mounts are left to end with that.
    pub(crate) fn lay_out(folder: &Path) -> Result<Self> {
        let machine = Self { folder: folder.to_owned(), environment: environment() };
        if machine.path(CHECKOUT).exists() {
            machine.mount()?;
            machine.copy_checkout()?;
            return Ok(machine);
        }
        let sources = Sources::of_this_machine()?;
        // Nothing here has to survive a power failure.
        fs::create_dir_all(machine.path("/etc/dpkg/dpkg.cfg.d"))?;
        fs::write(machine.path("/etc/dpkg/dpkg.cfg.d/90machine"), "force-unsafe-io\n")?;
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.args(["--variant=minbase", &sources.release]).arg(root(folder)).arg(&sources.mirror);
        machine.logged("debootstrap", &mut debootstrap)?;
        machine.furnish(&sources)?;
        machine.mount()?;
        machine.settle_user()?;
        Ok(machine)
    }

    /// A path of that machine, as we see it.
    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        root(&self.folder).join(inside.trim_start_matches('/'))
    }

    /// Returns the log file of a command.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    /// Gives it this machine's access to the network.
    fn furnish(&self, sources: &Sources) -> Result<()> {
        fs::write(self.path("/etc/apt/sources.list"), &sources.list)?;
        fs::write(self.path("/etc/apt/apt.conf.d/90machine"), &sources.options)?;
        for file in ["/etc/resolv.conf", "/etc/hosts"] {
            fs::copy(file, self.path(file)).with_context(|| file.to_owned())?;
        }
        if let Some(certificates) = certificates() {
            fs::copy(certificates, self.path(CERTIFICATES))?;
        }
        Ok(())
    }

    fn mount(&self) -> Result<()> {
        let toolchain = Command::new("rustc").args(["--print", "sysroot"]).output().context("rustc")?;
        let toolchain = String::from_utf8(toolchain.stdout)?.trim().to_owned();
        fs::create_dir_all(self.path(TOOLCHAIN))?;
        for arguments in [
            vec!["-t", "proc", "proc", "/proc"],
            vec!["--rbind", "/dev", "/dev"],
            vec!["--bind", "-o", "ro", &toolchain, TOOLCHAIN],
        ] {
            let (place, options) = arguments.split_last().context("a mount without a place")?;
            cargo::quietly(Command::new("mount").args(options).arg(self.path(place)))?;
        }
        Ok(())
    }

    /// The user, the checkout and the crates.
    fn settle_user(&self) -> Result<()> {
        self.succeeds(
            Who::Root,
            "useradd",
            &format!("useradd --create-home {USER} && chmod 700 /home/{USER}"),
        )?;
        fs::create_dir(self.path(CHECKOUT))?;
        self.copy_checkout()?;
        self.hand_on_crates(&self.path(CARGO_HOME))?;
        self.succeeds(Who::Root, "chown", &format!("chown -R {USER}:{USER} /home/{USER}"))
    }

    fn copy_checkout(&self) -> Result<()> {
        let mut pack = Command::new("tar");
        pack.args(["-C", ".", "--exclude=./target", "--exclude=./.git", "-c", "."]).stdout(Stdio::piped());
        let mut packing = pack.spawn()?;
        let packed = packing.stdout.take().context("tar says nothing")?;
        cargo::quietly(Command::new("tar").arg("-C").arg(self.path(CHECKOUT)).arg("-x").stdin(packed))?;
        if !packing.wait()?.success() {
            bail!("cannot copy the checkout");
        }
        self.succeeds(Who::Root, "chown", &format!("chown -R {USER}:{USER} {CHECKOUT}"))
    }

    /// Copies the parts of cargo's home that may be shared: downloads and configuration, but no credentials.
    fn hand_on_crates(&self, to: &Path) -> Result<()> {
        let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
        let from = std::env::var_os("CARGO_HOME").map(PathBuf::from).or(home).context("no HOME")?;
        fs::create_dir_all(to.join("registry"))?;
        for name in ["registry/cache", "registry/index", "config.toml", "config"] {
            if from.join(name).exists() {
                cargo::quietly(Command::new("cp").arg("-R").arg(from.join(name)).arg(to.join(name)))?;
            }
        }
        Ok(())
    }

    /// Installs packages as an administrator would.
    pub(crate) fn install(&self, packages: &str) -> Result<()> {
        let line = format!(
            "apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes \
             --no-install-recommends {packages}"
        );
        self.succeeds(Who::Root, "install", &line)
    }

    /// A line of the shell in the checkout, with an environment like that of a log-in and nothing of ours.
    pub(crate) fn command(&self, who: Who, line: &str) -> Command {
        let mut command = Command::new("chroot");
        command.arg(root(&self.folder));
        let home = if who == Who::Root { "/root" } else { "/home/visitor" };
        if who == Who::Visitor {
            command.args(["setpriv", "--reuid", USER, "--regid", USER, "--init-groups"]);
        }
        command.args(["env", "-i", &format!("HOME={home}"), "LANG=C.UTF-8", "TERM=dumb"]);
        command.arg(format!(
            "PATH={TOOLCHAIN}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        ));
        command.args(self.environment.iter().map(|(name, value)| format!("{name}={value}")));
        command.args(["sh", "-c", &format!("cd {CHECKOUT} 2>/dev/null; {line}")]);
        command.stdin(Stdio::null());
        command
    }

    /// Runs a line; returns its output on both streams, and whether it succeeded.
    pub(crate) fn say(&self, who: Who, line: &str) -> Result<(String, bool)> {
        let Output { status, stdout, stderr } = self.command(who, line).output()?;
        let said = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
        Ok((said, status.success()))
    }

    /// Runs a line that must succeed.
    pub(crate) fn succeeds(&self, who: Who, name: &str, line: &str) -> Result<()> {
        self.logged(name, &mut self.command(who, line))
    }

    fn logged(&self, name: &str, command: &mut Command) -> Result<()> {
        let log = fs::File::create(self.log(name))?;
        let status = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).status();
        let status = status.with_context(|| format!("cannot run {name}"))?;
        if !status.success() {
            bail!("{name} failed ({status}):\n{}", self.end_of_log(name));
        }
        Ok(())
    }

    /// The last lines of what a command said.
    pub(crate) fn end_of_log(&self, name: &str) -> String {
        let text = fs::read(self.log(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

/// This machine's package sources, as far as they are its distribution's.
struct Sources {
    release: String,
    mirror: String,
    list: String,
    options: String,
}

impl Sources {
    fn of_this_machine() -> Result<Self> {
        let system = fs::read_to_string("/etc/os-release")?;
        let release = system.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
        let release = release.context("/etc/os-release names no release")?.trim_matches('"').to_owned();
        let format = ["--format", "$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)", "Identifier: Packages"];
        let known = printed(Command::new("apt-get").arg("indextargets").args(format))?;
        let (mut list, mut mirror) = (String::new(), None);
        for line in known.lines() {
            let fields: Vec<&str> = line.split('|').collect();
            let [origin, uri, of, component] = fields[..] else { continue };
            if !["Debian", "Ubuntu"].contains(&origin) || !of.starts_with(&release) {
                continue;
            }
            list.push_str(&format!("deb {uri} {of} {component}\n"));
            if of == release {
                mirror.get_or_insert(uri.to_owned());
            }
        }
        let mirror = mirror.context("apt knows no packages of this release: run apt-get update")?;
        let mut options = String::new();
        for name in ["http", "https", "Check-Valid-Until", "Check-Date", "Retries"] {
            options += &printed(Command::new("apt-config").args(["dump", &format!("Acquire::{name}")]))?;
        }
        Ok(Self { release, mirror, list, options })
    }
}

fn printed(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {}", cargo::shown(command)))?;
    Ok(String::from_utf8(output.stdout)?)
}

/// The certificates that this machine trusts, in one file.
fn certificates() -> Option<PathBuf> {
    let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let usual = PathBuf::from("/etc/ssl/certs/ca-certificates.crt");
    named.into_iter().chain([usual]).find(|path| path.exists())
}

/// The variables that tell cargo and apt how to reach their sources.
fn environment() -> Vec<(String, String)> {
    let ways = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"];
    let settings = ["CARGO_HTTP_", "CARGO_NET_", "CARGO_SOURCE_", "CARGO_REGISTRIES_"];
    let is_wanted = |name: &str| {
        let upper = name.to_uppercase();
        let set = settings.iter().any(|prefix| name.starts_with(prefix)) && !name.contains("TOKEN");
        ways.contains(&upper.as_str()) || set
    };
    let mut found: Vec<_> = std::env::vars().filter(|(name, _)| is_wanted(name)).collect();
    found.push(("CARGO_HOME".to_owned(), CARGO_HOME.to_owned()));
    // Nobody looks at these programs with a debugger, nor builds them a third time.
    for name in ["CARGO_PROFILE_DEV_DEBUG", "CARGO_INCREMENTAL"] {
        found.push((name.to_owned(), "0".to_owned()));
    }
    if certificates().is_some() {
        found.retain(|(name, _)| name != "CARGO_HTTP_CAINFO");
        for name in ["SSL_CERT_FILE", "CARGO_HTTP_CAINFO"] {
            found.push((name.to_owned(), CERTIFICATES.to_owned()));
        }
    }
    found
}
