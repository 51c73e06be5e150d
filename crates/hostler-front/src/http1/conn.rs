//! A connection's life: wait for a head, answer it, and again. Also the client's side of a request body.
//!
//! An idle connection owns no buffer: bytes are read into the thread's scratch space and only what is incomplete
//! or belongs to a later request is kept.

use super::chunked::{Decoder, Step};
use super::framing::{Framing, KeepAlive};
use super::head::{self, Head, HeadError, Limits};
use super::send::{self, Connection, Outgoing, Sent};
use crate::body::{BodyError, RequestBody};
use crate::connection::Peer;
use crate::deadline::Deadline;
use crate::files::OpenFile;
use crate::io::Io;
use crate::thread::Thread;
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io::IoSlice;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Why a connection can't go on.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The client closed it, or it broke.
    Gone,
    /// Nothing moved for too long.
    Timeout,
    /// The body broke off after the head was sent.
    Body(BodyError),
}

/// What the reader of the body and the writer of the answer share.
pub(crate) struct Wire {
    io: RefCell<Io>,
    /// Read, but not yet used.
    pending: RefCell<Vec<u8>>,
    deadline: Deadline,
    /// `Timeout`: how long the client may neither send nor receive.
    timeout: Cell<Duration>,
    tls: bool,
}

impl Wire {
    fn new(io: Io, timeout: Duration) -> Self {
        let tls = io.is_tls();
        Self {
            io: RefCell::new(io),
            pending: RefCell::default(),
            deadline: Deadline::new(),
            timeout: Cell::new(timeout),
            tls,
        }
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.tls
    }

    /// Writes all of the pieces and sees them off.
    pub(crate) async fn write(&self, pieces: &[&[u8]]) -> Result<(), Ended> {
        self.write_more(pieces).await?;
        if self.tls {
            poll_fn(|cx| self.io.borrow_mut().poll_flush(cx)).await.map_err(|_| Ended::Gone)
        } else {
            Ok(())
        }
    }

    /// Writes all of the pieces.
    pub(crate) async fn write_more(&self, pieces: &[&[u8]]) -> Result<(), Ended> {
        let (mut at, total) = (0, pieces.iter().map(|p| p.len()).sum());
        let mut waited = false;
        poll_fn(|cx| {
            while at < total {
                let slices = remaining(pieces, at);
                match self.io.borrow_mut().poll_write(cx, &slices) {
                    Poll::Ready(Ok(0)) | Poll::Ready(Err(_)) => return Poll::Ready(Err(Ended::Gone)),
                    Poll::Ready(Ok(n)) => {
                        at += n;
                        if waited {
                            self.deadline.set(self.timeout.get());
                        }
                    }
                    Poll::Pending => return self.wait(cx, &mut waited),
                }
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Not ready: the deadline runs from the first time on.
    fn wait<T>(&self, cx: &mut Context<'_>, waited: &mut bool) -> Poll<Result<T, Ended>> {
        if !*waited {
            *waited = true;
            self.deadline.set(self.timeout.get());
        }
        if self.deadline.poll_expired(cx) { Poll::Ready(Err(Ended::Timeout)) } else { Poll::Pending }
    }

    /// Sends some of a file; 0: the file ends before.
    pub(crate) async fn send_file(
        &self,
        file: &OpenFile,
        offset: u64,
        length: usize,
    ) -> Result<usize, Ended> {
        let mut waited = false;
        poll_fn(|cx| match self.io.borrow_mut().poll_send_file(cx, file.descriptor(), offset, length) {
            Poll::Ready(done) => Poll::Ready(done.map_err(|_| Ended::Gone)),
            Poll::Pending => self.wait(cx, &mut waited),
        })
        .await
    }

    /// Reads more bytes after the pending ones; `Ok(0)` is the client's end.
    fn poll_fill(&self, cx: &mut Context<'_>, deadline: Instant) -> Poll<Result<usize, BodyError>> {
        with_scratch(|scratch| match self.io.borrow_mut().poll_read(cx, scratch) {
            Poll::Ready(Ok(n)) => {
                self.pending.borrow_mut().extend_from_slice(&scratch[..n]);
                Poll::Ready(Ok(n))
            }
            Poll::Ready(Err(_)) => Poll::Ready(Err(BodyError::ClientGone)),
            Poll::Pending => {
                self.deadline.set_at(deadline);
                if self.deadline.poll_expired(cx) || deadline <= Instant::now() {
                    Poll::Ready(Err(BodyError::Timeout))
                } else {
                    Poll::Pending
                }
            }
        })
    }
}

/// The pieces without their first `at` bytes.
fn remaining<'a>(pieces: &[&'a [u8]], mut at: usize) -> smallvec::SmallVec<[IoSlice<'a>; 4]> {
    let mut out = smallvec::SmallVec::new();
    for piece in pieces {
        let skip = at.min(piece.len());
        at -= skip;
        if skip < piece.len() {
            out.push(IoSlice::new(&piece[skip..]));
        }
    }
    out
}

/// Space to read into, one per thread: whatever has to outlive a poll is copied out of it.
fn with_scratch<T>(f: impl FnOnce(&mut [u8]) -> T) -> T {
    const SIZE: usize = 32 << 10;
    thread_local! {
        static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; SIZE].into_boxed_slice());
    }
    SCRATCH.with_borrow_mut(|scratch| f(scratch))
}

/// The body of the request that is being answered.
pub(crate) struct Incoming {
    wire: Rc<Wire>,
    framing: Framing,
    decoder: Decoder,
    /// `LimitRequestBody`, in bytes; 0 is none.
    pub(crate) limit: u64,
    received: u64,
    /// `100 Continue` is due when somebody wants the body.
    expect: Cell<bool>,
    failed: Option<BodyError>,
    last_moved: Instant,
}

impl Incoming {
    fn new(wire: &Rc<Wire>, framing: Framing, expect: bool) -> Self {
        Self {
            wire: wire.clone(),
            framing,
            decoder: Decoder::new(),
            limit: 0,
            received: 0,
            expect: Cell::new(expect),
            failed: None,
            last_moved: Instant::now(),
        }
    }

    fn is_complete(&self) -> bool {
        match self.framing {
            Framing::None | Framing::Length(0) => true,
            Framing::Length(_) => false,
            Framing::Chunked => self.decoder.is_done(),
        }
    }

    pub(crate) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
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
                self.last_moved = Instant::now();
                return Poll::Ready(Ok(Some(chunk)));
            }
            if self.is_complete() {
                return Poll::Ready(Ok(None));
            }
            let due = self.last_moved + self.wire.timeout.get();
            if ready!(self.wire.poll_fill(cx, due))? == 0 {
                return Poll::Ready(Err(BodyError::ClientGone));
            }
        }
    }

    /// RFC 9110 §10.1.1: somebody wants the body, so the client may send it. (Fits any socket buffer whole.)
    fn poll_continue(&self, cx: &mut Context<'_>) -> Poll<Result<(), BodyError>> {
        const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
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

    /// What can be had from the bytes already read.
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
            Framing::Chunked => match self.decoder.step(&pending)? {
                Step::Data { skip, data } => {
                    pending.drain(..skip);
                    Ok(Some(take_front(&mut pending, data)))
                }
                Step::More { skip } | Step::End { skip } => {
                    pending.drain(..skip);
                    Ok(None)
                }
            },
        }
    }
}

/// Reads and drops the rest of a body; false if the connection can't be used any more.
async fn discard(incoming: &RefCell<Incoming>) -> bool {
    // A client that waits for 100 Continue gets its answer and has sent nothing.
    let waits =
        |body: &Incoming| body.expect.get() && body.wire.pending.borrow().is_empty() && !body.is_complete();
    if waits(&incoming.borrow()) {
        return false;
    }
    let mut dropped = 0;
    while let Some(chunk) = poll_fn(|cx| incoming.borrow_mut().poll_chunk(cx)).await {
        match chunk {
            Ok(chunk) => dropped += chunk.len(),
            Err(_) => return false,
        }
        // More than this is cheaper for both sides on a new connection.
        if dropped > 256 << 10 {
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

/// What came on an idle connection.
enum Next {
    /// Answered on the spot.
    Answered(Fast),
    /// A head for the whole way.
    Head(Bytes, Head),
    Bad(HeadError, Bytes),
    /// End of the connection (`true`: in the middle of a head, by timeout).
    Closed(bool),
}

/// An answer that needed nothing but memory; its head is in `out`.
pub(crate) struct Fast {
    pub(crate) out: Vec<u8>,
    pub(crate) body: Bytes,
    pub(crate) keep: bool,
    /// For the access log, once it is sent.
    pub(crate) log: crate::fast::Logged,
}

/// Serves a connection until its end.
pub(crate) async fn serve(thread: Rc<Thread>, io: Io, peer: Rc<Peer>) {
    let limits = peer.limits;
    let wire = Rc::new(Wire::new(io, peer.settings.timeout));
    let mut first = true;
    loop {
        let wait = if first { peer.settings.header_timeout } else { peer.settings.keep_alive_timeout };
        let keep = match next(&thread, &wire, &peer, &limits, wait).await {
            Next::Answered(fast) => {
                let whole = wire.write(&[&fast.out, &fast.body]).await.is_ok();
                crate::fast::log(&thread, &peer, &fast, whole);
                if !whole {
                    return;
                }
                fast.keep
            }
            Next::Head(buffer, head) => Box::pin(answer(&thread, &wire, &peer, buffer, head)).await,
            Next::Bad(error, buffer) => {
                Box::pin(refuse(&thread, &wire, &peer, error.status(), &error.to_string(), buffer)).await;
                false
            }
            Next::Closed(false) => return,
            Next::Closed(true) => {
                Box::pin(refuse(&thread, &wire, &peer, 408, "the request head took too long", Bytes::new()))
                    .await;
                false
            }
        };
        first = false;
        peer.requests.set(peer.requests.get() + 1);
        if !keep {
            break;
        }
    }
    linger(&wire).await;
}

/// Waits for the next head.
async fn next(thread: &Rc<Thread>, wire: &Wire, peer: &Peer, limits: &Limits, wait: Duration) -> Next {
    let mut partial = !wire.pending.borrow().is_empty();
    let mut look = partial;
    wire.deadline.set(if partial { peer.settings.header_timeout } else { wait });
    poll_fn(|cx| {
        loop {
            if std::mem::take(&mut look) {
                let pending = std::mem::take(&mut *wire.pending.borrow_mut());
                if let Some(next) = examine(thread, wire, peer, limits, &pending) {
                    return Poll::Ready(next);
                }
                *wire.pending.borrow_mut() = pending;
            }
            if wire.deadline.poll_expired(cx) {
                return Poll::Ready(Next::Closed(partial));
            }
            let next = ready!(with_scratch(|scratch| {
                let n = match ready!(wire.io.borrow_mut().poll_read(cx, scratch)) {
                    Ok(0) | Err(_) => return Poll::Ready(Some(Next::Closed(false))),
                    Ok(n) => n,
                };
                if !partial && let Some(next) = examine(thread, wire, peer, limits, &scratch[..n]) {
                    return Poll::Ready(Some(next));
                }
                wire.pending.borrow_mut().extend_from_slice(&scratch[..n]);
                Poll::Ready(None)
            }));
            if next.is_some() {
                return Poll::Ready(next.unwrap_or(Next::Closed(false)));
            }
            if partial {
                look = true;
            } else {
                // The first part of a head: from here on the whole head has this long.
                partial = true;
                wire.deadline.set(peer.settings.header_timeout);
            }
        }
    })
    .await
}

/// A head at the start of `buffer`, answered at once if that can be; what follows it goes to `pending`.
fn examine(thread: &Rc<Thread>, wire: &Wire, peer: &Peer, limits: &Limits, buffer: &[u8]) -> Option<Next> {
    let next = match head::parse(buffer, limits) {
        Ok(None) => return None,
        Err(error) => {
            return Some(Next::Bad(error, Bytes::copy_from_slice(&buffer[..buffer.len().min(256)])));
        }
        Ok(Some(head)) => {
            wire.pending.borrow_mut().extend_from_slice(&buffer[head.length..]);
            match crate::fast::answer(thread, peer, &head, buffer) {
                Some(fast) => Next::Answered(fast),
                None => Next::Head(Bytes::copy_from_slice(&buffer[..head.length]), head),
            }
        }
    };
    Some(next)
}

/// Answers a request by the whole way of phases; whether the connection stays.
async fn answer(thread: &Rc<Thread>, wire: &Rc<Wire>, peer: &Rc<Peer>, buffer: Bytes, head: Head) -> bool {
    let (framing, both) = match super::framing::framing(&head, &buffer) {
        Ok(framing) => framing,
        Err(error) => {
            refuse(thread, wire, peer, error.status(), &error.to_string(), buffer).await;
            return false;
        }
    };
    let expect = head.field(&buffer, "expect").is_some_and(|v| v.eq_ignore_ascii_case(b"100-continue"))
        && head.version >= head::HTTP_11;
    let incoming = Rc::new(RefCell::new(Incoming::new(wire, framing, expect)));
    let body =
        if framing == Framing::None { RequestBody::Empty } else { RequestBody::Http1(incoming.clone()) };
    let wish = super::framing::keep_alive(&head, &buffer);
    let request = crate::request::Request::from_http1(thread, peer, &buffer, &head, body);
    let mut reply = crate::serve::serve(thread, request).await;
    crate::fast::remember(thread, peer, &head, &buffer, &reply);
    let unread = !incoming.borrow().is_complete();
    // A program may go on reading its input while it answers: nobody else may take it then.
    let taken = unread && matches!(reply.body, crate::body::Body::Stream(_));
    let keep = wish.persistent
        && !both
        && !reply.close
        && !thread.draining()
        && peer.may_continue()
        && (!unread || (!taken && discard(&incoming).await));
    let outgoing = Outgoing {
        version: head.version,
        status: reply.status,
        reason: reply.reason.as_deref(),
        headers: &reply.headers,
        body: std::mem::take(&mut reply.body),
        head_only: reply.head_only,
        connection: connection_field(peer, keep, wish),
        raw: reply.raw,
    };
    // A body without a length before HTTP/1.1, and raw bytes, end with the connection.
    let endless = outgoing.body.len().is_none()
        && !outgoing.head_only
        && !send::bodiless(outgoing.status)
        && (outgoing.raw || (head.version < head::HTTP_11 && !outgoing.headers.contains("Content-Length")));
    let outgoing =
        Outgoing { connection: if endless { Connection::Close } else { outgoing.connection }, ..outgoing };
    let mut sent = Sent::default();
    wire.timeout.set(reply.timeout);
    let result = send::send(wire, outgoing, &mut sent).await;
    wire.timeout.set(peer.settings.timeout);
    reply.finish(thread, sent, &result, head.length as u64 + incoming.borrow().received, keep && !endless);
    keep && !endless && result.is_ok()
}

fn connection_field(peer: &Peer, keep: bool, wish: KeepAlive) -> Connection {
    if !keep {
        Connection::Close
    } else if wish.explicit {
        Connection::Tell(peer.settings.keep_alive_timeout.as_secs(), peer.requests_left())
    } else {
        Connection::Keep
    }
}

/// Answers what isn't a request.
async fn refuse(
    thread: &Rc<Thread>,
    wire: &Rc<Wire>,
    peer: &Rc<Peer>,
    status: u16,
    why: &str,
    buffer: Bytes,
) {
    let mut reply = crate::serve::refuse(thread, peer, status, why, &buffer).await;
    let outgoing = Outgoing {
        version: head::HTTP_11,
        status: reply.status,
        reason: None,
        headers: &reply.headers,
        body: std::mem::take(&mut reply.body),
        head_only: false,
        connection: Connection::Close,
        raw: false,
    };
    let mut sent = Sent::default();
    let result = send::send(wire, outgoing, &mut sent).await;
    reply.finish(thread, sent, &result, buffer.len() as u64, false);
}

/// Closes so that the client gets all of the answer: a close with unread bytes would reset the connection.
async fn linger(wire: &Wire) {
    if poll_fn(|cx| wire.io.borrow_mut().poll_shutdown(cx)).await.is_err() {
        return;
    }
    wire.deadline.set(Duration::from_secs(2));
    poll_fn(|cx| {
        loop {
            if wire.deadline.poll_expired(cx) {
                return Poll::Ready(());
            }
            match ready!(with_scratch(|scratch| wire.io.borrow_mut().poll_read(cx, scratch))) {
                Ok(0) | Err(_) => return Poll::Ready(()),
                Ok(_) => {}
            }
        }
    })
    .await;
}
