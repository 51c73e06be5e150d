//! Servers for what takes no load: Hostler, nginx, Apache in two of its ways; each with a configuration that serves
//! files.

use crate::bench::site::Site;
use crate::cargo;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

/// A server and its way of working.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Hostler,
    Nginx,
    ApacheEvent,
    ApachePrefork,
}

impl Kind {
    /// As the report calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hostler => "Hostler",
            Self::Nginx => "nginx",
            Self::ApacheEvent => "Apache event",
            Self::ApachePrefork => "Apache prefork",
        }
    }

    /// The program, if it is there.
    pub(crate) fn program(self) -> Option<PathBuf> {
        let candidates = match self {
            Self::Hostler => vec![cargo::programs("release").join("hostler")],
            Self::Nginx => {
                vec!["/usr/sbin/nginx".into(), cargo::workspace().join("target/oracle/nginx/usr/sbin/nginx")]
            }
            Self::ApacheEvent | Self::ApachePrefork => vec![PathBuf::from("/usr/sbin/apache2")],
        };
        candidates.into_iter().find(|path| path.is_file())
    }

    fn configuration(self, site: &Site, port: u16, extra: &str) -> String {
        let text = match self {
            Self::Hostler => {
                // What nobody else here can offer: the site's files belong to a user of its own.
                let own = if is_root() { "AssignUserID \"#64101\" \"#64101\"\n" } else { "" };
                format!("{APACHE}{own}{extra}")
            }
            Self::Nginx => format!("{}{NGINX}", if is_root() { "user www-data;\n" } else { "" }),
            Self::ApacheEvent => format!("{EVENT}{MODULES}{APACHE}{extra}"),
            Self::ApachePrefork => format!("{PREFORK}{MODULES}{APACHE}{extra}"),
        };
        let identity = if is_root() { "User \"#64100\"\nGroup \"#64100\"\n" } else { "" };
        let run = site.path(&format!("run/{port}"));
        text.replace("@IDENTITY@", identity)
            .replace("@ROOT@", &site.root().to_string_lossy())
            .replace("@RUN@", &run.to_string_lossy())
            .replace("@PORT@", &port.to_string())
    }

    /// The command that runs it in the foreground with its configuration in `file`.
    pub(crate) fn command(self, file: &Path) -> Result<Command> {
        let program = self.program().with_context(|| format!("{} is not installed", self.name()))?;
        // A group of its own, since Apache ends its whole group; so an interrupt does not reach it, and the system
        // is asked to end it when the bench ends.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM"]).arg(program).process_group(0);
        match self {
            Self::Hostler => command.arg("run").arg("-f").arg(file),
            Self::Nginx => command.arg("-e").arg(file.with_file_name("error.log")).arg("-c").arg(file),
            Self::ApacheEvent | Self::ApachePrefork => command.arg("-DFOREGROUND").arg("-f").arg(file),
        };
        Ok(command)
    }
}

/// A contestant that runs. Dropping it ends it.
pub(crate) struct Running {
    pub(crate) port: u16,
    child: Child,
    /// From the start of the program until it took a connection.
    pub(crate) start_up: Duration,
}

impl Running {
    /// Starts one on a free port and waits until it takes connections. `extra` is more configuration in Apache's
    /// language (nginx does not get it).
    pub(crate) fn start(kind: Kind, site: &Site, extra: &str) -> Result<Self> {
        let port = free_port()?;
        let file = write_configuration(kind, site, port, extra)?;
        let console = File::create(file.with_file_name("console"))?;
        let mut command = kind.command(&file)?;
        command.stdin(Stdio::null()).stdout(console.try_clone()?).stderr(console);
        let begin = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot run {}", cargo::shown(&command)))?;
        let mut running = Self { port, child, start_up: Duration::ZERO };
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if running.child.try_wait()?.is_some() || begin.elapsed() > PATIENCE {
                let said = |name| fs::read_to_string(file.with_file_name(name)).unwrap_or_default();
                bail!("{} does not start:\n{}{}", kind.name(), said("console"), said("error.log"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        running.start_up = begin.elapsed();
        Ok(running)
    }

    /// The first process; the others descend from it.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::TERM);
        }
        let begin = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if begin.elapsed() > PATIENCE {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Writes the configuration for a port to a folder of its own.
pub(crate) fn write_configuration(kind: Kind, site: &Site, port: u16, extra: &str) -> Result<PathBuf> {
    let folder = site.path(&format!("run/{port}"));
    fs::create_dir_all(&folder)?;
    let file = folder.join("server.conf");
    fs::write(&file, kind.configuration(site, port, extra))?;
    Ok(file)
}

/// A port nobody listens on.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The same for Hostler and both Apaches.
const APACHE: &str = r#"ServerRoot "@ROOT@"
Listen 127.0.0.1:@PORT@
ServerName localhost
PidFile "@RUN@/pid"
ErrorLog "@RUN@/error.log"
LogLevel warn
@IDENTITY@
Timeout 60
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 300
EnableSendfile On
DocumentRoot "@ROOT@/htdocs"
AddType text/html .html
<Directory "/">
    AllowOverride None
    Require all denied
</Directory>
<Directory "@ROOT@/htdocs">
    Require all granted
</Directory>
"#;

const MODULES: &str = r#"DefaultRuntimeDir "@RUN@"
TypesConfig /dev/null
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule mime_module /usr/lib/apache2/modules/mod_mime.so
"#;

const PREFORK: &str = r#"LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
StartServers 64
MinSpareServers 64
MaxSpareServers 100
MaxRequestWorkers 150
"#;

const EVENT: &str = r#"LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
StartServers 2
ThreadsPerChild 64
MaxRequestWorkers 128
"#;

const NGINX: &str = r#"daemon off;
pid @RUN@/pid;
error_log @RUN@/error.log;
worker_processes auto;
events { worker_connections 20000; }
http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    keepalive_timeout 300s;
    types { text/html html; }
    client_body_temp_path @RUN@/body;
    proxy_temp_path @RUN@/proxy;
    fastcgi_temp_path @RUN@/fastcgi;
    uwsgi_temp_path @RUN@/uwsgi;
    scgi_temp_path @RUN@/scgi;
    server {
        listen 127.0.0.1:@PORT@;
        root @ROOT@/htdocs;
    }
}
"#;
