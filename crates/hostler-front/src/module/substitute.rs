//! `SUBSTITUTE` (mod_substitute): an answer changed line by line, as it comes. What the rules say is
//! `hostler_config::directives::substitute`'s; here is where lines come from and go to.
//!
//! An answer whose first lines can't be changed is a 500; one that has begun breaks off: what the rules were to take out
//! must not go through. The site's other work takes turns with it, and each line has the bound of a single rule.
//!
//! **Diagnostics**: under `substitute`.

use crate::hook::lead;
use crate::hook::registry::{Module, Name, Output};
use crate::io::body::{Body, BodyError, BodyStream};
use crate::limits::budget::{self, Sideline};
use crate::request::Request;
use crate::request::reply::Marks;
use bytes::Bytes;
use hostler_config::DirConfig;
use hostler_config::directives::substitute::{Changing, LONGEST};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

pub(crate) static MODULE: Module = Module {
    outputs: &[Output {
        name: Name::Own("SUBSTITUTE"),
        sees_bodiless: false,
        run: |request, body, _| Box::pin(changed(request, body)),
    }],
    ..Module::new("substitute", |_| false)
};

/// Of lines that are changed before others get their turn, in bytes; and of what becomes of them, and how long that takes: a
/// short line can become a long one.
const TURN: usize = 32 << 10;
const MADE: usize = 64 << 10;
const SLICE: Duration = Duration::from_millis(1);
/// Most slices of a single line.
const MOST_SLICES: u32 = 500;

async fn changed(request: &mut Request, body: Body) -> Body {
    if matches!(body, Body::Empty) || request.resource.dir.substitute.rules.is_empty() {
        return body;
    }
    request.reply.headers_out.unset("Content-Length");
    request.reply.marks.set(Marks::UNRANGED);
    let is_stream = matches!(body, Body::Stream(_));
    let lines = Lines::new(request, body.into_stream());
    lead::begin(request, "substitute", lines, is_stream).await
}

/// A body on its way through the rules.
struct Lines {
    source: Box<dyn BodyStream>,
    dir: Arc<DirConfig>,
    /// Input that was not changed yet; the part before `at` was.
    lines: Vec<u8>,
    at: usize,
    ended: bool,
    /// The line that is being changed, and how many slices of time it has had.
    changing: Option<(Changing, u32)>,
    sideline: Sideline,
}

impl Lines {
    fn new(request: &Request, source: Box<dyn BodyStream>) -> Self {
        let (dir, sideline) = (request.resource.dir.clone(), Sideline::of(request));
        Self { source, dir, lines: Vec::new(), at: 0, ended: false, changing: None, sideline }
    }

    fn check(&self, length: usize) -> Result<(), BodyError> {
        let longest = self.dir.substitute.longest.unwrap_or(LONGEST);
        if length <= longest {
            return Ok(());
        }
        let why = format!("AH01328: Line too long: more than {longest} bytes (SubstituteMaxLineLength)");
        Err(BodyError::Filter(why))
    }

    /// Changes lines that are there, some at a time, and of a long one a part.
    fn change(&mut self) -> Result<Vec<u8>, BodyError> {
        let mut out = Vec::new();
        let (begin, since) = (self.at, Instant::now());
        while self.at - begin < TURN && out.len() < MADE && since.elapsed() < SLICE {
            let Some((mut line, slices)) = self.next_line()? else { break };
            let rules = &self.dir.substitute;
            let changed = self.sideline.step(|| line.step(rules, || since.elapsed() < SLICE));
            match changed.map_err(|failed| BodyError::Filter(failed.0))? {
                Some(changed) => out.extend(changed),
                None if slices >= MOST_SLICES => {
                    return Err(BodyError::Filter("a line takes too long".to_owned()));
                }
                None => self.changing = Some((line, slices + 1)),
            }
        }
        Ok(out)
    }

    /// The line that is being changed, or the next one that is whole.
    fn next_line(&mut self) -> Result<Option<(Changing, u32)>, BodyError> {
        if let Some(begun) = self.changing.take() {
            return Ok(Some(begun));
        }
        let rest = &self.lines[self.at..];
        let end = match memchr::memchr(b'\n', rest) {
            Some(end) => end + 1,
            None if self.ended => rest.len(),
            None => 0,
        };
        if end == 0 {
            return Ok(None);
        }
        self.check(end)?;
        let line = Changing::new(&rest[..end]);
        self.at += end;
        Ok(Some((line, 0)))
    }
}

impl BodyStream for Lines {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            ready!(self.sideline.poll_turn(cx));
            let before = budget::thread_time();
            let out = self.change();
            self.sideline.note(budget::thread_time().saturating_sub(before));
            let out = match out {
                Ok(out) => out,
                Err(error) => return Poll::Ready(Some(Err(error))),
            };
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(out.into())));
            }
            // Lines that were changed to nothing may be followed by others.
            if self.changing.is_some() || memchr::memchr(b'\n', &self.lines[self.at..]).is_some() {
                continue;
            }
            if self.ended && self.at == self.lines.len() {
                return Poll::Ready(None);
            }
            self.lines.drain(..self.at);
            self.at = 0;
            if self.ended {
                continue;
            }
            match ready!(self.source.poll_chunk(cx)) {
                Some(Ok(piece)) => self.lines.extend_from_slice(&piece),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => self.ended = true,
            }
            let first = memchr::memchr(b'\n', &self.lines).unwrap_or(self.lines.len());
            if let Err(error) = self.check(first) {
                return Poll::Ready(Some(Err(error)));
            }
        }
    }
}
