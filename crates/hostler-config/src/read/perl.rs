//! Perl code that builds configuration: `<Perl>` sections, and files and modules that call `add_config` when they are
//! loaded. It is run by somebody else ([`RunPerl`]), never here: reading is root's. What comes back is read in the place
//! of the section or directive, with the directives that `super::made` lets through.
//!
//! Code that builds nothing stays as it is, for the site's warm parent: its text tells. Before code that builds, everything
//! that precedes it is run in its order: it may have defined what the code uses.

use super::expand::Reader;
use super::run_perl::{Output, PerlRequest, RunAs, RunPerl};
use crate::directives::perl::providers;
use crate::directives::perl::{Marks, builds_configuration, declared, of_class, of_directive, quoted};
use crate::lexer::words;
use crate::modules::find;
use crate::{Node, Origin, Provider};
use hostler_perl_frames::configure::SourceFacts;
use hostler_perl_frames::{Preload, PreloadKind};
use hostler_wire::engine::ServerFacts;
use std::collections::{HashMap, HashSet};

/// The reader's knowledge of Perl.
#[derive(Default)]
pub(super) struct Perl {
    /// Nobody: where there are no files, and in .htaccess.
    pub(super) runner: Option<Box<dyn RunPerl>>,
    user: Option<String>,
    group: Option<String>,
    /// Of the virtual host around the line, or the main server's.
    pub(super) assigned: Option<RunAs>,
    switches: Vec<String>,
    main: ServerFacts,
    /// Its `PerlSetVar`s.
    vars: Vec<(String, String)>,
    /// `PerlApiVersion`
    version: Option<u8>,
    marks: Marks,
    /// Of what files show: where the configuration says nothing.
    text_marks: Marks,
    /// Everything that is loaded before requests, in its order.
    seen: Vec<Seen>,
    /// The parts of it that each interpreter has run.
    run: HashMap<RunAs, HashSet<usize>>,
    /// Something has been read that starts mod_perl's interpreter: what stands behind it is loaded in its order.
    has_started: bool,
    /// Places at which configuration was made: from there on, the user that runs sections is fixed.
    settled: HashSet<Option<Origin>>,
    /// Directories of modules that files have named (`use lib`).
    places: Vec<String>,
    /// Facts about the system's modules, by name.
    system: HashMap<String, SourceFacts>,
    /// Something has set variables that count at the end of the next section.
    filled: bool,
    /// Names that are no directive's, and where they stood first.
    unknown: HashMap<String, Origin>,
    /// Lines that files in a virtual host have added to the main server.
    pub(super) for_main: Vec<Node>,
}

/// Something that is loaded before requests.
struct Seen {
    /// The virtual host around it.
    host: Option<Origin>,
    /// The directive.
    at: Origin,
    preload: Preload,
    /// When it is loaded.
    turn: Turn,
}

/// mod_perl loads files of `PerlRequire` and then modules of `PerlModule` when its interpreter is started, and all that follows in the
/// order of the lines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    File,
    Module,
    AsItComes,
}

impl Perl {
    /// Notes a value that code may ask of the main server ($s->dir_config) while the configuration is read.
    fn note_main(&mut self, lower: &str, args: &str) {
        let words = words(args);
        let (Some(first), second) = (words.first(), words.get(1)) else { return };
        match (lower, second) {
            ("servername", _) => self.main.name = bare_host(first).to_owned(),
            ("serveradmin", _) => self.main.admin.clone_from(first),
            ("documentroot", _) => self.main.document_root.clone_from(first),
            ("perlsetvar", Some(value)) => {
                self.vars.retain(|(name, _)| !name.eq_ignore_ascii_case(first));
                self.vars.push((first.clone(), value.clone()));
            }
            ("perladdvar", Some(_)) => {
                self.vars.extend(words[1..].iter().map(|value| (first.clone(), value.clone())));
            }
            _ => {}
        }
    }

    fn generation(&self) -> u8 {
        let marks = if self.marks == Marks::default() { self.text_marks } else { self.marks };
        self.version.unwrap_or_else(|| marks.generation())
    }
}

/// The name that loading mod_perl defines.
pub(super) const BY_MOD_PERL: &str = "MODPERL2";

impl Reader {
    /// mod_perl defines a name when it is loaded.
    pub(super) fn note_module(&mut self, name: &str) {
        if name == "perl_module" {
            self.facts.defines.insert(BY_MOD_PERL.to_owned(), None);
        }
    }

    /// Notes a directive that sections depend on.
    pub(super) fn note_for_perl(&mut self, lower: &str, args: &str, at: Origin) -> Result<(), String> {
        let identity = matches!(lower, "user" | "group" | "assignuserid");
        if identity && self.perl.settled.contains(&self.host) {
            return Err(
                "must stand before the Perl code that builds configuration, which is run with it".into()
            );
        }
        let mut words = words(args).into_iter();
        if let Some((_, directive)) = find(lower).filter(|_| lower.starts_with("perl")) {
            let class = args.split_whitespace().next().unwrap_or_default();
            self.perl.marks = self.perl.marks | of_directive(directive, class) | of_class(class);
            // It is built in: who uses it has it, without LoadModule.
            self.note_module("perl_module");
        }
        match lower {
            "user" => self.perl.user = words.next(),
            "group" => self.perl.group = words.next(),
            "assignuserid" => self.perl.assigned = Some(RunAs { user: words.next(), group: words.next() }),
            "perlapiversion" => {
                self.perl.version = words.next().and_then(|word| word.parse().ok());
                if self.perl.version == Some(1) {
                    self.facts.old_programs.insert(self.host);
                }
            }
            "perlswitches" => self.switched(words.collect(), at),
            "perladdauthnprovider" | "perladdauthzprovider" => {
                if let (Some(decides), Some(name), Some(function)) =
                    (providers::decides(lower), words.next(), words.next())
                {
                    self.facts.providers.push(Provider { decides, name, function, host: self.host });
                }
            }
            _ if self.host.is_none() && self.depth == 0 => self.perl.note_main(lower, args),
            _ => {}
        }
        Ok(())
    }

    /// Notes a line that is, or may be meant for, a module's directive.
    pub(super) fn note_declared(&mut self, lower: &str, at: Origin) {
        let is_declared = declared::find(&self.facts, lower, self.host).is_some();
        match find(lower) {
            Some(_) if is_declared => drop(self.facts.also_declared.insert(at)),
            None if !is_declared => drop(self.perl.unknown.entry(lower.to_owned()).or_insert(at)),
            _ => {}
        }
    }

    /// Adds a module's directives to the language: from here on, and in a virtual host only there.
    fn declare(&mut self, at: Origin, text: &str) {
        // The virtual host's interpreter alone has loaded it.
        let all = match declared::parse(text, self.host) {
            Ok(all) => all,
            Err(why) => return self.error(at, "", format!("PerlLoadModule: {why}")),
        };
        for declared in all {
            let lower = declared.name.to_ascii_lowercase();
            if let Some(early) = self.perl.unknown.remove(&lower) {
                let message = "stands before the PerlLoadModule whose module adds it";
                self.error(early, &declared.name, message);
            }
            self.facts.declared.entry(lower).or_insert(declared);
        }
    }

    /// Something is loaded: the directive stays, and what it adds follows it.
    pub(super) fn perl_loads(&mut self, lower: &str, args: &str, at: Origin, out: &mut Vec<Node>) {
        if lower == "perlsetenv" && self.host.is_none() && self.depth == 0 {
            self.perl_variable(args, at);
        }
        let kind = match lower {
            "perlmodule" | "perlloadmodule" => PreloadKind::Module,
            "perlrequire" | "perlconfigrequire" => PreloadKind::File,
            "perlpostconfigrequire" => PreloadKind::LateFile,
            _ => return,
        };
        self.perl.has_started |= matches!(lower, "perlloadmodule" | "perlconfigrequire");
        for mut word in words(args) {
            if lower == "perlmodule" {
                // As where it is loaded: what ends a statement may stand there.
                word.truncate(word.trim_end_matches(';').len());
            }
            let shown = self.see(kind, word, at);
            let extends = lower == "perlloadmodule";
            if !shown.adds && !extends {
                continue;
            }
            match self.run_sections(&self.run_as()) {
                Ok(Some(made)) => {
                    self.take(at, &made, out);
                    if extends {
                        self.declare(at, &made.declared);
                    }
                }
                Ok(None) => {}
                Err(why) => {
                    let name = find(lower).map_or(lower, |(_, directive)| directive.name);
                    self.error(at, "", format!("{name}: {why}"));
                }
            }
        }
    }

    /// Sets the main server's variable in `%ENV` for code that is loaded later.
    fn perl_variable(&mut self, args: &str, at: Origin) {
        if let [name, value] = &words(args)[..] {
            let text = format!("$ENV{{{}}} = {};\n", quoted(name), quoted(value));
            self.push_seen(PreloadKind::Code, text, at);
        }
    }

    fn push_seen(&mut self, kind: PreloadKind, text: String, at: Origin) {
        let turn = match kind {
            PreloadKind::LateFile => Turn::AsItComes,
            _ if self.perl.has_started => Turn::AsItComes,
            PreloadKind::Module => Turn::Module,
            _ => Turn::File,
        };
        let origin = format!("{}:{}", self.file_name(at), at.line);
        let preload = Preload { kind, text, origin, configured: false };
        self.perl.seen.push(Seen { host: self.host, at, preload, turn });
    }

    /// `PerlSwitches`: interpreters that run already look into further directories from now on.
    fn switched(&mut self, switches: Vec<String>, at: Origin) {
        if !self.perl.run.is_empty() {
            for place in include_switches(&switches).iter().rev() {
                self.push_seen(PreloadKind::Code, format!("unshift @INC, {};\n", quoted(place)), at);
            }
        }
        self.perl.switches.extend(switches);
    }

    /// Notes what is to be loaded, and looks at it.
    fn see(&mut self, kind: PreloadKind, text: String, at: Origin) -> SourceFacts {
        self.push_seen(kind, text, at);
        let shown = self.look();
        self.perl.filled |= shown.fills;
        self.perl.text_marks = self.perl.text_marks | of_text(&shown);
        shown
    }

    /// Inspects the text of the last one seen.
    fn look(&mut self) -> SourceFacts {
        let mut places: Vec<String> = include_switches(&self.perl.switches);
        places.extend(self.perl.places.iter().cloned());
        let Some(seen) = self.perl.seen.last() else { return SourceFacts::default() };
        let (kind, name) = (seen.preload.kind, seen.preload.text.clone());
        // Without own places there are the system's modules alone: of them the one that a directive names may build.
        if places.is_empty() && kind == PreloadKind::Code || is_silent(&seen.preload) {
            return SourceFacts::default();
        }
        let is_system = places.is_empty() && kind == PreloadKind::Module;
        if let Some(shown) = self.perl.system.get(&name).filter(|_| is_system) {
            return shown.clone();
        }
        let Some(mut runner) = self.perl.runner.take() else { return SourceFacts::default() };
        let run_as = self.run_as();
        let seen = self.perl.seen.last();
        let shown = seen.map(|seen| runner.look(&self.asked(&run_as, seen), &places)).unwrap_or_default();
        self.perl.runner = Some(runner);
        if is_system {
            self.perl.system.insert(name, shown.clone());
        }
        for place in &shown.places {
            if !places.contains(place) {
                self.perl.places.push(place.clone());
            }
        }
        shown
    }

    /// A section: it stays, and what it builds follows it.
    pub(super) fn perl_section(&mut self, node: Node, out: &mut Vec<Node>) {
        let at = node.origin;
        let code = node.children.iter().flatten().next().map(|code| code.args.clone());
        let is_plain = node.args.trim().is_empty();
        out.push(node);
        // Where it may not stand, or not so, is told when the tree is carried out.
        let Some(code) = code.filter(|_| is_plain && !self.htaccess) else { return };
        self.perl.has_started = true;
        let word = builds_configuration(&code, is_directive);
        self.perl.marks = self.perl.marks | of_code(&code);
        let shown = self.see(PreloadKind::Code, code, at);
        let run_as = self.run_as();
        let builds = word.is_some() || shown.adds || std::mem::take(&mut self.perl.filled);
        if !builds && !self.perl.run.contains_key(&run_as) {
            return;
        }
        match self.run_sections(&run_as) {
            Ok(Some(made)) => self.take(at, &made, out),
            Ok(None) => {
                let (line, word) = word.unwrap_or_default();
                let line = at.line + line;
                self.error(at, "", format!("<Perl> would build configuration in line {line} ({word}), which is only possible in a file"
                    ),
                );
            }
            Err(why) => self.error(at, "", format!("<Perl> {why}")),
        }
    }

    fn run_as(&self) -> RunAs {
        let main = || RunAs { user: self.perl.user.clone(), group: self.perl.group.clone() };
        self.perl.assigned.clone().unwrap_or_else(main)
    }

    /// Returns the code to run now, in its order: everything seen and not yet run, up to the last, which was requested.
    /// A file whose turn is before the modules' does not wait for them.
    fn due(&self, run_as: &RunAs) -> Vec<usize> {
        let (seen, done) = (&self.perl.seen, self.perl.run.get(run_as));
        let last = seen.last().map_or(Turn::AsItComes, |last| last.turn);
        let is_due = |(index, seen): &(usize, &Seen)| {
            let of_here = seen.host.is_none() || seen.host == self.host;
            of_here && seen.turn <= last && !done.is_some_and(|done| done.contains(index))
        };
        let mut due: Vec<_> = seen.iter().enumerate().filter(is_due).collect();
        due.sort_by_key(|(_, seen)| seen.turn);
        due.into_iter().map(|(index, _)| index).collect()
    }

    /// Runs what is due; the last of it is the section. `None`: there is nobody to run it.
    fn run_sections(&mut self, run_as: &RunAs) -> Result<Option<Output>, String> {
        let Some(mut runner) = self.perl.runner.take() else { return Ok(None) };
        let due = self.due(run_as);
        self.perl.run.entry(run_as.clone()).or_default().extend(&due);
        self.perl.settled.insert(self.host);
        if self.perl.assigned.is_none() {
            self.perl.settled.insert(None);
        }
        let (mut made, mut said, mut late) = (Ok(Output::default()), Vec::new(), Vec::new());
        for index in due {
            let seen = &self.perl.seen[index];
            made = runner.run(&self.asked(run_as, seen));
            if index + 1 == self.perl.seen.len() {
                break;
            }
            made = match made {
                Ok(made) if self.is_taken_late(seen, &made) => {
                    late.push((seen.at, seen.preload.kind, made));
                    Ok(Output::default())
                }
                Ok(made) => self.already_taken(seen, &made).map(|()| Output::default()),
                Err(why) if seen.preload.kind == PreloadKind::Code => Err(why),
                // A mistake in what is loaded is told when it is loaded to serve; what follows may do without.
                Err(why) => {
                    said.push((seen.at, format!("before Perl code that builds configuration: {why}")));
                    Ok(Output::default())
                }
            };
            if made.is_err() {
                break;
            }
        }
        self.perl.runner = Some(runner);
        said.into_iter().for_each(|(at, why)| self.warn(at, why));
        for (at, kind, made) in late {
            self.take_as(at, kind, &made, true, &mut Vec::new());
        }
        made.map(Some)
    }

    /// Returns whether what was run before a section has added something to the main server although its text did not
    /// show that it would: it stands at the end of the main server's then. mod_perl's files add when they are loaded,
    /// too.
    fn is_taken_late(&self, seen: &Seen, made: &Output) -> bool {
        let is_of_main = seen.host.is_none() && self.is_for_main(seen.preload.kind);
        is_of_main && !made.text.is_empty() && !self.facts.configured.contains(&seen.at)
    }

    fn asked<'a>(&'a self, run_as: &'a RunAs, seen: &'a Seen) -> PerlRequest<'a> {
        PerlRequest {
            run_as,
            server_root: &self.facts.server_root,
            generation: self.perl.generation(),
            switches: &self.perl.switches,
            main: &self.perl.main,
            vars: &self.perl.vars,
            preload: &seen.preload,
            in_host: seen.host.is_some() && seen.preload.kind == PreloadKind::Code,
        }
    }

    /// Returns whether what is added in a virtual host is the main server's, as in mod_perl: where its code is the main
    /// server's user's. Another user's is the virtual host's own, and so is what a section builds.
    fn is_for_main(&self, kind: PreloadKind) -> bool {
        kind != PreloadKind::Code && self.perl.assigned.is_none()
    }

    /// Checks that code which ran before its own turn has built nothing, unless it was taken then: it would be lost, or
    /// end up in another place.
    fn already_taken(&self, seen: &Seen, made: &Output) -> Result<(), String> {
        if made.text.is_empty() || self.facts.configured.contains(&seen.at) {
            return Ok(());
        }
        let origin = &seen.preload.origin;
        Err(format!("{origin}: builds configuration in a way that its text does not show: {REMEDY}"))
    }

    /// Reads what a section has built, or a file has added, in its place.
    fn take(&mut self, at: Origin, made: &Output, out: &mut Vec<Node>) {
        let kind = self.perl.seen.last().map_or(PreloadKind::Code, |seen| seen.preload.kind);
        let is_for_main = self.host.is_some() && self.is_for_main(kind);
        self.take_as(at, kind, made, is_for_main, out);
    }

    fn take_as(
        &mut self,
        at: Origin,
        kind: PreloadKind,
        made: &Output,
        is_for_main: bool,
        out: &mut Vec<Node>,
    ) {
        let what = if kind == PreloadKind::Code { "<Perl>" } else { "add_config" };
        made.warnings.lines().for_each(|line| self.warn(at, format!("{what}: {line}")));
        self.facts.configured.insert(at);
        let file = self.add_file(&format!("{}:{} {what}", self.file_name(at), at.line));
        let (host, depth) = (self.host, self.depth);
        let mut added = Vec::new();
        if is_for_main {
            (self.host, self.depth) = (None, 0);
        }
        // What is built may load what builds more: the rest of it is no more trusted then.
        let outside = (self.made, self.made_in_host);
        (self.made, self.made_in_host) = (true, self.host.is_some());
        self.nested(at, "Perl", |reader| reader.contents(made.text.as_bytes(), file, &mut added));
        (self.made, self.made_in_host) = outside;
        (self.host, self.depth) = (host, depth);
        if is_for_main { self.perl.for_main.append(&mut added) } else { out.append(&mut added) }
    }
}

/// The advice where the text does not show that code builds configuration.
const REMEDY: &str =
    "write a comment with the word add_config into the file, or $PerlConfig .= ''; into the section";

/// Of `ServerName`, without scheme and port.
fn bare_host(name: &str) -> &str {
    let host = name.split_once("://").map_or(name, |(_, host)| host);
    host.split(':').next().unwrap_or(host)
}

/// The directories of `-I`.
fn include_switches(switches: &[String]) -> Vec<String> {
    let mut places = Vec::new();
    let mut switches = switches.iter();
    while let Some(switch) = switches.next() {
        match switch.strip_prefix("-I") {
            Some("") => places.extend(switches.next().cloned()),
            Some(place) => places.push(place.to_owned()),
            None => {}
        }
    }
    places
}

/// Returns whether a variable of this name builds a directive.
fn is_directive(name: &str) -> bool {
    find(name).is_some_and(|(_, directive)| directive.name == name)
}

/// Code that loads nothing shows all that it does itself.
fn is_silent(preload: &Preload) -> bool {
    let loads = |word| preload.text.contains(word);
    preload.kind == PreloadKind::Code && !["use ", "require ", "do "].into_iter().any(loads)
}

/// Returns the generation of the classes that the text names.
fn of_text(shown: &SourceFacts) -> Marks {
    of_classes(shown.first, shown.second)
}

/// Returns the generation of the classes that the code calls.
fn of_code(code: &str) -> Marks {
    of_classes(code.contains("Apache->") || code.contains("Apache::ReadConfig"), code.contains("Apache2::"))
}

/// Classes of the second generation decide: programs for both name those of the first as well.
fn of_classes(first: bool, second: bool) -> Marks {
    match (second, first) {
        (true, _) => Marks::SECOND_CLASS,
        (false, true) => Marks::FIRST_CLASS,
        _ => Marks::default(),
    }
}
