//! A site on disk in its own temporary folder, built step by step.

use crate::server::{Server, free_port, hostler, is_root};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The user and group that sites run as when the tests run as root. The number belongs to nobody.
pub const SITE_UID: u32 = 64_199;

/// A folder with a site's files and its configuration; deleted when dropped.
///
/// Paths are relative to the folder, which is also the ServerRoot. `htdocs` is the document root.
#[derive(Debug)]
pub struct Site {
    folder: TempDir,
    config: String,
    plain: bool,
    arguments: Vec<OsString>,
    environment: Vec<(String, String)>,
    descriptors: Option<u32>,
    command: PathBuf,
}

impl Default for Site {
    fn default() -> Self {
        Self::new()
    }
}

impl Site {
    /// An empty document root, readable by every user.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("hostler-test-").tempdir().expect("a temporary folder");
        let site = Self {
            folder,
            config: String::new(),
            plain: false,
            arguments: Vec::new(),
            environment: Vec::new(),
            descriptors: None,
            command: PathBuf::new(),
        };
        site.mode(".", 0o755).dir("htdocs").dir("logs")
    }

    /// Returns the root of its files.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// The absolute path of something in the site.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Makes a folder (mode 0755) and those above it.
    #[must_use]
    pub fn dir(self, name: &str) -> Self {
        let mut made = self.root().to_path_buf();
        for part in Path::new(name).components() {
            made.push(part);
            if !made.exists() {
                fs::create_dir(&made).expect("a folder of the site");
                set_mode(&made, 0o755);
            }
        }
        self
    }

    /// Writes a file (mode 0644), and the folders above it.
    #[must_use]
    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.with_mode(name, content.as_ref(), 0o644)
    }

    /// Writes an executable file (mode 0755).
    #[must_use]
    pub fn script(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.with_mode(name, content.as_ref(), 0o755)
    }

    /// Changes the mode of a file or folder.
    #[must_use]
    pub fn mode(self, name: &str, mode: u32) -> Self {
        set_mode(&self.path(name), mode);
        self
    }

    /// Gives a file or folder (not what is below it) to a user and the group of the same number. Needs root.
    #[must_use]
    pub fn owner(self, name: &str, uid: u32) -> Self {
        chown(self.path(name), Some(uid), Some(uid)).expect("root may give files away");
        self
    }

    /// Adds configuration; `@ROOT@` stands for the site's folder, `@PORT@` for its first port.
    #[must_use]
    pub fn config(mut self, text: &str) -> Self {
        self.config.push_str(text);
        self.config.push('\n');
        self
    }

    /// Uses only what [`Site::config`] says: no ServerRoot, Listen, User or DocumentRoot of the harness's own.
    #[must_use]
    pub fn plain(mut self) -> Self {
        self.plain = true;
        self
    }

    /// Adds an argument to `hostler run -f FILE`.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Sets a variable in the server's own environment; `@ROOT@` and `@PORT@` as in [`Site::config`].
    #[must_use]
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts the server with this limit of open descriptors, soft and hard.
    #[must_use]
    pub fn descriptors(mut self, most: u32) -> Self {
        self.descriptors = Some(most);
        self
    }

    /// Starts this `hostler`, with the programs beside it, instead of the one that was built.
    #[must_use]
    pub fn command(mut self, hostler: impl Into<PathBuf>) -> Self {
        self.command = hostler.into();
        self
    }

    /// Writes the configuration to `httpd.conf` for this port, without starting anything.
    #[must_use]
    pub fn write_config(&self, port: u16) -> PathBuf {
        let file = self.path("httpd.conf");
        fs::write(&file, self.configuration(port)).expect("the configuration");
        file
    }

    /// Starts `hostler run` and waits until it answers.
    ///
    /// # Panics
    /// With what the server printed, where it does not come up.
    #[must_use]
    pub fn start(self) -> Server {
        self.try_start().unwrap_or_else(|printed| panic!("hostler does not start:\n{printed}"))
    }

    /// As [`Site::start`], for a server that is expected to refuse.
    ///
    /// # Errors
    /// The output of a server that ended.
    pub fn try_start(self) -> Result<Server, String> {
        let port = free_port();
        let file = self.write_config(port);
        let program = self.program();
        let filled = |(name, value): &(String, String)| (name.clone(), self.filled(value, port));
        let environment: Vec<_> = self.environment.iter().map(filled).collect();
        Server::start(self, program, &file, port, &environment)
    }

    /// The command up to `run`; the shell sets limits that a process can only set for itself.
    fn program(&self) -> Command {
        let hostler = if self.command.as_os_str().is_empty() { hostler() } else { self.command.clone() };
        let Some(most) = self.descriptors else { return Command::new(hostler) };
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(format!("ulimit -n {most}; exec \"$0\" \"$@\"")).arg(hostler);
        command
    }

    pub(crate) fn arguments(&self) -> &[OsString] {
        &self.arguments
    }

    fn with_mode(self, name: &str, content: &[u8], mode: u32) -> Self {
        let parent = Path::new(name).parent().and_then(Path::to_str).unwrap_or_default().to_owned();
        let site = self.dir(&parent);
        let path = site.path(name);
        fs::write(&path, content).expect("a file of the site");
        set_mode(&path, mode);
        site
    }

    fn filled(&self, text: &str, port: u16) -> String {
        text.replace("@ROOT@", &self.root().to_string_lossy()).replace("@PORT@", &port.to_string())
    }

    fn configuration(&self, port: u16) -> String {
        let identity =
            if is_root() { format!("User #{SITE_UID}\nGroup #{SITE_UID}\n") } else { String::new() };
        let prologue = format!(
            "ServerRoot \"@ROOT@\"\nListen 127.0.0.1:@PORT@\nServerName localhost\nPidFile \"@ROOT@/hostler.pid\"\n\
             ErrorLog \"@ROOT@/logs/error.log\"\nCustomLog \"@ROOT@/logs/access.log\" \"%h %u \\\"%r\\\" %>s %B\"\n\
             DocumentRoot \"@ROOT@/htdocs\"\n<Directory \"@ROOT@/htdocs\">\n  Require all granted\n</Directory>\n{identity}"
        );
        let text = if self.plain { self.config.clone() } else { prologue + &self.config };
        self.filled(&text, port)
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the mode of a file of the site");
}
