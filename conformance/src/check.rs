//! Compares an exchange with what a case expects, and Hostler's answer with Apache's.
//!
//! Nothing here knows a server; every finding is one line, expected first.

use crate::client::{Exchange, Response};
use crate::table::Expect;
use pcre2::bytes::RegexBuilder;

/// Fields in which Hostler must agree with Apache even where a case does not name them.
const COMPARED: [&str; 19] = [
    "Content-Type",
    "Content-Encoding",
    "Content-Language",
    "Content-Range",
    "Content-Length",
    "Location",
    "ETag",
    "Last-Modified",
    "Vary",
    "Cache-Control",
    "Expires",
    "WWW-Authenticate",
    "Allow",
    "Set-Cookie",
    "Accept-Ranges",
    "Alternates",
    "Content-Location",
    "TCN",
    "Variant-Vary",
];

/// An exchange with the new parts of the logs.
#[derive(Debug, Clone, Default)]
pub struct Observation {
    /// The data received over the connection, with ports and paths replaced by placeholders.
    pub exchange: Exchange,
    /// New lines of the access log.
    pub access_log: String,
    /// New lines of the error log.
    pub error_log: String,
}

impl Observation {
    /// The last answer; an empty one where nothing came.
    #[must_use]
    pub fn last(&self) -> Response {
        self.exchange.responses.last().cloned().unwrap_or_default()
    }
}

/// Returns whether a regular expression matches. A dot matches line ends too; `^` and `$` match at lines.
///
/// # Errors
/// The expression does not compile: a fault of the table.
pub fn matches(pattern: &str, text: &str) -> Result<bool, String> {
    let regex = RegexBuilder::new().dotall(true).multi_line(true).build(pattern);
    let regex = regex.map_err(|error| format!("{pattern}: {error}"))?;
    regex.is_match(text.as_bytes()).map_err(|error| format!("{pattern}: {error}"))
}

/// Lists the differences from the expectation, one on each line.
#[must_use]
pub fn against_table(expect: &Expect, observed: &Observation) -> Vec<String> {
    let mut findings = Findings::default();
    let last = observed.last();
    findings.equal("status", expect.status.as_ref(), &last.status);
    let statuses: Vec<u16> = observed.exchange.responses.iter().map(|response| response.status).collect();
    findings.equal("statuses", expect.statuses.as_ref(), &statuses);
    findings.equal("interim", expect.interim.as_ref(), &observed.exchange.interim);
    findings.equal("reason", expect.reason.as_ref(), &last.reason);
    findings.equal("closes", expect.closes.as_ref(), &observed.exchange.closed);
    fields(expect, &last, &mut findings);
    findings.equal("body", expect.text.as_ref(), &last.body);
    for part in expect.contains.as_slice() {
        findings.require(last.body.contains(part), || {
            format!("body contains {part:?}, got {}", brief(&last.body))
        });
    }
    for part in expect.omits.as_slice() {
        findings.require(!last.body.contains(part), || {
            format!("body without {part:?}, got {}", brief(&last.body))
        });
    }
    findings.matching("body", expect.matches.as_ref(), &last.body);
    findings.matching("access log", expect.log.as_ref(), &observed.access_log);
    findings.matching("error log", expect.error_log.as_ref(), &observed.error_log);
    if let Some(pattern) = &expect.no_log {
        let found = matches(pattern, &observed.access_log).unwrap_or(true);
        findings.require(!found, || format!("no log line /{pattern}/, got {}", brief(&observed.access_log)));
    }
    findings.0
}

fn fields(expect: &Expect, last: &Response, findings: &mut Findings) {
    for (name, value) in &expect.has {
        let got = last.field(name);
        findings.require(got.as_ref() == Some(value), || format!("{name}: {value:?}, got {got:?}"));
    }
    for (name, pattern) in &expect.like {
        let got = last.field(name);
        findings.matching(name, Some(pattern), got.as_deref().unwrap_or_default());
    }
    for name in &expect.lacks {
        let got = last.field(name);
        findings.require(got.is_none(), || format!("no {name}, got {got:?}"));
    }
}

/// Lists the differences between two servers' responses, one on each line. Lengths are compared where both give one.
#[must_use]
pub fn against_apache(expect: &Expect, apache: &Observation, other: &Observation) -> Vec<String> {
    let mut findings = Findings::default();
    let (wanted, got) = (apache.last(), other.last());
    let ignored = |name: &str| expect.ignore.iter().any(|known| known.eq_ignore_ascii_case(name));
    findings.equal("status (Apache's)", Some(&wanted.status), &got.status);
    let success = (200..300).contains(&wanted.status);
    let extensions = wanted.fields.iter().chain(&got.fields).map(|(name, _)| name.as_str());
    let extensions = extensions.filter(|name| name.to_ascii_lowercase().starts_with("x-"));
    let mut names: Vec<&str> = COMPARED.into_iter().chain(extensions).collect();
    names.dedup_by(|one, two| one.eq_ignore_ascii_case(two));
    for name in names.into_iter().filter(|name| !ignored(name)) {
        let (wanted, got) = (comparable(&wanted, name), comparable(&got, name));
        let optional = name == "Content-Length" && (!success || wanted.is_none() || got.is_none());
        findings.require(optional || wanted == got, || format!("{name} (Apache's): {wanted:?}, got {got:?}"));
    }
    if success && !ignored("body") {
        findings.equal("body (Apache's)", Some(&wanted.body), &got.body);
    }
    findings.0
}

/// A field's value; the methods of Allow in one order, because Apache's changes from page to page.
fn comparable(response: &Response, name: &str) -> Option<String> {
    let value = response.field(name)?;
    if name != "Allow" {
        return Some(value);
    }
    let mut methods: Vec<&str> = value.split(',').map(str::trim).collect();
    methods.sort_unstable();
    Some(methods.join(","))
}

#[derive(Default)]
struct Findings(Vec<String>);

impl Findings {
    fn require(&mut self, holds: bool, finding: impl FnOnce() -> String) {
        if !holds {
            self.0.push(finding());
        }
    }

    fn equal<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, wanted: Option<&T>, got: &T) {
        if let Some(wanted) = wanted.filter(|wanted| *wanted != got) {
            let (wanted, got) = (format!("{wanted:?}"), format!("{got:?}"));
            self.0.push(format!("{what}: {}, got {}", brief(&wanted), brief(&got)));
        }
    }

    fn matching(&mut self, what: &str, pattern: Option<&String>, got: &str) {
        let Some(pattern) = pattern else { return };
        match matches(pattern, got) {
            Ok(true) => {}
            Ok(false) => self.0.push(format!("{what} =~ /{pattern}/, got {}", brief(got))),
            Err(error) => self.0.push(error),
        }
    }
}

/// At most a screenful of a text, its line ends visible.
fn brief(text: &str) -> String {
    let short: String = text.chars().take(700).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{}{more}", short.replace('\r', "\\r").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(status: u16, body: &str) -> Observation {
        let fields = vec![("X-A".to_owned(), "1".to_owned())];
        let response = Response { status, body: body.to_owned(), fields, ..Response::default() };
        Observation {
            exchange: Exchange { responses: vec![response], ..Exchange::default() },
            ..Observation::default()
        }
    }

    #[test]
    fn every_unmet_expectation_is_a_finding() {
        let expect = Expect {
            status: Some(200),
            text: Some("b".to_owned()),
            lacks: vec!["X-A".to_owned()],
            matches: Some("^c$".to_owned()),
            has: [("X-B".to_owned(), "2".to_owned())].into(),
            ..Expect::default()
        };
        assert_eq!(against_table(&expect, &observed(404, "a")).len(), 5);
    }

    #[test]
    fn servers_are_compared_beyond_the_table() {
        let expect = Expect::default();
        assert!(against_apache(&expect, &observed(200, "a"), &observed(200, "a")).is_empty());
        assert_eq!(against_apache(&expect, &observed(200, "a"), &observed(200, "b")).len(), 1);
        let lenient = Expect { ignore: vec!["body".to_owned()], ..Expect::default() };
        assert!(against_apache(&lenient, &observed(200, "a"), &observed(200, "b")).is_empty());
    }
}
