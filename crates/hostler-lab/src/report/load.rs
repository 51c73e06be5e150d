//! A plan in words.

use super::number::figure;
use crate::load::{Phase, Plan, Protocol, Stop, Think};

/// `15 clients, 5,000 requests; keep-alive`.
pub(super) fn describe(plan: &Plan) -> String {
    let mut parts = Vec::new();
    if let Some(first) = plan.phases.first() {
        parts.push(phase(first));
    }
    if plan.phases.len() > 2 {
        parts.push("…".into());
    }
    if let [_, .., last] = plan.phases.as_slice() {
        parts.push(format!("{} ({} phases)", phase(last), plan.phases.len()));
    }
    parts.push(if plan.keep_alive { "keep-alive".into() } else { "a connection for each".into() });
    if plan.protocol == Protocol::H2 {
        parts.push("HTTP/2".into());
    }
    if plan.warm_up > 0.0 {
        parts.push(format!("{} s warm-up", figure(plan.warm_up)));
    }
    match plan.stop {
        Some(Stop::Answer { seconds }) => parts.push(format!("until an answer takes {} s", figure(seconds))),
        Some(Stop::Error) => parts.push("until a request fails".into()),
        Some(Stop::P99 { seconds }) => parts.push(format!("until p99 is over {} s", figure(seconds))),
        None => {}
    }
    parts.join("; ")
}

fn phase(phase: &Phase) -> String {
    match phase {
        Phase::Open { rate, to_rate, seconds } => {
            let rate = match to_rate {
                Some(to) => format!("{} to {}", figure(*rate), figure(*to)),
                None => figure(*rate),
            };
            format!("{rate} a second for {} s", figure(*seconds))
        }
        Phase::Closed { clients, to_clients, join, seconds, requests, think } => {
            let mut text = match to_clients {
                Some(to) => format!("{clients} to {to} clients"),
                None if *clients == 1 => "1 client".into(),
                None => format!("{clients} clients"),
            };
            if let Some(join) = join {
                text.push_str(&format!(" joining over {} s", figure(*join)));
            }
            if let Some(requests) = requests {
                text.push_str(&format!(", {} requests", super::number::count(*requests)));
            }
            if let Some(seconds) = seconds {
                text.push_str(&format!(", {} s", figure(*seconds)));
            }
            match think {
                Think::None => {}
                Think::Fixed { seconds } => text.push_str(&format!(", thinking {} s", figure(*seconds))),
                Think::Uniform { from, to } => {
                    text.push_str(&format!(", thinking {} to {} s", figure(*from), figure(*to)));
                }
            }
            text
        }
    }
}
