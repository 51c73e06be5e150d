//! HTTP/2 to another server: over TLS (`h2://`) it is agreed on in the handshake (ALPN, RFC 7301), or there is no request; bodies go as they
//! come.

use crate::faults::frames::{Client, DATA, END_HEADERS, END_STREAM, HEADERS, SETTINGS, block, status_of};
use crate::tls::{EC, certificate, virtual_host};
use hostler_tests::{Server, Site, needs_program};

/// A server that speaks these protocols over TLS, and one that asks it by HTTP/2 and believes its certificate alone.
fn pair(protocols: &str, trusted: &str) -> (Server, Server) {
    let site = Site::new().dir("tls").file("htdocs/a", "hello");
    certificate(&site.path("tls"), "one", "one.test", EC);
    certificate(&site.path("tls"), "two", "two.test", EC);
    let believed = site.path(&format!("tls/{trusted}.pem")).display().to_string();
    let behind = site.config(&virtual_host("one.test", "one", &format!("Protocols {protocols}"))).start();
    let config = format!(
        "SSLProxyEngine on\nSSLProxyVerify require\nSSLProxyCheckPeerName off\nSSLProxyCheckPeerCN off\n\
         SSLProxyCACertificateFile {believed}\nProxyPass /p/ h2://127.0.0.1:{}/ retry=0\n",
        behind.port()
    );
    (Site::new().config(&config).start(), behind)
}

#[test]
fn http_2_is_agreed_on_in_the_handshake() {
    needs_program!("/usr/bin/openssl");
    let (server, behind) = pair("h2 http/1.1", "one");
    for _ in 0..3 {
        let answer = server.get("/p/a");
        assert_eq!((answer.status, answer.text().as_str()), (200, "hello"), "{}", server.error_log());
    }
    crate::faults::await_that("the other server has spoken HTTP/2", || {
        behind.access_log().matches("one.test 200 HTTP/2.0").count() == 3
    });
}

#[test]
fn who_does_not_agree_or_is_not_believed_gets_no_request() {
    needs_program!("/usr/bin/openssl");
    for (protocols, trusted) in [("http/1.1", "one"), ("h2 http/1.1", "two")] {
        let (server, behind) = pair(protocols, trusted);
        let status = server.get("/p/a").status;
        assert!(matches!(status, 500 | 503), "{protocols} {trusted}: {status} {}", server.error_log());
        let _ = server.await_error("h2://127.0.0.1");
        assert!(!behind.access_log().contains(" 200 "), "{protocols} {trusted}: {}", behind.access_log());
    }
}

/// Reads stream 1 up to a text.
fn until(client: &mut Client, text: &str, said: &mut Vec<u8>) {
    while !String::from_utf8_lossy(said).contains(text) {
        let frame = client.frame().expect("the connection goes on");
        match frame.kind {
            SETTINGS if frame.flags & 1 == 0 => drop(client.send(SETTINGS, 1, 0, &[])),
            HEADERS if frame.stream == 1 => assert_eq!(status_of(&frame.payload), 200),
            DATA if frame.stream == 1 => said.extend_from_slice(&frame.payload),
            _ => {}
        }
    }
}

/// As calls of gRPC do: what one side says depends on what the other has said before.
#[test]
fn a_conversation_over_http_2_is_passed_on_word_by_word() {
    needs_program!("/usr/bin/python3");
    let echo = "async def app(scope, receive, send):\n \
                await send({'type': 'http.response.start', 'status': 200})\n \
                more = True\n \
                while more:\n  \
                part = await receive()\n  \
                more = part.get('more_body', False)\n  \
                await send({'type': 'http.response.body', 'body': b'said ' + part['body'], 'more_body': more})\n";
    let server = Site::new()
        .file("app/app.py", echo)
        .config(
            "Protocols h2c http/1.1\nProxyPass /two/ h2c://127.0.0.1:@PORT@/app/\n\
             <Location /app>\nSetHandler asgi\nASGIApp app/app.py\nRequire all granted\n</Location>\n",
        )
        .start();
    let mut client = Client::connect(&server, &[]);
    let fields =
        [(":method", "POST"), (":scheme", "http"), (":authority", "localhost"), (":path", "/two/echo")];
    client.send(HEADERS, END_HEADERS, 1, &block(&fields));
    let mut said = Vec::new();
    for word in ["one", "two", "three"] {
        client.send(DATA, 0, 1, word.as_bytes());
        until(&mut client, &format!("said {word}"), &mut said);
    }
    client.send(DATA, END_STREAM, 1, b"four");
    until(&mut client, "said four", &mut said);
}
