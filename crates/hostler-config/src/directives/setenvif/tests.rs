//! SetEnvIf and its kin, in cases that were tried with Apache 2.4 first.

use super::{Attribute, Pause, Request, apply};
use crate::Config;
use hostler_expr::{Answer, Captures, Host, Regex, RegexError, Variable};
use std::borrow::Cow;
use std::collections::BTreeMap;

#[derive(Default)]
struct Get {
    env: BTreeMap<String, Vec<u8>>,
    host: Option<&'static str>,
}

const HEADER: [(&str, &str); 3] = [("User-Agent", "curl/8"), ("X-Bar", "bar"), ("X-BAZ", "qq")];

impl Request for Get {
    fn attribute(&self, attribute: Attribute) -> Answer<Option<Cow<'_, [u8]>>> {
        let value = match attribute {
            Attribute::RequestUri => "/cgi/env",
            Attribute::RequestMethod => "GET",
            Attribute::RemoteHost => match self.host {
                None => return Answer::Pending,
                Some(host) => host,
            },
            _ => return Answer::Ready(None),
        };
        Answer::Ready(Some(Cow::Borrowed(value.as_bytes())))
    }

    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let found = HEADER.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| Cow::Borrowed(value.as_bytes()))
    }

    fn header_matching(&self, name: &Regex) -> Result<Option<Cow<'_, [u8]>>, RegexError> {
        let found = HEADER.iter().find(|(known, _)| name.is_match(known.as_bytes()).unwrap());
        Ok(found.map(|(_, value)| Cow::Borrowed(value.as_bytes())))
    }

    fn env(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.env.get(name).map(|value| Cow::Borrowed(&value[..]))
    }

    fn set_env(&mut self, name: &str, value: Vec<u8>) {
        self.env.insert(name.into(), value);
    }

    fn unset_env(&mut self, name: &str) {
        self.env.remove(name);
    }

    fn expression_host(&self) -> &dyn Host {
        self
    }

    fn failed(&self, reason: &str) {
        panic!("{reason}");
    }
}

impl Host for Get {
    fn variable(&self, variable: Variable) -> Answer<Option<Cow<'_, [u8]>>> {
        Answer::Ready((variable == Variable::RequestUri).then_some(Cow::Borrowed(b"/cgi/env")))
    }

    fn request_header(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
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

fn env(lines: &str) -> String {
    let config = config(lines).expect(lines);
    let mut request = Get::default();
    apply(&config.main().conf.setenvif.rules, 0, &mut request).unwrap();
    let shown = request.env.iter().map(|(name, value)| format!("{name}={}", String::from_utf8_lossy(value)));
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn variables() {
    for (lines, expected) in [
        ("SetEnvIf X-Foo ^$ X1 !X2 X3=a=b X4=$0-$1", "X1=1 X3=a=b X4=-"),
        ("SetEnvIf Request_URI /(c)gi \"X5=v $1 \\$1\" X6=!", "X5=v c $1"),
        ("SetEnvIf \"^X-B.r$\" \"(.+)\" X7=$1\nSetEnvIf X7 (.*) X11=$1", "X11=bar X7=bar"),
        ("SetEnvIfNoCase \"^x-b.z$\" \"(Q)\" X8=$1", "X8=q"),
        ("SetEnvIf \"^x-b.z$\" Q X8\nSetEnvIf ^x-b.z$ q X9", "X9=1"),
        ("SetEnvIfExpr \"%{REQUEST_URI} =~ m#/cgi/(...)#\" X9=$1 X10", "X10=1 X9=env"),
        ("BrowserMatch ^curl X12\nBrowserMatch ^CURL X13\nBrowserMatchNoCase ^CURL X14", "X12=1 X14=1"),
        ("SetEnvIf Request_Method GET A B\nSetEnvIf x-bar ^BAR A=2\nSetEnvIf A 1 !B", "A=1"),
        ("SetEnvIf request_protocol ^$ P", "P=1"),
    ] {
        assert_eq!(env(lines), expected, "{lines}");
    }
}

#[test]
fn rules_stop_until_the_name_is_known() {
    let config = config("SetEnvIf Request_URI . A=1\nSetEnvIf Remote_Host org$ B\nSetEnvIf A 1 C").unwrap();
    let rules = &config.main().conf.setenvif.rules;
    let mut request = Get::default();
    let Err(Pause { at, .. }) = apply(rules, 0, &mut request) else { panic!("the name is not known") };
    assert_eq!((at, request.env.len()), (1, 1));
    request.host = Some("example.org");
    apply(rules, at, &mut request).unwrap();
    assert_eq!(request.env.into_keys().collect::<String>(), "ABC");
}

#[test]
fn sections_append() {
    let text = "SetEnvIf A . A\n<VirtualHost *:1>\nSetEnvIf B . B\n<Location /x>\nSetEnvIf C . C\n</Location>\n</VirtualHost>";
    let config = config(text).unwrap();
    assert_eq!(config.servers[1].conf.setenvif.rules.len(), 2);
    assert_eq!(config.servers[1].locations[0].conf.setenvif.rules.len(), 1);
}

#[test]
fn mistakes() {
    for text in [
        "SetEnvIf",
        "SetEnvIf a",
        "SetEnvIf a b",
        "SetEnvIf a ( c",
        "SetEnvIf \"^a(\" b c",
        "SetEnvIfExpr \"(\" a",
        "SetEnvIfExpr true",
        "BrowserMatch x",
    ] {
        assert!(config(text).is_err(), "{text}");
    }
}
