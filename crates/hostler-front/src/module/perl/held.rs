//! The worker that waits for a request's next trip: where the front decides between two phases (`Require`, an alias),
//! the same process goes on, with what its programs have kept for later phases.
//!
//! It is let go before anything is answered that is not its own, but for the page of an error status that its Log
//! handlers are to see: nobody's slow client keeps it. Where another request goes on in its request's place (an error's
//! document) it is that one's.

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
pub(crate) struct WaitingWorker(Option<Rc<RefCell<Option<Box<Conversation>>>>>);

impl WaitingWorker {
    /// Keeps it for the next trip.
    pub(super) fn keep(&mut self, mut conversation: Conversation) {
        conversation.stay();
        self.0.get_or_insert_default().replace(Some(Box::new(conversation)));
    }

    /// Returns whether there is one; a phase before may have set handlers in it.
    pub(super) fn is_kept(&self) -> bool {
        self.0.as_ref().is_some_and(|held| held.borrow().is_some())
    }

    /// The place of a sub-request in its conversation.
    pub(super) fn part(&self) -> Option<Within> {
        self.0.as_ref()?.borrow().as_ref().map(|conversation| conversation.part_of())
    }

    /// It is another request's from now on.
    pub(super) fn passed_on(&self) -> Self {
        Self(self.0.as_ref().and_then(|held| held.take()).map(|held| Rc::new(RefCell::new(Some(held)))))
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

/// Returns whether the held worker gets this request now, as the one that continues in place of another.
pub(super) fn goes_on(request: &Request, isolation: Isolation) -> bool {
    is_for(request, isolation) && request.is_held() && request.perl().is_some_and(|perl| perl.is_instead)
}

/// The one that goes on with this request, if it does in the same pool.
pub(super) fn take(request: &Request, isolation: Isolation) -> Option<Conversation> {
    if !is_for(request, isolation) {
        state::release(request);
        return None;
    }
    request.perl().and_then(|perl| perl.held.take())
}

fn is_for(request: &Request, isolation: Isolation) -> bool {
    !request.is_part() && isolation == Isolation::Persistent
}
