//! A CGI program's pipes: the request's body in, the answer and the error lines out, all three at once, so that
//! no order in which a program reads and writes can block it for ever.
//!
//! How the program is started, and what its answer means, is the caller's. Nothing is read ahead of whoever takes
//! the answer but for one bounded buffer, so a slow client slows the program down.

mod dialogue;
mod pipes;
mod stderr;
mod stdin;

pub use dialogue::{Dialogue, Unanswered};
pub use pipes::{Ends, Pipes};

use super::gathered::PieceQueue;
use super::timer::Timer;
use crate::RestOfLines;
use crate::supervisor::Process;
use crate::{Error, Kind, Origin};
use bytes::{Bytes, BytesMut};
use hostler_cgi::{Header, HeaderError, HeaderParser, Limits, NphHeader, NphParser, Progress};
use hostler_wire::site::Exit;
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;
use stderr::Stderr;
use stdin::Stdin;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::Instant;

/// The source of the request's body.
pub trait Input {
    /// The next piece; `None` at the end.
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>>;
}

/// The destination of the program's error lines.
pub trait Sink {
    /// A line without its end.
    fn line(&mut self, line: &[u8]);

    /// Many lines of a program that has ended. An event loop with other work takes them [in turns](RestOfLines::later).
    fn rest(&mut self, lines: RestOfLines) {
        lines.at_once(|line| self.line(line));
    }
}

/// The longest silence of an ended program's output while another process (one it left behind) still holds it open.
const HELD_OPEN: Duration = Duration::from_secs(2);
/// The time to wait after the end of the output for the program's exit status.
const FAREWELL: Duration = Duration::from_millis(250);
/// First space for reading output, in bytes; most answers are small.
const FIRST_READ: usize = 8 << 10;
/// Space for reading output once it turns out to be more; a pipe holds as much.
const NEXT_READ: usize = 64 << 10;

/// The time for which the output of a program without a proper header is read, if the output is wanted.
const HEARD_OUT: Duration = Duration::from_secs(1);

/// The beginning of a program's output.
#[derive(Debug, Default)]
struct OutputStart {
    bytes: Vec<u8>,
    most: usize,
}

impl OutputStart {
    fn is_full(&self) -> bool {
        self.bytes.len() >= self.most
    }

    fn add(&mut self, chunk: &[u8]) {
        let room = self.most.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }
}

/// Watches a program's output and its error lines.
fn outputs<S: Sink>(stdout: OwnedFd, stderr: OwnedFd, sink: S) -> io::Result<(pipe::Receiver, Stderr<S>)> {
    Ok((pipe::Receiver::from_owned_fd_unchecked(stdout)?, Stderr::new(stderr, sink)?))
}

/// The progress of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It may go on.
    Open,
    /// The program's output has ended, its process perhaps not.
    Closed(Instant),
    /// All is said.
    Over,
}

/// A conversation with a program.
pub struct Exchange<I, P: Process, S: Sink> {
    stdin: Option<Stdin<I>>,
    stdout: pipe::Receiver,
    buffer: BytesMut,
    space: usize,
    stderr: Stderr<S>,
    process: P,
    /// Known once the program has ended; the inner `None`: nobody can say how.
    exit: Option<Option<Exit>>,
    stage: Stage,
    /// Output that was read before anybody took it.
    gathered: PieceQueue,
    /// The beginning of what was said, where somebody wants to know it ([`Self::listen`]).
    heard: OutputStart,
    timeout: Duration,
    /// Since when the program has been the one to move; `None`: it has not been waited for.
    waiting: Option<Instant>,
    timer: Timer,
}

impl<I: Input, P: Process, S: Sink> Exchange<I, P, S> {
    /// Takes over the conversation with a program that has just been started. `timeout`: how long it may neither
    /// read nor write when it is its turn.
    ///
    /// Must be called within a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// [`Kind::System`] if the pipes can't be watched.
    pub fn new(
        pipes: Pipes,
        input: Option<I>,
        mut process: P,
        sink: S,
        timeout: Duration,
    ) -> Result<Self, Error> {
        let Pipes { stdin, stdout, stderr } = pipes;
        let stdin = stdin.zip(input).map(|(pipe, input)| Stdin::new(pipe, input));
        let (stdout, stderr) = outputs(stdout, stderr, sink).inspect_err(|_| process.kill())?;
        Ok(Self {
            stdin,
            stdout,
            buffer: BytesMut::new(),
            space: FIRST_READ,
            stderr,
            process,
            exit: None,
            stage: Stage::Open,
            gathered: PieceQueue::default(),
            heard: OutputStart::default(),
            timeout,
            waiting: None,
            timer: Timer::default(),
        })
    }

    /// Reads the answer's header (RFC 3875 §6.3).
    ///
    /// # Errors
    /// A cause of 4xx or 5xx; the program is killed if it still runs.
    pub async fn header(&mut self, limits: Limits) -> Result<Header, Error> {
        let mut parser = HeaderParser::new(limits);
        match self.parse(|bytes| parser.parse(bytes)).await? {
            true => Ok(parser.into_header()),
            false => Err(self.premature(&parser.ended())),
        }
    }

    /// Reads the header of an `nph-` program, where its answer is not passed on as it is.
    ///
    /// # Errors
    /// As [`Self::header`].
    pub async fn nph_header(&mut self, limits: Limits) -> Result<NphHeader, Error> {
        let mut parser = NphParser::new(limits);
        match self.parse(|bytes| parser.parse(bytes)).await? {
            true => Ok(parser.into_header()),
            false => Err(self.premature(&parser.ended())),
        }
    }

    /// Waits for the first output of a program whose answer is passed on as it is (`nph-`).
    ///
    /// # Errors
    /// As [`Self::header`]; [`Kind::NoHeader`] if there is none.
    pub async fn first(&mut self) -> Result<(), Error> {
        match poll_fn(|context| self.poll_output(context)).await {
            Some(chunk) => self.gathered.add(Ok(chunk?)),
            None => return Err(self.premature(&HeaderError::Nothing)),
        }
        Ok(())
    }

    /// Feeds a parser; false if the output ended first.
    async fn parse(&mut self, mut feed: impl FnMut(&[u8]) -> Progress) -> Result<bool, Error> {
        while let Some(chunk) = poll_fn(|context| self.poll_output(context)).await {
            let mut chunk = chunk?;
            self.heard.add(&chunk);
            match feed(&chunk) {
                Progress::More => {}
                Progress::Complete { consumed } => {
                    self.gathered.add(Ok(chunk.split_off(consumed)));
                    return Ok(true);
                }
                Progress::Failed(error) => {
                    self.hear_out().await;
                    return Err(self.fail(error.into()));
                }
            }
        }
        Ok(false)
    }

    /// Keeps the first `most` bytes of the output until its header is complete; if it turns out to be none, of what
    /// follows, too.
    pub fn listen(&mut self, most: usize) {
        self.heard.most = most;
    }

    /// Returns the output read so far.
    #[must_use]
    pub fn heard(&self) -> &[u8] {
        &self.heard.bytes
    }

    /// Reads on for a moment after an invalid header.
    async fn hear_out(&mut self) {
        let until = Instant::now() + HEARD_OUT;
        while !self.heard.is_full() {
            let next = tokio::time::timeout_at(until, poll_fn(|context| self.poll_output(context))).await;
            let Ok(Some(Ok(chunk))) = next else { return };
            self.heard.add(&chunk);
        }
    }

    /// The output has ended before its header: why, as far as the program's end tells.
    fn premature(&mut self, parsed: &HeaderError) -> Error {
        let mut error = match self.exit {
            Some(None) => unattended(),
            _ => Error::from(parsed.clone()),
        };
        match self.exit {
            Some(Some(Exit::Status(status))) if status != 0 && error.source.is_none() => {
                error.source = Some(format!("it exited with status {status}").into());
            }
            _ => {}
        }
        self.fail(error)
    }

    /// Reads on until the answer is complete, or more than `most` bytes of it are there, or `patience` is over;
    /// but as long as the program is still being sent its input, patience lasts.
    ///
    /// So short answers are known in full before they are sent (`true`, see [`Self::whole`]), and a request's
    /// body is given to the program before its answer begins, as clients expect who send first and read then.
    pub async fn gather(&mut self, most: usize, patience: Duration) -> bool {
        let mut patience = pin!(tokio::time::sleep(patience));
        poll_fn(|context| {
            while self.gathered.has_room(most) {
                match self.poll_output(context) {
                    Poll::Ready(Some(chunk)) => self.gathered.add(chunk),
                    Poll::Ready(None) => return Poll::Ready(true),
                    Poll::Pending if self.stdin.is_some() => return Poll::Pending,
                    Poll::Pending => return patience.as_mut().poll(context).map(|()| false),
                }
            }
            Poll::Ready(false)
        })
        .await
    }

    /// Sends the program its input until it has all of it or takes no more, while its output is gathered. Stops at more than
    /// `most` bytes of that: a program may wait for a reader before it reads on. Returns whether the input is done.
    ///
    /// # Errors
    /// The input broke off; the program is killed if it still runs.
    pub async fn give_input(&mut self, most: usize) -> Result<bool, Error> {
        poll_fn(|context| {
            while self.stdin.is_some() && self.gathered.has_room(most) {
                match self.poll_output(context) {
                    Poll::Ready(Some(Err(error))) if error.origin == Origin::Client => {
                        return Poll::Ready(Err(error));
                    }
                    Poll::Ready(Some(chunk)) => self.gathered.add(chunk),
                    Poll::Ready(None) => break,
                    Poll::Pending if self.stdin.is_some() => return Poll::Pending,
                    Poll::Pending => break,
                }
            }
            Poll::Ready(Ok(self.stdin.is_none()))
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

    /// The next piece of the answer, never empty; `None` at its end. After an error, which the program does not
    /// survive, there is nothing more.
    pub fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        match self.gathered.next() {
            Some(chunk) => Poll::Ready(Some(chunk)),
            None => self.poll_output(context),
        }
    }

    /// Moves everything that can be moved; gives the next piece of output.
    fn poll_output(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        if self.stage == Stage::Over {
            return Poll::Ready(None);
        }
        let polled = self.poll_moves(context);
        match polled {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(Some(chunk))) => {
                self.waiting = None;
                Poll::Ready(Some(Ok(chunk)))
            }
            Poll::Ready(Ok(None)) => {
                self.end();
                let mut error = match self.exit {
                    Some(Some(Exit::Signal(signal))) => killed(signal),
                    Some(None) => unattended(),
                    Some(Some(Exit::Status(_))) | None => return Poll::Ready(None),
                };
                error.last_lines = self.stderr.last_lines();
                Poll::Ready(Some(Err(error)))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Some(Err(self.fail(error)))),
        }
    }

    fn poll_moves(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Error>> {
        let mut moved = self.stderr.poll(context);
        if let Some(stdin) = &mut self.stdin {
            let step = stdin.poll(context);
            moved |= stdin.has_moved() || stdin.awaits_input();
            if let Poll::Ready(done) = step {
                // Closing it tells the program that the body is complete.
                self.stdin = None;
                done?;
            }
        }
        if self.exit.is_none()
            && let Poll::Ready(exit) = self.process.poll_exit(context)
        {
            self.exit = Some(exit);
        }
        if moved {
            self.waiting = None;
        }
        if self.stage == Stage::Open {
            match self.poll_read(context) {
                Poll::Ready(Ok(0)) => {
                    self.stdin = None;
                    self.stage = Stage::Closed(Instant::now());
                }
                Poll::Ready(Ok(_)) => return Poll::Ready(Ok(Some(self.buffer.split().freeze()))),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                Poll::Pending => return self.poll_patience(context).map(|()| self.out_of_patience()),
            }
        }
        self.poll_farewell(context).map(|()| Ok(None))
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<std::io::Result<usize>> {
        self.buffer.reserve(self.space);
        let read = pin!(self.stdout.read_buf(&mut self.buffer)).poll(context);
        if matches!(read, Poll::Ready(Ok(n)) if n >= self.space) {
            self.space = NEXT_READ;
        }
        read
    }

    /// Nothing can be read: how long that may go on.
    fn poll_patience(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let since = *self.waiting.get_or_insert_with(Instant::now);
        let patience = if self.exit.is_some() { HELD_OPEN.min(self.timeout) } else { self.timeout };
        self.timer.poll_due(since + patience, context)
    }

    /// A program that has ended is done, whoever still holds its output; one that hasn't is late.
    fn out_of_patience(&self) -> Result<Option<Bytes>, Error> {
        if self.exit.is_some() { Ok(None) } else { Err(Error::new(Kind::Timeout)) }
    }

    /// After the end of the output: a moment for the program's own end.
    fn poll_farewell(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self.stage {
            Stage::Closed(since) if self.exit.is_none() => self.timer.poll_due(since + FAREWELL, context),
            _ => Poll::Ready(()),
        }
    }

    /// The answer is complete.
    fn end(&mut self) {
        self.stage = Stage::Over;
        self.stdin = None;
        self.stderr.finish();
    }

    /// The answer can't be completed: the program is ended, if it has not ended by itself.
    fn fail(&mut self, mut error: Error) -> Error {
        if self.exit.is_none() {
            self.process.kill();
            self.exit = Some(None);
        }
        self.end();
        error.last_lines = self.stderr.last_lines();
        error
    }
}

/// Discards the rest of the response. A program whose output has ended may continue to work, though.
impl<I, P: Process, S: Sink> Drop for Exchange<I, P, S> {
    fn drop(&mut self) {
        if self.exit.is_none() && self.stage == Stage::Open {
            self.process.kill();
        }
    }
}

/// The error when the program's supervisor has exited, and the program with it: the response is incomplete.
fn unattended() -> Error {
    Error::new(Kind::SiteLost)
}

fn killed(signal: i32) -> Error {
    Error::because(Kind::Killed, crate::signal_name(signal))
}

#[cfg(test)]
mod tests;
