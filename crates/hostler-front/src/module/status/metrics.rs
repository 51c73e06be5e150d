//! Metrics in Prometheus's text format. Names follow its conventions: base units, `_total` for counters.

use super::Snapshot;
use hostler_gateway::pool::{BUCKETS, Figure, Histogram, Measure, Status, WorkerState};
use std::fmt::Write;

/// The text.
pub(super) fn text(snapshot: &Snapshot) -> String {
    let mut out = String::with_capacity(4096);
    single(&mut out, "hostler_uptime_seconds", "gauge", "Time since the start.", snapshot.uptime.as_secs());
    single(&mut out, "hostler_connections", "gauge", "Open connections.", snapshot.connections as u64);
    of_sites(&mut out, snapshot);
    super::limits::metrics(&mut out, &snapshot.sites);
    let name = "hostler_request_seconds";
    head(&mut out, name, "histogram", "Time from a request's first byte to its answer's last.");
    for site in &snapshot.sites {
        histogram(&mut out, name, &format!("site=\"{}\"", label(&site.name)), &site.totals.latency());
    }
    let pools = &snapshot.pools;
    workers(&mut out, pools);
    let each = |out: &mut String, name: &str, kind: &str, help: &str, value: &dyn Fn(&Status) -> u64| {
        head(out, name, kind, help);
        for pool in pools {
            let _ = writeln!(out, "{name}{{pool=\"{}\"}} {}", label(&pool.name), value(pool));
        }
    };
    let memory = |pool: &Status| pool.workers.iter().map(|worker| worker.memory).sum();
    each(&mut out, "hostler_pool_queue", "gauge", "Requests that wait for a worker.", &|p| p.queue as u64);
    each(&mut out, "hostler_pool_memory_bytes", "gauge", "Memory of the pool's workers.", &memory);
    each(&mut out, "hostler_pool_requests_total", "counter", "Requests served.", &|p| p.served);
    each(&mut out, "hostler_pool_forks_total", "counter", "Workers forked.", &|p| p.forked);
    each(&mut out, "hostler_pool_crashes_total", "counter", "Workers that died.", &|p| p.crashed);
    let help = "How often the pool's processes were ended because other pools needed their memory.";
    each(&mut out, "hostler_pool_evictions_total", "counter", help, &|p| p.evicted);
    let help = "How often the pool's processes were ended because nobody had used them for long.";
    each(&mut out, "hostler_pool_idle_ends_total", "counter", help, &|p| p.idled);
    each(&mut out, "hostler_pool_up", "gauge", "Whether the warm parent runs.", &|p| {
        u64::from(p.parent.is_some())
    });
    errors(&mut out, pools);
    figures(&mut out, pools);
    let latency = |pool: &Status| pool.latency;
    histograms(&mut out, "hostler_pool_request_seconds", "Time in the worker.", pools, latency);
    let waits = |pool: &Status| pool.waits;
    histograms(
        &mut out,
        "hostler_pool_wait_seconds",
        "Time that requests waited for a worker.",
        pools,
        waits,
    );
    out
}

pub(super) fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

fn single(out: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    head(out, name, kind, help);
    let _ = writeln!(out, "{name} {value}");
}

fn of_sites(out: &mut String, snapshot: &Snapshot) {
    let name = "hostler_requests_total";
    head(out, name, "counter", "Answers by site user and class of status.");
    for site in &snapshot.sites {
        for (class, count) in site.totals.classes.iter().enumerate().skip(1) {
            let _ = writeln!(out, "{name}{{site=\"{}\",class=\"{class}xx\"}} {count}", label(&site.name));
        }
    }
    let name = "hostler_sent_bytes_total";
    head(out, name, "counter", "Bytes sent.");
    for site in &snapshot.sites {
        let _ = writeln!(out, "{name}{{site=\"{}\"}} {}", label(&site.name), site.totals.bytes);
    }
    let name = "hostler_site_programs";
    head(
        out,
        name,
        "gauge",
        "Programs of a site that were started for one request each, and requests that wait for one.",
    );
    for site in &snapshot.sites {
        let (site, programs) = (label(&site.name), site.programs);
        let _ = writeln!(out, "{name}{{site=\"{site}\",state=\"running\"}} {}", programs.running);
        let _ = writeln!(out, "{name}{{site=\"{site}\",state=\"waiting\"}} {}", programs.waiting);
    }
}

fn workers(out: &mut String, pools: &[Status]) {
    const STATES: [(WorkerState, &str); 4] = [
        (WorkerState::Starting, "starting"),
        (WorkerState::Idle, "idle"),
        (WorkerState::Busy, "busy"),
        (WorkerState::Ending, "ending"),
    ];
    let name = "hostler_pool_workers";
    head(out, name, "gauge", "Workers by state.");
    for pool in pools {
        for (state, word) in STATES {
            let count = pool.workers.iter().filter(|worker| worker.state == state).count();
            let _ = writeln!(out, "{name}{{pool=\"{}\",state=\"{word}\"}} {count}", label(&pool.name));
        }
    }
}

fn errors(out: &mut String, pools: &[Status]) {
    let name = "hostler_pool_errors_total";
    head(out, name, "counter", "Requests that failed, by cause.");
    for pool in pools {
        for (kind, count) in &pool.errors {
            let _ = writeln!(out, "{name}{{pool=\"{}\",cause=\"{kind:?}\"}} {count}", label(&pool.name));
        }
    }
}

/// Writes the engines' figures of their pools.
fn figures(out: &mut String, pools: &[Status]) {
    let mut all: Vec<&Figure> = pools.iter().flat_map(|pool| &pool.figures.all).collect();
    all.sort_unstable_by_key(|figure| figure.name);
    all.dedup_by_key(|figure| figure.name);
    for figure in all {
        let name = format!("hostler_pool_{}", figure.name);
        let kind = match figure.measure {
            Measure::Gauge => "gauge",
            Measure::Counter => "counter",
        };
        head(out, &name, kind, figure.title);
        for pool in pools {
            let values = pool.figures.all.iter().filter(|other| other.name == figure.name);
            for value in values.map(|figure| figure.value) {
                let _ = writeln!(out, "{name}{{pool=\"{}\"}} {value}", label(&pool.name));
            }
        }
    }
}

fn histograms(out: &mut String, name: &str, help: &str, pools: &[Status], of: impl Fn(&Status) -> Histogram) {
    head(out, name, "histogram", help);
    for pool in pools {
        histogram(out, name, &format!("pool=\"{}\"", label(&pool.name)), &of(pool));
    }
}

/// The lines of one distribution; `of` is the label that tells whose it is.
#[expect(clippy::cast_precision_loss, reason = "microseconds as seconds")]
fn histogram(out: &mut String, name: &str, of: &str, histogram: &Histogram) {
    let mut below = 0;
    for (count, bound) in histogram.counts.iter().zip(BUCKETS) {
        below += count;
        let bound = bound as f64 / 1e6;
        let _ = writeln!(out, "{name}_bucket{{{of},le=\"{bound}\"}} {below}");
    }
    let all: u64 = histogram.counts.iter().sum();
    let sum = histogram.sum as f64 / 1e6;
    let _ = write!(
        out,
        "{name}_bucket{{{of},le=\"+Inf\"}} {all}\n{name}_sum{{{of}}} {sum}\n{name}_count{{{of}}} {all}\n"
    );
}

/// A label's value with its three special characters escaped.
pub(super) fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
