//! `<Perl>` sections that build configuration. Their code is run by somebody else ([`RunPerl`]), never here: reading is
//! root's. What comes back is read in the section's place, with the directives that `super::made` lets through.
//!
//! Sections that build nothing stay as they are, for the site's warm parent. Where one builds, what stands before it is
//! run first, in its order: it may have defined what the section uses.

use super::expand::Reader;
use crate::directives::find;
use crate::directives::perl::{Marks, builds_configuration, of_class, of_directive};
use crate::lexer::words;
use crate::{Node, Origin};
use hostler_wire::engine::{Preload, PreloadKind};
use std::collections::{HashMap, HashSet};

/// Who runs sections, wherever that is possible.
pub trait RunPerl {
    /// Runs one section, or what is to be loaded before it. All that is asked with the same [`RunAs`] is run by one
    /// interpreter.
    ///
    /// # Errors
    /// Why it could not be run, as a sentence with the place in the code.
    fn run(&mut self, asked: &Asked<'_>) -> Result<Made, String>;
}

/// The words of `User` and `Group`, or of `AssignUserID`; `None` where there was none yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RunAs {
    /// A user's name, or `#uid`.
    pub user: Option<String>,
    /// A group's name, or `#gid`.
    pub group: Option<String>,
}

/// What is to be run.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// By whom.
    pub run_as: &'a RunAs,
    /// `ServerRoot`.
    pub server_root: &'a str,
    /// Of mod_perl's API, as far as the configuration so far betrays it: 1 or 2.
    pub generation: u8,
    /// `PerlSwitches` so far.
    pub switches: &'a [String],
    /// What.
    pub preload: &'a Preload,
    /// In `<VirtualHost>`.
    pub in_host: bool,
}

/// What has come of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Configuration.
    pub text: String,
    /// What perl warned of.
    pub warnings: String,
}

/// What the reader knows of Perl.
#[derive(Default)]
pub(super) struct Perl {
    /// Nobody: where there are no files, and in .htaccess.
    pub(super) runner: Option<Box<dyn RunPerl>>,
    user: Option<String>,
    group: Option<String>,
    /// Of the virtual host around the line, or the main server's.
    pub(super) assigned: Option<RunAs>,
    switches: Vec<String>,
    /// `PerlApiVersion`
    version: Option<u8>,
    marks: Marks,
    /// Everything that is loaded before requests, in its order.
    seen: Vec<Seen>,
    /// How much of it each interpreter has run.
    run: HashMap<RunAs, usize>,
    /// Where configuration was made: from here on it is settled who runs sections.
    settled: HashSet<Option<Origin>>,
}

/// Something that is loaded before requests.
struct Seen {
    /// The virtual host around it.
    host: Option<Origin>,
    /// The directive.
    at: Origin,
    preload: Preload,
}

impl Reader {
    /// Notes a directive that sections depend on.
    pub(super) fn note_for_perl(&mut self, lower: &str, args: &str, at: Origin) -> Result<(), String> {
        let identity = matches!(lower, "user" | "group" | "assignuserid");
        if identity && self.perl.settled.contains(&self.host) {
            return Err(
                "must stand before the <Perl> section that builds configuration, which is run with it".into(),
            );
        }
        let mut words = words(args).into_iter();
        if let Some((_, directive)) = find(lower).filter(|_| lower.starts_with("perl")) {
            let class = args.split_whitespace().next().unwrap_or_default();
            self.perl.marks = self.perl.marks | of_directive(directive, class) | of_class(class);
        }
        match lower {
            "user" => self.perl.user = words.next(),
            "group" => self.perl.group = words.next(),
            "assignuserid" => self.perl.assigned = Some(RunAs { user: words.next(), group: words.next() }),
            "perlapiversion" => self.perl.version = words.next().and_then(|word| word.parse().ok()),
            "perlswitches" => self.perl.switches.extend(words),
            "perlmodule" => words.for_each(|word| self.see(PreloadKind::Module, word, at)),
            "perlrequire" | "perlconfigrequire" => {
                words.for_each(|word| self.see(PreloadKind::File, word, at));
            }
            _ => {}
        }
        Ok(())
    }

    fn see(&mut self, kind: PreloadKind, text: String, at: Origin) {
        let origin = format!("{}:{}", self.file_name(at), at.line);
        self.perl.seen.push(Seen { host: self.host, at, preload: Preload { kind, text, origin } });
    }

    /// A section: it stays, and what it builds follows it.
    pub(super) fn perl_section(&mut self, node: Node, out: &mut Vec<Node>) {
        let at = node.origin;
        let code = node.children.iter().flatten().next().map(|code| code.args.clone());
        let is_plain = node.args.trim().is_empty();
        out.push(node);
        // Where it may not stand, or not so, is told when the tree is carried out.
        let Some(code) = code.filter(|_| is_plain && !self.htaccess) else { return };
        let word = builds_configuration(&code);
        self.perl.marks = self.perl.marks | of_code(&code);
        self.see(PreloadKind::Code, code, at);
        let run_as = self.run_as();
        if word.is_none() && !self.perl.run.contains_key(&run_as) {
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

    /// Runs all that was seen and is not yet run; the last of it is the section. `None`: there is nobody to run it.
    fn run_sections(&mut self, run_as: &RunAs) -> Result<Option<Made>, String> {
        let Some(mut runner) = self.perl.runner.take() else { return Ok(None) };
        let done = self.perl.run.insert(run_as.clone(), self.perl.seen.len()).unwrap_or_default();
        self.perl.settled.insert(self.host);
        let of_here = |seen: &&Seen| seen.host.is_none() || seen.host == self.host;
        let (mut made, mut said) = (Ok(Made::default()), Vec::new());
        for seen in self.perl.seen[done..].iter().filter(of_here) {
            if made.is_err() {
                break;
            }
            made = self.run_one(runner.as_mut(), run_as, seen);
            // A mistake in what is loaded is told when it is loaded to serve; the section may do without.
            if seen.preload.kind != PreloadKind::Code
                && let Err(why) = &made
            {
                said.push((seen.at, format!("before a <Perl> section: {why}")));
                made = Ok(Made::default());
            }
        }
        self.perl.runner = Some(runner);
        said.into_iter().for_each(|(at, why)| self.warn(at, why));
        made.map(Some)
    }

    fn run_one(&self, runner: &mut dyn RunPerl, run_as: &RunAs, seen: &Seen) -> Result<Made, String> {
        let made = runner.run(&Asked {
            run_as,
            server_root: &self.facts.server_root,
            generation: self.perl.version.unwrap_or_else(|| self.perl.marks.generation()),
            switches: &self.perl.switches,
            preload: &seen.preload,
            in_host: seen.host.is_some(),
        })?;
        let is_last = self.perl.seen.last().is_some_and(|last| std::ptr::eq(last, seen));
        // Told of when it shows: it would be lost, or stand in another's place.
        if !is_last && !made.text.is_empty() && !self.facts.configured.contains(&seen.at) {
            let origin = &seen.preload.origin;
            return Err(format!("{origin}: builds configuration in a way that its text does not show"));
        }
        Ok(made)
    }

    /// Reads what a section has built, in its place.
    fn take(&mut self, at: Origin, made: &Made, out: &mut Vec<Node>) {
        made.warnings.lines().for_each(|line| self.warn(at, format!("<Perl>: {line}")));
        self.facts.configured.insert(at);
        let file = self.add_file(&format!("{}:{} <Perl>", self.file_name(at), at.line));
        let in_host = self.host.is_some();
        self.nested(at, "Perl", |reader| {
            (reader.made, reader.made_in_host) = (true, in_host);
            reader.contents(made.text.as_bytes(), file, out);
            reader.made = false;
        });
    }
}

/// Which generation's classes the code calls.
fn of_code(code: &str) -> Marks {
    match (code.contains("Apache2::"), code.contains("Apache->") || code.contains("Apache::ReadConfig")) {
        (true, _) => Marks::SECOND_CLASS,
        (false, true) => Marks::FIRST_CLASS,
        _ => Marks::default(),
    }
}
