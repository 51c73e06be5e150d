//! Static files.

use hostler_tests::{SITE_UID, Site, needs_root};
use std::io::{Read as _, Write as _};
use std::time::Duration;

#[test]
fn a_file_is_sent_with_its_length() {
    let server = Site::new().file("htdocs/hello.txt", "Hello").start();
    let answer = server.get("/hello.txt");
    assert_eq!((answer.status, answer.text()), (200, "Hello".into()));
    assert_eq!(answer.field("Content-Length"), Some("5"));
    assert_eq!(server.get("/missing.txt").status, 404);
}

#[test]
fn a_document_root_that_only_its_user_can_read_is_served() {
    needs_root!();
    let site = Site::new().file("htdocs/private.txt", "mine").mode("htdocs/private.txt", 0o600);
    let site = site.mode("htdocs", 0o700).owner("htdocs", SITE_UID).owner("htdocs/private.txt", SITE_UID);
    let server = site.start();
    assert_eq!(server.get("/private.txt").text(), "mine");
}

/// As for one that never was: what is remembered of an answer says nothing of the connection.
#[test]
fn an_answer_that_is_known_already_closes_where_it_should() {
    let config = "MaxKeepAliveRequests 3\nPerlModule C\n<Location /c>\nSetHandler modperl\nPerlResponseHandler C\n</Location>";
    let module = "package C; use Apache2::RequestRec (); use Apache2::RequestIO ();\n\
                  sub handler { $_[0]->content_type('text/plain'); $_[0]->print('said'); 0 } 1;\n";
    let site = Site::new().file("htdocs/said", "said").file("lib/C.pm", module);
    let server = site.config("PerlSwitches -I@ROOT@/lib").config(config).start();
    // A young file's answer is not remembered.
    // Time: the file has to grow older.
    std::thread::sleep(Duration::from_secs(3));
    for target in ["/said", "/c"] {
        for _ in 0..3 {
            for (version, field) in
                [("1.1", "Connection: close"), ("1.0", "X: y"), ("1.0", "Connection: close")]
            {
                let mut connection = server.connect();
                connection.send(format!("GET {target} HTTP/{version}\r\nHost: localhost\r\n{field}\r\n\r\n"));
                let answer = connection.response();
                assert_eq!((answer.text(), answer.field("Connection")), ("said".into(), Some("close")));
                assert!(connection.closes_within(Duration::from_secs(1)), "{target} {version} {field}");
            }
        }
        let mut connection = server.connect();
        for last in [false, false, false, true] {
            connection.send(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
            let answer = connection.response();
            assert_eq!((answer.text(), answer.field("Connection")), ("said".into(), last.then_some("close")));
        }
        // This client may send more: it is waited for.
        connection.send(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        assert!(connection.closes_within(Duration::from_secs(4)));
    }
}

#[test]
fn a_connection_without_a_proxy_header_is_closed_and_not_reset() {
    let server = Site::new().config("RemoteIPProxyProtocol On\n").start();
    let connection = server.connect();
    let mut stream = connection.sender();
    let text = "PROXY FOO 192.0.2.1 192.0.2.2 1 2\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(text.as_bytes()).expect("the server listens");
    let mut answer = Vec::new();
    assert_eq!(stream.read_to_end(&mut answer).map_err(|error| error.kind()), Ok(0));
}
