//! `DATA` (mod_data): an answer as a `data:` URL (RFC 2397), its bytes in base 64.

use crate::hook::registry::{Module, Name, Output};
use crate::io::body::{Body, BodyStream};
use crate::io::through::Through;
use crate::limits::pieces::Pieces;
use crate::request::{Origin, Request};
use crate::values::text;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use std::task::Context;

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
    encoded(request, body.into_stream(), start)
}

/// A body on its way through the encoding.
fn encoded(request: &Request, mut source: Box<dyn BodyStream>, start: Vec<u8>) -> Body {
    let mut encoder = Encoder { start, rest: Vec::new() };
    let mut pieces =
        Pieces::new(request, TURN, Bytes::new(), move |piece, last| Ok(encoder.encode(piece, last)));
    Body::Stream(Box::new(Through(move |cx: &mut Context<'_>| pieces.poll(cx, |cx| source.poll_chunk(cx)))))
}

struct Encoder {
    /// The text before the first bytes.
    start: Vec<u8>,
    /// Bytes that are not three yet.
    rest: Vec<u8>,
}

impl Encoder {
    fn encode(&mut self, piece: &[u8], last: bool) -> Vec<u8> {
        self.rest.extend_from_slice(piece);
        let whole = if last { self.rest.len() } else { self.rest.len() / 3 * 3 };
        let mut out = std::mem::take(&mut self.start);
        out.extend_from_slice(STANDARD.encode(&self.rest[..whole]).as_bytes());
        self.rest.drain(..whole);
        out
    }
}

/// Returns the text before the bytes: the type and its first parameter.
fn start(kind: &[u8]) -> Vec<u8> {
    let mut words = kind.split(|&b| b == b' ');
    let (kind, parameter) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    [b"data:", kind, parameter, b";base64,"].concat()
}

/// Bytes that are encoded at a time: filters can stand behind each other, and each makes a third more of what it is given.
const TURN: usize = 24 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_make_one_text() {
        for size in 1..7 {
            let all: Vec<u8> = (0..20).collect();
            let mut encoder = Encoder { start: start(b"text/html; charset=x"), rest: Vec::new() };
            let mut out: Vec<u8> = all.chunks(size).flat_map(|piece| encoder.encode(piece, false)).collect();
            out.extend(encoder.encode(b"", true));
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text, format!("data:text/html;charset=x;base64,{}", STANDARD.encode(&all)));
        }
    }
}
