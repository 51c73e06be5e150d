//! The worker that waits for a request's next trip: where the front decides between two phases (`Require`, an alias),
//! the same process goes on, with what its programs have kept for later phases.
//!
//! It is let go before anything is answered that is not its own, but for the page of an error status that its Log
//! handlers are to see: nobody's slow client keeps it.

use super::conversation::Conversation;
use super::nested::Within;
use super::state;
use super::state::HasPerl;
use crate::request::Request;
use hostler_config::directives::pool::Isolation;
use std::cell::RefCell;
use std::rc::Rc;

/// Perhaps a worker that waits. Copies of a request share it, and its sub-requests, which let it go when they need a
/// worker themselves: held ones could otherwise all wait for each other.
#[derive(Clone, Default)]
pub(crate) struct Held(Option<Rc<RefCell<Option<Box<Conversation>>>>>);

impl Held {
    /// Keeps it for the next trip.
    pub(super) fn keep(&mut self, mut conversation: Conversation) {
        conversation.stay();
        self.0.get_or_insert_default().replace(Some(Box::new(conversation)));
    }

    /// Whether there is one; a phase before may have set handlers in it.
    pub(super) fn is_kept(&self) -> bool {
        self.0.as_ref().is_some_and(|held| held.borrow().is_some())
    }

    /// The place of a sub-request in its conversation.
    pub(super) fn part(&self) -> Option<Within> {
        self.0.as_ref()?.borrow().as_ref().map(|conversation| conversation.part_of())
    }

    fn take(&self) -> Option<Conversation> {
        Some(*self.0.as_ref()?.take()?)
    }

    /// Lets it go: its programs clean up after the request.
    pub(crate) fn release(&self, request: &Request) {
        if let Some(mut conversation) = self.take() {
            conversation.release();
            conversation.part(request);
        }
    }
}

/// The one that goes on with this request, if it does in the same pool.
pub(super) fn take(request: &Request, isolation: Isolation) -> Option<Conversation> {
    if request.is_part() || isolation != Isolation::Persistent {
        state::release(request);
        return None;
    }
    request.perl().and_then(|perl| perl.held.take())
}
