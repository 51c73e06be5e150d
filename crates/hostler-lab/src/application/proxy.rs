//! A server behind a server: an nginx of the run's own, which answers a word and a file. For `cargo xtask bench`.

use super::daemon::{self, Daemon, User};
use super::files::{self, Files, files};
use super::{LaidOut, Server, Technique, probe};
use crate::contestant::{self, Site};
use anyhow::{Context, Result};
use rustix::process::Signal;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use tempfile::TempDir;

const FILES: Files = files!["proxy": "htdocs/index.html"];
const CONFIGURATION: &str = include_str!("../../../../lab/applications/proxy/site.conf");
const BACKEND: &str = include_str!("../../../../lab/applications/proxy/backend.conf");
/// nginx's files as a contestant.
const OWN: [(&str, &str); 2] = [
    ("nginx", include_str!("../../../../lab/applications/proxy/nginx.conf")),
    ("nginx-http", include_str!("../../../../lab/applications/proxy/nginx-http.conf")),
];
const LARGE: usize = 10 << 20;

/// The server behind. Dropping it ends it and removes its files.
#[derive(Debug)]
pub(super) struct Backend {
    #[expect(dead_code, reason = "kept for its end, which comes before its folder's")]
    server: Daemon,
    #[expect(dead_code, reason = "kept for its end")]
    folder: TempDir,
    port: u16,
}

pub(super) fn techniques() -> Vec<Technique> {
    let missing = contestant::program("nginx").is_none();
    let why = "the server behind is an nginx, which is not installed; apt-get install nginx-light";
    vec![probe::technique("proxy", missing.then(|| why.to_owned()))]
}

pub(super) fn lay_out(root: &Path) -> Result<LaidOut> {
    files::write_all(root, FILES)?;
    let backend = Backend::start()?;
    let filled = |text: &str| text.replace("@BACKEND@", &backend.port.to_string());
    let site = Site {
        root: root.to_owned(),
        configuration: filled(CONFIGURATION),
        own: OWN.iter().map(|(name, text)| ((*name).to_owned(), filled(text))).collect(),
        ..Site::default()
    };
    Ok(LaidOut { site, database: Some(Server::Backend(backend)) })
}

impl Backend {
    /// Starts it and waits until somebody can connect.
    fn start() -> Result<Self> {
        let program = contestant::program("nginx").context("nginx is not installed")?;
        let folder = tempfile::Builder::new().prefix("hostler-lab-behind-").tempdir()?;
        let user = User::find()?;
        daemon::open(folder.path(), &user)?;
        let sbin = program.parent().context("a program has a folder")?.to_owned();
        let sbin = daemon::reachable(sbin, "sbin", folder.path(), &user)?;
        files::write(folder.path(), "files/large.bin", &vec![b'x'; LARGE])?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let text = BACKEND
            .replace("@FOLDER@", &folder.path().to_string_lossy())
            .replace("@FILES@", &folder.path().join("files").to_string_lossy())
            .replace("@PORT@", &port.to_string());
        files::write(folder.path(), "nginx.conf", text.as_bytes())?;
        let mut command = user.command(&sbin.join("nginx"), "TERM");
        command.args(["-e", "stderr", "-c"]).arg(folder.path().join("nginx.conf"));
        let mut server = Daemon::start("the nginx behind", command, folder.path(), Signal::TERM)?;
        server.await_that(folder.path(), || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok())?;
        Ok(Self { server, folder, port })
    }
}
