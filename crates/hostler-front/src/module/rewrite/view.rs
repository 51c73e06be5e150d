//! A request as rules see it.

use super::fetch::Fetched;
use super::{HANDLER, TYPE};
use crate::limits::budget;
use crate::log;
use crate::request::expr_host::RequestHost;
use crate::request::looks::Looks;
use crate::request::{Request, settings, variables};
use bytes::Bytes;
use hostler_config::directives::log_config::Level;
use hostler_expr::{Answer, FileTest, Host as _, Variable as Core, effort};
use hostler_rewrite::{Ahead, Host, LookupResult, Maps, Variable};
use std::borrow::Cow;
use std::cell::Cell;

/// Most variables that rules may set, and the longest value in bytes.
const MOST_VARIABLES: usize = 4096;
const LONGEST_VALUE: usize = 64 << 10;
/// Cookies that rules may set.
const MOST_COOKIES: usize = 64;

/// Levels of the trace.
const LEVELS: [Level; 8] = [
    Level::Trace1,
    Level::Trace2,
    Level::Trace3,
    Level::Trace4,
    Level::Trace5,
    Level::Trace6,
    Level::Trace7,
    Level::Trace8,
];

/// A request, and what was fetched for its rules.
pub(super) struct View<'a> {
    pub(super) host: RequestHost<&'a mut Request>,
    pub(super) fetched: Fetched,
    pub(super) maps: &'a Maps,
    level: u8,
    looks: Cell<Looks>,
}

impl<'a> View<'a> {
    pub(super) fn new(request: &'a mut Request, maps: &'a Maps) -> Self {
        let wanted = |level: &&Level| log::is_written(request, **level, "rewrite");
        let level = LEVELS.iter().take_while(wanted).count() as u8;
        Self {
            host: RequestHost::new(request),
            fetched: Fetched::default(),
            maps,
            level,
            looks: Cell::default(),
        }
    }

    /// Returns what rules have looked at, and whether their findings hold while the site's epoch does.
    pub(super) fn looks(&self) -> (Looks, bool) {
        (self.looks.get(), self.host.is_lasting())
    }

    fn mark(&self, looks: Looks) {
        self.looks.set(self.looks.get().and(looks));
    }

    fn request(&self) -> &Request {
        &*self.host.request
    }

    /// Tells of a rule that can't be carried out. What it would have done may be what access depends on.
    fn fail(&self, reason: &str) {
        budget::fail_rule(self.request(), "rewrite", reason);
    }
}

/// A line of the trace, in the layout of Apache's.
pub(super) fn trace(request: &Request, level: u8, directory: Option<&str>, text: &[&[u8]]) {
    let Some(severity) = usize::from(level).checked_sub(1).and_then(|index| LEVELS.get(index)) else {
        return;
    };
    if !log::is_written(request, *severity, "rewrite") {
        return;
    }
    let user = request.user.as_deref().map_or("-".into(), String::from_utf8_lossy);
    let name = variables::server_name(request);
    let kind = if request.is_sub() { "subreq" } else { "initial" };
    let redirect =
        if request.redirects > 0 { format!("/redir#{}", request.redirects) } else { String::new() };
    let place = directory.map_or_else(String::new, |directory| format!("[perdir {directory}] "));
    let mut line = format!(
        "{} - {user} [{}/sid#{:x}][rid#{:x}/{kind}{redirect}] {place}",
        variables::remote_host(request),
        String::from_utf8_lossy(&name),
        request.server.id,
        request.number,
    )
    .into_bytes();
    text.iter().for_each(|text| line.extend_from_slice(text));
    log::request(request, *severity, "rewrite", &line);
}

impl Host for View<'_> {
    fn filename(&self) -> &[u8] {
        &self.request().resource.filename
    }

    fn path_info(&self) -> &[u8] {
        &self.request().resource.path_info
    }

    fn query(&self) -> Option<&[u8]> {
        self.request().target.args.as_deref()
    }

    fn query_string(&self) -> Option<&[u8]> {
        self.mark(Looks::LINE);
        self.query()
    }

    fn uri(&self) -> &[u8] {
        &self.request().target.uri
    }

    fn unparsed_uri(&self) -> &[u8] {
        self.mark(Looks::LINE);
        &self.request().client.target
    }

    fn is_subrequest(&self) -> bool {
        self.request().is_sub()
    }

    fn variable(&self, variable: Core) -> Option<Cow<'_, [u8]>> {
        self.mark(looks_of(variable));
        variables::value(self.request(), variable)
    }

    fn server_address(&self) -> Option<Cow<'_, [u8]>> {
        self.mark(Looks::MORE);
        Some(Cow::Owned(self.request().client.peer.local.ip().to_string().into_bytes()))
    }

    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        if name.eq_ignore_ascii_case("Authorization") {
            self.mark(Looks::AUTHORIZATION);
        } else if name.eq_ignore_ascii_case("User-Agent") {
            self.mark(Looks::AGENT);
        } else if !name.eq_ignore_ascii_case("Host") {
            self.mark(Looks::MORE);
        }
        self.host.request_header(name.as_bytes())
    }

    fn env(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let request = self.request();
        let known = request.notes.find(name).or_else(|| request.env.find(name));
        known.map(|value| Cow::Borrowed(&**value)).or_else(|| self.host.os_env(name.as_bytes()))
    }

    fn ssl_variable(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.mark(Looks::MORE);
        match self.host.ssl_variable(name) {
            Answer::Ready(value) => value,
            Answer::Pending => None,
        }
    }

    fn file_test(&self, test: FileTest, path: &[u8]) -> Answer<bool> {
        if path.first() != Some(&b'/') || path.contains(&0) {
            return Answer::Ready(false);
        }
        self.host.file_test(test, path)
    }

    fn subrequest(&self, how: Ahead, target: &[u8]) -> Answer<Option<LookupResult>> {
        self.mark(Looks::MORE);
        self.fetched.subrequest(how, target)
    }

    fn look_ahead(&self, how: Ahead, path: &[u8], variable: &Variable) -> Answer<Option<Cow<'_, [u8]>>> {
        self.mark(Looks::MORE);
        self.fetched.look_ahead(how, path, variable)
    }

    fn map(&self, map: &str, key: &[u8]) -> Answer<Option<Cow<'_, [u8]>>> {
        self.mark(Looks::MORE);
        self.fetched.map(map, key)
    }

    fn expressions(&self) -> &dyn hostler_expr::Host {
        self.mark(Looks::MORE);
        &self.host
    }

    fn scheme(&self) -> &str {
        self.request().scheme()
    }

    fn own_url(&self) -> Vec<u8> {
        variables::absolute_url(self.request(), b"")
    }

    fn is_own(&self, host: &[u8], port: Option<u16>) -> bool {
        let request = self.request();
        let core = &request.server.conf.core;
        let default = request.default_port();
        // Quirk(apache): a ServerName without a port is of none.
        if core.server_name.as_ref().and_then(|name| name.port) != Some(port.unwrap_or(default)) {
            return false;
        }
        let host = host.to_ascii_lowercase();
        let mut named = core.server_name.iter().map(|name| &name.host).chain(&core.aliases);
        named.any(|name| name.as_bytes() == host)
            || core.wild_aliases.iter().any(|name| hostler_http1::authority::glob(name.as_bytes(), &host))
    }

    fn document_root(&self) -> Vec<u8> {
        settings::root_of(self.request()).to_vec()
    }

    fn context(&self) -> (Vec<u8>, Vec<u8>) {
        let request = self.request();
        (variables::context_document_root(request), request.resource.context_prefix.clone())
    }

    fn is_overdue(&self) -> bool {
        let _ = effort::spend(200);
        budget::is_overdue() || self.request().budget.has_failed()
    }

    fn random(&self) -> u64 {
        self.mark(Looks::MORE);
        let request = self.request();
        let time = request
            .client
            .received
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |time| time.subsec_nanos());
        // What is to be spread evenly, not to be kept secret.
        (request.number ^ u64::from(time)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
    }

    fn time(&self) -> i64 {
        self.mark(Looks::MORE);
        let since = self.request().client.received.duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |time| time.as_secs() as i64)
    }

    fn set_filename(&mut self, filename: Vec<u8>) {
        self.host.request.resource.filename = filename;
    }

    fn set_query(&mut self, query: Option<Vec<u8>>) {
        self.host.request.target.args = query.map(Bytes::from);
    }

    fn discard_path_info(&mut self) {
        self.host.request.resource.path_info.clear();
    }

    fn set_env(&mut self, name: &[u8], value: Option<Vec<u8>>) {
        let env = &mut self.host.request.env;
        let Some(value) = value else {
            env.unset(name);
            return;
        };
        let spent = effort::spend(100 + 4 * env.len());
        let full = env.len() >= MOST_VARIABLES && !env.contains(name);
        if value.len() > LONGEST_VALUE || full || spent.is_err() {
            self.fail("there is no room for the variable that a rule sets");
            return;
        }
        env.set(name.to_vec(), value);
    }

    fn has_cookie(&self, name: &[u8]) -> bool {
        let note = cookie(name);
        self.request().chain().any(|request| request.notes.contains(&note))
    }

    fn add_cookie(&mut self, name: &[u8], field: Vec<u8>) {
        if self.request().reply.err_headers_out.count("Set-Cookie") >= MOST_COOKIES {
            self.fail("rules set too many cookies");
            return;
        }
        self.host.request.notes.set(cookie(name), Bytes::from_static(b"set"));
        self.host.request.reply.err_headers_out.add("Set-Cookie", field);
    }

    fn add_vary(&mut self, header: &str) {
        self.host.request.vary(header.as_bytes());
    }

    fn set_type(&mut self, mime_type: Vec<u8>) {
        self.host.request.notes.set(TYPE, mime_type);
    }

    fn set_handler(&mut self, handler: Vec<u8>) {
        self.host.request.notes.set(HANDLER, handler);
    }

    fn trace_level(&self) -> u8 {
        self.level
    }

    fn trace(&mut self, level: u8, directory: Option<&str>, text: &[u8]) {
        trace(self.request(), level, directory, &[text]);
    }

    fn error(&mut self, text: &str) {
        budget::log_failure(self.request(), "rewrite", text);
    }
}

/// Returns the properties of a `GET` that a variable depends on, besides host and path.
fn looks_of(variable: Core) -> Looks {
    match variable {
        Core::RequestUri
        | Core::RequestMethod
        | Core::RequestScheme
        | Core::Https
        | Core::ServerName
        | Core::ServerPort
        | Core::ServerAdmin
        | Core::ServerSoftware
        | Core::ApiVersion
        | Core::DocumentRoot
        | Core::ContextPrefix
        | Core::ContextDocumentRoot => Looks::NOTHING,
        Core::QueryString | Core::TheRequest | Core::ServerProtocol => Looks::LINE,
        _ => Looks::MORE,
    }
}

/// The note that a rule has set a cookie.
fn cookie(name: &[u8]) -> Vec<u8> {
    [b"rewrite-cookie-", name].concat()
}
