//! HTTP/2 over TLS to another server (`h2://`): it is agreed on in the handshake (ALPN, RFC 7301), or there is no request.

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
