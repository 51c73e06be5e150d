//! `server-status?auto`: the lines that monitors of mod_status read, in its order and spelling. What mod_status does
//! not have comes last, so that nobody stumbles over it.

use super::{Snapshot, mean, rate, unix_seconds};
use hostler_gateway::upstream::{Balancer, Health, Upstream};
use hostler_sys::time::Zone;
use std::fmt::Write;

/// The text.
pub(super) fn text(snapshot: &Snapshot) -> String {
    let totals = snapshot.totals();
    let seconds = snapshot.uptime.as_secs();
    let (user, system) = snapshot.processor;
    let (busy, idle) = snapshot.workers();
    let now = date(unix_seconds(snapshot.now));
    let started = date(unix_seconds(snapshot.now) - seconds as i64);
    let mut out = String::with_capacity(1024);
    let _ = write!(
        out,
        "{}\nServerVersion: {}\nServerMPM: Hostler\nServer Built: {}\nCurrentTime: {now}\nRestartTime: {started}\n\
         ParentServerConfigGeneration: {}\nParentServerMPMGeneration: {}\nServerUptimeSeconds: {seconds}\nServerUptime: {}\nLoad1: {}\nLoad5: {}\nLoad15: {}\n\
         Total Accesses: {}\nTotal kBytes: {}\nTotal Duration: {}\nCPUUser: {user}\nCPUSystem: {system}\n\
         CPUChildrenUser: 0\nCPUChildrenSystem: 0\n",
        snapshot.server_name,
        snapshot.product,
        snapshot.built,
        snapshot.generation,
        snapshot.generation - 1,
        duration(seconds),
        snapshot.load[0],
        snapshot.load[1],
        snapshot.load[2],
        totals.requests,
        totals.bytes / 1024,
        totals.microseconds / 1000,
    );
    if seconds > 0 {
        let _ = writeln!(out, "CPULoad: {:.6}", 100.0 * (user + system) / snapshot.uptime.as_secs_f64());
    }
    let _ = write!(
        out,
        "Uptime: {seconds}\nReqPerSec: {:.6}\nBytesPerSec: {:.3}\n",
        rate(totals.requests, snapshot.uptime),
        rate(totals.bytes, snapshot.uptime),
    );
    if totals.requests > 0 {
        let _ = write!(
            out,
            "BytesPerReq: {:.3}\nDurationPerReq: {:.6}\n",
            mean(totals.bytes, totals.requests),
            mean(totals.microseconds, totals.requests) / 1000.0,
        );
    }
    let _ = write!(
        out,
        "BusyWorkers: {busy}\nGracefulWorkers: 0\nIdleWorkers: {idle}\nProcesses: {}\nStopping: {}\n\
         ConnsTotal: {}\nScoreboard: {}\nQueuedRequests: {}\n",
        1 + snapshot.pools.len(),
        u8::from(snapshot.draining),
        snapshot.connections,
        snapshot.scoreboard(),
        snapshot.pools.iter().map(|pool| pool.queue).sum::<usize>(),
    );
    for (at, balancer) in snapshot.balancers.iter().enumerate() {
        members(&mut out, at, balancer);
    }
    out
}

/// A balancer's members, as mod_proxy_balancer adds them.
fn members(out: &mut String, at: usize, balancer: &Balancer) {
    let _ = writeln!(out, "ProxyBalancer[{at}]Name: balancer://{}", balancer.name());
    for (number, member) in balancer.members().iter().enumerate() {
        let [busy, chosen, _, sent, received] = member.figures();
        let begin = format!("ProxyBalancer[{at}]Worker[{number}]");
        let _ = write!(
            out,
            "{begin}Name: {}\n{begin}Status: {}\n{begin}Elected: {chosen}\n{begin}Busy: {busy}\n\
             {begin}Sent: {}K\n{begin}Rcvd: {}K\n",
            member.name(),
            state(member),
            sent / 1024,
            received / 1024,
        );
    }
}

/// A member's states, in mod_proxy_balancer's words, with a blank behind each.
pub(crate) fn state(member: &Upstream) -> String {
    let mut states = vec!["Init"];
    states.extend(member.states().words());
    match member.health() {
        _ if member.has_failed_checks() => states.push("HcFl"),
        Health::Fine if states.iter().any(|state| matches!(*state, "Dis" | "Stop")) => {}
        Health::Fine => states.push("Ok"),
        Health::Failed(_) => states.push("Err"),
    }
    states.join(" ") + " "
}

/// As mod_status writes a time.
pub(super) fn date(seconds: i64) -> String {
    let mut out = Vec::with_capacity(40);
    hostler_sys::time::strftime(b"%A, %d-%b-%Y %H:%M:%S UTC", seconds, Zone::Gmt, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// As mod_status writes a span: only units that are there, none for nothing.
pub(super) fn duration(seconds: u64) -> String {
    let mut words = Vec::new();
    let units = [
        (seconds / 86_400, "day"),
        (seconds / 3600 % 24, "hour"),
        (seconds / 60 % 60, "minute"),
        (seconds % 60, "second"),
    ];
    for (count, unit) in units.into_iter().filter(|(count, _)| *count > 0) {
        words.push(format!("{count} {unit}{}", if count == 1 { "" } else { "s" }));
    }
    words.join(" ")
}
