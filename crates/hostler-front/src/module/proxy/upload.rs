//! A request's body on its way to another server. Its beginning is kept, so that a server that has not read it does not
//! cost the request.

use crate::io::body::{BodyError, RequestBody};
use crate::module::cgi::ClientBody;
use crate::request::Request;
use crate::technique::outgoing;
use bytes::Bytes;
use hostler_gateway::backend::body::BodyLength;
use hostler_gateway::backend::http::Sending;
use hostler_gateway::upstream::Exchange;
use std::collections::VecDeque;
use std::task::{Context, Poll};

/// A body without a length that is no longer than this is given one: not all servers know chunks.
const GATHERED: usize = 16 << 10;
/// The most bytes that are gathered where a length is required (`proxy-sendcl`).
const MEASURED: usize = 1 << 20;

/// A request's body.
pub(super) struct Upload {
    body: RequestBody,
    /// The bytes read before sending.
    first: Vec<Bytes>,
    /// The bytes of those that are still to be sent.
    next: VecDeque<Bytes>,
    /// All of the body is in `first`.
    is_whole: bool,
    /// Some of it was sent that is not kept.
    has_passed: bool,
    /// Bytes that were sent.
    pub(super) sent: u64,
    pub(super) sending: Sending,
    /// There is no body, and the client has said so.
    pub(super) says_zero: bool,
}

impl Upload {
    /// There is no body.
    pub(super) fn nothing() -> Self {
        Self {
            body: RequestBody::Empty,
            first: Vec::new(),
            next: VecDeque::new(),
            is_whole: true,
            has_passed: false,
            sent: 0,
            sending: Sending::None,
            says_zero: false,
        }
    }

    /// Finds out how the body will be sent, for which the beginning of one without a length is read: to a server that knows
    /// bodies without one (HTTP/2) it goes as it comes.
    pub(super) async fn begin(request: &Request, knows_streams: bool) -> Result<Self, BodyError> {
        let mut upload = Self { body: request.target.body.clone(), is_whole: false, ..Self::nothing() };
        let length = match outgoing::body_length(request) {
            BodyLength::Nothing => {
                upload.is_whole = true;
                upload.says_zero = outgoing::says_zero(request);
                return Ok(upload);
            }
            // Quirk(apache): a length that the client has told stays, whatever the variables say.
            BodyLength::Known(length) => Some(length),
            BodyLength::Unknown => upload.find_length(request, knows_streams).await?,
        };
        upload.sending = length.map_or(Sending::Chunked, Sending::Length);
        Ok(upload)
    }

    /// Finds out how long the body is, where it is short, or the server wants to know; `None`: it goes in chunks.
    async fn find_length(
        &mut self,
        request: &Request,
        knows_streams: bool,
    ) -> Result<Option<u64>, BodyError> {
        let wants = |names: &[&str]| names.iter().any(|name| request.env.contains(name));
        // A server of HTTP/1.0 would take chunks for the body, and what is in them for another request.
        let is_counted = wants(&["force-proxy-request-1.0"])
            || (wants(&["proxy-sendcl"]) && !wants(&["proxy-sendchunked", "proxy-sendchunks"]));
        if is_counted {
            let length = self.gather(MEASURED).await?;
            return if self.is_whole { Ok(length) } else { Err(BodyError::TooLarge) };
        }
        if knows_streams || request.target.headers_in.contains("Expect") {
            return Ok(None);
        }
        self.gather(GATHERED).await
    }

    /// Reads so much of the body; its length, if that is all of it.
    async fn gather(&mut self, most: usize) -> Result<Option<u64>, BodyError> {
        let mut length = 0;
        while length < most {
            match self.body.chunk().await {
                Some(piece) => {
                    let piece = piece?;
                    length += piece.len();
                    self.first.push(piece);
                }
                None => {
                    self.is_whole = true;
                    break;
                }
            }
        }
        self.next = self.first.iter().cloned().collect();
        Ok(self.is_whole.then_some(length as u64))
    }

    /// All of it again, for another reader: nothing of it has been sent.
    pub(super) fn put_back(self) -> RequestBody {
        self.body.behind(&self.first)
    }

    /// Returns whether there is one.
    pub(super) fn is_some(&self) -> bool {
        self.sending != Sending::None
    }

    /// Makes all of it ready to be sent once more; false: some of it is gone.
    pub(super) fn rewind(&mut self) -> bool {
        if self.has_passed {
            return false;
        }
        self.next = self.first.iter().cloned().collect();
        self.sent = 0;
        true
    }

    /// Passes on what has come, as long as the server has room.
    ///
    /// # Errors
    /// The fault in the client's body.
    pub(super) fn poll(
        &mut self,
        exchange: &mut Exchange,
        context: &mut Context<'_>,
    ) -> Result<(), BodyError> {
        while exchange.wants_body() && exchange.poll_room(context).is_ready() && exchange.wants_body() {
            if let Some(piece) = self.next.pop_front() {
                self.pass(exchange, piece);
            } else if self.is_whole {
                exchange.finish();
            } else {
                match self.body.poll_chunk(context) {
                    Poll::Pending => break,
                    Poll::Ready(Some(piece)) => {
                        let piece = piece?;
                        self.has_passed = true;
                        self.pass(exchange, piece);
                    }
                    Poll::Ready(None) => {
                        self.is_whole = true;
                        exchange.finish();
                    }
                }
            }
        }
        Ok(())
    }

    fn pass(&mut self, exchange: &mut Exchange, piece: Bytes) {
        self.sent += piece.len() as u64;
        exchange.send(piece);
    }
}

/// The part of the request's body that was read for a server that could not be reached.
#[derive(Default)]
pub(super) struct BodySoFar {
    pub(super) upload: Option<Upload>,
    client: Option<ClientBody>,
}

impl BodySoFar {
    /// The body for a server that speaks HTTP.
    pub(super) async fn for_server(
        &mut self,
        request: &mut Request,
        knows_streams: bool,
    ) -> Result<Upload, BodyError> {
        if let Some(upload) = self.upload.take() {
            return Ok(upload);
        }
        if let Some(client) = self.client.take() {
            request.target.body = client.put_back();
        }
        Upload::begin(request, knows_streams).await
    }

    /// The body for a program.
    pub(super) fn for_program(&mut self, request: &mut Request) -> &mut Option<ClientBody> {
        if let Some(upload) = self.upload.take() {
            request.target.body = upload.put_back();
        }
        &mut self.client
    }
}
