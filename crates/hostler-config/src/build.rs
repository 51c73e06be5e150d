//! From the tree to the configuration: each line is found in the table, checked against its context and its
//! arity, and carried out.

use crate::command::{Context, Inside};
use crate::error::{ConfigError, Warning};
use crate::lexer::{first_word, words};
use crate::section::{Section, Setting};
use crate::table::{Action, Args, Arity, Contexts, Directive};
use crate::{Command, Facts, Node, Origin, Place, directives};
use crate::{DirConfig, MethodSet};
use hostler_expr::RegexOptions;
use std::collections::HashSet;
use std::sync::Arc;

/// After this many errors the rest is not worth reading.
const MAX_ERRORS: usize = 100;

/// Sections deeper than this are an error.
const MAX_DEPTH: u32 = 32;

/// What is shared by all commands of one run.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    pub(crate) facts: Arc<Facts>,
    pub(crate) files: Vec<Arc<str>>,
    pub(crate) errors: Vec<ConfigError>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) regex_options: RegexOptions,
    /// What .htaccess may contain; `None` in configuration files.
    pub(crate) allow: Option<Arc<directives::core::Allow>>,
    /// Settings of the section being filled.
    pub(crate) trail: Vec<Setting>,
    next_section: u32,
    depth: u32,
    warned: HashSet<String>,
}

impl Builder {
    fn file(&self, origin: Origin) -> Arc<str> {
        self.files.get(origin.file as usize).cloned().unwrap_or_else(|| Arc::from("configuration"))
    }

    pub(crate) fn error(&mut self, origin: Origin, directive: &str, message: String, form: String) {
        if self.errors.len() < MAX_ERRORS {
            let file = self.file(origin);
            let directive = directive.to_owned();
            self.errors.push(ConfigError { file, line: origin.line, directive, message, form });
        }
    }

    pub(crate) fn warn(&mut self, origin: Origin, message: String) {
        let file = self.file(origin);
        self.warnings.push(Warning { file, line: origin.line, message });
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

    pub(crate) fn section_id(&mut self) -> u32 {
        self.next_section += 1;
        self.next_section
    }
}

/// A path made absolute.
pub(crate) fn server_path(root: &str, path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", root.trim_end_matches('/')) }
}

/// Runs directives one after the other.
pub(crate) fn run(cmd: &mut Command<'_>, nodes: &[Node]) {
    if cmd.builder.depth == MAX_DEPTH {
        let message = format!("sections nest deeper than {MAX_DEPTH} levels");
        cmd.builder.error(cmd.origin, cmd.directive.name, message, String::new());
        return;
    }
    cmd.builder.depth += 1;
    let (origin, directive) = (cmd.origin, cmd.directive);
    for node in nodes {
        cmd.origin = node.origin;
        step(cmd, node);
    }
    (cmd.origin, cmd.directive) = (origin, directive);
    cmd.builder.depth -= 1;
}

fn step(cmd: &mut Command<'_>, node: &Node) {
    let Some((_, directive)) = directives::find(&node.name) else {
        return unknown(cmd, node);
    };
    cmd.directive = directive;
    if let Err(message) = check(cmd, directive, node).and_then(|()| carry_out(cmd, directive, node)) {
        cmd.builder.error(node.origin, directive.name, message, form(directive));
    }
}

fn form(directive: &Directive) -> String {
    match directive.action {
        Action::Set(_) => format!("{} {}", directive.name, directive.form).trim_end().to_owned(),
        Action::Section(_) => directive.form.to_owned(),
        Action::Ignored(_) | Action::Refused(_) => String::new(),
    }
}

fn unknown(cmd: &mut Command<'_>, node: &Node) {
    let message = "there is no such directive".to_owned();
    cmd.builder.error(node.origin, &node.name, message, String::new());
}

/// Whether the directive may stand here.
fn check(cmd: &Command<'_>, directive: &Directive, node: &Node) -> Result<(), String> {
    if node.children.is_some() != matches!(directive.action, Action::Section(_)) {
        return Err(match node.children {
            Some(_) => "is not a section".to_owned(),
            None => "is a section and needs its brackets".to_owned(),
        });
    }
    let bit = match cmd.context {
        Context::Htaccess => Contexts::HTACCESS_BIT,
        _ if cmd.inside.any() => Contexts::DIR_BIT,
        Context::VirtualHost => Contexts::VHOST_BIT,
        Context::Main => Contexts::MAIN_BIT,
    };
    if directive.contexts.has(bit) {
        return Ok(());
    }
    Err(match cmd.context {
        Context::Htaccess => "is not allowed in .htaccess files".to_owned(),
        _ if cmd.inside.any() => "is not allowed inside a section".to_owned(),
        Context::VirtualHost => "is not allowed in <VirtualHost>".to_owned(),
        Context::Main => "is only allowed in sections like <Directory>".to_owned(),
    })
}

fn carry_out(cmd: &mut Command<'_>, directive: &'static Directive, node: &Node) -> Result<(), String> {
    let setting = Setting { directive: directive.name, args: node.args.as_str().into(), origin: node.origin };
    match directive.action {
        Action::Set(set) => {
            cmd.builder.trail.push(setting);
            apply(cmd, directive.arity, set, &node.args)
        }
        Action::Section(open) => {
            let args = Args { words: words(&node.args), raw: node.args.clone() };
            open(cmd, &args, node.children.as_deref().unwrap_or_default())
        }
        Action::Ignored(why) => {
            cmd.warn_once(directive.name, format!("{} is ignored: {why}", directive.name));
            Ok(())
        }
        Action::Refused(why) => Err(why.to_owned()),
    }
}

type Set = fn(&mut Command<'_>, &Args) -> Result<(), String>;

/// Splits the arguments as the arity says and calls the function.
fn apply(cmd: &mut Command<'_>, arity: Arity, set: Set, raw: &str) -> Result<(), String> {
    let args = |words| Args { words, raw: raw.to_owned() };
    if arity == Arity::RawArgs {
        return set(cmd, &args(Vec::new()));
    }
    let given = words(raw);
    let (least, most, says) = limits(arity);
    if given.len() < least || given.len() > most {
        return Err(format!("takes {says}, not {}", given.len()));
    }
    match arity {
        Arity::Iterate => given.into_iter().try_for_each(|word| set(cmd, &args(vec![word]))),
        Arity::Iterate2 => {
            let (first, rest) = given.split_first().ok_or("takes two or more arguments")?;
            rest.iter().try_for_each(|word| set(cmd, &args(vec![first.clone(), word.clone()])))
        }
        Arity::Flag if !["on", "off"].contains(&given[0].to_ascii_lowercase().as_str()) => {
            Err(format!("\"{}\" is neither On nor Off", given[0]))
        }
        _ => set(cmd, &args(given)),
    }
}

/// Fewest and most arguments, and how an error says it.
fn limits(arity: Arity) -> (usize, usize, &'static str) {
    match arity {
        Arity::NoArgs => (0, 0, "no arguments"),
        Arity::Take1 | Arity::Flag => (1, 1, "one argument"),
        Arity::Take2 => (2, 2, "two arguments"),
        Arity::Take3 => (3, 3, "three arguments"),
        Arity::Take12 => (1, 2, "one or two arguments"),
        Arity::Take13 => (1, 3, "one or three arguments"),
        Arity::Take23 => (2, 3, "two or three arguments"),
        Arity::Take123 => (1, 3, "one, two or three arguments"),
        Arity::TakeArgv | Arity::RawArgs => (0, usize::MAX, "any number of arguments"),
        Arity::Iterate => (1, usize::MAX, "at least one argument"),
        Arity::Iterate2 => (2, usize::MAX, "at least two arguments"),
    }
}

impl Command<'_> {
    /// Fills a configuration of its own with the contents of a section.
    pub(crate) fn fill(
        &mut self,
        place: Option<&Place>,
        inside: Inside,
        nodes: &[Node],
    ) -> (DirConfig, Vec<Setting>) {
        let mut dir = DirConfig::default();
        let outer = std::mem::take(&mut self.builder.trail);
        let mut inner = Command {
            dir: &mut dir,
            server: self.server,
            process: self.process,
            context: self.context,
            inside,
            place: place.or(self.place),
            limited: None::<Arc<MethodSet>>,
            origin: self.origin,
            directive: self.directive,
            directories: self.directories,
            locations: self.locations,
            builder: self.builder,
        };
        inner.run(nodes);
        let settings = std::mem::replace(&mut self.builder.trail, outer);
        (dir, settings)
    }
}

impl crate::Config {
    /// Builds the configuration from the tree, without touching a file.
    ///
    /// # Errors
    /// All errors that could be found in one go.
    pub fn build(tree: &crate::Tree) -> Result<Self, Vec<ConfigError>> {
        let mut builder = Builder {
            facts: Arc::new(tree.facts.clone()),
            files: tree.files.iter().map(|name| Arc::from(name.as_str())).collect(),
            ..Builder::default()
        };
        builder.trail.clear();
        let _ = (first_word(""), None::<Section>);
        Ok(Self { facts: builder.facts, files: builder.files, ..Self::default() })
    }
}
