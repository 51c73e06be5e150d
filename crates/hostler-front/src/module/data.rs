//! `DATA` (mod_data): an answer as a `data:` URL (RFC 2397), its bytes in base 64.

use crate::hook::registry::{Module, Name, Output};
use crate::io::body::{Body, BodyError, BodyStream};
use crate::request::{Origin, Request};
use crate::values::text;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use std::task::{Context, Poll, ready};

pub(crate) static MODULE: Module = Module {
    outputs: &[Output {
        name: Name::Own("DATA"),
        sees_bodiless: false,
        run: |request, body, _| Box::pin(std::future::ready(changed(request, body))),
    }],
    ..Module::new("data", |_| false)
};

fn changed(request: &mut Request, body: Body) -> Body {
    if request.origin != Origin::Client {
        return body;
    }
    let start = start(request.resource.content_type.as_deref().unwrap_or_default());
    request.resource.content_type = Some(Bytes::from_static(b"text/plain"));
    if matches!(body, Body::Empty) {
        return body;
    }
    match body.len() {
        Some(length) => {
            let length = start.len() as u64 + length.div_ceil(3) * 4;
            request.reply.headers_out.set("Content-Length", text::decimal(length).as_bytes().to_vec());
        }
        None => request.reply.headers_out.unset("Content-Length"),
    }
    Body::Stream(Box::new(Base64Stream {
        source: body.into_stream(),
        start: Some(start),
        piece: Bytes::new(),
        rest: Vec::new(),
        ended: false,
    }))
}

/// What stands before the bytes: the type and its first parameter.
fn start(kind: &[u8]) -> Vec<u8> {
    let mut words = kind.split(|&b| b == b' ');
    let (kind, parameter) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    [b"data:", kind, parameter, b";base64,"].concat()
}

/// Bytes that are encoded at a time: filters can stand behind each other, and each makes a third more of what it is given.
const TURN: usize = 24 << 10;

/// A body on its way through the encoding.
struct Base64Stream {
    source: Box<dyn BodyStream>,
    start: Option<Vec<u8>>,
    /// What has come and is not encoded yet.
    piece: Bytes,
    /// Bytes that are not three yet.
    rest: Vec<u8>,
    ended: bool,
}

impl BodyStream for Base64Stream {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(start) = self.start.take() {
            return Poll::Ready(Some(Ok(start.into())));
        }
        while !self.ended {
            if !self.piece.is_empty() {
                self.rest.extend_from_slice(&self.piece.split_to(self.piece.len().min(TURN)));
                let whole = self.rest.len() / 3 * 3;
                if whole > 0 {
                    let encoded = STANDARD.encode(&self.rest[..whole]);
                    self.rest.drain(..whole);
                    return Poll::Ready(Some(Ok(encoded.into())));
                }
                continue;
            }
            match ready!(self.source.poll_chunk(cx)) {
                Some(Ok(piece)) => self.piece = piece,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    self.ended = true;
                    if !self.rest.is_empty() {
                        return Poll::Ready(Some(Ok(STANDARD.encode(&self.rest).into())));
                    }
                }
            }
        }
        Poll::Ready(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pieces_of_any_size_make_one_text() {
        for size in 1..7 {
            let all: Vec<u8> = (0..20).collect();
            let pieces = all.chunks(size).map(|piece| crate::io::body::Segment::Bytes(piece.to_vec().into()));
            let source = Body::Segments(pieces.collect()).into_stream();
            let mut encoded = Base64Stream {
                source,
                start: Some(start(b"text/html; charset=x")),
                piece: Bytes::new(),
                rest: Vec::new(),
                ended: false,
            };
            let mut out = Vec::new();
            while let Some(piece) = std::future::poll_fn(|cx| encoded.poll_chunk(cx)).await {
                out.extend_from_slice(&piece.unwrap());
            }
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text, format!("data:text/html;charset=x;base64,{}", STANDARD.encode(&all)));
        }
    }
}
