//! HTTP/1: bytes that no honest client sends, and honest bytes that come too slowly.
//!
//! Faults that one request and its answer can show are in `conformance/cases/http.toml`, compared with Apache.

use super::{CAT, site_with};
use hostler_tests::{Connection, Response, Server};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

fn server(config: &str) -> Server {
    site_with(&[("cat", CAT)]).file("htdocs/big", "z".repeat(100_000)).config(config).start()
}

/// Sends a chunked body to the program, and reads its answer.
fn chunked(server: &Server, body: &str) -> (Response, Connection) {
    let mut connection = server.connect();
    let head = "POST /cgi-bin/cat HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    connection.send(format!("{head}{body}"));
    (connection.response(), connection)
}

/// Sends `start`, then one more byte every 20 ms as long as the server takes them; what it says until it closes.
fn trickle(server: &Server, start: &str, byte: u8) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_millis(20))).expect("a time limit");
    stream.write_all(start.as_bytes()).expect("the start is taken");
    let (mut said, mut piece) = (Vec::new(), [0; 4096]);
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        // Fails once the server has closed; what it said can be read then.
        let _ = stream.write_all(&[byte]);
        match stream.read(&mut piece) {
            Ok(0) => return String::from_utf8_lossy(&said).into_owned(),
            Ok(count) => said.extend_from_slice(&piece[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return String::from_utf8_lossy(&said).into_owned(),
        }
    }
    panic!("a client that sends a byte now and then is served for ever; so far: {said:?}");
}

/// Checks that no client got a success. (The program may have begun to answer; then the response breaks off.)
fn is_ended(said: &str) {
    let broken_off = said.starts_with("HTTP/1.1 200 ") && !said.ends_with("0\r\n\r\n");
    assert!(broken_off || said.is_empty() || said.starts_with("HTTP/1.1 408 "), "{said}");
}

#[test]
fn chunk_extensions_are_bounded() {
    let server = server("");
    let (answer, mut connection) =
        chunked(&server, &format!("3;{}\r\nabc\r\n0\r\n\r\n", "a".repeat(100_000)));
    assert!(matches!(answer.status, 400 | 413), "{}", answer.status);
    assert!(connection.closes_within(Duration::from_secs(20)));
    // Many chunks, each with a long extension: nothing adds up.
    let (answer, _) =
        chunked(&server, &(format!("1;{}\r\nx\r\n", "a".repeat(4000)).repeat(50) + "0\r\n\r\n"));
    assert_eq!((answer.status, answer.text()), (200, "x".repeat(50)));
}

#[test]
fn a_bad_trailer_spoils_the_request() {
    let server = server("");
    for trailer in ["no colon", "A B: c", ": c", "A: b\rc", "A: b\0c", &format!("A: {}", "b".repeat(10_000))]
    {
        let (answer, mut connection) = chunked(&server, &format!("3\r\nabc\r\n0\r\n{trailer}\r\n\r\n"));
        assert_eq!(answer.status, 400, "{trailer:.20}");
        assert!(connection.closes_within(Duration::from_secs(20)));
    }
    let (answer, _) = chunked(&server, &format!("0\r\n{}\r\n", "A: b\r\n".repeat(100_000)));
    assert_eq!(answer.status, 400, "100,000 trailer fields");
}

#[test]
fn what_follows_the_last_chunk_is_the_next_request() {
    let server = server("");
    let (answer, mut connection) = chunked(&server, "3\r\nabc\r\n0\r\n\r\nGARBAGE\r\n\r\n");
    assert_eq!((answer.status, answer.text()), (200, "abc".into()));
    assert_eq!(connection.response().status, 400);
    assert!(connection.closes_within(Duration::from_secs(20)));
}

#[test]
fn a_chunk_shorter_than_its_size_is_an_error() {
    let server = server("");
    let (answer, mut connection) = chunked(&server, "5\r\nabc\r\n0\r\n\r\n");
    assert_eq!(answer.status, 400);
    assert!(connection.closes_within(Duration::from_secs(20)));
}

#[test]
fn with_both_lengths_nothing_behind_the_chunks_is_a_request() {
    let server = server("");
    let mut connection = server.connect();
    connection.send(
        "POST /cgi-bin/cat HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n\
         3\r\nabc\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    let said = String::from_utf8_lossy(&connection.rest()).into_owned();
    assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{said}");
    assert!(!server.access_log().contains("smuggled"));
}

#[test]
fn a_hundred_thousand_fields_are_refused() {
    let server = server("");
    let mut connection = server.connect();
    connection.send(format!("GET /x HTTP/1.1\r\nHost: a\r\n{}\r\n", "A: b\r\n".repeat(100_000)));
    assert_eq!(connection.response().status, 400);
    assert_eq!(server.get("/x").text(), "x");
}

#[test]
fn folded_lines_hide_no_line_end() {
    let server = server("");
    let answer = server.get_with("/x", "Host: a\r\nX-A: b\r\n c\rX-B: d\r\n");
    assert_eq!(answer.status, 400);
}

#[test]
fn expectations_that_cannot_be_met_are_refused_at_once() {
    let server = server("");
    for fields in ["Expect: 100-continue, other", "Expect: 100-continue\r\nExpect: 100-continue", "Expect: x"]
    {
        let mut connection = server.connect();
        connection
            .send(format!("POST /cgi-bin/cat HTTP/1.1\r\nHost: a\r\n{fields}\r\nContent-Length: 3\r\n\r\n"));
        // Nothing is asked for before it is refused.
        assert_eq!(connection.any_response(false).status, 417, "{fields}");
    }
    // HTTP/1.0 knows no interim answers (RFC 9110 §10.1.1).
    let mut connection = server.connect();
    connection.send("POST /cgi-bin/cat HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc");
    let answer = connection.any_response(false);
    assert_eq!((answer.status, answer.text()), (200, "abc".into()));
}

#[test]
fn ten_thousand_ranges_are_not_ten_thousand_parts() {
    let server = server("LimitRequestFieldSize 200000\nMaxRanges 200");
    let spread: Vec<String> = (0..10_000).map(|at| format!("{0}-{0}", at * 2)).collect();
    for ranges in [spread.join(","), "0-,".repeat(10_000), "99999-99999,0-0,".repeat(5000)] {
        let answer = server.get_with("/big", &format!("Host: a\r\nRange: bytes={ranges}\r\n"));
        assert!(matches!(answer.status, 200 | 206), "{}", answer.status);
        assert!(answer.body.len() < 200_000, "{} bytes of a file of 100,000", answer.body.len());
    }
    // Without the larger limit the field is too long in the first place.
    let server = super::http1::server("");
    let answer = server.get_with("/big", &format!("Host: a\r\nRange: bytes={}\r\n", spread.join(",")));
    assert_eq!(answer.status, 400);
}

#[test]
fn a_header_that_comes_byte_by_byte_has_its_time() {
    let server = server("RequestReadTimeout header=1");
    let said = trickle(&server, "GET /x HTTP/1.1\r\nX-A: ", b'a');
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 408 "), "{said}");
    assert_eq!(server.get("/x").text(), "x");
}

#[test]
fn without_a_limit_of_its_own_a_silent_header_has_the_timeout() {
    let server = server("Timeout 1");
    let mut connection = server.connect();
    connection.send("GET /x HTTP/1.1\r\nX-A: ");
    let said = String::from_utf8_lossy(&connection.rest()).into_owned();
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 408 "), "{said}");
}

#[test]
fn a_body_that_comes_byte_by_byte_has_its_time() {
    let server = server("RequestReadTimeout body=1");
    let head = "POST /cgi-bin/cat HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n";
    is_ended(&trickle(&server, head, b'a'));
}

#[test]
fn a_body_that_stops_ends_the_request() {
    let server = server("Timeout 1");
    for start in ["Content-Length: 10\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n5\r\nabc"] {
        let mut connection = server.connect();
        connection.send(format!("POST /cgi-bin/cat HTTP/1.1\r\nHost: a\r\n{start}"));
        is_ended(&String::from_utf8_lossy(&connection.rest()));
    }
}

#[test]
fn a_body_that_is_cut_off_does_not_look_complete_to_the_program() {
    let marks = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\ncat >/dev/null && echo whole\n";
    let server = site_with(&[("marks", marks)]).config("Timeout 1").start();
    let mut connection = server.connect();
    connection
        .send("POST /cgi-bin/marks HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    connection.finish();
    let said = String::from_utf8_lossy(&connection.rest()).into_owned();
    assert!(
        said.is_empty() || said.starts_with("HTTP/1.1 400 ") || said.starts_with("HTTP/1.1 408 "),
        "{said}"
    );
}

#[test]
fn a_client_that_reads_nothing_is_given_up() {
    let site = site_with(&[]).file("htdocs/huge", "z".repeat(20_000_000)).config("Timeout 1");
    let server = site.start();
    let mut connection = server.connect();
    connection.send("GET /huge HTTP/1.1\r\nHost: a\r\n\r\n");
    // The line of a request is written when it is over.
    super::await_that("the request is given up", || server.access_log().contains("/huge"));
    assert_eq!(server.get("/x").text(), "x");
}
