//! Names of hosts, resolved off the event loop, and again after a while: addresses change.
//!
//! The C library tells no time to live, so one is taken for all. What could not be resolved again keeps its addresses.

use hostler_gateway::lookup::{self, Asker};
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
    pub(super) async fn resolve(&self, asker: &Asker, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let with_port =
            |addresses: &[IpAddr]| addresses.iter().map(|ip| SocketAddr::new(*ip, port)).collect();
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(with_port(&[address]));
        }
        if let Some(addresses) = self.fresh(host) {
            return Ok(with_port(&addresses));
        }
        let leave = asker.leave().await.ok_or_else(|| io::Error::other("the resolver can't be asked"))?;
        if let Some(addresses) = self.fresh(host) {
            return Ok(with_port(&addresses));
        }
        let found = lookup::addresses(leave, host, port).await;
        let found = found.map(|found| found.into_iter().map(|address| address.ip()).collect::<Vec<_>>());
        let known = self.names().get(host).cloned();
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

    /// Its addresses, where they are known and hold.
    fn fresh(&self, host: &str) -> Option<Vec<IpAddr>> {
        let names = self.names();
        let (since, addresses) = names.get(host)?;
        (since.elapsed() < HOLD).then(|| addresses.clone())
    }

    fn names(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
