//! The generator's own limit on this machine: what it reaches against the fastest server there is here. A rate near it
//! says more about the generator than about who was measured.

use super::synthetic::{Behaviour, Server};
use super::{Cancel, Phase, Plan, Protocol, Target, run};
use crate::contestant::{self, Running, Site};
use anyhow::Result;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;

/// Clients; as many connections as the scenarios mostly have.
const CLIENTS: u32 = 16;

/// Seconds, before and while it counts.
const LENGTH: (f64, f64) = (0.3, 1.5);

/// The generator's own limit on this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Answers a second.
    pub rate: f64,
    /// Against whom: `nginx/1.22.1, return 200`.
    pub of: String,
    /// The part of its thread's time that the generator worked. Below 1 the server was the limit, or the machine.
    pub share: f64,
}

/// Measures it, in about two seconds: against nginx with `return 200`, or where that is not installed against a small
/// server of our own. `None`: nothing was answered, or it was cancelled.
///
/// # Errors
/// No server started, or the generator cannot work.
pub fn limit(cancel: &Cancel) -> Result<Option<Limit>> {
    let folder = tempfile::tempdir()?;
    if let Some((nginx, version)) = nginx(folder.path()) {
        return measure(nginx.address, format!("{version}, return 200"), cancel);
    }
    let server = Server::start(Behaviour { length: 0, ..Behaviour::default() })?;
    measure(server.address, "the generator's own small server (nginx is not installed)".to_owned(), cancel)
}

fn nginx(folder: &std::path::Path) -> Option<(Running, String)> {
    let known = contestant::known().into_iter().find(|server| server.name == "nginx")?;
    let site = Site {
        root: folder.to_owned(),
        own: [("nginx".to_owned(), "location / { return 200; }\n".to_owned())].into(),
        ..Site::default()
    };
    Some((Running::start("nginx", &site, &folder.join("run")).ok()?, known.version?))
}

fn measure(address: SocketAddr, of: String, cancel: &Cancel) -> Result<Option<Limit>> {
    let target = Target {
        address,
        host: "localhost".to_owned(),
        hosts: Vec::new(),
        path: "/".to_owned(),
        form: None,
        expected_length: Some(0),
        tls: false,
    };
    let (warm_up, seconds) = LENGTH;
    let plan = Plan {
        phases: vec![Phase::closed(CLIENTS, seconds)],
        keep_alive: true,
        protocol: Protocol::Http1,
        warm_up,
        timeout: 10.0,
        stop: None,
        seed: 0,
        keep_requests: false,
    };
    let outcome = run(&target, &plan, cancel, &mut |_, _| {})?;
    let answers = outcome.answers();
    if answers == 0 || cancel.load(Ordering::Relaxed) {
        return Ok(None);
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of requests are far below 2^52")]
    let rate = answers as f64 / outcome.elapsed;
    Ok(Some(Limit { rate, of, share: outcome.generator_share() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_server_will_do() {
        let server = Server::start(Behaviour { length: 0, ..Behaviour::default() }).unwrap();
        let limit = measure(server.address, "it".to_owned(), &Cancel::default()).unwrap().unwrap();
        assert!(limit.rate > 100.0 && limit.share > 0.0 && limit.share <= 1.01, "{limit:?}");
    }

    #[test]
    fn what_is_not_answered_has_no_rate() {
        let address = Server::start(Behaviour::default()).unwrap().address;
        assert_eq!(measure(address, "nobody".to_owned(), &Cancel::default()).unwrap(), None);
    }
}
