//! A request's data for Perl from one phase to the next.

use super::{Late, Progress, WaitingWorker, Within};
use crate::request::Request;
use crate::request::slots::{Relation, State};

/// All of it.
#[derive(Clone, Default)]
pub(super) struct Perl {
    /// The work that workers have done, or still have to do.
    pub(super) progress: Progress,
    /// The worker that waits for the request's next trip.
    pub(super) held: WaitingWorker,
    /// The worker has kept the request that this one replaces.
    pub(super) is_instead: bool,
    /// The conversation with a worker that it is a part of.
    pub(super) within: Option<Within>,
    /// Changes that a worker tells while its answer is being sent.
    pub(super) late: Option<Late>,
}

impl State for Perl {
    fn copy(&self) -> Box<dyn State> {
        Box::new(self.clone())
    }

    fn related(&self, from: &Request, relation: Relation) -> Option<Box<dyn State>> {
        let mut next = Self::default();
        match relation {
            Relation::Redirect => {
                if self.within.is_none() {
                    // What goes on may need a worker itself: this one, which has what the request has kept.
                    next.held = self.held.passed_on();
                    next.is_instead = next.held.is_kept();
                } else if !from.is_part() {
                    self.held.release(from);
                }
                next.within = self.within.as_ref().map(Within::redirected);
            }
            Relation::Sub => {
                next.held = self.held.clone();
                next.is_instead = self.is_instead;
                next.within = self.within.as_ref().map(Within::sub);
            }
        }
        (next.within.is_some() || next.held.is_kept()).then(|| Box::new(next) as Box<dyn State>)
    }

    fn is_part(&self) -> bool {
        self.within.as_ref().is_some_and(|within| within.is_part)
    }
}

/// A request's state, as this module reads and writes it.
pub(super) trait HasPerl {
    fn perl(&self) -> Option<&Perl>;
    fn perl_mut(&mut self) -> &mut Perl;

    fn progress(&self) -> Progress {
        self.perl().map(|perl| perl.progress).unwrap_or_default()
    }

    fn within(&self) -> Option<&Within> {
        self.perl()?.within.as_ref()
    }

    /// Returns whether a worker waits for it; a phase before may have set handlers in it.
    fn is_held(&self) -> bool {
        self.perl().is_some_and(|perl| perl.held.is_kept())
    }
}

impl HasPerl for Request {
    fn perl(&self) -> Option<&Perl> {
        self.slots.find()
    }

    fn perl_mut(&mut self) -> &mut Perl {
        self.slots.find_mut()
    }
}

/// Lets the worker go that waits for the request, unless it is still to filter the answer.
pub(super) fn release(request: &Request) {
    if !super::filter::is_awaited(request) {
        let_go(request);
    }
}

/// Lets it go in any case.
pub(super) fn let_go(request: &Request) {
    if let Some(perl) = request.perl() {
        perl.held.release(request);
    }
}
