//! The figures for people.

use hostler_wire::report::{Distribution, Pool, Report, Site, State};
use std::fmt::Write;

use super::columns::{lines, row};
use super::figures::{bytes, comparable, duration, mean, microseconds, rate, shown_rate, span_ms, tame};
use super::{Seen, limits};

/// Characters of the picture of a pool.
const PICTURE: usize = 10;

/// All of it; rates are since `before`, if that was the same front's.
pub(super) fn text(seen: &Seen, before: Option<&Report>) -> String {
    let pid = seen.master.as_raw_nonzero();
    let mut out = format!("running (pid {pid}, {})", seen.pid_file.display());
    let Ok(report) = &seen.report else {
        out.push('\n');
        return out;
    };
    let before = comparable(report, before);
    summary(&mut out, report, before);
    fronts(&mut out, seen, report);
    sites(&mut out, report, before);
    out.push_str(&limits::table(&report.sites));
    pools(&mut out, report, before);
    if !report.members.is_empty() {
        let _ = write!(out, "\n{}", super::members::table(&report.members));
    }
    out
}

fn summary(out: &mut String, report: &Report, before: Option<&Report>) {
    let sum = |of: fn(&Site) -> u64| report.sites.iter().map(of).fold(0, u64::saturating_add);
    let requests = sum(|site| site.requests);
    let earlier = before.map_or(0, |b| b.sites.iter().map(|site| site.requests).fold(0, u64::saturating_add));
    let span = span_ms(report, before);
    let since = match before {
        Some(_) => format!("in the last {}", duration((span + 500) / 1000)),
        None => format!("since generation {} began {} ago", report.generation, duration(span / 1000)),
    };
    let _ = writeln!(
        out,
        ", up {}, release {}\n{} requests, {}/s {since}; {} sent, {} connections open",
        duration(report.uptime_ms / 1000),
        tame(&report.release),
        requests,
        shown_rate(rate(requests, earlier, span)),
        bytes(sum(|site| site.bytes)),
        report.connections,
    );
}

fn fronts(out: &mut String, seen: &Seen, report: &Report) {
    let mut rows = vec![row(["FRONT", "GENERATION", "STATE", "CPU", "MEMORY"])];
    for front in &seen.fronts {
        let state = match front.generation.cmp(&report.generation) {
            std::cmp::Ordering::Less => "drains",
            std::cmp::Ordering::Equal => "serves",
            std::cmp::Ordering::Greater => "starts",
        };
        #[expect(clippy::cast_precision_loss, reason = "for display")]
        let processor = format!("{:.1} s", report.processor_ms as f64 / 1000.0);
        let processor = if front.pid == report.front { processor } else { "-".to_owned() };
        let [pid, generation] = [u64::from(front.pid), front.generation].map(|number| number.to_string());
        rows.push(vec![pid, generation, state.to_owned(), processor, bytes(front.memory)]);
    }
    let _ = write!(out, "\n{}", lines(&rows));
}

fn sites(out: &mut String, report: &Report, before: Option<&Report>) {
    let span = span_ms(report, before);
    let mut rows =
        vec![row(["SITE", "REQUESTS", "/S", "SENT", "4XX", "5XX", "MEAN", "P50", "P90", "P99", "P99.9"])];
    for (at, site) in report.sites.iter().enumerate() {
        let earlier = before.and_then(|b| b.sites.get(at)).map_or(0, |site| site.requests);
        let mut cells = vec![
            tame(&site.name),
            site.requests.to_string(),
            shown_rate(rate(site.requests, earlier, span)),
            bytes(site.bytes),
            site.classes[4].to_string(),
            site.classes[5].to_string(),
        ];
        cells.extend(times(&site.latency, &report.bounds));
        rows.push(cells);
    }
    let _ = write!(out, "\n{}", lines(&rows));
}

/// Mean, and the bounds of a half, nine tenths and so on.
#[expect(clippy::cast_precision_loss, reason = "for display")]
fn times(times: &Distribution, bounds: &[u64]) -> Vec<String> {
    let shown = |time: Option<f64>| time.map_or_else(|| "-".to_owned(), |time| microseconds(time, bounds));
    let mut cells = vec![shown(mean(times.sum, times.count()))];
    cells.extend([500, 900, 990, 999].map(|share| shown(times.quantile(share, bounds).map(|t| t as f64))));
    cells
}

fn pools(out: &mut String, report: &Report, before: Option<&Report>) {
    if report.pools.is_empty() {
        return;
    }
    let span = span_ms(report, before);
    let head = [
        "POOL", "WORKERS", "BUSY", "IDLE", "START", "END", "MAX", "QUEUE", "SERVED", "/S", "MEAN", "P50",
        "P90", "P99", "P99.9", "DIED", "MEMORY",
    ];
    let mut rows = vec![row(head)];
    for pool in &report.pools {
        let earlier = before.and_then(|b| b.pools.iter().find(|earlier| earlier.name == pool.name));
        let earlier = earlier.map_or(0, |earlier| earlier.served);
        let count = |state| pool.workers.iter().filter(|worker| worker.state == state).count().to_string();
        let memory =
            pool.workers.iter().map(|worker| worker.memory).fold(pool.parent_memory, u64::saturating_add);
        let mut cells = vec![
            tame(&pool.name),
            picture(pool),
            count(State::Busy),
            count(State::Idle),
            count(State::Starting),
            count(State::Ending),
            pool.max_workers.to_string(),
            pool.queue.to_string(),
            pool.served.to_string(),
            shown_rate(rate(pool.served, earlier, span)),
        ];
        cells.extend(times(&pool.latency, &report.bounds));
        cells.extend([pool.crashed.to_string(), bytes(memory)]);
        rows.push(cells);
    }
    let _ = write!(out, "\n{}", lines(&rows));
    report.pools.iter().for_each(|pool| troubles(out, pool));
}

/// Busy workers, others, and room for more: `##--......`
fn picture(pool: &Pool) -> String {
    let most = (pool.max_workers as usize).max(pool.workers.len()).max(1);
    let scaled = |count: usize| if most <= PICTURE { count } else { (count * PICTURE).div_ceil(most) };
    let busy = pool.workers.iter().filter(|worker| worker.state == State::Busy).count();
    let (all, busy) = (scaled(pool.workers.len()), scaled(busy));
    let length = scaled(most);
    let character = |at| {
        if at < busy {
            '#'
        } else if at < all {
            '-'
        } else {
            '.'
        }
    };
    (0..length).map(character).collect()
}

fn troubles(out: &mut String, pool: &Pool) {
    let name = tame(&pool.name);
    if let Some(why) = &pool.failed {
        let _ = writeln!(out, "{name} can't be started: {}", tame(why));
    }
    for (_, cause, count) in &pool.errors {
        let _ = writeln!(out, "{name}: {count} × {}", tame(cause));
    }
    let figures: Vec<String> =
        pool.figures.iter().map(|(_, title, value)| format!("{} {value}", tame(title))).collect();
    if !figures.is_empty() {
        let _ = writeln!(out, "{name}: {}", figures.join(", "));
    }
    if let Some(advice) = &pool.advice {
        let _ = writeln!(out, "{name}: {}", tame(advice));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostler_wire::report::Worker;

    fn pool(busy: usize, idle: usize, max_workers: u32) -> Pool {
        let worker = |state| Worker { pid: 1, state, since_ms: 0, requests: 0, memory: 1 << 20 };
        let mut workers = vec![worker(State::Busy); busy];
        workers.extend(vec![worker(State::Idle); idle]);
        Pool { name: "perl x".into(), workers, max_workers, ..Pool::default() }
    }

    #[test]
    fn a_picture_is_no_longer_than_its_column() {
        assert_eq!(picture(&pool(1, 2, 4)), "#--.");
        assert_eq!(picture(&pool(30, 30, 100)), "###---....");
        assert_eq!(picture(&pool(1, 0, 1000)), "#.........");
    }

    #[test]
    fn causes_and_texts_of_an_engine_are_shown_tame() {
        let mut out = String::new();
        let failed = Some("no\x1b[2Jway".to_owned());
        let errors = vec![("Timeout".to_owned(), "it took too long".to_owned(), 3)];
        troubles(&mut out, &Pool { failed, errors, ..pool(0, 0, 1) });
        assert_eq!(out, "perl x can't be started: no [2Jway\nperl x: 3 × it took too long\n");
    }
}
