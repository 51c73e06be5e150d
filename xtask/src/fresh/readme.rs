//! Follows `make install` and docs/first-site.md on the fresh machine as an administrator would: pasted, in order.

use super::machine::{Machine, Who};
use super::visit::{Serving, has};
use anyhow::{Context, Result, bail};
use std::fs;

/// The administrator's working folder.
const FOLDER: &str = "/srv";

/// Installs what `make run` has built, and starts the sample configuration with the words that were printed.
pub(crate) fn installed(machine: &Machine) -> Result<()> {
    // As released programs, which nobody here waits for.
    let line = "ln -sfn debug target/release && make install";
    machine.succeeds(Who::Root, "make install", line)?;
    let said = fs::read_to_string(machine.log("make install"))?;
    let check = "/usr/local/bin/hostler check -f /etc/hostler/httpd.conf";
    has(&said, &[check, "systemctl daemon-reload", "systemctl enable --now hostler"])?;
    machine.succeeds(Who::Root, "check of the sample", check)?;
    let unit = fs::read_to_string(machine.path("/usr/local/lib/systemd/system/hostler.service"))?;
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).context("no ExecStart")?;
    let mut server = Serving::start_on(machine, Who::Root, "the sample", 8080, start)?;
    server.answers(&[("/", "It works")])?;
    server.end()?;
    Ok(())
}

/// The page on first sites, block by block.
pub(crate) fn tenants(machine: &Machine) -> Result<()> {
    let page = fs::read_to_string("docs/first-site.md")?;
    let paste = |name: &str, text: &str| {
        machine.succeeds(Who::Root, name, &format!("cd {FOLDER} && set -e\n{}", block(&page, "sh", text)?))
    };
    // A root that was kept has them from before.
    machine.say(Who::Root, "userdel anna; userdel bert; userdel clara; rm -rf /srv/*")?;
    paste("two tenants", "for tenant in anna bert")?;
    write(machine, &block(&page, "apache", "anna.example")?, "")?;
    let commands = block(&page, "sh", "hostler check")?;
    for line in commands.lines().filter(|line| !line.contains(" run ") && !line.contains(" reload ")) {
        machine.succeeds(Who::Root, "tells", &format!("cd {FOLDER} && {line}"))?;
    }
    let run = commands.lines().find(|line| line.contains("hostler run")).context("no hostler run")?;
    let mut server =
        Serving::start_on(machine, Who::Root, "the tenants", 8081, &format!("cd {FOLDER} && exec {run}"))?;
    server.answers(&[])?;
    server.page("anna.example", "/", "This is anna's page.")?;
    server.page("anna.example", "/cgi-bin/whoami", "(anna)")?;
    server.page("bert.example", "/", "This is bert's page.")?;
    paste("clara", "clara/startup.pl")?;
    let clara = block(&page, "apache", "clara.example")?;
    write(machine, &block(&page, "apache", "anna.example")?, &clara)?;
    let reload =
        commands.lines().find(|line| line.contains("hostler reload")).context("no hostler reload")?;
    machine.succeeds(Who::Root, "reload", &format!("cd {FOLDER} && {reload}"))?;
    for path in ["/perl/hello.pl", "/shop", "/app", "/cgi-bin/hello.pl"] {
        server.page("clara.example", path, "Clara's")?;
    }
    server.end()?;
    Ok(())
}

fn write(machine: &Machine, configuration: &str, more: &str) -> Result<()> {
    let file = machine.path(FOLDER).join("httpd.conf");
    fs::write(file, format!("{configuration}\n{more}")).context("the configuration")
}

/// Debian's own configuration, as its package leaves it.
pub(crate) fn debians_apache(machine: &Machine) -> Result<()> {
    // Its package would start it. 101 means no.
    let guard = machine.path("/usr/sbin/policy-rc.d");
    fs::write(&guard, "#!/bin/sh\nexit 101\n")?;
    machine.succeeds(Who::Root, "guard", "chmod 755 /usr/sbin/policy-rc.d")?;
    machine.install("apache2")?;
    fs::remove_file(guard)?;
    // As Debian's apachectl does, which the package has run on a machine where services may start.
    machine.succeeds(Who::Root, "run", "mkdir -p /run/apache2")?;
    let (said, good) = machine.say(Who::Root, "hostler check -f /etc/apache2/apache2.conf")?;
    if !good {
        bail!("Debian's own configuration is refused:\n{said}");
    }
    has(&said, &["OK"])
}

/// The page's first block in this language that contains the text.
fn block(page: &str, language: &str, text: &str) -> Result<String> {
    let begin = format!("```{language}\n");
    let blocks = page.split(&begin).skip(1).filter_map(|rest| rest.split("```").next());
    let found = blocks.into_iter().find(|block| block.contains(text));
    found
        .map(str::to_owned)
        .with_context(|| format!("no {language} block with {text:?} in docs/first-site.md"))
}
