//! A conversation with a program whose output is CGI's (RFC 3875 §6): a header, then a body. Its input goes on its way
//! meanwhile, and what it has for the log is cut into lines.
//!
//! Nothing is read ahead of whoever takes the answer but for what has come already, so a slow client slows the program
//! down.

use super::{Event, EventOf, Exchange, Protocol};
use crate::backend::cgi::{Input, Sink};
use crate::backend::gathered::PieceQueue;
use crate::lines::{AT_ONCE, Lines};
use crate::{Error, Kind, LOGGED, Origin};
use bytes::Bytes;
use hostler_cgi::{Header, HeaderParser, Limits, NphHeader, NphParser, Progress};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Lines that are kept for the cause of an error, and bytes of each.
const KEPT: usize = 10;
const KEPT_LINE: usize = 300;

/// The conversation.
pub struct Program<P: Protocol<Head = Infallible>, I, S: Sink> {
    /// `None`: it is over.
    exchange: Option<Exchange<P>>,
    /// The rest of the request's body.
    input: Option<I>,
    sink: S,
    lines: Lines,
    /// Bytes that were logged.
    logged: usize,
    last: VecDeque<String>,
    /// Output that was read before anybody took it.
    gathered: PieceQueue,
    /// Messages that another task received and has not looked at.
    said: VecDeque<Result<EventOf<P>, Error>>,
}

impl<P: Protocol<Head = Infallible>, I: Input, S: Sink> Program<P, I, S> {
    /// Takes over a conversation that has begun. `input`: the request's body, if the program was told that there is one.
    pub fn new(exchange: Exchange<P>, input: Option<I>, sink: S) -> Self {
        Self {
            exchange: Some(exchange),
            input,
            sink,
            lines: Lines::default(),
            logged: 0,
            last: VecDeque::new(),
            gathered: PieceQueue::default(),
            said: VecDeque::new(),
        }
    }

    /// The same of one without a body, in which this was said already.
    pub fn resumed(
        exchange: Exchange<P>,
        said: impl IntoIterator<Item = Result<EventOf<P>, Error>>,
        sink: S,
    ) -> Self {
        Self { said: said.into_iter().collect(), ..Self::new(exchange, None, sink) }
    }

    /// Reads the answer's header (RFC 3875 §6.3).
    ///
    /// # Errors
    /// A cause of 4xx or 5xx.
    pub async fn header(&mut self, limits: Limits) -> Result<Header, Error> {
        let mut parser = HeaderParser::new(limits);
        match self.parse(|bytes| parser.parse(bytes)).await? {
            true => Ok(parser.into_header()),
            false => Err(self.fail(parser.ended().into())),
        }
    }

    /// Reads the header of an answer that is HTTP's ([`Variables::IS_HTTP`](super::Variables::IS_HTTP)).
    ///
    /// # Errors
    /// As [`Self::header`].
    pub async fn http_header(&mut self, limits: Limits) -> Result<NphHeader, Error> {
        let mut parser = NphParser::new(limits);
        match self.parse(|bytes| parser.parse(bytes)).await? {
            true => Ok(parser.into_header()),
            false => Err(self.fail(parser.ended().into())),
        }
    }

    /// Feeds a parser; false if the output ended first.
    async fn parse(&mut self, mut feed: impl FnMut(&[u8]) -> Progress) -> Result<bool, Error> {
        while let Some(chunk) = poll_fn(|context| self.poll_output(context)).await {
            let mut chunk = chunk?;
            match feed(&chunk) {
                Progress::More => {}
                Progress::Complete { consumed } => {
                    self.gathered.add(Ok(chunk.split_off(consumed)));
                    return Ok(true);
                }
                Progress::Failed(error) => return Err(self.fail(error.into())),
            }
        }
        Ok(false)
    }

    /// Reads on until the answer is complete, or more than `most` bytes of it are there, or nothing has come for
    /// `patience`; but as long as the program is still being sent its input, patience lasts. Whether it is complete.
    pub async fn gather(&mut self, most: usize, patience: Duration) -> bool {
        match self.poll_gather(most, &mut Context::from_waker(std::task::Waker::noop())) {
            Poll::Ready(whole) => return whole,
            Poll::Pending if patience.is_zero() && self.input.is_none() => return false,
            Poll::Pending => {}
        }
        let mut patience = pin!(tokio::time::sleep(patience));
        poll_fn(|context| match self.poll_gather(most, context) {
            Poll::Ready(whole) => Poll::Ready(whole),
            Poll::Pending if self.input.is_some() => Poll::Pending,
            Poll::Pending => patience.as_mut().poll(context).map(|()| false),
        })
        .await
    }

    fn poll_gather(&mut self, most: usize, context: &mut Context<'_>) -> Poll<bool> {
        while self.gathered.has_room(most) {
            match ready!(self.poll_output(context)) {
                Some(piece) => self.gathered.add(piece),
                None => return Poll::Ready(true),
            }
        }
        Poll::Ready(false)
    }

    /// Sends the program its input until it has all of it or the conversation is over, while its output is gathered. Stops at
    /// more than `most` bytes of that: a program may wait for a reader before it reads on. Returns whether the input is
    /// done.
    ///
    /// # Errors
    /// The input broke off.
    pub async fn give_input(&mut self, most: usize) -> Result<bool, Error> {
        poll_fn(|context| {
            while self.input.is_some() && self.gathered.has_room(most) {
                match self.poll_output(context) {
                    Poll::Ready(Some(Err(error))) if error.origin == Origin::Client => {
                        return Poll::Ready(Err(error));
                    }
                    Poll::Ready(Some(chunk)) => self.gathered.add(chunk),
                    Poll::Ready(None) => break,
                    Poll::Pending if self.input.is_some() => return Poll::Pending,
                    Poll::Pending => break,
                }
            }
            Poll::Ready(Ok(self.input.is_none()))
        })
        .await
    }

    /// The answer as one piece, after [`Self::gather`] has said that it is complete.
    pub fn whole(&mut self) -> Bytes {
        self.gathered.whole()
    }

    /// Reads the rest of the output and drops it, until the program is done.
    ///
    /// # Errors
    /// As [`Self::header`].
    pub async fn discard(&mut self) -> Result<(), Error> {
        self.gathered.clear();
        while let Some(chunk) = poll_fn(|context| self.poll_output(context)).await {
            chunk?;
        }
        Ok(())
    }

    /// The next piece of the answer, never empty; `None` at its end. After an error there is nothing more.
    pub fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        match self.gathered.next() {
            Some(chunk) => Poll::Ready(Some(chunk)),
            None => self.poll_output(context),
        }
    }

    /// Moves everything that can be moved; gives the next piece of output.
    fn poll_output(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        if let Err(error) = self.poll_input(context) {
            return Poll::Ready(Some(Err(self.fail(error))));
        }
        loop {
            let (sink, last) = (&mut self.sink, &mut self.last);
            if self.lines.take(AT_ONCE, |line| tell(sink, last, line)) {
                // The others' turn comes first, however many lines a piece has.
                let _ = pin!(tokio::task::yield_now()).poll(context);
                return Poll::Pending;
            }
            let Some(exchange) = &mut self.exchange else { return Poll::Ready(None) };
            let polled = match self.said.pop_front() {
                Some(said) => Poll::Ready(Some(said)),
                None => exchange.poll_next(context),
            };
            match polled {
                Poll::Ready(Some(Ok(Event::Output(piece)))) => return Poll::Ready(Some(Ok(piece))),
                Poll::Ready(Some(Ok(Event::Log(piece)))) => self.log(&piece),
                Poll::Ready(Some(Ok(Event::End { trouble: None })) | None) => {
                    self.end();
                    return Poll::Ready(None);
                }
                Poll::Ready(Some(Ok(Event::End { trouble: Some(why) }))) => {
                    let error = Error::because(Kind::ProtocolViolation, why);
                    return Poll::Ready(Some(Err(self.fail(error))));
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(self.fail(error)))),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Passes on what has come of the request's body, as long as there is room.
    fn poll_input(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        while let (Some(input), Some(exchange)) = (&mut self.input, &mut self.exchange) {
            if exchange.poll_room(context).is_pending() {
                return Ok(());
            }
            match input.poll_chunk(context) {
                Poll::Ready(Some(piece)) => exchange.send(&piece?),
                Poll::Ready(None) => {
                    exchange.finish();
                    self.input = None;
                }
                Poll::Pending => return Ok(()),
            }
        }
        Ok(())
    }

    fn log(&mut self, piece: &[u8]) {
        if self.logged >= LOGGED {
            return;
        }
        self.logged += piece.len();
        self.lines.buffer().extend_from_slice(piece);
    }

    /// The answer is complete, or can't be.
    fn end(&mut self) {
        (self.exchange, self.input) = (None, None);
        let (sink, last) = (&mut self.sink, &mut self.last);
        self.lines.take_rest(|line| tell(sink, last, line));
    }

    fn fail(&mut self, mut error: Error) -> Error {
        self.end();
        if error.last_lines.is_empty() {
            error.last_lines = self.last.iter().cloned().collect();
        }
        error
    }
}

fn tell(sink: &mut impl Sink, last: &mut VecDeque<String>, line: &[u8]) {
    if last.len() == KEPT {
        last.pop_front();
    }
    last.push_back(line[..line.len().min(KEPT_LINE)].escape_ascii().to_string());
    sink.line(line);
}

impl<P: Protocol<Head = Infallible>, I, S: Sink> std::fmt::Debug for Program<P, I, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("exchange", &self.exchange).finish_non_exhaustive()
    }
}
