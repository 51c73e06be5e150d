//! The measured servers: those of this machine, or, in tests and for a user's own pages, others.

use super::Options;
use crate::application::{self, LaidOut, Technique};
use crate::contestant::{self, Counting, Running};
use crate::load::{self, Cancel, Limit};
use crate::run::{Cost, Server};
use crate::scenario::{Case, Scenario};
use anyhow::{Context, Result};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

/// The workers behind a page at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// Processes that take one request after the other; the lab can set how many
    /// ([`Servers::start_with_workers`]).
    Pool,
    /// A process for each request, as many as there are requests at a time.
    OneEach,
    /// The server's own threads or events, or nothing is known.
    None,
}

/// Servers that can be started.
pub trait Servers {
    /// All of them, installed or not.
    fn known(&self) -> Vec<Server>;

    /// Why one cannot serve a case here; `None`: as far as is known it can.
    fn unavailable(&self, name: &str, case: &Case) -> Option<String>;

    /// Returns the generator's limit on this machine; `None`: not measured.
    fn limit(&self, _cancel: &Cancel) -> Option<Limit> {
        None
    }

    /// Starts one for a case, with its configuration and its logs in `folder`.
    ///
    /// # Errors
    /// Why it does not start, with its log's last lines.
    fn start(&mut self, name: &str, case: &Case, folder: &Path) -> Result<Box<dyn Contestant>>;

    /// Returns the workers behind a case's page at a server.
    fn workers(&self, _name: &str, _case: &Case) -> Workers {
        Workers::None
    }

    /// Starts one that has exactly so many workers, where it has a pool of them.
    ///
    /// # Errors
    /// As [`Servers::start`]; it has none.
    fn start_with_workers(
        &mut self,
        name: &str,
        _case: &Case,
        _folder: &Path,
        _workers: u32,
    ) -> Result<Box<dyn Contestant>> {
        anyhow::bail!("{name} has no workers whose number could be set")
    }
}

/// A server that runs. Dropping it ends all of its processes.
pub trait Contestant {
    /// Returns the address it listens on.
    fn address(&self) -> SocketAddr;
    /// If it has ended by itself: why.
    fn died(&mut self) -> Option<String>;
    /// Returns the resources that its processes have used so far and hold now.
    fn cost(&self) -> Cost;
    /// Begins to count system calls, where that can be done.
    fn counting(&self) -> Option<Counting> {
        None
    }
}

impl Contestant for Running {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn died(&mut self) -> Option<String> {
        Self::died(self)
    }

    fn cost(&self) -> Cost {
        Self::cost(self)
    }

    fn counting(&self) -> Option<Counting> {
        Self::counting(self)
    }
}

/// The servers of this machine, and the application that they serve in a folder that ends with this.
#[derive(Debug)]
pub struct Installed {
    techniques: Vec<Technique>,
    application: String,
    // Its database ends before its folder goes.
    laid_out: LaidOut,
    _folder: TempDir,
}

impl Installed {
    /// Lays out a scenario's application.
    ///
    /// # Errors
    /// No such application, a full disk, a database that does not start.
    pub fn lay_out(scenario: &Scenario, options: &Options) -> Result<Self> {
        let how = application::Options { database: options.database };
        let folder = folder_for_all("root")?;
        let techniques = application::techniques(&scenario.application, &how)?;
        let mut laid_out = application::lay_out(&scenario.application, &how, folder.path())
            .with_context(|| format!("cannot lay out the application {}", scenario.application))?;
        laid_out.site.cpu = options.cpu;
        laid_out.site.configuration.push('\n');
        laid_out.site.configuration.push_str(&scenario.configuration);
        Ok(Self { techniques, application: scenario.application.clone(), laid_out, _folder: folder })
    }
}

impl Servers for Installed {
    fn known(&self) -> Vec<Server> {
        contestant::known()
    }

    fn unavailable(&self, name: &str, case: &Case) -> Option<String> {
        match self.techniques.iter().find(|one| one.name == case.technique) {
            Some(technique) => technique.unavailable_at(name),
            None => Some(format!("the application {} has no {} yet", self.application, case.technique)),
        }
    }

    fn limit(&self, cancel: &Cancel) -> Option<Limit> {
        load::limit(cancel).ok().flatten()
    }

    fn start(&mut self, name: &str, _case: &Case, folder: &Path) -> Result<Box<dyn Contestant>> {
        Ok(Box::new(Running::start(name, &self.laid_out.site, folder)?))
    }

    fn workers(&self, name: &str, case: &Case) -> Workers {
        of_technique(name, &case.technique)
    }

    fn start_with_workers(
        &mut self,
        name: &str,
        _case: &Case,
        folder: &Path,
        workers: u32,
    ) -> Result<Box<dyn Contestant>> {
        let site = contestant::Site { workers: Some(workers), ..self.laid_out.site.clone() };
        Ok(Box::new(Running::start(name, &site, folder)?))
    }
}

/// Returns the workers behind a page of a technique at a server of this machine.
fn of_technique(server: &str, technique: &str) -> Workers {
    match (server, technique) {
        // Each process takes requests of all kinds, its CGI programs wait for it as it waits for them.
        ("apache-prefork" | "apache-itk" | "starman" | "gunicorn" | "nginx-fpm", _)
        | ("hostler", "handler" | "registry" | "psgi" | "php") => Workers::Pool,
        ("hostler" | "apache-event", cgi) if cgi.starts_with("cgi") => Workers::OneEach,
        _ => Workers::None,
    }
}

/// A temporary folder that servers' users may enter. What it is for is part of its name, and stands for it where a run
/// is kept ([`super::evidence::without_places`]).
pub(super) fn folder_for_all(what_for: &str) -> Result<TempDir> {
    let prefix = format!("hostler-lab-{what_for}-");
    let folder = tempfile::Builder::new().prefix(&prefix).tempdir().context("no temporary folder")?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
    Ok(folder)
}
