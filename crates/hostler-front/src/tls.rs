//! TLS: certificates by virtual host.

use crate::connection::Tls;
use crate::thread::Thread;
use hostler_config::{Config, Server};
use serde_bytes::ByteBuf;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use tokio::net::TcpStream;

/// TLS settings of all virtual hosts.
pub(crate) struct Hosts {}

impl Hosts {
    pub(crate) fn new(config: &Config, secrets: &[(String, ByteBuf)]) -> io::Result<Self> {
        let _ = (config, secrets);
        Ok(Self {})
    }
}

/// `SSLEngine on`.
pub(crate) fn is_on(server: &Server) -> bool {
    let _ = server;
    false
}

/// Whether a connection shaken hands for one may serve the other.
pub(crate) fn same_settings(one: &Server, other: &Server) -> bool {
    let _ = (one, other);
    true
}

/// Shakes hands; the flag says that HTTP/2 was agreed on. `None`: it failed.
pub(crate) async fn accept(
    thread: &Rc<Thread>,
    stream: TcpStream,
    local: SocketAddr,
) -> Option<(tokio_rustls::server::TlsStream<TcpStream>, Tls, bool)> {
    let _ = (thread, stream, local);
    None
}
