//! The sections that apply to a file and its URL, in merge order, as lines to print.

use hostler_config::lookup::{self, Step};
use hostler_config::{
    Config, DirConfig, HtaccessScope, Origin, Section, Server, Setting, Stands, parse_htaccess_beside,
};
use std::path::Path;
use std::sync::Arc;

use super::Place;
use crate::Failed;

/// A directive that has a say.
#[derive(Debug)]
pub(crate) struct Line {
    /// `file:line`
    pub(crate) place: String,
    /// The section it stands in.
    pub(crate) scope: String,
    /// The index of the section in merge order; 0: outside sections.
    pub(crate) step: usize,
    /// Apache's spelling.
    pub(crate) directive: &'static str,
    /// The rest of the line.
    pub(crate) args: String,
}

impl Line {
    pub(crate) fn new(config: &Config, setting: &Setting, scope: &str) -> Self {
        Self {
            place: place(config, setting.origin),
            scope: scope.to_string(),
            step: 0,
            directive: setting.directive,
            args: setting.args.to_string(),
        }
    }
}

/// `file:line`
pub(crate) fn place(config: &Config, origin: Origin) -> String {
    match config.files.get(origin.file as usize) {
        Some(file) => format!("{file}:{}", origin.line),
        None => format!("line {}", origin.line),
    }
}

fn gave_up(error: impl std::fmt::Display) -> Failed {
    Failed(format!("a section's pattern gave up: {error}"))
}

/// The server's settings with the Location sections of a path: what translation to a file sees.
pub(crate) fn with_locations(server: &Server, path: &str) -> Result<DirConfig, Failed> {
    let mut dir = (*server.defaults).clone();
    for section in lookup::locations(server, path.as_bytes()).map_err(gave_up)? {
        dir = dir.merge(&section.conf);
    }
    Ok(dir)
}

/// The rules that apply to a file and its URL.
pub(crate) struct ApplicableRules {
    /// The configuration, conditions aside.
    pub(crate) dir: DirConfig,
    /// All lines in sections, in merge order.
    pub(crate) lines: Vec<Line>,
    /// The start of the conditional lines.
    pub(crate) conditional: usize,
}

/// Collects lines and the configuration that they make.
struct Merging<'a> {
    config: &'a Config,
    server: &'a Server,
    dir: DirConfig,
    lines: Vec<Line>,
    step: usize,
}

/// Everything in sections and .htaccess files that applies.
///
/// # Errors
/// A pattern gave up, or an .htaccess file is wrong: the server would answer 500.
pub(crate) fn steps(
    config: &Config,
    server: &Server,
    path: &str,
    place: &Place,
) -> Result<ApplicableRules, Failed> {
    let mut merging = Merging { config, server, dir: (*server.defaults).clone(), lines: Vec::new(), step: 0 };
    let directory =
        if place.file.is_dir() { &place.file } else { place.file.parent().unwrap_or(&place.file) };
    let directory = directory.to_string_lossy();
    let directory = if directory == "/" { "/" } else { directory.trim_end_matches('/') };
    let resource = place.file.to_string_lossy();
    for step in lookup::directory_walk(server, directory.as_bytes(), resource.as_bytes()).map_err(gave_up)? {
        match step {
            Step::Section(section) => merging.section(section),
            Step::Htaccess(level) => merging.htaccess(&String::from_utf8_lossy(level))?,
        }
    }
    let name = place.file.file_name().unwrap_or_default().as_encoded_bytes();
    let dir = merging.dir.clone();
    let files = if place.file.is_dir() { Vec::new() } else { lookup::files(&dir, name).map_err(gave_up)? };
    for section in files.into_iter().chain(lookup::locations(server, path.as_bytes()).map_err(gave_up)?) {
        merging.section(section);
    }
    let conditional = merging.lines.len();
    let ifs = merging.dir.core.ifs.clone();
    for section in &ifs {
        merging.list(&section.settings, &format!("{} (when the condition holds)", section.title), None);
    }
    Ok(ApplicableRules { dir: merging.dir, lines: merging.lines, conditional })
}

impl Merging<'_> {
    fn section(&mut self, section: &Arc<Section>) {
        self.list(&section.settings, &section.title, None);
        self.dir = self.dir.merge(&section.conf);
    }

    fn list(&mut self, settings: &[Setting], scope: &str, file: Option<&str>) {
        self.step += 1;
        for setting in settings {
            let mut line = Line { step: self.step, ..Line::new(self.config, setting, scope) };
            if let Some(file) = file {
                line.place = format!("{file}:{}", setting.origin.line);
            }
            self.lines.push(line);
        }
    }

    fn htaccess(&mut self, directory: &str) -> Result<(), Failed> {
        let allow = self.dir.core.allow();
        if !allow.reads() {
            return Ok(());
        }
        let names = self.server.conf.core.access_file_names.clone();
        let names = names.unwrap_or_else(|| Arc::from([".htaccess".to_string()]));
        let Some((file, text)) = names.iter().find_map(|name| {
            let path = Path::new(directory).join(name);
            std::fs::read(&path).ok().map(|text| (path.to_string_lossy().into_owned(), text))
        }) else {
            return Ok(());
        };
        let scope = HtaccessScope {
            config: self.config,
            host: self.server.origin,
            file: &file,
            directory,
            allow: Arc::new(allow),
        };
        let parsed = parse_htaccess_beside(&text, &scope, Stands::OnDisk)?;
        self.list(&parsed.settings, ".htaccess", Some(&file));
        self.dir = self.dir.merge(&parsed.conf);
        Ok(())
    }
}
