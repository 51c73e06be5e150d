//! A request's body on its way to another server. Its beginning is kept, so that a server that has not read it does not
//! cost the request.

use crate::io::body::{BodyError, RequestBody};
use crate::module::cgi::ClientBody;
use crate::request::Request;
use bytes::Bytes;
use hostler_gateway::backend::http::Sending;
use hostler_gateway::upstream::Exchange;
use hostler_http1::framing;
use std::collections::VecDeque;
use std::task::{Context, Poll};

/// A body without a length that is no longer than this is given one: not all servers know chunks.
const GATHERED: usize = 16 << 10;
/// What is gathered where a length has to be told (`proxy-sendcl`).
const MEASURED: usize = 1 << 20;

/// A request's body.
pub(super) struct Upload {
    body: RequestBody,
    /// What has been read before it was sent.
    first: Vec<Bytes>,
    /// What of that is still to be sent.
    next: VecDeque<Bytes>,
    /// All of the body is in `first`.
    is_whole: bool,
    /// Some of it was sent that is not kept.
    has_passed: bool,
    /// Bytes that were sent.
    pub(super) sent: u64,
    pub(super) sending: Sending,
    pub(super) length: Option<u64>,
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
            length: None,
        }
    }

    /// Finds out how the body will be sent, for which the beginning of one without a length is read: to a server that knows
    /// bodies without one (HTTP/2) it goes as it comes.
    pub(super) async fn begin(request: &Request, knows_streams: bool) -> Result<Self, BodyError> {
        let mut upload = Self { body: request.target.body.clone(), is_whole: false, ..Self::nothing() };
        let said = request.target.headers_in.find("Content-Length").and_then(|value| framing::decimal(value));
        if request.target.body.is_empty() {
            upload.is_whole = true;
            upload.length = said.filter(|length| *length == 0);
            return Ok(upload);
        }
        let wants = |names: &[&str]| names.iter().any(|name| request.env.contains(name));
        upload.length = said;
        upload.sending = Sending::Plain;
        // Quirk(apache): a length that the client has told stays, whatever the variables say.
        let is_counted = wants(&["proxy-sendcl"]) && !wants(&["proxy-sendchunked", "proxy-sendchunks"]);
        if is_counted {
            upload.measure(said).await?;
        } else if said.is_none() && !knows_streams && !request.target.headers_in.contains("Expect") {
            upload.gather(GATHERED).await?;
        }
        if upload.length.is_none() {
            upload.sending = Sending::Chunked;
        }
        Ok(upload)
    }

    /// Finds out how long the body is, which the server wants to know before it comes.
    async fn measure(&mut self, said: Option<u64>) -> Result<(), BodyError> {
        if said.is_some() {
            return Ok(());
        }
        self.gather(MEASURED).await?;
        if self.is_whole { Ok(()) } else { Err(BodyError::TooLarge) }
    }

    async fn gather(&mut self, most: usize) -> Result<(), BodyError> {
        let mut length = 0;
        while length < most {
            match self.body.chunk().await {
                Some(piece) => {
                    let piece = piece?;
                    length += piece.len();
                    self.first.push(piece);
                }
                None => {
                    (self.is_whole, self.length) = (true, Some(length as u64));
                    break;
                }
            }
        }
        self.next = self.first.iter().cloned().collect();
        Ok(())
    }

    /// All of it again, for another reader: nothing of it has been sent.
    pub(super) fn put_back(self) -> RequestBody {
        self.body.behind(&self.first)
    }

    /// Whether there is one.
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
    /// What is wrong with the client's body.
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

/// What has been read of the request's body for a server that could not be connected to.
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
