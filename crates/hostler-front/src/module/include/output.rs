//! The output of an expanded page. A page of ordinary size is one piece, so that its length is known and the connection
//! stays; a large or slow one is sent while it is made, no faster than the client reads it.

use super::expansion::{Expansion, Progress};
use super::page::Parsed;
use crate::io::body::{Body, BodyError, BodyStream};
use crate::limits::budget;
use crate::request::Request;
use crate::request::reply::Marks;
use bytes::Bytes;
use hostler_ssi::{Output, Page};
use std::future::Future;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Largest page that is sent in one piece, in bytes.
const WHOLE: usize = 128 << 10;
/// The longest time the output may wait for a program before it is sent and its length given up.
const PATIENCE: Duration = Duration::from_millis(300);
/// Pieces of a page that is sent while it is made.
const PIECE: usize = 32 << 10;
/// The same wait when the length is unknown anyway.
const LITTLE_PATIENCE: Duration = Duration::from_millis(10);

/// Output that was not sent yet.
pub(super) struct Sink {
    pub(super) bytes: Vec<u8>,
    limit: usize,
    pub(super) patience: Duration,
}

impl Output for Sink {
    fn literal(&mut self, page: &Arc<Page>, range: Range<usize>) {
        self.bytes.extend_from_slice(page.source().get(range).unwrap_or_default());
    }

    fn text(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
    }

    fn is_full(&self) -> bool {
        self.has_enough() || budget::is_overdue()
    }
}

impl Sink {
    /// Returns whether there is so much that it should be sent.
    pub(super) fn has_enough(&self) -> bool {
        self.bytes.len() > self.limit
    }
}

/// Expands the page that was asked for.
pub(super) async fn expand(request: &mut Request, parsed: Rc<Parsed>) -> Body {
    if !parsed.page.is_plain() {
        // The next request may get something else.
        request.lasting = false;
        request.reply.marks.set(Marks::FLUSHED);
        if request.target.headers_in.contains("Range") {
            request.reply.marks.set(Marks::UNRANGED);
        }
    }
    let expected = parsed.last_length.get() + 64;
    let mut sink = Sink { bytes: Vec::with_capacity(expected), limit: WHOLE, patience: PATIENCE };
    let varies = request.reply.varies.borrow().len();
    let mut expansion = Expansion::new(request, &parsed).await;
    let progress = expansion.advance(request, &mut sink).await;
    // Quirk(Apache): what a page's conditions ask for does not get into Vary.
    request.reply.varies.borrow_mut().truncate(varies);
    expansion.leave_variables(request);
    parsed.last_length.set(sink.bytes.len());
    if matches!(progress, Progress::Done | Progress::Failed) {
        // Of a request that has failed nothing is sent.
        return Body::Bytes(sink.bytes.into());
    }
    sink.limit = PIECE;
    sink.patience = LITTLE_PATIENCE;
    let work = Box::new(Work { expansion, request: request.clone(), sink });
    Body::Stream(Box::new(Expanding::Ready(work)))
}

/// A body that breaks off at once.
pub(super) fn broken(error: BodyError) -> Body {
    Body::Stream(Box::new(Broken(Some(error))))
}

struct Broken(Option<BodyError>);

impl BodyStream for Broken {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        Poll::Ready(self.0.take().map(Err))
    }
}

/// An expansion that goes on without the request that it answers: that one's header is already being sent.
struct Work {
    expansion: Expansion,
    request: Request,
    sink: Sink,
}

type Advancing = Pin<Box<dyn Future<Output = (Box<Work>, Progress)>>>;

/// A page that is sent while it is made.
enum Expanding {
    Ready(Box<Work>),
    Busy(Advancing),
    Failed,
    Finished,
}

async fn advance(mut work: Box<Work>) -> (Box<Work>, Progress) {
    let Work { expansion, request, sink } = &mut *work;
    let (thread, budget) = (request.thread.clone(), request.budget.clone());
    let progress = budget::within(&thread, &budget, pin!(expansion.advance(request, sink))).await;
    (work, progress)
}

impl BodyStream for Expanding {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            match self {
                Self::Finished => return Poll::Ready(None),
                Self::Failed => {
                    *self = Self::Finished;
                    return Poll::Ready(Some(Err(BodyError::Page)));
                }
                Self::Ready(work) if !work.sink.bytes.is_empty() => {
                    let piece = std::mem::take(&mut work.sink.bytes);
                    return Poll::Ready(Some(Ok(piece.into())));
                }
                Self::Ready(_) => {
                    if let Self::Ready(work) = std::mem::replace(self, Self::Finished) {
                        *self = Self::Busy(Box::pin(advance(work)));
                    }
                }
                Self::Busy(advancing) => {
                    let (work, progress) = ready!(advancing.as_mut().poll(context));
                    *self = match progress {
                        Progress::Failed => Self::Failed,
                        Progress::Done if work.sink.bytes.is_empty() => Self::Finished,
                        _ => Self::Ready(work),
                    };
                }
            }
        }
    }
}
