//! The effect of mod_rewrite's rules on a URL: each rule with its place, its input, and the reason why it applied or
//! not.
//!
//! A rule may look at what only a request has (its fields, its user, the time): here that is not there, and it is said.

use hostler_config::directives::rewrite::of_server;
use hostler_config::{Config, Server};
use hostler_expr::{Answer, FileTest, Variable as Core};
use hostler_rewrite::{
    Ahead, Explanation, FileMap, Fixup, Host, LookupResult, Maps, Rewriting, Source, Translation, Variable,
};
use std::borrow::Cow;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::LazyLock;

use super::host::NoRequest;
use super::url::Url;

/// The result of a place's rules.
pub(super) struct Outcome<T> {
    /// The lines to print.
    pub(super) lines: Vec<String>,
    pub(super) result: Option<T>,
}

/// The rules of the virtual host.
pub(super) fn server(config: &Config, server: &Server, url: &Url) -> Outcome<Translation> {
    let mut about = About::new(config, server, url, url.path.as_bytes());
    let Some(context) =
        of_server(config, server).filter(|context| context.is_on() && !context.rules.is_empty())
    else {
        return Outcome { lines: Vec::new(), result: None };
    };
    let result = Rewriting::default().translate(context, &mut about).ok();
    about.outcome(result)
}

/// The rules of the directory that a file is in.
pub(super) fn directory(
    config: &Config,
    server: &Server,
    dir: &hostler_config::DirConfig,
    url: &Url,
    file: &Path,
    path_info: &str,
) -> Outcome<Fixup> {
    let context = &dir.rewrite.context;
    let name = file.to_string_lossy();
    let slash = if file.is_dir() && url.path.ends_with('/') && !name.ends_with('/') { "/" } else { "" };
    let mut about = About::new(config, server, url, format!("{name}{slash}").as_bytes());
    about.path_info = path_info.as_bytes().to_vec();
    if !context.is_on() || context.rules.is_empty() {
        return Outcome { lines: Vec::new(), result: None };
    }
    let maps = about.maps;
    let result = Rewriting::default().fix_up(context, maps, &mut about).ok();
    about.outcome(result)
}

/// A URL as far as it is known without a request.
struct About<'a> {
    server: &'a Server,
    /// The maps that hold in the virtual host.
    maps: &'a Maps,
    url: &'a Url,
    filename: Vec<u8>,
    path_info: Vec<u8>,
    query: Option<Vec<u8>>,
    env: Vec<(Vec<u8>, Vec<u8>)>,
    explained: Vec<Explanation>,
    errors: Vec<String>,
}

impl<'a> About<'a> {
    fn new(config: &'a Config, server: &'a Server, url: &'a Url, filename: &[u8]) -> Self {
        static NONE: LazyLock<Maps> = LazyLock::new(Maps::default);
        Self {
            server,
            maps: of_server(config, server).map_or(&NONE, |context| &*context.maps),
            url,
            filename: filename.to_vec(),
            path_info: Vec::new(),
            query: url.query.as_ref().map(|query| query.as_bytes().to_vec()),
            env: Vec::new(),
            explained: Vec::new(),
            errors: Vec::new(),
        }
    }

    fn outcome<T>(self, result: Option<T>) -> Outcome<T> {
        let mut lines = Vec::new();
        for rule in &self.explained {
            lines.push(format!(
                "rewriting  {}:{}  RewriteRule {}",
                rule.place.file, rule.place.line, rule.rule
            ));
            let input = String::from_utf8_lossy(&rule.input);
            let said = match &rule.why_not {
                Some(why) => format!("not carried out: {why}"),
                None => rule.did.clone(),
            };
            lines.push(format!("           with \"{input}\": {said}"));
        }
        lines.extend(self.errors.iter().map(|error| format!("           {error}")));
        if result.is_none() {
            lines.push("           what comes next depends on the request".to_owned());
        }
        Outcome { lines, result }
    }
}

impl Host for About<'_> {
    fn filename(&self) -> &[u8] {
        &self.filename
    }

    fn path_info(&self) -> &[u8] {
        &self.path_info
    }

    fn query(&self) -> Option<&[u8]> {
        self.query.as_deref()
    }

    fn uri(&self) -> &[u8] {
        self.url.path.as_bytes()
    }

    fn unparsed_uri(&self) -> &[u8] {
        self.url.path.as_bytes()
    }

    fn is_subrequest(&self) -> bool {
        false
    }

    fn variable(&self, variable: Core) -> Option<Cow<'_, [u8]>> {
        let text = match variable {
            Core::RequestUri => self.url.path.clone(),
            Core::RequestMethod => "GET".to_owned(),
            Core::RequestScheme => self.scheme().to_owned(),
            Core::Https => if self.url.tls == Some(true) { "on" } else { "off" }.to_owned(),
            Core::ServerPort => self.url.port.unwrap_or(80).to_string(),
            Core::ServerName => self.url.host.clone()?,
            Core::ServerProtocol => "HTTP/1.1".to_owned(),
            Core::IsSubreq => "false".to_owned(),
            Core::TheRequest => match &self.url.query {
                Some(query) => format!("GET {}?{query} HTTP/1.1", self.url.path),
                None => format!("GET {} HTTP/1.1", self.url.path),
            },
            Core::DocumentRoot | Core::ContextDocumentRoot => {
                self.server.conf.core.document_root.clone().unwrap_or_default().to_string()
            }
            _ => return None,
        };
        Some(Cow::Owned(text.into_bytes()))
    }

    fn server_address(&self) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let host = self.url.host.as_ref().filter(|_| name.eq_ignore_ascii_case("Host"))?;
        Some(Cow::Borrowed(host.as_bytes()))
    }

    fn env(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let known = self.env.iter().rev().find(|(known, _)| known == name.as_bytes());
        known.map(|(_, value)| Cow::Borrowed(&**value))
    }

    fn ssl_variable(&self, _: &str) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn file_test(&self, test: FileTest, path: &[u8]) -> Answer<bool> {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        let found = fs::metadata(path).ok();
        Answer::Ready(match test {
            FileTest::SymbolicLink => path.is_symlink(),
            FileTest::Exists => found.is_some(),
            FileTest::Directory => found.is_some_and(|found| found.is_dir()),
            FileTest::Regular => found.is_some_and(|found| found.is_file()),
            FileTest::NotEmpty => found.is_some_and(|found| found.is_file() && found.len() > 0),
            FileTest::Executable => found.is_some_and(|found| found.permissions().mode() & 0o111 != 0),
        })
    }

    fn subrequest(&self, _: Ahead, _: &[u8]) -> Answer<Option<LookupResult>> {
        Answer::Pending
    }

    fn look_ahead(&self, _: Ahead, _: &[u8], _: &Variable) -> Answer<Option<Cow<'_, [u8]>>> {
        Answer::Pending
    }

    fn map(&self, map: &str, key: &[u8]) -> Answer<Option<Cow<'_, [u8]>>> {
        let Some(source) = self.maps.get(map) else { return Answer::Ready(None) };
        let (Some(path), false) = (source.file(), matches!(source, Source::Program(_))) else {
            return Answer::Pending;
        };
        let text = fs::read(path).unwrap_or_default();
        let Ok(Some(map)) = FileMap::read(source, &text, usize::MAX) else { return Answer::Pending };
        Answer::Ready(map.get(key).map(|value| Cow::Owned(value.to_vec())))
    }

    fn expressions(&self) -> &dyn hostler_expr::Host {
        &NoRequest
    }

    fn scheme(&self) -> &str {
        if self.url.tls == Some(true) { "https" } else { "http" }
    }

    fn own_url(&self) -> Vec<u8> {
        let name = self.server.conf.core.server_name.as_ref().map(|name| name.host.clone());
        let host = self.url.host.clone().or(name).unwrap_or_else(|| "localhost".to_owned());
        let usual = if self.url.tls == Some(true) { 443 } else { 80 };
        match self.url.port.filter(|port| *port != usual) {
            Some(port) => format!("{}://{host}:{port}", self.scheme()).into_bytes(),
            None => format!("{}://{host}", self.scheme()).into_bytes(),
        }
    }

    fn is_own(&self, host: &[u8], port: Option<u16>) -> bool {
        let usual = if self.url.tls == Some(true) { 443 } else { 80 };
        let named = self.url.host.as_ref().is_some_and(|own| own.as_bytes().eq_ignore_ascii_case(host));
        named && port.unwrap_or(usual) == self.url.port.unwrap_or(usual)
    }

    fn document_root(&self) -> Vec<u8> {
        self.server.conf.core.document_root.as_deref().unwrap_or_default().as_bytes().to_vec()
    }

    fn context(&self) -> (Vec<u8>, Vec<u8>) {
        (self.document_root(), Vec::new())
    }

    fn time(&self) -> i64 {
        0
    }

    fn set_filename(&mut self, filename: Vec<u8>) {
        self.filename = filename;
    }

    fn set_query(&mut self, query: Option<Vec<u8>>) {
        self.query = query;
    }

    fn discard_path_info(&mut self) {
        self.path_info.clear();
    }

    fn set_env(&mut self, name: &[u8], value: Option<Vec<u8>>) {
        self.env.retain(|(known, _)| known != name);
        self.env.extend(value.map(|value| (name.to_vec(), value)));
    }

    fn has_cookie(&self, _: &[u8]) -> bool {
        false
    }

    fn add_cookie(&mut self, _: &[u8], _: Vec<u8>) {}

    fn add_vary(&mut self, _: &str) {}

    fn set_type(&mut self, _: Vec<u8>) {}

    fn set_handler(&mut self, _: Vec<u8>) {}

    fn error(&mut self, text: &str) {
        self.errors.push(text.to_owned());
    }

    fn is_explained(&self) -> bool {
        true
    }

    fn explain(&mut self, explained: Explanation) {
        self.explained.push(explained);
    }
}

/// Returns the result of a server's rules, if it is the answer.
pub(super) fn answer(translated: &Translation) -> Option<String> {
    match translated {
        Translation::Redirect(status, location) => {
            Some(format!("a redirect ({status}) to {}, by rewriting", String::from_utf8_lossy(location)))
        }
        Translation::Proxy { url, .. } => Some(other_server(url)),
        Translation::Status(status) => Some(format!("{status}, by rewriting")),
        _ => None,
    }
}

fn other_server(url: &[u8]) -> String {
    format!("another server, as {}, by rewriting", String::from_utf8_lossy(url))
}

/// The same for a directory.
pub(super) fn answer_of_directory(fixed: &Fixup) -> Option<String> {
    match fixed {
        Fixup::Redirect(status, location) => {
            Some(format!("a redirect ({status}) to {}, by rewriting", String::from_utf8_lossy(location)))
        }
        Fixup::Proxy(url) => Some(other_server(url)),
        Fixup::Status(status) => Some(format!("{status}, by rewriting")),
        Fixup::Internal(target) => {
            Some(format!("as {} does, by rewriting; ask about that", String::from_utf8_lossy(target)))
        }
        Fixup::Declined | Fixup::Same => None,
    }
}
