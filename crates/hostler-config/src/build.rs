//! From the tree to the configuration: each line is found in the table, checked against its context and its
//! arity, and carried out.

use crate::command::{Context, Inside};
use crate::directives::perl::declared;
use crate::error::{ConfigError, Warning};
use crate::lexer::words;
use crate::section::Setting;
use crate::server::RawServer;
use crate::table::{Action, Args, Arity, Contexts, Directive, Overrides};
use crate::{Command, DirConfig, Facts, Node, Origin, Place, directives};
use hostler_expr::{RegexOptions, effort};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

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
    /// The virtual host that an .htaccess file is read for; `None` in configuration files.
    pub(crate) host: Option<Origin>,
    /// The virtual host whose lines are carried out, in configuration files.
    pub(crate) filling: Option<Origin>,
    /// When an .htaccess file has taken too long: compiling a thousand monstrous patterns must not hold up
    /// everybody else.
    pub(crate) deadline: Option<Instant>,
    /// What [`hostler_expr::effort::compiled`] may come to.
    pub(crate) most_compiled: Option<u64>,
    /// Settings of the section being filled.
    pub(crate) trail: Vec<Setting>,
    /// Virtual hosts, not yet merged.
    pub(crate) hosts: Vec<RawServer>,
    next_section: u32,
    /// Of what sections say with directives of Perl modules.
    layers: u32,
    depth: u32,
    warned: HashSet<String>,
    /// Filters of FilterDeclare and FilterProvider, lower case; all that they do is compress.
    pub(crate) filters: HashSet<String>,
    /// Handlers that lines name, lower case, and where.
    pub(crate) handlers: Vec<(Origin, &'static str, String)>,
    /// Handlers and types that an Action serves, lower case.
    pub(crate) actions: HashSet<String>,
}

impl Builder {
    pub(crate) fn new(facts: Arc<Facts>, files: Vec<Arc<str>>) -> Self {
        Self { facts, files, ..Self::default() }
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

    /// Whether going on makes no sense: too many errors (in .htaccess the first one decides), or out of time.
    fn is_over(&mut self, origin: Origin) -> bool {
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
        if cmd.builder.is_over(node.origin) {
            break;
        }
    }
    (cmd.origin, cmd.directive) = (origin, directive);
    cmd.builder.depth -= 1;
}

fn step(cmd: &mut Command<'_>, node: &Node) {
    let declared = declared::find(&cmd.builder.facts, &node.name, cmd.builder.host.or(cmd.builder.filling));
    let own = directives::find(&node.name).map(|(_, directive)| directive);
    let is_early = own.is_some()
        && cmd.builder.host.is_none()
        && !cmd.builder.facts.also_declared.contains(&node.origin);
    let declared = declared.filter(|_| !is_early);
    if own.is_none() && declared.is_none() {
        return unknown(cmd, node);
    }
    // A module may add what there is already: then both are carried out, as by Apache.
    for directive in own.into_iter().chain(declared) {
        one(cmd, directive, node);
    }
}

fn one(cmd: &mut Command<'_>, directive: &'static Directive, node: &Node) {
    cmd.directive = directive;
    let done = match check(cmd, directive, node) {
        Verdict::Go => carry_out(cmd, directive, node),
        Verdict::Skip => Ok(()),
        Verdict::Wrong(message) => Err(message),
    };
    if let Err(message) = done {
        cmd.builder.error(node.origin, directive.name, message, directive.full_form());
    }
}

fn unknown(cmd: &mut Command<'_>, node: &Node) {
    if cmd.builder.allow.as_ref().is_some_and(|allow| allow.nonfatal.unknown) {
        return cmd.warn(format!("there is no directive {}", node.name));
    }
    let mut message = "there is no such directive".to_owned();
    let whose = || {
        let loaded = &cmd.builder.facts.foreign;
        directives::foreign::whose(&node.name, loaded, |at| format!("{}:{}", cmd.builder.file(at), at.line))
    };
    if let Some(nearest) = directives::nearest(&node.name) {
        message += &format!("; did you mean {nearest}?");
    } else if let Some(whose) = whose() {
        message += &format!("; {whose}");
    }
    cmd.builder.error(node.origin, &node.name, message, String::new());
}

/// What becomes of a line.
enum Verdict {
    Go,
    Skip,
    Wrong(String),
}

/// Whether the directive may stand here.
fn check(cmd: &mut Command<'_>, directive: &Directive, node: &Node) -> Verdict {
    match (directive.action, &node.children) {
        (Action::Set(_), Some(_)) => return Verdict::Wrong("is not a section".to_owned()),
        (Action::Section(_), None) => {
            return Verdict::Wrong("is a section and needs its brackets".to_owned());
        }
        _ => {}
    }
    let bit = match cmd.context {
        Context::Htaccess => return check_htaccess(cmd, directive),
        _ if cmd.inside.any() => Contexts::DIR_BIT,
        Context::VirtualHost => Contexts::VHOST_BIT,
        Context::Main => Contexts::MAIN_BIT,
    };
    if directive.contexts.has(bit) {
        return Verdict::Go;
    }
    let place = match cmd.context {
        _ if cmd.inside.any() => "inside a section",
        Context::VirtualHost => "in <VirtualHost>",
        _ => "outside of sections like <Directory>",
    };
    Verdict::Wrong(format!("is not allowed {place}"))
}

fn check_htaccess(cmd: &mut Command<'_>, directive: &Directive) -> Verdict {
    if !directive.contexts.in_htaccess() {
        return Verdict::Wrong("is not allowed in .htaccess files".to_owned());
    }
    let Some(allow) = &cmd.builder.allow else { return Verdict::Go };
    if allow.permits(directive) {
        return Verdict::Go;
    }
    let names = directive.overrides.names().join(" or ");
    let classes = if directive.overrides == Overrides::ALL { "some class".to_owned() } else { names };
    let message = format!("is not allowed here (AllowOverride would need {classes})");
    if allow.nonfatal.overrides {
        cmd.warn(format!("{} {message}", directive.name));
        return Verdict::Skip;
    }
    Verdict::Wrong(message)
}

fn carry_out(cmd: &mut Command<'_>, directive: &'static Directive, node: &Node) -> Result<(), String> {
    let setting =
        || Setting { directive: directive.name, args: node.args.as_str().into(), origin: node.origin };
    match directive.action {
        Action::Set(set) => {
            cmd.builder.trail.push(setting());
            apply(cmd, directive.arity, set, &node.args)
        }
        Action::Section(open) => {
            if directive.name.starts_with("Require") || directive.name.starts_with("Limit") {
                cmd.builder.trail.push(setting());
            }
            let args = Args { words: words(&node.args), raw: node.args.clone() };
            open(cmd, &args, node.children.as_deref().unwrap_or_default())
        }
        Action::Ignored(why) => {
            cmd.warn_once(directive.name, format!("{} is ignored: {why}", directive.name));
            Ok(())
        }
        Action::RefusedUnless(word, _)
            if words(&node.args).iter().map(|w| w.to_ascii_lowercase()).eq([word]) =>
        {
            Ok(())
        }
        Action::Refused(why) | Action::RefusedUnless(_, why) => Err(format!("is not possible: {why}")),
        Action::Read => Err("is not possible here".to_owned()),
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
            limited: None,
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

/// The host part of an address of VirtualHost.
pub(crate) fn vhost_host(word: &str) -> &str {
    match word.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') && !host.is_empty() => host,
        _ => word,
    }
}
