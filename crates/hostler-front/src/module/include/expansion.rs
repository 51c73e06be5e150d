//! The documents that are being expanded, each included by the one before it, as an explicit stack: so an expansion
//! can stop anywhere, be kept, and go on when the client has taken what there is.

use super::document::{Document, Outcome, SlowNeed};
use super::fetch::{Around, ElementContent};
use super::output::Sink;
use super::page::Parsed;
use super::variables::Variables;
use crate::io::body::{BodyError, BodyStream};
use crate::limits::budget;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::site::files::Site;
use hostler_expr::effort;
use hostler_ssi::Answer;
use std::future::poll_fn;
use std::rc::Rc;

/// Sub-requests of one request, and how many of them may fail. Depth alone does not bound a page that includes itself
/// twice.
const MOST_INCLUDED: u32 = 1 << 16;
const MOST_FAILED: u32 = 1000;
/// About what one costs, in nanoseconds.
const SUB_REQUEST: usize = 20_000;
/// After so many elements that had to be asked for, other requests get their turn.
const TURN: u32 = 64;

/// The progress of an expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Done,
    /// The sink is full.
    Full,
    /// The next element takes time, and there is output to send meanwhile.
    Waiting,
    /// The request has failed: there will be no more.
    Failed,
}

/// A page on its way to the client.
pub(super) struct Expansion {
    frames: Vec<Frame>,
    variables: Variables,
    site: Rc<Site>,
    included: u32,
    failed: u32,
    /// Room for the name of a target.
    target: Vec<u8>,
}

enum Frame {
    Document(Box<Document>),
    /// The output of a program, or a file that is no page; whether some of it is there already.
    Body(Box<dyn BodyStream>, bool),
}

impl Expansion {
    /// The expansion of the page that `request` asks for.
    pub(super) async fn new(request: &Request, parsed: &Parsed) -> Self {
        let translated = match &request.resource.path_info[..] {
            [] => None,
            path_info => crate::module::alias::translate_only(request, path_info).await,
        };
        Self {
            frames: vec![Frame::Document(Box::new(Document::new(parsed, None, request)))],
            variables: Variables::new(translated),
            site: request.thread.site(&request.server),
            included: 0,
            failed: 0,
            target: Vec::new(),
        }
    }

    /// Goes on until the end, or until something should be sent.
    pub(super) async fn advance(&mut self, page: &mut Request, sink: &mut Sink) -> Progress {
        loop {
            if sink.has_enough() {
                return Progress::Full;
            }
            if budget::turn(page).await.is_err() {
                return Progress::Failed;
            }
            let Self { frames, variables, site, target, .. } = self;
            match frames.last_mut() {
                None => return Progress::Done,
                Some(Frame::Body(stream, begun)) => match piece(stream.as_mut(), sink).await {
                    Piece::Some => *begun = true,
                    Piece::End => self.end(Answer::Done),
                    Piece::Late => return Progress::Waiting,
                    Piece::Broken(error) => {
                        let answer =
                            if *begun { broken(page, &error) } else { Answer::Failed(error.to_string()) };
                        self.end(answer);
                    }
                },
                Some(Frame::Document(document)) => {
                    match document.run(page, variables, site, target, sink).await {
                        Outcome::Ended => self.end(Answer::Done),
                        Outcome::Full => return Progress::Full,
                        Outcome::Failed => return Progress::Failed,
                        Outcome::SlowNeed(wanted) => self.fulfil(page, wanted, sink).await,
                    }
                }
            }
        }
    }

    /// Leaves what pages have set in the request's environment, where header directives and logs look for it.
    pub(super) fn leave_variables(&self, page: &mut Request) {
        self.variables.leave(&mut page.env);
    }

    /// The innermost frame is at its end; the document around it gets `answer`.
    fn end(&mut self, answer: Answer) {
        self.frames.pop();
        self.answer(answer);
    }

    fn answer(&mut self, answer: Answer) {
        if let Some(Frame::Document(document)) = self.frames.last_mut() {
            document.resume(answer);
        }
    }

    /// Brings what the innermost document wants, or puts it on the stack.
    async fn fulfil(&mut self, page: &mut Request, wanted: SlowNeed, sink: &mut Sink) {
        self.included += 1;
        let _ = effort::spend(SUB_REQUEST);
        if self.included.is_multiple_of(TURN) {
            tokio::task::yield_now().await;
        }
        if self.included > MOST_INCLUDED || self.failed > MOST_FAILED {
            self.answer(Answer::Failed("the page has too many such elements".into()));
            return;
        }
        let Self { frames, variables, site, target, .. } = self;
        let Some(Frame::Document(document)) = frames.last_mut() else { return };
        document.store(page, variables);
        let around = Around {
            page,
            document: document.request(page),
            variables,
            site,
            may_include: document.may_include,
        };
        match around.fetch(wanted, target).await {
            Err(reason) => {
                self.failed += 1;
                self.answer(Answer::Failed(reason));
            }
            Ok(ElementContent::Answer(answer)) => self.answer(answer),
            Ok(ElementContent::Whole(content)) => {
                sink.bytes.extend_from_slice(&content);
                self.answer(Answer::Done);
            }
            Ok(ElementContent::Stream(stream)) => frames.push(Frame::Body(stream, false)),
            Ok(ElementContent::Page(request, parsed)) => {
                if let Some(query) = &request.target.args {
                    variables.set_query(query);
                }
                frames.push(Frame::Document(Box::new(Document::new(&parsed, Some(request), page))));
            }
        }
    }
}

enum Piece {
    Some,
    End,
    /// Nothing comes for a while.
    Late,
    Broken(BodyError),
}

/// The next piece of a body.
async fn piece(stream: &mut dyn BodyStream, sink: &mut Sink) -> Piece {
    let next = poll_fn(|cx| stream.poll_chunk(cx));
    let piece = if sink.bytes.is_empty() {
        next.await
    } else {
        match tokio::time::timeout(sink.patience, next).await {
            Ok(piece) => piece,
            Err(_) => return Piece::Late,
        }
    };
    match piece {
        None => Piece::End,
        Some(Err(error)) => Piece::Broken(error),
        Some(Ok(bytes)) => {
            sink.bytes.extend_from_slice(&bytes);
            Piece::Some
        }
    }
}

/// A part of what was included is there already, so nothing can be shown in its place.
fn broken(page: &Request, error: &BodyError) -> Answer {
    let file = String::from_utf8_lossy(&page.resource.filename);
    log::request(
        page,
        Severity::Error,
        "include",
        &format!("what was included in {file} broke off: {error}"),
    );
    Answer::Done
}
