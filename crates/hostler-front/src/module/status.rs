//! `SetHandler server-status` (mod_status): a page for people, `?auto` for the monitors that read mod_status, and
//! `SetHandler hostler-metrics` for Prometheus. The same figures for the terminal are in `report`.

pub(crate) mod auto;
mod html;
mod limits;
pub(crate) mod members;
mod metrics;
pub(crate) mod report;

use crate::hook::registry::{Handler, Module};
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::module::core::options;
use crate::request::Request;
use crate::request::counters::{self, Totals};
use crate::request::flow::Halt;
use crate::request::settings;
use crate::technique::pools::Engines;
use crate::technique::sockets::Sockets;
use crate::technique::upstreams::Upstreams;
use bytes::Bytes;
use hostler_config::directives::proxy::StatusLine;
use hostler_gateway::pool::{Status, WorkerState};
use hostler_gateway::supervisor::exec::Figures;
use hostler_gateway::upstream::Balancer;
use hostler_sys::time::{Zone, strftime};
use hostler_wire::report::Limits;
use memchr::memmem;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) static MODULE: Module = Module {
    handlers: &[
        Handler {
            names: &["server-status"],
            types: &[],
            when: |_| true,
            settles: false,
            run: |request| Box::pin(std::future::ready(handle(request))),
        },
        Handler {
            names: &["hostler-metrics"],
            types: &[],
            when: |_| true,
            settles: false,
            run: |request| Box::pin(std::future::ready(metrics(request))),
        },
    ],
    ..Module::new("status", |_| false)
};

/// Places that the scoreboard shows at least; more when there are more workers.
const PLACES: usize = 64;

/// The form of the list of workers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lists {
    Tables,
    /// `?notable`: for browsers without tables.
    Lines,
}

/// All that is shown, gathered at once.
struct Snapshot {
    product: String,
    server_name: String,
    /// The address that the request came to.
    local: String,
    /// When this program was made.
    built: String,
    now: SystemTime,
    uptime: Duration,
    load: [String; 3],
    /// Processor time of this process, user and system, in seconds.
    processor: (f64, f64),
    connections: usize,
    /// Counted from 1.
    generation: u32,
    sites: Vec<Site>,
    pools: Vec<Status>,
    /// Servers that share work, where `ProxyStatus` shows them.
    balancers: Vec<Arc<Balancer>>,
    draining: bool,
}

struct Site {
    name: String,
    totals: Totals,
    limits: Limits,
    /// Programs that were started for one request each.
    programs: Figures,
}

impl Snapshot {
    fn of(request: &Request) -> Self {
        let shared = &request.thread.shared;
        let site = |(id, name): (usize, &String)| Site {
            name: name.clone(),
            totals: counters::of_site(&shared.counters, id as u32),
            limits: shared.hub.limits(id as u32),
            programs: shared.programs.figures(id),
        };
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let mut load = load.split(' ').map(str::to_owned).chain(std::iter::repeat("-".to_owned()));
        Self {
            product: settings::product(&request.server).to_owned(),
            server_name: String::from_utf8_lossy(&crate::request::variables::server_name(request))
                .into_owned(),
            local: request.client.peer.local.ip().to_string(),
            built: built(),
            now: SystemTime::now(),
            uptime: shared.started.elapsed(),
            load: std::array::from_fn(|_| load.next().unwrap_or_default()),
            processor: processor_time(),
            connections: shared.connections.load(Ordering::Relaxed),
            generation: shared.generation.load(Ordering::Relaxed).max(1),
            sites: shared.site_names.iter().enumerate().map(site).collect(),
            pools: [shared.of::<Engines>().statuses(), shared.of::<Sockets>().statuses()].concat(),
            balancers: balancers(request),
            draining: request.thread.draining(),
        }
    }

    fn totals(&self) -> Totals {
        self.sites.iter().map(|site| site.totals).sum()
    }

    /// Busy and idle workers of all pools; this request itself counts as one that is busy, as in Apache.
    fn workers(&self) -> (usize, usize) {
        let count = |state| self.states().filter(|s| *s == state).count();
        (count(WorkerState::Busy) + 1, count(WorkerState::Idle))
    }

    fn states(&self) -> impl Iterator<Item = WorkerState> + '_ {
        self.pools.iter().flat_map(|pool| pool.workers.iter().map(|worker| worker.state))
    }

    /// mod_status's line of a character for each worker; the first is this request's.
    fn scoreboard(&self) -> String {
        let mut board: String = "W".to_owned();
        board.extend(self.states().map(key));
        let length = board.len();
        board.extend(std::iter::repeat_n('.', PLACES.saturating_sub(length)));
        board
    }
}

/// `ProxyStatus`
fn balancers(request: &Request) -> Vec<Arc<Balancer>> {
    match request.server.conf.proxy.status.unwrap_or_default() {
        StatusLine::Off => Vec::new(),
        StatusLine::On | StatusLine::Full => request.thread.shared.of::<Upstreams>().balancers().to_vec(),
    }
}

/// mod_status's character for a state.
fn key(state: WorkerState) -> char {
    match state {
        WorkerState::Starting => 'S',
        WorkerState::Idle => '_',
        WorkerState::Busy => 'W',
        WorkerState::Ending => 'G',
    }
}

/// The page, or with `?auto` the text for machines.
pub(crate) fn handle(request: &mut Request) -> Result<Body, Halt> {
    if &*request.target.method == b"OPTIONS" {
        return options::handle(request);
    }
    // mod_status leaves other methods to the handler of files, which finds none.
    check(request, 404)?;
    let snapshot = Snapshot::of(request);
    let query = request.target.args.clone().unwrap_or_default();
    if let Some(seconds) = refresh(&query) {
        request.reply.headers_out.set("Refresh", seconds);
    }
    let (content_type, text) = if memmem::find(&query, b"auto").is_some() {
        ("text/plain; charset=ISO-8859-1", auto::text(&snapshot))
    } else {
        let lists = if memmem::find(&query, b"notable").is_some() { Lists::Lines } else { Lists::Tables };
        ("text/html; charset=UTF-8", html::page(&snapshot, lists))
    };
    answer(request, content_type, text)
}

/// Prometheus's text format, version 0.0.4.
pub(crate) fn metrics(request: &mut Request) -> Result<Body, Halt> {
    check(request, 405)?;
    let text = metrics::text(&Snapshot::of(request));
    answer(request, "text/plain; version=0.0.4; charset=utf-8", text)
}

/// Figures are only asked for, and only where the server's configuration shows them: an expression in a site's access
/// file, or a site's program, may have named the handler. `otherwise`: the status of other methods.
fn check(request: &mut Request, otherwise: u16) -> Result<(), Halt> {
    operators_only(request, "status")?;
    if request.is_get() {
        return Ok(());
    }
    if otherwise == 405 {
        request.reply.headers_out.set("Allow", Bytes::from_static(b"GET,HEAD"));
    }
    Err(Halt::Status(otherwise))
}

/// Refuses handlers of the operator where the server's configuration does not name them.
pub(crate) fn operators_only(request: &Request, module: &'static str) -> Result<(), Halt> {
    if request.resource.dir.core.shows_figures == Some(true) {
        return Ok(());
    }
    let message = "figures of all sites are shown where the server's configuration says so (SetHandler, AddHandler \
                   outside of .htaccess), not where an access file or a program of one site does";
    log::request(request, Severity::Error, module, message);
    Err(Halt::Status(500))
}

/// The date of the program's file, as Apache writes when it was built.
pub(crate) fn built() -> String {
    let changed = std::fs::metadata("/proc/self/exe").and_then(|file| file.modified());
    let Ok(changed) = changed else { return "unknown".to_owned() };
    let mut out = Vec::new();
    strftime(b"%b %e %Y %H:%M:%S", unix_seconds(changed), Zone::Gmt, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn answer(request: &mut Request, content_type: &'static str, text: String) -> Result<Body, Halt> {
    request.resource.content_type = Some(Bytes::from_static(content_type.as_bytes()));
    // Old figures are of no use to anybody.
    request.reply.headers_out.set("Cache-Control", Bytes::from_static(b"no-store"));
    Ok(Body::Bytes(text.into()))
}

/// The seconds of `refresh=N`, wherever it stands (monitors write `?refresh=5;auto`); without a number above nothing it
/// is ten, as in mod_status.
fn refresh(query: &[u8]) -> Option<Bytes> {
    let at = memmem::find(query, b"refresh")? + b"refresh".len();
    let number = query[at..].strip_prefix(b"=").unwrap_or_default();
    let number = &number[..number.iter().take_while(|b| b.is_ascii_digit()).count()];
    let valid = matches!(number, [b'1'..=b'9', rest @ ..] if rest.len() < 5);
    Some(Bytes::copy_from_slice(if valid { number } else { b"10" }))
}

/// User and system time of this process, in seconds.
fn processor_time() -> (f64, f64) {
    /// Ticks a second in /proc; fixed for programs on Linux.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = |field: usize| -> f64 {
        after_name.split_ascii_whitespace().nth(field).and_then(|n| n.parse().ok()).unwrap_or(0.0)
    };
    (ticks(11) / TICKS, ticks(12) / TICKS)
}

fn unix_seconds(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() as i64)
}

/// `count` of `unit`s per second, without dividing by nothing.
#[expect(clippy::cast_precision_loss, reason = "for display")]
fn rate(count: u64, uptime: Duration) -> f64 {
    if uptime.is_zero() { 0.0 } else { count as f64 / uptime.as_secs_f64() }
}

/// The mean of a sum over a count.
#[expect(clippy::cast_precision_loss, reason = "for display")]
fn mean(sum: u64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum as f64 / count as f64 }
}

#[cfg(test)]
mod tests;
