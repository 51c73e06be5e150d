//! A body on its way through a filter that takes some of it at a time: the site's other work gets its turn in between.

use crate::io::body::BodyError;
use crate::limits::budget::Sideline;
use crate::request::Request;
use bytes::Bytes;
use std::task::{Context, Poll, ready};

/// A filter's output for one piece.
pub(crate) type FilterResult = Result<Vec<u8>, BodyError>;

/// A filter applied to pieces. `W` gets the next piece, and whether it is the last.
pub(crate) struct Pieces<W> {
    work: W,
    /// Most bytes of a piece.
    most: usize,
    /// Input that was not processed yet.
    rest: Bytes,
    sideline: Sideline,
    /// Nothing more comes from the source.
    ended: bool,
    over: bool,
}

impl<W: FnMut(&[u8], bool) -> FilterResult> Pieces<W> {
    /// `first`: what has been taken from the source already.
    pub(crate) fn new(request: &Request, most: usize, first: Bytes, work: W) -> Self {
        Self { work, most, rest: first, sideline: Sideline::of(request), ended: false, over: false }
    }

    /// The next piece of what is made, never empty.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        mut source: impl FnMut(&mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>>,
    ) -> Poll<Option<Result<Bytes, BodyError>>> {
        while !self.over {
            if self.rest.is_empty() && !self.ended {
                match ready!(source(cx)) {
                    Some(Ok(piece)) => self.rest = piece,
                    Some(Err(error)) => {
                        self.over = true;
                        return Poll::Ready(Some(Err(error)));
                    }
                    None => self.ended = true,
                }
            }
            ready!(self.sideline.poll_turn(cx));
            let piece = self.rest.split_to(self.rest.len().min(self.most));
            self.over = self.ended;
            let (work, last) = (&mut self.work, self.over);
            match self.sideline.work(|| work(&piece, last)) {
                Ok(made) if made.is_empty() => {}
                Ok(made) => return Poll::Ready(Some(Ok(made.into()))),
                Err(error) => {
                    self.over = true;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
        Poll::Ready(None)
    }
}
