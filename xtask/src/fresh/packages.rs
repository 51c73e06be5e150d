//! `cargo xtask fresh --packages`: the packages of `make deb` on a minimal Debian: alone, beside Apache, and purged.
//!
//! Services do not start in that root, where no systemd runs: the unit's command is run as it stands, by root. The
//! behaviour of systemd itself is not tried here (a scenario has `systemd-analyze verify` read the unit).

use super::machine::{Machine, Who};
use super::visit::Serving;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;

/// The folder of the packages, on the fresh machine.
const FOLDER: &str = "/var/packages";

/// Installs the server alone, and serves its first page; then beside Apache; purges both times.
pub(crate) fn tried(machine: &Machine) -> Result<()> {
    let packages = copied(machine)?;
    machine.succeeds(Who::Root, "apt-get update", "apt-get -qq update")?;
    forbid_services(machine)?;
    install(machine, "install the server", &format!("{FOLDER}/hostler_*.deb"))?;
    ports(machine, "Listen 80\n")?;
    served(machine, 80)?;
    purged(machine)?;
    machine.install("apache2")?;
    let before = of_apache(machine)?;
    install(machine, "install all beside Apache", &format!("{FOLDER}/*.deb"))?;
    if of_apache(machine)? != before {
        bail!("the packages changed something of Apache's");
    }
    ports(machine, "Listen 8080\n")?;
    served(machine, 8080)?;
    purged(machine)?;
    eprintln!("fresh: {packages} packages");
    Ok(())
}

/// Copies the packages; returns their number.
fn copied(machine: &Machine) -> Result<usize> {
    let to = machine.path(FOLDER);
    fs::create_dir_all(&to)?;
    let built = fs::read_dir("target/deb").context("no target/deb: run make deb first")?;
    let built: Vec<PathBuf> = built.flatten().map(|entry| entry.path()).collect();
    let packages = built.iter().filter(|path| path.extension().is_some_and(|end| end == "deb"));
    let mut count = 0;
    for package in packages {
        fs::copy(package, to.join(package.file_name().context("a package without a name")?))?;
        count += 1;
    }
    if count == 0 { bail!("no packages in target/deb: run make deb first") } else { Ok(count) }
}

/// Packages would start their services. 101 means no.
fn forbid_services(machine: &Machine) -> Result<()> {
    fs::write(machine.path("/usr/sbin/policy-rc.d"), "#!/bin/sh\nexit 101\n")?;
    machine.succeeds(Who::Root, "guard", "chmod 755 /usr/sbin/policy-rc.d")
}

fn install(machine: &Machine, name: &str, packages: &str) -> Result<()> {
    let line = format!(
        "DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends {packages}"
    );
    machine.succeeds(Who::Root, name, &line)
}

/// The port that the package has chosen.
fn ports(machine: &Machine, expected: &str) -> Result<()> {
    let text = fs::read_to_string(machine.path("/etc/hostler/ports.conf")).context("ports.conf")?;
    if !text.ends_with(expected) {
        bail!("ports.conf has {text:?} instead of {expected:?}");
    }
    Ok(())
}

/// The unit's command serves the first page.
fn served(machine: &Machine, port: u16) -> Result<()> {
    let unit = fs::read_to_string(machine.path("/lib/systemd/system/hostler.service"))?;
    let command =
        |name: &str| unit.lines().find_map(|line| line.strip_prefix(name)).context("a line of the unit");
    machine.succeeds(Who::Root, "check", command("ExecStartPre=")?)?;
    let mut server = Serving::start_on(machine, Who::Root, "the package", port, command("ExecStart=")?)?;
    server.answers(&[("/", "It works")])?;
    server.end()?;
    Ok(())
}

/// Names and sums of all that is Apache's.
fn of_apache(machine: &Machine) -> Result<String> {
    let line = "find /etc/apache2 /var/www /lib/systemd/system/apache2.service -type f -exec md5sum {} + -o -type l -print | sort; \
                dpkg --verify apache2 apache2-bin";
    let (said, _) = machine.say(Who::Root, line)?;
    Ok(said)
}

/// Nothing is left but logs.
fn purged(machine: &Machine) -> Result<()> {
    machine.succeeds(Who::Root, "purge", "apt-get -qq purge --yes 'hostler*'")?;
    let line = "find / -xdev -path /proc -prune -o -path /var/packages -prune -o -path /home -prune -o -path /var/log -prune -o -iname '*hostler*' -print; \
                getent passwd hostler";
    let (left, _) = machine.say(Who::Root, line)?;
    if !left.is_empty() {
        bail!("purge leaves behind:\n{left}");
    }
    Ok(())
}
