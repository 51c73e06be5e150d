//! What a technique's workers say and ask beyond an answer, in their own words. The conversation asks the technique what a
//! message means, and carries it out.

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
    /// What a message means.
    ///
    /// # Errors
    /// Nothing: the worker may not say this.
    fn meaning(&self, request: &Request, message: &Bytes) -> Result<Own, Error>;
}

/// A meaning.
pub(crate) enum Own {
    /// It was only told.
    Told,
    /// What the logs show of the request.
    Logged(Box<LogNotes>),
    /// A question; the worker waits.
    PendingAnswer(PendingAnswer),
}

/// A question whose answer is being found.
pub(crate) type PendingAnswer = Pin<Box<dyn Future<Output = Answer>>>;

/// An answer.
pub(crate) struct Answer {
    /// What becomes a part of the request's own answer, before the worker is told.
    pub(crate) part: Option<Box<dyn BodyStream>>,
    /// What the worker is told.
    pub(crate) told: Vec<u8>,
    /// The same, if the part breaks off.
    pub(crate) broken: Vec<u8>,
    /// What the request's own answer ends with, once the worker has finished; it need not wait for that.
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

/// What a worker tells for the logs while the answer is sent.
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
