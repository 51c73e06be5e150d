//! From the start of the program to its first answer, with an ordinary configuration.

use crate::Options;
use crate::figures::Figure;
use crate::report::Report;
use crate::stage::{Stage, present, title};
use anyhow::Result;
use hostler_lab::method::statistics::{median, spread};

pub(crate) fn run(options: &Options, report: &mut Report) -> Result<()> {
    let stage = Stage::new("include", "")?;
    for name in present(&["hostler", "nginx", "apache-event", "apache-prefork"], report) {
        let mut found = Vec::new();
        for _ in 0..options.times() {
            found.push(stage.start(name)?.start_up * 1000.0);
        }
        let (middle, longest) = (median(&found), spread(&found).map(|(_, longest)| longest));
        report.figure(&format!("start/{name}"), Figure::of(middle.unwrap_or(f64::NAN)));
        report.line(
            format!("{}: start to first answer", title(name)),
            format!("{:.0} ms (longest {:.0} ms)", middle.unwrap_or(f64::NAN), longest.unwrap_or(f64::NAN)),
        );
    }
    Ok(())
}
