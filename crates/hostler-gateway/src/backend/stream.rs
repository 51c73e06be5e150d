//! Programs that are spoken to over a connected socket: what all such protocols share. A protocol itself ([`Protocol`])
//! is a thin file: it encodes the pieces of a body and finds events in what comes back.
//!
//! A worker of the pool is a connection, which serves one request at a time. While it is idle its socket lies in its
//! [`Seat`]; a conversation ([`Exchange`]) takes it along to its thread's event loop, and puts it back at its end.
//!
//! The socket has come from a site's process, and a descriptor's flags are all its holders': each call says by itself
//! that it does not wait.

mod connection;
mod exchange;
mod link;
mod place;
mod program;
mod seat;
mod socket;
mod variables;

pub use exchange::Exchange;
pub(crate) use link::{announce_links, look_at_links, open_links};
pub use program::Program;
pub(crate) use seat::ClosedError;
pub use seat::Seat;
pub(super) use variables::too_long;
pub use variables::{Keep, Role, Variables};

use super::{Backend, OnAbandon, Request};
use crate::pool;
use crate::pool::worker::Worker;
use bytes::Bytes;
use link::Links;
use place::OpenSeat;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// A protocol over a stream, with one request of a connection at a time.
pub trait Protocol: Sized + Send + Sync + 'static {
    /// Its name in URLs, and in the names of pools: `fcgi`.
    const NAME: &'static str;
    /// The facts of a request beyond the bytes of [`Work::head`].
    type Ask: Clone + Debug + Send;
    /// One conversation: the reader of its answer, and what has to be known of it to write on.
    type Answer: Send;
    /// The head of a response, where the protocol has a form of its own for it: [`Event::Head`].
    type Head: Send;

    /// For the answer to a request that is about to be sent.
    fn answer(ask: &Self::Ask) -> Self::Answer;

    /// The bytes that wake a program that should look into its memory, sent over the socket between requests. `None`:
    /// the protocol has no such message.
    const CALL: Option<&'static [u8]> = None;

    /// Offers memory to the other side of a new connection, so that requests use it instead of the socket. The memory's
    /// descriptor goes along, and those of the bells that wake the front's threads. `bells`: their number, which no
    /// others have.
    fn offer_memory(_bells: u64) -> Vec<u8> {
        Vec::new()
    }

    /// Returns the pid of the program's process that has taken the offered memory, if it has reported it.
    fn memory_user(_: &Self::Answer) -> Option<u32> {
        None
    }

    /// The first bytes of every request, or of every first request of a connection: a new program gets them ahead, and has
    /// begun to serve when it has read them. Empty: there is no way to see that it serves.
    const GREETING: &'static [u8] = b"";

    /// Appends a piece of the request's body, not empty, as it is sent.
    fn body(answer: &mut Self::Answer, piece: &[u8], out: &mut Vec<u8>);

    /// Appends what ends the request's body.
    fn body_end(answer: &mut Self::Answer, out: &mut Vec<u8>);

    /// Appends what the program has asked for meanwhile: called whenever something of it has been read. For protocols in
    /// which a body is asked for.
    fn reply(_: &mut Self::Answer, _: &mut Vec<u8>) {}

    /// Returns whether there may be a further piece of the request's body.
    fn has_room(_: &Self::Answer) -> bool {
        true
    }

    /// Appends what says that nobody waits for the answer any more, if the protocol can say so.
    ///
    /// # Errors
    /// It can't: the connection is closed instead.
    fn abort(answer: &mut Self::Answer, out: &mut Vec<u8>) -> Result<(), CantSay>;

    /// The next event in what has come, of which it takes what it has used up; `None`: more has to come.
    ///
    /// # Errors
    /// The message breaks the protocol: the reason, for the log.
    fn next(answer: &mut Self::Answer, bytes: &mut Bytes) -> Result<Option<EventOf<Self>>, String>;

    /// Returns whether the answer has ended so that another request may follow on the connection.
    fn is_over(answer: &Self::Answer) -> bool;

    /// Returns whether the answer has ended, whatever becomes of the connection.
    fn is_answered(answer: &Self::Answer) -> bool;

    /// The other side has closed the connection: whether that ends the answer.
    ///
    /// # Errors
    /// It is cut off.
    fn closed(answer: &mut Self::Answer) -> Result<EventOf<Self>, CutOff>;
}

/// A protocol has no word for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CantSay;

/// An answer has ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutOff;

/// Something that the program has said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<H> {
    /// The head of a response. Not for protocols whose responses are a CGI program's output ([`Infallible`]).
    ///
    /// [`Infallible`]: std::convert::Infallible
    Head(H),
    /// A piece of the answer, never empty.
    Output(Bytes),
    /// A piece of what is for the log, never empty.
    Log(Bytes),
    /// The last of all.
    End {
        /// Why there is less of an answer than there should be, for the log.
        trouble: Option<String>,
    },
}

/// The messages of a protocol's programs.
pub type EventOf<P> = Event<<P as Protocol>::Head>;

/// The backend of a protocol.
#[derive(Debug)]
pub struct Streams<P>(PhantomData<P>);

/// A pool of connections.
pub type Pool<P> = pool::Pool<Streams<P>>;

/// A request, encoded.
#[derive(Clone, Debug)]
pub struct Work<A> {
    /// The submitting thread of the front: its number, below that given to [`pool::Pool::new`].
    pub thread: u32,
    /// All that goes before the request's body, and with it its end if there is none.
    pub head: Bytes,
    /// A body follows: [`Exchange::send`] and [`Exchange::finish`].
    pub has_body: bool,
    /// The longest time the program may neither read nor write when it is its turn; then its connection is closed
    /// (504).
    pub timeout: Duration,
    /// The treatment of the request when its client leaves.
    pub on_abandon: OnAbandon,
    /// [`Protocol::Ask`].
    pub ask: A,
}

impl<A: Clone + Debug + Send> Request for Work<A> {
    fn thread(&self) -> u32 {
        self.thread
    }

    fn configuration(&self) -> Option<u32> {
        None
    }

    fn is_whole(&self) -> bool {
        !self.has_body
    }

    fn on_abandon(&self) -> OnAbandon {
        self.on_abandon
    }

    fn again(&mut self) -> Self {
        self.clone()
    }
}

impl<P: Protocol> Backend for Streams<P> {
    const STAYS: bool = true;
    type Work = Work<P::Ask>;
    type Seat = Arc<Seat>;
    type Place = OpenSeat<P>;
    type Common = Links;

    const PLACES_BEHIND: bool = false;

    fn capacity(_: &Arc<Seat>) -> usize {
        1
    }

    fn offer(worker: &Arc<Worker<Self>>, _: usize, work: &Work<P::Ask>, _: bool) -> OpenSeat<P> {
        OpenSeat::begin(&worker.seat, work)
    }
}
