//! The limits for one site, or one client's address, on resources that all share: connections, requests, programs.
//! Unlike [`super::site`]'s limits, the front enforces these itself.

use crate::directives::core::values::number;
use crate::{Arity, Config, Contexts, Directive, Overrides, Server};

/// A bound: `None` where nothing is said, `Some(None)` for `max`.
type Bound<T> = Option<Option<T>>;

/// Requests in a second (`HostlerSiteRequests`, `HostlerRequestsPerAddress`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// On average.
    pub each_second: u32,
    /// At once, after a silence.
    pub at_once: u32,
}

/// A virtual host's limits of its site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteBounds {
    /// `HostlerSitePrograms`
    pub programs: Bound<u32>,
    /// `HostlerSiteConnections`
    pub connections: Bound<u32>,
    /// `HostlerSiteRequests`
    pub requests: Bound<Rate>,
    /// `HostlerWorkerTimeout`, seconds.
    pub worker_timeout: Bound<u32>,
}

impl SiteBounds {
    /// With what `other`, further in, says instead.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            programs: other.programs.or(self.programs),
            connections: other.connections.or(self.connections),
            requests: other.requests.or(self.requests),
            worker_timeout: other.worker_timeout.or(self.worker_timeout),
        }
    }
}

/// The limits of each client address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressBounds {
    /// `HostlerConnectionsPerAddress`
    pub connections: Bound<u32>,
    /// `HostlerRequestsPerAddress`
    pub requests: Bound<Rate>,
}

/// `MaxRequestWorkers` where nothing is said, as prefork has it.
const DEFAULT_PROGRAMS: u32 = 256;
/// A site's share of them, where there are several sites, is not less than this.
const LEAST_PROGRAMS: u32 = 16;

/// Returns how many programs that are started for one request each may run at once.
#[must_use]
pub fn programs_in_all(config: &Config) -> u32 {
    config.process.max_request_workers.unwrap_or(DEFAULT_PROGRAMS).max(1)
}

/// Returns how many of them the site of a virtual host may run, in a server with so many sites.
#[must_use]
pub fn programs_of_site(config: &Config, server: &Server, sites: usize) -> u32 {
    let all = programs_in_all(config);
    let share = if sites > 1 { (all / 4).max(LEAST_PROGRAMS) } else { all };
    server.conf.core.site_bounds.programs.map_or(share, |most| most.unwrap_or(all)).min(all)
}

pub(super) const PROGRAMS: Directive = Directive::new(
    "HostlerSitePrograms",
    Arity::Take1,
    "number|max",
    "Limit how many programs that are started for a single request each (CGI, SSI exec) run at once for the \
        site's user; further requests are queued (default: a quarter of MaxRequestWorkers, at least 16; \
        all of them if there is only one site). If there are several sites, the last eighth of \
        MaxRequestWorkers (1 to 16 places) is reserved for sites that run no program, regardless of this \
        setting",
    |cmd, args| {
        cmd.server.core.site_bounds.programs = Some(bound(args.first(), |word| number(word, 1..=1_000_000))?);
        Ok(())
    },
);

pub(super) const CONNECTIONS: Directive = Directive::new(
    "HostlerSiteConnections",
    Arity::Take1,
    "number|max",
    "Limit the number of concurrent requests of the site's user, each of which occupies a connection; \
        further requests get 503 (default: half of the server's connection limit)",
    |cmd, args| {
        cmd.server.core.site_bounds.connections =
            Some(bound(args.first(), |word| number(word, 1..=10_000_000))?);
        Ok(())
    },
);

pub(super) const REQUESTS: Directive = Directive::new(
    "HostlerSiteRequests",
    Arity::Take12,
    "number|max [at once]",
    "Limit the average requests/s of all virtual hosts of the site's user, and the burst size (default: the \
        number per second); further requests get 429 (default: no limit)",
    |cmd, args| {
        cmd.server.core.site_bounds.requests = Some(rate(args.first(), args.word(1))?);
        Ok(())
    },
);

pub(super) const CONNECTIONS_PER_ADDRESS: Directive = Directive::new(
    "HostlerConnectionsPerAddress",
    Arity::Take1,
    "number|max",
    "Limit the number of connections from one client address (for IPv6, one /64 network). A further \
        connection closes the oldest idle one from that address, or is closed itself if none is idle \
        (default: half of the server's connection limit; use max behind a proxy through which all \
        clients connect)",
    |cmd, args| {
        cmd.process.address_bounds.connections =
            Some(bound(args.first(), |word| number(word, 1..=10_000_000))?);
        Ok(())
    },
)
.allowed(Contexts::GLOBAL, Overrides::NONE);

pub(super) const REQUESTS_PER_ADDRESS: Directive = Directive::new(
    "HostlerRequestsPerAddress",
    Arity::Take12,
    "number|max [at once]",
    "Limit the average requests/s of one client address (for IPv6, one /64 network), and the burst size \
        (default: the number per second); further requests get 429 (default: no limit)",
    |cmd, args| {
        cmd.process.address_bounds.requests = Some(rate(args.first(), args.word(1))?);
        Ok(())
    },
)
.allowed(Contexts::GLOBAL, Overrides::NONE);

pub(super) const WORKER_TIMEOUT: Directive = Directive::new(
    "HostlerWorkerTimeout",
    Arity::Take1,
    "seconds|max",
    "Kill a worker of PHP, Perl, PSGI or WSGI (without a process group) that neither reads nor writes for \
        this many seconds during a request, which then gets 504 (default max: no limit, as in Apache, \
        where Timeout does not limit programs that run in the server; max_execution_time limits the CPU \
        time of PHP)",
    |cmd, args| {
        cmd.server.core.site_bounds.worker_timeout =
            Some(bound(args.first(), |word| number(word, 1..=10_000_000))?);
        Ok(())
    },
);

/// `None`: `max`.
fn bound<T>(word: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    if word.eq_ignore_ascii_case("max") { Ok(None) } else { parse(word).map(Some) }
}

fn rate(word: &str, at_once: Option<&str>) -> Result<Option<Rate>, String> {
    let number = |word: &str| number(word, 1..=10_000_000);
    match (bound(word, number)?, at_once) {
        (Some(each_second), at_once) => {
            let at_once = at_once.map_or(Ok(each_second), number)?;
            Ok(Some(Rate { each_second, at_once }))
        }
        (None, None) => Ok(None),
        (None, Some(_)) => Err("max takes no second number".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_and_perhaps_another() {
        assert_eq!(rate("10", None), Ok(Some(Rate { each_second: 10, at_once: 10 })));
        assert_eq!(rate("10", Some("50")), Ok(Some(Rate { each_second: 10, at_once: 50 })));
        assert_eq!(rate("Max", None), Ok(None));
        for (bad, more) in [("0", None), ("-1", None), ("x", None), ("10", Some("0")), ("max", Some("5"))] {
            assert!(rate(bad, more).is_err(), "{bad} {more:?}");
        }
    }

    #[test]
    fn a_virtual_host_can_lift_a_bound() {
        let main =
            SiteBounds { programs: Some(Some(5)), connections: Some(Some(7)), ..SiteBounds::default() };
        let host = SiteBounds { programs: Some(None), ..SiteBounds::default() };
        let merged = main.merge(host);
        assert_eq!((merged.programs, merged.connections), (Some(None), Some(Some(7))));
    }
}
