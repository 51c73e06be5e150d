//! The progress of a run: a bar with the remaining time on a terminal, a line for each cell elsewhere.

use crate::load::Cancel;
use crate::method::{Event, statistics};
use crate::run::Cell;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::Ordering;

/// Steps of the bar.
const STEPS: u64 = 1000;

/// Shows events on stderr.
pub(super) struct Progress {
    /// `None`: there is no terminal.
    bar: Option<ProgressBar>,
    cancel: Cancel,
}

impl Progress {
    pub(super) fn new(cancel: Cancel) -> Self {
        Self { bar: std::io::stderr().is_terminal().then(bar), cancel }
    }

    pub(super) fn show(&mut self, event: &Event<'_>) {
        match (event, &self.bar) {
            (Event::Progress { part, left, doing }, Some(bar)) => {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1000")]
                bar.set_position((part.clamp(0.0, 1.0) * STEPS as f64) as u64);
                let left =
                    if self.cancel.load(Ordering::Relaxed) { "ending".to_owned() } else { duration(*left) };
                bar.set_message(format!("{left}  {doing}"));
            }
            (Event::Done(_), Some(_)) | (Event::Progress { .. }, None) => {}
            (Event::Note(text), Some(bar)) => bar.println(format!("note: {text}")),
            (Event::Done(cell), None) => eprintln!("{}", line(cell)),
            (Event::Note(text), None) => eprintln!("note: {text}"),
        }
    }

    pub(super) fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

/// `3 min left`.
fn duration(seconds: f64) -> String {
    if seconds < 90.0 { format!("{seconds:.0} s left") } else { format!("{:.0} min left", seconds / 60.0) }
}

/// A cell in one line.
fn line(cell: &Cell) -> String {
    let rates: Vec<f64> = cell.samples.iter().filter_map(crate::run::Sample::rate).collect();
    let measured = match (statistics::median(&rates), statistics::spread(&rates)) {
        (Some(rate), Some((low, high))) => {
            format!("{rate:.1} requests/s ({low:.1} to {high:.1}, {} rounds)", rates.len())
        }
        _ if cell.samples.is_empty() => String::new(),
        _ => "no successful request".to_owned(),
    };
    let failed = cell.failed.as_deref().map(|why| why.lines().next().unwrap_or_default().to_owned());
    let what: Vec<String> = [measured].into_iter().filter(|text| !text.is_empty()).chain(failed).collect();
    format!("{}, {}: {}", cell.case, cell.server, what.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::run;

    #[test]
    fn a_cell_in_one_line() {
        let mut cell = run(&[("a", "hostler", &[100.0, 110.0, 120.0])]).cells.remove(0);
        assert_eq!(line(&cell), "a, hostler: 110.0 requests/s (100.0 to 120.0, 3 rounds)");
        cell.failed = Some("died twice: signal 9\nlog".to_owned());
        assert!(line(&cell).ends_with("; died twice: signal 9"));
        assert_eq!(line(&run(&[("a", "hostler", &[0.0])]).cells[0]), "a, hostler: no successful request");
        let absent = Cell { samples: Vec::new(), ..cell };
        assert_eq!(line(&absent), "a, hostler: died twice: signal 9");
    }
}
