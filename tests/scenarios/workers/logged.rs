//! Values of Log handlers about a response, whoever has made it. The expectations are Apache's, except for the lengths
//! and the charset of error pages.

use crate::faults::await_that;
use hostler_tests::{Server, Site};

/// Writes what it sees to the ErrorLog: `LOG path status-line bytes type length handler notes pnotes next`.
const MODULE: &str = r#"package L;
use strict; use warnings;
use Apache2::RequestRec (); use Apache2::RequestIO (); use Apache2::RequestUtil (); use Apache2::Log ();
use Apache2::SubRequest (); use APR::Table (); use Apache2::Connection ();
sub fixup { my $r = shift; $r->notes->set(n => 'noted'); $r->pnotes(p => $$); return -1 }
sub logged {
    my $r = shift;
    my @seen = map { $_ // '-' } $r->status, $r->status_line, $r->bytes_sent, $r->content_type,
        scalar $r->headers_out->get('Content-Length'), $r->handler, $r->notes->get('n'),
        ($r->pnotes('p') // 0) == $$ ? 'same' : 'other', $r->next ? $r->next->uri . ' ' . $r->next->bytes_sent : 'no next';
    $r->log_error(join '|', 'LOG', $r->method, $r->uri, @seen, $r->connection->client_ip, $r->request_time > 1e9, 'end');
    return 0;
}
sub hello { my $r = shift; $r->content_type('text/plain'); $r->print('hello'); 0 }
sub long { my $r = shift; $r->content_type('text/plain'); $r->print('x' x 10000) for 1 .. 30; 0 }
sub missing { 404 }
sub found { $_[0]->headers_out->set(Location => 'http://example.org/'); 302 }
sub internal { $_[0]->internal_redirect('/plain.txt'); 0 }
sub declined { -1 }
1;
"#;

fn serving() -> Server {
    let mut config = String::from(
        "PerlSwitches -I@ROOT@/lib\nPerlModule L\nStartServers 1\nMaxRequestWorkers 1\nHostlerQueueTimeout 4\n\
         PerlFixupHandler L::fixup\nPerlLogHandler L::logged\nScriptAlias /cgi-bin/ @ROOT@/cgi-bin/\n\
         SetEnv ap_trust_cgilike_cl yes\n\
         <Location /doc>\nErrorDocument 404 /p/hello\n</Location>\n",
    );
    for name in ["hello", "long", "missing", "found", "internal", "declined"] {
        config.push_str(&format!(
            "<Location /p/{name}>\nSetHandler modperl\nPerlResponseHandler L::{name}\n</Location>\n"
        ));
    }
    Site::new()
        .file("lib/L.pm", MODULE)
        .file("htdocs/plain.txt", "plain")
        .file("htdocs/p/declined", "declined")
        .script(
            "cgi-bin/fine",
            "#!/bin/sh\nprintf 'Status: 202 Fine\\nContent-Type: text/x-cgi\\nContent-Length: 8\\n\\ncgi body'\n",
        )
        .config(&config)
        .start()
}

/// The line of a request, from the status on.
fn line(server: &Server, method: &str, target: &str) -> String {
    let before = lines(server).len();
    let mut connection = server.connect();
    connection.send(format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
    let _ = connection.rest();
    await_that("the request is logged", || lines(server).len() > before);
    let line = lines(server).pop().unwrap_or_default();
    let start = format!("LOG|{method}|{target}|");
    let text = line.split_once(&start).unwrap_or_else(|| panic!("{target}: {line}")).1;
    text.split_once("|127.0.0.1|1|end").unwrap_or_else(|| panic!("{line}")).0.to_owned()
}

fn lines(server: &Server) -> Vec<String> {
    server.error_log().lines().filter(|line| line.contains("LOG|")).map(str::to_owned).collect()
}

#[test]
fn log_handlers_see_what_was_sent() {
    let server = serving();
    let cases = [
        ("GET", "/plain.txt", "200|200 OK|5|text/plain|5|-|noted|other|no next"),
        ("HEAD", "/plain.txt", "200|200 OK|5|text/plain|5|-|noted|other|no next"),
        ("GET", "/cgi-bin/fine", "202|202 Fine|8|text/x-cgi|8|cgi-script|noted|other|no next"),
        ("GET", "/p/hello", "200|200 OK|5|text/plain|-|modperl|noted|same|no next"),
        ("HEAD", "/p/hello", "200|200 OK|5|text/plain|-|modperl|noted|same|no next"),
        ("GET", "/p/long", "200|200 OK|300000|text/plain|-|modperl|noted|same|no next"),
        ("GET", "/p/declined", "200|200 OK|8|-|8|modperl|noted|other|no next"),
        ("GET", "/p/internal", "200|-|0|-|-|modperl|noted|same|/plain.txt 5"),
        ("GET", "/doc/none", "404|-|0|-|-|-|noted|other|/p/hello 5"),
    ];
    for _ in 0..2 {
        for (method, target, expected) in cases {
            assert_eq!(line(&server, method, target), expected, "{method} {target}");
        }
    }
}

#[test]
fn log_handlers_see_the_page_of_an_error() {
    let server = serving();
    for _ in 0..2 {
        for (target, status, handler, worker) in [
            ("/none", "404|404 Not Found", "-", "other"),
            ("/p/missing", "404|404 Not Found", "modperl", "same"),
            ("/p/found", "302|302 Found", "modperl", "same"),
        ] {
            let text = line(&server, "GET", target);
            let parts: Vec<&str> = text.split('|').collect();
            let [code, reason, bytes, kind, length, told, notes, kept, next] = parts[..] else {
                panic!("{text}")
            };
            assert_eq!(format!("{code}|{reason}"), status);
            assert!(bytes.parse::<u32>().is_ok_and(|bytes| bytes > 100) && bytes == length, "{text}");
            assert!(kind.starts_with("text/html"), "{text}");
            assert_eq!((told, notes, kept, next), (handler, "noted", worker, "no next"), "{target}");
        }
    }
}
