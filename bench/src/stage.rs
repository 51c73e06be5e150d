//! An application of the lab in a temporary folder, and servers for it.

use crate::report::Report;
use anyhow::{Context, Result};
use hostler_lab::application;
use hostler_lab::contestant::{self, Running, Site};
use hostler_lab::run::Server;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::OnceLock;
use tempfile::TempDir;

/// The files, deleted when dropped, and what servers are told of them.
pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) site: Site,
}

impl Stage {
    /// An application, with further configuration in Apache's language.
    pub(crate) fn new(application: &str, configuration: &str) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("hostler-bench-").tempdir()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        let root = folder.path().join("site");
        fs::create_dir(&root)?;
        let mut site = application::lay_out(application, &application::Options::default(), &root)?.site;
        site.configuration.push_str(configuration);
        Ok(Self { folder, site })
    }

    /// Adds a file that every user may read.
    pub(crate) fn file(self, path: &str, text: &str) -> Result<Self> {
        let file = self.site.root.join(path);
        fs::write(&file, text).with_context(|| path.to_owned())?;
        let mode = if text.starts_with("#!") { 0o755 } else { 0o644 };
        fs::set_permissions(&file, fs::Permissions::from_mode(mode))?;
        Ok(self)
    }

    /// Starts a contestant for it.
    pub(crate) fn start(&self, name: &str) -> Result<Running> {
        Running::start(name, &self.site, &self.logs(name))
    }

    /// Returns the folder of a running contestant's configuration, `server.conf`, and logs.
    pub(crate) fn logs(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Returns the installed contestants; the report names the others.
pub(crate) fn present(names: &[&'static str], report: &mut Report) -> Vec<&'static str> {
    let mut present = Vec::new();
    for name in names {
        match known(name).map(|server| server.unavailable.as_deref()) {
            Some(None) => present.push(*name),
            why => report.absent(&title(name), why.flatten().unwrap_or("is not known here")),
        }
    }
    present
}

/// As the report calls a contestant.
pub(crate) fn title(name: &str) -> String {
    known(name).map_or(name, |server| &server.title).to_owned()
}

/// Returns the facts about a contestant. It is asked for its version, so only once.
fn known(name: &str) -> Option<&'static Server> {
    static ALL: OnceLock<Vec<Server>> = OnceLock::new();
    ALL.get_or_init(contestant::known).iter().find(|server| server.name == name)
}
