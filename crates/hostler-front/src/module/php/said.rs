//! The messages of PHP's workers beyond a response: the state of their cache, values for the logs, other URLs' mappings
//! (`apache_lookup_uri`) and responses (`virtual`). Questions walk the real phases, so that all rules apply.

use crate::hook::{follow, handler, walk};
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::module::include;
use crate::request::flow::{Continue, Halt};
use crate::request::{Origin, Request};
use crate::technique::dialect::{Answer, Dialect, LogNotes, Own, PendingAnswer};
use crate::technique::pools::Engines;
use crate::technique::reply::table;
use bytes::Bytes;
use hostler_config::directives::pool::Isolation;
use hostler_gateway::pool::{Figure, Figures, Measure};
use hostler_gateway::{Error, Kind};
use hostler_php_frames::{Cache, FromPhp, SubRequest, ToPhp};
use hostler_php_technique::{ENGINE, LOG, PHP};
use std::time::UNIX_EPOCH;

/// The words of PHP's workers.
pub(super) struct PhpDialect;

impl Dialect for PhpDialect {
    fn meaning(&self, request: &Request, message: &Bytes) -> Result<Own, Error> {
        let said = FromPhp::decode(message);
        let said = said.map_err(|_| Error::because(Kind::WorkerViolation, "a message is malformed"))?;
        Ok(match said {
            FromPhp::Cache(cache) => {
                tell(request, cache);
                Own::Told
            }
            FromPhp::Logged { variables, notes } => {
                let (variables, notes) = (table(message, &variables), table(message, &notes));
                Own::Logged(Box::new(LogNotes { variables, notes }))
            }
            FromPhp::LookUp(target) => Own::PendingAnswer(look_up(request, target)),
            FromPhp::Include(target) => Own::PendingAnswer(included(request, target)),
        })
    }
}

/// Keeps how the pool's cache stands, and says once what should be changed.
fn tell(request: &Request, cache: Cache) {
    let one_shot = PHP.isolation(&request.resource.dir) == Isolation::Fork;
    let engines = request.thread.shared.of::<Engines>();
    let group = super::group(request);
    let Ok(pool) = engines.of_group(&request.thread, &request.server, &ENGINE, one_shot, group.as_ref())
    else {
        return;
    };
    let advice = advice(&cache);
    if pool.tell_figures(Figures { all: figures(&cache), advice: advice.clone() })
        && let Some(advice) = advice
    {
        log::request(request, Severity::Warn, LOG, &advice);
    }
}

fn figures(cache: &Cache) -> Vec<Figure> {
    let row = |name, title, measure, value| Figure { name, title, measure, value };
    let gauge = |name, title, value| row(name, title, Measure::Gauge, value);
    let counter = |name, title, value| row(name, title, Measure::Counter, value);
    vec![
        gauge("opcache_memory_bytes", "opcache: bytes", cache.memory),
        gauge("opcache_used_bytes", "bytes used", cache.used),
        gauge("opcache_wasted_bytes", "bytes wasted", cache.wasted),
        gauge("opcache_scripts", "scripts", cache.scripts),
        gauge("opcache_keys", "keys", cache.keys),
        gauge("opcache_keys_max", "keys at most", cache.most_keys),
        counter("opcache_hits_total", "hits", cache.hits),
        counter("opcache_misses_total", "misses", cache.misses),
        counter("opcache_restarts_total", "restarts", cache.restarts),
        gauge("opcache_full", "full", u64::from(cache.full)),
    ]
}

/// Returns advice for the site's operator, if any. It contains no numbers that change all the time.
fn advice(cache: &Cache) -> Option<String> {
    // What was compiled once and has changed since takes room until the cache is emptied.
    if cache.most_keys > 0 && cache.keys >= cache.most_keys {
        return Some(format!(
            "the cache of compiled scripts has no room for more than {} names, so that others are compiled with each \
             request: raise opcache.max_accelerated_files in php.ini",
            cache.most_keys
        ));
    }
    (cache.full || cache.restarts > 0 && cache.used * 10 > cache.memory * 9).then(|| {
        format!(
            "the cache of compiled scripts is too small with {} MiB, so that scripts are compiled again and again: raise \
             opcache.memory_consumption in php.ini",
            cache.memory >> 20
        )
    })
}

/// A relative target is taken from where the request is, as Apache does.
fn absolute(request: &Request, target: &[u8]) -> Vec<u8> {
    if target.starts_with(b"/") {
        return target.to_vec();
    }
    let end = memchr::memrchr(b'/', &request.target.uri).map_or(0, |at| at + 1);
    [&request.target.uri[..end], target].concat()
}

fn look_up(request: &Request, target: &[u8]) -> PendingAnswer {
    let (parent, target) = (request.clone(), absolute(request, target));
    Box::pin(async move {
        let (sub, phases) = find(&parent, &target).await;
        let status = if phases.is_ok() { sub.reply.status } else { status_of(&phases) };
        let info = sub.resource.found.info();
        let in_place =
            (phases.is_ok() && super::runs_in_place_of(&sub, &parent)).then(|| super::directory(&sub));
        let found = SubRequest {
            status,
            the_request: &sub.client.line,
            method: &sub.target.method,
            content_type: sub.resource.content_type.as_deref(),
            handler: sub.resource.handler.as_deref(),
            unparsed_uri: &target,
            uri: &sub.target.uri,
            filename: &sub.resource.filename,
            path_info: &sub.resource.path_info,
            args: sub.target.args.as_deref(),
            mtime: info.map_or(0, |info| u64::try_from(info.mtime).unwrap_or(0)),
            request_time: sub.client.received.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
            in_place: in_place.as_deref(),
        };
        told(&ToPhp::SubRequest(found))
    })
}

fn told(answer: &ToPhp<'_>) -> Answer {
    Answer { part: None, told: answer.to_bytes(), broken: Vec::new(), tail: None }
}

/// The request that a URL would be; redirects within the server are followed.
async fn find(parent: &Request, target: &[u8]) -> (Request, Continue) {
    let (mut sub, mut phases) = walk::look_up(parent, target).await;
    while let Err(Halt::Redirect { method, target }) = &phases {
        match follow::next(sub, method.clone(), target) {
            Ok(next) => {
                sub = next;
                phases = Box::pin(walk::prepare(&mut sub)).await;
            }
            Err(last) => return (*last, Err(Halt::Status(500))),
        }
    }
    (sub, phases)
}

fn status_of(phases: &Continue) -> u16 {
    match phases {
        // One whose answer is there before its handler is none that could be run.
        Ok(()) | Err(Halt::Done(_)) => 200,
        Err(Halt::Status(status)) => *status,
        Err(Halt::Redirect { .. }) => 302,
    }
}

/// Another URL's answer, which goes into this one's.
fn included(request: &Request, target: &[u8]) -> PendingAnswer {
    let (mut parent, target) = (request.clone(), absolute(request, target));
    parent.waiting_workers += 1;
    Box::pin(async move {
        let (sub, phases) = find(&parent, &target).await;
        let (body, status) = match phases {
            Ok(()) if waits_for_itself(&parent, &sub) => (Body::Empty, 500),
            Ok(()) => answered(sub).await,
            Err(Halt::Done(body)) => (body, 200),
            Err(_) => (Body::Empty, status_of(&phases)),
        };
        let part = (!matches!(body, Body::Empty)).then(|| body.into_stream());
        let broken = ToPhp::Included(500).to_bytes();
        Answer { part, told: ToPhp::Included(status).to_bytes(), broken, tail: None }
    })
}

/// Returns whether the part would need the only worker of the pool, which waits for it.
fn waits_for_itself(parent: &Request, sub: &Request) -> bool {
    let is_php = sub
        .resource
        .handler
        .as_deref()
        .is_some_and(|name| PHP.handlers.iter().any(|own| own.as_bytes() == name));
    let most = hostler_config::pools::settings(&parent.server).max_workers;
    if is_php && most == 1 {
        let message = "virtual() of another script needs a worker beside the one that waits for it: MaxRequestWorkers is 1";
        log::request(parent, Severity::Error, LOG, message);
    }
    is_php && most == 1
}

/// The answer of a part.
async fn answered(mut sub: Request) -> (Body, u16) {
    // Includes in it are expanded in place: nobody else would do it.
    let depth = std::mem::replace(&mut sub.origin, Origin::Redirect);
    let outcome = Box::pin(handler::invoke(&mut sub)).await;
    if outcome.is_err() {
        sub.origin = depth;
    }
    let (mut sub, outcome) = follow::follow(sub, outcome, |_| {}).await;
    match outcome {
        Ok(body) | Err(Halt::Done(body)) => (Box::pin(include::filter(&mut sub, body)).await, 200),
        Err(Halt::Status(status)) => (Body::Empty, status),
        Err(Halt::Redirect { .. }) => (Body::Empty, 500),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_is_too_small_is_told_of() {
        let cache = Cache { memory: 8 << 20, used: 4 << 20, most_keys: 10, keys: 3, ..Cache::default() };
        assert_eq!(advice(&cache), None);
        let has = |cache: Cache, word: &str| advice(&cache).is_some_and(|advice| advice.contains(word));
        assert!(has(Cache { full: true, ..cache }, "memory_consumption"));
        assert!(has(Cache { full: true, ..cache }, "8 MiB"));
        assert!(has(Cache { keys: 10, full: true, ..cache }, "max_accelerated_files"));
        // Somebody has emptied it by hand.
        assert_eq!(advice(&Cache { restarts: 1, ..cache }), None);
        assert!(has(Cache { restarts: 1, used: 8 << 20, ..cache }, "memory_consumption"));
    }
}
