//! Figures of a run by name: of the lab's runs below target/bench, and what parts have recorded. Aims refer to them.

use crate::drive::float;
use anyhow::{Context, Result, bail};
use hostler_lab::method::statistics::{self, Rounds, median};
use hostler_lab::run::{self, Run, Sample};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// A figure, with its 95 % interval where there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) value: f64,
    pub(crate) interval: Option<(f64, f64)>,
}

impl Figure {
    /// One without an interval.
    pub(crate) fn of(value: f64) -> Self {
        Self { value, interval: None }
    }
}

impl From<statistics::Ratio> for Figure {
    fn from(ratio: statistics::Ratio) -> Self {
        Self { value: ratio.value, interval: ratio.interval }
    }
}

/// All that can be asked for.
#[derive(Default)]
pub(crate) struct Figures {
    /// The figures that parts have recorded.
    pub(crate) measured: BTreeMap<String, Figure>,
    /// Runs of the lab that belong to this run.
    pub(crate) runs: HashMap<String, Run>,
}

impl Figures {
    /// Takes in a run of the lab.
    pub(crate) fn read(&mut self, name: &str, folder: &Path) -> Result<()> {
        self.runs.insert(name.to_owned(), run::open(folder)?);
        Ok(())
    }

    /// Returns the figure that an aim's `figure` names; `None`: it was not measured here.
    ///
    /// # Errors
    /// It is not in the form that bench/aims.toml explains.
    pub(crate) fn find(&self, text: &str) -> Result<Option<Figure>> {
        let (kind, rest) = text.split_once(' ').with_context(|| format!("not a figure: {text}"))?;
        if kind == "measured" {
            let name = rest.split(',').next().unwrap_or(rest);
            return Ok(self.measured.get(name).copied().filter(|figure| figure.value.is_finite()));
        }
        let of: fn(&Sample) -> Option<f64> = match kind {
            "rate" => Sample::rate,
            "processor" => processor,
            "p99" => p99,
            _ => bail!("{kind} is no kind of figure: {text}"),
        };
        let mut places = rest.split(' ');
        let (first, second) = (places.next().unwrap_or_default(), places.next());
        let Some(first) = self.rounds(first, of)? else { return Ok(None) };
        match second {
            None => {
                let values: Vec<f64> = first.iter().map(|(_, value)| *value).collect();
                Ok(median(&values).map(|value| Figure { value, interval: statistics::interval(&values) }))
            }
            Some(second) => {
                let Some(second) = self.rounds(second, of)? else { return Ok(None) };
                Ok(statistics::ratio(&first, &second).map(Figure::from))
            }
        }
    }

    /// A figure of each round of a cell: `SCENARIO/CASE/SERVER`.
    fn rounds(&self, place: &str, of: fn(&Sample) -> Option<f64>) -> Result<Option<Rounds>> {
        let words: Vec<&str> = place.split('/').collect();
        let [scenario, case, server] = words[..] else { bail!("{place} is not SCENARIO/CASE/SERVER") };
        let Some(run) = self.runs.get(scenario) else { return Ok(None) };
        let cell = run.cells.iter().find(|cell| cell.case == case && cell.server == server);
        let rounds = |cell: &run::Cell| -> Rounds {
            cell.samples.iter().filter_map(|sample| Some((sample.round, of(sample)?))).collect()
        };
        Ok(cell.map(rounds).filter(|rounds| !rounds.is_empty()))
    }
}

/// Seconds of the server's processor time for each answer.
fn processor(sample: &Sample) -> Option<f64> {
    (sample.answers() > 0).then(|| sample.cost.processor.map(|used| used / float(sample.answers())))?
}

fn p99(sample: &Sample) -> Option<f64> {
    sample.phases.last().filter(|phase| phase.answers > 0).map(|phase| phase.latency.p99 * 1e3)
}
