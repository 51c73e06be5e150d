//! Lines as Apache 2.4 wrote them for the same formats and requests, and which logs a server has.

use super::*;
use crate::Config;
use std::borrow::Cow;
use std::net::IpAddr;

/// `GET /a.HTML?x=y` with some headers, answered with 200, or 404 after an internal redirect.
struct Record {
    status: u16,
}

impl LogRecord for Record {
    fn text(&self, text: Text, which: Which) -> Option<Cow<'_, [u8]>> {
        let value = match text {
            Text::RemoteHost | Text::PeerHost => "127.0.0.1",
            Text::User => "",
            Text::RequestLine => "GET /a.HTML?x=y HTTP/1.1",
            Text::Path if which == Which::First => "/a.HTML",
            Text::Path => "/error.html",
            Text::Query => "x=y",
            Text::Method => "GET",
            Text::Protocol => "HTTP/1.1",
            Text::Filename => "/www/a.HTML",
            Text::VirtualHost => "localhost",
            Text::ServerName => "127.0.0.1",
            _ => return None,
        };
        Some(Cow::Borrowed(value.as_bytes()))
    }

    fn named(&self, kind: NamedSource, name: &[u8], _which: Which) -> Option<Cow<'_, [u8]>> {
        let value: &[u8] = match (kind, name) {
            (NamedSource::RequestHeader, b"X-A") => b"q\"uo\\te\xe4",
            (NamedSource::RequestHeader, b"Cookie") => b"a=1; B =  two ; c=",
            (NamedSource::ResponseHeader, b"Content-Type") => b"text/html; charset=utf-8",
            (NamedSource::ResponseHeader, b"Set-Cookie") => b"a=1, b=2",
            (NamedSource::Env, b"V") => b"1",
            _ => return None,
        };
        Some(Cow::Borrowed(value))
    }

    fn status(&self, which: Which) -> u16 {
        if which == Which::First { 404 } else { self.status }
    }

    fn count(&self, count: Count) -> Option<u64> {
        match count {
            Count::BodyBytes | Count::KeepAliveRequests => Some(0),
            Count::BytesIn => Some(132),
            Count::BytesOut => Some(259),
            Count::Pid => Some(11_284),
            Count::Tid => Some(0x2a),
            Count::TimeToFirstByte => None,
        }
    }

    fn address(&self, of: AddressOf) -> Option<IpAddr> {
        (of != AddressOf::Peer).then_some(IpAddr::from([127, 0, 0, 1]))
    }

    fn port(&self, of: PortOf) -> Option<u16> {
        (of != PortOf::Remote).then_some(80)
    }

    fn began(&self, _which: Which) -> i64 {
        1_795_255_615_956_860
    }

    fn ended(&self) -> i64 {
        self.began(Which::First) + 1_500_328
    }

    fn zone(&self, _seconds: i64) -> Zone<'_> {
        Zone { offset: -12_600, name: "NST" }
    }

    fn connection(&self) -> ConnectionStatus {
        ConnectionStatus::KeepAlive
    }
}

fn line(format: &str, status: u16) -> String {
    let mut out = Vec::new();
    Format::parse(format).expect(format).write(&Record { status }, &mut out);
    let line = String::from_utf8(out).unwrap();
    line.strip_suffix('\n').expect("a line ends").to_owned()
}

#[test]
fn directives_of_a_line() {
    for (format, expected) in [
        (
            "%h %l %u %t \"%r\" %>s %b",
            "127.0.0.1 - \"\" [21/Nov/2026:06:36:55 -0330] \"GET /a.HTML?x=y HTTP/1.1\" 200 -",
        ),
        (
            "%a|%{c}a|%A|%{c}h|%B|%f|%H|%m|%q",
            "127.0.0.1|-|127.0.0.1|127.0.0.1|0|/www/a.HTML|HTTP/1.1|GET|?x=y",
        ),
        ("%U|%>U|%<s|%s|%>s|%v|%V|%R", "/a.HTML|/error.html|404|404|200|localhost|127.0.0.1|-"),
        ("%p|%{local}p|%{Canonical}p|%{remote}p|%{foo}p", "80|80|80|-|foo"),
        ("%k|%X|%%|\\t|\\\\|\\x|\\q", "0|+|%|\t|\\|\\x|\\q"),
        ("%{X-A}i|%{X-B}i|%{Content-Type}o|%{Set-Cookie}o", "q\\\"uo\\\\te\\xe4|-|text/html|a=1, b=2"),
        ("%{nope}e|%{V}e|%{a}C|%{b}C|%{c}C|%{x}n", "-|1|1|two|-|-"),
        ("%404{V}e|%!404{V}e|%!200,304{V}e|%200,304{V}e|%4042{V}e", "-|1|-|1|-"),
        ("%D|%T|%{ms}T|%{us}T|%{s}T|%{foo}T", "1500328|1|1500|1500328|1|foo"),
        ("%{sec}t|%{msec}t|%{usec}t", "1795255615|1795255615956|1795255615956860"),
        ("%{msec_frac}t|%{usec_frac}t|%{end:msec_frac}t", "956|956860|457"),
        ("%{begin:%F %H:%M %Z}t|%{end}t", "2026-11-21 06:36 NST|[21/Nov/2026:06:36:57 -0330]"),
        ("%{beginx}t|%{end:}t", "beginx|[21/Nov/2026:06:36:57 -0330]"),
        ("%I %O %S %^FB %P %{pid}P %{tid}P %{hextid}P %{bar}P", "132 259 391 - 11284 11284 42 2a bar"),
        ("%{x}^ti|%{x}^to|%L|%{c}L", "-|-|-|-"),
        ("", ""),
    ] {
        assert_eq!(line(format, 200), expected, "{format}");
    }
    assert_eq!(line("%>s %!200{V}e", 0), "- 1");
}

#[test]
fn formats_that_are_none() {
    for format in ["%", "%{x", "%z", "%200", "%^xx", "%{a}z", "%>"] {
        assert!(Format::parse(format).is_err(), "{format}");
    }
}

#[test]
fn what_a_format_needs() {
    let format = |text| Format::parse(text).unwrap();
    assert!(format("%h").names_client() && !format("%a").names_client());
    assert!(format("%S").counts_wire_bytes() && !format("%b").counts_wire_bytes());
}

/// Target and a line of each log of a server, and the condition.
fn logs(config: &Config, server: usize) -> Vec<String> {
    let show = |log: &Log| {
        let mut line = Vec::new();
        log.format.write(&Record { status: 200 }, &mut line);
        let condition = match &log.condition {
            None => String::new(),
            Some(Condition::Env { name, set }) => format!(" if {name} {set}"),
            Some(Condition::Expr(expr)) => format!(" if {}", expr.source()),
        };
        format!("{}: {}{condition}", log.target, String::from_utf8_lossy(&line).trim_end())
    };
    config.servers[server].conf.log_config.logs().iter().map(show).collect()
}

fn config(text: &str) -> Result<Config, Vec<crate::ConfigError>> {
    Config::build(&crate::read_text(text, "/etc/apache2")?)
}

#[test]
fn logs_of_virtual_hosts() {
    let config = config(
        "CustomLog logs/main late\nLogFormat \"late %m\" late\nLogFormat \"usual %m\"\nTransferLog \"|/bin/rotate x\"\n\
         GlobalLog /var/all \"all %m\" env=!V\n\
         <VirtualHost *:1>\n</VirtualHost>\n\
         <VirtualHost *:2>\nCustomLog /own \"own\" \"expr=-n '%m'\"\n</VirtualHost>\n\
         <VirtualHost *:3>\nTransferLog /own\nLogFormat own\nErrorLog syslog:local1\nLogLevel info ssl:debug\n</VirtualHost>\n",
    )
    .unwrap();
    let main =
        ["/etc/apache2/logs/main: late GET", "|/bin/rotate x: usual GET", "/var/all: all GET if V false"];
    assert_eq!(logs(&config, 0), main);
    assert_eq!(logs(&config, 1), main);
    assert_eq!(logs(&config, 2), ["/own: own if -n '%m'", "/var/all: all GET if V false"]);
    assert_eq!(logs(&config, 3), ["/own: own", "/var/all: all GET if V false"]);
    let third = &config.servers[3].conf.log_config;
    assert_eq!(third.error_log.as_deref(), Some("syslog:local1"));
    assert_eq!([third.levels.of("core"), third.levels.of("ssl")], [Level::Info, Level::Debug]);
}

#[test]
fn mistakes() {
    for text in [
        "LogFormat \"%z\" a",
        "CustomLog x",
        "CustomLog x \"%z\"",
        "CustomLog x common env=",
        "CustomLog x common env=!",
        "CustomLog x common foo",
        "CustomLog x common expr=(",
        "CustomLog | common",
        "LogLevel loud",
        "LogLevel cgi:loud",
        "ErrorLog x y",
        "ErrorLogFormat sometimes x",
        "ErrorLogFormat \"%Q %M\"",
        "ErrorLogFormat \"%{c}L %m\"",
        "ErrorLogFormat \"%M %{x\"",
        "ErrorLogFormat \"%+a %M\"",
        "UndefMacro none",
        "RequestReadTimeout header",
        "<VirtualHost *:1>\nGlobalLog x common\n</VirtualHost>",
    ] {
        assert!(config(text).is_err(), "{text}");
    }
}

#[test]
fn what_apache_takes_is_taken() {
    for text in [
        "ErrorLogFormat \"[%{uc}t] [%-m:%l] [pid %P:tid %T] %7F: %E: [client\\ %a] %{X}i %{Y}e %{Z}n% %% %M% ,\\ referer\\ %{Referer}i\"",
        "RequestReadTimeout",
        "RequestReadTimeout header=10-20,minrate=500 body=5",
        "<Location /x>\nCookieExpires 10\n</Location>",
    ] {
        assert!(config(text).is_ok(), "{text}");
    }
}
