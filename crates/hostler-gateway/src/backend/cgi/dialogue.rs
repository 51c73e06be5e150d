//! A program that lives on and is asked, a line for each question and a line for each answer (`RewriteMap prg:`).
//!
//! Question and answer belong together by nothing but their order. So whoever says more than one line for a question, or
//! anything unasked, is out of step, and nothing that it says can be trusted any more.

use super::stderr::Stderr;
use super::{Pipes, Sink, outputs};
use crate::supervisor::Process;
use hostler_wire::site::Exit;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe;

/// The time to wait for the exit of a program whose output has ended.
const FAREWELL: Duration = Duration::from_millis(250);

/// Why there is no answer. Nothing more can be asked then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// It has ended, or has closed its input or output.
    #[error("it has ended ({})", how.map_or_else(|| "nobody knows how".to_owned(), told))]
    Ended {
        /// How, if that is known.
        how: Option<Exit>,
    },
    /// It has said nothing for so long.
    #[error("it has not answered within {} s", after.as_secs_f32())]
    Silent {
        /// The time that it had.
        after: Duration,
    },
    /// No line of this many bytes has ended.
    #[error("its answer is longer than {longest} bytes, or has no end of line")]
    TooLong {
        /// The bound.
        longest: usize,
    },
    /// It has said something that nobody has asked for.
    #[error("it has written more than one line for a question")]
    OutOfStep,
}

fn told(how: Exit) -> String {
    match how {
        Exit::Status(status) => format!("exit status {status}"),
        Exit::Signal(signal) => format!("signal {signal}"),
    }
}

/// The program. Dropping it ends it.
pub struct Dialogue<P: Process, S: Sink> {
    stdin: pipe::Sender,
    stdout: pipe::Receiver,
    stderr: Stderr<S>,
    process: P,
    ended: bool,
}

impl<P: Process, S: Sink> Dialogue<P, S> {
    /// Takes over a program that has just been started, with [`Pipes`] that have an input.
    ///
    /// Must be called within a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// If the pipes can't be watched.
    pub fn new(pipes: Pipes, mut process: P, sink: S) -> io::Result<Self> {
        let Pipes { stdin, stdout, stderr } = pipes;
        let watch = || {
            let stdin = stdin.ok_or(io::ErrorKind::InvalidInput)?;
            Ok((pipe::Sender::from_owned_fd_unchecked(stdin)?, outputs(stdout, stderr, sink)?))
        };
        let (stdin, (stdout, stderr)) = watch().inspect_err(|_: &io::Error| process.kill())?;
        Ok(Self { stdin, stdout, stderr, process, ended: false })
    }

    /// Asks one line, without its end, and gives the answer's. The line must not have an end of line in it.
    ///
    /// # Errors
    /// [`Unanswered`]; the program is of no use then.
    pub async fn ask(
        &mut self,
        line: &[u8],
        longest: usize,
        patience: Duration,
    ) -> Result<Vec<u8>, Unanswered> {
        let question = [line, b"\n"].concat();
        let (mut sent, mut answer) = (0, Vec::new());
        let talk = poll_fn(|context| self.poll_ask(context, &question, &mut sent, &mut answer, longest));
        let said = match tokio::time::timeout(patience, talk).await {
            Ok(said) => said,
            Err(_) => Err(Unanswered::Silent { after: patience }),
        };
        match said {
            Ok(()) => Ok(answer),
            Err(Unanswered::Ended { .. }) => Err(Unanswered::Ended { how: self.farewell().await }),
            Err(why) => Err(why),
        }
    }

    /// The last error lines, of those that came.
    pub fn last_lines(&mut self) -> Vec<String> {
        self.stderr.finish();
        self.stderr.last_lines()
    }

    fn poll_ask(
        &mut self,
        context: &mut Context<'_>,
        question: &[u8],
        sent: &mut usize,
        answer: &mut Vec<u8>,
        longest: usize,
    ) -> Poll<Result<(), Unanswered>> {
        // A program that nobody listens to would wait, and not answer.
        let _ = self.stderr.poll(context);
        if *sent == 0 && self.has_spoken() {
            return Poll::Ready(Err(Unanswered::OutOfStep));
        }
        while *sent < question.len() {
            match ready!(Pin::new(&mut self.stdin).poll_write(context, &question[*sent..])) {
                Ok(written @ 1..) => *sent += written,
                _ => return Poll::Ready(Err(Unanswered::Ended { how: None })),
            }
        }
        loop {
            let mut space = [0; 4096];
            let mut buffer = ReadBuf::new(&mut space);
            let read = ready!(Pin::new(&mut self.stdout).poll_read(context, &mut buffer));
            let piece = buffer.filled();
            if read.is_err() || piece.is_empty() {
                return Poll::Ready(Err(Unanswered::Ended { how: None }));
            }
            let end = memchr::memchr(b'\n', piece);
            answer.extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
            if answer.len() > longest {
                return Poll::Ready(Err(Unanswered::TooLong { longest }));
            }
            if let Some(end) = end {
                let alone = end + 1 == piece.len();
                return Poll::Ready(if alone { Ok(()) } else { Err(Unanswered::OutOfStep) });
            }
        }
    }

    /// Returns whether it has said something before it was asked.
    fn has_spoken(&self) -> bool {
        use std::os::fd::AsFd as _;
        // The kernel is asked: the runtime may not have heard of it yet.
        rustix::io::read(self.stdout.as_fd(), &mut [0_u8; 1]).is_ok_and(|bytes| bytes > 0)
    }

    #[cfg(test)]
    pub(super) fn stdout_has_more(&self) -> bool {
        use std::os::fd::AsFd as _;
        rustix::io::ioctl_fionread(self.stdout.as_fd()).is_ok_and(|bytes| bytes > 0)
    }

    async fn farewell(&mut self) -> Option<Exit> {
        let exit = poll_fn(|context| self.process.poll_exit(context));
        let exit = tokio::time::timeout(FAREWELL, exit).await.ok()?;
        self.ended = true;
        exit
    }
}

impl<P: Process, S: Sink> Drop for Dialogue<P, S> {
    fn drop(&mut self) {
        if !self.ended {
            self.process.kill();
        }
    }
}
