//! `hostler lab load`: one page under one load, and what came of it as text. Nothing is compared.

use super::{Cancel, Outcome, Phase, PhaseOutcome, Plan, Progress, Protocol, Think, may_load, run};
use anyhow::{Result, bail};
use clap::Args;
use std::fmt::Write;

/// Arguments of `hostler lab load`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct LoadArgs {
    /// The page: http://HOST[:PORT]/PATH, or https://.
    #[arg(value_name = "URL")]
    url: String,
    /// Clients that each ask, wait for the answer, and ask again.
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "rate")]
    clients: u32,
    /// Seconds that a client pauses before it asks again.
    #[arg(long, value_name = "S", default_value_t = 0.0, conflicts_with = "rate")]
    think: f64,
    /// Duration in seconds [default: 10].
    #[arg(long, value_name = "S", conflicts_with = "requests")]
    seconds: Option<f64>,
    /// Number of requests, however long they take.
    #[arg(long, value_name = "N", conflicts_with = "rate")]
    requests: Option<u64>,
    /// Requests a second that are sent whether or not others have been answered; times count from when a request was
    /// to be sent.
    #[arg(long, value_name = "R")]
    rate: Option<f64>,
    /// The rate at the end, if it is to rise or fall.
    #[arg(long, value_name = "R", requires = "rate")]
    to_rate: Option<f64>,
    /// Seconds of the same load before anything counts.
    #[arg(long, value_name = "S", default_value_t = 0.0)]
    warm_up: f64,
    /// Seconds after which a request without an answer counts as failed.
    #[arg(long, value_name = "S", default_value_t = 30.0)]
    timeout: f64,
    /// A new connection for each request.
    #[arg(long)]
    no_keep_alive: bool,
    /// HTTP/2: by prior knowledge, or offered by TLS.
    #[arg(long)]
    h2: bool,
    /// Fields of a form to POST, as a=b&c=d.
    #[arg(long, value_name = "FIELDS")]
    form: Option<String>,
    /// Name the URL's host once more if it is not this machine: it is yours to load.
    #[arg(long, value_name = "NAME")]
    confirm_host: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  hostler lab load http://localhost:8080/                          10 clients for 10 s
  hostler lab load http://localhost:8080/ --rate 500 --seconds 30  500 requests a second
  hostler lab load http://localhost:8080/ --requests 1000 --no-keep-alive";

/// The result of a load.
#[derive(Clone, Debug)]
pub struct LoadResult {
    /// For people.
    pub report: String,
    /// True if anything was answered as it should be.
    pub answered: bool,
}

/// Loads a page as told: the report.
///
/// # Errors
/// Arguments that make no sense, a host that may not be loaded, or the generator's own trouble. What the server does
/// wrong is in the report.
pub fn direct(args: &LoadArgs, cancel: &Cancel, progress: &mut Progress<'_>) -> Result<LoadResult> {
    if let Some(form) = &args.form
        && form.bytes().any(|byte| !byte.is_ascii_graphic())
    {
        bail!("--form: characters other than ASCII's, and spaces, are written as %XX");
    }
    let mut target = may_load(&args.url, args.confirm_host.as_deref())?;
    target.form.clone_from(&args.form);
    let outcome = run(&target, &args.plan(), cancel, progress)?;
    Ok(LoadResult { report: report(&args.url, &outcome), answered: outcome.answers() > 0 })
}

impl LoadArgs {
    fn plan(&self) -> Plan {
        let seconds = self.seconds.unwrap_or(10.0);
        let phase = match self.rate {
            Some(rate) => Phase::Open { rate, to_rate: self.to_rate, seconds },
            None => Phase::Closed {
                clients: self.clients,
                to_clients: None,
                join: None,
                seconds: self.requests.is_none().then_some(seconds),
                requests: self.requests,
                think: if self.think > 0.0 { Think::Fixed { seconds: self.think } } else { Think::None },
            },
        };
        Plan {
            phases: vec![phase],
            keep_alive: !self.no_keep_alive,
            protocol: if self.h2 { Protocol::H2 } else { Protocol::Http1 },
            warm_up: self.warm_up,
            timeout: self.timeout,
            stop: None,
            seed: 0,
            keep_requests: false,
        }
    }
}

fn report(url: &str, outcome: &Outcome) -> String {
    let mut text = format!("{url}\n");
    for phase in &outcome.phases {
        text.push_str(&phase_report(phase));
    }
    let share = outcome.generator_share() * 100.0;
    let _ = writeln!(text, "  {:<12}{share:.0} % of its thread's time", "generator");
    if share > 80.0 {
        text.push_str("  The generator had little time left: a faster one may have got more.\n");
    }
    text
}

fn phase_report(phase: &PhaseOutcome) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<12}{value}");
    };
    line("elapsed", format!("{:.2} s", phase.elapsed));
    line("answers", format!("{}, of {} bytes in all", phase.answers, phase.bytes));
    // Of nothing there is no rate.
    if phase.answers > 0 && phase.elapsed > 0.0 {
        #[expect(clippy::cast_precision_loss, reason = "counts of requests are far below 2^52")]
        let (answers, bytes) = (phase.answers as f64, phase.bytes as f64);
        line(
            "rate",
            format!("{:.1} answers/s, {:.1} kB/s", answers / phase.elapsed, bytes / phase.elapsed / 1e3),
        );
        line("times", times(phase));
    }
    line("connections", phase.connections.to_string());
    if phase.retried > 0 {
        line("retried", format!("{}, as the server had closed the kept connection", phase.retried));
    }
    if phase.unanswered > 0 {
        line("unanswered", format!("{} were under way at the end", phase.unanswered));
    }
    if phase.starved > 0 && phase.answers > 0 {
        line(
            "starved",
            format!(
                "{} of {} clients got no answer: the times are those of the others",
                phase.starved, phase.clients
            ),
        );
    }
    line("failures", failures(phase));
    text
}

fn times(phase: &PhaseOutcome) -> String {
    #[expect(clippy::cast_precision_loss, reason = "microseconds of minutes")]
    let milliseconds = |quantile| phase.latency.value_at_quantile(quantile) as f64 / 1e3;
    format!(
        "mean {:.2}, p50 {:.2}, p90 {:.2}, p99 {:.2}, p99.9 {:.2}, longest {:.2} ms",
        phase.latency.mean() / 1e3,
        milliseconds(0.5),
        milliseconds(0.9),
        milliseconds(0.99),
        milliseconds(0.999),
        milliseconds(1.0),
    )
}

fn failures(phase: &PhaseOutcome) -> String {
    let errors = &phase.errors;
    let kinds = [
        (errors.connect, "no connection"),
        (errors.broken, "broken off"),
        (errors.timeout, "no answer in time"),
        (errors.status_4xx, "status 4xx"),
        (errors.status_5xx, "status 5xx"),
        (errors.wrong, "another status, or not HTTP"),
    ];
    let shown: Vec<String> =
        kinds.iter().filter(|(count, _)| *count > 0).map(|(count, kind)| format!("{count} {kind}")).collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::synthetic::{Behaviour, Server};
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: LoadArgs,
    }

    fn load(server: &Server, words: &str) -> Result<String> {
        let url = format!("http://{}/page", server.address);
        let words = ["load", &url].into_iter().chain(words.split_whitespace());
        direct(&Line::try_parse_from(words)?.args, &Cancel::default(), &mut |_, _| {})
            .map(|loaded| loaded.report)
    }

    #[test]
    fn a_page_is_loaded_and_reported() {
        let server = Server::start(Behaviour::default()).unwrap();
        let report = load(&server, "--requests 20 --clients 2 --form a=b").unwrap();
        assert!(report.contains("answers     20, of 100 bytes in all"), "{report}");
        assert!(report.contains("answers/s") && report.contains("failures    none"), "{report}");
        let report = load(&server, "--rate 100 --seconds 0.2").unwrap();
        assert!(report.contains("answers     20, "), "{report}");
        for wrong in [
            "--rate 5 --clients 3",
            "--requests 5 --seconds 3",
            "--to-rate 3",
            "--clients 0",
            "--form a\u{e4}",
        ] {
            assert!(load(&server, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn of_nothing_there_is_no_rate() {
        let server = Server::start(Behaviour { status: 500, ..Behaviour::default() }).unwrap();
        let report = load(&server, "--requests 3 --clients 1").unwrap();
        assert!(report.contains("answers     0, "), "{report}");
        assert!(!report.contains("rate") && report.contains("3 status 5xx"), "{report}");
    }
}
