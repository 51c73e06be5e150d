//! The servers that are measured: how each is found, configured, started on a free port, counted and stopped.

use crate::run::{Cost, Server};
use anyhow::Result;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// What a contestant is to serve.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// The folder made for it: `htdocs`, `perl`, `cgi-bin`, `lib`, `app.psgi` ... whatever the application has.
    pub root: PathBuf,
    /// Configuration in Apache's language, with `@ROOT@` and `@PORT@`; for Hostler and Apache alike.
    pub configuration: String,
    /// Further configuration by contestant name (what only that one has, or its own language: nginx).
    pub own: BTreeMap<String, String>,
    /// Processor share all its processes may use together: 0.1 is a tenth of one core.
    pub cpu: Option<f64>,
    /// Environment variables of the programs (a database's address).
    pub environment: Vec<(String, String)>,
}

/// Contestants that we know, installed or not.
#[must_use]
pub fn known() -> Vec<Server> {
    Vec::new()
}

/// A contestant that runs. Dropping it ends all of its processes.
#[derive(Debug)]
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
}

impl Running {
    /// Starts one and waits until it takes connections.
    ///
    /// # Errors
    /// Not known, not installed, or it does not start: with its log's last lines.
    pub fn start(name: &str, site: &Site, folder: &Path) -> Result<Self> {
        let _ = (site, folder);
        anyhow::bail!("{name} is not written yet")
    }

    /// Ends if a process of it has ended by itself: why, with its log's last lines.
    pub fn died(&mut self) -> Option<String> {
        None
    }

    /// What all of its processes have used so far, and hold now. To be taken before and after a measurement.
    #[must_use]
    pub fn cost(&self) -> Cost {
        Cost::default()
    }
}
