//! Two tenants on one server: whatever A does, B goes on being served, and the front's memory stays bounded.
//!
//! Each attack is one test, [`Attack::run`] around what A does. In `make test` that is short: events and bounds (B is
//! answered while A is at it; the front neither grows nor ends). `cargo xtask attack` runs the same tests long
//! (`HOSTLER_ATTACK=long`), one after the other on a machine that does nothing else, where B's latency counts too.
//! All of it takes root: two tenants are two users.

mod backends;
mod confined;
mod connections;
mod files;
mod framing;
mod modules;
mod names;
mod perl_rules;
mod pipes;
mod places;
mod programs;
mod quiet;
mod rules;
mod smuggling;
mod sources;
mod streams;
mod unread;
mod watch;
mod workers;

use crate::faults::process;
use hostler_tests::{Server, Site};
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;
use watch::{Seen, Watch};

const A: u32 = 64_301;
const B: u32 = 64_302;

/// B's longest time that counts in the long form: ten times its quiet p99 and this.
const SLACK: Duration = Duration::from_millis(20);
/// The same where A opens connections by the thousand: the kernel hands them over in the order of their arrival, so B's
/// next one waits for what came before it, some 30 microseconds each.
const QUEUE: Duration = Duration::from_millis(120);

/// A site with the virtual hosts `a.test` and `b.test`, each with its user, `htdocs` and `cgi-bin` under its name, and
/// `extra` in A's section. B has `b.html`, which is what is asked for while A attacks.
pub(crate) fn tenants(extra: &str) -> Site {
    let site =
        Site::new().dir("a/htdocs").dir("a/cgi-bin").dir("b/cgi-bin").file("b/htdocs/b.html", "B's page");
    let owned = ["", "/htdocs", "/cgi-bin"];
    let site = owned
        .iter()
        .fold(site, |site, part| site.owner(&format!("a{part}"), A).owner(&format!("b{part}"), B));
    site.config(&host("a", A, extra)).config(&host("b", B, ""))
}

fn host(name: &str, uid: u32, extra: &str) -> String {
    format!(
        "<VirtualHost *:@PORT@>\nServerName {name}.test\nDocumentRoot \"@ROOT@/{name}/htdocs\"\n\
         AssignUserID #{uid} #{uid}\nScriptAlias /cgi-bin/ \"@ROOT@/{name}/cgi-bin/\"\n\
         <Directory \"@ROOT@/{name}\">\nRequire all granted\nAllowOverride All\nOptions +Includes +ExecCGI\n\
         </Directory>\n{extra}\n</VirtualHost>\n"
    )
}

/// Gives something that A has to A: programs run only for their owner.
pub(crate) trait Owned {
    /// A file of A's below `a/`.
    fn a_file(self, name: &str, content: impl AsRef<[u8]>) -> Self;
    /// A program of A's below `a/`.
    fn a_script(self, name: &str, content: impl AsRef<[u8]>) -> Self;
}

impl Owned for Site {
    fn a_file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let name = format!("a/{name}");
        self.file(&name, content).owner(&name, A)
    }

    fn a_script(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let name = format!("a/{name}");
        self.script(&name, content).owner(&name, A)
    }
}

/// Returns how many of A's files have a name with this prefix: its programs leave one each when they start.
pub(crate) fn begun(server: &Server, name: &str) -> usize {
    let files = std::fs::read_dir(server.site().path("a/htdocs")).expect("A's folder");
    let is_named = |file: &std::fs::DirEntry| file.file_name().to_string_lossy().starts_with(name);
    files.flatten().filter(is_named).count()
}

/// Returns whether this is the long form.
pub(crate) fn is_long() -> bool {
    std::env::var_os("HOSTLER_ATTACK").is_some_and(|form| form == "long")
}

/// One tenant's action against all others.
pub(crate) struct Attack {
    /// As the table calls it.
    name: &'static str,
    /// By how many mebibytes the front may grow meanwhile.
    memory: u64,
    /// B's allowance beyond ten times its quiet p99.
    slack: Duration,
}

impl Attack {
    /// `memory`: by how many mebibytes the front may grow meanwhile.
    pub(crate) fn new(name: &'static str, memory: u64) -> Self {
        Self { name, memory, slack: SLACK }
    }

    /// The attack is a burst of connections.
    pub(crate) fn of_connections(mut self) -> Self {
        self.slack = QUEUE;
        self
    }

    /// Runs the attack with B's requests beside it, and checks what B got and what the front needed. `attack` should
    /// end when A has done its worst, a few seconds in the short form.
    ///
    /// # Panics
    /// If B was not served as promised.
    pub(crate) fn run<T>(&self, server: &Server, attack: impl FnOnce() -> T) -> T {
        let front = process::front(server);
        let quiet = Watch::start(server.port(), front).finish_after(if is_long() { 500 } else { 20 });
        let watch = Watch::start(server.port(), front);
        let result = attack();
        let seen = watch.finish_after(1);
        self.tell(&quiet, &seen);
        assert_eq!(seen.failed, Vec::<String>::new(), "{}: B was refused\n{}", self.name, server.error_log());
        assert_eq!(
            process::front(server),
            front,
            "{}: the front was replaced\n{}",
            self.name,
            server.console()
        );
        let grown = seen.memory.saturating_sub(quiet.memory) / 1024;
        assert!(
            grown <= self.memory,
            "{}: the front grew by {grown} MiB, {} are allowed",
            self.name,
            self.memory
        );
        if is_long() {
            let allowed = quiet.percentile(99) * 10 + self.slack;
            let p99 = seen.percentile(99);
            assert!(p99 <= allowed, "{}: B's p99 is {p99:?}, {allowed:?} is allowed", self.name);
        }
        result
    }

    /// A row of the table in docs/faults.md, where `cargo xtask attack` wants one.
    fn tell(&self, quiet: &Seen, seen: &Seen) {
        let Some(file) = std::env::var_os("HOSTLER_ATTACK_TABLE") else { return };
        let ms = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1000.0);
        let mut row = String::new();
        let _ = writeln!(
            row,
            "| {} | {} | {} | {} | {} | {} |",
            self.name,
            ms(quiet.percentile(99)),
            ms(seen.percentile(50)),
            ms(seen.percentile(99)),
            ms(seen.percentile(100)),
            seen.memory.saturating_sub(quiet.memory) / 1024,
        );
        let file = std::fs::OpenOptions::new().append(true).create(true).open(file);
        file.and_then(|mut file| file.write_all(row.as_bytes())).expect("the table is written");
    }
}
