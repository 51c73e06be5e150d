//! From the start of the program to its first answer, with an ordinary configuration.

use crate::bench::contestant::{Kind, Running};
use crate::bench::report::Report;
use crate::bench::site::Site;
use crate::bench::{Options, measure, present};
use anyhow::Result;
use std::time::Instant;

pub(crate) fn run(site: &Site, options: &Options, report: &mut Report) -> Result<()> {
    for kind in present(&[Kind::Hostler, Kind::Nginx, Kind::ApacheEvent, Kind::ApachePrefork], report) {
        eprintln!("start: {}", kind.name());
        let mut found = Vec::new();
        for _ in 0..options.times() {
            let contestant = Running::start(kind, site, "")?;
            let begin = Instant::now();
            measure::body(contestant.port, "/small.html")?;
            found.push((contestant.start_up + begin.elapsed()).as_secs_f64() * 1000.0);
        }
        report.start(kind, measure::median(found.iter().copied()), found.into_iter().fold(0.0, f64::max));
    }
    Ok(())
}
