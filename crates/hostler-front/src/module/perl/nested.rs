//! Requests inside of requests: what a program looks up or runs as part of its answer goes through the conversation
//! that it waits in. The same worker, which has nothing else to do meanwhile, serves it: a request never waits for a
//! second worker while it keeps the first, and its parts see what it has kept.
//!
//! Only while the worker waits: an include in its output, which it is still writing, is another worker's.

use super::NAME;
use super::conversation::Conversation;
use super::state::HasPerl;
use crate::io::body::RequestBody;
use crate::request::Request;
use crate::technique::pools::Engines;
use crate::technique::said::LineLog;
use crate::technique::upload::Upload;
use hostler_config::directives::pool::Isolation;
use hostler_gateway::Error;
use hostler_gateway::backend::ring::{Exchange, Work};
use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;
use std::task::Context;

/// A conversation with a worker as all see it who take part: the request, and those inside of it.
pub(crate) struct Line {
    exchange: RefCell<Exchange>,
    /// The request's body, of which those inside of it may read as well.
    upload: RefCell<Upload>,
    /// The number of the last sub-request.
    last: Cell<u32>,
    /// The worker waits for an answer: it may be given work.
    waits: Cell<bool>,
    /// A reader left before it had read everything.
    torn: Cell<bool>,
    /// The lines that the worker has written to a log.
    pub(super) said: LineLog,
    /// The place of its request in a conversation with a worker of another pool, which waits meanwhile.
    outer: RefCell<Option<Within>>,
}

impl Line {
    pub(super) fn new(exchange: Exchange) -> Rc<Self> {
        let (last, waits, torn) = (Cell::new(0), Cell::new(false), Cell::new(false));
        let ((upload, outer), said) = (Default::default(), LineLog::by(NAME, &exchange));
        Rc::new(Self { exchange: RefCell::new(exchange), upload, last, waits, torn, said, outer })
    }

    /// From now on this is passed on, as the worker has room for it; `None`: nothing more is wanted.
    pub(super) fn set_upload(&self, body: Option<RequestBody>) {
        self.upload.replace(Upload::of(body));
    }

    pub(super) fn poll_upload(&self, context: &mut Context<'_>) -> Result<(), Error> {
        self.upload.borrow_mut().poll(&mut *self.exchange(), context)
    }

    /// To be given back before anybody else is polled.
    pub(super) fn exchange(&self) -> RefMut<'_, Exchange> {
        self.exchange.borrow_mut()
    }

    /// The request that it is about has this place in another.
    pub(super) fn set_outer(&self, place: Option<Within>) {
        self.outer.replace(place);
    }

    /// Returns whether the worker has asked something and waits for the answer.
    pub(super) fn set_waits(&self, waits: bool) {
        self.waits.set(waits);
    }

    pub(super) fn is_torn(&self) -> bool {
        self.torn.get()
    }
}

/// The right to give the worker one nested trip. Given back when that is over.
pub(super) struct Turn {
    line: Rc<Line>,
    over: bool,
}

impl Turn {
    /// The trip has been read to its end: the worker waits again.
    pub(super) fn finish(mut self) {
        self.over = true;
        self.line.waits.set(true);
        // It was not the conversation's own end.
        self.line.exchange().stay();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.over {
            self.line.torn.set(true);
        }
    }
}

/// The conversation that a request is inside of, and who it is there.
#[derive(Clone)]
pub(crate) struct Within {
    line: Rc<Line>,
    /// Its number; 0: it is the request that the conversation is about.
    pub(super) id: u32,
    pub(super) main: u32,
    /// The number of the request in whose place it goes on, plus one; 0: none.
    pub(super) prev: u32,
    /// Its answer is a part of another's.
    pub(crate) is_part: bool,
}

impl Within {
    /// Returns the asker in this conversation.
    pub(super) fn asker(line: &Rc<Line>, request: &Request) -> Self {
        match request.within() {
            Some(within) if Rc::ptr_eq(&within.line, line) => within.clone(),
            _ => Self::of_main(line),
        }
    }

    /// The request that the conversation is about.
    pub(super) fn of_main(line: &Rc<Line>) -> Self {
        Self { line: line.clone(), id: 0, main: 0, prev: 0, is_part: false }
    }

    fn next(&self) -> u32 {
        let id = self.line.last.get() + 1;
        self.line.last.set(id);
        id
    }

    /// A part of this one.
    pub(crate) fn sub(&self) -> Self {
        Self { line: self.line.clone(), id: self.next(), main: self.id, prev: 0, is_part: true }
    }

    /// The one that goes on in its place.
    pub(crate) fn redirected(&self) -> Self {
        Self { id: self.next(), prev: self.id + 1, ..self.clone() }
    }

    /// Begins a trip.
    pub(super) fn begin(&self, work: &Work) -> Conversation {
        self.line.waits.set(false);
        self.line.exchange().again(&work.directory, &work.request);
        Conversation::inside(self.line.clone(), Turn { line: self.line.clone(), over: false })
    }
}

/// Returns the conversation that the request's next trip belongs to, if it is inside one with a worker of the right
/// pool, or that conversation is inside such a one (`Isolation` may differ from URL to URL).
pub(super) fn place(request: &Request, isolation: Isolation) -> Option<Within> {
    let mut within = request.within().cloned().filter(|within| within.id != 0)?;
    let thread = &request.thread;
    let pool = thread.shared.of::<Engines>().pool(
        thread,
        &request.server,
        super::engine(request),
        isolation == Isolation::Fork,
    );
    loop {
        if within.line.waits.get() && within.line.exchange().is_in(pool) {
            return Some(within);
        }
        let outer = within.line.outer.borrow().clone()?;
        within = outer.sub();
    }
}
