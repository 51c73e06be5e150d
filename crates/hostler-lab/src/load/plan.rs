//! Plans: how a page is loaded, in phases; and what is asked for.

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Clients that a phase may have, and requests that may be under way at a time.
pub const MOST_CLIENTS: u32 = 10_000;

/// Requests a second that a plan may ask for.
const MOST_RATE: f64 = 10_000_000.0;

/// The load on a page: phases, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The phases.
    pub phases: Vec<Phase>,
    /// True if connections are kept.
    #[serde(default = "yes")]
    pub keep_alive: bool,
    /// The protocol.
    #[serde(default)]
    pub protocol: Protocol,
    /// Seconds of the first phase's load before anything counts.
    #[serde(default)]
    pub warm_up: f64,
    /// Seconds after which an unanswered request counts as failed.
    #[serde(default = "patience")]
    pub timeout: f64,
    /// When to end before the phases do.
    #[serde(default)]
    pub stop: Option<Stop>,
    /// For think times.
    #[serde(default)]
    pub seed: u64,
    /// True if each request is kept for itself ([`Outcome::requests`]), not only in histograms.
    #[serde(default)]
    pub keep_requests: bool,
}

/// A part of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Phase {
    /// Clients that each ask, wait for the answer, think, and ask again.
    Closed {
        /// At its begin.
        clients: u32,
        /// At its end; they join evenly spread over the phase (or over `join`). Absent: as at its begin.
        #[serde(default)]
        to_clients: Option<u32>,
        /// Seconds over which the further clients join; absent: the whole phase.
        #[serde(default)]
        join: Option<f64>,
        /// Duration in seconds. Either `seconds` or `requests` is given.
        #[serde(default)]
        seconds: Option<f64>,
        /// Number of requests of all clients together.
        #[serde(default)]
        requests: Option<u64>,
        /// Pause between answer and next request.
        #[serde(default)]
        think: Think,
    },
    /// Requests that are sent at a rate, whether or not others have been answered.
    Open {
        /// Requests a second at its begin.
        rate: f64,
        /// At its end; absent: the same.
        #[serde(default)]
        to_rate: Option<f64>,
        /// Duration in seconds.
        seconds: f64,
    },
}

/// Pauses, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Think {
    /// None.
    #[default]
    None,
    /// Always as long.
    Fixed {
        /// Seconds.
        seconds: f64,
    },
    /// Evenly spread between two.
    Uniform {
        /// At least.
        from: f64,
        /// At most.
        to: f64,
    },
}

/// The protocol of the connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2 without TLS, by prior knowledge; each client is a stream, clients share connections as browsers' do.
    H2,
}

/// A limit that ends a plan early; what is reported is where it broke.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Stop {
    /// One answer took longer than so many seconds, or a request failed: a client was not served.
    Answer {
        /// Seconds.
        seconds: f64,
    },
    /// A request failed.
    Error,
    /// The 99th percentile of the last second is over so many seconds.
    P99 {
        /// Seconds.
        seconds: f64,
    },
}

/// The target of a load.
#[derive(Clone, Debug)]
pub struct Target {
    /// The server's address.
    pub address: SocketAddr,
    /// The `Host` field.
    pub host: String,
    /// The virtual hosts, if there are several: client n requests `hosts[n % len]` (in open plans: request n). Empty:
    /// all clients request `host`.
    pub hosts: Vec<String>,
    /// Path and query.
    pub path: String,
    /// Body of a `POST` of form fields.
    pub form: Option<String>,
    /// Length of the body that an answer must have, if that is known: another one is an error.
    pub expected_length: Option<u64>,
    /// True if it is asked through TLS.
    pub tls: bool,
}

const fn yes() -> bool {
    true
}

const fn patience() -> f64 {
    30.0
}

impl Plan {
    /// Returns whether the plan makes sense: what is wrong otherwise, for the user.
    ///
    /// # Errors
    /// One sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.phases.is_empty() {
            return Err("a plan has at least one phase".to_owned());
        }
        positive("timeout", self.timeout)?;
        not_negative("warm_up", self.warm_up)?;
        match self.stop {
            Some(Stop::Answer { seconds } | Stop::P99 { seconds }) => positive("stop", seconds)?,
            Some(Stop::Error) | None => {}
        }
        self.phases.iter().try_for_each(Phase::check)
    }

    /// Seconds that the plan lasts, warm-up included, where it says so: phases that end by requests don't.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        let phases = self.phases.iter().map(Phase::seconds).sum::<Option<f64>>()?;
        Some(phases + self.warm_up)
    }
}

impl Phase {
    /// So many clients without pauses, for so many seconds.
    #[must_use]
    pub const fn closed(clients: u32, seconds: f64) -> Self {
        let (seconds, think) = (Some(seconds), Think::None);
        Self::Closed { clients, to_clients: None, join: None, seconds, requests: None, think }
    }

    /// Seconds that it lasts, if they are given.
    #[must_use]
    pub const fn seconds(&self) -> Option<f64> {
        match self {
            Self::Closed { seconds, .. } => *seconds,
            Self::Open { seconds, .. } => Some(*seconds),
        }
    }

    fn check(&self) -> Result<(), String> {
        match self {
            Self::Closed { clients, to_clients, join, seconds, requests, think } => {
                let most = (*clients).max(to_clients.unwrap_or(0));
                if most == 0 || most > MOST_CLIENTS {
                    return Err(format!("a phase has 1 to {MOST_CLIENTS} clients, not {most}"));
                }
                match (seconds, requests) {
                    (Some(seconds), None) => positive("seconds", *seconds)?,
                    (None, Some(1..)) => {}
                    _ => return Err("a closed phase has either seconds or requests".to_owned()),
                }
                not_negative("join", join.unwrap_or(0.0))?;
                think.check()
            }
            Self::Open { rate, to_rate, seconds } => {
                let most = rate.max(to_rate.unwrap_or(0.0));
                not_negative("rate", *rate)?;
                not_negative("to_rate", to_rate.unwrap_or(0.0))?;
                positive("rate", most)?;
                if most > MOST_RATE {
                    return Err(format!("a rate is at most {MOST_RATE} requests a second, not {most}"));
                }
                positive("seconds", *seconds)
            }
        }
    }
}

impl Think {
    fn check(&self) -> Result<(), String> {
        match self {
            Self::None => Ok(()),
            Self::Fixed { seconds } => not_negative("think", *seconds),
            Self::Uniform { from, to } => {
                not_negative("think", *from)?;
                not_negative("think", *to)?;
                if from <= to { Ok(()) } else { Err(format!("think from {from} to {to}: from is more")) }
            }
        }
    }
}

/// Seconds beyond which a time is a mistake: a year.
const FOREVER: f64 = 366.0 * 86_400.0;

fn positive(what: &str, value: f64) -> Result<(), String> {
    not_negative(what, value)?;
    if value > 0.0 { Ok(()) } else { Err(format!("{what} must be more than 0")) }
}

fn not_negative(what: &str, value: f64) -> Result<(), String> {
    if (0.0..=FOREVER).contains(&value) { Ok(()) } else { Err(format!("{what} cannot be {value}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(phase: &str) -> Result<Plan, String> {
        let plan: Plan = toml::from_str(phase).map_err(|e| e.to_string())?;
        plan.check().map(|()| plan)
    }

    #[test]
    fn a_plan_has_defaults() {
        let plan = plan("phases = [{ kind = 'closed', clients = 3, seconds = 2.5 }]").unwrap();
        assert!(plan.keep_alive && !plan.keep_requests);
        assert_eq!((plan.timeout, plan.seconds()), (30.0, Some(2.5)));
    }

    #[test]
    fn nonsense_is_refused() {
        for phases in [
            "[]",
            "[{ kind = 'closed', clients = 0, seconds = 1 }]",
            "[{ kind = 'closed', clients = 1 }]",
            "[{ kind = 'closed', clients = 1, seconds = 1, requests = 1 }]",
            "[{ kind = 'closed', clients = 1, requests = 0 }]",
            "[{ kind = 'closed', clients = 1, seconds = nan }]",
            "[{ kind = 'closed', clients = 1, seconds = 1, think = { kind = 'uniform', from = 2, to = 1 } }]",
            "[{ kind = 'open', rate = 0, seconds = 1 }]",
            "[{ kind = 'open', rate = -1, to_rate = 5, seconds = 1 }]",
            "[{ kind = 'open', rate = 5, seconds = 0 }]",
        ] {
            assert!(plan(&format!("phases = {phases}")).is_err(), "{phases}");
        }
    }
}
