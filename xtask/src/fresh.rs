//! `cargo xtask fresh`: what the README asks for is tried as on a fresh machine, in a minimal Debian root that has
//! nothing but what is put into it here. By a user without sudo first, then by root.
//!
//! Takes root. All of it happens in a mount and PID namespace of its own, which ends with this command, however that
//! ends: nothing stays mounted, nothing goes on running. No service is started. How this machine's apt and cargo reach
//! their sources is handed on, and the crates that it has already.

mod machine;
mod packages;
mod readme;
mod visit;

use crate::cargo;
use anyhow::{Context, Result, bail};
use machine::Machine;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The time limit. An idle machine with two processors needs a fraction of it.
const AT_MOST: Duration = Duration::from_secs(60 * 60);

/// Lays out the root, runs everything in it, and removes it.
pub(crate) fn run(keep: bool, packages: bool) -> Result<()> {
    if let Some(why) = impossible() {
        hostler_untested::not_tested("cargo xtask fresh", &why);
        return Ok(());
    }
    let folder = cargo::workspace().join("target/fresh");
    if !keep {
        remove(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, interrupted.clone())?;
    }
    let start = Instant::now();
    let done = namespace(&folder, packages).and_then(|child| wait(child, &interrupted));
    if !keep {
        remove(&root(&folder))?;
    }
    done?;
    eprintln!("A fresh machine does what the README says ({} s).", start.elapsed().as_secs());
    Ok(())
}

/// Returns the missing requirement, if any.
fn impossible() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("it lays out a Debian root, which takes root".to_owned());
    }
    for program in ["debootstrap", "unshare", "setpriv", "chroot"] {
        if !cargo::is_installed(program) {
            return Some(format!("{program} is not installed (./setup.sh test)"));
        }
    }
    let mut unshare = Command::new("unshare");
    let allowed = unshare.args(["--mount", "--pid", "--fork", "true"]).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        return Some("a namespace of its own is not to be had here".to_owned());
    }
    None
}

/// This program again, as the first process of a namespace that dies with us.
fn namespace(folder: &Path, packages: bool) -> Result<Child> {
    let mut inside = Command::new("setpriv");
    inside.args(["--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child=KILL"]);
    inside.arg(std::env::current_exe()?).args(["fresh", "--inside"]).arg(folder);
    inside.args(packages.then_some("--packages"));
    inside.spawn().context("cannot run setpriv")
}

fn wait(mut child: Child, interrupted: &AtomicBool) -> Result<()> {
    let end = Instant::now() + AT_MOST;
    loop {
        if let Some(status) = child.try_wait()? {
            if interrupted.load(Ordering::Relaxed) {
                bail!("interrupted");
            }
            if !status.success() {
                bail!("not everything went as on a fresh machine it must");
            }
            return Ok(());
        }
        let stop = interrupted.load(Ordering::Relaxed);
        if stop || Instant::now() > end {
            child.kill()?;
            child.wait()?;
            bail!("{}", if stop { "interrupted" } else { "it takes too long" });
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Removes a folder and nothing that may be mounted in it. What was killed may take a moment to end, and write until
/// then.
fn remove(folder: &Path) -> Result<()> {
    for _ in 0..100 {
        if !folder.exists() {
            return Ok(());
        }
        let mut remove = Command::new("rm");
        let removed = remove.args(["-rf", "--one-file-system"]).arg(folder).output()?;
        if !removed.status.success() {
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    bail!("cannot remove {}", folder.display());
}

/// Runs inside the namespace.
pub(crate) fn inside(folder: &Path, packages: bool) -> Result<()> {
    let machine = stage("a minimal Debian", || Machine::lay_out(folder))?;
    if packages {
        return stage("the packages", || packages::tried(&machine));
    }
    // In one that was kept root may have installed the rest: what it is without that shows no more.
    if !machine.path("/usr/bin/pkg-config").exists() {
        without_root(&machine)?;
    }
    stage("make run, by root", || visit::run_as_root(&machine))?;
    stage("./setup.sh test, by root", || visit::set_up_tests(&machine))?;
    stage("make install, and what it says", || readme::installed(&machine))?;
    stage("the README's two tenants, pasted", || readme::tenants(&machine))?;
    stage("Debian's own /etc/apache2", || readme::debians_apache(&machine))
}

fn without_root(machine: &Machine) -> Result<()> {
    if !machine.path("/usr/bin/gcc").exists() {
        stage("a user without sudo, where nothing is installed", || visit::nothing_installed(machine))?;
    }
    stage("the administrator installs a compiler, make and perl", || machine.install(visit::GIVEN))?;
    stage("make run, by that user", || visit::run_without_root(machine))?;
    stage("./setup.sh test, by that user", || visit::set_up_tests_without_root(machine))
}

fn stage<T>(name: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    let done = run().with_context(|| format!("on a fresh machine: {name}"))?;
    eprintln!("fresh: {name}: {} s", start.elapsed().as_secs());
    Ok(done)
}

/// The folder in which the machine's root and its logs are.
fn root(folder: &Path) -> PathBuf {
    folder.join("root")
}
