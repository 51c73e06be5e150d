//! `BUFFER` (mod_buffer): what comes in small pieces is gathered before it is passed on, and has a length if it is short.

use crate::hook::registry::{Input, Module, Name, Output};
use crate::io::body::{Body, BodyError};
use crate::io::through::Through;
use crate::limits::kept::Share;
use crate::request::Request;
use bytes::Bytes;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};

pub(crate) static MODULE: Module = Module {
    outputs: &[Output {
        name: Name::Own("BUFFER"),
        sees_bodiless: false,
        run: |request, body, _| Box::pin(gathered(request, body)),
    }],
    inputs: &[Input {
        name: Name::Own("BUFFER"),
        run: |request, _| {
            let mut blocks = Blocks::new(request);
            request.target.body = std::mem::take(&mut request.target.body)
                .through(move |source, cx| blocks.poll(cx, |cx| source.poll_chunk(cx)));
            Box::pin(std::future::ready(Ok(())))
        },
    }],
    ..Module::new("buffer", |_| false)
};

/// `BufferSize` where nothing is set, in bytes.
const SIZE: u64 = 128 << 10;
/// Most that is ever gathered: it is in the front's memory, where it counts for its site.
const MOST: u64 = 1 << 20;

async fn gathered(request: &mut Request, body: Body) -> Body {
    let Body::Stream(mut source) = body else { return body };
    let mut blocks = Blocks::new(request);
    let first = poll_fn(|cx| blocks.poll(cx, |cx| source.poll_chunk(cx))).await;
    match first {
        None => Body::Empty,
        Some(Ok(block)) if blocks.is_complete() => Body::Bytes(block),
        mut first => Body::Stream(Box::new(Through(move |cx: &mut Context<'_>| match first.take() {
            None => blocks.poll(cx, |cx| source.poll_chunk(cx)),
            first => Poll::Ready(first),
        }))),
    }
}

/// Pieces on their way to becoming a block.
struct Blocks {
    size: usize,
    block: Vec<u8>,
    share: Share,
    failed: Option<BodyError>,
    over: bool,
}

impl Blocks {
    fn new(request: &Request) -> Self {
        let size = request.resource.dir.filter.buffer_size.unwrap_or(SIZE).min(MOST) as usize;
        Self::of(size, Share::of(request))
    }

    fn of(size: usize, share: Share) -> Self {
        Self { size, block: Vec::new(), share, failed: None, over: false }
    }

    /// Returns whether nothing follows, not even an error.
    fn is_complete(&self) -> bool {
        self.over && self.failed.is_none()
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        mut source: impl FnMut(&mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>>,
    ) -> Poll<Option<Result<Bytes, BodyError>>> {
        while !self.over && self.block.len() < self.size {
            match ready!(source(cx)) {
                Some(Ok(piece)) => match self.share.reach(self.block.len() + piece.len()) {
                    Ok(()) => self.block.extend_from_slice(&piece),
                    Err(error) => (self.failed, self.over) = (Some(error), true),
                },
                Some(Err(error)) => (self.failed, self.over) = (Some(error), true),
                None => self.over = true,
            }
        }
        let block = std::mem::take(&mut self.block);
        if block.is_empty() {
            return Poll::Ready(self.failed.take().map(Err));
        }
        let next = self.share.next();
        Poll::Ready(Some(Ok(std::mem::replace(&mut self.share, next).with(block.into()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::kept::BufferedBytes;

    fn blocks(size: usize, pieces: Vec<Result<Bytes, BodyError>>) -> (Blocks, Vec<Result<usize, BodyError>>) {
        let mut blocks = Blocks::of(size, Share::new(BufferedBytes::new(1), 0));
        let (mut pieces, mut made) = (pieces.into_iter(), Vec::new());
        let mut cx = Context::from_waker(std::task::Waker::noop());
        while let Poll::Ready(Some(block)) = blocks.poll(&mut cx, |_| Poll::Ready(pieces.next())) {
            made.push(block.map(|block| block.len()));
        }
        (blocks, made)
    }

    #[test]
    fn pieces_become_blocks() {
        let piece = || Ok(Bytes::from_static(b"abc"));
        let (blocks, made) = blocks(5, vec![piece(), piece(), piece()]);
        assert!(blocks.is_complete());
        assert_eq!(made.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [6, 3]);
    }

    #[test]
    fn what_breaks_off_does_not_look_complete() {
        let pieces = vec![Ok(Bytes::from_static(b"abc")), Err(BodyError::Timeout)];
        let mut pieces = pieces.into_iter();
        let mut blocks = Blocks::of(100, Share::new(BufferedBytes::new(1), 0));
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let first = blocks.poll(&mut cx, |_| Poll::Ready(pieces.next()));
        assert!(matches!(first, Poll::Ready(Some(Ok(block))) if block.len() == 3));
        assert!(!blocks.is_complete());
        assert!(matches!(
            blocks.poll(&mut cx, |_| Poll::Ready(None)),
            Poll::Ready(Some(Err(BodyError::Timeout)))
        ));
    }

    #[test]
    fn what_a_site_has_no_room_for_is_refused() {
        let piece = || Ok(Bytes::from(vec![b'x'; 60 << 20]));
        let (_, made) = blocks(usize::MAX, vec![piece(), piece()]);
        assert!(matches!(made[..], [Ok(_), Err(BodyError::Crowded)]), "{made:?}");
    }
}
