//! One request to another server, and its answer, in whichever version of HTTP.

use super::Connection;
use super::exchange::{Alone, Failure, Request};
use super::http2::Conversation;
use crate::backend::http::Event;
use bytes::Bytes;
use std::task::{Context, Poll};
use std::time::Duration;

/// An exchange. To be polled by one task.
#[derive(Debug)]
pub struct Exchange(Kind);

#[derive(Debug)]
enum Kind {
    Alone(Box<Alone>),
    Multiplexed(Box<Conversation>),
}

impl From<Conversation> for Exchange {
    fn from(conversation: Conversation) -> Self {
        Self(Kind::Multiplexed(Box::new(conversation)))
    }
}

impl Exchange {
    /// Begins a request on a connection that has no other; with HTTP/2 [`Multiplexed::begin`](super::Multiplexed::begin) does.
    #[must_use]
    pub fn begin(connection: Connection, request: &Request) -> Self {
        Self(Kind::Alone(Box::new(Alone::begin(connection, request))))
    }

    /// Says a piece of the request's body, not empty. What there is no room for is kept: see [`Self::poll_room`].
    pub fn send(&mut self, piece: Bytes) {
        match &mut self.0 {
            Kind::Alone(exchange) => exchange.send(piece),
            Kind::Multiplexed(conversation) => conversation.send(piece),
        }
    }

    /// The request's body is complete.
    pub fn finish(&mut self) {
        match &mut self.0 {
            Kind::Alone(exchange) => exchange.finish(),
            Kind::Multiplexed(conversation) => conversation.finish(),
        }
    }

    /// The body waits until the server asks for it, so long at most: after that the server has failed if `must_ask`, and
    /// gets the body all the same if not. With HTTP/2 it says by itself how much it wants.
    pub fn hold(&mut self, limit: Duration, must_ask: bool) {
        if let Kind::Alone(exchange) = &mut self.0 {
            exchange.hold(limit, must_ask);
        }
    }

    /// Returns whether the body waits until the server asks for it, who has failed if it does not.
    #[must_use]
    pub const fn must_be_asked(&self) -> bool {
        match &self.0 {
            Kind::Alone(exchange) => exchange.must_be_asked(),
            Kind::Multiplexed(_) => false,
        }
    }

    /// Returns whether more of the request's body is wanted.
    #[must_use]
    pub const fn wants_body(&self) -> bool {
        match &self.0 {
            Kind::Alone(exchange) => exchange.wants_body(),
            Kind::Multiplexed(conversation) => conversation.wants_body(),
        }
    }

    /// Ready when all that was said has gone.
    pub fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            Kind::Alone(exchange) => exchange.poll_room(context),
            Kind::Multiplexed(conversation) => conversation.poll_room(context),
        }
    }

    /// The next event; after [`Event::End`] and [`Event::Upgraded`], and after a failure, there is nothing more.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Event, Failure>> {
        match &mut self.0 {
            Kind::Alone(exchange) => exchange.poll_next(context),
            Kind::Multiplexed(conversation) => conversation.poll_next(context),
        }
    }

    /// The connection, if another request may follow on it that has to be told so ([`Upstream::keep`](super::Upstream::keep)).
    #[must_use]
    pub fn into_kept(self) -> Option<Connection> {
        match self.0 {
            Kind::Alone(exchange) => exchange.into_kept(),
            Kind::Multiplexed(_) => None,
        }
    }

    /// The connection, which speaks another protocol now. `None`: it does not, as it has other requests.
    #[must_use]
    pub fn into_tunnel(self) -> Option<Connection> {
        match self.0 {
            Kind::Alone(exchange) => Some(exchange.into_tunnel()),
            Kind::Multiplexed(_) => None,
        }
    }
}
