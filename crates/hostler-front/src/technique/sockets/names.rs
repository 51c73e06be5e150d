//! Names of hosts, resolved off the event loop, and again after a while: addresses change.
//!
//! The C library tells no time to live, so one is taken for all. What could not be resolved again keeps its addresses. Each
//! site has its own names, and so many of them: however many a tenant thinks of, the others' stay known.

use hostler_gateway::lookup::{self, Asker};
use hostler_wire::plan::SiteId;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The lifetime of addresses.
const HOLD: Duration = Duration::from_secs(60);
/// Most names that are remembered of a site; beyond this those are forgotten that were asked for longest ago.
const MOST: usize = 512;

/// A name's addresses.
#[derive(Clone)]
struct Addresses {
    /// When they were found.
    since: Instant,
    /// The number of the question that asked for them last.
    asked: u64,
    addresses: Vec<IpAddr>,
}

/// The names of a site.
#[derive(Default)]
struct OfSite {
    questions: u64,
    known: HashMap<Box<str>, Addresses>,
}

impl OfSite {
    /// Its addresses, where they are known and hold.
    fn fresh(&mut self, host: &str) -> Option<Vec<IpAddr>> {
        self.questions += 1;
        let known = self.known.get_mut(host)?;
        known.asked = self.questions;
        (known.since.elapsed() < HOLD).then(|| known.addresses.clone())
    }

    fn insert(&mut self, host: &str, addresses: Vec<IpAddr>) {
        if self.known.len() >= MOST && !self.known.contains_key(host) {
            self.make_room();
        }
        self.questions += 1;
        let known = Addresses { since: Instant::now(), asked: self.questions, addresses };
        self.known.insert(host.into(), known);
    }

    /// Forgets a quarter: not one at a time, each of which would look through them all.
    fn make_room(&mut self) {
        let mut asked: Vec<u64> = self.known.values().map(|known| known.asked).collect();
        let (_, last, _) = asked.select_nth_unstable(MOST / 4);
        let last = *last;
        self.known.retain(|_, known| known.asked > last);
    }
}

/// The addresses of names, by site.
pub(super) struct Names(Vec<Mutex<OfSite>>);

impl Names {
    /// For so many sites.
    pub(super) fn new(sites: usize) -> Self {
        Self((0..sites).map(|_| Mutex::default()).collect())
    }

    /// The addresses of a host, none of them never. Not within a time of its own.
    ///
    /// # Errors
    /// The C library's.
    pub(super) async fn resolve(
        &self,
        site: SiteId,
        asker: &Asker,
        host: &str,
        port: u16,
    ) -> io::Result<Vec<SocketAddr>> {
        let with_port =
            |addresses: &[IpAddr]| addresses.iter().map(|ip| SocketAddr::new(*ip, port)).collect();
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(with_port(&[address]));
        }
        if let Some(addresses) = self.of(site).fresh(host) {
            return Ok(with_port(&addresses));
        }
        let leave = asker.leave().await.ok_or_else(|| io::Error::other("the resolver can't be asked"))?;
        if let Some(addresses) = self.of(site).fresh(host) {
            return Ok(with_port(&addresses));
        }
        let found = lookup::addresses(leave, host, port).await;
        let found = found.map(|found| found.into_iter().map(|address| address.ip()).collect::<Vec<_>>());
        let mut names = self.of(site);
        let known = names.known.get(host).map(|known| known.addresses.clone());
        let addresses = match (found, known) {
            (Ok(found), _) if !found.is_empty() => found,
            (_, Some(old)) => old,
            (Ok(_), None) => return Err(io::Error::new(io::ErrorKind::NotFound, "it has no address")),
            (Err(error), None) => return Err(error),
        };
        names.insert(host, addresses.clone());
        Ok(with_port(&addresses))
    }

    fn of(&self, site: SiteId) -> MutexGuard<'_, OfSite> {
        self.0[site as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_site_push_out_no_other_s_and_the_oldest_of_its_own() {
        let names = Names::new(2);
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        names.of(0).insert("a.example", vec![address]);
        names.of(1).insert("a.example", vec![address]);
        for number in 0..20 * MOST {
            names.of(1).insert(&format!("{number}.example"), vec![address]);
            // This one is asked for again and again.
            assert!(number == 0 || names.of(1).fresh("0.example").is_some(), "{number}");
            assert!(names.of(1).known.len() <= MOST);
        }
        assert!(names.of(1).fresh("a.example").is_none());
        assert_eq!(names.of(0).fresh("a.example"), Some(vec![address]));
    }
}
