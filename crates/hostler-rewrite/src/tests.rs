//! Rules on requests, as Apache 2.4 answers them (`conformance/cases/rewrite*.toml` has the same against the real one).

use crate::*;
use hostler_expr::{Answer, Captures, FileAccess, FileTest, RegexOptions, Variable as Core};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A request without a server around it.
#[derive(Default)]
struct Fake {
    filename: Vec<u8>,
    path_info: Vec<u8>,
    query: Option<Vec<u8>>,
    uri: Vec<u8>,
    unparsed: Vec<u8>,
    env: BTreeMap<Vec<u8>, Vec<u8>>,
    cookies: Vec<String>,
    vary: Vec<String>,
    lines: Vec<String>,
    errors: Vec<String>,
    explained: Option<Vec<Explanation>>,
    trace: u8,
    /// Paths that were asked for, and what is known of them.
    files: RefCell<BTreeMap<Vec<u8>, bool>>,
    mime_type: Option<Vec<u8>>,
}

impl hostler_expr::Host for Fake {
    fn variable(&self, variable: Core) -> Answer<Option<Cow<'_, [u8]>>> {
        Answer::Ready(Host::variable(self, variable))
    }
    fn request_header(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.header(std::str::from_utf8(name).unwrap())
    }
    fn response_header(&self, _: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }
    fn request_env<'a>(&'a self, name: &[u8], _: &'a Captures) -> Option<Cow<'a, [u8]>> {
        self.env.get(name).map(|value| Cow::Borrowed(&**value))
    }
}

impl Host for Fake {
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
        &self.uri
    }
    fn unparsed_uri(&self) -> &[u8] {
        &self.unparsed
    }
    fn is_subrequest(&self) -> bool {
        false
    }
    fn variable(&self, variable: Core) -> Option<Cow<'_, [u8]>> {
        match variable {
            Core::RequestUri => Some(Cow::Borrowed(&self.uri)),
            Core::RequestMethod => Some(Cow::Borrowed(b"GET")),
            _ => None,
        }
    }
    fn server_address(&self) -> Option<Cow<'_, [u8]>> {
        None
    }
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        name.eq_ignore_ascii_case("X-A").then_some(Cow::Borrowed(b"ab"))
    }
    fn env(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.env.get(name.as_bytes()).map(|value| Cow::Borrowed(&**value))
    }
    fn ssl_variable(&self, _: &str) -> Option<Cow<'_, [u8]>> {
        None
    }
    fn file_test(&self, _: FileTest, path: &[u8]) -> Answer<bool> {
        self.files.borrow().get(path).map_or(Answer::Pending, |is| Answer::Ready(*is))
    }
    fn subrequest(&self, _: Ahead, _: &[u8]) -> Answer<Option<LookupResult>> {
        Answer::Ready(None)
    }
    fn look_ahead(&self, _: Ahead, _: &[u8], _: &Variable) -> Answer<Option<Cow<'_, [u8]>>> {
        Answer::Ready(None)
    }
    fn map(&self, _: &str, key: &[u8]) -> Answer<Option<Cow<'_, [u8]>>> {
        Answer::Ready((key == b"a").then_some(Cow::Borrowed(b"one")))
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
    fn is_own(&self, host: &[u8], port: Option<u16>) -> bool {
        host == b"own.test" && port.is_none()
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
        match value {
            Some(value) => self.env.insert(name.to_vec(), value),
            None => self.env.remove(name),
        };
    }
    fn has_cookie(&self, name: &[u8]) -> bool {
        let start = format!("{}=", String::from_utf8_lossy(name));
        self.cookies.iter().any(|cookie| cookie.starts_with(&start))
    }
    fn add_cookie(&mut self, _: &[u8], field: Vec<u8>) {
        self.cookies.push(String::from_utf8(field).unwrap());
    }
    fn add_vary(&mut self, header: &str) {
        self.vary.push(header.to_owned());
    }
    fn set_type(&mut self, mime_type: Vec<u8>) {
        self.mime_type = Some(mime_type);
    }
    fn set_handler(&mut self, _: Vec<u8>) {}
    fn trace_level(&self) -> u8 {
        self.trace
    }
    fn trace(&mut self, level: u8, directory: Option<&str>, text: &[u8]) {
        let place = directory.map_or_else(String::new, |directory| format!("[{directory}] "));
        self.lines.push(format!("{level} {place}{}", String::from_utf8_lossy(text)));
    }
    fn error(&mut self, text: &str) {
        self.errors.push(text.to_owned());
    }
    fn is_explained(&self) -> bool {
        self.explained.is_some()
    }
    fn explain(&mut self, explained: Explanation) {
        self.explained.get_or_insert_default().push(explained);
    }
}

/// Lines of a configuration as rules.
fn context(text: &str) -> Context {
    let mut context = Context::default();
    let mut conditions = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(args) = line.strip_prefix("RewriteCond ") {
            conditions.push(Condition::parse(args, RegexOptions::default(), FileAccess::Full).unwrap().0);
        } else if let Some(args) = line.strip_prefix("RewriteRule ") {
            let place = Place { file: "test".into(), line: number };
            let rule = Rule::parse(args, RegexOptions::default(), std::mem::take(&mut conditions), place);
            context.rules.push(rule.unwrap());
        }
    }
    context.maps = std::sync::Arc::new(
        [("lower", "int:tolower"), ("names", "txt:/names")]
            .into_iter()
            .map(|(name, source)| (name.into(), Source::parse(source).unwrap()))
            .collect(),
    );
    context
}

fn request(target: &str) -> Fake {
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    Fake {
        filename: path.into(),
        uri: path.into(),
        unparsed: target.into(),
        query: query.map(Into::into),
        ..Fake::default()
    }
}

/// Applies a server's rules to a target; of the files asked for, only `/etc` exists.
fn server(rules: &str, host: &mut Fake) -> Translation {
    let context = context(rules);
    let mut rewriting = Rewriting::default();
    loop {
        match rewriting.translate(&context, host) {
            Ok(translated) => return translated,
            Err(Need::File(path)) => {
                let is = path == b"/etc";
                host.files.borrow_mut().insert(path, is);
            }
            Err(need) => panic!("{need:?}"),
        }
    }
}

/// A result in one line.
fn of(rules: &str, target: &str) -> String {
    let mut host = request(target);
    let translated = server(rules, &mut host);
    let query =
        host.query.map_or_else(String::new, |query| format!("?{}", String::from_utf8(query).unwrap()));
    let text = |text: Vec<u8>| String::from_utf8(text).unwrap();
    match translated {
        Translation::Declined => "declined".into(),
        Translation::PassThrough(path) => format!("through {}{query}", text(path)),
        Translation::BelowDocumentRoot(path) => format!("{}{query}", text(path)),
        Translation::File(path) => format!("file {}{query}", text(path)),
        Translation::Proxy { url, raw } => {
            format!("proxy {}{}{query}", if raw { "raw " } else { "" }, text(url))
        }
        Translation::Redirect(status, location) => format!("{status} {}", text(location)),
        Translation::Status(status) => status.to_string(),
    }
}

/// The same of a directory's rules, for a file in `/srv/dir/`.
fn directory(rules: &str, name: &str) -> (Fixup, Fake) {
    let mut context = context(rules);
    context.directory = Some("/srv/dir/".into());
    let mut host = request(&format!("/dir/{name}"));
    host.filename = format!("/srv/dir/{}", name.split('?').next().unwrap_or_default()).into();
    let fixed = Rewriting::default().fix_up(&context, &context.maps, &mut host).unwrap();
    (fixed, host)
}

#[test]
fn groups_and_queries() {
    assert_eq!(of("RewriteRule ^/a/(.*)$ /b/$1", "/a/x?q"), "/b/x?q");
    assert_eq!(of("RewriteRule ^/a /b?x=1", "/a?q"), "/b?x=1");
    assert_eq!(of("RewriteRule ^/a /b?x=1 [QSA]", "/a?q"), "/b?x=1&q");
    assert_eq!(of("RewriteRule ^/a /b? ", "/a?q"), "/b");
    assert_eq!(of("RewriteRule ^/a /b [QSD]", "/a?q"), "/b");
    assert_eq!(of("RewriteRule ^/a /b?c?d [QSL]", "/a"), "/b?c?d");
    assert_eq!(of("RewriteRule ^/x /b", "/a"), "declined");
}

#[test]
fn redirects_are_whole_and_escaped() {
    assert_eq!(of("RewriteRule ^/a(.*) /b$1 [R=301]", "/a b?q"), "301 http://own.test/b%20b?q");
    assert_eq!(of("RewriteRule ^/a(.*) /b$1 [R,NE]", "/a%"), "302 http://own.test/b%");
    assert_eq!(of("RewriteRule ^/a http://x.test/b", "/a"), "302 http://x.test/b");
    assert_eq!(of("RewriteRule ^/a http://own.test/b", "/a"), "/b");
    assert_eq!(of("RewriteRule ^/a - [F]", "/a"), "403");
    assert_eq!(of("RewriteRule ^/a - [R=404]", "/a"), "404");
}

#[test]
fn a_location_with_a_line_break_is_refused() {
    let mut host = request("/a");
    host.filename = b"/a\r\nX: y".to_vec();
    assert_eq!(server("RewriteRule ^/a(.*) /b$1 [R,NE]", &mut host), Translation::Status(500));
    let mut host = request("/a");
    host.filename = b"/a\nX: y".to_vec();
    server("RewriteRule ^/a(.*) /b [CO=n:$1:x.test]", &mut host);
    assert!(host.cookies.is_empty());
}

#[test]
fn chains_skips_rounds_and_ends() {
    let chain = "RewriteRule ^/a - [C]\nRewriteRule x /never\nRewriteRule ^/c /d";
    assert_eq!(of(chain, "/c"), "/d");
    assert_eq!(of("RewriteRule ^/a /b [C]\nRewriteRule ^/b /c", "/a"), "/c");
    assert_eq!(of("RewriteRule ^/x /b [C]\nRewriteRule .* /c [C]\nRewriteRule .* /d", "/a"), "declined");
    assert_eq!(of("RewriteRule ^ - [S=1]\nRewriteRule ^ /b\nRewriteRule ^/a /c", "/a"), "/c");
    assert_eq!(of("RewriteRule ^(.*)a(.*)$ $1b$2 [N]", "/banana"), "/bbnbnb");
    assert_eq!(of("RewriteRule ^/a /b [L]\nRewriteRule ^ /c", "/a"), "/b");
    let mut host = request("/a");
    assert_eq!(server("RewriteRule ^/a /a [N=7]", &mut host), Translation::Status(500));
    assert!(host.errors[0].contains("exceeded maximum number of rounds (7)"), "{:?}", host.errors);
}

#[test]
fn conditions() {
    assert_eq!(of("RewriteCond %{HTTP:X-A} ^(.)(.)\nRewriteRule ^/a(.) /%2%1$1", "/ax"), "/bax");
    assert_eq!(of("RewriteCond %{QUERY_STRING} !^x\nRewriteRule ^/a /b", "/a?y"), "/b?y");
    assert_eq!(
        of("RewriteCond %{QUERY_STRING} x [OR]\nRewriteCond %{QUERY_STRING} y\nRewriteRule ^ /b", "/a?y"),
        "/b?y"
    );
    assert_eq!(of("RewriteCond %{QUERY_STRING} >b\nRewriteRule ^ /b", "/a?aa"), "/b?aa");
    assert_eq!(of("RewriteCond %{QUERY_STRING} -gt5\nRewriteRule ^ /b", "/a?12"), "/b?12");
    assert_eq!(of("RewriteCond expr \"%{REQUEST_URI} =~ /(a)/\"\nRewriteRule ^ /b%1", "/a"), "/ba");
    assert_eq!(of("RewriteCond %{REQUEST_URI} -f\nRewriteRule ^ /b", "/a"), "declined");
    assert_eq!(of("RewriteCond %{REQUEST_URI} !-f\nRewriteRule ^ /b", "/a"), "/b");
    assert_eq!(
        of("RewriteCond %{REQUEST_URI}::$1 ^(.*?/)(.*)::\\2$\nRewriteRule ^/s/(.*)$ /x/%1", "/s/y/z"),
        "/x//s/"
    );
}

#[test]
fn the_answer_varies_on_what_conditions_that_led_to_it_looked_at() {
    let mut host = request("/a");
    server("RewriteCond %{HTTP:X-A} a\nRewriteRule ^ /b", &mut host);
    assert_eq!(host.vary, ["X-A"]);
    for rules in
        ["RewriteCond %{HTTP:X-A} no\nRewriteRule ^ /b", "RewriteCond %{HTTP:X-A} a [NV]\nRewriteRule ^ /b"]
    {
        let mut host = request("/a");
        server(rules, &mut host);
        assert!(host.vary.is_empty(), "{rules}");
    }
}

#[test]
fn maps_have_values_and_defaults() {
    assert_eq!(of("RewriteRule ^/(.*) /${lower:$1}", "/ABC"), "/abc");
    assert_eq!(of("RewriteRule ^/(.*) /${names:${lower:$1}|none}", "/A"), "/one");
    assert_eq!(of("RewriteRule ^/(.*) /${names:$1|none-$1}", "/B"), "/none-B");
    assert_eq!(of("RewriteRule ^/(.*) /x${unknown:$1}", "/B"), "/x");
}

#[test]
fn variables_are_set_and_seen_by_what_follows() {
    let mut host = request("/a");
    server("RewriteRule ^ - [E=A:1,E=B:%{ENV:A}2,E=C]\nRewriteRule ^ - [E=!A]", &mut host);
    let env: Vec<_> =
        host.env.iter().map(|(k, v)| (String::from_utf8_lossy(k), String::from_utf8_lossy(v))).collect();
    assert_eq!(env, [("B".into(), "12".into()), ("C".into(), "".into())]);
}

#[test]
fn only_what_the_author_has_written_is_a_path_of_the_file_system() {
    assert_eq!(of("RewriteRule ^/a /etc/x", "/a"), "file /etc/x");
    assert_eq!(of("RewriteRule ^/a(.*) $1", "/a/etc/x"), "/etc/x");
    assert_eq!(of("RewriteRule ^/a(.*) $1 [UnsafePrefixStat]", "/a/etc/x"), "file /etc/x");
    assert_eq!(of("RewriteRule ^/a http://own.test/etc/x", "/a"), "/etc/x");
}

#[test]
fn backreferences_are_escaped_on_demand() {
    assert_eq!(of("RewriteRule ^/a/(.*) /b?$1 [B]", "/a/x y/&"), "/b?x+y%2f%26");
    assert_eq!(of("RewriteRule ^/a/(.*) /b?$1 [B,BNP]", "/a/x y"), "/b?x%20y");
    assert_eq!(of("RewriteRule ^/a/(.*) /b?$1 [B=&]", "/a/x/&"), "/b?x/%26");
    assert_eq!(of("RewriteRule ^/a/(.*) /b?$1", "/a/x y"), "403");
}

#[test]
fn directories_have_their_own_texts() {
    assert_eq!(directory("RewriteRule ^a$ b", "a").0, Fixup::Internal(b"/dir/b".to_vec()));
    assert_eq!(directory("RewriteRule ^a$ b", "a?q").0, Fixup::Internal(b"/dir/b?q".to_vec()));
    assert_eq!(directory("RewriteRule ^a$ /x/b", "a").0, Fixup::Internal(b"/x/b".to_vec()));
    assert_eq!(directory("RewriteRule ^/a$ b", "a").0, Fixup::Declined);
    assert_eq!(directory("RewriteRule ^a$ a", "a").0, Fixup::Same);
    assert_eq!(directory("RewriteRule ^a$ b [F]", "a").0, Fixup::Status(403));
    let (fixed, host) = directory("RewriteRule ^a$ - [T=text/x-own]", "a");
    assert_eq!((fixed, host.mime_type), (Fixup::Declined, Some(b"text/x-own".to_vec())));
}

#[test]
fn a_base_stands_for_the_directory() {
    let mut context = context("RewriteRule ^a$ b\nRewriteRule ^c$ d [R]");
    context.directory = Some("/srv/dir/".into());
    context.base = Some("/base".into());
    let of = |name: &str| {
        let mut host = request(&format!("/x/{name}"));
        host.filename = format!("/srv/dir/{name}").into();
        Rewriting::default().fix_up(&context, &context.maps, &mut host).unwrap()
    };
    assert_eq!(of("a"), Fixup::Internal(b"/base/b".to_vec()));
    assert_eq!(of("c"), Fixup::Redirect(302, b"http://own.test/base/d".to_vec()));
}

#[test]
fn what_a_rule_made_too_long_is_refused() {
    let rules = "RewriteRule ^(.*)$ $1$1 [N]";
    let mut host = request("/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert_eq!(server(rules, &mut host), Translation::Status(500));
}

#[test]
fn rules_are_explained_one_by_one() {
    let mut host = request("/a");
    host.explained = Some(Vec::new());
    server(
        "RewriteRule ^/x /y\nRewriteCond %{QUERY_STRING} q\nRewriteRule ^/a /y\nRewriteRule ^/a /b [L]",
        &mut host,
    );
    let explained = host.explained.unwrap();
    let said: Vec<_> = explained.iter().map(|it| (it.place.line, it.why_not.as_deref(), &*it.did)).collect();
    assert_eq!(
        said,
        [
            (1, Some("its pattern does not match"), ""),
            (3, Some("the condition %{QUERY_STRING} q does not hold"), ""),
            (4, None, "becomes /b; no further rules"),
        ]
    );
}

#[test]
fn thousands_of_rules_come_to_the_same_with_and_without_an_index() {
    let mut rules = String::new();
    for number in 0..3000 {
        rules.push_str(&format!("RewriteRule ^/old/page{number}$ /new/{number} [L]\n"));
    }
    rules.push_str("RewriteRule ^/old/(.*) /gone/$1\n");
    for (target, result) in
        [("/old/page2999", "/new/2999"), ("/old/page3000", "/gone/page3000"), ("/x", "declined")]
    {
        assert_eq!(of(&rules, target), result);
        let mut traced = request(target);
        traced.trace = 3;
        let translated = server(&rules, &mut traced);
        assert_eq!(translated == Translation::Declined, result == "declined");
        assert!(traced.lines.iter().filter(|line| line.contains("applying pattern")).count() >= 3000);
    }
}
