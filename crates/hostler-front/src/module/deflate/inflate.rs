//! Decompression: the filter INFLATE for responses, and DEFLATE for requests (mod_deflate). Some bytes at a time: a few
//! can become very many.

use super::AlterETag;
use crate::hook::registry::{Input, Name, Output};
use crate::io::body::{Body, BodyError};
use crate::io::through::Through;
use crate::request::Request;
use crate::request::flow::Continue;
use crate::values::table::Table;
use bytes::Bytes;
use flate2::write::GzDecoder;
use std::io::Write;
use std::task::{Context, Poll, ready};

/// Compressed bytes that are taken at once: they become 512 KiB at most.
const PIECE: usize = 512;
/// Inflated bytes that are passed on at once, and after which the ratio is looked at.
const BUFFER: usize = 8 << 10;

/// `DeflateInflateRatioLimit` and `DeflateInflateRatioBurst` where nothing is set.
const RATIO: u64 = 200;
const BURST: u64 = 3;

pub(super) const OUTPUT: Output = Output {
    name: Name::Own("INFLATE"),
    sees_bodiless: false,
    run: |request, body, _| Box::pin(std::future::ready(answer(request, body))),
};

pub(super) const INPUT: Input = Input {
    name: Name::Own("DEFLATE"),
    run: |request, _| Box::pin(std::future::ready(self::request(request))),
};

/// Takes the coding `gzip` off the end of the list, if it is there.
fn take_coding(table: &mut Table) -> bool {
    let Some(field) = table.joined(b"Content-Encoding") else { return false };
    let mut codings: Vec<&[u8]> = field.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).collect();
    let is_gzip =
        |coding: &&[u8]| coding.eq_ignore_ascii_case(b"gzip") || coding.eq_ignore_ascii_case(b"x-gzip");
    if !codings.last().is_some_and(is_gzip) {
        return false;
    }
    codings.pop();
    if codings.is_empty() {
        table.unset("Content-Encoding");
    } else {
        table.set("Content-Encoding", codings.join(&b", "[..]));
    }
    true
}

fn answer(request: &mut Request, body: Body) -> Body {
    if request.is_sub()
        || request.reply.headers_out.contains("Content-Range")
        || !(take_coding(&mut request.reply.headers_out) || take_coding(&mut request.reply.err_headers_out))
    {
        return body;
    }
    request.resource.content_encoding = request.reply.headers_out.joined(b"Content-Encoding");
    request.reply.headers_out.unset("Content-Length");
    request.reply.headers_out.unset("Content-MD5");
    match request.server.conf.filter.deflate_etag.unwrap_or_default() {
        AlterETag::NoChange => {}
        AlterETag::Remove => request.reply.headers_out.unset("ETag"),
        AlterETag::AddSuffix => {
            let changed =
                request.reply.headers_out.find("ETag").and_then(|etag| super::suffixed(etag, "gunzip"));
            if let Some(changed) = changed {
                request.reply.headers_out.set("ETag", changed);
            }
        }
    }
    if matches!(body, Body::Empty) {
        return body;
    }
    let conf = request.resource.dir.filter.inflate;
    let bounds = Bounds {
        longest: 0,
        ratio: conf.ratio.unwrap_or(RATIO),
        burst: conf.burst.unwrap_or(BURST),
        ends: false,
    };
    let (mut source, mut inflater) = (body.into_stream(), Inflater::new(bounds));
    Body::Stream(Box::new(Through(move |cx: &mut Context<'_>| {
        inflater.poll(cx, |cx| source.poll_chunk(cx)).map_err(|error| match error {
            BodyError::Coding(why) => BodyError::Filter(why),
            other => other,
        })
    })))
}

fn request(request: &mut Request) -> Continue {
    // Who answers is told of the coding all the same, as by Apache, which takes it off when the first byte is read.
    if !take_coding(&mut request.target.headers_in.clone()) {
        return Ok(());
    }
    let conf = request.resource.dir.filter.inflate;
    let limit = conf.longest.filter(|longest| *longest > 0);
    let bounds = Bounds {
        longest: limit.unwrap_or(request.resource.dir.core.limit_request_body.unwrap_or(1 << 30)),
        ratio: conf.ratio.unwrap_or(RATIO),
        burst: conf.burst.unwrap_or(BURST),
        ends: true,
    };
    let mut inflater = Inflater::new(bounds);
    request.target.body = std::mem::take(&mut request.target.body)
        .through(move |source, cx| inflater.poll(cx, |cx| source.poll_chunk(cx)));
    Ok(())
}

/// The limits of the output.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// In bytes; 0: any number.
    longest: u64,
    /// So many times what went in,
    ratio: u64,
    /// and more for so many pieces in a row.
    burst: u64,
    /// Nothing may follow the end of the coding.
    ends: bool,
}

struct Inflater {
    /// `None`: its end has come.
    decoder: Option<GzDecoder<Vec<u8>>>,
    rest: Bytes,
    bounds: Bounds,
    taken: u64,
    made: u64,
    hits: u64,
    over: bool,
}

impl Inflater {
    fn new(bounds: Bounds) -> Self {
        let decoder = Some(GzDecoder::new(Vec::new()));
        Self { decoder, rest: Bytes::new(), bounds, taken: 0, made: 0, hits: 0, over: false }
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        mut source: impl FnMut(&mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>>,
    ) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            if self.over {
                return Poll::Ready(None);
            }
            if self.rest.is_empty() {
                match ready!(source(cx)) {
                    Some(Ok(piece)) => self.rest = piece,
                    Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                    None => {
                        self.over = true;
                        return Poll::Ready(self.finish().transpose());
                    }
                }
            }
            match self.step() {
                Ok(piece) if piece.is_empty() => {}
                Ok(piece) => return Poll::Ready(Some(Ok(piece))),
                Err(error) => {
                    self.over = true;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }

    /// Inflates until there is something to pass on, or nothing more to inflate. What comes after the end is refused, or
    /// dropped.
    fn step(&mut self) -> Result<Bytes, BodyError> {
        let Some(decoder) = &mut self.decoder else {
            self.rest = Bytes::new();
            return Ok(Bytes::new());
        };
        while !self.rest.is_empty() && decoder.get_ref().len() < BUFFER {
            let piece = &self.rest[..self.rest.len().min(PIECE)];
            let taken = decoder.write(piece).map_err(|error| BodyError::Coding(error.to_string()))?;
            if taken == 0 && self.bounds.ends {
                return Err(BodyError::Coding("data follows the end of the coding".to_owned()));
            }
            if taken == 0 {
                self.rest = Bytes::new();
                break;
            }
            self.taken += taken as u64;
            let _ = self.rest.split_to(taken);
        }
        let made = std::mem::take(decoder.get_mut());
        self.note(made)
    }

    fn note(&mut self, made: Vec<u8>) -> Result<Bytes, BodyError> {
        self.made += made.len() as u64;
        if self.bounds.longest > 0 && self.made > self.bounds.longest {
            return Err(BodyError::TooLarge);
        }
        for _ in 0..made.len() / BUFFER {
            if self.made / self.taken.max(1) < self.bounds.ratio {
                self.hits = 0;
            } else {
                self.hits += 1;
                if self.hits > self.bounds.burst {
                    let why = "it becomes too many times as long (DeflateInflateRatioLimit)";
                    return Err(BodyError::Coding(why.to_owned()));
                }
            }
        }
        Ok(made.into())
    }

    /// The rest, if the coding is complete.
    fn finish(&mut self) -> Result<Option<Bytes>, BodyError> {
        if self.taken == 0 {
            return Ok(None);
        }
        let Some(decoder) = self.decoder.take() else { return Ok(None) };
        let made = decoder.finish().map_err(|error| BodyError::Coding(error.to_string()))?;
        let made = self.note(made)?;
        Ok((!made.is_empty()).then_some(made))
    }
}

#[cfg(test)]
mod tests {
    use super::super::encoder::{self, tests::GZIP};
    use super::*;

    const NONE: Bounds = Bounds { longest: 0, ratio: u64::MAX, burst: 0, ends: false };

    fn inflated(coded: &[u8], bounds: Bounds) -> Result<Vec<u8>, BodyError> {
        let mut pieces = coded.chunks(100);
        let mut inflater = Inflater::new(bounds);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut whole = Vec::new();
        loop {
            let source = |_: &mut Context<'_>| {
                Poll::Ready(pieces.next().map(|piece| Ok(Bytes::copy_from_slice(piece))))
            };
            match inflater.poll(&mut cx, source) {
                Poll::Ready(Some(piece)) => whole.extend(piece?),
                Poll::Ready(None) => return Ok(whole),
                Poll::Pending => unreachable!("the source is always ready"),
            }
        }
    }

    #[test]
    fn data_after_the_end_of_a_request_body_is_refused() {
        let coded = [&*encoder::all(GZIP, b"whole"), b"more"].concat();
        assert_eq!(inflated(&coded, NONE).unwrap(), b"whole");
        assert!(matches!(inflated(&coded, Bounds { ends: true, ..NONE }), Err(BodyError::Coding(_))));
    }

    #[test]
    fn what_becomes_too_long_is_refused() {
        let coded = encoder::all(GZIP, &vec![b'x'; 10 << 20]);
        assert_eq!(inflated(&coded, NONE).unwrap().len(), 10 << 20);
        let longest = Bounds { longest: 1 << 20, ..NONE };
        assert!(matches!(inflated(&coded, longest), Err(BodyError::TooLarge)));
        let ratio = Bounds { ratio: 100, burst: 3, ..NONE };
        assert!(matches!(inflated(&coded, ratio), Err(BodyError::Coding(_))));
    }

    #[test]
    fn a_long_text_comes_out_as_it_was() {
        let text: Vec<u8> = (0..60_000).flat_map(|n| format!("{n}\n").into_bytes()).collect();
        assert_eq!(inflated(&encoder::all(GZIP, &text), NONE).unwrap(), text);
    }

    #[test]
    fn what_is_cut_or_no_coding_is_told() {
        let coded = encoder::all(GZIP, b"some text");
        assert_eq!(inflated(&coded, NONE).unwrap(), b"some text");
        assert!(inflated(&coded[..coded.len() - 4], NONE).is_err());
        assert!(inflated(b"some text", NONE).is_err());
        assert_eq!(inflated(b"", NONE).unwrap(), b"");
    }

    #[test]
    fn only_the_last_coding_is_taken_off() {
        for (field, left) in [("gzip", None), ("br, gzip", Some("br")), ("X-GZIP", None)] {
            let mut table = Table::default();
            table.set("Content-Encoding", Bytes::from_static(field.as_bytes()));
            assert!(take_coding(&mut table));
            assert_eq!(table.find("Content-Encoding").map(|value| &**value), left.map(str::as_bytes));
        }
        let mut table = Table::default();
        table.set("Content-Encoding", Bytes::from_static(b"gzip, br"));
        assert!(!take_coding(&mut table));
    }
}
