//! Starting a contestant in the foreground on a free port, and ending all of its processes whatever happens.

use super::companion;
use super::configuration::{self, Place};
use super::cost::Seen;
use super::group::Groups;
use super::kind::{Kind, installed};
use super::processes::{self, Id};
use super::users::site_user;
use super::{Site, permissions};
use anyhow::{Context, Result, bail};
use rustix::process::{Signal, geteuid};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Time limit of a start; a server with a CPU limit takes longer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time limit of an orderly exit.
const FAREWELL: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);
/// The same until it answers: what a start took is told to a millisecond.
const GLANCE: Duration = Duration::from_millis(1);
/// So many ports are there to be tried, two at a time.
const PORTS: usize = 10;
/// Lines of logs that an error shows.
const LAST_LINES: usize = 12;

/// A contestant that runs. Dropping it ends all of its processes.
#[derive(Debug)]
pub struct Running {
    /// The address it listens on.
    pub address: SocketAddr,
    /// Seconds from the start of the program to the first answer.
    pub start_up: f64,
    pub(super) kind: Kind,
    child: Child,
    folder: PathBuf,
    pub(super) groups: Groups,
    pub(super) seen: Mutex<Option<Seen>>,
    /// Sockets and temporary files; removed last.
    _run: TempDir,
}

/// Ports nobody listens on now; a few, since another may take one before the server does.
pub(super) fn free_ports() -> impl Iterator<Item = u16> {
    let free = || Some(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok()?.local_addr().ok()?.port());
    std::iter::repeat_with(free).take(PORTS).flatten()
}

/// Starts it on the first of these ports that is not taken; what is behind it has the port after that.
pub(super) fn start(
    kind: Kind,
    site: &Site,
    folder: &Path,
    ports: &mut dyn Iterator<Item = u16>,
) -> Result<Running> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let folder = folder.canonicalize()?;
    permissions::open(site)?;
    let mut failure = None;
    while let Some((port, second)) = ports.next().zip(ports.next()) {
        let mut running = spawn(kind, site, &folder, port, second)?;
        match running.wait() {
            Ok(()) => return Ok(running),
            Err(e) if port_taken(&format!("{e:#}")) => failure = Some(e),
            Err(e) => return Err(e),
        }
    }
    Err(failure.unwrap_or_else(|| anyhow::anyhow!("no free port on 127.0.0.1")))
}

/// Returns whether a server's message means that its port is taken: the system's text for `EADDRINUSE`, or a text of
/// its own, as gunicorn's.
pub(super) fn port_taken(message: &str) -> bool {
    let message = message.to_lowercase();
    ["address already in use", "connection in use", TAKEN].iter().any(|said| message.contains(said))
}

const TAKEN: &str = "another program listens on its port";

fn spawn(kind: Kind, site: &Site, folder: &Path, port: u16, second: u16) -> Result<Running> {
    let run = tempfile::Builder::new().prefix("hostler-lab-run-").tempdir()?;
    fs::set_permissions(run.path(), fs::Permissions::from_mode(0o755))?;
    fs::write(run.path().join("mime.types"), configuration::TYPES)?;
    let state = run.path().join("state");
    fs::create_dir(&state)?;
    if geteuid().is_root() {
        std::os::unix::fs::chown(&state, Some(site_user()), Some(site_user()))?;
    }
    let place = Place { port, second, folder, run: run.path() };
    let file = folder.join("server.conf");
    fs::write(&file, configuration::text(kind, site, place))
        .with_context(|| format!("cannot write {}", file.display()))?;
    // So that the lines that an error shows are those of this start.
    fs::write(folder.join("error.log"), "")?;
    fs::write(folder.join(companion::LOG), "")?;
    let console = File::create(folder.join("console"))?;
    let groups = Groups::new(site.cpu)?;
    let mut command = wrapped(&arguments(kind, site, place, &file)?, &groups);
    command.envs(site.environment.iter().map(|(name, value)| (name, value))).current_dir("/");
    command.stdin(Stdio::null()).stdout(console.try_clone()?).stderr(console);
    let child = command.spawn().with_context(|| format!("cannot run {}", kind.name()))?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let seen = Mutex::new(None);
    Ok(Running { address, start_up: 0.0, kind, child, folder: folder.to_owned(), groups, seen, _run: run })
}

/// Starman's own usual number is five, and each connection that stays open takes one: as many as Apache prefork begins
/// with.
const STARMAN_WORKERS: u32 = 64;

/// The command that runs it in the foreground.
fn arguments(kind: Kind, site: &Site, place: Place<'_>, file: &Path) -> Result<Vec<String>> {
    let program = kind.program().with_context(|| format!("{} is not installed", kind.name()))?;
    let mut words = vec![program.to_string_lossy().into_owned()];
    let file = file.to_string_lossy().into_owned();
    match kind {
        Kind::Hostler | Kind::HostlerAjp => {
            words.extend(["run".to_owned(), "-f".to_owned(), file]);
            if !geteuid().is_root() {
                words.push("--single-user".to_owned());
            }
            if kind == Kind::HostlerAjp {
                words = companion::before_tomcat(site, place, &words)?;
            }
        }
        Kind::Gunicorn => words.extend(companion::gunicorn(site, place)?),
        Kind::Uvicorn => words = companion::uvicorn(site, place, words)?,
        Kind::Granian => words = companion::granian(site, place, words, "wsgi")?,
        Kind::GranianAsgi => words = companion::granian(site, place, words, "asgi")?,
        Kind::Tomcat => words = companion::tomcat_at(site, place, place.port)?,
        Kind::ApacheAjp => {
            words.extend(["-DFOREGROUND".to_owned(), "-f".to_owned(), file]);
            words = companion::before_tomcat(site, place, &words)?;
        }
        Kind::NginxFpm => {
            let log = place.folder.join("error.log").to_string_lossy().into_owned();
            words.extend(["-e".to_owned(), log, "-c".to_owned(), file]);
            words = companion::before_fpm(site, place, &words)?;
        }
        Kind::ApacheFpm => {
            words.extend(["-DFOREGROUND".to_owned(), "-f".to_owned(), file]);
            words = companion::before_fpm(site, place, &words)?;
        }
        Kind::Nginx => {
            let log = place.folder.join("error.log").to_string_lossy().into_owned();
            words.extend(["-e".to_owned(), log, "-c".to_owned(), file]);
        }
        Kind::ApachePrefork | Kind::ApacheEvent | Kind::ApacheItk => {
            words.extend(["-DFOREGROUND".to_owned(), "-f".to_owned(), file]);
        }
        Kind::Starman => {
            words.extend(["--listen".to_owned(), format!("127.0.0.1:{}", place.port)]);
            if geteuid().is_root() {
                let user = site_user();
                words.extend(["--user".to_owned(), user.to_string()]);
                words.extend(["--group".to_owned(), user.to_string()]);
            }
            words.push(format!("--workers={STARMAN_WORKERS}"));
            let own = site.own.get(kind.name()).map_or("", String::as_str);
            let own = configuration::filled(own, kind, site, place);
            words.extend(own.lines().map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned));
            words.extend(site.workers.map(|workers| format!("--workers={workers}")));
            words.push(site.root.join("app.psgi").to_string_lossy().into_owned());
        }
    }
    let Some(script) = site.first.get(kind.name()) else { return Ok(words) };
    companion::before_programs(place, &configuration::filled(script, kind, site, place), &words)
}

/// The command, started so that it is in its control groups from its first instruction, leads a process group (an
/// interrupt of the lab does not reach it) and is told to end when the lab is killed.
fn wrapped(words: &[String], groups: &Groups) -> Command {
    let mut command = Command::new("/bin/sh");
    let script = "while [ \"$1\" != -- ]; do echo $$ >\"$1\" || exit 71; shift; done; shift; exec \"$@\"";
    command.args(["-c", script, "sh"]).args(groups.entrances()).arg("--");
    if let Some(setpriv) = installed("setpriv") {
        command.arg(setpriv).args(["--pdeathsig", "TERM"]);
    }
    command.args(words).process_group(0);
    command
}

impl Running {
    /// The first process; the others descend from it.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it answers something.
    fn wait(&mut self) -> Result<()> {
        let begin = Instant::now();
        loop {
            if let Some(how) = self.ended() {
                bail!("{} does not start: it {how}\n{}", self.kind.name(), self.last_lines());
            }
            if answers(self.address) {
                break;
            }
            if begin.elapsed() > PATIENCE {
                let seconds = PATIENCE.as_secs();
                bail!("{} did not answer in {seconds} s\n{}", self.kind.name(), self.last_lines());
            }
            std::thread::sleep(GLANCE);
        }
        let pids = self.processes().into_iter().map(|stat| stat.id.pid);
        if processes::listens(pids, self.address.port()) == Some(false) {
            bail!("{} does not start: {TAKEN}", self.kind.name());
        }
        self.start_up = begin.elapsed().as_secs_f64();
        Ok(())
    }

    /// Returns how its first process has ended, if it has.
    pub(super) fn ended(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| format!("ended by itself ({status})"))
    }

    /// The last lines of its console and its logs, and where its configuration is.
    pub(super) fn last_lines(&self) -> String {
        let mut text = String::new();
        for name in ["console", companion::LOG, "error.log"] {
            let all = fs::read(self.folder.join(name)).unwrap_or_default();
            let all = String::from_utf8_lossy(&all);
            let lines: Vec<_> = all.lines().filter(|line| !line.trim().is_empty()).collect();
            for line in lines.iter().skip(lines.len().saturating_sub(LAST_LINES)) {
                text.push_str(line);
                text.push('\n');
            }
        }
        text + &format!("its configuration: {}", self.folder.join("server.conf").display())
    }

    /// All processes of it, as far as they can be told, and those known from before.
    fn known_processes(&self, known: &mut BTreeSet<Id>) {
        let mut more = self.groups.members().unwrap_or_default();
        more.extend(known.iter().filter(|id| id.lives()).map(|id| id.pid));
        known.extend(processes::tree(self.pid(), &more).into_iter().map(|stat| stat.id));
        known.retain(|id| id.lives());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut known = BTreeSet::new();
        let seen = self.seen.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        known.extend(seen.into_iter().flat_map(Seen::processes));
        self.known_processes(&mut known);
        if let Some(main) = known.iter().find(|id| id.pid == self.child.id()) {
            main.signal(Signal::TERM);
        }
        let begin = Instant::now();
        while begin.elapsed() < FAREWELL {
            let ended = matches!(self.child.try_wait(), Ok(Some(_)) | Err(_));
            self.known_processes(&mut known);
            if ended && known.is_empty() {
                return;
            }
            if ended && begin.elapsed() > FAREWELL / 5 {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        for _ in 0..100 {
            known.iter().for_each(|id| id.signal(Signal::KILL));
            let _ = self.child.try_wait();
            self.known_processes(&mut known);
            if known.is_empty() {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        let _ = self.child.wait();
    }
}

/// Returns whether something that is asked for is answered.
fn answers(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.set_write_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        Ok(stream.read(&mut [0; 64])? > 0)
    };
    ask().unwrap_or(false)
}
