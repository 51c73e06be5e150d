//! A contestant in its case: where it runs, what it is asked for, what came of it.

use super::answer::{Answer, ask};
use super::calls::Calls;
use super::evidence;
use super::servers::Contestant;
use crate::load::Target;
use crate::run::Cell;
use crate::scenario::Case;
use anyhow::Result;
use std::path::PathBuf;

/// A contestant in its case.
pub(super) struct Place {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) folder: PathBuf,
    /// `None`: has failed.
    pub(super) runs: Option<Box<dyn Contestant>>,
    pub(super) target: Option<Target>,
    pub(super) restarted: bool,
    pub(super) calls: Calls,
    pub(super) cell: Cell,
}

impl Place {
    pub(super) fn fail(&mut self, why: &str) {
        self.runs = None;
        self.cell.failed = Some(evidence::without_places(why));
    }
}

/// Returns the request that a contestant gets.
pub(super) fn target(case: &Case, runs: &dyn Contestant, earlier: Option<Target>) -> Target {
    Target {
        address: runs.address(),
        host: case.hosts.first().cloned().unwrap_or_default(),
        hosts: if case.hosts.len() > 1 { case.hosts.clone() } else { Vec::new() },
        path: case.path.clone(),
        form: case.form.clone(),
        expected_length: earlier.and_then(|target| target.expected_length),
        tls: case.tls,
    }
}

/// A contestant's answers, at each host. If they have the same length each time, every timed answer must have it.
pub(super) fn answers(case: &Case, place: &mut Place) -> Result<Vec<Answer>> {
    let Some(target) = place.target.clone() else { return Ok(Vec::new()) };
    let ask_all = || -> Result<Vec<Answer>> {
        let ask = |host: &String| {
            let answer = ask(&target, host)?;
            answer.served()?;
            Ok(answer)
        };
        case.hosts.iter().map(ask).collect()
    };
    let first = ask_all()?;
    let again = ask_all()?;
    let length = first.first().map_or(0, |answer| answer.body.len());
    let steady = first.iter().chain(&again).all(|answer| answer.body.len() == length);
    if let Some(target) = &mut place.target {
        target.expected_length = steady.then_some(length as u64);
    }
    Ok(first)
}
