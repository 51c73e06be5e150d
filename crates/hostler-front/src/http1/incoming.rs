//! The client's side of a request body: a length or chunks, 100 Continue, LimitRequestBody.

use super::wire::Wire;
use crate::io::body::{self, BodyError, Incoming as _};
use crate::request::connection::{Pace, Peer};
use crate::request::trailers::Trailers;
use bytes::Bytes;
use hostler_http1::chunked::{Decoder, Step};
use hostler_http1::framing::Framing;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io::IoSlice;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// Bytes of a body that nobody has wanted which are read for the sake of the next request on the connection; and of one whose
/// length is not known beforehand, where the answer has said that there can be a next one.
const DROPPED: u64 = 256 << 10;
const DROPPED_UNKNOWN: u64 = 16 << 20;

/// The body of the request that is being answered.
pub(crate) struct Incoming {
    wire: Rc<Wire>,
    framing: Framing,
    decoder: Decoder,
    /// The trailers after it.
    trailers: Rc<Trailers>,
    /// `LimitRequestBody`, in bytes; 0 is none.
    limit: u64,
    pub(super) received: u64,
    /// `100 Continue` is due when somebody wants the body.
    expect: Cell<bool>,
    failed: Option<BodyError>,
    /// `RequestReadTimeout body=`.
    pace: Pace,
    /// When the body was first asked for.
    started: Option<Instant>,
    /// Since when nothing has come that somebody waits for.
    waiting: Option<Instant>,
}

impl body::Incoming for Incoming {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(error) = &self.failed {
            return Poll::Ready(Some(Err(error.clone())));
        }
        match ready!(self.poll_next(cx)) {
            Ok(chunk) => Poll::Ready(chunk.map(Ok)),
            Err(error) => {
                self.failed = Some(error.clone());
                Poll::Ready(Some(Err(error)))
            }
        }
    }

    fn limit(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    fn length(&self) -> Option<u64> {
        match self.framing {
            Framing::None => Some(0),
            Framing::Length(left) => Some(left),
            Framing::Chunked => None,
        }
    }
}

impl Incoming {
    pub(super) fn new(
        wire: &Rc<Wire>,
        framing: Framing,
        expect: bool,
        (peer, trailers): (&Peer, &Rc<Trailers>),
    ) -> Self {
        Self {
            wire: wire.clone(),
            framing,
            decoder: Decoder::with_trailer(peer.limits),
            trailers: trailers.clone(),
            limit: 0,
            received: 0,
            expect: Cell::new(expect),
            failed: None,
            pace: peer.settings.body,
            started: None,
            waiting: None,
        }
    }

    /// Returns whether the request had none from its beginning.
    pub(super) fn has_no_body(&self) -> bool {
        self.framing == Framing::None
    }

    pub(super) fn is_complete(&self) -> bool {
        match self.framing {
            Framing::None | Framing::Length(0) => true,
            Framing::Length(_) => false,
            Framing::Chunked => self.decoder.is_done(),
        }
    }

    /// Returns whether the rest of the body is known to be longer than what is read only to be dropped. A new connection is then
    /// cheaper for both sides, so the response has `Connection: close`.
    pub(super) fn is_long(&self) -> bool {
        matches!(self.framing, Framing::Length(left) if left > DROPPED)
    }

    /// Drops what has come of a body that nobody has read: the log tells of what comes behind it. What is wrong with it
    /// is found by who goes on with the connection.
    pub(super) fn skim(&mut self) {
        while self.failed.is_none() {
            match self.buffered() {
                Ok(Some(chunk)) => self.received += chunk.len() as u64,
                Ok(None) => break,
                Err(error) => self.failed = Some(error),
            }
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, BodyError>> {
        loop {
            // As Apache does, also when the client has not waited.
            if self.expect.get() && !self.is_complete() {
                ready!(self.poll_continue(cx))?;
            }
            if let Some(chunk) = self.buffered()? {
                self.received += chunk.len() as u64;
                if self.limit > 0 && self.received > self.limit {
                    return Poll::Ready(Err(BodyError::TooLarge));
                }
                self.waiting = None;
                return Poll::Ready(Ok(Some(chunk)));
            }
            if self.is_complete() {
                self.wire.watch.off.set(false);
                return Poll::Ready(Ok(None));
            }
            let started = *self.started.get_or_insert_with(Instant::now);
            let silent = *self.waiting.get_or_insert_with(Instant::now) + self.wire.timeout.get();
            let due = self.pace.due(started, self.received, silent);
            if ready!(self.wire.poll_fill(cx, due))? == 0 {
                return Poll::Ready(Err(BodyError::ClientGone));
            }
        }
    }

    /// RFC 9110 §10.1.1: somebody wants the body, so the client may send it. (Fits any socket buffer whole.)
    fn poll_continue(&self, cx: &mut Context<'_>) -> Poll<Result<(), BodyError>> {
        const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
        ready!(self.wire.poll_owed(cx)).map_err(|_| BodyError::ClientGone)?;
        let mut io = self.wire.io.borrow_mut();
        match ready!(io.poll_write(cx, &[IoSlice::new(CONTINUE)])) {
            Ok(n) if n == CONTINUE.len() => {
                self.expect.set(false);
                let _ = io.poll_flush(cx);
                Poll::Ready(Ok(()))
            }
            _ => Poll::Ready(Err(BodyError::ClientGone)),
        }
    }

    /// Takes what is available from the bytes already read.
    fn buffered(&mut self) -> Result<Option<Bytes>, BodyError> {
        let mut pending = self.wire.pending.borrow_mut();
        match &mut self.framing {
            Framing::None => Ok(None),
            Framing::Length(left) => {
                let n = (*left).min(pending.len() as u64) as usize;
                if n == 0 {
                    return Ok(None);
                }
                *left -= n as u64;
                Ok(Some(take_front(&mut pending, n)))
            }
            Framing::Chunked if self.decoder.is_done() => Ok(None),
            Framing::Chunked => {
                let data = dechunk(&mut self.decoder, &mut pending)?;
                if self.decoder.is_done() {
                    for (name, value) in self.decoder.take_trailer() {
                        self.trailers.ask(name, &value.into());
                    }
                }
                Ok(data)
            }
        }
    }
}

/// The data of all chunks that are here: one by one, small ones would cost more to take out of what follows than to
/// receive.
fn dechunk(decoder: &mut Decoder, pending: &mut Vec<u8>) -> Result<Option<Bytes>, BodyError> {
    let (mut at, mut data) = (0, Vec::new());
    while !decoder.is_done() {
        match decoder.step(&pending[at..]) {
            Ok(Step::Data { skip, data: length }) => {
                data.extend_from_slice(&pending[at + skip..at + skip + length]);
                at += skip + length;
            }
            Ok(Step::More { skip } | Step::End { skip }) => {
                at += skip;
                break;
            }
            // What came before it is of no use to anybody: the body can't be completed.
            Err(error) => return Err(error.into()),
        }
    }
    pending.drain(..at);
    Ok((!data.is_empty()).then(|| data.into()))
}

/// Reads and drops the rest of a body; false if the connection can't be used any more.
pub(super) async fn discard(incoming: &RefCell<Incoming>) -> bool {
    // A client that waits for 100 Continue gets its answer and has sent nothing.
    let waits =
        |body: &Incoming| body.expect.get() && body.wire.pending.borrow().is_empty() && !body.is_complete();
    if waits(&incoming.borrow()) {
        return false;
    }
    let mut dropped = 0_u64;
    while let Some(chunk) = poll_fn(|cx| incoming.borrow_mut().poll_chunk(cx)).await {
        match chunk {
            Ok(chunk) => dropped += chunk.len() as u64,
            Err(_) => return false,
        }
        if dropped > DROPPED_UNKNOWN {
            return false;
        }
    }
    true
}

fn take_front(pending: &mut Vec<u8>, n: usize) -> Bytes {
    if n == pending.len() {
        return std::mem::take(pending).into();
    }
    let rest = pending.split_off(n);
    std::mem::replace(pending, rest).into()
}
