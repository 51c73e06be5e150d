//! An exchange with another server on its way: the request's body goes there while the answer comes back.

use super::answer;
use super::upload::Upload;
use crate::io::body::{BodyError, BodyStream};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::technique::gathered::AnswerPieces;
use crate::values::table::Table;
use bytes::Bytes;
use hostler_gateway::backend::http::Event;
use hostler_gateway::upstream::{Exchange, Failure, Upstream, Usage};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The cause that has ended an exchange early.
pub(super) enum Broken {
    /// The client's body.
    Client(BodyError),
    /// The server.
    Server(Failure),
}

/// An exchange.
pub(super) struct Conversation {
    pub(super) exchange: Exchange,
    pub(super) upload: Upload,
    pub(super) upstream: Arc<Upstream>,
    /// It counts among those that the server is at.
    pub(super) usage: Usage,
    pub(super) received: u64,
    /// The key with which a server that changes the protocol has to prove that it has understood.
    pub(super) key: Option<String>,
    /// Messages that were received already and not yet looked at.
    taken: VecDeque<Result<Event, Broken>>,
}

impl Conversation {
    pub(super) fn new(
        exchange: Exchange,
        upload: Upload,
        (upstream, usage): (Arc<Upstream>, Usage),
        key: Option<String>,
    ) -> Self {
        Self { exchange, upload, upstream, usage, received: 0, key, taken: VecDeque::new() }
    }

    /// Has what was taken come once more.
    pub(super) fn take_back(&mut self, events: impl IntoIterator<Item = Result<Event, Broken>>) {
        self.taken.extend(events);
    }

    /// Takes out why nothing has come at all, if that is so.
    pub(super) fn failure(&mut self) -> Option<Broken> {
        if matches!(self.taken.front(), Some(Err(_))) { self.taken.pop_front()?.err() } else { None }
    }

    pub(super) fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Result<Event, Broken>> {
        if let Some(event) = self.taken.pop_front() {
            return Poll::Ready(event);
        }
        self.upload.poll(&mut self.exchange, context).map_err(Broken::Client)?;
        let event = ready!(self.exchange.poll_next(context)).map_err(Broken::Server)?;
        if let Event::Body(piece) = &event {
            self.received += piece.len() as u64;
        }
        Poll::Ready(Ok(event))
    }

    /// The answer is complete: the connection is the next request's, if that can be.
    pub(super) fn end(self) {
        self.upstream.count(self.upload.sent, self.received);
        if let Some(connection) = self.exchange.into_kept() {
            self.upstream.keep(connection);
        }
    }
}

/// An answer's body on its way.
pub(super) struct Output {
    /// `None`: the answer is complete, or has broken off.
    pub(super) conversation: Option<Conversation>,
    /// Output that arrived before anything took it.
    pub(super) gathered: AnswerPieces,
    /// The trailers after the body.
    pub(super) trailers: Option<Table>,
    /// For the log.
    pub(super) request: Box<Request>,
}

impl BodyStream for Output {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(piece) = self.gathered.pop() {
            return Poll::Ready(Some(Ok(piece)));
        }
        loop {
            let Some(conversation) = &mut self.conversation else { return Poll::Ready(None) };
            match ready!(conversation.poll_event(context)) {
                Ok(Event::Body(piece)) => return Poll::Ready(Some(Ok(piece))),
                Ok(Event::End) => {
                    if let Some(conversation) = self.conversation.take() {
                        conversation.end();
                    }
                    return Poll::Ready(None);
                }
                Ok(Event::Trailers(fields)) => self.trailers = answer::trailers(&self.request, fields),
                Ok(Event::Interim(_) | Event::Head(_) | Event::Upgraded) => {}
                Err(broken) => return Poll::Ready(Some(Err(self.break_off(broken)))),
            }
        }
    }

    fn trailers(&mut self) -> Option<Table> {
        self.trailers.take()
    }
}

impl Output {
    fn break_off(&mut self, broken: Broken) -> BodyError {
        let name = self.conversation.take().map(|conversation| conversation.upstream.name().to_owned());
        match broken {
            Broken::Client(error) => error,
            Broken::Server(failure) => {
                let why = format!("{}: {}", name.unwrap_or_default(), failure.kind);
                log::request(&self.request, Severity::Error, "proxy", &why);
                BodyError::Script(why)
            }
        }
    }
}
