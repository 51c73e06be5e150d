//! Compares outcomes with those recorded from Apache (the `.txt` files beside this one).

use crate::legacy::{self, LegacyExpr};
use crate::{Answer, Captures, EvalError, Expr, FileAccess, FileTest, Flags, Host, Kind, Variable};
use std::borrow::Cow;
use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr};

const CONDITIONS: &str = include_str!("conditions.txt");
const TEXTS: &str = include_str!("texts.txt");
const LEGACY: &str = include_str!("legacy.txt");

/// The request that was sent to Apache.
#[derive(Default)]
struct Request {
    vary: RefCell<Vec<String>>,
}

fn text(value: &'static str) -> Option<Cow<'static, [u8]>> {
    Some(Cow::Borrowed(value.as_bytes()))
}

impl Host for Request {
    fn variable(&self, variable: Variable) -> Answer<Option<Cow<'_, [u8]>>> {
        Answer::Ready(text(match variable {
            Variable::RequestMethod => "GET",
            Variable::RequestScheme => "http",
            Variable::RequestUri | Variable::DocumentUri => "/b48/index.txt",
            Variable::RequestFilename | Variable::ScriptFilename => "/srv/b48/index.txt",
            Variable::QueryString => "q=1&a=b%20c",
            Variable::ServerProtocol => "HTTP/1.1",
            Variable::TheRequest => "GET /b48/index.txt?q=1 HTTP/1.1",
            Variable::IsSubreq => "false",
            Variable::Https | Variable::Ipv6 | Variable::Http2 => "off",
            Variable::ApiVersion => "20120211",
            Variable::RemoteAddr | Variable::ConnRemoteAddr | Variable::RemoteHost => "127.0.0.1",
            Variable::RemotePort => "40000",
            Variable::RequestStatus => "200",
            Variable::ServerName => "example.test",
            Variable::ServerPort => "80",
            Variable::ServerAdmin => "[no address given]",
            Variable::TimeYear => "2026",
            Variable::TimeMon => "11",
            Variable::TimeWday => "6",
            Variable::Time => "20261121091049",
            _ => return Answer::Ready(None),
        }))
    }

    fn request_header(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        text(match name.to_ascii_lowercase().as_slice() {
            b"host" => "example.test",
            b"user-agent" => "Probe/1.0",
            b"x-test" => "Value",
            b"x-num" => "42",
            b"x-empty" => "",
            b"cookie" => "a=1; b=2",
            b"x-ip" => "10.1.2.3",
            _ => return None,
        })
    }

    fn response_header(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn request_env<'a>(&'a self, name: &[u8], _captures: &'a Captures) -> Option<Cow<'a, [u8]>> {
        match name.to_ascii_uppercase().as_slice() {
            b"SEEN" => text("yes"),
            b"ZERO" => text("0"),
            _ => None,
        }
    }

    fn os_env(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        if name == b"PATH" { text("/bin") } else { None }
    }

    fn varies_on(&self, header: &[u8]) {
        let header = String::from_utf8_lossy(header).into_owned();
        let mut vary = self.vary.borrow_mut();
        if !vary.contains(&header) {
            vary.push(header);
        }
    }

    fn file_test(&self, test: FileTest, path: &[u8]) -> Answer<bool> {
        Answer::Ready(match path {
            b"/etc" => matches!(test, FileTest::Exists | FileTest::Directory | FileTest::Executable),
            b"/etc/passwd" => matches!(test, FileTest::Exists | FileTest::Regular | FileTest::NotEmpty),
            b"/bin/sh" => !matches!(test, FileTest::Directory),
            _ => false,
        })
    }

    fn remote_ip(&self) -> Option<IpAddr> {
        Some(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }
}

/// Runs every line of a table; all differences are reported at once.
fn compare(table: &str, outcome: impl Fn(&str) -> String) {
    let mut differences = Vec::new();
    let mut count = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (source, outcomes) = line.rsplit_once("  -->  ").expect("a line of the table");
        let expected = match outcomes.split_once("  !!  ") {
            Some((_, ours)) => ours.split_once(" (").expect("a reason").0,
            None => outcomes,
        };
        let found = outcome(source);
        count += 1;
        if found != expected {
            differences.push(format!("{source}\n    expected {expected}\n    found    {found}"));
        }
    }
    assert!(count > 40, "the table is nearly empty");
    assert!(differences.is_empty(), "{} of {count} differ:\n{}", differences.len(), differences.join("\n"));
}

fn groups(captures: &Captures, highest: usize) -> String {
    let group = |index| String::from_utf8_lossy(captures.group(index).unwrap_or_default()).into_owned();
    let groups: Vec<String> = (0..=highest).map(group).collect();
    if groups.iter().all(String::is_empty) { String::new() } else { format!(" groups {}", groups.join("|")) }
}

fn condition(source: &str) -> String {
    let flags = Flags { files: FileAccess::TestsOnly, ..Flags::default() };
    let Ok(expr) = Expr::parse(source, Kind::Boolean, flags) else { return "invalid".to_owned() };
    let request = Request::default();
    let mut captures = Captures::new();
    let result = expr.test(&request, &mut captures);
    let mut outcome = match result {
        Ok(true) => format!("true{}", groups(&captures, 2)),
        Ok(false) => "false".to_owned(),
        Err(_) => "failed".to_owned(),
    };
    let vary = request.vary.borrow().join(",");
    if !vary.is_empty() {
        outcome += &format!(" vary {vary}");
    }
    outcome
}

#[test]
fn conditions_give_what_apache_gives() {
    compare(CONDITIONS, condition);
}

#[test]
fn texts_give_what_apache_gives() {
    compare(TEXTS, |source| {
        let flags = Flags { files: FileAccess::TestsOnly, ..Flags::default() };
        let Ok(expr) = Expr::parse(source, Kind::String, flags) else { return "invalid".to_owned() };
        let value = expr.string(&Request::default(), &Captures::new()).expect("a value");
        // The recording went through a header's value, which loses spaces at its ends.
        format!("text:{}", String::from_utf8_lossy(&value).trim_start_matches(' ').replace('\t', "<tab>"))
    });
}

/// The page's variables in the recording.
struct Page;

impl legacy::Host for Page {
    fn variable(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        match name {
            b"x" => text("abc"),
            b"n" => text("10"),
            b"e" => text(""),
            b"sp" => text("a b"),
            _ => None,
        }
    }

    fn accessible(&self, uri: &[u8]) -> Answer<bool> {
        Answer::Ready(uri == b"/b0/index.txt")
    }
}

#[test]
fn legacy_expressions_give_what_apache_gives() {
    compare(LEGACY, |source| {
        let Ok(expr) = LegacyExpr::parse(source.as_bytes()) else { return "invalid".to_owned() };
        let mut captures = Captures::new();
        match expr.test(&Page, &mut captures) {
            Ok(holds) => format!("{holds}{}", groups(&captures, 1)),
            Err(EvalError::Pending(_)) => "pending".to_owned(),
            Err(_) => "invalid".to_owned(),
        }
    });
}
