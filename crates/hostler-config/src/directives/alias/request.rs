//! mod_alias's actions on a request: redirects and translation to a file. In Apache's order: [`redirect_early`],
//! [`translate`] when a path is mapped to a file, [`redirect_late`] among the fixups.

use super::escape::push_escaped_path;
use super::path::{clean_path, prefix_length};
use super::substitute::substitute;
use super::{Alias, Dir, LocationAlias, Matcher, Redirect, SectionRedirect, Server};
use hostler_expr::{Captures, EvalError, Host};

/// The values that the directives use.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The decoded path.
    pub path: &'a [u8],
    /// The query without its question mark.
    pub query: Option<&'a [u8]>,
    /// For `%{...}` in targets.
    pub host: &'a dyn Host,
}

/// A file that an alias leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translated<'a> {
    /// Absolute, not checked for existence.
    pub filename: Vec<u8>,
    /// CONTEXT_PREFIX and CONTEXT_DOCUMENT_ROOT, which Match forms do not set.
    pub context: Option<(&'a str, &'a str)>,
    /// The handler that ScriptAlias sets.
    pub handler: Option<&'static str>,
}

/// The response instead of serving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A redirect.
    Location {
        /// 3xx.
        status: u16,
        /// The URL, or, when `relative`, a path to which scheme and host have yet to be added.
        url: Vec<u8>,
        /// True if scheme and host are missing and wanted.
        relative: bool,
    },
    /// Another status.
    Status(u16),
    /// The configuration gave something that is no URL: 500, and this sentence for the error log.
    Broken(String),
}

/// The redirects of the server, and those without URL-path of the request's Location sections. They come
/// before any alias.
///
/// # Errors
/// [`EvalError::Pending`] when an expression needs more; any other is a 500.
pub fn redirect_early(server: &Server, dir: &Dir, request: Request<'_>) -> Result<Option<Answer>, EvalError> {
    if !matches!(request.path.first(), None | Some(b'/')) {
        return Ok(None);
    }
    redirect(&server.redirects, dir, request)
}

/// The redirects of the request's directory, in sections and .htaccess files.
///
/// # Errors
/// As [`redirect_early`].
pub fn redirect_late(dir: &Dir, request: Request<'_>) -> Result<Option<Answer>, EvalError> {
    redirect(&dir.redirects, dir, request)
}

/// The same with some of them; see [`Dir::late_redirects`].
///
/// # Errors
/// As [`redirect_early`].
pub fn redirect_late_among(
    some: &[Redirect],
    dir: &Dir,
    request: Request<'_>,
) -> Result<Option<Answer>, EvalError> {
    redirect(some, dir, request)
}

impl Dir {
    /// The redirects of a directory, in order.
    #[must_use]
    pub fn late_redirects(&self) -> &[Redirect] {
        &self.redirects
    }
}

fn redirect(list: &[Redirect], dir: &Dir, request: Request<'_>) -> Result<Option<Answer>, EvalError> {
    let relative = dir.relative == Some(true);
    if let Some(section) = &dir.redirect {
        let target = section.evaluate(request)?;
        return Ok(Some(answer(section.status, target, relative, request)));
    }
    for entry in list {
        if let Some(target) = entry.apply(request.path)? {
            return Ok(Some(answer(entry.status, target, relative, request)));
        }
    }
    Ok(None)
}

impl SectionRedirect {
    fn evaluate(&self, request: Request<'_>) -> Result<Vec<u8>, EvalError> {
        let Some(target) = &self.target else { return Ok(Vec::new()) };
        Ok(escaped_url(&target.string(request.host, &Captures::new())?))
    }
}

impl Redirect {
    /// The URL to go to if the redirect is meant, empty for a status without one.
    fn apply(&self, path: &[u8]) -> Result<Option<Vec<u8>>, EvalError> {
        let target = self.target.as_deref().unwrap_or_default().as_bytes();
        match &self.matcher {
            Matcher::Prefix(prefix) => Ok(prefix_length(path, prefix.as_bytes()).map(|length| {
                let mut url = target.to_vec();
                push_escaped_path(&path[length..], &mut url);
                url
            })),
            Matcher::Regex(regex) => {
                let mut captures = Captures::new();
                let found = regex.capture(path, &mut captures)?;
                Ok(found.then(|| escaped_url(&substitute(target, &captures))))
            }
        }
    }
}

/// Encodes the path of a URL, but neither its query nor its fragment, and leaves the scheme's usual port out.
fn escaped_url(url: &[u8]) -> Vec<u8> {
    let end = url.iter().position(|byte| matches!(byte, b'?' | b'#')).unwrap_or(url.len());
    let mut out = Vec::with_capacity(url.len() + 16);
    let (base, port) = without_usual_port(&url[..end]);
    push_escaped_path(base, &mut out);
    push_escaped_path(port, &mut out);
    // A regular expression can bring decoded control characters here. No header may carry them.
    for byte in &url[end..] {
        if byte.is_ascii_control() { push_escaped_path(&[*byte], &mut out) } else { out.push(*byte) }
    }
    out
}

/// Splits `http://host:80/path` into `http://host` and `/path`.
fn without_usual_port(url: &[u8]) -> (&[u8], &[u8]) {
    for (scheme, port) in [(&b"http://"[..], &b":80"[..]), (b"https://", b":443"), (b"ftp://", b":21")] {
        if url.len() > scheme.len() && url[..scheme.len()].eq_ignore_ascii_case(scheme) {
            let slash = url[scheme.len()..].iter().position(|byte| *byte == b'/');
            let end = slash.map_or(url.len(), |slash| scheme.len() + slash);
            if let Some(host) = url[..end].strip_suffix(port) {
                return (host, &url[end..]);
            }
        }
    }
    (url, b"")
}

fn answer(status: u16, mut url: Vec<u8>, keep_relative: bool, request: Request<'_>) -> Answer {
    if !(300..400).contains(&status) {
        return Answer::Status(status);
    }
    let is_path = url.first() == Some(&b'/');
    if !is_path && !is_url(&url) {
        let (path, url) = (String::from_utf8_lossy(request.path), String::from_utf8_lossy(&url));
        return Answer::Broken(format!(
            "cannot redirect {path} to \"{url}\", which is neither a URL nor begins with a slash"
        ));
    }
    if let Some(query) = request.query.filter(|_| !url.contains(&b'?')) {
        url.push(b'?');
        url.extend_from_slice(query);
    }
    Answer::Location { status, url, relative: is_path && !keep_relative }
}

/// Returns whether a text begins with a scheme and a colon.
pub(super) fn is_url(text: &[u8]) -> bool {
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    text.iter().position(|byte| !is_scheme(byte)).is_some_and(|end| end > 0 && text[end] == b':')
}

/// The file that an alias leads to, or `None` when the path is DocumentRoot's.
///
/// # Errors
/// [`EvalError::Pending`] when an expression needs more; any other is a 500.
pub fn translate<'a>(
    server: &'a Server,
    dir: &'a Dir,
    request: Request<'_>,
) -> Result<Option<Translated<'a>>, EvalError> {
    if !matches!(request.path.first(), None | Some(b'/')) {
        return Ok(None);
    }
    if let Some(alias) = &dir.alias {
        return alias.translate(dir.preserve_path == Some(true), request).map(Some);
    }
    for alias in &server.aliases {
        if let Some(found) = alias.translate(request.path)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

impl LocationAlias {
    fn translate(&self, preserve_path: bool, request: Request<'_>) -> Result<Translated<'_>, EvalError> {
        let mut filename = rooted(&self.root, self.target.string(request.host, &Captures::new())?);
        let location = self.location.as_deref().filter(|_| preserve_path);
        let covered = location.and_then(|location| prefix_length(request.path, location.as_bytes()));
        if let Some(covered) = covered {
            filename.extend_from_slice(&request.path[covered..]);
        }
        // Apache gives the evaluated path as CONTEXT_DOCUMENT_ROOT; a literal is its own value.
        let literal = self.target.literal().and_then(|text| std::str::from_utf8(text).ok());
        let context = covered.and(location.zip(literal));
        Ok(Translated { filename: clean_path(filename), context, handler: self.handler })
    }
}

impl Alias {
    fn translate(&self, path: &[u8]) -> Result<Option<Translated<'_>>, EvalError> {
        let target = self.target.as_bytes();
        let (filename, context) = match &self.matcher {
            Matcher::Prefix(prefix) => {
                let Some(length) = prefix_length(path, prefix.as_bytes()) else { return Ok(None) };
                ([target, &path[length..]].concat(), Some((&**prefix, &*self.target)))
            }
            Matcher::Regex(regex) => {
                let mut captures = Captures::new();
                let found = regex.capture(path, &mut captures)?;
                if !found {
                    return Ok(None);
                }
                (substitute(target, &captures), None)
            }
        };
        let filename = clean_path(rooted(&self.root, filename));
        Ok(Some(Translated { filename, context, handler: self.handler }))
    }
}

fn rooted(root: &str, path: Vec<u8>) -> Vec<u8> {
    if path.starts_with(b"/") { path } else { [root.as_bytes(), &path].concat() }
}
