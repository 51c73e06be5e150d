//! Carries out the directives that are about text, in the order of the lines, and copies all others with their
//! variables replaced.

use super::condition::{self, Stands};
use super::envvars::Envvars;
use super::macros::Macro;
use super::parse::{is_raw, parse};
use super::perl::Perl;
use super::{LoadOptions, made, modules};
use crate::error::{ConfigError, Warning};
use crate::lexer::{first_word, words};
use crate::{Facts, Node, Origin, Tree, modules as table};
use hostler_expr::RegexOptions;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Files and macros that include one another, deepest.
const MAX_NESTING: u32 = 40;

/// Sections, conditions, files and macros around a line, most. Bounds the stack.
const MAX_LEVELS: u32 = 160;

/// Directives of a whole configuration, most; macros can multiply.
const MAX_NODES: usize = 1_000_000;

/// Directives of an .htaccess file, most.
const MAX_HTACCESS_NODES: usize = 50_000;

/// Errors after which the rest is not worth reading.
const MAX_ERRORS: usize = 100;

/// The state of reading.
#[derive(Default)]
pub(crate) struct Reader {
    pub(super) facts: Facts,
    pub(super) macros: HashMap<String, Arc<Macro>>,
    /// Macros in use, innermost last.
    pub(super) using: Vec<String>,
    /// An .htaccess file: no files, fewer directives.
    pub(super) htaccess: bool,
    /// IfFile's way to find out what exists.
    pub(super) stands: Stands,
    /// Files that it would have to know of.
    pub(super) asks: Vec<String>,
    /// The environment from a file beside the main one.
    envvars: Envvars,
    /// The server's environment as far as an .htaccess file may see it.
    environment: BTreeMap<String, String>,
    /// The line comes from Perl code.
    pub(super) made: bool,
    /// Configuration was made in a virtual host of the file.
    pub(super) made_in_host: bool,
    /// For `<Perl>` sections.
    pub(super) perl: Perl,
    /// The virtual host around the line.
    pub(super) host: Option<Origin>,
    /// Sections around the line, conditions aside.
    pub(super) depth: u32,
    /// Files and macros around the line.
    nesting: u32,
    /// Everything around the line.
    levels: u32,
    nodes: usize,
    /// Lines of blocks that are left out, and may have to be an error.
    pub(super) judged: usize,
    files: Vec<String>,
    pub(super) errors: Vec<ConfigError>,
    warnings: Vec<(Origin, String)>,
    warned: HashSet<String>,
    /// LoadModule of modules that are known and not there.
    pub(super) missing_modules: Vec<(Origin, String)>,
}

impl Reader {
    /// A reader for configuration files.
    pub(super) fn for_files(options: &LoadOptions) -> Self {
        let mut reader = Self::default();
        let root =
            options.root.clone().or_else(|| Some(options.file.parent()?.to_path_buf())).unwrap_or_default();
        let root = std::path::absolute(&root).unwrap_or(root);
        reader.facts.server_root = trimmed_root(&root.to_string_lossy());
        if !options.file.as_os_str().is_empty() {
            reader.envvars = Envvars::beside(&options.file);
        }
        for define in &options.defines {
            let (name, value) = match define.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (define.as_str(), None),
            };
            reader.facts.defines.insert(name.to_owned(), value);
        }
        reader
    }

    /// A reader for an .htaccess file.
    pub(crate) fn for_htaccess(facts: &Facts, host: Origin, file: &str, stands: Stands) -> Self {
        let defines = facts.defines.clone();
        let own = facts.environment.keys().filter_map(|name| Some((name, facts.variable(name, host)?)));
        let environment = own.map(|(name, value)| (name.clone(), value.to_owned())).collect();
        let server_root = facts.server_root.clone();
        let missing_modules = facts.missing_modules.clone();
        let loaded_modules = facts.loaded_modules.clone();
        let facts = Facts { defines, server_root, missing_modules, loaded_modules, ..Facts::default() };
        Self { facts, environment, htaccess: true, files: vec![file.to_owned()], stands, ..Self::default() }
    }

    /// Reads the text of an .htaccess file.
    pub(crate) fn htaccess_nodes(&mut self, text: &[u8]) -> Vec<Node> {
        let mut out = Vec::new();
        self.contents(text, 0, &mut out);
        out
    }

    /// The files that an .htaccess file asks for, and nobody has told yet whether they are there.
    pub(crate) fn asks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.asks)
    }

    /// Returns the findings for an .htaccess file.
    pub(crate) fn into_report(self) -> (Vec<ConfigError>, Vec<Warning>) {
        let files = self.files;
        let file = |origin: Origin| Arc::from(files.get(origin.file as usize).map_or("", String::as_str));
        let warnings = self.warnings.into_iter();
        let warning =
            |(at, message): (Origin, _)| Warning { file: file(at), line: at.line, message, ignored: false };
        (self.errors, warnings.map(warning).collect())
    }

    /// The tree, if there were no errors.
    pub(super) fn finish(self, nodes: Vec<Node>) -> Result<Tree, Vec<ConfigError>> {
        let (tree, errors) = self.finish_anyhow(nodes);
        if errors.is_empty() { Ok(tree) } else { Err(errors) }
    }

    /// The tree, as far as it could be read, and the errors.
    pub(super) fn finish_anyhow(mut self, mut nodes: Vec<Node>) -> (Tree, Vec<ConfigError>) {
        nodes.append(&mut self.perl.for_main);
        self.default_types(&mut nodes);
        if let Some((at, _)) = self.missing_modules.first() {
            let names: Vec<_> = self.missing_modules.iter().map(|(_, name)| name.as_str()).collect();
            let message =
                format!("these modules are not supported; loading them has no effect: {}", names.join(" "));
            self.warn(*at, message);
        }
        let tree = Tree { files: self.files, nodes, facts: self.facts, warnings: self.warnings };
        (tree, self.errors)
    }

    pub(crate) fn regex_options(&self) -> RegexOptions {
        RegexOptions::default()
    }

    pub(super) fn error(&mut self, origin: Origin, directive: &str, message: impl Into<String>) {
        if self.errors.len() < MAX_ERRORS {
            let file = Arc::from(self.files.get(origin.file as usize).map_or("", String::as_str));
            let (directive, form) = match table::find(directive) {
                Some((_, known)) => (known.name.to_owned(), known.full_form()),
                None => (directive.to_owned(), String::new()),
            };
            self.errors.push(ConfigError {
                file,
                line: origin.line,
                directive,
                message: message.into(),
                form,
            });
        }
    }

    /// An error that the accepted form of the directive says nothing about.
    pub(super) fn error_in_words(&mut self, origin: Origin, directive: &str, message: String) {
        self.error(origin, directive, message);
        if let Some(error) = self.errors.last_mut() {
            error.form.clear();
        }
    }

    pub(super) fn warn(&mut self, origin: Origin, message: impl Into<String>) {
        self.warnings.push((origin, message.into()));
    }

    pub(super) fn warn_once(&mut self, key: String, origin: Origin, message: impl Into<String>) {
        if self.warned.insert(key) {
            self.warn(origin, message);
        }
    }

    pub(super) fn file_name(&self, at: Origin) -> &str {
        self.files.get(at.file as usize).map_or("", String::as_str)
    }

    /// Registers a file.
    pub(super) fn add_file(&mut self, name: &str) -> u32 {
        self.files.push(name.to_owned());
        u32::try_from(self.files.len() - 1).unwrap_or(u32::MAX)
    }

    /// Directives from the command line.
    pub(super) fn text(&mut self, name: &str, lines: &[String], out: &mut Vec<Node>) {
        if !lines.is_empty() {
            let file = self.add_file(name);
            self.contents(lines.join("\n").as_bytes(), file, out);
        }
    }

    /// Parses a file's contents and carries them out.
    pub(super) fn contents(&mut self, text: &[u8], file: u32, out: &mut Vec<Node>) {
        let (nodes, problems) = parse(text, file, self.htaccess);
        for (origin, directive, message) in problems {
            self.error(origin, &directive, message);
        }
        self.expand(&nodes, out);
    }

    /// Runs `inside` one file or macro deeper.
    pub(super) fn nested(&mut self, origin: Origin, name: &str, inside: impl FnOnce(&mut Self)) {
        if self.nesting == MAX_NESTING {
            let message = format!("files and macros include one another deeper than {MAX_NESTING} levels");
            return self.error(origin, name, message);
        }
        self.nesting += 1;
        inside(self);
        self.nesting -= 1;
    }

    /// Carries out nodes, appending what is left.
    pub(super) fn expand(&mut self, nodes: &[Node], out: &mut Vec<Node>) {
        let most = if self.htaccess { MAX_HTACCESS_NODES } else { MAX_NODES };
        if self.levels == MAX_LEVELS {
            let at = nodes.first().map_or_else(Origin::default, |node| node.origin);
            return self.error(at, "", format!("sections and macros nest deeper than {MAX_LEVELS} levels"));
        }
        self.levels += 1;
        self.each(nodes, most, out);
        self.levels -= 1;
    }

    fn each(&mut self, nodes: &[Node], most: usize, out: &mut Vec<Node>) {
        for node in nodes {
            self.nodes += 1;
            if self.nodes > most {
                if self.nodes == most + 1 {
                    self.error(node.origin, "", format!("there are more than {most} directives"));
                }
                return;
            }
            self.node(node, out);
        }
    }

    fn node(&mut self, node: &Node, out: &mut Vec<Node>) {
        let name = self.variables(&node.name, node.origin);
        if self.made
            && let Err(message) = made::may_be_built(&name, self.made_in_host)
        {
            return self.error(node.origin, &name, message);
        }
        // What a macro's lines say is settled where it is used.
        if node.name.eq_ignore_ascii_case("Macro") && node.children.is_some() {
            return self.define_macro(node);
        }
        if name.eq_ignore_ascii_case("Perl") && node.children.is_none() {
            return self.perl_section(one_line_of_perl(node), out);
        }
        let args = self.variables(&node.args, node.origin);
        if self.htaccess && modules::is_read(&name) && !modules::is_read_in_htaccess(&name) {
            return self.error(node.origin, &name, "is not allowed in .htaccess files");
        }
        if let Some(children) = &node.children {
            if is_raw(&name) {
                let is_perl = name.eq_ignore_ascii_case("Perl");
                let children = Some(children.clone());
                let node = Node { name, args, origin: node.origin, children };
                return if is_perl { self.perl_section(node, out) } else { out.push(node) };
            }
            return self.section(node.origin, name, args, children, out);
        }
        if let Err(message) = self.directive(node.origin, &name, &args, out) {
            self.error(node.origin, &name, message);
        }
    }

    fn section(&mut self, at: Origin, name: String, args: String, children: &[Node], out: &mut Vec<Node>) {
        match condition::test(self, &name, &args) {
            Some(Ok(true)) => self.expand(children, out),
            Some(Ok(false)) => self.left_out(at, &name, &args, children),
            Some(Err(message)) => self.error(at, &name, message),
            None => {
                let (outside, assigned) = (self.host, self.perl.assigned.clone());
                if name.eq_ignore_ascii_case("VirtualHost") && !self.htaccess {
                    // Whom to ask about a host's name is not for code to say; such a name has no address.
                    if !self.made {
                        self.resolve_hosts(&args);
                    }
                    self.host = Some(at);
                }
                self.keep_named_variables(&args);
                self.depth += 1;
                let mut inside = Vec::with_capacity(children.len());
                self.expand(children, &mut inside);
                self.depth -= 1;
                (self.host, self.perl.assigned) = (outside, assigned);
                out.push(Node { name, args, origin: at, children: Some(inside) });
                if self.host.is_none() {
                    out.append(&mut self.perl.for_main);
                }
            }
        }
    }

    fn directive(&mut self, at: Origin, name: &str, args: &str, out: &mut Vec<Node>) -> Result<(), String> {
        match name.to_ascii_lowercase().as_str() {
            "include" => self.include(at, name, args, false, out),
            "includeoptional" => self.include(at, name, args, true, out),
            "define" => self.define(args),
            "undefine" => self.undefine(args),
            "serverroot" => self.server_root(args),
            "loadmodule" => modules::load(self, at, args),
            "use" => self.use_macro(at, name, args, out),
            "undefmacro" => self.undefine_macro(args),
            "macroignoreemptyargs" | "macroignorebadnesting" => Ok(()),
            "error" => Err(first_word(args).unwrap_or_default().0),
            "warning" => {
                self.warn(at, first_word(args).unwrap_or_default().0);
                Ok(())
            }
            lower => {
                if !self.htaccess {
                    self.note_for_perl(lower, args, at)?;
                }
                match lower {
                    "remoteiptrustedproxy" | "remoteipinternalproxy" | "remoteipproxyprotocolexceptions" => {
                        let words = crate::lexer::words(args);
                        let names = words.iter().filter(|word| hostler_expr::Subnet::parse(word).is_err());
                        names.for_each(|host| self.resolve_hosts(host));
                    }
                    "typesconfig"
                    | "remoteiptrustedproxylist"
                    | "jkworkersfile"
                    | "jkmountfile"
                    | "remoteipinternalproxylist"
                    | "sessioncryptopassphrasefile" => {
                        self.attach(&first_word(args).unwrap_or_default().0);
                    }
                    "userdir" if !self.htaccess => self.keep_users(args),
                    "passenv" | "perlpassenv" if !self.htaccess => self.keep_environment(args),
                    "listen" => self.resolve_hosts(&first_word(args).unwrap_or_default().0),
                    _ => self.keep_named_variables(args),
                }
                out.push(Node { name: name.to_owned(), args: args.to_owned(), origin: at, children: None });
                if !self.htaccess {
                    self.note_declared(lower, at);
                    self.perl_loads(lower, args, at, out);
                }
                Ok(())
            }
        }
    }

    fn define(&mut self, args: &str) -> Result<(), String> {
        let words = words(args);
        let (name, value) = match &words[..] {
            [name] => (name, None),
            [name, value] => (name, Some(value.clone())),
            _ => return Err(format!("takes one or two arguments, not {}", words.len())),
        };
        if name.is_empty() || name.contains(':') {
            return Err(format!("\"{name}\" cannot be the name of a variable"));
        }
        self.facts.defines.insert(name.clone(), value);
        Ok(())
    }

    fn undefine(&mut self, args: &str) -> Result<(), String> {
        match &words(args)[..] {
            [name] => {
                self.facts.defines.remove(name);
                Ok(())
            }
            words => Err(format!("takes one argument, not {}", words.len())),
        }
    }

    fn server_root(&mut self, args: &str) -> Result<(), String> {
        if self.depth > 0 {
            return Err("is only allowed outside sections".to_owned());
        }
        match &words(args)[..] {
            [root] if !root.starts_with('/') => return Err(format!("\"{root}\" is not an absolute path")),
            [root] if !std::path::Path::new(root).is_dir() => {
                return Err(format!("\"{root}\" is not a directory"));
            }
            [root] => self.facts.server_root = trimmed_root(root),
            words => return Err(format!("takes one argument, not {}", words.len())),
        }
        Ok(())
    }

    /// Replaces `${NAME}`. An unknown one stays as it is, with a warning, as in Apache.
    pub(super) fn variables(&mut self, text: &str, at: Origin) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let Some(length) = rest[start + 2..].find('}') else { break };
            let name = &rest[start + 2..start + 2 + length];
            let end = start + 2 + length + 1;
            out.push_str(&rest[..start]);
            match self.variable(name) {
                Some(value) => {
                    out.push_str(&value);
                    rest = &rest[end..];
                }
                None => {
                    // `${map:key}` belongs to RewriteMap.
                    if !name.contains(':') {
                        self.warn_once(
                            format!("${name}"),
                            at,
                            format!("the variable ${{{name}}} is not defined{}", self.envvars.about(name)),
                        );
                    }
                    out.push_str("${");
                    rest = &rest[start + 2..];
                }
            }
        }
        out.push_str(rest);
        out
    }

    fn variable(&self, name: &str) -> Option<String> {
        match self.facts.defines.get(name) {
            Some(Some(value)) => Some(value.clone()),
            // What of the server's environment is not meant for a tenant is none of its business.
            _ if self.htaccess => self.environment.get(name).cloned(),
            _ if self.made => None,
            _ => self.surrounding(name),
        }
    }

    /// A variable of the server's environment, or of that which Debian's commands would give it.
    pub(super) fn surrounding(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().or_else(|| self.envvars.value(name).map(str::to_owned))
    }
}

/// `Perl code` is short for a section with one line. What looks like variables in it is Perl's.
fn one_line_of_perl(node: &Node) -> Node {
    let code = Node { name: String::new(), ..node.clone() };
    Node { name: node.name.clone(), args: String::new(), origin: node.origin, children: Some(vec![code]) }
}

/// Without the slash at the end, except for the root itself.
fn trimmed_root(root: &str) -> String {
    match root.trim_end_matches('/') {
        "" => "/".to_owned(),
        root => root.to_owned(),
    }
}
