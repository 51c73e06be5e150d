//! State that the commands of one run share: the tree's facts beyond its lines, the errors found, and the settings
//! being filled. It does not know the directives; a [`Language`] finds them.

use crate::directives::auth::Alias;
use crate::directives::authz::Requirement;
use crate::directives::core::Allow;
use crate::error::{ConfigError, Warning};
use crate::raw::RawServer;
use crate::section::Setting;
use crate::table::Directive;
use crate::{Command, Facts, Node, Origin};
use hostler_expr::{RegexOptions, effort};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// After this many errors the rest is not worth reading.
const MAX_ERRORS: usize = 100;

/// The upper layer's knowledge that directives need: the table of all directives, and the function that applies lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Language {
    /// Carries out lines with the command's configuration; mistakes are collected.
    pub(crate) run: fn(&mut Command<'_>, &[Node]),
    /// The directive of a name, without regard to case.
    pub(crate) find: fn(&str) -> Option<&'static Directive>,
}

/// Other names for providers (`AuthnProviderAlias`, `AuthzProviderAlias`) and names of filters (`ExtFilterDefine`), for lines
/// that come after them and for .htaccess files.
#[derive(Clone, Debug, Default)]
pub struct Aliases {
    pub(crate) authn: HashMap<String, Arc<Alias>>,
    pub(crate) authz: HashMap<String, Requirement>,
    /// Lower case.
    pub(crate) filters: HashSet<String>,
}

/// State shared by all commands of one run.
#[derive(Debug)]
pub(crate) struct Builder {
    pub(crate) language: Language,
    pub(crate) facts: Arc<Facts>,
    pub(crate) files: Vec<Arc<str>>,
    pub(crate) errors: Vec<ConfigError>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) regex_options: RegexOptions,
    /// The directives allowed in .htaccess; `None` in configuration files.
    pub(crate) allow: Option<Arc<Allow>>,
    /// The virtual host that an .htaccess file is read for; `None` in configuration files.
    pub(crate) host: Option<Origin>,
    /// The virtual host whose lines are carried out, in configuration files.
    pub(crate) filling: Option<Origin>,
    /// When an .htaccess file has taken too long: compiling a thousand monstrous patterns must not hold up
    /// everybody else.
    pub(crate) deadline: Option<Instant>,
    /// The limit of [`hostler_expr::effort::compiled`].
    pub(crate) most_compiled: Option<u64>,
    /// Settings of the section being filled.
    pub(crate) trail: Vec<Setting>,
    /// Virtual hosts, not yet merged.
    pub(crate) hosts: Vec<RawServer>,
    next_section: u32,
    /// Of what sections say with directives of Perl modules.
    layers: u32,
    /// The number of sections around the line.
    pub(crate) depth: u32,
    warned: HashSet<String>,
    /// Filters that lines name and that are not the server's own: ExtFilterDefine may come later.
    pub(crate) filters: Vec<crate::directives::filter::FilterLine>,
    /// Handlers that lines name, lower case, and where.
    pub(crate) handlers: Vec<(Origin, &'static str, String)>,
    /// Handlers and types that an Action serves, lower case.
    pub(crate) actions: HashSet<String>,
    pub(crate) aliases: Arc<Aliases>,
    /// `<Processor>`, by their names.
    pub(crate) processors: HashMap<String, crate::directives::peruser::Processor>,
}

impl Builder {
    pub(crate) fn new(language: Language, facts: Arc<Facts>, files: Vec<Arc<str>>) -> Self {
        Self {
            language,
            facts,
            files,
            errors: Vec::new(),
            warnings: Vec::new(),
            regex_options: RegexOptions::default(),
            allow: None,
            host: None,
            filling: None,
            deadline: None,
            most_compiled: None,
            trail: Vec::new(),
            hosts: Vec::new(),
            next_section: 0,
            layers: 0,
            depth: 0,
            warned: HashSet::new(),
            filters: Vec::new(),
            handlers: Vec::new(),
            actions: HashSet::new(),
            aliases: Arc::default(),
            processors: HashMap::new(),
        }
    }

    pub(crate) fn file(&self, origin: Origin) -> Arc<str> {
        self.files.get(origin.file as usize).cloned().unwrap_or_else(|| Arc::from("configuration"))
    }

    pub(crate) fn error(&mut self, origin: Origin, directive: &str, message: String, form: String) {
        if self.errors.len() < MAX_ERRORS {
            let file = self.file(origin);
            let directive = directive.to_owned();
            self.errors.push(ConfigError { file, line: origin.line, directive, message, form });
        }
    }

    /// Returns whether going on makes no sense: too many errors (in .htaccess the first one decides), or out of time.
    pub(crate) fn is_over(&mut self, origin: Origin) -> bool {
        if self.deadline.is_some_and(|deadline| Instant::now() > deadline) && self.errors.is_empty() {
            self.error(origin, "", "the file takes too long to read".to_owned(), String::new());
        }
        if self.most_compiled.is_some_and(|most| effort::compiled() > most) && self.errors.is_empty() {
            let message = "the file's regular expressions take too much memory".to_owned();
            self.error(origin, "", message, String::new());
        }
        self.errors.len() >= if self.allow.is_some() { 1 } else { MAX_ERRORS }
    }

    pub(crate) fn warn(&mut self, origin: Origin, message: String) {
        let file = self.file(origin);
        self.warnings.push(Warning { file, line: origin.line, message, ignored: false });
    }

    /// Warns once for each directive that has no effect.
    pub(crate) fn warn_ignored(&mut self, directive: &str, origin: Origin, message: String) {
        if self.warned.insert(directive.to_owned()) {
            let file = self.file(origin);
            self.warnings.push(Warning { file, line: origin.line, message, ignored: true });
        }
    }

    pub(crate) fn warn_once(&mut self, key: &str, origin: Origin, message: String) {
        if self.warned.insert(key.to_owned()) {
            self.warn(origin, message);
        }
    }

    pub(crate) fn server_path(&self, path: &str) -> String {
        server_path(&self.facts.server_root, path)
    }

    pub(crate) fn attached(&self, path: &str) -> Option<Arc<str>> {
        self.facts.attached.get(&self.server_path(path)).map(|text| Arc::from(text.as_str()))
    }

    /// A new number, from 1.
    pub(crate) fn layer(&mut self) -> u32 {
        self.layers += 1;
        self.layers
    }

    pub(crate) fn section_id(&mut self) -> u32 {
        self.next_section += 1;
        self.next_section
    }
}

/// A path made absolute; `.` and `..` in it are taken out by their words, as Apache does (`apr_filepath_merge`).
pub(crate) fn server_path(root: &str, path: &str) -> String {
    let whole = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{}/{path}", root.trim_end_matches('/'))
    };
    if !whole.split('/').any(|part| matches!(part, "." | "..")) {
        return whole;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/').skip(1) {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The host part of an address of VirtualHost.
pub(crate) fn vhost_host(word: &str) -> &str {
    match word.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') && !host.is_empty() => host,
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::server_path;

    #[test]
    fn paths_are_absolute_and_without_dots() {
        for (path, whole) in [
            ("conf/users", "/etc/apache2/conf/users"),
            ("../users", "/etc/users"),
            ("/a/b/../c/./d", "/a/c/d"),
            ("/../../x", "/x"),
            ("/a/..b/c", "/a/..b/c"),
            ("/a/", "/a/"),
        ] {
            assert_eq!(server_path("/etc/apache2", path), whole, "{path}");
        }
    }
}
