//! Connections to what is there already: Unix sockets through the site's process, TCP addresses from here.

use super::names::Names;
use super::{Address, Held, Target};
use crate::log;
use crate::request::thread::Thread;
use crate::site::connection::SiteError;
use hostler_config::Server;
use hostler_gateway::backend::stream::Protocol;
use hostler_gateway::supervisor::connect::Host;
use hostler_gateway::upstream::in_turn;
use hostler_gateway::{Error, Kind};
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// For one pool.
pub(super) struct Reach {
    thread: Rc<Thread>,
    server: Arc<Server>,
    target: Arc<Target>,
    names: Arc<Names>,
    held: Held,
    /// The protocol's, for the log.
    module: &'static str,
}

impl Reach {
    pub(super) fn new<P: Protocol>(
        thread: &Rc<Thread>,
        server: &Arc<Server>,
        target: &Arc<Target>,
        names: &Arc<Names>,
        held: Held,
    ) -> Self {
        let (thread, server, target) = (thread.clone(), server.clone(), target.clone());
        Self { thread, server, target, names: names.clone(), held, module: P::NAME }
    }

    async fn unix(&self, path: &[u8]) -> Result<OwnedFd, Error> {
        connect(&self.thread, &self.server, path, self.target.connect_timeout).await
    }

    async fn tcp(&self, host: &str, port: u16) -> Result<OwnedFd, Error> {
        let not_connected = |why: String| Error::because(Kind::NotConnected, why);
        let asker = self.thread.site(&self.server).asker.clone();
        let site = self.thread.shared.sites.of(&self.server);
        let resolved = self.names.resolve(site, &asker, host, port).await;
        let addresses =
            resolved.map_err(|error| Error::because(Kind::NameNotResolved, format!("{host}: {error}")))?;
        let mut last = not_connected(format!("the name {host:?} has no address"));
        for address in in_turn(&addresses) {
            match stream(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = not_connected(format!("{address}: {error}")),
            }
        }
        Err(last)
    }
}

async fn stream(address: std::net::SocketAddr) -> io::Result<OwnedFd> {
    let stream = TcpStream::connect(address).await?;
    // Requests and their bodies are written in pieces as they come.
    stream.set_nodelay(true)?;
    Ok(stream.into_std()?.into())
}

/// Has the site's process connect to a Unix socket.
pub(crate) async fn connect(
    thread: &Rc<Thread>,
    server: &Arc<Server>,
    path: &[u8],
    within: std::time::Duration,
) -> Result<OwnedFd, Error> {
    let site = thread.site(server);
    // A process that has ended in this moment is replaced by another.
    let connected = match site.link().await?.connect(path, within).await {
        Err(SiteError::Gone) => site.link().await?.connect(path, within).await,
        connected => connected,
    };
    connected.map_err(|error| match error {
        SiteError::Connect(why) => {
            Error::because(Kind::NotConnected, format!("unix:{}: {why}", path.escape_ascii()))
        }
        other => other.into(),
    })
}

impl Host for Reach {
    async fn connect(&self) -> Result<OwnedFd, Error> {
        let connected = async {
            match &self.target.address {
                Address::Unix(path) => self.unix(path).await,
                Address::Tcp { host, port } => self.tcp(host, *port).await,
                Address::Program(_) | Address::Programs(..) => Err(Error::new(Kind::System)),
            }
        };
        match timeout(self.target.connect_timeout, connected).await {
            Ok(connected) => connected,
            Err(_) => {
                let why =
                    format!("{}: no connection in {:?}", self.target.address, self.target.connect_timeout);
                Err(Error::because(Kind::NotConnected, why))
            }
        }
    }

    fn room(&self, open: usize) -> usize {
        self.held.room(open)
    }

    fn in_use(&self) {
        self.thread.touch(self.thread.shared.sites.of(&self.server));
    }

    fn line(&self, line: &[u8]) {
        log::program(&self.thread, &self.server, self.module, &self.target.address.to_string(), line);
    }
}
