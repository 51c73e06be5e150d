//! The load generator, wrk, and what it says.

use crate::bench::cases::Case;
use anyhow::{Context, Result, bail};
use std::process::Command;
use std::time::Duration;

/// What one run of wrk found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Load {
    /// Requests a second.
    pub(crate) rate: f64,
    /// Answers in all.
    pub(crate) requests: u64,
    /// The latency that 99 of 100 answers kept, in milliseconds.
    pub(crate) p99: f64,
}

/// wrk's own version, if it is installed.
pub(crate) fn version() -> Option<String> {
    // `wrk -v` also prints its usage and fails.
    let output = Command::new("wrk").arg("-v").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(
        text.lines()
            .next()
            .unwrap_or_default()
            .split(" Copyright")
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned(),
    )
}

/// Loads a server for this long.
pub(crate) fn load(port: u16, case: &Case, length: Duration) -> Result<Load> {
    let mut wrk = Command::new("wrk");
    // One thread: the machine's other core is the server's.
    wrk.args(["--threads", "1", "--latency", "--timeout", "10s"]);
    wrk.args([
        "--connections",
        &case.connections.to_string(),
        "--duration",
        &format!("{}s", length.as_secs()),
    ]);
    if !case.keep_alive {
        wrk.args(["--header", "Connection: close"]);
    }
    if let Some(host) = case.host {
        wrk.args(["--header", &format!("Host: {host}")]);
    }
    wrk.arg(format!("http://127.0.0.1:{port}{}", case.path));
    let output = wrk.output().context("cannot run wrk")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!("wrk failed: {text}{}", String::from_utf8_lossy(&output.stderr));
    }
    parse(&text).with_context(|| format!("what wrk says about {}:\n{text}", case.name))
}

/// Reads wrk's report; an answer that was not 2xx or 3xx, or an error of a socket, fails the measurement.
fn parse(text: &str) -> Result<Load> {
    for line in text.lines() {
        // A server may close a connection after its answer as it was asked to; wrk counts only real errors here.
        if line.contains("Non-2xx") || line.contains("Socket errors") {
            bail!("errors under load: {}", line.trim());
        }
    }
    let after = |label: &str| {
        let found = text.lines().find_map(|line| line.trim().strip_prefix(label));
        found.map(str::trim).with_context(|| format!("no {label} line"))
    };
    let rate = after("Requests/sec:")?.parse()?;
    let requests =
        text.lines().find_map(|line| line.trim().split_once(" requests in ")).context("no count")?.0;
    Ok(Load { rate, requests: requests.parse()?, p99: milliseconds(after("99%")?)? })
}

fn milliseconds(text: &str) -> Result<f64> {
    let unit =
        text.find(|character: char| character.is_ascii_alphabetic()).context("a time without a unit")?;
    let (number, unit) = text.split_at(unit);
    let factor = match unit {
        "us" => 0.001,
        "ms" => 1.0,
        "s" => 1000.0,
        "m" => 60_000.0,
        _ => bail!("unknown unit {unit}"),
    };
    Ok(number.parse::<f64>()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "Running 1s test @ http://127.0.0.1:1/\n  1 threads and 15 connections\n  \
        Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   150.10us  100.00us   4.00ms   90.00%\n    \
        Req/Sec    95.10k     1.00k   97.00k    70.00%\n  Latency Distribution\n     50%  120.00us\n     \
        99%    1.20ms\n  94123 requests in 1.00s, 400.00MB read\nRequests/sec:  94100.50\nTransfer/sec:    399.00MB\n";

    #[test]
    fn reads_the_report() {
        assert_eq!(parse(REPORT).unwrap(), Load { rate: 94_100.5, requests: 94_123, p99: 1.2 });
    }

    #[test]
    fn errors_are_not_a_result() {
        assert!(parse(&format!("{REPORT}  Non-2xx or 3xx responses: 3\n")).is_err());
        assert!(parse("nothing").is_err());
    }
}
