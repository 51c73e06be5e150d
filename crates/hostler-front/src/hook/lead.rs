//! The beginning of what a filter makes of an answer, made before the header goes: what fails until then is a 500, and
//! an answer that ends until then has a length. What fails later breaks off: what a filter is to take out must not go
//! through.

use super::filter::failed;
use crate::io::body::{Body, BodyError, BodyStream};
use crate::request::Request;
use bytes::Bytes;
use std::future::poll_fn;
use std::task::{Context, Poll};

/// An answer of so many bytes is made whole before its header goes.
const WHOLE: usize = 64 << 10;

/// Starts a filter of a body. `is_stream`: the body arrives in pieces and is forwarded as it arrives.
pub(crate) async fn begin(
    request: &Request,
    module: &'static str,
    mut made: impl BodyStream + 'static,
    is_stream: bool,
) -> Body {
    let most = if is_stream { 1 } else { WHOLE };
    let mut first = Vec::new();
    while first.len() < most {
        match poll_fn(|cx| made.poll_chunk(cx)).await {
            None => return Body::Bytes(first.into()),
            Some(Ok(piece)) => first.extend_from_slice(&piece),
            Some(Err(error)) => return failed(request, module, &error.to_string()),
        }
    }
    Body::Stream(Box::new(Begun { first: Some(first.into()), rest: made }))
}

struct Begun<S> {
    first: Option<Bytes>,
    rest: S,
}

impl<S: BodyStream> BodyStream for Begun<S> {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(first))),
            None => self.rest.poll_chunk(cx),
        }
    }
}
