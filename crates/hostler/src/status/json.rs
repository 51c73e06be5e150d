//! The figures for programs. Keys stay; new ones may be added. Times are in milliseconds unless the key says seconds;
//! a share of times is the upper bound of its bucket, `null` where there are none.

use hostler_wire::report::{Distribution, Pool, Report, Site, State};
use serde_json::{Map, Value, json};

use super::Seen;
use super::figures::{comparable, mean, rate, span_ms};

/// One object, and a line end.
pub(super) fn text(seen: &Seen, before: Option<&Report>) -> String {
    let fronts: Vec<Value> = seen
        .fronts
        .iter()
        .map(
            |front| json!({ "pid": front.pid, "generation": front.generation, "memory_bytes": front.memory }),
        )
        .collect();
    let mut all = json!({
        "running": true,
        "pid": seen.master.as_raw_nonzero().get(),
        "pid_file": seen.pid_file.display().to_string(),
        "fronts": fronts,
    });
    if let (Value::Object(all), Ok(report)) = (&mut all, &seen.report) {
        figures(all, report, comparable(report, before));
    }
    format!("{all:#}\n")
}

/// The same of a server that does not run.
pub(super) fn not_running() -> Value {
    json!({ "running": false })
}

fn figures(all: &mut Map<String, Value>, report: &Report, before: Option<&Report>) {
    let span = span_ms(report, before);
    let earlier = |at: usize| before.and_then(|b| b.sites.get(at)).map_or(0, |site| site.requests);
    let sites: Vec<Value> = report
        .sites
        .iter()
        .enumerate()
        .map(|(at, found)| site(found, rate(found.requests, earlier(at), span), &report.bounds))
        .collect();
    let earlier = |pool: &Pool| {
        let earlier = before.and_then(|b| b.pools.iter().find(|earlier| earlier.name == pool.name));
        earlier.map_or(0, |earlier| earlier.served)
    };
    let pools: Vec<Value> = report
        .pools
        .iter()
        .map(|found| pool(found, rate(found.served, earlier(found), span), &report.bounds))
        .collect();
    for (key, value) in [
        ("release", json!(report.release)),
        ("generation", json!(report.generation)),
        ("uptime_seconds", json!(report.uptime_ms / 1000)),
        ("serving_seconds", json!(report.serving_ms / 1000)),
        ("serving_front", json!(report.front)),
        ("processor_ms", json!(report.processor_ms)),
        ("connections", json!(report.connections)),
        ("rate_over_ms", json!(span)),
        ("sites", json!(sites)),
        ("pools", json!(pools)),
        ("members", json!(super::members::json(&report.members))),
    ] {
        all.insert(key.to_owned(), value);
    }
}

fn site(site: &Site, rate: f64, bounds: &[u64]) -> Value {
    let classes = (1..6).map(|class| (format!("{class}xx"), json!(site.classes[class])));
    json!({
        "name": site.name,
        "requests": site.requests,
        "requests_per_second": rate,
        "sent_bytes": site.bytes,
        "answers": classes.collect::<Map<_, _>>(),
        "latency": times(&site.latency, bounds),
        "limits": super::limits::json(&site.limits),
        "programs": { "running": site.programs, "waiting": site.programs_waiting },
    })
}

fn pool(pool: &Pool, rate: f64, bounds: &[u64]) -> Value {
    let count = |state| pool.workers.iter().filter(|worker| worker.state == state).count();
    let workers: Vec<Value> = pool
        .workers
        .iter()
        .map(|worker| {
            json!({
                "pid": worker.pid,
                "state": name(worker.state),
                "since_ms": worker.since_ms,
                "requests": worker.requests,
                "memory_bytes": worker.memory,
            })
        })
        .collect();
    let errors = pool.errors.iter().map(|(kind, _, count)| (kind.clone(), json!(count)));
    let figures = pool.figures.iter().map(|(name, _, value)| (name.clone(), json!(value)));
    json!({
        "name": pool.name,
        "engine": pool.version,
        "parent_pid": pool.parent,
        "parent_memory_bytes": pool.parent_memory,
        "failed": pool.failed,
        "workers_by_state": {
            "starting": count(State::Starting),
            "idle": count(State::Idle),
            "busy": count(State::Busy),
            "ending": count(State::Ending),
        },
        "max_workers": pool.max_workers,
        "workers": workers,
        "queue": pool.queue,
        "requests": pool.served,
        "requests_per_second": rate,
        "forked": pool.forked,
        "died": pool.crashed,
        "evicted": pool.evicted,
        "ended_unused": pool.idled,
        "errors": errors.collect::<Map<_, _>>(),
        "latency": times(&pool.latency, bounds),
        "waits": times(&pool.waits, bounds),
        "figures": figures.collect::<Map<_, _>>(),
        "advice": pool.advice,
    })
}

fn name(state: State) -> &'static str {
    match state {
        State::Starting => "starting",
        State::Idle => "idle",
        State::Busy => "busy",
        State::Ending => "ending",
    }
}

/// In milliseconds; what is above the last bound counts as that.
#[expect(clippy::cast_precision_loss, reason = "microseconds as milliseconds")]
fn times(times: &Distribution, bounds: &[u64]) -> Value {
    let last = bounds.last().copied().unwrap_or(0);
    let share = |thousandths| times.quantile(thousandths, bounds).map(|time| time.min(last) as f64 / 1000.0);
    json!({
        "count": times.count(),
        "mean": mean(times.sum, times.count()).map(|mean| mean / 1000.0),
        "p50": share(500),
        "p90": share(900),
        "p99": share(990),
        "p99.9": share(999),
    })
}
