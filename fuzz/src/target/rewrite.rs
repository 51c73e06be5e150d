//! Rules of mod_rewrite: read, then carried out on an imagined request.

use crate::Dice;
use hostler_expr::{Answer, Captures, FileAccess, FileTest, RegexOptions, Variable as Core};
use hostler_rewrite::{Ahead, Condition, Context, Host, LookupResult, Place, Rewriting, Rule, Source, FileMap, Variable};
use std::borrow::Cow;

/// The input is lines: conditions begin with `c`, maps' lines with `m`, all others are rules. The last one is the URL.
pub fn target(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut context = Context::default();
    let mut conditions = Vec::new();
    let options = RegexOptions::default();
    for line in text.lines() {
        if let Some(line) = line.strip_prefix('c') {
            conditions.extend(Condition::parse(line, options, FileAccess::default()).ok().map(|(condition, _)| condition));
        } else if let Some(line) = line.strip_prefix('m') {
            let _ = Source::parse(line);
            let _ = FileMap::parse(line.as_bytes(), 1 << 20).map(|map| map.get(b"a").is_some());
        } else if let Ok(rule) = Rule::parse(line, options, std::mem::take(&mut conditions), Place::default()) {
            context.rules.push(rule);
        }
    }
    let url = text.lines().last().unwrap_or_default().as_bytes().to_vec();
    let mut request = Request { filename: url.clone(), uri: url, query: None, dice: Dice::of(data) };
    let _ = Rewriting::default().translate(&context, &mut request);
    assert!(!request.filename.contains(&0) || request.uri.contains(&0), "a rule has made a NUL");
    context.directory = Some("/srv/".into());
    request.filename = [b"/srv/", &request.uri[..]].concat();
    let maps = context.maps.clone();
    let _ = Rewriting::default().fix_up(&context, &maps, &mut request);
}

struct Request {
    filename: Vec<u8>,
    uri: Vec<u8>,
    query: Option<Vec<u8>>,
    dice: Dice,
}

impl hostler_expr::Host for Request {
    fn variable(&self, _: Core) -> Answer<Option<Cow<'_, [u8]>>> {
        Answer::Ready(Some(Cow::Borrowed(&self.uri)))
    }
    fn request_header(&self, _: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }
    fn response_header(&self, _: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }
    fn request_env<'a>(&'a self, _: &[u8], _: &'a Captures) -> Option<Cow<'a, [u8]>> {
        None
    }
}

impl Host for Request {
    fn filename(&self) -> &[u8] {
        &self.filename
    }
    fn path_info(&self) -> &[u8] {
        b""
    }
    fn query(&self) -> Option<&[u8]> {
        self.query.as_deref()
    }
    fn uri(&self) -> &[u8] {
        &self.uri
    }
    fn unparsed_uri(&self) -> &[u8] {
        &self.uri
    }
    fn is_subrequest(&self) -> bool {
        false
    }
    fn variable(&self, _: Core) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(&self.uri))
    }
    fn server_address(&self) -> Option<Cow<'_, [u8]>> {
        None
    }
    fn header(&self, _: &str) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(b"a\r\nb"))
    }
    fn env(&self, _: &str) -> Option<Cow<'_, [u8]>> {
        None
    }
    fn ssl_variable(&self, _: &str) -> Option<Cow<'_, [u8]>> {
        None
    }
    fn file_test(&self, _: FileTest, path: &[u8]) -> Answer<bool> {
        Answer::Ready(path.len().is_multiple_of(2))
    }
    fn subrequest(&self, _: Ahead, _: &[u8]) -> Answer<Option<LookupResult>> {
        Answer::Ready(None)
    }
    fn look_ahead(&self, _: Ahead, _: &[u8], _: &Variable) -> Answer<Option<Cow<'_, [u8]>>> {
        Answer::Pending
    }
    fn map(&self, _: &str, _: &[u8]) -> Answer<Option<Cow<'_, [u8]>>> {
        Answer::Ready(None)
    }
    fn expressions(&self) -> &dyn hostler_expr::Host {
        self
    }
    fn scheme(&self) -> &str {
        "http"
    }
    fn own_url(&self) -> Vec<u8> {
        b"http://own.test".to_vec()
    }
    fn is_own(&self, host: &[u8], _: Option<u16>) -> bool {
        host == b"own.test"
    }
    fn document_root(&self) -> Vec<u8> {
        b"/srv".to_vec()
    }
    fn context(&self) -> (Vec<u8>, Vec<u8>) {
        (b"/srv".to_vec(), Vec::new())
    }
    fn time(&self) -> i64 {
        0
    }
    fn trace_level(&self) -> u8 {
        if self.dice.clone().one_in(2) { 8 } else { 0 }
    }
    fn set_filename(&mut self, filename: Vec<u8>) {
        self.filename = filename;
    }
    fn set_query(&mut self, query: Option<Vec<u8>>) {
        self.query = query;
    }
    fn discard_path_info(&mut self) {}
    fn set_env(&mut self, _: &[u8], _: Option<Vec<u8>>) {}
    fn has_cookie(&self, _: &[u8]) -> bool {
        false
    }
    fn add_cookie(&mut self, _: &[u8], field: Vec<u8>) {
        assert!(!field.iter().any(u8::is_ascii_control), "a cookie begins another field");
    }
    fn add_vary(&mut self, _: &str) {}
    fn set_type(&mut self, _: Vec<u8>) {}
    fn set_handler(&mut self, _: Vec<u8>) {}
    fn error(&mut self, _: &str) {}
}
