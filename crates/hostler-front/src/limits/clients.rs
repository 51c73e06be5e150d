//! The limits for each client address and each site on resources that all share: the connections of an address, the
//! requests per second from it and for a site, the requests of a site in progress.
//!
//! Of IPv6 a whole network of 64 bits counts as one address: whoever has one address there mostly has all of them.

use crate::values::address::Client;
use hostler_config::directives::pool::Rate;
use hostler_config::{Config, Server};
use hostler_wire::plan::SiteId;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Counts of addresses are spread over so many locks.
const SHARDS: usize = 16;
/// Addresses of each that are remembered for their rate of requests; the connections that are open bound the others.
const REMEMBERED: usize = 8192;

/// The addresses that have connections, or had requests a moment ago.
#[derive(Debug)]
pub(crate) struct Clients {
    /// `HostlerConnectionsPerAddress`
    most: usize,
    /// `HostlerRequestsPerAddress`
    rate: Option<Rate>,
    shards: [Mutex<Shard>; SHARDS],
    started: Instant,
}

#[derive(Debug, Default)]
struct Shard {
    connections: HashMap<Client, usize>,
    requests: HashMap<Client, u64>,
}

impl Clients {
    /// `all`: the connections that the front may have.
    pub(crate) fn new(config: &Config, all: usize) -> Self {
        let bounds = config.process.address_bounds;
        let most =
            bounds.connections.map_or((all / 2).max(1), |most| most.map_or(usize::MAX, |n| n as usize));
        let rate = bounds.requests.flatten();
        Self { most, rate, shards: Default::default(), started: Instant::now() }
    }

    /// Counts a connection; whether the address has no more of them now than it may.
    pub(crate) fn connected(&self, client: Client) -> bool {
        let mut shard = self.shard(client);
        let count = shard.connections.entry(client).or_default();
        *count += 1;
        *count <= self.most
    }

    /// A connection is gone.
    pub(crate) fn left(&self, client: Client) {
        let mut shard = self.shard(client);
        if let Some(count) = shard.connections.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                shard.connections.remove(&client);
            }
        }
    }

    /// Returns whether one more request of the address is within its rate; it counts then. Else how long to wait.
    pub(crate) fn may_ask(&self, address: IpAddr) -> Result<(), Duration> {
        let Some(rate) = self.rate else { return Ok(()) };
        let (client, now) = (Client::from(address), self.now());
        let mut shard = self.shard(client);
        if shard.requests.len() >= REMEMBERED && !shard.requests.contains_key(&client) {
            shard.requests.retain(|_, due| *due > now);
            if shard.requests.len() >= REMEMBERED {
                shard.requests.clear();
            }
        }
        let due = shard.requests.entry(client).or_default();
        *due = taken(*due, now, rate)?;
        Ok(())
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }

    fn shard(&self, client: Client) -> MutexGuard<'_, Shard> {
        self.shards[client.shard(SHARDS)].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of a rate is taken at `now`; `due`: when all that was taken before will have been earned, in nanoseconds.
/// (The generic cell rate algorithm.)
fn taken(due: u64, now: u64, rate: Rate) -> Result<u64, Duration> {
    let each = 1_000_000_000 / u64::from(rate.each_second);
    let next = due.max(now) + each;
    let ahead = each * u64::from(rate.at_once);
    if next <= now + ahead { Ok(next) } else { Err(Duration::from_nanos(next - now - ahead)) }
}

/// The current load of the sites.
#[derive(Debug)]
pub(crate) struct Traffic {
    all: Box<[Site]>,
    /// `HostlerSiteConnections` where nothing is said.
    usual: u32,
    started: Instant,
    /// Some virtual host has `HostlerSiteRequests`.
    have_rates: bool,
    /// No site has a bound on its requests at once: nothing is counted.
    unbounded: bool,
}

#[derive(Debug, Default)]
struct Site {
    busy: AtomicU32,
    due: AtomicU64,
}

/// A request of a site that is being answered.
#[derive(Debug)]
pub(crate) struct Busy(Option<(Arc<Traffic>, SiteId)>);

impl Traffic {
    /// `all`: the connections that the front may have.
    pub(crate) fn new(config: &Config, sites: usize, all: usize) -> Arc<Self> {
        let usual = if sites > 1 { u32::try_from(all / 2).unwrap_or(u32::MAX).max(1) } else { u32::MAX };
        Arc::new(Self {
            all: (0..sites).map(|_| Site::default()).collect(),
            usual,
            started: Instant::now(),
            have_rates: config.servers.iter().any(|server| rate(server).is_some()),
            unbounded: config.servers.iter().all(|server| most(server, usual) == u32::MAX),
        })
    }

    /// Returns whether one more request is within the rate of its site; it counts then. Else how long to wait.
    pub(crate) fn may_ask(&self, site: SiteId, server: &Server) -> Result<(), Duration> {
        if !self.have_rates {
            return Ok(());
        }
        let (Some(rate), Some(site)) = (rate(server), self.all.get(site as usize)) else { return Ok(()) };
        let now = self.started.elapsed().as_nanos() as u64;
        let mut wait = Duration::ZERO;
        let next = |due| taken(due, now, rate).inspect_err(|left| wait = *left).ok();
        site.due.fetch_update(Relaxed, Relaxed, next).map(drop).map_err(|_| wait)
    }

    /// Counts a request that is being answered; `None`: the site has as many as it may.
    pub(crate) fn enter(self: &Arc<Self>, site: SiteId, server: &Server) -> Option<Busy> {
        if self.unbounded {
            return Some(Busy(None));
        }
        let most = most(server, self.usual);
        let busy = &self.all.get(site as usize)?.busy;
        let one_more = |busy| if busy < most { Some(busy + 1) } else { None };
        busy.fetch_update(Relaxed, Relaxed, one_more).ok()?;
        Some(Busy(Some((self.clone(), site))))
    }
}

/// `HostlerSiteConnections`.
fn most(server: &Server, usual: u32) -> u32 {
    server.conf.core.site_bounds.connections.map_or(usual, |n| n.unwrap_or(u32::MAX))
}

fn rate(server: &Server) -> Option<Rate> {
    server.conf.core.site_bounds.requests.flatten()
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some((traffic, site)) = &self.0 {
            traffic.all[*site as usize].busy.fetch_sub(1, Relaxed);
        }
    }
}

/// Lines about refusals, of which there may be very many: one in a while, with how many there were.
#[derive(Debug, Default)]
pub(crate) struct RefusalLog {
    /// Second of the last line, from 1.
    last: AtomicU32,
    since: AtomicU32,
}

/// Seconds between two lines.
const SELDOM: u32 = 10;

impl RefusalLog {
    /// One more refusal in this second; `Some`: they are to be told, so many.
    pub(crate) fn one_more(&self, second: u32) -> Option<u32> {
        self.since.fetch_add(1, Relaxed);
        let (last, now) = (self.last.load(Relaxed), second + 1);
        let is_due = last == 0 || now >= last.saturating_add(SELDOM);
        let mine = is_due && self.last.compare_exchange(last, now, Relaxed, Relaxed).is_ok();
        mine.then(|| self.since.swap(0, Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(text: &str) -> Client {
        Client::from(text.parse::<IpAddr>().unwrap())
    }

    #[test]
    fn an_ipv6_network_is_one_client() {
        assert_eq!(client("2001:db8:1:2::1"), client("2001:db8:1:2:ffff::9"));
        assert_ne!(client("2001:db8:1:2::1"), client("2001:db8:1:3::1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
    }

    #[test]
    fn a_rate_lets_some_pass_at_once_and_then_as_many_as_are_earned() {
        const SECOND: u64 = 1_000_000_000;
        let rate = Rate { each_second: 10, at_once: 3 };
        let mut due = 0;
        for _ in 0..3 {
            due = taken(due, SECOND, rate).unwrap();
        }
        assert_eq!(taken(due, SECOND, rate), Err(Duration::from_millis(100)));
        due = taken(due, SECOND + SECOND / 10, rate).unwrap();
        assert!(taken(due, SECOND + SECOND / 10, rate).is_err());
        assert!(taken(due, 5 * SECOND, rate).is_ok());
    }

    #[test]
    fn connections_are_counted_for_each_address_and_forgotten() {
        let all = Clients { most: 2, rate: None, shards: Default::default(), started: Instant::now() };
        let (a, b) = (client("192.0.2.1"), client("2001:db8::1"));
        assert!(all.connected(a) && all.connected(a) && !all.connected(a) && all.connected(b));
        (0..3).for_each(|_| all.left(a));
        all.left(b);
        assert!(all.shards.iter().all(|shard| shard.lock().unwrap().connections.is_empty()));
        assert!(all.connected(a));
    }

    #[test]
    fn addresses_that_are_remembered_are_bounded() {
        let rate = Some(Rate { each_second: 1, at_once: 1 });
        let all = Clients { most: 1, rate, shards: Default::default(), started: Instant::now() };
        for n in 0..(SHARDS * REMEMBERED * 2) as u32 {
            let _ = all.may_ask(std::net::Ipv4Addr::from(n).into());
        }
        assert!(all.shards.iter().all(|shard| shard.lock().unwrap().requests.len() <= REMEMBERED));
    }

    #[test]
    fn refusals_are_told_once_in_a_while() {
        let told = RefusalLog::default();
        assert_eq!((told.one_more(0), told.one_more(0), told.one_more(9)), (Some(1), None, None));
        assert_eq!(told.one_more(10), Some(3));
    }
}
