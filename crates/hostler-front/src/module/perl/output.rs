//! The rest of an answer that is longer than what is waited for, or that comes slowly: passed on as it comes.

use super::Stays;
use super::apply::Changes;
use super::configure;
use super::conversation::{Conversation, End, Event};
use crate::io::body::{BodyError, BodyStream};
use crate::request::Request;
use crate::technique::gathered::AnswerPieces;
use bytes::Bytes;
use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// Changes that came after the answer's head was made: the access log may show them.
pub(crate) type Late = Rc<RefCell<Option<Box<Changes>>>>;

/// An answer's body on its way.
pub(super) struct Output {
    /// `None`: the answer is complete, or has broken off.
    pub(super) conversation: Option<Conversation>,
    pub(super) stays: Stays,
    /// Output that arrived before anything took it.
    pub(super) gathered: AnswerPieces,
    /// The request, for the worker's questions and for the log.
    pub(super) request: Box<Request>,
    pub(super) late: Late,
}

impl BodyStream for Output {
    fn rests(&self) -> bool {
        self.conversation.as_ref().is_some_and(Conversation::rests)
    }

    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(piece) = self.gathered.pop() {
            return Poll::Ready(Some(Ok(piece)));
        }
        loop {
            let Some(conversation) = &mut self.conversation else { return Poll::Ready(None) };
            match ready!(conversation.poll_event(&self.request, context)) {
                Ok(Event::Body(piece)) => return Poll::Ready(Some(Ok(piece))),
                Ok(Event::Changes(changes)) => *self.late.borrow_mut() = Some(changes),
                Ok(Event::Configure(_)) => conversation.tell_configured(Err(configure::TOO_LATE.to_owned())),
                Ok(Event::Standing(..) | Event::Early(..)) => {}
                Ok(Event::Redirect(onward)) => conversation.splice(&self.request, onward),
                Ok(Event::Head(_)) => return self.break_off("it sent a second head".to_owned()),
                Ok(Event::Finished(End::Done)) => {
                    self.part();
                    return Poll::Ready(None);
                }
                Ok(Event::Finished(End::Broken(why))) => {
                    self.part();
                    return self.break_off(why);
                }
                // A status, once the head is gone, can only be logged: the program's answer stands as it is.
                Ok(Event::Finished(end)) => {
                    if self.stays.keeps(&end) {
                        conversation.release();
                    }
                    self.part();
                    return Poll::Ready(None);
                }
                Err(error) => {
                    return self.break_off(crate::log::cause(
                        &self.request,
                        &error,
                        &self.request.resource.filename,
                    ));
                }
            }
        }
    }
}

impl Output {
    fn part(&mut self) {
        if let Some(conversation) = self.conversation.take() {
            conversation.part(&self.request);
        }
    }

    fn break_off(&mut self, why: String) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.conversation = None;
        Poll::Ready(Some(Err(BodyError::Script(why))))
    }
}
