//! Answers of programs behind pools of connections ([`hostler_gateway::backend::stream`]) on the fast path, whatever the
//! protocol.

use super::MOST;
use super::socket::{PlainAnswer, SocketAnswer};
use crate::hook::registry::Later;
use crate::io::body::Body;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::technique::respond::WHOLE;
use bytes::Bytes;
use hostler_gateway::Error;
use hostler_gateway::backend::stream::{Event, EventOf, Exchange, Protocol};
use smallvec::SmallVec;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// The fast path's view of a technique's responses.
pub(crate) trait StreamTechnique: 'static {
    type Protocol: Protocol;
    /// The parsed form of a whole response before its fields are looked at.
    type Parsed;

    /// The time to wait for the rest of a started response before the slow path forwards the part received.
    const PATIENCE: Duration;
    /// Answers begin with a head of the protocol's own, and not with output.
    const HAS_HEAD: bool;

    /// Returns whether a head begins an answer, and is nothing said before one.
    fn is_answer(_: &<Self::Protocol as Protocol>::Head) -> bool {
        true
    }

    /// Reads a whole answer; `None`: it is for the slow path.
    fn parse(&self, said: &[Said<Self::Protocol>]) -> Option<Self::Parsed>;

    /// The same as a plain answer; `None`: it is none.
    fn plain<'a>(parsed: &'a Self::Parsed, said: &'a [Said<Self::Protocol>]) -> Option<PlainAnswer<'a>>;

    /// Goes on by the slow path.
    fn go_on(self, request: &mut Request, begun: Begun<Self::Protocol>) -> Later<'_, Result<Body, Halt>>;
}

/// The head of an answer that has one of the protocol's own, and a plain answer with its body.
pub(crate) fn head_and_body<P: Protocol>(said: &[Said<P>]) -> Option<(&P::Head, PlainAnswer<'_>)> {
    let Some(Ok(Event::Head(head))) = said.first() else { return None };
    Some((head, PlainAnswer { body: output::<P>(said), ..PlainAnswer::default() }))
}

/// The pieces of an answer's body, or of all its output.
pub(crate) fn output<P: Protocol>(said: &[Said<P>]) -> Bytes {
    let mut pieces = said.iter().filter_map(|said| match said {
        Ok(Event::Output(piece)) => Some(piece),
        _ => None,
    });
    match (pieces.next(), pieces.next()) {
        (None, _) => Bytes::new(),
        (Some(only), None) => only.clone(),
        (Some(first), Some(second)) => {
            [first, second].into_iter().chain(pieces).flat_map(|piece| piece.iter().copied()).collect()
        }
    }
}

/// A message of an exchange.
pub(crate) type Said<P> = Result<EventOf<P>, Error>;

/// A conversation, and what has been said in it.
pub(crate) struct Begun<P: Protocol> {
    pub(crate) exchange: Exchange<P>,
    /// The oldest first.
    pub(crate) said: SmallVec<[Said<P>; 4]>,
}

/// An answer, as far as it has come.
pub(crate) struct StreamAnswer<T: StreamTechnique> {
    technique: T,
    begun: Begun<T::Protocol>,
    parsed: Option<T::Parsed>,
    /// Of its body, in bytes.
    length: usize,
    patience: Option<Pin<Box<Sleep>>>,
}

impl<T: StreamTechnique> StreamAnswer<T> {
    pub(crate) fn new(technique: T, exchange: Exchange<T::Protocol>) -> Box<Self> {
        let begun = Begun { exchange, said: SmallVec::new() };
        Box::new(Self { technique, begun, parsed: None, length: 0, patience: None })
    }

    /// Notes what has been said; ready as [`SocketAnswer::poll_whole`] is.
    fn take(&mut self, said: Said<T::Protocol>) -> Poll<bool> {
        let is_first = self.begun.said.is_empty();
        let goes_on = match &said {
            Ok(Event::Head(head)) => is_first && T::is_answer(head),
            Ok(Event::Output(piece)) => {
                self.length += piece.len();
                (!is_first || !T::HAS_HEAD) && self.length <= WHOLE && self.begun.said.len() < MOST
            }
            Ok(Event::End { .. } | Event::Log(_)) | Err(_) => false,
        };
        let is_end = matches!(&said, Ok(Event::End { trouble: None }));
        self.begun.said.push(said);
        if goes_on {
            return Poll::Pending;
        }
        if is_end && !is_first {
            self.parsed = self.technique.parse(&self.begun.said);
        }
        Poll::Ready(self.parsed.is_some())
    }
}

impl<T: StreamTechnique> SocketAnswer for StreamAnswer<T> {
    fn poll_whole(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        loop {
            match self.begun.exchange.poll_next(context) {
                Poll::Ready(Some(said)) => {
                    if let Poll::Ready(is_whole) = self.take(said) {
                        return Poll::Ready(is_whole);
                    }
                }
                Poll::Ready(None) => return Poll::Ready(false),
                Poll::Pending if self.begun.said.is_empty() => return Poll::Pending,
                Poll::Pending => {
                    let patience = self.patience.get_or_insert_with(|| Box::pin(sleep(T::PATIENCE)));
                    return patience.as_mut().poll(context).map(|()| false);
                }
            }
        }
    }

    fn plain(&self) -> Option<PlainAnswer<'_>> {
        T::plain(self.parsed.as_ref()?, &self.begun.said)
    }

    /// Read to its end, the connection is the next one's already.
    fn end(self: Box<Self>) {}

    fn go_on(self: Box<Self>, request: &mut Request) -> Later<'_, Result<Body, Halt>> {
        let Self { technique, begun, .. } = *self;
        technique.go_on(request, begun)
    }
}
