//! The address of a server, and connecting to it.

use super::{Connection, Upstream, UpstreamSettings};
use crate::lookup;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpSocket;
use tokio::time::timeout;

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// At a host's port, by its name or address.
    Tcp(Box<str>, u16),
    /// At a Unix socket, absolute. Who connects to it is not decided here.
    Unix(Box<str>),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{path}"),
        }
    }
}

/// Why there is no connection.
#[derive(Debug)]
pub enum NotConnected {
    /// The name has no address.
    Name(String),
    /// It could not be made.
    Failed(io::Error),
    /// It took too long.
    Timeout(Duration),
    /// As many as may be are in use (`max`).
    Full,
    /// The handshake of TLS has failed.
    Handshake(io::Error),
}

impl fmt::Display for NotConnected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(why) => write!(f, "DNS lookup failure: {why}"),
            Self::Failed(error) => write!(f, "it can't be connected to: {error}"),
            Self::Timeout(limit) => write!(f, "it could not be connected to within {limit:?}"),
            Self::Handshake(error) => write!(f, "the TLS handshake with it failed: {error}"),
            Self::Full => f.write_str("as many connections as may be (max=) are in use"),
        }
    }
}

/// Addresses of a name, and since when.
pub(super) type CachedAddresses = Option<(Instant, Arc<[SocketAddr]>)>;

impl Upstream {
    /// Connects by TCP.
    ///
    /// # Errors
    /// Why not.
    pub async fn connect(&self, from: Option<IpAddr>, limit: Duration) -> Result<Connection, NotConnected> {
        let Target::Tcp(host, port) = self.target() else {
            return Err(NotConnected::Failed(io::ErrorKind::Unsupported.into()));
        };
        let addresses = match timeout(limit, self.addresses(host, *port)).await {
            Ok(addresses) => addresses?,
            Err(_) => return Err(NotConnected::Name("it took too long".to_owned())),
        };
        let mut last = NotConnected::Name("it has no address".to_owned());
        for address in in_turn(&addresses) {
            match timeout(limit, connect(address, from, &self.settings)).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(error)) => last = NotConnected::Failed(error),
                Err(_) => last = NotConnected::Timeout(limit),
            }
        }
        Err(last)
    }

    /// Its addresses, where they are known and hold.
    fn fresh(&self) -> Option<Arc<[SocketAddr]>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, addresses) = known.as_ref()?;
        (since.elapsed() < self.settings.address_ttl).then(|| addresses.clone())
    }

    async fn addresses(&self, host: &str, port: u16) -> Result<Arc<[SocketAddr]>, NotConnected> {
        if let Ok(ip) = host.parse::<IpAddr>() {
            return Ok(Arc::from([SocketAddr::from((ip, port))]));
        }
        if let Some(addresses) = self.fresh() {
            return Ok(addresses);
        }
        let leave = self.asker.leave().await;
        let leave = leave.ok_or_else(|| NotConnected::Name("it can't be asked for".to_owned()))?;
        if let Some(addresses) = self.fresh() {
            return Ok(addresses);
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match lookup::addresses(leave, host, port).await {
            Ok(found) => {
                let addresses: Arc<[SocketAddr]> = found.into();
                *self.known.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some((Instant::now(), addresses.clone()));
                Ok(addresses)
            }
            // What was true is better than nothing.
            Err(error) => {
                known.map(|(_, addresses)| addresses).ok_or_else(|| NotConnected::Name(error.to_string()))
            }
        }
    }
}

/// A name's addresses, of which each connection begins with another one: they are of several machines that do the same. Those
/// of the first one's kind come first, for the others may be of no use here at all.
pub fn in_turn(addresses: &[SocketAddr]) -> impl Iterator<Item = SocketAddr> {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let is_four = addresses.first().is_some_and(SocketAddr::is_ipv4);
    let (mut first, rest): (Vec<SocketAddr>, Vec<SocketAddr>) =
        addresses.iter().partition(|address| address.is_ipv4() == is_four);
    if first.len() > 1 {
        let turn = TURN.fetch_add(1, Relaxed) % first.len();
        first.rotate_left(turn);
    }
    first.into_iter().chain(rest)
}

async fn connect(
    address: SocketAddr,
    from: Option<IpAddr>,
    settings: &UpstreamSettings,
) -> io::Result<Connection> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_keepalive(settings.keep_alive)?;
    if let Some(bytes) = settings.receive_buffer {
        // Before it is connected: the window is agreed on then.
        socket.set_recv_buffer_size(bytes)?;
    }
    if let Some(from) = from.filter(|from| from.is_ipv4() == address.is_ipv4()) {
        socket.bind(SocketAddr::from((from, 0)))?;
    }
    let stream = socket.connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(Connection::tcp(stream))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_kernel_s_buffer_is_as_large_as_is_said() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut sizes = Vec::new();
        for receive_buffer in [Some(8192), None] {
            let settings = UpstreamSettings { receive_buffer, ..UpstreamSettings::default() };
            let connection = connect(address, None, &settings).await.unwrap();
            sizes.push(connection.receive_buffer());
        }
        // The kernel takes the double, for what it notes itself.
        assert_eq!(sizes[0], 2 * 8192);
        assert!(sizes[1] > sizes[0], "{sizes:?}");
    }

    #[test]
    fn a_name_s_addresses_take_turns() {
        let all: Vec<SocketAddr> =
            ["10.0.0.1:1", "[::1]:1", "10.0.0.2:1"].iter().map(|text| text.parse().unwrap()).collect();
        let firsts: Vec<_> = (0..2).map(|_| in_turn(&all).next().unwrap()).collect();
        assert_ne!(firsts[0], firsts[1]);
        assert!(firsts.iter().all(SocketAddr::is_ipv4));
        assert_eq!(in_turn(&all).last(), Some(all[1]));
        assert_eq!(in_turn(&[]).next(), None);
    }
}
