//! Starts apache2 or Hostler on a tree, waits until it answers, and ends it whatever happens.

use crate::backends::{self, Backends};
use crate::scripted::{Answers, Scripted};
use crate::table::{FileSpec, Subject};
use crate::tree::Tree;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

const APACHE: &str = "/usr/sbin/apache2";
const APACHE_MODULES: &str = "/usr/lib/apache2/modules";
const STARTED_WITHIN: Duration = Duration::from_secs(15);
const STOPPED_WITHIN: Duration = Duration::from_secs(4);

/// Modules of every subject: everything that this slice of Hostler implements.
const MODULES: [&str; 25] = [
    "mpm_prefork",
    "access_compat",
    "actions",
    "alias",
    "auth_basic",
    "authn_core",
    "authn_file",
    "authz_core",
    "authz_groupfile",
    "authz_host",
    "authz_user",
    "autoindex",
    "brotli",
    "cgi",
    "deflate",
    "dir",
    "env",
    "expires",
    "filter",
    "headers",
    "include",
    "mime",
    "setenvif",
    "reqtimeout",
    "allowmethods",
];

/// The message when there is no program to test.
pub(crate) const NO_BINARY: &str = "no hostler binary: run `make build` first, or name one in HOSTLER_BIN; \
     HOSTLER_UNDER_TEST=apache checks the table against Apache alone";

/// The server under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The packaged apache2, the model.
    Apache,
    /// The server that is built here.
    Hostler,
}

impl Kind {
    /// One letter for paths, so that both trees have paths of one length.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::Apache => 'a',
            Self::Hostler => 'h',
        }
    }
}

/// Returns whether apache2 is installed.
#[must_use]
pub fn apache_installed() -> bool {
    Path::new(APACHE).exists()
}

/// mod_php's file, which has PHP's version in its name: of the version that our engine runs, else one that is there.
fn mod_php() -> &'static str {
    static FILE: OnceLock<String> = OnceLock::new();
    FILE.get_or_init(|| {
        let file = |version: &str| format!("libphp{version}.so");
        let engine = hostler_binary().map(|hostler| hostler.with_file_name("hostler-php"));
        let asked = engine.and_then(|engine| Command::new(engine).arg("--version").output().ok());
        let said = asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        let version = said.as_deref().and_then(|said| said.rsplit_once(" for PHP ")?.1.rsplit_once('.'));
        if let Some((version, _)) = version {
            return file(version);
        }
        let names = fs::read_dir(APACHE_MODULES).into_iter().flatten().flatten();
        let mut names = names.filter_map(|entry| entry.file_name().into_string().ok());
        names.find(|name| name.starts_with("libphp")).unwrap_or_else(|| file(""))
    })
}

/// The first module of a subject that is not installed for Apache.
#[must_use]
pub fn missing_module(subject: &Subject) -> Option<&str> {
    let file = |name: &str| if name == "php" { mod_php().to_owned() } else { format!("mod_{name}.so") };
    let missing = |name: &&String| !Path::new(APACHE_MODULES).join(file(name)).exists();
    subject.modules.iter().find(missing).map(String::as_str)
}

/// The `hostler` command: `HOSTLER_BIN`, or beside the folder this test was built in.
#[must_use]
pub fn hostler_binary() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("HOSTLER_BIN") {
        return Some(PathBuf::from(path));
    }
    let test = std::env::current_exe().ok()?;
    let profile = test.parent()?.parent()?;
    let target = profile.parent()?;
    let candidates = [profile.to_owned(), target.join("release"), target.join("debug")];
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let all = candidates.into_iter().chain([workspace.join("release"), workspace.join("debug")]);
    all.map(|folder| folder.join("hostler")).find(|path| path.is_file())
}

/// A running server. Dropping it kills every process of its group.
#[derive(Debug)]
pub struct Server {
    /// Its files and ports.
    pub tree: Tree,
    child: Child,
    _backends: Backends,
    /// They live as long.
    _servers: Vec<Scripted>,
}

impl Server {
    /// Writes the tree below `parent` and starts a server on it.
    ///
    /// # Errors
    /// A sentence with what the server printed, where it does not come up.
    pub fn start(kind: Kind, subject: &Subject, parent: &Path) -> Result<Self, String> {
        let root = parent.join(format!("{}-{}", kind.letter(), subject.name));
        let (listeners, mut named) = servers(subject)?;
        let mut sockets = Vec::new();
        for name in subject.backends.keys().filter_map(|key| key.strip_prefix(backends::TCP)) {
            let port = free_port()?;
            sockets.push(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| error.to_string())?);
            named.push((name.to_owned(), port));
        }
        // What an earlier start on it has left.
        let _ = fs::remove_dir_all(&root);
        let tree = Tree { root, ports: [free_port()?, free_port()?], named, owner: unprivileged() };
        let failed = |error: std::io::Error| format!("{kind:?} on {}: {error}", subject.name);
        tree.populate(&subject.files).map_err(failed)?;
        let types = FileSpec::Text(include_str!("mime.types").to_owned());
        tree.write("conf/mime.types", &types).map_err(failed)?;
        link_modules(&tree.root).map_err(failed)?;
        prepare(subject, &tree)?;
        let configuration = tree.root.join("conf/httpd.conf");
        fs::write(&configuration, configured(&tree, subject)).map_err(failed)?;
        let start = |(name, listener, answers): (String, TcpListener, &Answers)| {
            let answers = answers.iter().map(|(path, answer)| (path.clone(), tree.fill(answer))).collect();
            Scripted::start(name, listener, answers)
        };
        let servers = listeners.into_iter().map(start).collect::<Result<_, _>>().map_err(failed)?;
        let backends = Backends::start(subject, &tree, sockets)?;
        let child = spawn(kind, &configuration, subject, &tree)?;
        let mut server = Self { tree, child, _backends: backends, _servers: servers };
        server.await_ready(kind, &subject.name)?;
        Ok(server)
    }

    /// Returns the address of the first or the second port.
    #[must_use]
    pub fn address(&self, second: bool) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.tree.ports[usize::from(second)]))
    }

    fn await_ready(&mut self, kind: Kind, subject: &str) -> Result<(), String> {
        let deadline = Instant::now() + STARTED_WITHIN;
        loop {
            let ended = self.child.try_wait().ok().flatten();
            if ended.is_none() && TcpStream::connect(self.address(false)).is_ok() {
                return Ok(());
            }
            if ended.is_some() || Instant::now() > deadline {
                let printed = fs::read_to_string(self.tree.root.join("logs/console")).unwrap_or_default();
                let errors = fs::read_to_string(self.tree.root.join("logs/error.log")).unwrap_or_default();
                return Err(format!("{kind:?} does not start on {subject}: {ended:?}\n{printed}{errors}"));
            }
            // Time: looks again.
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let Some(group) = group else { return };
        let _ = rustix::process::kill_process(group, Signal::TERM);
        let deadline = Instant::now() + STOPPED_WITHIN;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            // Time: looks again.
            thread::sleep(Duration::from_millis(10));
        }
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

fn spawn(kind: Kind, configuration: &Path, subject: &Subject, tree: &Tree) -> Result<Child, String> {
    let mut command = match kind {
        Kind::Apache => {
            let mut command = apache();
            // The default, a robust mutex, is lost now and then when a program is killed.
            let mutex = format!("Mutex fcntl:{}/logs", tree.root.display());
            command.args(["-DFOREGROUND", "-c", &mutex, "-f"]).arg(configuration);
            command
        }
        Kind::Hostler => {
            let binary = hostler_binary().ok_or(NO_BINARY)?;
            let mut command = Command::new(binary);
            command.arg("run").arg("-f").arg(configuration);
            command
        }
    };
    let console = File::create(tree.root.join("logs/console")).map_err(|error| error.to_string())?;
    let again = console.try_clone().map_err(|error| error.to_string())?;
    command.stdin(Stdio::null()).stdout(console).stderr(again).process_group(0);
    // As services are started: the checkout's own folder may be closed to the servers' user.
    command.current_dir("/");
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("TZ", "UTC").env("LANG", "C");
    for (name, value) in &subject.environment {
        command.env(name, tree.fill(value));
    }
    command.spawn().map_err(|error| format!("{kind:?}: {error}"))
}

fn configured(tree: &Tree, subject: &Subject) -> String {
    tree.fill(&format!("{}\n{}", prologue(&subject.modules, tree.owner.is_some()), subject.config))
}

/// A whole configuration for a folder and two ports that nobody is going to open.
pub(crate) fn configuration(root: &Path, config: &str) -> String {
    let tree =
        Tree { root: root.to_owned(), ports: [65_534, 65_535], named: Vec::new(), owner: unprivileged() };
    tree.fill(&format!("{}\n{config}", prologue(&[], tree.owner.is_some())))
}

/// Makes `modules/mod_x.so` resolve below a ServerRoot.
pub(crate) fn link_modules(root: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(APACHE_MODULES, root.join("modules"))
}

/// apache2, without arguments yet.
pub(crate) fn apache() -> Command {
    Command::new(APACHE)
}

fn prologue(extra: &[String], as_root: bool) -> String {
    let modules: Vec<String> = MODULES
        .into_iter()
        .chain(extra.iter().map(String::as_str))
        .map(|name| match name {
            "php" => format!("LoadModule php_module modules/{}", mod_php()),
            name => format!("LoadModule {name}_module modules/mod_{name}.so"),
        })
        .collect();
    let identity = if as_root { "User www-data\nGroup www-data" } else { "" };
    include_str!("prologue.conf").replace("@MODULES@", &modules.join("\n")).replace("@IDENTITY@", identity)
}

/// www-data's ids, as Debian fixes them, when run by root.
fn unprivileged() -> Option<(u32, u32)> {
    rustix::process::geteuid().is_root().then_some((33, 33))
}

/// A server behind the one that is tested, before it is started: its name, where it listens, what it says.
type Behind<'s> = (String, TcpListener, &'s Answers);

/// Names and ports.
type Ports = Vec<(String, u16)>;

/// The listeners of the servers behind, and all ports; at `@DEAD@` nobody listens.
fn servers(subject: &Subject) -> Result<(Vec<Behind<'_>>, Ports), String> {
    let (mut listeners, mut ports) = (Vec::new(), Vec::new());
    for (name, answers) in &subject.servers {
        let port = free_port()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| error.to_string())?;
        listeners.push((name.clone(), listener, answers));
        ports.push((name.clone(), port));
    }
    if !ports.is_empty() || subject.backends.keys().any(|key| key.starts_with(backends::TCP)) {
        ports.push(("DEAD".to_owned(), free_port()?));
    }
    Ok((listeners, ports))
}

/// A free port of five digits which this process has not handed out before.
fn free_port() -> Result<u16, String> {
    static USED: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let mut used = USED.lock().map_err(|error| error.to_string())?;
    for _ in 0..1000 {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        let port = listener.local_addr().map_err(|error| error.to_string())?.port();
        // Bodies of digits in their order would be taken to name it.
        let is_counting = "01234567890".contains(&port.to_string());
        if port >= 10_000 && !is_counting && used.insert(port) {
            return Ok(port);
        }
    }
    Err("no free port".to_owned())
}

/// Runs the subject's script in the tree.
fn prepare(subject: &Subject, tree: &Tree) -> Result<(), String> {
    let Some(script) = &subject.prepare else { return Ok(()) };
    let made = Command::new("sh").args(["-ec", &tree.fill(script)]).current_dir(&tree.root).output();
    let made = made.map_err(|error| format!("sh: {error}"))?;
    if made.status.success() {
        return Ok(());
    }
    Err(format!("what {} prepares fails: {}", subject.name, String::from_utf8_lossy(&made.stderr)))
}
