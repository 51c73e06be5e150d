//! A request's body on its way to a worker: of an engine, or behind a socket.

use crate::io::body::RequestBody;
use crate::request::Request;
use hostler_gateway::Error;
use hostler_gateway::backend::{ring, stream};
use hostler_wire::work::ToWorker;
use std::task::{Context, Poll};

/// A receiver of a body.
pub(crate) trait Takes {
    /// Ready when there is room for more.
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()>;

    /// A piece, not empty.
    fn take(&mut self, piece: &[u8]);

    /// Nothing follows; what has come is the whole body, or not.
    fn end(&mut self, is_whole: bool);
}

impl Takes for ring::Exchange {
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.poll_room(context)
    }

    fn take(&mut self, piece: &[u8]) {
        self.tell(&ToWorker::Body(piece));
    }

    fn end(&mut self, is_whole: bool) {
        self.tell(&ToWorker::BodyEnd(is_whole));
    }
}

impl<P: stream::Protocol> Takes for stream::Exchange<P> {
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.poll_room(context)
    }

    fn take(&mut self, piece: &[u8]) {
        self.send(piece);
    }

    /// A body that has broken off ends the exchange, which says it in the protocol's way.
    fn end(&mut self, is_whole: bool) {
        if is_whole {
            self.finish();
        }
    }
}

/// The request's body on its way to the worker.
#[derive(Default)]
pub(crate) struct Upload {
    /// `None`: there is none, or it has gone whole.
    body: Option<RequestBody>,
    has_begun: bool,
    /// The worker has not asked for it yet.
    is_withheld: bool,
}

/// Returns whether a request's body is read only once its worker asks for it: a client that waits for 100 (Continue) is told
/// to send it only if it is wanted, and a body without a length is refused as too long only if it is read.
pub(crate) fn is_withheld(request: &Request) -> bool {
    let body = &request.target.body;
    let expects =
        || request.header("Expect").is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"));
    !request.is_part() && !body.is_empty() && body.again().is_none() && (body.length().is_none() || expects())
}

impl Upload {
    /// Of this body, if there is one.
    pub(crate) fn of(body: Option<RequestBody>) -> Self {
        Self { body, ..Self::default() }
    }

    /// Of this body, which does not go before the worker asks for it.
    pub(crate) fn withheld(body: Option<RequestBody>) -> Self {
        Self { is_withheld: body.is_some(), ..Self::of(body) }
    }

    /// The worker asks for it; returns whether that is the first time.
    pub(crate) fn release(&mut self) -> bool {
        std::mem::take(&mut self.is_withheld)
    }

    /// Returns whether some of it has gone.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Passes on what has come, as long as the worker has room.
    pub(crate) fn poll(&mut self, exchange: &mut impl Takes, context: &mut Context<'_>) -> Result<(), Error> {
        while let Some(body) = self.body.as_ref().filter(|_| !self.is_withheld) {
            if exchange.poll_room(context).is_pending() {
                break;
            }
            match body.poll_chunk(context) {
                Poll::Pending => break,
                Poll::Ready(Some(Ok(piece))) => {
                    self.has_begun = true;
                    exchange.take(&piece);
                }
                Poll::Ready(None) => {
                    exchange.end(true);
                    self.body = None;
                }
                Poll::Ready(Some(Err(error))) => {
                    exchange.end(false);
                    self.body = None;
                    return Err(Error::from(&error));
                }
            }
        }
        Ok(())
    }
}
