//! `BUFFER` (mod_buffer): what comes in small pieces is gathered before it is passed on, and has a length if it is short.

use crate::hook::registry::{Input, Module, Name, Output};
use crate::io::body::{Body, BodyError, BodyStream, Incoming, RequestBody};
use crate::request::Request;
use bytes::Bytes;
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
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
            let blocks = Blocks::new(request);
            let source = std::mem::take(&mut request.body);
            request.body = RequestBody::Incoming(Rc::new(RefCell::new(Posted { source, blocks })));
            Box::pin(std::future::ready(Ok(())))
        },
    }],
    ..Module::new("buffer", |_| false)
};

/// `BufferSize` where nothing is set, in bytes.
const SIZE: u64 = 128 << 10;
/// Most that is ever gathered: it is in the front's memory.
const MOST: u64 = 1 << 20;

async fn gathered(request: &mut Request, body: Body) -> Body {
    let Body::Stream(mut source) = body else { return body };
    let mut blocks = Blocks::new(request);
    let first = poll_fn(|cx| blocks.poll(cx, |cx| source.poll_chunk(cx))).await;
    match first {
        None => Body::Empty,
        Some(Ok(block)) if blocks.over => Body::Bytes(block),
        Some(first) => Body::Stream(Box::new(Gathered { first: Some(first), source, blocks })),
    }
}

/// Pieces on their way to becoming a block.
struct Blocks {
    size: usize,
    block: Vec<u8>,
    failed: Option<BodyError>,
    over: bool,
}

impl Blocks {
    fn new(request: &Request) -> Self {
        let size = request.dir.filter.buffer_size.unwrap_or(SIZE).min(MOST) as usize;
        Self { size, block: Vec::new(), failed: None, over: false }
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        mut source: impl FnMut(&mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>>,
    ) -> Poll<Option<Result<Bytes, BodyError>>> {
        while !self.over && self.block.len() < self.size {
            match ready!(source(cx)) {
                Some(Ok(piece)) => self.block.extend_from_slice(&piece),
                Some(Err(error)) => (self.failed, self.over) = (Some(error), true),
                None => self.over = true,
            }
        }
        let block = std::mem::take(&mut self.block);
        if block.is_empty() {
            return Poll::Ready(self.failed.take().map(Err));
        }
        Poll::Ready(Some(Ok(block.into())))
    }
}

/// An answer in blocks.
struct Gathered {
    first: Option<Result<Bytes, BodyError>>,
    source: Box<dyn BodyStream>,
    blocks: Blocks,
}

impl BodyStream for Gathered {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        let Self { source, blocks, .. } = self;
        blocks.poll(cx, |cx| source.poll_chunk(cx))
    }
}

/// A request's body in blocks.
struct Posted {
    source: RequestBody,
    blocks: Blocks,
}

impl Incoming for Posted {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let source = &self.source;
        self.blocks.poll(cx, |cx| source.poll_chunk(cx))
    }

    fn limit(&mut self, bytes: u64) {
        self.source.limit(bytes);
    }
}
