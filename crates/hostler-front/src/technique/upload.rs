//! A request's body on its way to a worker: of an engine, or behind a socket.

use crate::io::body::RequestBody;
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
}

impl Upload {
    /// Of this body, if there is one.
    pub(crate) fn of(body: Option<RequestBody>) -> Self {
        Self { body, has_begun: false }
    }

    /// Returns whether some of it has gone.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Passes on what has come, as long as the worker has room.
    pub(crate) fn poll(&mut self, exchange: &mut impl Takes, context: &mut Context<'_>) -> Result<(), Error> {
        while let Some(body) = &self.body {
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
