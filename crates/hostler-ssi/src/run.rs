//! One walk through a page for one request.
//!
//! There is no stack of `if`s: as in mod_include, some flags hold the state of the innermost one that is
//! not skipped, and a counter the depth of skipped ones. So nothing here recurses, and an `else` without an
//! `if`, or a branch after a wrong condition, has the effect that it has in Apache.

mod branch;
mod outside;
mod scene;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

use hostler_expr::{Captures, Question, effort};

use crate::host::{Host, Severity};
use crate::need::{Answer, FileFact, FileReference, Need, Output, Settings, SizeFormat, Step};
use crate::page::Page;
use crate::program::Element;
use scene::Scene;

/// A page being evaluated. It owns what is the document's own (`config`, open `if`s, the last match), while
/// variables live in the [`Host`], which all documents of a request share.
#[derive(Debug)]
pub struct Run {
    page: Arc<Page>,
    state: State,
}

#[derive(Debug)]
struct State {
    settings: Settings,
    size_format: SizeFormat,
    captures: Captures,
    /// The node to carry out, and how many actions of its element are done.
    node: usize,
    action: usize,
    branch: Branch,
    include_failed: bool,
    finished: bool,
    /// The output was full when the last step ended.
    paused: bool,
    pending: Option<Pending>,
    answer: Option<Answer>,
    /// Target of what is pending.
    target: Vec<u8>,
    /// Room to build values in.
    scratch: Vec<u8>,
    name: Vec<u8>,
}

/// About what an element costs, in nanoseconds.
const ELEMENT: usize = 100;

/// A run's position among `if`s.
#[derive(Debug)]
struct Branch {
    printing: bool,
    /// Some branch of the current `if` was taken, or there is none.
    taken: bool,
    /// A condition of the current `if` was no expression: `else` has no effect until `endif`.
    failed: bool,
    /// `if`s within a branch that is skipped.
    skipped: usize,
    /// Quirk(Apache): an element that cannot be read, in a skipped branch, makes all later elements void.
    jammed: bool,
}

/// A need that was reported, without what [`State::target`] holds.
#[derive(Debug)]
enum Pending {
    Include(FileReference),
    Command,
    Cgi,
    File(FileReference, FileFact),
    Expression(Box<Question>),
}

/// The continuation after an element.
enum Flow {
    Next,
    Wait(Pending),
}

impl Run {
    /// Starts at the page's beginning.
    pub fn new(page: Arc<Page>, settings: Settings) -> Run {
        let state = State {
            settings,
            size_format: SizeFormat::default(),
            captures: Captures::keeping_progress(),
            node: 0,
            action: 0,
            branch: Branch { printing: true, taken: true, failed: false, skipped: 0, jammed: false },
            include_failed: false,
            finished: false,
            paused: false,
            pending: None,
            answer: None,
            target: Vec::new(),
            scratch: Vec::new(),
            name: Vec::new(),
        };
        Run { page, state }
    }

    /// The page.
    pub fn page(&self) -> &Arc<Page> {
        &self.page
    }

    /// Goes on until the end, until the output is full, or until something is needed. Without an answer to the last need it is
    /// reported again.
    pub fn step<H, O>(&mut self, host: &mut H, out: &mut O) -> Step<'_>
    where
        H: Host + ?Sized,
        O: Output + ?Sized,
    {
        if self.state.pending.is_none() || self.state.answer.is_some() {
            self.state.pending = None;
            self.walk(host, out);
        }
        self.reported()
    }

    /// Brings the answer to the need that [`Run::step`] reported; without one it is ignored.
    pub fn resume(&mut self, answer: Answer) {
        if self.state.pending.is_some() {
            self.state.answer = Some(answer);
        }
    }

    fn walk<H, O>(&mut self, host: &mut H, out: &mut O)
    where
        H: Host + ?Sized,
        O: Output + ?Sized,
    {
        let Run { page, state } = self;
        state.paused = false;
        while let Some(node) = page.node(state.node) {
            let exhausted = effort::spend(ELEMENT).is_err();
            if exhausted || out.is_full() {
                state.paused = true;
                return;
            }
            if let Element::Text(end) = node.element {
                if state.branch.printing {
                    out.literal(page, node.at..end);
                }
                state.node += 1;
                continue;
            }
            let mut scene = Scene { page, node, state, host, out };
            if let Flow::Wait(pending) = scene.element() {
                state.pending = Some(pending);
                return;
            }
            state.answer = None;
            state.action = 0;
            state.node += 1;
        }
        if !std::mem::replace(&mut state.finished, true) && !state.branch.printing {
            let line = page.line(page.source().len());
            host.log(Severity::Warning, line, format_args!("an if has no endif"));
        }
    }

    fn reported(&self) -> Step<'_> {
        let state = &self.state;
        let target = state.target.as_slice();
        let Some(pending) = &state.pending else {
            return if state.paused { Step::Full } else { Step::Done };
        };
        Step::Need(match pending {
            Pending::Include(reference) => {
                Need::Include { reference: *reference, target, text_only: state.settings.no_exec }
            }
            Pending::Command => Need::Command { command: target },
            Pending::Cgi => Need::Cgi { target },
            Pending::File(reference, fact) => Need::File { reference: *reference, target, fact: *fact },
            Pending::Expression(question) => Need::Expression(question),
        })
    }
}
