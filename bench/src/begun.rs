//! The subject of a run: commit, date, build and machine at its start.

use anyhow::{Context, Result};
use hostler_lab::contestant;
use hostler_lab::machine;
use hostler_lab::run::{self, Machine};
use std::process::Command;

/// A run that begins.
pub(crate) struct RunStart {
    pub(crate) commit: String,
    /// Files differ from the commit; docs/performance.md itself does not count.
    pub(crate) changed: bool,
    pub(crate) date: String,
    /// Hostler's version, as it reports it.
    pub(crate) build: String,
    /// With its load before anything is measured.
    pub(crate) machine: Machine,
}

impl RunStart {
    /// Now.
    pub(crate) fn now() -> Result<Self> {
        let git = |words: &[&str]| {
            let output = Command::new("git").args(words).output();
            output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
        };
        let hostler = contestant::program("hostler").context("hostler is not built")?;
        let version = Command::new(hostler).arg("--version").output().context("hostler --version")?;
        Ok(Self {
            commit: git(&["describe", "--always"]),
            changed: !git(&["status", "--porcelain", "--", ".", ":!docs/performance.md"]).is_empty(),
            date: run::now(),
            build: String::from_utf8_lossy(&version.stdout).trim().to_owned(),
            machine: machine::this(),
        })
    }

    /// Why its figures are not to be published, if so.
    pub(crate) fn flaw(&self) -> Option<&'static str> {
        if self.build.contains("debug build") {
            return Some("Hostler is a debug build");
        }
        self.changed.then_some("there are changes that are in no commit")
    }

    /// As a list.
    pub(crate) fn markdown(&self) -> String {
        let machine = &self.machine;
        let changed = if self.changed { ", with changes that are in no commit" } else { "" };
        let load = machine.load.map(|load| format!("; load before it: {load:.1}")).unwrap_or_default();
        let gigabytes = machine.memory / 1_000_000_000;
        format!(
            "- Hostler's commit: {}{changed}\n- begun: {}\n- build: {}\n- machine: {} × {}, {gigabytes} GB, {}{load}\n",
            self.commit, self.date, self.build, machine.processors, machine.model, machine.kernel
        )
    }
}
