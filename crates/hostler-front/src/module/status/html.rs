//! The status page: what mod_status shows, in its order, and below it every pool with its workers.

use super::auto::{date, duration, state};
use super::{Lists, Snapshot, key, mean, rate, unix_seconds};
use hostler_cgi::escape_html;
use hostler_gateway::pool::{BUCKETS, Histogram, Status};
use hostler_gateway::upstream::Balancer;
use std::fmt::Write;

const STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;margin:2rem;color-scheme:light dark}\
    table{border-collapse:collapse;margin:.5rem 0 1.5rem}th,td{padding:.1rem .8rem .1rem 0;text-align:right}\
    th:first-child,td:first-child{text-align:left}pre{font-size:1.1rem;letter-spacing:.1em}.bad{color:#c33}\
    dt{margin:.1rem 0}@media(max-width:40rem){body{margin:1rem}div{overflow-x:auto}}";

/// The page.
pub(super) fn page(snapshot: &Snapshot, lists: Lists) -> String {
    let name = escaped(&snapshot.server_name);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Apache Status</title>\
         <style>{STYLE}</style></head>\n<body>\n<h1>Apache Server Status for {name} (via {})</h1>\n",
        snapshot.local,
    );
    summary(&mut out, snapshot);
    scoreboard(&mut out, snapshot);
    sites(&mut out, snapshot);
    for pool in &snapshot.pools {
        one_pool(&mut out, pool);
        match lists {
            Lists::Tables => workers(&mut out, pool),
            Lists::Lines => worker_lines(&mut out, pool),
        }
    }
    for balancer in &snapshot.balancers {
        one_balancer(&mut out, balancer);
    }
    out.push_str("</body></html>\n");
    out
}

/// A balancer's members, in mod_proxy_balancer's words.
fn one_balancer(out: &mut String, balancer: &Balancer) {
    let _ = write!(
        out,
        "<h2>Proxy LoadBalancer Status for balancer://{}</h2>\n<div><table><tr><th>Worker URL</th><th>Route</th>\
         <th>Factor</th><th>Set</th><th>Status</th><th>Busy</th><th>Elected</th><th>Failed</th><th>To</th><th>From</th></tr>\n",
        escaped(balancer.name())
    );
    for member in balancer.members() {
        let [busy, chosen, failures, sent, received] = member.figures();
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{:.2}</td><td>{}</td><td>{}</td><td>{busy}</td><td>{chosen}</td>\
             <td>{failures}</td><td>{sent}</td><td>{received}</td></tr>",
            escaped(member.name()),
            escaped(&member.routes().own),
            f64::from(member.load_factor()) / 100.0,
            member.set(),
            state(member),
        );
    }
    out.push_str("</table></div>\n");
}

fn summary(out: &mut String, snapshot: &Snapshot) {
    let totals = snapshot.totals();
    let seconds = snapshot.uptime.as_secs();
    let now = unix_seconds(snapshot.now);
    let (busy, idle) = snapshot.workers();
    let (user, system) = snapshot.processor;
    let _ = write!(
        out,
        "<dl><dt>Server Version: {}</dt>\n<dt>Server MPM: Hostler</dt>\n<dt>Server Built: {}</dt>\n<dt>Current Time: {}</dt>\n<dt>Restart Time: {}</dt>\n\
         <dt>Parent Server Config. Generation: {}</dt>\n<dt>Parent Server MPM Generation: {}</dt>\n\
         <dt>Server uptime: {}</dt>\n<dt>Server load: {}</dt>\n\
         <dt>Total accesses: {} - Total Traffic: {} kB - Total Duration: {}</dt>\n\
         <dt>CPU Usage: u{user} s{system}</dt>\n\
         <dt>{:.3} requests/sec - {:.0} B/second - {:.0} B/request - {:.3} ms/request</dt>\n\
         <dt>{} connections open</dt>\n\
         <dt>{busy} requests currently being processed, {idle} idle workers</dt>\n</dl>",
        escaped(&snapshot.product),
        escaped(&snapshot.built),
        date(now),
        date(now - seconds as i64),
        snapshot.generation,
        snapshot.generation - 1,
        duration(seconds),
        escaped(&snapshot.load.join(" ")),
        totals.requests,
        totals.bytes / 1024,
        totals.microseconds / 1000,
        rate(totals.requests, snapshot.uptime),
        rate(totals.bytes, snapshot.uptime),
        mean(totals.bytes, totals.requests),
        mean(totals.microseconds, totals.requests) / 1000.0,
        snapshot.connections,
    );
}

fn scoreboard(out: &mut String, snapshot: &Snapshot) {
    out.push_str("<pre>");
    let board = snapshot.scoreboard();
    for (at, character) in board.chars().enumerate() {
        if at > 0 && at % 64 == 0 {
            out.push('\n');
        }
        out.push(character);
    }
    out.push_str(
        "</pre>\n<p>Scoreboard Key: \"<b><code>_</code></b>\" Waiting for a Request, \
         \"<b><code>S</code></b>\" Starting up, \"<b><code>W</code></b>\" Sending Reply, \
         \"<b><code>G</code></b>\" Gracefully finishing, \
         \"<b><code>.</code></b>\" Open slot with no current process</p>\n",
    );
}

fn sites(out: &mut String, snapshot: &Snapshot) {
    out.push_str(
        "<h2>Sites</h2>\n<div><table><tr><th>User</th><th>Requests</th><th>kB</th><th>ms/request</th>\
         <th>4xx</th><th>5xx</th><th>Programs</th><th>Waiting for one</th></tr>\n",
    );
    for site in &snapshot.sites {
        let totals = &site.totals;
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.3}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td></tr>",
            escaped(&site.name),
            totals.requests,
            totals.bytes / 1024,
            mean(totals.microseconds, totals.requests) / 1000.0,
            totals.classes[4],
            totals.classes[5],
            site.programs.running,
            site.programs.waiting,
        );
    }
    out.push_str("</table></div>\n");
    super::limits::table(out, &snapshot.sites);
}

fn one_pool(out: &mut String, pool: &Status) {
    let _ = writeln!(out, "<h2>Pool {}</h2>", escaped(&pool.name));
    if let Some(why) = &pool.failed {
        let _ = writeln!(out, "<p class=\"bad\">It can't be started: {}</p>", escaped(why));
    }
    let parent = pool.parent.map_or("none".to_owned(), |pid| format!("pid {pid}"));
    let _ = writeln!(
        out,
        "<p>{}, warm parent: {parent}. {} of at most {} workers, {} forked, {} died. \
         All ended {} times as unused, {} times for want of memory. {} requests begun, {} \
         served, {} waiting. Half of the answers took up to {}, 99 of 100 up to {}.</p>",
        escaped(&pool.version),
        pool.workers.len(),
        pool.max_workers,
        pool.forked,
        pool.crashed,
        pool.idled,
        pool.evicted,
        pool.begun,
        pool.served,
        pool.queue,
        quantile(&pool.latency, 50),
        quantile(&pool.latency, 99),
    );
    let errors = pool.errors.iter().filter(|(_, count)| *count > 0);
    let errors: Vec<String> = errors.map(|(kind, count)| format!("{count} × {}", kind.cause())).collect();
    if !errors.is_empty() {
        let _ = writeln!(out, "<p class=\"bad\">Errors: {}</p>", escaped(&errors.join(", ")));
    }
    let figures: Vec<String> =
        pool.figures.all.iter().map(|figure| format!("{}: {}", figure.title, figure.value)).collect();
    if !figures.is_empty() {
        let _ = writeln!(out, "<p>{}</p>", escaped(&figures.join(", ")));
    }
    if let Some(advice) = &pool.figures.advice {
        let _ = writeln!(out, "<p class=\"bad\">{}</p>", escaped(advice));
    }
}

fn workers(out: &mut String, pool: &Status) {
    out.push_str(
        "<div><table><tr><th>Srv</th><th>PID</th><th>M</th><th>Acc</th><th>SS</th><th>kB</th></tr>\n",
    );
    for worker in &pool.workers {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            worker.id,
            worker.pid,
            key(worker.state),
            worker.requests,
            worker.since.as_secs(),
            worker.memory / 1024,
        );
    }
    out.push_str("</table></div>\n");
}

/// A line for each worker instead of a row, in mod_status's form.
fn worker_lines(out: &mut String, pool: &Status) {
    for worker in &pool.workers {
        let _ = writeln!(
            out,
            "<b>Server {}</b> ({}): {} [{}] {} s, {} kB<br>",
            worker.id,
            worker.pid,
            worker.requests,
            key(worker.state),
            worker.since.as_secs(),
            worker.memory / 1024,
        );
    }
}

/// The upper bound of the bucket in which a share of all times lies, for people.
fn quantile(histogram: &Histogram, percent: u64) -> String {
    let all: u64 = histogram.counts.iter().sum();
    let wanted = (all * percent).div_ceil(100);
    let mut seen = 0;
    for (count, bound) in histogram.counts.iter().zip(BUCKETS) {
        seen += count;
        if seen >= wanted && all > 0 {
            return if bound < 1000 { format!("{bound} µs") } else { format!("{} ms", bound / 1000) };
        }
    }
    if all == 0 { "-".to_owned() } else { "more than 30 s".to_owned() }
}

pub(super) fn escaped(text: &str) -> String {
    String::from_utf8_lossy(&escape_html(text.as_bytes())).into_owned()
}
