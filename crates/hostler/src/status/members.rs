//! Members of balancers, for people and for programs.

use hostler_wire::report::Member;
use serde_json::{Value, json};

use super::columns::{lines, row};
use super::figures::{bytes, tame};

/// A table; empty where there are none.
pub(crate) fn table(members: &[Member]) -> String {
    if members.is_empty() {
        return String::new();
    }
    let mut rows = vec![row([
        "BALANCER", "MEMBER", "ROUTE", "STATE", "BUSY", "REQUESTS", "FAILURES", "SENT", "RECEIVED",
    ])];
    for member in members {
        let words: Vec<_> = member.words.iter().map(|word| tame(word)).collect();
        let route = if member.route.is_empty() { "-".to_owned() } else { tame(&member.route) };
        rows.push(vec![
            tame(&member.state.balancer),
            tame(&member.state.member),
            route,
            words.join(" "),
            member.busy.to_string(),
            member.requests.to_string(),
            member.failures.to_string(),
            bytes(member.sent),
            bytes(member.received),
        ]);
    }
    lines(&rows)
}

/// For programs.
pub(super) fn json(members: &[Member]) -> Vec<Value> {
    let one = |member: &Member| {
        json!({
            "balancer": member.state.balancer,
            "member": member.state.member,
            "route": member.route,
            "state": member.words,
            "changed": member.state.states.is_some() || member.state.settings.is_some(),
            "failed_ms_ago": member.state.failed_ms,
            "busy": member.busy,
            "requests": member.requests,
            "failures": member.failures,
            "sent_bytes": member.sent,
            "received_bytes": member.received,
        })
    };
    members.iter().map(one).collect()
}
