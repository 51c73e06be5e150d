//! BENCH4: running mean and deviation of the response time, and how evenly clients were served.

use crate::load::Request;
use crate::method::statistics;
use crate::report::figures::{Figures, Metric};
use crate::report::number::{self, milliseconds, times};
use crate::report::results;
use crate::report::table::{Entry, Table, faint, plain};
use crate::run::Run;
use std::collections::BTreeMap;

/// Answers that a running mean is taken of, as published.
pub(in crate::report) const WINDOW: usize = 50;

/// Mean and deviation of the last [`WINDOW`] answers at a time; seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::report) struct Running {
    pub(in crate::report) at: f64,
    pub(in crate::report) mean: f64,
    pub(in crate::report) deviation: f64,
}

pub(super) fn tables(run: &Run, cells: &[Figures<'_>]) -> Vec<Table> {
    let mut table = Table::new(format!("Response time, and its running mean over {WINDOW} answers"), "");
    for (group, title) in [
        ("all answers, ms", "mean"),
        ("all answers, ms", "deviation"),
        ("running mean, ms", "lowest"),
        ("running mean, ms", "highest"),
        ("", "unluckiest client"),
    ] {
        table.column(group, title);
    }
    results::cell_rows(run, cells, &mut table, |cell| {
        let mut entries = vec![
            plain(cell.name(run)),
            results::median(Some(cell), Metric::Mean),
            results::median(Some(cell), Metric::Deviation),
        ];
        let means: Vec<f64> = running(requests(cell)).iter().map(|running| running.mean).collect();
        for bound in [means.iter().copied().reduce(f64::min), means.iter().copied().reduce(f64::max)] {
            entries.push(bound.map_or_else(not_kept, |seconds| plain(milliseconds(seconds))));
        }
        entries.push(unluckiest(requests(cell)).map_or_else(not_kept, |ratio| plain(times(ratio))));
        entries
    });
    table.notes.push(
        "Unluckiest client: the mean wait of the client that waited longest, of the middle client's. Running means and \
         clients: the last round."
            .into(),
    );
    vec![table]
}

fn not_kept() -> Entry {
    faint(number::NONE)
}

/// The last round's requests that were kept, by the time of their answers.
pub(in crate::report) fn requests<'r>(cell: &Figures<'r>) -> &'r [Request] {
    cell.cell
        .samples
        .iter()
        .rev()
        .map(|sample| sample.requests.as_slice())
        .find(|all| !all.is_empty())
        .unwrap_or(&[])
}

/// Mean and deviation over the last [`WINDOW`] answers, at each answer from the first full window on.
pub(in crate::report) fn running(requests: &[Request]) -> Vec<Running> {
    let mut served: Vec<&Request> = requests.iter().filter(|request| is_served(request)).collect();
    served.sort_by(|one, other| (one.at + one.took).total_cmp(&(other.at + other.took)));
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut found = Vec::with_capacity(served.len().saturating_sub(WINDOW));
    for (index, request) in served.iter().enumerate() {
        sum += request.took;
        squares += request.took * request.took;
        if let Some(gone) = index.checked_sub(WINDOW) {
            sum -= served[gone].took;
            squares -= served[gone].took * served[gone].took;
        }
        if index + 1 >= WINDOW {
            let mean = sum / WINDOW as f64;
            let deviation = (squares / WINDOW as f64 - mean * mean).max(0.0).sqrt();
            found.push(Running { at: request.at + request.took, mean, deviation });
        }
    }
    found
}

/// The longest mean wait of a client as a multiple of the middle client's.
fn unluckiest(requests: &[Request]) -> Option<f64> {
    let mut clients: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for request in requests.iter().filter(|request| is_served(request)) {
        let (sum, count) = clients.entry(request.client).or_default();
        *sum += request.took;
        *count += 1.0;
    }
    let means: Vec<f64> = clients.values().map(|(sum, count)| sum / count).collect();
    let longest = means.iter().copied().reduce(f64::max)?;
    let middle = statistics::median(&means).filter(|middle| *middle > 0.0)?;
    (means.len() > 1).then(|| longest / middle)
}

fn is_served(request: &Request) -> bool {
    (200..400).contains(&request.status)
}
