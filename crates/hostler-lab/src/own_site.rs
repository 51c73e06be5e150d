//! `hostler lab run -f httpd.conf --url /page`: a user's own page, under every technique and isolation that can serve
//! it.
//!
//! `hostler explain` says what serves the page now (`page.rs`). The ways to serve it (`ways.rs`) are the
//! contestants of one case, so that their answers are compared with each other and they are loaded in turn. Each runs
//! on a copy of the configuration (`copy.rs`) that ends with a `<Location>` for the page.

mod command;
mod copy;
mod nginx_includes;
mod page;
mod pattern;
mod ways;

pub use command::{OwnSite, own_site};

use crate::contestant::{self, Running, Site};
use crate::load::{self, Phase, Plan, Protocol};
use crate::method::{Contestant, Options, Servers, Workers, select, take_with};
use crate::run::{Run, Server};
use crate::scenario::{Case, Quick, Scenario, Shape};
use anyhow::{Context, Result};
use copy::Copy;
use page::{Page, Url};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use ways::Way;

/// Connections that ask at the same time, as in the first of the published experiments.
const CLIENTS: u32 = 15;

/// A page of a configuration.
#[derive(Clone, Debug)]
pub struct PageChoice {
    /// The configuration file.
    pub file: PathBuf,
    /// Names that are defined (`-D NAME[=VALUE]`).
    pub defines: Vec<String>,
    /// A path of the main server, or an absolute URL.
    pub url: String,
    /// The number of concurrent clients.
    pub clients: Option<u32>,
}

/// The ways to serve a page, as contestants.
#[derive(Debug)]
pub struct OwnServers {
    ways: Vec<Way>,
    copy: Copy,
    url: Url,
    cpu: Option<f64>,
    folder: TempDir,
}

/// Takes a run of a user's page.
///
/// # Errors
/// The configuration cannot be read, or nothing is known that could serve the page. What fails later is in the run.
pub fn take(
    wanted: &PageChoice,
    options: &Options,
    events: &mut dyn FnMut(crate::method::Event<'_>),
) -> Result<Run> {
    let mut servers = OwnServers::new(wanted, options.cpu)?;
    let scenario = select(&servers.scenario(wanted), options)?;
    let notes = servers.copy.notes.clone();
    let mut run = take_with(&mut servers, scenario, options, events)?;
    run.notes.splice(0..0, notes);
    Ok(run)
}

impl OwnServers {
    /// Finds out what serves the page, and makes the copy of the configuration.
    ///
    /// # Errors
    /// As [`take`].
    pub fn new(wanted: &PageChoice, cpu: Option<f64>) -> Result<Self> {
        let url = Url::parse(&wanted.url)?;
        let explained = page::explain(&wanted.file, &wanted.defines, &url)?;
        let page = Page::of(&explained);
        let copy = Copy::of(&wanted.file, &wanted.defines, &url)?;
        let mut ways = ways::ways(&page, &url);
        if copy.tls {
            ways.iter_mut().for_each(Way::over_tls);
        }
        let folder = tempfile::Builder::new().prefix("hostler-lab-root-").tempdir()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        Ok(Self { ways, copy, url, cpu, folder })
    }

    /// One case: the page; its contestants: the ways to serve it. What others are compared with is the first that can.
    #[must_use]
    pub fn scenario(&self, wanted: &PageChoice) -> Scenario {
        let closed = Phase::closed(wanted.clients.unwrap_or(CLIENTS), 5.0);
        let plan = Plan {
            phases: vec![closed],
            keep_alive: true,
            protocol: Protocol::Http1,
            warm_up: 1.0,
            timeout: 30.0,
            stop: None,
            seed: 0,
            keep_requests: false,
        };
        let case = Case {
            name: "page".to_owned(),
            title: self.url.path.clone(),
            technique: "own".to_owned(),
            path: self.url.path.clone(),
            hosts: vec![self.url.host.clone()],
            tls: self.copy.tls,
            form: None,
            contestants: None,
            plan,
            saturation: None,
        };
        Scenario {
            name: "own".to_owned(),
            title: format!("{} in each way that can serve it", self.url.path),
            source: String::new(),
            question: format!(
                "Which technique and which isolation serves {} of {} best on this machine?",
                self.url.path,
                wanted.file.display()
            ),
            report: Shape::Comparison,
            contestants: self.ways.iter().map(|way| way.name.clone()).collect(),
            application: String::new(),
            configuration: String::new(),
            advice: true,
            rounds: 8,
            quick: Quick { rounds: 4, scale: 0.4 },
            cases: vec![case],
            published: Vec::new(),
        }
    }

    fn way(&self, name: &str) -> Option<&Way> {
        self.ways.iter().find(|way| way.name == name)
    }

    /// Returns the site that a way's server gets.
    fn site(&self, way: &Way) -> Result<Site> {
        let root = self.folder.path().join(&way.name);
        fs::create_dir_all(&root)?;
        if let Some(text) = &way.application {
            fs::write(root.join("app.psgi"), text)?;
        }
        let mut site = Site {
            root,
            configuration: self.copy.text(way),
            cpu: self.cpu,
            names_users: self.copy.names_users,
            ..Site::default()
        };
        if let Some(text) = &way.own {
            site.own.insert(way.server.to_owned(), text.clone());
        }
        Ok(site)
    }
}

impl Servers for OwnServers {
    fn known(&self) -> Vec<Server> {
        let installed = contestant::known();
        let server = |way: &Way| {
            let of = installed.iter().find(|server| server.name == way.server);
            let unavailable =
                way.unavailable.clone().or_else(|| of.and_then(|server| server.unavailable.clone()));
            let version = of.and_then(|server| server.version.clone());
            Server { name: way.name.clone(), title: way.title.clone(), version, unavailable }
        };
        self.ways.iter().map(server).collect()
    }

    fn unavailable(&self, name: &str, _case: &Case) -> Option<String> {
        self.way(name)?.unavailable.clone()
    }

    fn limit(&self, cancel: &load::Cancel) -> Option<load::Limit> {
        load::limit(cancel).ok().flatten()
    }

    fn start(&mut self, name: &str, _case: &Case, folder: &Path) -> Result<Box<dyn Contestant>> {
        let way = self.way(name).with_context(|| format!("unknown way {name:?}"))?;
        Ok(Box::new(Running::start(way.server, &self.site(way)?, folder)?))
    }

    fn workers(&self, name: &str, _case: &Case) -> Workers {
        self.way(name).map_or(Workers::None, Way::workers)
    }

    fn start_with_workers(
        &mut self,
        name: &str,
        _case: &Case,
        folder: &Path,
        workers: u32,
    ) -> Result<Box<dyn Contestant>> {
        let way = self.way(name).with_context(|| format!("unknown way {name:?}"))?;
        let site = Site { workers: Some(workers), ..self.site(way)? };
        Ok(Box::new(Running::start(way.server, &site, folder)?))
    }
}

#[cfg(test)]
mod tests;
