//! `SetHandler hostler-live`, `hostler-ready` and `HostlerHealth`: reports for load balancers and cluster managers.
//!
//! *Live*: the processes respond (the master replaces a front that does not, and a front ends with its master). *Ready*:
//! new requests may be sent here, because this generation serves, the server does not stop, and the pools that
//! `HostlerHealth` names can start their workers.
//!
//! The paths of `HostlerHealth` are answered before everything else, rules of access included: the operator has named them
//! for all virtual hosts, and the response says nothing of any site.

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Handler, Hook, Module, Run};
use crate::io::body::Body;
use crate::request::flow::{Flow, Halt};
use crate::request::{Origin, Request};
use crate::technique::pools::Engines;
use crate::technique::sockets::Sockets;
use crate::values::text;
use bytes::Bytes;

pub(crate) static MODULE: Module = Module {
    hooks: &[Hook {
        phase: Phase::PostRead,
        after: &["setenvif"],
        before: &["core"],
        when: |request| at_path(request).is_some(),
        effect: Effect::Decides,
        run: Run::Now(|request| match at_path(request) {
            Some(report) => Err(respond(request, report).map_or_else(|halt| halt, Halt::Done)),
            None => Ok(Flow::Declined),
        }),
    }],
    handlers: &[
        Handler {
            names: &["hostler-live"],
            types: &[],
            when: |_| true,
            settles: false,
            run: |request| Box::pin(std::future::ready(respond(request, live))),
        },
        Handler {
            names: &["hostler-ready"],
            types: &[],
            when: |_| true,
            settles: false,
            run: |request| Box::pin(std::future::ready(respond(request, ready))),
        },
    ],
    ..Module::new("health", |_| false)
};

/// Makes a report: one line, which in an error says why.
type Report = fn(&Request) -> Result<&'static str, String>;

/// The report for a path of `HostlerHealth`.
fn at_path(request: &Request) -> Option<Report> {
    let paths = request.thread.shared.config.process.health.as_ref()?;
    if request.origin != Origin::Client || request.is_sub() {
        return None;
    }
    match text::split(&request.client.target).0 {
        path if path == paths.live.as_bytes() => Some(live),
        path if path == paths.ready.as_bytes() => Some(ready),
        _ => None,
    }
}

/// A front that can be asked is live.
fn live(_: &Request) -> Result<&'static str, String> {
    Ok("live")
}

fn ready(request: &Request) -> Result<&'static str, String> {
    let shared = &request.thread.shared;
    if shared.is_stopping() {
        return Err("the server is stopping".to_owned());
    }
    if request.thread.draining() {
        return Err("a newer configuration is in use".to_owned());
    }
    let pools = shared.config.process.health.as_ref().map_or(&[][..], |paths| &paths.pools);
    if pools.is_empty() {
        return Ok("ready");
    }
    let statuses = [shared.of::<Engines>().statuses(), shared.of::<Sockets>().statuses()].concat();
    let failed = statuses
        .iter()
        .find(|pool| pool.failed.is_some() && pools.iter().any(|name| is_named(name, &pool.name)));
    failed.map_or(Ok("ready"), |pool| Err(format!("the pool {} cannot start a worker", pool.name)))
}

/// Returns true if a pool, which is called `php alice` or `php alice host`, is meant by `php` or `php:alice`.
fn is_named(name: &str, pool: &str) -> bool {
    let words = name.split(':');
    words.clone().count() <= 2
        && pool.split(' ').zip(words.clone()).filter(|(own, word)| own == word).count() == words.count()
}

fn respond(request: &mut Request, report: Report) -> Result<Body, Halt> {
    if !request.is_get() {
        request.reply.headers_out.set("Allow", Bytes::from_static(b"GET,HEAD"));
        return Err(Halt::Status(405));
    }
    let (status, line) = match report(request) {
        Ok(line) => (200, line.to_owned()),
        Err(why) => (503, why),
    };
    request.reply.status = status;
    request.resource.content_type = Some(Bytes::from_static(b"text/plain; charset=utf-8"));
    request.reply.headers_out.set("Cache-Control", Bytes::from_static(b"no-store"));
    Ok(Body::Bytes(format!("{line}\n").into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_named_by_its_engine_or_in_full() {
        for pool in ["php alice", "php alice www.example.org"] {
            assert!(is_named("php", pool) && is_named("php:alice", pool), "{pool}");
            assert!(!is_named("perl", pool) && !is_named("php:al", pool) && !is_named("ph", pool), "{pool}");
        }
    }
}
