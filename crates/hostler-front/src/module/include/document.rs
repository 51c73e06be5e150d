//! One document that is being expanded: it runs until it wants something that has to be waited for. Includes of
//! remembered plain files don't stop it.

use super::fetch::is_replayed;
use super::host::View;
use super::output::Sink;
use super::page::Parsed;
use super::plain;
use super::room::Share;
use super::variables::Variables;
use crate::limits::budget;
use crate::request::Request;
use crate::request::expr_host::RequestHost;
use crate::request::settings;
use crate::site::files::Site;
use hostler_config::directives::alias::escape_path;
use hostler_expr::effort;
use hostler_ssi::{Answer, FileReference, Need, Run, Step};
use std::rc::Rc;

/// A document that is being expanded.
pub(super) struct Document {
    run: Run,
    /// The memory that the page takes.
    _taken: Rc<Share>,
    /// `None`: the page that was asked for.
    request: Option<Box<Request>>,
    /// Directory of the document's URL, escaped, with a slash at its end; made when a relative target is met.
    base: Option<Vec<u8>>,
    /// True if sub-requests may be one deeper than the document.
    pub(super) may_include: bool,
    /// Version of the variables that the document's request has.
    stored: Option<u32>,
}

/// A need that has to be waited for. Virtual targets are absolute.
pub(super) enum SlowNeed {
    Virtual { target: Vec<u8>, text_only: bool },
    File { target: Vec<u8>, text_only: bool },
    Command(Vec<u8>),
    Cgi(Vec<u8>),
    FactsOfVirtual(Vec<u8>),
    FactsOfFile(Vec<u8>),
}

/// Why a document stopped.
pub(super) enum Outcome {
    Ended,
    Full,
    /// The request has failed.
    Failed,
    SlowNeed(SlowNeed),
}

impl Document {
    /// `request`: the sub-request for it; `None`: it is `page` itself.
    pub(super) fn new(parsed: &Parsed, request: Option<Box<Request>>, page: &Request) -> Self {
        let run = Run::new(parsed.page.clone(), parsed.settings.clone());
        let depth = u32::from(request.as_deref().unwrap_or(page).depth());
        let may_include = depth < settings::recursion(&page.server).1.max(1);
        Self { run, _taken: parsed.taken.clone(), request, base: None, may_include, stored: None }
    }

    /// The request for the document.
    pub(super) fn request<'a>(&'a self, page: &'a Request) -> &'a Request {
        self.request.as_deref().unwrap_or(page)
    }

    pub(super) fn resume(&mut self, answer: Answer) {
        self.run.resume(answer);
    }

    /// Lets sub-requests inherit what pages have set.
    pub(super) fn store(&mut self, page: &mut Request, variables: &Variables) {
        let mut table = std::mem::take(&mut self.request.as_deref_mut().unwrap_or(page).env);
        variables.store(page, &mut table, &mut self.stored);
        self.request.as_deref_mut().unwrap_or(page).env = table;
    }

    /// Runs until it stops. `name` is room for a target's name.
    pub(super) async fn run(
        &mut self,
        page: &Request,
        variables: &mut Variables,
        site: &Site,
        name: &mut Vec<u8>,
        sink: &mut Sink,
    ) -> Outcome {
        let Self { run, request, base, may_include, .. } = self;
        let document = request.as_deref().unwrap_or(page);
        let mut expression = RequestHost::new(document);
        loop {
            let mut view = View { variables, page, document, expression: &expression };
            let need = match effort::resumable(|| run.step(&mut view, sink)) {
                Step::Done => return Outcome::Ended,
                Step::Full => match budget::turn(page).await {
                    Err(_) => return Outcome::Failed,
                    Ok(()) if sink.has_enough() => return Outcome::Full,
                    Ok(()) => continue,
                },
                Step::Need(need) => need,
            };
            let wanted = match need {
                Need::Include { reference: FileReference::Virtual, target, text_only } => {
                    let base = absolute(document, base, target);
                    plain::key(document.server.id, base, target, name);
                    let same_for_all = *may_include && !is_replayed(document);
                    if same_for_all && plain::include(name, site, text_only, &mut sink.bytes) {
                        run.resume(Answer::Done);
                        continue;
                    }
                    SlowNeed::Virtual { target: url(base, target), text_only }
                }
                Need::Include { reference: FileReference::File, target, text_only } => {
                    SlowNeed::File { target: target.to_vec(), text_only }
                }
                Need::Command { command } => SlowNeed::Command(command.to_vec()),
                Need::Cgi { target } => SlowNeed::Cgi(url(absolute(document, base, target), target)),
                Need::File { reference: FileReference::Virtual, target, .. } => {
                    SlowNeed::FactsOfVirtual(url(absolute(document, base, target), target))
                }
                Need::File { reference: FileReference::File, target, .. } => {
                    SlowNeed::FactsOfFile(target.to_vec())
                }
                Need::Expression(question) => {
                    let question = question.clone();
                    Box::pin(expression.fetch(&question)).await;
                    run.resume(Answer::Done);
                    continue;
                }
            };
            return Outcome::SlowNeed(wanted);
        }
    }
}

/// A URL with its base, and without a fragment, which is of no concern to a server.
fn url(base: &[u8], target: &[u8]) -> Vec<u8> {
    let end = memchr::memchr(b'#', target).unwrap_or(target.len());
    [base, &target[..end]].concat()
}

/// Returns the prefix that makes a target absolute: the directory of the document's URL, or nothing.
fn absolute<'a>(document: &Request, base: &'a mut Option<Vec<u8>>, target: &[u8]) -> &'a [u8] {
    if target.starts_with(b"/") {
        return b"";
    }
    base.get_or_insert_with(|| {
        let end = memchr::memrchr(b'/', &document.target.uri).map_or(0, |at| at + 1);
        escape_path(&document.target.uri[..end])
    })
}
