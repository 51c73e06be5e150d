//! Header and RequestHeader, in cases that were tried with Apache 2.4 first.

use super::{Message, Phase, Table, apply};
use crate::Config;
use hostler_expr::{Answer, Captures, Host, Variable};
use std::borrow::Cow;

/// An answer's fields, and those of its request.
struct Exchange {
    fields: Vec<(Table, String, Vec<u8>)>,
    notes: Vec<String>,
}

impl Exchange {
    fn new() -> Self {
        let request = [("X-In", "in"), ("X-E1", "e1"), ("x-e2", "e2")];
        let fields = request.map(|(name, value)| (Table::Request, name.to_owned(), value.into()));
        Self { fields: fields.into(), notes: Vec::new() }
    }
}

impl Message for Exchange {
    fn values(&self, table: Table, name: &str) -> Vec<Vec<u8>> {
        let fits = |field: &&(Table, String, Vec<u8>)| field.0 == table && field.1.eq_ignore_ascii_case(name);
        self.fields.iter().filter(fits).map(|field| field.2.clone()).collect()
    }

    fn add(&mut self, table: Table, name: &str, value: Vec<u8>) {
        self.fields.push((table, name.into(), value));
    }

    fn remove(&mut self, table: Table, name: &str) {
        self.fields.retain(|field| field.0 != table || !field.1.eq_ignore_ascii_case(name));
    }

    fn request_fields(&self) -> Vec<(String, Vec<u8>)> {
        let request = self.fields.iter().filter(|field| field.0 == Table::Request);
        request.map(|field| (field.1.clone(), field.2.clone())).collect()
    }

    fn env(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        (name == "IN").then_some(Cow::Borrowed(b"i\nn"))
    }

    fn ssl_variable(&self, _name: &str) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn set_note(&mut self, name: &str, value: Option<Vec<u8>>) {
        self.notes.push(format!("{name}={}", String::from_utf8_lossy(&value.unwrap_or_default())));
    }

    fn times(&self) -> (i64, i64) {
        (1000, 1250)
    }

    fn load(&self) -> [f64; 3] {
        [0.1, 2.0, 10.567]
    }

    fn busy_percent(&self) -> u32 {
        30
    }

    fn expression_host(&self) -> &dyn Host {
        self
    }

    fn failed(&self, reason: &str) {
        panic!("{reason}");
    }
}

impl Host for Exchange {
    fn variable(&self, variable: Variable) -> Answer<Option<Cow<'_, [u8]>>> {
        Answer::Ready((variable == Variable::RequestMethod).then_some(Cow::Borrowed(b"GET")))
    }

    fn request_header(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        let name = std::str::from_utf8(name).ok()?;
        self.values(Table::Request, name).into_iter().next().map(Cow::Owned)
    }

    fn response_header(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn request_env<'a>(&'a self, _name: &[u8], _captures: &'a Captures) -> Option<Cow<'a, [u8]>> {
        None
    }
}

fn config(text: &str) -> Result<Config, Vec<crate::ConfigError>> {
    Config::build(&crate::read_text(text, "/etc/apache2")?)
}

/// The answer's fields (and notes) after all rules.
fn answer(lines: &str) -> String {
    let config = config(lines).expect(lines);
    let rules = &config.main().defaults.headers;
    let mut exchange = Exchange::new();
    for phase in [Phase::Early, Phase::Late] {
        apply(&rules.request, 0, phase, Table::Request, &mut exchange).unwrap();
        apply(&rules.response, 0, phase, Table::Response, &mut exchange).unwrap();
        apply(&rules.always, 0, phase, Table::Always, &mut exchange).unwrap();
    }
    let fields =
        exchange.fields.iter().filter(|field| field.0 != Table::Request).map(|(table, name, value)| {
            let mark = if *table == Table::Always { "!" } else { "" };
            format!("{mark}{name}: {}", String::from_utf8_lossy(value))
        });
    fields.chain(exchange.notes.iter().cloned()).collect::<Vec<_>>().join("|")
}

#[test]
fn actions() {
    for (lines, expected) in [
        (
            "Header set A one\nHeader append A two\nHeader merge A two\nHeader merge A three",
            "A: one, two, three",
        ),
        ("Header set A one\nHeader add a two\nHeader append A three", "A: one, three|A: two"),
        ("Header set A one\nHeader setifempty A no\nHeader setifempty B once", "A: one|B: once"),
        ("Header set A \"\"\nHeader append A x\nHeader append B y", "A: , x|B: y"),
        ("Header set C \"100%% \\t \\x %{IN}e %{NOPE}e %{S}s 5%\"", "C: 100% \t \\x i n (null) (null) 5%"),
        ("Header set C \"%t %D %l %b %i\"", "C: t=1000 D=250 l=0.10/2.00/10.57 b=30 i=70"),
        ("Header echo ^X-E", "X-E1: e1|x-e2: e2"),
        ("Header set D banana\nHeader edit D a [$0]\nHeader edit* D n (%{IN}e)", "D: b[a](i n)a(i n)a"),
        (
            "Header add F \"a=1; HttpOnly\"\nHeader add F b=2\nHeader edit F ^(.*?=)(.) $1<$2>",
            "F: a=<1>; HttpOnly|F: b=<2>",
        ),
        ("Header set G 1 env=IN\nHeader set G2 1 env=!IN\nHeader set G3 1 env=NO", "G: 1"),
        ("Header set H \"expr=%{REQUEST_METHOD}!\" \"expr=%{REQUEST_METHOD} == 'GET'\"", "H: GET!"),
        ("Header set H 1 \"expr=%{REQUEST_METHOD} == 'POST'\"", ""),
        ("Header set A 1\nHeader unset A env=NO\nHeader set B 1\nHeader unset b", "A: 1"),
        ("Header always set I 1\nHeader Always append I 2\nHeader onsuccess set I 3", "I: 3|!I: 1, 2"),
        ("Header set J: colon", "J: colon"),
        ("Header set A value\nHeader note A noted\nHeader note B missing", "A: value|noted=value|missing="),
        (
            "RequestHeader set X-R r\nRequestHeader append X-R s early\nRequestHeader edit X-R r q\nHeader set L expr=%{req:X-R}",
            "L: q",
        ),
        (
            "Header merge N \"a, b\"\nHeader merge N b\nHeader merge N \"\\\"q, r\\\"\"\nHeader merge N \"r\\\"\"",
            "N: a, b, \"q, r\", r\"",
        ),
    ] {
        assert_eq!(answer(lines), expected, "{lines}");
    }
}

#[test]
fn inner_rules_come_after_outer_ones() {
    let text = "Header set A 1\n<Location /x>\nHeader append A 2\n</Location>";
    let config = config(text).unwrap();
    let merged = config.main().defaults.merge(&config.main().locations[0].conf);
    assert_eq!(merged.headers.response.len(), 2);
}

#[test]
fn mistakes() {
    for text in [
        "Header",
        "Header set",
        "Header set A",
        "Header foo A b",
        "Header set A b c",
        "Header set A b env=",
        "Header set A b env=!",
        "Header edit A b",
        "Header edit A ( b",
        "Header unset A b",
        "Header unset A b c",
        "Header set A %q",
        "Header set A b early x",
        "Header set A \"expr=%{\"",
        "Header set A b expr=(",
        "Header echo (",
        "Header sometimes set A b",
        "RequestHeader echo A",
        "RequestHeader always set A b",
    ] {
        assert!(config(text).is_err(), "{text}");
    }
}
