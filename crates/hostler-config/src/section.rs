//! Sections: a pattern for paths, files or URLs, and the configuration that applies where it matches.

use crate::{DirConfig, Origin};
use hostler_expr::{Expr, Regex};
use std::sync::Arc;

/// The family of a section; the families merge in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `<Directory>`, `<DirectoryMatch>`.
    Directory,
    /// `<Files>`, `<FilesMatch>`.
    Files,
    /// `<Location>`, `<LocationMatch>`.
    Location,
    /// `<If>`, `<ElseIf>`, `<Else>`.
    If,
    /// `<Proxy>`, `<ProxyMatch>`: of requests that another server answers, in the place of Directory.
    Proxy,
}

/// The target of a section.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// A path (no slash at the end, except `/` itself), file name or URL path.
    Plain(Box<[u8]>),
    /// A shell pattern; `*` and `?` do not match a slash.
    Glob(Box<[u8]>),
    /// A regular expression; its named groups become `MATCH_NAME` in the environment.
    Regex(Regex),
    /// If (condition only), ElseIf (both), Else (`otherwise` only).
    Condition {
        /// The condition.
        condition: Option<Expr>,
        /// Applies only when the section before it in the list did not.
        otherwise: bool,
    },
}

/// A section with its configuration.
#[derive(Clone, Debug)]
pub struct Section {
    /// Unique within a [`crate::Config`] (or one .htaccess file).
    pub id: u32,
    /// Family.
    pub kind: Kind,
    /// The target.
    pub pattern: Pattern,
    /// Its settings. Files and If sections inside it are in `conf.core`.
    pub conf: Arc<DirConfig>,
    /// Its first line.
    pub origin: Origin,
    /// Directory: number of path components (`/` has 0), by which they are sorted.
    pub depth: u32,
    /// The directives in it, in order, for `hostler explain`.
    pub settings: Vec<Setting>,
    /// As it was written: `<Directory "/srv/www">`.
    pub title: Box<str>,
}

/// A directive that took effect, for `hostler explain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Apache's spelling.
    pub directive: &'static str,
    /// The rest of the line.
    pub args: Box<str>,
    /// Its place.
    pub origin: Origin,
}

/// The methods that Apache knows by itself.
pub(crate) const METHODS: [&str; 27] = [
    "GET",
    "HEAD",
    "PUT",
    "POST",
    "DELETE",
    "CONNECT",
    "OPTIONS",
    "TRACE",
    "PATCH",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "VERSION-CONTROL",
    "CHECKOUT",
    "UNCHECKOUT",
    "CHECKIN",
    "UPDATE",
    "LABEL",
    "REPORT",
    "MKWORKSPACE",
    "MKACTIVITY",
    "BASELINE-CONTROL",
    "MERGE",
];

/// Methods of `<Limit>` and `<LimitExcept>`. GET includes HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodSet {
    /// `LimitExcept`: all but the methods.
    pub except: bool,
    /// The methods, as written.
    pub methods: Vec<Box<str>>,
}

impl MethodSet {
    /// Returns whether the directives inside apply to the method.
    #[must_use]
    pub fn contains(&self, method: &str) -> bool {
        let method = if method == "HEAD" { "GET" } else { method };
        self.methods.iter().any(|m| &**m == method || (method == "GET" && &**m == "HEAD")) != self.except
    }
}
