//! One measurement, with its cost in processor time and memory; and the comparison of answers before it.

use crate::bench::cases::Case;
use crate::bench::contestant::Running;
use crate::bench::wrk;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// Ticks a second in /proc; fixed for programs on Linux.
const TICKS: f64 = 100.0;

/// What one contestant did in one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Requests a second.
    pub(crate) rate: f64,
    /// Milliseconds that 99 of 100 answers kept.
    pub(crate) p99: f64,
    /// Microseconds of processor time for each request, all processes of the contestant.
    pub(crate) processor: f64,
    /// How much of its one core the load generator used, 0 to 1.
    pub(crate) generator: f64,
}

/// Loads a contestant for one round.
pub(crate) fn sample(contestant: &Running, case: &Case, length: Duration) -> Result<Sample> {
    let server_before = processor_time(contestant.pid());
    let generator_before = children_time()?;
    let load = wrk::load(contestant.port, case, length)?;
    let generator = (children_time()? - generator_before) / length.as_secs_f64();
    let spent = processor_time(contestant.pid()) - server_before;
    #[expect(clippy::cast_precision_loss, reason = "counts of requests are far below 2^52")]
    let processor = spent * 1e6 / load.requests.max(1) as f64;
    Ok(Sample { rate: load.rate, p99: load.p99, processor, generator })
}

/// Compares all answers to the case's request; a difference is an error, not a footnote.
pub(crate) fn same_answers(contestants: &[Running], case: &Case) -> Result<()> {
    let mut first: Option<(&Running, Vec<u8>)> = None;
    for contestant in contestants {
        let body = body(contestant.port, case.path, case.host)
            .with_context(|| format!("{} at {}", contestant.kind.name(), case.path))?;
        let Some((model, expected)) = &first else {
            first = Some((contestant, body));
            continue;
        };
        if *expected != body {
            let differs = expected.iter().zip(&body).take_while(|(a, b)| a == b).count();
            let near = |body: &[u8]| {
                String::from_utf8_lossy(&body[differs.saturating_sub(40)..body.len().min(differs + 40)])
                    .into_owned()
            };
            bail!(
                "{}: {} and {} answer differently from byte {differs} on:\n{:?}\n{:?}",
                case.name,
                model.kind.name(),
                contestant.kind.name(),
                near(expected),
                near(&body)
            );
        }
    }
    Ok(())
}

/// The body of an answer with status 200, asked for in HTTP/1.0 so that it comes without framing.
pub(crate) fn body(port: u16, path: &str, host: Option<&str>) -> Result<Vec<u8>> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", host.unwrap_or("localhost"))?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").context("no end of the header")?;
    let header = String::from_utf8_lossy(&answer[..end]);
    let status_line = header.lines().next().unwrap_or_default();
    if status_line.split(' ').nth(1) != Some("200") {
        bail!("answers {status_line}");
    }
    Ok(answer.split_off(end + 4))
}

/// Proportional memory of the processes below `pid` whose name begins with `prefix`, in KiB.
pub(crate) fn memory(pid: u32, prefix: &str) -> u64 {
    let ours = family(pid).into_iter().filter(|pid| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with(prefix))
    });
    let pss = |pid: u32| -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    };
    ours.filter_map(pss).sum()
}

/// `pid` and every process that descends from it.
fn family(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        let children: Vec<u32> = tasks
            .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
            .flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
            .collect();
        found.extend(children);
        next += 1;
    }
    found
}

/// Seconds of processor time of `pid`, of all that descend from it, and of those that have ended.
fn processor_time(pid: u32) -> f64 {
    family(pid)
        .into_iter()
        .filter_map(|pid| times(&format!("/proc/{pid}/stat")))
        .map(|(own, ended)| own + ended)
        .sum()
}

/// Seconds of processor time of the load generators that have ended.
fn children_time() -> Result<f64> {
    Ok(times("/proc/self/stat").context("/proc/self/stat")?.1)
}

/// From a `stat` file (proc(5)): seconds of the process itself, and of its children that have been waited for.
fn times(file: &str) -> Option<(f64, f64)> {
    let text = fs::read_to_string(file).ok()?;
    // The name may contain anything; the fields begin behind its closing parenthesis, with field 3.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
    Some(((ticks(14)? + ticks(15)?) / TICKS, (ticks(16)? + ticks(17)?) / TICKS))
}

/// The value in the middle.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    match (values.len(), values.len() / 2) {
        (0, _) => f64::NAN,
        (count, middle) if count % 2 == 1 => values[middle],
        (_, middle) => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle() {
        assert!((median([3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median([4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
        assert!(median([]).is_nan());
    }

    #[test]
    fn our_own_processes_are_seen() {
        let own = std::process::id();
        assert!(family(own).contains(&own));
        assert!(memory(own, "") > 0);
        assert!(times("/proc/self/stat").is_some());
    }
}
