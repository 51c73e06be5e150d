//! One element about to be carried out: where it stands, and what it may touch.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use hostler_expr::Captures;

use super::{Flow, State};
use crate::host::{Host, Severity};
use crate::lexer::Fault;
use crate::need::Output;
use crate::page::Page;
use crate::program::{Element, Node};
use crate::value::{Part, Value};

/// A value that is longer, in bytes, takes no further variables: a page that doubles one again and again must not
/// fill the memory.
const LONGEST_VALUE: usize = 256 << 10;

pub(super) struct Scene<'a, H: ?Sized, O: ?Sized> {
    pub(super) page: &'a Arc<Page>,
    pub(super) node: &'a Node,
    pub(super) state: &'a mut State,
    pub(super) host: &'a mut H,
    pub(super) out: &'a mut O,
}

/// The treatment of a variable that does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    Drop,
    /// `exec cmd` leaves it to the shell.
    Keep,
}

impl<'a, H: Host + ?Sized, O: Output + ?Sized> Scene<'a, H, O> {
    /// Carries out the element, or goes on with it after a need.
    pub(super) fn element(&mut self) -> Flow {
        if self.state.branch.jammed {
            return Flow::Next;
        }
        let printing = self.state.branch.printing;
        let element = &self.node.element;
        match element {
            Element::If(condition) => return self.r#if(condition),
            Element::Elif(condition) => return self.elif(condition),
            Element::Else(given) => self.r#else(*given),
            Element::Endif(given) => self.endif(*given),
            Element::Fault(fault, name) => self.fault(*fault, name),
            Element::Unfinished => {
                self.log(Severity::Error, format_args!("the document ends within an element"));
                self.error_message_if(printing);
            }
            Element::Unknown(name) => {
                self.log(Severity::Error, format_args!("unknown directive \"{}\"", Printable(name)));
                self.error_message_if(printing);
            }
            Element::MissingArgument(name) => {
                self.complain(format_args!("missing argument for {name} element"));
            }
            Element::Printenv(true) => self.complain(format_args!("printenv takes no arguments")),
            _ if printing => return self.printed(element),
            _ => {}
        }
        Flow::Next
    }

    /// An element that has no effect in a skipped branch.
    fn printed(&mut self, element: &'a Element) -> Flow {
        match element {
            Element::Config(actions) => self.config(actions),
            Element::Echo(actions) => self.echo(actions),
            Element::Set(actions) => self.set(actions),
            Element::Printenv(_) => self.printenv(),
            Element::Include(actions) => return self.include(actions),
            Element::File(fact, actions) => return self.file(*fact, actions),
            Element::Exec(actions) => return self.exec(actions),
            _ => {}
        }
        Flow::Next
    }

    fn fault(&mut self, fault: Fault, name: &[u8]) {
        match fault {
            Fault::NoName => self.log(Severity::Error, format_args!("missing element name")),
            Fault::NoAttributeName => {
                let name = Printable(name);
                self.log(
                    Severity::Error,
                    format_args!("missing attribute name for a value of {name} element"),
                );
            }
        }
        let printing = self.state.branch.printing;
        self.error_message_if(printing);
        self.state.branch.jammed = !printing;
    }

    pub(super) fn log(&self, severity: Severity, message: fmt::Arguments<'_>) {
        self.host.log(severity, self.page.line(self.node.at), message);
    }

    /// Logs an error, and shows the error message in its place.
    pub(super) fn error(&mut self, message: fmt::Arguments<'_>) {
        self.log(Severity::Error, message);
        self.error_message();
    }

    /// An error, or in a skipped branch only a warning.
    pub(super) fn complain(&mut self, message: fmt::Arguments<'_>) {
        if self.state.branch.printing {
            self.error(message);
        } else {
            self.log(Severity::Warning, message);
        }
    }

    pub(super) fn error_message(&mut self) {
        self.out.text(&self.state.settings.error_message);
    }

    fn error_message_if(&mut self, printing: bool) {
        if printing {
            self.error_message();
        }
    }

    pub(super) fn lookup(&self) -> Lookup<'_, H> {
        Lookup {
            host: self.host,
            page: self.page,
            offset: self.node.at,
            time_format: &self.state.settings.time_format,
            captures: &self.state.captures,
        }
    }

    /// The value with its variables put in, in a buffer that [`Scene::give_back`] takes again.
    pub(super) fn expand(&mut self, value: &Value, unknown: Unknown) -> Vec<u8> {
        let mut text = std::mem::take(&mut self.state.scratch);
        text.clear();
        self.lookup().expand(value, unknown, &mut text);
        text
    }

    pub(super) fn give_back(&mut self, buffer: Vec<u8>) {
        self.state.scratch = buffer;
    }
}

/// Reads variables for an element at `offset`.
pub(super) struct Lookup<'a, H: ?Sized> {
    pub(super) host: &'a H,
    pub(super) page: &'a Page,
    pub(super) offset: usize,
    pub(super) time_format: &'a [u8],
    pub(super) captures: &'a Captures,
}

impl<'a, H: Host + ?Sized> Lookup<'a, H> {
    /// A variable; `0` to `9` are groups of the last match.
    pub(super) fn variable(&self, name: &[u8]) -> Option<Cow<'a, [u8]>> {
        match name {
            [digit @ b'0'..=b'9'] => self.group(usize::from(digit - b'0')).map(Cow::Borrowed),
            _ => self.host.variable(name, self.time_format),
        }
    }

    /// Quirk(Apache): with the default parser only `$0` can be asked for outside of expressions, because
    /// mod_include does not learn how many groups the expression had.
    fn group(&self, group: usize) -> Option<&'a [u8]> {
        let groups = if self.page.has_legacy_expressions() { self.captures.group_count() } else { 0 };
        if !self.captures.has_match() {
            self.warn(format_args!("${group} refers to no regular expression"));
        } else if group > groups {
            self.warn(format_args!(
                "${group} is out of range: the last regular expression has {groups} groups"
            ));
        } else {
            return self.captures.group(group);
        }
        None
    }

    pub(super) fn expand(&self, value: &Value, unknown: Unknown, out: &mut Vec<u8>) {
        for part in &value.parts {
            if out.len() > LONGEST_VALUE {
                self.warn(format_args!("the value is cut: it is longer than {LONGEST_VALUE} bytes"));
                return;
            }
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                Part::Variable { name, spelling } => match self.variable(name) {
                    Some(text) => out.extend_from_slice(&text),
                    None if unknown == Unknown::Keep => out.extend_from_slice(spelling),
                    None => {}
                },
                Part::Unclosed(rest) => {
                    let line = self.page.line(self.offset);
                    let message = format_args!("missing }} after \"${{{}\"", Printable(rest));
                    self.host.log(Severity::Error, line, message);
                }
            }
        }
    }

    fn warn(&self, message: fmt::Arguments<'_>) {
        self.host.log(Severity::Warning, self.page.line(self.offset), message);
    }
}

/// Bytes of a document in a log message: control characters escaped, not endless.
pub(super) struct Printable<'a>(pub(super) &'a [u8]);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 200;
        let shown = &self.0[..self.0.len().min(LONGEST)];
        for character in String::from_utf8_lossy(shown).chars() {
            if character.is_control() {
                write!(formatter, "{}", character.escape_default())?;
            } else {
                write!(formatter, "{character}")?;
            }
        }
        formatter.write_str(if shown.len() < self.0.len() { "…" } else { "" })
    }
}
