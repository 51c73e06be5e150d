//! The elements' needs from outside their document: sub-requests that walk the request path again, so that all access
//! rules apply, and programs.

use super::document::SlowNeed;
use super::page;
use super::page::Parsed;
use super::variables::{Variables, unescaped};
use super::{is_allowed, is_filtered, plain};
use crate::hook::{filter, handler};
use crate::hook::{follow, walk};
use crate::io::body::{Body, BodyStream};
use crate::limits::kept;
use crate::module::alias;
use crate::module::cgi;
use crate::request::flow::Halt;
use crate::request::reply::Marks;
use crate::request::settings;
use crate::request::{self, Request};
use crate::site::files::Site;
use bytes::Bytes;
use hostler_ssi::{Answer, shell_escape};
use std::rc::Rc;

/// The content found for an element.
pub(super) enum ElementContent {
    Answer(Answer),
    /// All of a body.
    Whole(Bytes),
    Stream(Box<dyn BodyStream>),
    /// A page, to be expanded in its turn.
    Page(Box<Request>, Rc<Parsed>),
}

/// The surroundings of an element.
pub(super) struct Around<'a> {
    pub(super) page: &'a Request,
    pub(super) document: &'a Request,
    pub(super) variables: &'a Variables,
    pub(super) site: &'a Site,
    /// True if sub-requests may be one deeper than the document.
    pub(super) may_include: bool,
}

/// A failure is a sentence for the log.
type Fetched = Result<ElementContent, String>;

impl Around<'_> {
    /// Brings what is wanted; `key` names it if it is a virtual target.
    pub(super) async fn fetch(&self, wanted: SlowNeed, key: &[u8]) -> Fetched {
        if !self.may_include && !matches!(wanted, SlowNeed::Command(_)) {
            let limit = settings::recursion(&self.document.server).1;
            return Err(format!(
                "more than {limit} sub-requests inside of each other (LimitInternalRecursion)"
            ));
        }
        match wanted {
            SlowNeed::Virtual { target, text_only } => self.virtual_target(&target, text_only, key).await,
            SlowNeed::File { target, text_only } => {
                let sub = self.look_up_file(&target).await?;
                found(self.run(sub, None, text_only).await?).await
            }
            SlowNeed::Command(command) => self.command(&command).await,
            SlowNeed::Cgi(target) => self.cgi(&target).await,
            SlowNeed::FactsOfVirtual(target) => facts(&self.look_up(&target).await?),
            SlowNeed::FactsOfFile(target) => facts(&self.look_up_file(&target).await?),
        }
    }

    async fn virtual_target(&self, target: &[u8], text_only: bool, key: &[u8]) -> Fetched {
        let (sub, phases) = if is_replayed(self.document) {
            walk::look_up_with(self.document, self.document.target.method.clone(), target).await
        } else {
            walk::look_up(self.document, target).await
        };
        // A directory's rules may lead a sub-request elsewhere, as any other request.
        let (sub, onward) = match phases {
            Err(onward @ Halt::Redirect { .. }) => (sub, Some(onward)),
            phases => (checked((sub, phases))?, None),
        };
        let is_led = onward.is_some();
        let (sub, body) = self.run(sub, onward, text_only).await?;
        if !is_led && !is_replayed(self.document) && !crate::hook::filter::are_any(&sub) {
            plain::remember(key, self.site, &sub, &body);
        }
        found((sub, body)).await
    }

    async fn look_up(&self, target: &[u8]) -> Result<Request, String> {
        checked(walk::look_up(self.document, target).await)
    }

    /// A file by its path below the document's directory.
    async fn look_up_file(&self, path: &[u8]) -> Result<Request, String> {
        let limit = settings::recursion(&self.document.server).1.max(1);
        if u32::from(self.document.depth()) >= limit {
            return Err(format!(
                "more than {limit} sub-requests inside of each other (LimitInternalRecursion)"
            ));
        }
        let file = [directory(self.document), b"/", path].concat();
        let sub = checked(Box::pin(walk::look_up_file(self.document, &file)).await)?;
        if sub.resource.found.is_directory() {
            return Err("it is a directory".into());
        }
        Ok(sub)
    }

    /// Runs the handler of a sub-request, or goes `onward` in its place, following redirects within the server.
    async fn run(
        &self,
        mut sub: Request,
        onward: Option<Halt>,
        text_only: bool,
    ) -> Result<(Request, Body), String> {
        let kind = sub.resource.content_type.as_deref();
        if text_only && kind.is_some_and(|kind| !kind.starts_with(b"text/")) {
            return Err("it could be a program: its media type is not text (Options IncludesNOEXEC)".into());
        }
        if sub.resource.handler.as_deref().is_some_and(|name| handler::settles(&sub, name)) {
            sub.main = Some(Rc::new(self.document.clone()));
        }
        if sub.resource.handler.is_some()
            || kind.is_some_and(|kind| kind.starts_with(b"application/x-httpd-"))
        {
            self.variables.inherit(self.page, &mut sub.env);
        }
        if onward.is_some() {
            sub.main = Some(Rc::new(self.document.clone()));
            self.variables.inherit(self.page, &mut sub.env);
        }
        let outcome = match onward {
            Some(onward) => Err(onward),
            None => Box::pin(handler::invoke(&mut sub)).await,
        };
        let (sub, outcome) = follow::follow(sub, outcome, |_| {}).await;
        match outcome {
            Ok(body) | Err(Halt::Done(body)) => Ok((sub, body)),
            Err(Halt::Status(status)) => Err(format!("status {status}")),
            Err(Halt::Redirect { .. }) => Err("too many internal redirects (LimitInternalRecursion)".into()),
        }
    }

    /// `exec cmd`: all variables of the page, and path info and query of the document.
    async fn command(&self, command: &[u8]) -> Fetched {
        let document = self.document;
        let mut environment = self.variables.for_programs(self.page);
        if !document.resource.path_info.is_empty() {
            let mut escaped = Vec::new();
            shell_escape(&document.resource.path_info, &mut escaped);
            environment.set("PATH_INFO", escaped);
            if let Some(translated) = alias::translate_only(document, &document.resource.path_info).await {
                environment.set("PATH_TRANSLATED", translated);
            }
        }
        if let Some(query) = &document.target.args {
            environment.set("QUERY_STRING", &query[..]);
            environment.set("QUERY_STRING_UNESCAPED", unescaped(query));
        }
        let body = Box::pin(cgi::exec_cmd(document, command, directory(document), environment)).await?;
        Ok(of_body(body))
    }

    async fn cgi(&self, target: &[u8]) -> Fetched {
        let mut document = self.document.clone();
        self.variables.inherit(self.page, &mut document.env);
        match Box::pin(cgi::exec_cgi(&document, target)).await? {
            cgi::ExecOutcome::Body(sub, body) => found((*sub, body)).await,
            cgi::ExecOutcome::Location(url) => Ok(ElementContent::Answer(Answer::Location(url.to_vec()))),
        }
    }
}

/// Returns whether virtual targets get the document's method and body (`KeptBodySize`).
pub(super) fn is_replayed(document: &Request) -> bool {
    document.target.body.again().is_some()
}

/// Directory of the document's file, without a slash at its end.
fn directory(document: &Request) -> &[u8] {
    let end = memchr::memrchr(b'/', &document.resource.filename).unwrap_or(0);
    &document.resource.filename[..end]
}

fn checked((sub, phase): (Request, crate::request::flow::Continue)) -> Result<Request, String> {
    match phase {
        Ok(()) => Ok(sub),
        Err(Halt::Status(status)) => Err(format!("status {status}")),
        Err(Halt::Redirect { .. }) => Err("it is redirected to another URL".into()),
        Err(Halt::Done(_)) => Err("it is answered before any handler".into()),
    }
}

/// Handles a sub-request's result: a page is put on the stack.
async fn found((mut sub, body): (Request, Body)) -> Fetched {
    let body = filter::run(&mut sub, body, filter::RESOURCE).await;
    if sub.budget.has_failed() {
        return Err("a filter has failed".into());
    }
    let parsed = match &sub.resource.found {
        request::FileEntry::File(_, Ok(file)) if sub.reply.marks.have(Marks::NESTED) => {
            page::parsed(&sub, file).await.map_err(|refused| format!("it {}", refused.why))?
        }
        _ if is_filtered(&sub) && is_allowed(&sub) => {
            let text = kept::collect(&sub, body, page::LONGEST as usize).await;
            let text = text.map_err(|error| error.to_string())?;
            Rc::new(page::of_text(&sub, text).await.map_err(|refused| format!("it {}", refused.why))?)
        }
        _ => return Ok(of_body(body)),
    };
    Ok(ElementContent::Page(Box::new(sub), parsed))
}

fn of_body(body: Body) -> ElementContent {
    match body {
        Body::Empty => ElementContent::Whole(Bytes::new()),
        Body::Bytes(bytes) => ElementContent::Whole(bytes),
        other => ElementContent::Stream(other.into_stream()),
    }
}

/// `fsize`, `flastmod`.
fn facts(sub: &Request) -> Fetched {
    let Some(info) = sub.resource.found.info() else { return Err("nothing is there".into()) };
    Ok(ElementContent::Answer(Answer::File { size: Some(info.size), modified: info.mtime }))
}
