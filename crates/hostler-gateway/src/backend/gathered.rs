//! Output that was read before anybody took it: what followed the header in the same piece, and what was waited for to
//! know a short answer in full. In order, with the error that came behind it.

use crate::Error;
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;

/// Pieces in their order, none of them empty.
#[derive(Debug, Default)]
pub(super) struct PieceQueue {
    pieces: VecDeque<Bytes>,
    length: usize,
    /// To be told after them.
    failed: Option<Error>,
}

impl PieceQueue {
    /// Adds what has come last.
    pub(super) fn add(&mut self, piece: Result<Bytes, Error>) {
        match piece {
            Ok(piece) if piece.is_empty() => {}
            Ok(piece) => {
                self.length += piece.len();
                self.pieces.push_back(piece);
            }
            Err(error) => self.failed = Some(error),
        }
    }

    /// Returns whether `most` bytes are not exceeded, and more may come.
    pub(super) fn has_room(&self, most: usize) -> bool {
        self.length <= most && self.failed.is_none()
    }

    /// The first piece that is left, or the error.
    pub(super) fn next(&mut self) -> Option<Result<Bytes, Error>> {
        match self.pieces.pop_front() {
            Some(piece) => {
                self.length -= piece.len();
                Some(Ok(piece))
            }
            None => self.failed.take().map(Err),
        }
    }

    /// All pieces as one.
    pub(super) fn whole(&mut self) -> Bytes {
        let length = std::mem::take(&mut self.length);
        if self.pieces.len() < 2 {
            return self.pieces.pop_front().unwrap_or_default();
        }
        let mut whole = BytesMut::with_capacity(length);
        for piece in self.pieces.drain(..) {
            whole.extend_from_slice(&piece);
        }
        whole.freeze()
    }

    /// Drops the pieces; what has failed has failed all the same.
    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    #[test]
    fn pieces_come_in_their_order_and_an_error_behind_them() {
        let mut gathered = PieceQueue::default();
        for piece in [Ok("one"), Ok(""), Ok("two"), Err(Kind::Timeout)] {
            assert!(gathered.has_room(6));
            gathered.add(piece.map(|text| Bytes::from_static(text.as_bytes())).map_err(Error::new));
        }
        assert!(!gathered.has_room(100), "nothing follows an error");
        let mut told = Vec::new();
        while let Some(piece) = gathered.next() {
            told.push(piece.map_err(|error| error.kind));
        }
        assert_eq!(told, [Ok(Bytes::from("one")), Ok(Bytes::from("two")), Err(Kind::Timeout)]);
    }

    #[test]
    fn room_is_counted_over_what_is_taken() {
        let mut gathered = PieceQueue::default();
        gathered.add(Ok(Bytes::from_static(b"12345")));
        gathered.add(Ok(Bytes::from_static(b"678")));
        assert_eq!((gathered.has_room(8), gathered.has_room(7)), (true, false));
        assert!(gathered.next().is_some_and(|piece| piece.is_ok()));
        assert!(gathered.has_room(3));
        gathered.add(Ok(Bytes::from_static(b"9")));
        assert_eq!(gathered.whole(), "6789");
        assert!(gathered.has_room(0));
    }
}
