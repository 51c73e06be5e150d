//! A request's body on its way to a worker.

use crate::io::body::RequestBody;
use hostler_gateway::Error;
use hostler_gateway::backend::ring::Exchange;
use hostler_wire::work::ToWorker;
use std::task::{Context, Poll};

/// The request's body on its way to the worker.
#[derive(Default)]
pub(crate) struct Upload(Option<RequestBody>);

impl Upload {
    /// `None`: there is none, or it has gone whole.
    pub(crate) fn of(body: Option<RequestBody>) -> Self {
        Self(body)
    }

    /// Passes on what has come, as long as the worker has room.
    pub(crate) fn poll(&mut self, exchange: &mut Exchange, context: &mut Context<'_>) -> Result<(), Error> {
        while let Some(body) = &self.0 {
            if exchange.poll_room(context).is_pending() {
                break;
            }
            match body.poll_chunk(context) {
                Poll::Pending => break,
                Poll::Ready(Some(Ok(piece))) => exchange.tell(&ToWorker::Body(&piece)),
                Poll::Ready(None) => {
                    exchange.tell(&ToWorker::BodyEnd(true));
                    self.0 = None;
                }
                Poll::Ready(Some(Err(error))) => {
                    exchange.tell(&ToWorker::BodyEnd(false));
                    self.0 = None;
                    return Err(Error::from(&error));
                }
            }
        }
        Ok(())
    }
}
