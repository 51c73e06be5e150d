//! The head of a response goes to the client when the program flushes it, and does not wait for the first byte of the body.

use super::{Technique, go, site, techniques};
use hostler_tests::{Connection, Server, Site};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

/// Those that say so, and how one has to be asked. WSGI has no way to flush a head without a body.
fn flushing() -> Vec<Technique> {
    techniques().into_iter().filter(|technique| technique.name != "wsgi").collect()
}

/// Reads as far as the end of the head.
fn head(client: &mut Connection) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.byte().expect("a byte of the head"));
    }
    String::from_utf8_lossy(&head).into_owned()
}

fn ask(server: &Server, url: &str, fields: &str) -> Connection {
    let mut client = server.connect();
    client.send(format!("GET {url} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n"));
    client
}

#[test]
fn a_head_that_is_flushed_does_not_wait_for_the_body() {
    for technique in flushing() {
        let server = site("").start();
        // Twice: the second request for a URL takes another path.
        for _ in 0..2 {
            let mut client = ask(&server, technique.url, "");
            let head = head(&mut client);
            assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("text/plain"), "{}", technique.name);
            go(&server);
            let rest = String::from_utf8_lossy(&client.rest()).into_owned();
            assert!(rest.contains("done"), "{}: {rest}", technique.name);
            std::fs::remove_file(server.site().path("tmp/go")).expect("it is there");
        }
    }
}

#[test]
fn a_filter_lets_the_head_pass() {
    let filters = "<Location />\nSetOutputFilter DEFLATE\n</Location>";
    // Under Apache, too, the filter waits for the first byte of a CGI program's body.
    for technique in flushing().into_iter().filter(|technique| technique.name != "cgi") {
        let server = site(filters).start();
        let mut client = ask(&server, technique.url, "Accept-Encoding: gzip\r\n");
        assert!(head(&mut client).contains("Content-Encoding: gzip"), "{}", technique.name);
        go(&server);
        assert!(!client.rest().is_empty());
    }
}

#[test]
fn a_head_over_http_2_does_not_wait_for_the_body() {
    let server = site("Protocols h2c http/1.1").start();
    for technique in flushing() {
        let url = format!("http://127.0.0.1:{}{}", server.port(), technique.url);
        let mut curl = std::process::Command::new("curl");
        curl.args(["-sN", "-D", "-", "-o", "/dev/null", "--http2-prior-knowledge", &url]);
        let mut client = curl.stdout(std::process::Stdio::piped()).spawn().expect("curl runs");
        let mut byte = [0];
        client.stdout.take().expect("it is ours").read_exact(&mut byte).expect("the head comes");
        go(&server);
        client.wait().expect("it ends");
        std::fs::remove_file(server.site().path("tmp/go")).expect("it is there");
    }
}

#[test]
fn head_and_body_that_are_there_together_go_out_together() {
    let server = site("").file("htdocs/short.php", "<?php echo 'short';").start();
    for url in ["/y.txt", "/short.php"] {
        if !std::path::Path::new("/usr/bin/php").exists() && url.ends_with("php") {
            continue;
        }
        for _ in 0..3 {
            let answer = server.get(url);
            // Known only where the whole answer was there before its head was sent.
            assert_eq!(answer.field("Content-Length"), Some(answer.body.len().to_string().as_str()), "{url}");
        }
    }
}

#[test]
fn a_head_of_another_server_s_does_not_wait_for_the_body() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("it has one").port();
    let server = Site::new().config(&format!("ProxyPass /p http://127.0.0.1:{port}/")).start();
    for _ in 0..2 {
        let mut client = ask(&server, "/p", "");
        let (mut backend, _) = listener.accept().expect("the server asks");
        let mut asked = [0; 4096];
        assert!(backend.read(&mut asked).expect("a request") > 0);
        backend.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n").expect("it reads");
        assert!(head(&mut client).contains("Content-Length: 4"));
        backend.write_all(b"done").expect("it reads");
        assert_eq!(client.rest(), b"done");
    }
}
