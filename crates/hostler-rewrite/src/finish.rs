//! The meaning of the rules' result: in a server, where the URL is translated to a file; and in a directory, where a
//! request that already has a file continues as a request for another URL.

use crate::context::{Context, Options};
use crate::expand::Maps;
use crate::host::{Host, Need};
use crate::run::{Outcome, Progress, Run};
use crate::uri;
use hostler_expr::{Answer, FileTest, Place};

/// The result of a server's rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Translation {
    /// Nothing: translation goes on as without rules.
    Declined,
    /// Translation goes on with this path in the URL's place.
    PassThrough(Vec<u8>),
    /// A path below DocumentRoot.
    BelowDocumentRoot(Vec<u8>),
    /// A path of the file system.
    File(Vec<u8>),
    /// Another server answers for this URL; `raw`: it is not to be escaped, and the query is in it.
    Proxy {
        /// The URL.
        url: Vec<u8>,
        /// `NE`
        raw: bool,
    },
    /// A redirect.
    Redirect(u16, Vec<u8>),
    /// An answer of this status.
    Status(u16),
}

/// The result of a directory's rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fixup {
    /// Nothing.
    Declined,
    /// The same file again: the request goes on.
    Same,
    /// The request goes on as one for this target: path and query, not escaped.
    Internal(Vec<u8>),
    /// Another server answers for this URL, which is escaped, with the query.
    Proxy(Vec<u8>),
    /// A redirect.
    Redirect(u16, Vec<u8>),
    /// An answer of this status.
    Status(u16),
}

/// Rewriting of one request in one place, on its way. It outlives the waits for answers: whoever gets a [`Need`]
/// fetches what is needed and calls again.
#[derive(Debug, Default)]
pub struct Rewriting {
    progress: Progress,
    begun: bool,
    /// The file name and query of before.
    original: Vec<u8>,
    original_query: Option<Vec<u8>>,
}

impl Rewriting {
    /// Returns whether a rule with the flag `END` was the last one: no rules apply to the request any more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.progress.ended
    }

    /// Returns the place of the next rule.
    #[must_use]
    pub fn place<'c>(&self, context: &'c Context) -> Option<&'c Place> {
        context.rules.list().get(self.progress.at()).map(|rule| rule.place())
    }

    /// Carries out the rules of a server. [`Host::filename`] is the URL's path at the beginning.
    ///
    /// # Errors
    /// The answer that is needed first.
    pub fn translate(&mut self, context: &Context, host: &mut dyn Host) -> Result<Translation, Need> {
        let run = Run { rules: &context.rules, maps: &context.maps, directory: None };
        if !self.begun {
            let is_path = host.uri().first() == Some(&b'/');
            if !is_path && !context.has(Options::ALLOW_ANY_URI) {
                run.line(host, 8, |host| {
                    let why = b"' is not a URL-path. Consult the manual entry for the RewriteOptions directive for \
                                options and caveats about matching other strings.";
                    [b"Declining, request-URI '", host.unparsed_uri(), why].concat()
                });
                return Ok(Translation::Declined);
            }
            self.begin(host);
            run.line(host, 2, |host| [b"init rewrite engine with requested uri ", host.filename()].concat());
        }
        run.go_on(&mut self.progress, host)?;
        match self.progress.changed {
            Outcome::Not => {
                run.line(host, 1, |host| [b"pass through ", host.filename()].concat());
                Ok(Translation::Declined)
            }
            Outcome::Status(status) => Ok(Translation::Status(status)),
            Outcome::Yes | Outcome::NoEscape => self.translated(&run, context, host),
        }
    }

    fn begin(&mut self, host: &dyn Host) {
        self.begun = true;
        self.original = host.filename().to_vec();
        self.original_query = host.query().map(<[u8]>::to_vec);
    }

    fn translated(&self, run: &Run<'_>, context: &Context, host: &mut dyn Host) -> Result<Translation, Need> {
        if let Some(status) = self.unsafe_query(host) {
            return Ok(Translation::Status(status));
        }
        if self.progress.proxy {
            let raw = self.progress.changed == Outcome::NoEscape;
            run.line(host, 1, |host| {
                [b"go-ahead with proxy request proxy:", host.filename(), b" [OK]"].concat()
            });
            let url = if raw { with_query(host) } else { host.filename().to_vec() };
            return Ok(Translation::Proxy { url, raw });
        }
        if self.progress.pass_through {
            return Ok(Translation::PassThrough(host.filename().to_vec()));
        }
        if let Some((length, _)) = uri::scheme(host.filename()) {
            let (status, location) = self.redirect(run, length, host);
            return Ok(redirected(location, host)
                .map_or_else(Translation::Status, |it| Translation::Redirect(status, it)));
        }
        run.line(host, 2, |host| [b"local path result: ", host.filename()].concat());
        let path = host.filename().to_vec();
        if path.first() != Some(&b'/') {
            return Ok(Translation::Status(400));
        }
        let reduced = self.progress.reduced && !context.has(Options::LEGACY_PREFIX_DOC_ROOT);
        if !reduced && self.is_file_path(run, &path, host)? {
            run.line(host, 1, |_| [b"go-ahead with ", &path[..], b" [OK]"].concat());
            return Ok(Translation::File(path));
        }
        Ok(Translation::BelowDocumentRoot(path))
    }

    /// Returns whether a result is a path of the file system: its first segment is there, and the rule's author, not
    /// the client, has chosen it (`UnsafePrefixStat` lifts that).
    fn is_file_path(&self, run: &Run<'_>, path: &[u8], host: &dyn Host) -> Result<bool, Need> {
        let end = path.iter().skip(1).position(|byte| *byte == b'/').map_or(path.len(), |at| at + 1);
        let first = &path[..end];
        let rule = self.progress.last.map(|last| &run.rules.list()[last]);
        let chosen = rule.is_none_or(|rule| {
            let substitution = rule.substitution.as_ref().map_or("", |text| text.source());
            rule.flags.unsafe_prefix_stat
                || substitution.as_bytes().starts_with(first)
                || is_below(path, &host.document_root())
        });
        if !chosen || first == b"/" {
            return Ok(chosen);
        }
        match host.file_test(FileTest::Exists, first) {
            Answer::Ready(exists) => Ok(exists),
            Answer::Pending => Err(Need::File(first.to_vec())),
        }
    }

    /// Carries out the rules of a directory, whose options permit it, with its server's maps.
    ///
    /// # Errors
    /// The answer that is needed first.
    pub fn fix_up(&mut self, context: &Context, maps: &Maps, host: &mut dyn Host) -> Result<Fixup, Need> {
        let Some(directory) = context.directory.as_deref() else { return Ok(Fixup::Declined) };
        let run = Run { rules: &context.rules, maps, directory: Some(directory) };
        if !self.begun {
            self.begin(host);
        }
        run.go_on(&mut self.progress, host)?;
        match self.progress.changed {
            Outcome::Not => {
                run.line(host, 1, |host| [b"pass through ", host.filename()].concat());
                host.set_filename(self.original.clone());
                Ok(Fixup::Declined)
            }
            Outcome::Status(status) => Ok(Fixup::Status(status)),
            Outcome::Yes | Outcome::NoEscape => Ok(self.fixed(&run, context, directory, host)),
        }
    }

    fn fixed(&self, run: &Run<'_>, context: &Context, directory: &str, host: &mut dyn Host) -> Fixup {
        if let Some(status) = self.unsafe_query(host) {
            return Fixup::Status(status);
        }
        if self.progress.proxy {
            run.line(host, 1, |host| {
                [b"go-ahead with proxy request proxy:", host.filename(), b" [OK]"].concat()
            });
            return Fixup::Proxy(with_query(host));
        }
        if let Some((length, _)) = uri::scheme(host.filename()) {
            // Quirk(Apache): `PT` means nothing in a directory, but what it was to pass through has to be a path.
            if self.progress.pass_through {
                return Fixup::Status(400);
            }
            if let Some(base) = &context.base {
                replace_in_url(run, length, directory, base, host);
            }
            let (status, location) = self.redirect(run, length, host);
            return redirected(location, host).map_or_else(Fixup::Status, |it| Fixup::Redirect(status, it));
        }
        let path = host.filename().to_vec();
        if path.first() != Some(&b'/') {
            return Fixup::Status(400);
        }
        if path == self.original {
            run.line(host, 1, |_| {
                [b"initial URL equal rewritten URL: ", &path[..], b" [IGNORING REWRITE]"].concat()
            });
            return Fixup::Same;
        }
        let mut target = to_url(run, context, directory, path, host);
        run.line(host, 1, |_| [b"internal redirect with ", &target[..], b" [INTERNAL REDIRECT]"].concat());
        if let Some(query) = host.query() {
            target.push(b'?');
            target.extend_from_slice(query);
        }
        Fixup::Internal(target)
    }

    /// A query with raw spaces or control characters would break whatever it is handed to; a redirect escapes them.
    fn unsafe_query(&self, host: &mut dyn Host) -> Option<u16> {
        let escaped = self.progress.changed == Outcome::Yes && uri::scheme(host.filename()).is_some();
        let bad = !escaped && host.query().is_some_and(uri::has_controls_or_spaces);
        if bad {
            host.error("Rewritten query string contains control characters or spaces");
        }
        bad.then_some(403)
    }

    /// Status and location of a redirect to the absolute URL that the file name has become.
    fn redirect(&self, run: &Run<'_>, scheme: usize, host: &mut dyn Host) -> (u16, Vec<u8>) {
        let mut location = host.filename().to_vec();
        let no_escape = self.progress.changed == Outcome::NoEscape;
        if !no_escape {
            run.line(host, 1, |_| [b"escaping ", &location[..], b" for redirect"].concat());
            location = uri::escape_absolute(&location, scheme);
        }
        if let Some(query) = host.query().map(<[u8]>::to_vec) {
            let copied = no_escape || self.original_query.as_deref() == Some(&query);
            let escaped = if copied { query.clone() } else { uri::escape(&query) };
            run.line(host, 1, |_| {
                let how: &[u8] = if copied { b"copying" } else { b"escaping" };
                let to = if copied { &b""[..] } else { &escaped };
                [how, b" ", &query, b" to query string for redirect ", to].concat()
            });
            location.push(b'?');
            location.extend(escaped);
        }
        let status = self.progress.redirect.unwrap_or(302);
        run.line(host, 1, |_| {
            [b"redirect to ", &location[..], format!(" [REDIRECT/{status}]").as_bytes()].concat()
        });
        (status, location)
    }
}

/// The file name, and the query behind it.
fn with_query(host: &dyn Host) -> Vec<u8> {
    let mut url = host.filename().to_vec();
    if let Some(query) = host.query() {
        url.push(b'?');
        url.extend_from_slice(query);
    }
    url
}

/// A location, unless it has in it what would begin a field of its own.
fn redirected(location: Vec<u8>, host: &mut dyn Host) -> Result<Vec<u8>, u16> {
    if location.iter().any(|byte| *byte < b' ' || *byte == 0x7f) {
        host.error("a rule's redirect has a control character in its location");
        return Err(500);
    }
    Ok(location)
}

/// The directory's path in an absolute URL becomes RewriteBase: `RewriteRule ^a b [R]` has put it there.
fn replace_in_url(run: &Run<'_>, scheme: usize, directory: &str, base: &str, host: &mut dyn Host) {
    let url = host.filename().to_vec();
    let Some(slash) = memchr::memchr(b'/', &url[scheme..]) else { return };
    let (start, path) = url.split_at(scheme + slash + 1);
    if path.is_empty() {
        return;
    }
    run.line(host, 2, |_| format!("trying to replace prefix {directory} with {base}").into_bytes());
    let (old, new) =
        (directory.strip_prefix('/').unwrap_or(directory), base.strip_prefix('/').unwrap_or(base));
    if let Some(path) = replaced(run, path, old.as_bytes(), new.as_bytes(), host) {
        host.set_filename([start, &path].concat());
    }
}

fn replaced(run: &Run<'_>, path: &[u8], old: &[u8], new: &[u8], host: &mut dyn Host) -> Option<Vec<u8>> {
    let (result, rest) = uri::replace_prefix(path, old, new)?;
    run.line(host, 5, |_| [b"strip matching prefix: ", path, b" -> ", rest].concat());
    run.line(host, 4, |_| [b"add subst prefix: ", rest, b" -> ", &result].concat());
    Some(result)
}

/// The URL that stands for a path of the file system: by RewriteBase, by what has mapped the directory, or by
/// DocumentRoot; else the path is taken for a URL.
fn to_url(run: &Run<'_>, context: &Context, directory: &str, path: Vec<u8>, host: &mut dyn Host) -> Vec<u8> {
    let by = match &context.base {
        Some(base) => {
            run.line(host, 2, |_| format!("trying to replace prefix {directory} with {base}").into_bytes());
            replaced(run, &path, directory.as_bytes(), base.as_bytes(), host)
        }
        None => without_document_root(run, &path, host),
    };
    if let Some(url) = by {
        return url;
    }
    if context.has(Options::IGNORE_CONTEXT_INFO) {
        return path;
    }
    let (folder, prefix) = host.context();
    run.line(host, 2, |_| {
        [b"trying to replace context docroot ", &folder[..], b" with context prefix ", &prefix].concat()
    });
    // Quirk(apache): where the prefix is empty no slash is put before the rest, and that is no URL (400).
    replaced(run, &path, &folder, &prefix, host).unwrap_or(path)
}

/// The URL of a path below DocumentRoot.
fn without_document_root(run: &Run<'_>, path: &[u8], host: &mut dyn Host) -> Option<Vec<u8>> {
    let mut root = host.document_root();
    while root.ends_with(b"/") {
        root.pop();
    }
    let rest = path.strip_prefix(&root[..]).filter(|rest| rest.starts_with(b"/") && !root.is_empty())?;
    run.line(host, 2, |_| [b"strip document_root prefix: ", path, b" -> ", rest].concat());
    Some(rest.to_vec())
}

/// Returns whether a path is a directory or leads to something below it, without climbing out of it on the way.
fn is_below(path: &[u8], directory: &[u8]) -> bool {
    let directory = directory.strip_suffix(b"/").unwrap_or(directory);
    let rest = path.strip_prefix(directory).filter(|rest| rest.is_empty() || rest.starts_with(b"/"));
    rest.is_some_and(|rest| !rest.split(|byte| *byte == b'/').any(|segment| segment == b".."))
}
