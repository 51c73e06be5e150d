//! Rewriting's interface to the request: the [`Host`] trait.

use crate::variable::{Ahead, Variable};
use hostler_expr::{Answer, FileTest, Place, Variable as Core};
use std::borrow::Cow;

/// A value to fetch, or a step to take, before rewriting can continue. The rule that needs it continues afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing: the time slice is over, or a match is postponed.
    Turn,
    /// Tests the file at a path.
    File(Vec<u8>),
    /// The result of a sub-request (`-U`, `-F`).
    Subrequest(Ahead, Vec<u8>),
    /// The value that a variable would have in a sub-request (`LA-U:`, `LA-F:`).
    Ahead(Ahead, Vec<u8>, Box<Variable>),
    /// A map's value.
    Map(Box<str>, Vec<u8>),
    /// The question of an expression.
    Expression(Box<hostler_expr::Question>),
}

/// A sub-request's end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LookupResult {
    /// Its status; 200 if nothing is wrong.
    pub status: u16,
    /// The file that it has come to.
    pub filename: Vec<u8>,
    /// True if something stands there.
    pub exists: bool,
}

/// The outcome of a rule, for `hostler explain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The rule's place.
    pub place: Place,
    /// Its arguments.
    pub rule: Box<str>,
    /// The text that its pattern was matched with.
    pub input: Vec<u8>,
    /// Why it was not carried out; `None`: it was.
    pub why_not: Option<String>,
    /// Its effect, in words.
    pub did: String,
}

/// A request that is being rewritten. What begins with `set` or `add` changes it.
///
/// Answers that need I/O may be [`Answer::Pending`]; whoever drives the rules fetches them then and remembers them.
pub trait Host {
    /// `REQUEST_FILENAME`: what rules work on. In server context this is the path of the URL.
    fn filename(&self) -> &[u8];
    /// Returns the part of the path after the file.
    fn path_info(&self) -> &[u8];
    /// The query without its question mark.
    fn query(&self) -> Option<&[u8]>;
    /// The same, as rules look at it (`QUERY_STRING`).
    fn query_string(&self) -> Option<&[u8]> {
        self.query()
    }
    /// The path of the URL, decoded.
    fn uri(&self) -> &[u8];
    /// The request's target as the client sent it.
    fn unparsed_uri(&self) -> &[u8];
    /// Returns whether this is a part of another request.
    fn is_subrequest(&self) -> bool;

    /// A variable that expressions know too.
    fn variable(&self, variable: Core) -> Option<Cow<'_, [u8]>>;
    /// `SERVER_ADDR`
    fn server_address(&self) -> Option<Cow<'_, [u8]>>;
    /// A field of the request's header.
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>>;
    /// A note, or else a variable of the request, or else one of the server's own environment.
    fn env(&self, name: &str) -> Option<Cow<'_, [u8]>>;
    /// A variable of mod_ssl.
    fn ssl_variable(&self, name: &str) -> Option<Cow<'_, [u8]>>;
    /// Tests the file at a path.
    fn file_test(&self, test: FileTest, path: &[u8]) -> Answer<bool>;
    /// Returns the result of a sub-request; `None` where one must not be made.
    fn subrequest(&self, how: Ahead, target: &[u8]) -> Answer<Option<LookupResult>>;
    /// A variable's value in a sub-request for a path; `None` where one must not be made.
    fn look_ahead(&self, how: Ahead, path: &[u8], variable: &Variable) -> Answer<Option<Cow<'_, [u8]>>>;
    /// A map's value of a key; maps that are functions don't come here.
    fn map(&self, map: &str, key: &[u8]) -> Answer<Option<Cow<'_, [u8]>>>;
    /// For expressions.
    fn expressions(&self) -> &dyn hostler_expr::Host;
    /// `http` or `https`.
    fn scheme(&self) -> &str;
    /// The server's own URL without a path, as redirects have it: scheme, name, and port unless it is the usual one.
    fn own_url(&self) -> Vec<u8>;
    /// Returns whether a name and a port are this virtual host's.
    fn is_own(&self, host: &[u8], port: Option<u16>) -> bool;
    /// `DocumentRoot`
    fn document_root(&self) -> Vec<u8>;
    /// The folder and the URL's prefix that Alias and the like have mapped: `CONTEXT_DOCUMENT_ROOT`, `CONTEXT_PREFIX`.
    fn context(&self) -> (Vec<u8>, Vec<u8>);
    /// Returns whether to pause before the next rule or condition.
    fn is_overdue(&self) -> bool {
        false
    }
    /// A number that nobody foresees, for `rnd` maps.
    fn random(&self) -> u64 {
        0
    }
    /// Seconds since 1970 when the request came, for cookies.
    fn time(&self) -> i64;

    /// Sets what [`Host::filename`] gives.
    fn set_filename(&mut self, filename: Vec<u8>);
    /// Sets what [`Host::query`] gives.
    fn set_query(&mut self, query: Option<Vec<u8>>);
    /// Forgets what [`Host::path_info`] gives.
    fn discard_path_info(&mut self);
    /// Sets a variable of the request, or removes it.
    fn set_env(&mut self, name: &[u8], value: Option<Vec<u8>>);
    /// Returns whether a rule has set a cookie of this name for the request or one that it is a part of.
    fn has_cookie(&self, name: &[u8]) -> bool;
    /// Adds a `Set-Cookie` field to whatever answer there will be.
    fn add_cookie(&mut self, name: &[u8], field: Vec<u8>);
    /// The answer depends on a field of the request's header.
    fn add_vary(&mut self, header: &str);
    /// Sets the answer's media type, after all that others make of it.
    fn set_type(&mut self, mime_type: Vec<u8>);
    /// The same for the handler.
    fn set_handler(&mut self, handler: Vec<u8>);

    /// Returns the wanted level of the trace: 0 for none, up to 8.
    fn trace_level(&self) -> u8 {
        0
    }
    /// A line of the trace; `directory` is that of per-directory rules.
    fn trace(&mut self, _level: u8, _directory: Option<&str>, _text: &[u8]) {}
    /// An error for the log.
    fn error(&mut self, text: &str);
    /// Returns whether [`Host::explain`] is wanted.
    fn is_explained(&self) -> bool {
        false
    }
    /// Reports the outcome of a rule.
    fn explain(&mut self, _explained: Explanation) {}
}
