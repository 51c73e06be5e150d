//! Names of hosts, resolved off the event loop, and again after a while: addresses change.
//!
//! The C library tells no time to live, so one is taken for all. What could not be resolved again keeps its addresses.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long addresses hold.
const HOLD: Duration = Duration::from_secs(60);
/// Most names that are remembered; beyond this all are forgotten.
const MOST: usize = 4096;

/// Names with their addresses, and since when those are known.
type Known = HashMap<Box<str>, (Instant, Vec<IpAddr>)>;

/// What names stand for.
#[derive(Debug, Default)]
pub(super) struct Names(Mutex<Known>);

impl Names {
    /// The addresses of a host, none of them never. Not within a time of its own.
    ///
    /// # Errors
    /// The C library's.
    pub(super) async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let with_port =
            |addresses: &[IpAddr]| addresses.iter().map(|ip| SocketAddr::new(*ip, port)).collect();
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(with_port(&[address]));
        }
        let known = self.names().get(host).cloned();
        if let Some((since, addresses)) = &known
            && since.elapsed() < HOLD
        {
            return Ok(with_port(addresses));
        }
        let found: io::Result<Vec<IpAddr>> = match tokio::net::lookup_host((host, port)).await {
            Ok(found) => Ok(found.map(|address| address.ip()).collect()),
            Err(error) => Err(error),
        };
        let addresses = match (found, known) {
            (Ok(found), _) if !found.is_empty() => found,
            (_, Some((_, old))) => old,
            (Ok(_), None) => return Err(io::Error::new(io::ErrorKind::NotFound, "it has no address")),
            (Err(error), None) => return Err(error),
        };
        let mut names = self.names();
        if names.len() >= MOST {
            names.clear();
        }
        names.insert(host.into(), (Instant::now(), addresses.clone()));
        Ok(with_port(&addresses))
    }

    fn names(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
