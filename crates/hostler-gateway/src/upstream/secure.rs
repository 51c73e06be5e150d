//! TLS to other servers: what a connection is made with. Who is believed is decided by whoever makes the settings.

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::fmt;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The TLS settings for a server. Connections made with other settings are not used for it.
#[derive(Clone)]
pub struct Secure {
    /// Identifies these settings.
    pub settings: Arc<ClientConfig>,
    /// Whom the server has to be, and what it is told of that, unless it is an address (RFC 6066 §3).
    pub name: ServerName<'static>,
}

impl fmt::Debug for Secure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secure").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PartialEq for Secure {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.settings, &other.settings) && self.name == other.name
    }
}

impl Secure {
    pub(super) async fn connect<S>(&self, socket: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        TlsConnector::from(self.settings.clone()).connect(self.name.clone(), socket).await
    }
}
