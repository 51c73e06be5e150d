//! Servers of a case that differ in their number of workers, started when they are asked for.

use super::servers::{Contestant, Servers};
use super::{evidence, sample};
use crate::load::{self, Cancel, Plan, Target};
use crate::run::Sample;
use crate::scenario::Case;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// A case at a contestant, with the server that runs as it is.
pub(super) struct Pools<'a> {
    pub(super) servers: &'a mut dyn Servers,
    pub(super) name: &'a str,
    pub(super) case: &'a Case,
    pub(super) target: &'a Target,
    /// The contestant that runs already, with as many workers as the scenario names.
    pub(super) as_it_is: &'a dyn Contestant,
    /// Others have folders beside this one.
    pub(super) folder: PathBuf,
    pub(super) cancel: Cancel,
    pub(super) started: BTreeMap<u32, Box<dyn Contestant>>,
    /// Why one did not start.
    pub(super) failed: Option<String>,
}

impl Pools<'_> {
    /// Loads the one with so many workers; `None`: it does not start, or the load was broken off.
    pub(super) fn load(
        &mut self,
        workers: Option<u32>,
        plan: &Plan,
        progress: &mut dyn FnMut(f64, Option<f64>),
    ) -> Option<Sample> {
        let workers = match workers.map(|workers| self.start(workers)).transpose() {
            Ok(workers) => workers,
            Err(why) => {
                self.failed = Some(format!("{why:#}"));
                return None;
            }
        };
        let runs = match workers {
            Some(workers) => self.started.get(&workers)?.as_ref(),
            None => self.as_it_is,
        };
        let target = Target { address: runs.address(), ..self.target.clone() };
        let before = runs.cost();
        let outcome = load::run(&target, plan, &self.cancel, progress).ok()?;
        let whole = !self.cancel.load(Ordering::Relaxed);
        whole.then(|| sample::sample(0, 0.0, outcome, before, runs.cost()))
    }

    /// Starts the one with so many, if it does not run yet.
    fn start(&mut self, workers: u32) -> anyhow::Result<u32> {
        if let Entry::Vacant(place) = self.started.entry(workers) {
            let folder = self.folder.with_file_name(format!("{}-{workers}-workers", self.name));
            evidence::make_folder(&folder)?;
            place.insert(self.servers.start_with_workers(self.name, self.case, &folder, workers)?);
        }
        Ok(workers)
    }
}
