//! Answers whose programs have framed them in chunks themselves (`Transfer-Encoding: chunked`, as Mojolicious'
//! `write_chunk`): the framing is the connection's, which may have another, so the chunks' contents are sent.
//!
//! A program that only says so and frames nothing is taken at what it prints.

use crate::io::body::{Body, BodyError, BodyStream};
use crate::request::Request;
use bytes::{Bytes, BytesMut};
use hostler_http1::chunked::{Decoder, Step};
use hostler_http1::head::Limits;
use std::task::{Context, Poll, ready};

/// Takes the program's framing off an answer, if it has said that there is some.
pub(crate) fn take_off(request: &mut Request, body: Body) -> Body {
    if !std::mem::take(&mut request.reply.is_framed) || matches!(body, Body::Empty) {
        return body;
    }
    // It would be the length with the framing.
    request.reply.headers_out.unset("Content-Length");
    Body::Stream(Box::new(FrameStream {
        stream: body.into_stream(),
        decoder: Some(Decoder::new(Limits::default())),
        buffer: BytesMut::new(),
        begun: false,
        over: false,
    }))
}

struct FrameStream {
    stream: Box<dyn BodyStream>,
    /// `None`: nothing is framed.
    decoder: Option<Decoder>,
    buffer: BytesMut,
    /// There was a chunk.
    begun: bool,
    /// Nothing more comes.
    over: bool,
}

impl FrameStream {
    /// Takes the available part of a chunk; `None`: more is needed.
    fn piece(&mut self) -> Result<Option<Bytes>, String> {
        let Some(decoder) = &mut self.decoder else {
            return Ok((!self.buffer.is_empty()).then(|| self.buffer.split().freeze()));
        };
        match decoder.step(&self.buffer) {
            Ok(Step::Data { skip, data }) => {
                let _ = self.buffer.split_to(skip);
                self.begun = true;
                Ok(Some(self.buffer.split_to(data).freeze()))
            }
            Ok(Step::More { skip }) => {
                let _ = self.buffer.split_to(skip);
                self.begun |= skip > 0;
                Ok(None)
            }
            Ok(Step::End { .. }) => {
                // What is printed behind the last chunk belongs to no answer.
                self.buffer.clear();
                self.begun = true;
                Ok(None)
            }
            Err(_) if !self.begun => {
                self.decoder = None;
                self.piece()
            }
            Err(error) => Err(format!("its chunks are malformed: {error}")),
        }
    }

    /// Returns the rest at the end of the output.
    fn end(&mut self) -> Option<Result<Bytes, BodyError>> {
        self.over = true;
        let is_whole = self.decoder.as_ref().is_none_or(Decoder::is_done);
        if !self.begun && !self.buffer.is_empty() {
            return Some(Ok(self.buffer.split().freeze()));
        }
        let broken = self.begun && !is_whole;
        broken.then(|| Err(BodyError::Script("its last chunk is missing".to_owned())))
    }
}

impl BodyStream for FrameStream {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            if self.over {
                return Poll::Ready(None);
            }
            match self.piece() {
                Ok(Some(piece)) => return Poll::Ready(Some(Ok(piece))),
                Ok(None) => {}
                Err(why) => {
                    self.over = true;
                    return Poll::Ready(Some(Err(BodyError::Script(why))));
                }
            }
            match ready!(self.stream.poll_chunk(context)) {
                Some(Ok(piece)) => self.buffer.extend_from_slice(&piece),
                Some(Err(error)) => {
                    self.over = true;
                    return Poll::Ready(Some(Err(error)));
                }
                None => return Poll::Ready(self.end()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of an answer.
    struct Output(Vec<&'static str>);

    impl BodyStream for Output {
        fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
            let next = if self.0.is_empty() { None } else { Some(self.0.remove(0)) };
            Poll::Ready(next.map(|piece| Ok(Bytes::from_static(piece.as_bytes()))))
        }
    }

    fn sent(pieces: &[&'static str]) -> Result<String, String> {
        let decoder = Some(Decoder::new(Limits::default()));
        let stream = Box::new(Output(pieces.to_vec()));
        let mut framed = FrameStream { stream, decoder, buffer: BytesMut::new(), begun: false, over: false };
        let (mut context, mut text) = (Context::from_waker(std::task::Waker::noop()), String::new());
        while let Poll::Ready(Some(piece)) = framed.poll_chunk(&mut context) {
            text.push_str(std::str::from_utf8(&piece.map_err(|error| error.to_string())?).unwrap());
        }
        Ok(text)
    }

    #[test]
    fn chunks_are_their_contents_however_they_come() {
        for pieces in [
            &["5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"][..],
            &["5", "\r", "\nhel", "lo\r\n6\r\n world", "\r\n0\r\n", "\r\n"],
            &["5\r\nhello\r\n", "6\r\n world\r\n", "0\r\n\r\nafterwards"],
        ] {
            assert_eq!(sent(pieces).as_deref(), Ok("hello world"), "{pieces:?}");
        }
        assert_eq!(sent(&["0\r\n\r\n"]).as_deref(), Ok(""));
    }

    #[test]
    fn what_is_not_framed_stays_as_it_is() {
        for pieces in [&["hello", " world"][..], &["hello world"], &["5 apples\n", "and more"], &["5"], &[]] {
            assert_eq!(sent(pieces), Ok(pieces.concat()), "{pieces:?}");
        }
    }

    #[test]
    fn what_breaks_off_is_not_whole() {
        for pieces in [&["5\r\nhel"][..], &["5\r\nhello\r\n"], &["5\r\nhello\r\nworld"], &["5\r\n"]] {
            assert!(sent(pieces).is_err(), "{pieces:?}");
        }
    }
}
