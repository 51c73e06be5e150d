//! Another server that answers for a URL, asked without the phases and without tables: byte for byte the same as by the way
//! through all of them, which a `Header` directive keeps all requests on.

use crate::faults::await_that;
use crate::proxy::{backend, head};
use hostler_tests::{Server, Site};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::time::Duration;

/// The server's responses, by the last part of the path; `{}`: the request's head, as the body.
const ANSWERS: &[(&str, &str)] = &[
    (
        "plain",
        "200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nServer: other/1\r\nContent-Type: text/plain\r\nX-A: 1\r\nX-a: 2",
    ),
    (
        "kept",
        "200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5",
    ),
    ("named", "200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nConnection: X-Hop\r\nX-Hop: 1\r\nX-Stays: 2"),
    ("typeless", "200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nVary: Accept\r\nETag: \"x\""),
    ("varies", "200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nVary: Accept, Cookie, accept"),
    (
        "types",
        "200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Type: text/plain\r\nContent-Type: text/html",
    ),
    ("reason", "200 Fine\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT"),
    (
        "created",
        "201 Created\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nLocation: http://backend.example/p/new",
    ),
    ("moved", "302 Found\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nLocation: http://backend.example/else"),
    (
        "cookie",
        "200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nSet-Cookie: a=b; Path=/in; Domain=backend.example",
    ),
    (
        "refresh",
        "200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Location: http://backend.example/here",
    ),
    ("error", "500 Oh\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT"),
    (
        "login",
        "401 Unauthorized\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nWWW-Authenticate: Basic realm=\"r\"",
    ),
];

/// Whole answers of another kind.
const RAW: &[(&str, &[u8])] = &[
    (
        "chunked",
        b"HTTP/1.1 200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n",
    ),
    (
        "trailers",
        b"HTTP/1.1 200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n3\r\none\r\n0\r\nX-T: end\r\n\r\n",
    ),
    ("empty", b"HTTP/1.1 200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Length: 0\r\n\r\n"),
    ("nothing", b"HTTP/1.1 204 No Content\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\n\r\n"),
    (
        "early",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Length: 2\r\n\r\nhi",
    ),
    (
        "folded",
        b"HTTP/1.1 200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nX-Long: one\r\n two\r\nContent-Length: 2\r\n\r\nhi",
    ),
    ("half", b"HTTP/1.1 200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Length: 9\r\n\r\nhalf"),
];

/// Fields of requests.
pub(super) const FIELDS: &[&str] = &[
    "",
    "Cookie: a=b\r\nAccept-Encoding: gzip\r\nUser-Agent: one\r\n",
    "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Host: b\r\nX-Mine: \t padded \t\r\n",
    "Accept: text/html\r\nAccept: text/plain\r\n",
    "TE: trailers\r\nProxy-Authorization: Basic eDp5\r\nAuthorization: Basic eDp5\r\n",
    "Max-Forwards: 3\r\n",
    "Max-Forwards: 0\r\n",
    "Range: bytes=0-1\r\n",
    "If-None-Match: \"x\"\r\n",
];

/// Answers as its path says.
fn serve(mut stream: TcpStream) {
    while let Some(asked) = head(&mut stream) {
        let target = asked.split(' ').nth(1).unwrap_or_default();
        let name = target.split('?').next().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        if let Some((_, bytes)) = RAW.iter().find(|(known, _)| *known == name) {
            if stream.write_all(bytes).is_err() || name == "half" {
                return;
            }
        } else if let Some((_, fields)) = ANSWERS.iter().find(|(known, _)| *known == name) {
            let answer = format!("HTTP/1.1 {fields}\r\nContent-Length: {}\r\n\r\n{asked}", asked.len());
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }
}

/// A server before the other one; `more`: of its configuration.
fn before(port: u16, more: &str) -> Server {
    let config = format!(
        "ServerName front.example\nLogFormat \"%r|%>s|%B|%{{Content-Type}}o|%{{X-A}}o|%X|%O|%I|%k\" told\nCustomLog logs/told.log told\n\
         ProxyPass /p/ http://127.0.0.1:{port}/in/ retry=0\nProxyPassReverse /p/ http://backend.example/\n\
         ProxyPassReverseCookiePath /in /p\nProxyPassReverseCookieDomain backend.example front.example\n{more}"
    );
    Site::new().dir("logs").config(&config).start()
}

pub(super) fn ask(server: &Server, target: &str, fields: &str) -> String {
    let mut connection = server.connect();
    connection.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n{fields}Connection: close\r\n\r\n"));
    let answer = String::from_utf8_lossy(&connection.rest()).into_owned();
    // When this server says it by itself.
    let is_own = |line: &&str| line.starts_with("Date: ") && !line.contains(" 2024 ");
    answer.split("\r\n").filter(|line| !is_own(line)).collect::<Vec<_>>().join("\r\n")
}

#[test]
fn another_server_s_answers_are_the_same_in_memory_s_way() {
    let (port, _) = backend(serve);
    let fast = before(port, "");
    let slow = before(port, "Header unset X-None\n");
    let names = ANSWERS.iter().map(|(name, _)| *name).chain(RAW.iter().map(|(name, _)| *name));
    for name in names {
        for fields in FIELDS {
            for query in ["", "?a=b", "?c&d=%20"] {
                let target = format!("/p/{name}{query}");
                let expected = ask(&slow, &target, fields);
                for round in 0..3 {
                    assert_eq!(ask(&fast, &target, fields), expected, "{target} {fields:?} {round}");
                }
            }
        }
    }
    let log =
        |server: &Server| std::fs::read_to_string(server.site().path("logs/told.log")).unwrap_or_default();
    let all = (ANSWERS.len() + RAW.len()) * FIELDS.len() * 3;
    await_that("all are logged", || {
        log(&slow).lines().count() == all && log(&fast).lines().count() == 3 * all
    });
    let (fast, slow) = (log(&fast), log(&slow));
    for line in slow.lines() {
        let times = |all: &str| all.lines().filter(|known| *known == line).count();
        let target = line.split('|').next().unwrap_or_default();
        let others: Vec<_> = fast.lines().filter(|known| known.starts_with(target)).collect();
        assert_eq!(times(&fast), 3 * times(&slow), "{line}; {others:#?}");
    }
}

#[test]
fn requests_that_follow_each_other_are_each_answered_as_by_the_other_way() {
    let (port, _) = backend(serve);
    let (fast, slow) = (before(port, ""), before(port, "Header unset X-None\n"));
    let all = |server: &Server, requests: &str| {
        let mut connection = server.connect();
        connection.send(requests);
        let answers = String::from_utf8_lossy(&connection.rest()).into_owned();
        answers.lines().filter(|line| !line.starts_with("Date: ")).collect::<Vec<_>>().join("\n")
    };
    for name in ["plain", "kept", "chunked", "empty", "cookie", "moved"] {
        let old = format!("GET /p/{name} HTTP/1.0\r\nHost: a\r\n");
        let new = format!("GET /p/{name} HTTP/1.1\r\nHost: a\r\n");
        for requests in [
            format!("{old}\r\n"),
            format!("{old}Connection: keep-alive\r\n\r\n{old}\r\n"),
            format!("{new}\r\n{new}X: 1\r\n\r\n{new}Connection: close\r\n\r\n"),
        ] {
            let expected = all(&slow, &requests);
            for round in 0..3 {
                assert_eq!(all(&fast, &requests), expected, "{requests:?} {round}");
            }
        }
    }
}

#[test]
fn a_connection_that_the_other_side_gave_up_costs_no_request() {
    // Each connection has one answer; what comes next on it is read, and it is closed.
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let (port, connections) = backend(|mut stream| {
        if head(&mut stream).is_some() {
            ASKED.fetch_add(1, SeqCst);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
            let _ = head(&mut stream);
        }
    });
    let server = before(port, "");
    for _ in 0..20 {
        assert_eq!(server.get("/p/a").text(), "hi");
    }
    assert_eq!(ASKED.load(SeqCst), 20);
    assert_eq!(connections.load(SeqCst), 20);
}

#[test]
fn what_a_server_says_slowly_goes_on_as_it_comes() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let (port, _) = backend(move |mut stream| {
        while let Some(asked) = head(&mut stream) {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\none");
            if asked.contains("slowly") {
                let _ = wait.lock().expect("one at a time").recv();
            }
            let _ = stream.write_all(b"two");
        }
    });
    let server = before(port, "");
    for _ in 0..3 {
        assert_eq!(server.get("/p/a").text(), "onetwo");
    }
    let mut connection = server.connect();
    connection.send("GET /p/a?slowly HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(connection.head_response().status, 200);
    let first: Vec<u8> = (0..3).filter_map(|_| connection.byte()).collect();
    assert_eq!(first, b"one");
    go.send(()).expect("it waits");
    assert_eq!(connection.rest(), b"two");
}

#[test]
fn who_leaves_a_known_url_ends_the_other_server_s_work() {
    let (ended, end) = mpsc::channel();
    let (begun, begin) = mpsc::channel();
    let (ended, begun) = (std::sync::Mutex::new(ended), std::sync::Mutex::new(begun));
    let (port, _) = backend(move |mut stream| {
        while let Some(asked) = head(&mut stream) {
            if asked.contains("never") {
                let _ = begun.lock().expect("one at a time").send(());
                let gone = matches!(stream.read(&mut [0]), Ok(0) | Err(_));
                let _ = ended.lock().expect("one at a time").send(gone);
                return;
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
        }
    });
    let server = before(port, "");
    for _ in 0..3 {
        assert_eq!(server.get("/p/a").text(), "hi");
    }
    let mut connection = server.connect();
    connection.send("GET /p/a?never HTTP/1.1\r\nHost: a\r\n\r\n");
    begin.recv_timeout(Duration::from_secs(20)).expect("it is asked");
    drop(connection);
    assert_eq!(end.recv_timeout(Duration::from_secs(20)), Ok(true));
}
