//! The values of core directives that are more than a number or a word.

use hostler_expr::Expr;

/// `ServerName [scheme://]host[:port]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerName {
    /// Lower case, if it was given.
    pub scheme: Option<String>,
    /// Lower case.
    pub host: String,
    /// Port, if it was given.
    pub port: Option<u16>,
}

/// `AcceptPathInfo`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcceptPathInfo {
    /// The handler decides: scripts accept, files do not.
    #[default]
    Default,
    /// Accepted.
    On,
    /// 404.
    Off,
}

/// `AllowEncodedSlashes`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EncodedSlashes {
    /// `%2F` in a path is 404.
    #[default]
    Off,
    /// Accepted and decoded.
    On,
    /// Accepted and left encoded.
    NoDecode,
}

/// `ErrorDocument`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorDocument {
    /// `default`: the server's own page.
    Default,
    /// A text to send.
    Text(Expr),
    /// A URL on this server (begins with a slash): internal redirect.
    Local(Expr),
    /// An absolute URL: the client is redirected.
    Remote(Expr),
}

/// `SetHandler`, `ForceType`: a word, or for the first an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// `None`: undoes what an outer section set.
    None,
    /// A fixed word.
    Word(String),
    /// A text with `%{...}` in it. Its value, like a word, is to be passed through [`Setting::word`].
    Expr(Expr),
}

impl Setting {
    /// Returns the meaning of an argument. Names are lower-cased, except after `proxy:`, where a path may follow.
    #[must_use]
    pub fn word(word: &str) -> Self {
        match word.to_ascii_lowercase() {
            name if name == "none" => Self::None,
            name if name.starts_with("proxy:") => Self::Word(word.to_owned()),
            name => Self::Word(name),
        }
    }
}

/// `AddDefaultCharset`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultCharset {
    /// None is added.
    Off,
    /// The name (`On`: `iso-8859-1`).
    Name(String),
}

/// `RLimitCPU`, `RLimitMEM`, `RLimitNPROC`. `None` is `max`: what the server itself may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rlimit {
    /// Soft limit.
    pub soft: Option<u64>,
    /// Hard limit; `None` also when only the soft limit was given.
    pub hard: Option<u64>,
}

/// `MaxRanges` and its relatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeLimit {
    /// No range requests, or (overlaps, reversals) none of them.
    None,
    /// So many.
    Count(u32),
    /// Any number.
    Unlimited,
}

/// `ServerTokens`: how much the `Server` header tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the directive's own words")]
pub enum ServerTokens {
    ProductOnly,
    Major,
    Minor,
    Minimal,
    Os,
    #[default]
    Full,
}

/// `ServerSignature`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signature {
    /// None.
    #[default]
    Off,
    /// Name, host and port.
    On,
    /// With a link to the administrator.
    Email,
}

/// `HostnameLookups`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostnameLookups {
    /// Addresses only.
    #[default]
    Off,
    /// Names.
    On,
    /// Names, confirmed by a forward lookup.
    Double,
}

/// `UseCanonicalName`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CanonicalName {
    /// The name that the client sent.
    #[default]
    Off,
    /// ServerName.
    On,
    /// Reverse lookup of the address.
    Dns,
}

/// `TraceEnable`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trace {
    /// 405.
    Off,
    /// Answered.
    #[default]
    On,
    /// Answered, with a body.
    Extended,
}

/// `HttpProtocolOptions`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HttpProtocol {
    /// `Strict` (default) or `Unsafe`.
    pub lenient: Option<bool>,
    /// `RegisteredMethods`: only those; default `LenientMethods`.
    pub registered_methods: Option<bool>,
    /// `Require1.0`: no HTTP/0.9; default `Allow0.9`.
    pub require_1_0: Option<bool>,
}

/// One stage of `RequestReadTimeout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadTimeout {
    /// Seconds; 0: no limit.
    pub seconds: u32,
    /// The limit may grow to so many seconds while data arrives; `None`: without bound if there is a rate.
    pub most: Option<u32>,
    /// Bytes per second that earn more time; 0: nothing does.
    pub min_rate: u32,
}

/// `RequestReadTimeout`, by stage; `None`: not configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadTimeouts {
    /// TLS handshake. Default: no limit.
    pub handshake: Option<ReadTimeout>,
    /// Request header. Default: `20-40,MinRate=500`.
    pub header: Option<ReadTimeout>,
    /// Request body. Default: `20,MinRate=500`.
    pub body: Option<ReadTimeout>,
}

/// `FileETag`: what an entity tag is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EtagParts {
    /// Inode number.
    pub inode: bool,
    /// Time of the last change.
    pub mtime: bool,
    /// Size.
    pub size: bool,
    /// Digest of the contents.
    pub digest: bool,
}

impl EtagParts {
    /// No tag at all.
    pub const NONE: Self = Self { inode: false, mtime: false, size: false, digest: false };
    /// `MTime Size`
    pub const DEFAULT: Self = Self { inode: false, mtime: true, size: true, digest: false };

    /// Every part changed by `change`, given the part of `other`.
    pub(super) fn zip(self, other: Self, change: impl Fn(bool, bool) -> bool) -> Self {
        Self {
            inode: change(self.inode, other.inode),
            mtime: change(self.mtime, other.mtime),
            size: change(self.size, other.size),
            digest: change(self.digest, other.digest),
        }
    }
}

/// A `FileETag` of a section: absolute, or changes to what the outer sections say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileEtag {
    /// `None`: only `+` and `-`.
    pub(super) absolute: Option<EtagParts>,
    pub(super) added: EtagParts,
    pub(super) removed: EtagParts,
}

impl Default for FileEtag {
    fn default() -> Self {
        Self { absolute: None, added: EtagParts::NONE, removed: EtagParts::NONE }
    }
}

impl FileEtag {
    /// Returns the parts of tags; [`EtagParts::NONE`]: no tags.
    #[must_use]
    pub fn parts(self) -> EtagParts {
        // Quirk(Apache): without a list there is none that anything could be taken from, and `+` begins an empty one.
        if self.absolute.is_none() && self.added == EtagParts::NONE {
            return EtagParts::DEFAULT;
        }
        let base = self.absolute.unwrap_or(EtagParts::NONE);
        base.zip(self.removed, |on, off| on && !off).zip(self.added, |on, more| on || more)
    }

    pub(super) fn merge(self, over: Self) -> Self {
        if over.absolute.is_some() {
            return over;
        }
        let added = self.added.zip(over.removed, |on, off| on && !off).zip(over.added, |on, more| on || more);
        let removed =
            self.removed.zip(over.added, |off, on| off && !on).zip(over.removed, |off, more| off || more);
        Self { absolute: self.absolute, added, removed }
    }
}

/// mod_http2's directives that Hostler follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Http2 {
    /// `H2MaxSessionStreams` (default 100).
    pub max_session_streams: Option<u32>,
    /// `H2WindowSize`, bytes (default 65535).
    pub window_size: Option<u32>,
    /// `H2MaxHeaderBlockLen`, bytes.
    pub max_header_block: Option<u32>,
    /// `H2Direct`: prior knowledge on plain connections.
    pub direct: Option<bool>,
    /// `H2StreamTimeout`, milliseconds.
    pub stream_timeout: Option<u64>,
}

/// `AssignUserID`, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignUser {
    /// A name or `#uid`.
    pub user: String,
    /// A name or `#gid`.
    pub group: String,
}

/// `LimitUIDRange`, `LimitGIDRange`: the identities that sites may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdRange {
    /// Smallest.
    pub least: u32,
    /// Largest.
    pub most: u32,
}
