//! What takes no load generator: one answer, and memory.

use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// The body of an answer with status 200, asked for in HTTP/1.0 so that it comes without framing.
pub(crate) fn body(port: u16, path: &str) -> Result<Vec<u8>> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
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
    }
}
