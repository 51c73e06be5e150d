//! The questions of an expression about a request (`<If>`, `Require expr`, `expr=`, `%{...}`).
//!
//! Expressions don't wait: when one needs a file or a sub-request, evaluation stops, the answer is fetched, and
//! it is evaluated again with the answers so far.

use crate::limits::{budget, kept};
use crate::request::Request;
use crate::site::files::AccessFiles;
use bytes::Bytes;
use hostler_expr::{
    Answer, Captures, EvalError, Expr, FileError, FileTest, Host, Place, Question, SubrequestTest, Variable,
    effort,
};
use hostler_wire::site::FileKind;
use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;
use std::net::IpAddr;
use std::ops::Deref;
use std::pin::Pin;

/// Answers fetched for an evaluation.
#[derive(Default)]
struct FetchCache {
    files: HashMap<Vec<u8>, FileFacts>,
    contents: HashMap<Vec<u8>, Result<Bytes, FileError>>,
    subrequests: HashMap<(SubrequestTest, Vec<u8>), bool>,
    /// Something was looked at that may change unnoticed.
    fleeting: bool,
}

#[derive(Clone, Copy, Default)]
struct FileFacts {
    info: Option<hostler_wire::site::FileInfo>,
    link: bool,
    /// The answer holds while the site's epoch does.
    lasting: bool,
}

/// A request as expressions see it; `R` is `&Request`, or `&mut Request` for rules that also change it.
pub(crate) struct RequestHost<R> {
    pub(crate) request: R,
    fetched: FetchCache,
}

impl<R: Deref<Target = Request>> RequestHost<R> {
    pub(crate) fn new(request: R) -> Self {
        Self { request, fetched: FetchCache::default() }
    }

    /// Returns whether all files that were looked at stay as they are while the site's epoch does.
    pub(crate) fn is_lasting(&self) -> bool {
        !self.fetched.fleeting
    }

    /// Fetches the answer to a question, so that evaluation can be tried again.
    pub(crate) async fn fetch(&mut self, question: &Question) {
        match question {
            Question::File(_, path) | Question::FileSize(path) | Question::FileModified(path) => {
                let facts = look(&self.request, path).await;
                self.fetched.fleeting |= !facts.lasting;
                self.fetched.files.insert(path.clone(), facts);
            }
            Question::FileContents(path) => {
                let content = contents(&self.request, path).await;
                self.fetched.contents.insert(path.clone(), content);
            }
            Question::Subrequest(test, target) => {
                let outcome = subrequest(&self.request, *test, target).await;
                self.fetched.subrequests.insert((*test, target.clone()), outcome);
            }
            // Whoever evaluates again sees whether the request has failed.
            Question::Turn => drop(budget::turn(&self.request).await),
            // Never asked for: we answer these at once.
            Question::Variable(_) | Question::List(..) => {}
        }
    }
}

/// Evaluates a condition.
pub(crate) async fn test(request: &Request, expr: &Expr, captures: &mut Captures) -> Result<bool, EvalError> {
    *captures = std::mem::take(captures).and_progress();
    evaluated(request, expr.place(), |host| expr.test(host, captures)).await
}

/// Runs `f` until it no longer asks for something that has to be fetched.
pub(crate) async fn with_host<T>(
    request: &Request,
    f: impl FnMut(&RequestHost<&Request>) -> Result<T, EvalError>,
) -> Result<T, EvalError> {
    evaluated(request, None, f).await
}

/// The same for what stands at `place`.
async fn evaluated<T>(
    request: &Request,
    place: Option<&Place>,
    mut f: impl FnMut(&RequestHost<&Request>) -> Result<T, EvalError>,
) -> Result<T, EvalError> {
    let mut host = RequestHost::new(request);
    loop {
        match effort::resumable(|| f(&host)) {
            Err(EvalError::Pending(question)) => {
                request.budget.is_at(place);
                Box::pin(host.fetch(&question)).await;
            }
            done => return done,
        }
    }
}

async fn look(request: &Request, path: &[u8]) -> FileFacts {
    let Some(facts) = walk(request, path).await else { return FileFacts::default() };
    let lasting = facts.lasting;
    if facts.walked.stopped.is_some() {
        return FileFacts { info: None, link: facts.walked.stopped_link.is_some(), lasting };
    }
    let last = facts.walked.levels.last();
    FileFacts { info: last.map(|l| l.info), link: last.is_some_and(|l| l.link_owner.is_some()), lasting }
}

/// Returns whether there is anything at a path that the site's user can reach, and whether that stays so while the
/// site's epoch does.
pub(crate) async fn stands(request: &Request, path: &[u8]) -> (bool, bool) {
    let facts = look(request, path).await;
    (facts.info.is_some(), facts.lasting)
}

/// Returns whether there is anything at a path that the site's user can reach.
pub(crate) async fn exists(request: &Request, path: &[u8]) -> bool {
    look(request, path).await.info.is_some()
}

/// Returns whether there is a directory at a path that the site's user can reach.
pub(crate) async fn is_directory(request: &Request, path: &[u8]) -> bool {
    look(request, path).await.info.is_some_and(|info| info.kind == FileKind::Directory)
}

/// The size of a file; `None`: there is none that the site's user can reach.
pub(crate) async fn size(request: &Request, path: &[u8]) -> Option<u64> {
    look(request, path).await.info.filter(|info| info.kind == FileKind::Regular).map(|info| info.size)
}

async fn contents(request: &Request, path: &[u8]) -> Result<Bytes, FileError> {
    let facts = walk(request, path).await.ok_or(FileError::Unreadable)?;
    let file = facts.file.as_ref().ok_or(FileError::Unreadable)?;
    if file.info.size > Expr::MAX_FILE_SIZE {
        return Err(FileError::TooLarge);
    }
    let text = kept::read(request, file, Expr::MAX_FILE_SIZE).await;
    text.ok().flatten().ok_or(FileError::Unreadable)
}

/// The path as the site's user sees it; only whole paths count.
async fn walk(request: &Request, path: &[u8]) -> Option<std::rc::Rc<crate::site::files::Facts>> {
    if path.first() != Some(&b'/') || path.contains(&0) {
        return None;
    }
    let path = hostler_config::directives::alias::clean_path(path.to_vec());
    let trimmed = path.strip_suffix(b"/").unwrap_or(&path);
    let site = request.site();
    let facts = site.walk(trimmed, &AccessFiles::none()).await.ok()?;
    let components = trimmed.iter().filter(|&&b| b == b'/').count();
    (facts.walked.stopped.is_some() || facts.walked.levels.len() > components).then_some(facts)
}

/// The means to find out whether a URL of the server, or a file, may be seen: the request's walk, a layer above this
/// one.
#[derive(Clone, Copy)]
pub(crate) struct Walk {
    pub(crate) url: LookUp,
    pub(crate) file: LookUp,
}

type LookUp = for<'a> fn(&'a Request, &'a [u8]) -> Pin<Box<dyn Future<Output = bool> + 'a>>;

async fn subrequest(request: &Request, test: SubrequestTest, target: &[u8]) -> bool {
    let walk = request.thread.shared.walk;
    match test {
        SubrequestTest::Uri => (walk.url)(request, target).await,
        SubrequestTest::File => (walk.file)(request, target).await,
    }
}

fn owned(value: impl Into<Vec<u8>>) -> Option<Cow<'static, [u8]>> {
    Some(Cow::Owned(value.into()))
}

impl<R: Deref<Target = Request>> Host for RequestHost<R> {
    fn variable(&self, variable: Variable) -> Answer<Option<Cow<'_, [u8]>>> {
        Answer::Ready(crate::request::variables::value(&self.request, variable))
    }

    fn ssl_variable(&self, name: &str) -> Answer<Option<Cow<'_, [u8]>>> {
        Answer::Ready(crate::request::ssl_lookup::value(&self.request, name))
    }

    /// `PeerExtList`, which is the only one: of the client's certificate.
    fn list(&self, _function: &str, argument: &[u8]) -> Answer<Vec<Vec<u8>>> {
        let tls = self.request.client.peer.tls.as_ref();
        let client = tls.and_then(|tls| tls.client.as_ref());
        Answer::Ready(client.map(|client| client.facts.extensions(argument)).unwrap_or_default())
    }

    fn request_header(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.request.target.headers_in.joined(name).and_then(|v| owned(v.to_vec()))
    }

    fn response_header(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        let request = &*self.request;
        request
            .reply
            .headers_out
            .find(name)
            .or_else(|| request.reply.err_headers_out.find(name))
            .map(|v| Cow::Borrowed(&**v))
    }

    fn note(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.request.notes.find(name).map(|v| Cow::Borrowed(&**v))
    }

    fn request_env<'a>(&'a self, name: &[u8], _: &'a Captures) -> Option<Cow<'a, [u8]>> {
        self.request.env.find(name).map(|v| Cow::Borrowed(&**v))
    }

    /// The operator's environment, as far as the configuration names its variables: the front's own is empty.
    fn os_env(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        let facts = &self.request.thread.shared.config.facts;
        let value = facts.variable(std::str::from_utf8(name).ok()?, self.request.server.origin)?;
        Some(Cow::Borrowed(value.as_bytes()))
    }

    fn varies_on(&self, header: &[u8]) {
        self.request.reply.varies.borrow_mut().push(Bytes::copy_from_slice(header));
    }

    fn file_test(&self, test: FileTest, path: &[u8]) -> Answer<bool> {
        use hostler_wire::site::FileKind;
        let Some(facts) = self.fetched.files.get(path) else { return Answer::Pending };
        Answer::Ready(match (test, facts.info) {
            (FileTest::SymbolicLink, _) => facts.link,
            (_, None) => false,
            (FileTest::Directory, Some(info)) => info.kind == FileKind::Directory,
            (FileTest::Exists, Some(_)) => true,
            (FileTest::Regular, Some(info)) => info.kind == FileKind::Regular,
            (FileTest::NotEmpty, Some(info)) => info.kind == FileKind::Regular && info.size > 0,
            (FileTest::Executable, Some(info)) => info.mode & 0o111 != 0,
        })
    }

    fn file_contents(&self, path: &[u8]) -> Answer<Result<Cow<'_, [u8]>, FileError>> {
        match self.fetched.contents.get(path) {
            None => Answer::Pending,
            Some(text) => Answer::Ready(text.as_deref().map(Cow::Borrowed).map_err(|why| *why)),
        }
    }

    fn file_size(&self, path: &[u8]) -> Answer<Option<u64>> {
        match self.fetched.files.get(path) {
            None => Answer::Pending,
            Some(facts) => Answer::Ready(facts.info.map(|i| i.size)),
        }
    }

    fn file_modified(&self, path: &[u8]) -> Answer<Option<u64>> {
        match self.fetched.files.get(path) {
            None => Answer::Pending,
            Some(facts) => Answer::Ready(
                facts.info.map(|i| i.mtime.max(0) as u64 * 1_000_000 + u64::from(i.mtime_nsec) / 1000),
            ),
        }
    }

    fn subrequest(&self, test: SubrequestTest, target: &[u8]) -> Answer<bool> {
        self.fetched
            .subrequests
            .get(&(test, target.to_vec()))
            .map_or(Answer::Pending, |ok| Answer::Ready(*ok))
    }

    fn remote_ip(&self) -> Option<IpAddr> {
        Some(self.request.client.peer.remote.ip())
    }
}
