//! A technique's messages beyond a response, in its own words. The conversation asks the technique for a message's
//! meaning, and carries it out.

use crate::io::body::{Body, BodyStream};
use crate::request::Request;
use crate::request::slots::{Relation, State};
use crate::values::table::Table;
use bytes::Bytes;
use hostler_gateway::Error;
use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;

/// A technique's own words.
pub(crate) trait Dialect: Sync {
    /// Returns the meaning of a message.
    ///
    /// # Errors
    /// Nothing: the worker may not say this.
    fn meaning(&self, request: &Request, message: &Bytes) -> Result<Own, Error>;
}

/// A meaning.
pub(crate) enum Own {
    /// It was only told.
    Told,
    /// Values for the logs.
    Logged(Box<LogNotes>),
    /// A question; the worker waits.
    PendingAnswer(PendingAnswer),
}

/// A question whose answer is being found.
pub(crate) type PendingAnswer = Pin<Box<dyn Future<Output = Answer>>>;

/// An answer.
pub(crate) struct Answer {
    /// A part of the request's own response, sent before the worker is informed.
    pub(crate) part: Option<Box<dyn BodyStream>>,
    /// The message to the worker.
    pub(crate) told: Vec<u8>,
    /// The same, if the part breaks off.
    pub(crate) broken: Vec<u8>,
    /// The end of the request's own response after the worker has finished; the worker need not wait for it.
    pub(crate) tail: Option<Body>,
}

/// Variables and notes that a program has set.
pub(crate) struct LogNotes {
    pub(crate) variables: Table,
    pub(crate) notes: Table,
}

impl LogNotes {
    pub(crate) fn apply(&self, request: &mut Request) {
        for (name, value) in self.variables.iter() {
            request.env.set(name.clone(), value.clone());
        }
        for (name, value) in self.notes.iter() {
            request.notes.set(name.clone(), value.clone());
        }
    }
}

/// A worker's values for the logs, received while the response is sent.
#[derive(Clone, Default)]
pub(crate) struct Late(Rc<RefCell<Option<Box<LogNotes>>>>);

impl Late {
    pub(crate) fn put(&self, logged: Box<LogNotes>) {
        self.0.replace(Some(logged));
    }

    /// Applies what has come to a request that is going to be logged.
    pub(crate) fn apply(request: &mut Request) {
        let logged = request.slots.find::<Self>().and_then(|late| late.0.take());
        if let Some(logged) = logged {
            logged.apply(request);
        }
    }
}

impl State for Late {
    fn copy(&self) -> Box<dyn State> {
        Box::new(self.clone())
    }

    fn related(&self, _: &Request, _: Relation) -> Option<Box<dyn State>> {
        None
    }
}
