//! The beginning of an answer, or all of it, as it came from the worker. Small pieces are copied together: each would
//! else keep all that it came with, and there may be very many.

use crate::io::body::{Body, BodyError, BodyStream};
use crate::limits::unread;
use crate::request::Request;
use bytes::Bytes;
use std::collections::VecDeque;
use std::task::{Context, Poll};

/// Pieces of so many bytes are kept as they came.
const LARGE: usize = 16 << 10;

/// Pieces that nobody has taken yet.
#[derive(Default)]
pub(crate) struct AnswerPieces {
    pieces: VecDeque<Bytes>,
    /// Small ones, to come after those.
    small: Vec<u8>,
    /// Bytes that came in all.
    length: usize,
    /// Of a response over HTTP/2: these bytes count as unread.
    share: Option<unread::Share>,
}

impl AnswerPieces {
    /// Those of this request's response.
    pub(crate) fn of(request: &Request) -> Self {
        Self { share: unread::Share::of(request), ..Self::default() }
    }

    /// Returns whether the response is not to be gathered any further: it is longer than this, or its site has too much that
    /// is unread.
    pub(crate) fn exceeds(&self, most: usize) -> bool {
        let is_short = self.length <= unread::SMALL;
        self.length > most || !is_short && self.share.as_ref().is_some_and(|share| !share.has_room())
    }

    pub(crate) fn push(&mut self, piece: Bytes) {
        let is_first = self.length == 0;
        self.length += piece.len();
        if let Some(share) = &mut self.share {
            share.add(piece.len());
        }
        if is_first || piece.len() >= LARGE {
            self.seal();
            self.pieces.push_back(piece);
            return;
        }
        self.small.extend_from_slice(&piece);
        if self.small.len() >= LARGE {
            self.seal();
        }
    }

    fn seal(&mut self) {
        if !self.small.is_empty() {
            self.pieces.push_back(std::mem::take(&mut self.small).into());
        }
    }

    /// Bytes that came in all.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The next piece.
    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        if self.pieces.is_empty() {
            self.seal();
        }
        let piece = self.pieces.pop_front();
        if let (Some(share), Some(piece)) = (&mut self.share, &piece) {
            share.remove(piece.len());
        }
        piece
    }

    /// All of them as a body.
    pub(crate) fn into_body(mut self) -> Body {
        self.seal();
        if self.pieces.len() <= 1 {
            return self.pieces.pop_front().map_or(Body::Empty, Body::Bytes);
        }
        let mut whole = Vec::with_capacity(self.length);
        self.pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
        Body::Bytes(whole.into())
    }
}

/// The received part of a response that broke off.
pub(crate) struct Remains {
    pub(crate) gathered: AnswerPieces,
    pub(crate) why: Option<String>,
}

impl BodyStream for Remains {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(piece) = self.gathered.pop() {
            return Poll::Ready(Some(Ok(piece)));
        }
        Poll::Ready(self.why.take().map(|why| Err(BodyError::Script(why))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pieces_do_not_keep_what_they_came_with() {
        let came = Bytes::from(vec![b'x'; 1 << 20]);
        let mut gathered = AnswerPieces::default();
        for at in 0..100_000 {
            gathered.push(came.slice(at..=at));
        }
        assert_eq!(gathered.length(), 100_000);
        assert!(gathered.pieces.len() < 10, "{} pieces", gathered.pieces.len());
        let Body::Bytes(whole) = gathered.into_body() else { panic!("no body") };
        assert_eq!(whole, vec![b'x'; 100_000]);
    }

    #[test]
    fn pieces_come_back_in_order() {
        let large = vec![b'l'; LARGE];
        let mut gathered = AnswerPieces::default();
        for piece in [b"one".as_slice(), b"two", &large, b"three"] {
            gathered.push(Bytes::copy_from_slice(piece));
        }
        let pieces: Vec<_> = std::iter::from_fn(|| gathered.pop()).collect();
        assert_eq!(pieces, [b"one".as_slice(), b"two", &large, b"three"]);
    }
}
