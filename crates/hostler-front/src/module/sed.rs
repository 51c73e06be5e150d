//! `SED` (mod_sed): an answer, or the body of a request, changed by a script. The language is
//! `hostler_config::directives::sed`'s; here is where bytes come from and go to.
//!
//! A line that can't be changed as the script says is a 500, or breaks off. The site's other work takes turns with it, each line
//! has the bound of a single rule, and what the script keeps counts for its site.
//!
//! **Diagnostics**: under `sed`.

use crate::hook::lead;
use crate::hook::registry::{Input, Module, Name, Output};
use crate::io::body::{Body, BodyError};
use crate::io::through::Through;
use crate::limits::budget::{self, Sideline};
use crate::limits::kept::Share;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::{Continue, Halt};
use bytes::Bytes;
use hostler_config::directives::sed::{Editor, Failed, Script};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

pub(crate) static MODULE: Module = Module {
    outputs: &[Output {
        name: Name::Own("SED"),
        sees_bodiless: false,
        run: |request, body, _| Box::pin(answer(request, body)),
    }],
    inputs: &[Input {
        name: Name::Own("SED"),
        run: |request, _| Box::pin(std::future::ready(posted(request))),
    }],
    ..Module::new("sed", |_| false)
};

/// Of lines that are changed before others get their turn, in bytes.
const TURN: usize = 8 << 10;

async fn answer(request: &mut Request, body: Body) -> Body {
    let Some(script) = request.resource.dir.sed.output.clone() else { return body };
    if matches!(body, Body::Empty) {
        return body;
    }
    request.reply.headers_out.unset("Content-Length");
    let is_stream = matches!(body, Body::Stream(_));
    match Edited::new(request, script) {
        Ok(mut edited) => {
            let mut source = body.into_stream();
            let answer = Through(move |cx: &mut Context<'_>| edited.poll(cx, |cx| source.poll_chunk(cx)));
            lead::begin(request, "sed", answer, is_stream).await
        }
        Err(why) => crate::hook::filter::failed(request, "sed", &why.0),
    }
}

fn posted(request: &mut Request) -> Continue {
    let Some(script) = request.resource.dir.sed.input.clone() else { return Ok(()) };
    let mut edited = Edited::new(request, script).map_err(|why| {
        log::request(request, Severity::Error, "sed", &why.0);
        Halt::Status(500)
    })?;
    request.target.body = std::mem::take(&mut request.target.body)
        .through(move |source, cx| edited.poll(cx, |cx| source.poll_chunk(cx)));
    Ok(())
}

/// A body on its way through a script.
struct Edited {
    editor: Editor,
    /// Input that the editor has not received yet.
    rest: Bytes,
    share: Share,
    sideline: Sideline,
    /// Nothing more comes from the source.
    ended: bool,
    over: bool,
}

impl Edited {
    fn new(request: &Request, script: Arc<Script>) -> Result<Self, Failed> {
        let (share, sideline) = (Share::of(request), Sideline::of(request));
        Ok(Self {
            editor: Editor::new(script)?,
            rest: Bytes::new(),
            share,
            sideline,
            ended: false,
            over: false,
        })
    }

    /// Changes lines that are there; whether there may be more of them.
    fn change(&mut self, out: &mut Vec<u8>) -> Result<bool, BodyError> {
        let Self { editor, ended, sideline, .. } = self;
        let changed = sideline.step(|| {
            let more = editor.step(TURN, out)?;
            if !more && *ended {
                editor.finish(out)?;
            }
            Ok(more)
        });
        let more = changed.map_err(|failed: Failed| BodyError::Filter(failed.0))?;
        self.share.reach(self.editor.kept())?;
        Ok(more)
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        mut source: impl FnMut(&mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>>,
    ) -> Poll<Option<Result<Bytes, BodyError>>> {
        while !self.over {
            ready!(self.sideline.poll_turn(cx));
            let (before, mut out) = (budget::thread_time(), Vec::new());
            let changed = self.change(&mut out);
            self.sideline.note(budget::thread_time().saturating_sub(before));
            let more = match changed {
                Ok(more) => more,
                Err(error) => {
                    self.over = true;
                    return Poll::Ready(Some(Err(error)));
                }
            };
            self.over = self.ended && !more;
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(out.into())));
            }
            if more || self.ended {
                continue;
            }
            if !self.rest.is_empty() {
                // However large the piece is, the editor has little more than its lines in memory.
                let piece = self.rest.split_to(self.rest.len().min(TURN));
                if let Err(failed) = self.editor.push(&piece) {
                    self.over = true;
                    return Poll::Ready(Some(Err(BodyError::Filter(failed.0))));
                }
                continue;
            }
            // Whoever makes the body is heard to its end, although the script may have quit.
            match ready!(source(cx)) {
                Some(Ok(piece)) => self.rest = piece,
                Some(Err(error)) => {
                    self.over = true;
                    return Poll::Ready(Some(Err(error)));
                }
                None => self.ended = true,
            }
        }
        Poll::Ready(None)
    }
}
