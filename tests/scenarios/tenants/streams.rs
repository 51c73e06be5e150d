//! Requests that stay open: the visitors of one site hold as many of its application's streams as they can.

use super::connections::connected;
use super::{Attack, tenants};
use crate::asgi::needs_python;
use crate::faults::await_that;
use hostler_tests::{Server, needs_root};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};

/// The attacker's address; B's visitor comes from 127.0.0.1.
const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

const STAYS: &str = r#"
async def app(scope, receive, send):
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            pass
    elif scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"begun", "more_body": True})
        if scope["path"].endswith("/stays"):
            while (await receive())["type"] != "http.disconnect":
                pass
        await send({"type": "http.response.body", "body": b""})
"#;

/// Descriptors that the front may have, and how many of them may be one site's connections to its programs: a quarter.
const DESCRIPTORS: u32 = 640;
const OF_SITE: usize = 160;

fn ask(server: &Server, host: &str, path: &str, fields: &str) -> TcpStream {
    let mut stream = connected(server, ATTACKER);
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n");
    stream.write_all(request.as_bytes()).expect("it is taken");
    stream
}

/// Returns how many of them have a response by now.
fn answered(streams: &[TcpStream]) -> usize {
    let has_answer = |stream: &TcpStream| {
        stream.set_nonblocking(true).expect("a socket");
        match stream.peek(&mut [0; 1]) {
            Ok(count) => count > 0,
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(error) => panic!("{error}"),
        }
    };
    streams.iter().filter(|stream| has_answer(stream)).count()
}

#[test]
fn open_streams_of_one_site_leave_another_its_connections() {
    needs_root!();
    needs_python!();
    let server = tenants("HostlerSiteConnections max\nHostlerQueueTimeout 3\nHostlerQueueLength 400")
        .file("app/app.py", STAYS)
        .config(
            "HostlerConnectionsPerAddress max\n<Location /app>\nSetHandler asgi\nASGIApp \"@ROOT@/app/app.py\"\n\
             Require all granted\n</Location>",
        )
        .descriptors(DESCRIPTORS)
        .start();
    let fine = |host: &str| {
        let answer = server
            .request(format!("GET /app/x HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes());
        (answer.status, answer.text())
    };
    assert_eq!((fine("a.test").0, fine("b.test").0), (200, 200));
    Attack::new("open streams, more than there may be", 24).of_connections().run(&server, || {
        let streams: Vec<_> = (0..OF_SITE + 60).map(|_| ask(&server, "a.test", "/app/stays", "")).collect();
        await_that("A has as many as it may", || answered(&streams) >= OF_SITE - 8);
        assert_eq!(fine("b.test"), (200, "begun".to_owned()));
        // Those that wait are refused in the end, and the log says why.
        await_that("the others are refused", || answered(&streams) == streams.len());
        let _ = server.await_error("the site has as many connections to its programs as it may");
        let upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
                       Sec-WebSocket-Version: 13\r\n";
        let mut head = [0; 12];
        ask(&server, "b.test", "/app/socket", upgrade).read_exact(&mut head).expect("an answer");
        assert!(head.ends_with(b" 101"), "{}", head.escape_ascii());
        drop(streams);
        await_that("A is served again", || fine("a.test").0 == 200);
    });
}
