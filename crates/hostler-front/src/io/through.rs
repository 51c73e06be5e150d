//! Bodies on their way through a filter: a function that gives the next piece when it is polled.

use crate::io::body::{BodyError, BodyStream, Incoming, RequestBody};
use bytes::Bytes;
use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// A filter's output: the next piece, never empty; `None` at the end.
type Next = Poll<Option<Result<Bytes, BodyError>>>;

/// An answer as a filter makes it.
pub(crate) struct Through<F>(pub(crate) F);

impl<F: FnMut(&mut Context<'_>) -> Next> BodyStream for Through<F> {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Next {
        (self.0)(cx)
    }
}

/// A request's body as a filter makes it of another one.
struct Input<F> {
    source: RequestBody,
    filter: F,
    /// The failure is repeated to later readers: an end would look like the body's.
    failed: Option<BodyError>,
}

impl<F: FnMut(&RequestBody, &mut Context<'_>) -> Next> Incoming for Input<F> {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Next {
        if let Some(error) = &self.failed {
            return Poll::Ready(Some(Err(error.clone())));
        }
        let next = ready!((self.filter)(&self.source, cx));
        if let Some(Err(error)) = &next {
            self.failed = Some(error.clone());
        }
        Poll::Ready(next)
    }

    fn limit(&mut self, bytes: u64) {
        self.source.limit(bytes);
    }
}

impl RequestBody {
    /// The body as a filter makes it of this one.
    pub(crate) fn through(self, filter: impl FnMut(&Self, &mut Context<'_>) -> Next + 'static) -> Self {
        Self::Incoming(Rc::new(RefCell::new(Input { source: self, filter, failed: None })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_once_never_comes_to_an_end() {
        let mut given = vec![Some(Err(BodyError::Timeout)), Some(Ok(Bytes::from_static(b"a")))];
        let body = RequestBody::kept(Bytes::from_static(b"abc"))
            .through(move |_, _| Poll::Ready(given.pop().unwrap_or_default()));
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(matches!(body.poll_chunk(&mut cx), Poll::Ready(Some(Ok(piece))) if piece == "a"));
        for _ in 0..2 {
            assert!(matches!(body.poll_chunk(&mut cx), Poll::Ready(Some(Err(BodyError::Timeout)))));
        }
    }
}
