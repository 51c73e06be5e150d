//! A body compressed on its way: piece by piece, so that no large file is ever in memory. When the source has
//! nothing more for the moment, what it gave so far is flushed: a slow page arrives as slowly, not at its end.

use super::Coding;
use super::encoder::{Encoder, Recipe};
use crate::io::body::{BodyError, BodyStream};
use crate::limits::budget::Sideline;
use crate::request::Request;
use bytes::{Buf, Bytes};
use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Plain bytes that are compressed before other connections get their turn.
const TURN: usize = 32 << 10;
/// Overhead of gzip's header and trailer, which mod_deflate does not count as output.
const GZIP_FRAME: u64 = 18;

/// Bytes before and after compression, so far.
pub(crate) struct Totals {
    pub(super) coding: Coding,
    pub(super) input: Cell<u64>,
    pub(super) output: Cell<u64>,
}

impl Totals {
    pub(super) fn new(coding: Coding) -> Self {
        Self { coding, input: Cell::new(0), output: Cell::new(0) }
    }

    /// Of a body that was compressed at once.
    pub(super) fn of(coding: Coding, input: usize, output: usize) -> Self {
        let totals = Self::new(coding);
        totals.input.set(input as u64);
        totals.came_out(output);
        totals.without_frame();
        totals
    }

    fn came_out(&self, length: usize) {
        self.output.set(self.output.get() + length as u64);
    }

    fn without_frame(&self) {
        if self.coding == Coding::Gzip {
            self.output.set(self.output.get().saturating_sub(GZIP_FRAME));
        }
    }
}

/// A body on its way through a compressor.
pub(super) struct CompressStream {
    source: Box<dyn BodyStream>,
    recipe: Recipe,
    /// `None` before the first byte.
    encoder: Option<Encoder>,
    /// Plain bytes that have not been compressed yet.
    rest: Bytes,
    /// The compressor holds something back that could be flushed.
    holds_back: bool,
    ended: bool,
    totals: Rc<Totals>,
    /// `None` in tests.
    sideline: Option<Sideline>,
}

impl CompressStream {
    pub(super) fn new(source: Box<dyn BodyStream>, recipe: Recipe, totals: Rc<Totals>) -> Self {
        let (rest, holds_back, ended) = (Bytes::new(), false, false);
        Self { source, recipe, encoder: None, rest, holds_back, ended, totals, sideline: None }
    }

    /// The same for a request, whose site's work takes turns.
    pub(super) fn of(
        request: &Request,
        source: Box<dyn BodyStream>,
        recipe: Recipe,
        totals: Rc<Totals>,
    ) -> Self {
        Self { sideline: Some(Sideline::of(request)), ..Self::new(source, recipe, totals) }
    }

    fn encoder(&mut self) -> &mut Encoder {
        self.encoder.get_or_insert_with(|| Encoder::new(self.recipe))
    }

    /// Compresses the next bytes that wait; what came out.
    fn step(&mut self) -> Result<Vec<u8>, BodyError> {
        let piece = self.rest.split_to(self.rest.len().min(TURN));
        self.encoder().write(&piece).map_err(|error| failed(&error))?;
        self.holds_back = true;
        self.totals.input.set(self.totals.input.get() + piece.remaining() as u64);
        Ok(self.encoder().take())
    }

    fn flush(&mut self) -> Result<Vec<u8>, BodyError> {
        self.holds_back = false;
        self.encoder().flush().map_err(|error| failed(&error))?;
        Ok(self.encoder().take())
    }

    fn finish(&mut self) -> Result<Vec<u8>, BodyError> {
        self.ended = true;
        self.encoder();
        self.encoder.take().map_or(Ok(Vec::new()), |encoder| encoder.finish().map_err(|error| failed(&error)))
    }

    /// Hands `out` on; `None` if it is empty.
    fn piece(&self, out: Result<Vec<u8>, BodyError>) -> Option<Poll<Option<Result<Bytes, BodyError>>>> {
        match out {
            Ok(out) if out.is_empty() => None,
            Ok(out) => {
                self.totals.came_out(out.len());
                Some(Poll::Ready(Some(Ok(out.into()))))
            }
            Err(error) => Some(Poll::Ready(Some(Err(error)))),
        }
    }
}

fn failed(error: &std::io::Error) -> BodyError {
    BodyError::Read(format!("compressing failed: {error}"))
}

/// Compressing takes long: whatever else there is to do comes first, news from the network included.
fn give_way(cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
    if std::pin::pin!(tokio::task::yield_now()).poll(cx).is_ready() {
        cx.waker().wake_by_ref();
    }
    Poll::Pending
}

impl BodyStream for CompressStream {
    fn rests(&self) -> bool {
        !self.rest.is_empty() || self.source.rests()
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if !self.rest.is_empty() {
            if self.sideline.as_mut().is_some_and(|sideline| sideline.poll_turn(cx).is_pending()) {
                return Poll::Pending;
            }
            let sideline = self.sideline.take();
            let out = match &sideline {
                Some(sideline) => sideline.work(|| self.step()),
                None => self.step(),
            };
            self.sideline = sideline;
            if let Some(ready) = self.piece(out) {
                return ready;
            }
            return give_way(cx);
        }
        if self.ended {
            return Poll::Ready(None);
        }
        match self.source.poll_chunk(cx) {
            Poll::Ready(Some(Ok(bytes))) => {
                self.rest = bytes;
                give_way(cx)
            }
            Poll::Ready(Some(Err(error))) => {
                self.ended = true;
                Poll::Ready(Some(Err(error)))
            }
            Poll::Ready(None) => {
                let out = self.finish();
                let last = self.piece(out).unwrap_or(Poll::Ready(None));
                self.totals.without_frame();
                last
            }
            Poll::Pending if self.holds_back => {
                let out = self.flush();
                self.piece(out).unwrap_or(Poll::Pending)
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::encoder::tests::{BROTLI, GZIP, decoded};
    use super::*;
    use std::collections::VecDeque;
    use std::task::Waker;

    /// A scripted source: on each poll a piece, an error, or nothing for the moment.
    struct Script(VecDeque<Option<Result<Bytes, BodyError>>>);

    impl BodyStream for Script {
        fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
            match self.0.pop_front() {
                Some(Some(piece)) => Poll::Ready(Some(piece)),
                Some(None) => Poll::Pending,
                None => Poll::Ready(None),
            }
        }
    }

    fn stream(recipe: Recipe, script: Vec<Option<Result<Bytes, BodyError>>>) -> CompressStream {
        CompressStream::new(Box::new(Script(script.into())), recipe, Rc::new(Totals::new(recipe.coding)))
    }

    /// Polls until the end, an error, or `waits` times nothing.
    fn drain(stream: &mut CompressStream, mut waits: usize) -> (Vec<u8>, Option<BodyError>) {
        let mut cx = Context::from_waker(Waker::noop());
        let mut out = Vec::new();
        loop {
            match stream.poll_chunk(&mut cx) {
                Poll::Ready(Some(Ok(piece))) => {
                    assert!(!piece.is_empty(), "a piece is never empty");
                    out.extend_from_slice(&piece);
                }
                Poll::Ready(Some(Err(error))) => return (out, Some(error)),
                Poll::Ready(None) => return (out, None),
                Poll::Pending if waits == 0 => return (out, None),
                Poll::Pending => waits -= 1,
            }
        }
    }

    #[test]
    fn a_long_body_comes_out_in_pieces() {
        let plain: Vec<u8> =
            (0..300_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        for recipe in [GZIP, BROTLI] {
            let mut stream = stream(recipe, vec![Some(Ok(plain.clone().into()))]);
            let (encoded, error) = drain(&mut stream, 1000);
            assert!(error.is_none());
            assert_eq!(decoded(recipe.coding, &encoded), plain);
            assert_eq!(stream.totals.input.get(), plain.len() as u64);
        }
    }

    #[test]
    fn what_a_slow_source_gave_can_be_read_before_more_comes() {
        for recipe in [GZIP, BROTLI] {
            let pause = || [None, None, None];
            let mut script = vec![Some(Ok(Bytes::from_static(b"first ")))];
            script.extend(pause());
            script.push(Some(Ok(Bytes::from_static(b"second"))));
            let mut stream = stream(recipe, script);
            let (mut encoded, _) = drain(&mut stream, 3);
            assert_eq!(decoded(recipe.coding, &encoded), b"first ", "{recipe:?}");
            encoded.extend(drain(&mut stream, 100).0);
            assert_eq!(decoded(recipe.coding, &encoded), b"first second", "{recipe:?}");
        }
    }

    #[test]
    fn a_body_that_breaks_off_has_no_proper_end() {
        let script = vec![Some(Ok(Bytes::from_static(b"half"))), Some(Err(BodyError::Truncated))];
        let mut stream = stream(GZIP, script);
        let (encoded, error) = drain(&mut stream, 10);
        assert!(matches!(error, Some(BodyError::Truncated)));
        assert!(encoded.len() < 18, "no trailer");
    }

    #[test]
    fn an_empty_body_is_an_empty_coding() {
        for recipe in [GZIP, BROTLI] {
            let (encoded, error) = drain(&mut stream(recipe, vec![]), 0);
            assert!(error.is_none() && !encoded.is_empty());
            assert_eq!(decoded(recipe.coding, &encoded), b"");
        }
    }
}
