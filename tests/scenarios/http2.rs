//! Responses to clients that break the rules of HTTP/2: the error that RFC 9113 names, for the stream or the connection
//! that it names.

use hostler_tests::{Server, Site};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const PROTOCOL: u32 = 1;
const FLOW_CONTROL: u32 = 3;
const FRAME_SIZE: u32 = 6;
const COMPRESSION: u32 = 9;

/// GET, http, `/a.txt`, a.test.
const GET: &[u8] = b"\x82\x86\x04\x06/a.txt\x01\x06a.test";

/// A frame (§4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A request with a further field, a literal without a name's index.
fn with(name: &str, value: &str) -> Vec<u8> {
    [GET, &[0, name.len() as u8], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat()
}

/// The server's frames: kind, stream, and the code of RST_STREAM and GOAWAY.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Reset(u32, u32),
    GoAway(u32),
    /// The end of a response on this stream.
    End(u32),
    Pong,
}

/// Sends frames after the preface; what the server says until `last`, or until it closes.
fn ask(server: &Server, frames: &[Vec<u8>], last: impl Fn(&Said) -> bool) -> Vec<Said> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket");
    let preface = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &frame(SETTINGS, 0, 0, b"")[..]].concat();
    stream.write_all(&[preface, frames.concat()].concat()).expect("it is taken");
    let mut all = Vec::new();
    loop {
        let mut head = [0; 9];
        if stream.read_exact(&mut head).is_err() {
            return all;
        }
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        stream.read_exact(&mut payload).expect("a whole frame");
        let number = |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().expect("four bytes"));
        let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let said = match head[3] {
            RST_STREAM => Said::Reset(id, number(0)),
            GOAWAY => Said::GoAway(number(4)),
            DATA | HEADERS if head[4] & 1 != 0 => Said::End(id),
            PING => Said::Pong,
            _ => continue,
        };
        let is_last = last(&said);
        all.push(said);
        if is_last {
            return all;
        }
    }
}

fn server() -> Server {
    Site::new().file("htdocs/a.txt", "a").config("Protocols h2c http/1.1").start()
}

#[test]
fn what_is_wrong_with_a_frame_ends_the_connection_with_its_code() {
    let server = server();
    let large_window = [0, 4, 0x80, 0, 0, 0];
    let rows: [(&str, Vec<Vec<u8>>, u32); 22] = [
        ("PING of three bytes", vec![frame(PING, 0, 0, b"abc")], FRAME_SIZE),
        ("PING on a stream", vec![frame(PING, 0, 1, &[0; 8])], PROTOCOL),
        ("SETTINGS of five bytes", vec![frame(SETTINGS, 0, 0, &[0; 5])], FRAME_SIZE),
        ("an acknowledgement with settings", vec![frame(SETTINGS, 1, 0, &[0; 6])], FRAME_SIZE),
        ("SETTINGS on a stream", vec![frame(SETTINGS, 0, 1, b"")], PROTOCOL),
        ("a window that is too large", vec![frame(SETTINGS, 0, 0, &large_window)], FLOW_CONTROL),
        ("a frame size that is too small", vec![frame(SETTINGS, 0, 0, &[0, 5, 0, 0, 0, 1])], PROTOCOL),
        ("WINDOW_UPDATE of three bytes", vec![frame(WINDOW_UPDATE, 0, 0, &[0; 3])], FRAME_SIZE),
        ("WINDOW_UPDATE of nothing", vec![frame(WINDOW_UPDATE, 0, 0, &[0; 4])], PROTOCOL),
        (
            "RST_STREAM of three bytes",
            vec![frame(HEADERS, 5, 1, GET), frame(RST_STREAM, 0, 1, &[0; 3])],
            FRAME_SIZE,
        ),
        ("RST_STREAM on no stream", vec![frame(RST_STREAM, 0, 0, &[0; 4])], PROTOCOL),
        ("RST_STREAM on an idle stream", vec![frame(RST_STREAM, 0, 1, &[0; 4])], PROTOCOL),
        ("PRIORITY of four bytes", vec![frame(PRIORITY, 0, 1, &[0; 4])], FRAME_SIZE),
        ("GOAWAY of four bytes", vec![frame(GOAWAY, 0, 0, &[0; 4])], FRAME_SIZE),
        ("a frame that is too long", vec![frame(DATA, 0, 1, &[0; 16385])], FRAME_SIZE),
        ("DATA on no stream", vec![frame(DATA, 0, 0, b"a")], PROTOCOL),
        ("HEADERS on no stream", vec![frame(HEADERS, 5, 0, GET)], PROTOCOL),
        (
            "padding longer than the frame",
            vec![frame(HEADERS, 0xd, 1, &[&[200][..], GET].concat())],
            PROTOCOL,
        ),
        ("CONTINUATION alone", vec![frame(CONTINUATION, 4, 1, GET)], PROTOCOL),
        (
            "another frame within a header block",
            vec![frame(HEADERS, 1, 1, GET), frame(PING, 0, 0, &[0; 8])],
            PROTOCOL,
        ),
        ("an index that is none", vec![frame(HEADERS, 5, 1, b"\x80")], COMPRESSION),
        ("an index beyond the table", vec![frame(HEADERS, 5, 1, b"\x82\xff\x20")], COMPRESSION),
    ];
    for (name, frames, code) in rows {
        let said = ask(&server, &frames, |_| false);
        let codes: Vec<u32> = said
            .iter()
            .filter_map(|said| if let Said::GoAway(code) = said { Some(*code) } else { None })
            .collect();
        assert_eq!(codes, [code], "{name}: {said:?}");
    }
    assert_eq!(server.get("/a.txt").text(), "a");
}

#[test]
fn what_is_wrong_with_a_message_ends_its_stream_alone() {
    let server = server();
    let kept = [GET, b"\x40\x03X-A\x01a"].concat();
    let rows: [(&str, Vec<u8>); 7] = [
        ("a name in capitals", with("X-A", "a")),
        ("a name in capitals that is kept", kept),
        ("the same by its index", [GET, b"\xbe"].concat()),
        ("a line break in a value", with("x-a", "a\nb")),
        ("a space in a name", with("x a", "a")),
        ("a pseudo-field that is none", [&GET[..2], b"\x00\x05:none\x01a", &GET[2..]].concat()),
        ("a field of a connection", with("connection", "close")),
    ];
    let mut frames: Vec<Vec<u8>> =
        rows.iter().zip(0..).map(|((_, block), at)| frame(HEADERS, 5, 2 * at + 1, block)).collect();
    let last = 2 * rows.len() as u32 + 1;
    frames.push(frame(HEADERS, 5, last, GET));
    let said = ask(&server, &frames, |said| *said == Said::End(last));
    for ((name, _), at) in rows.iter().zip(0_u32..) {
        assert!(said.contains(&Said::Reset(2 * at + 1, PROTOCOL)), "{name}: {said:?}");
    }
    assert!(said.contains(&Said::End(last)), "{said:?}");
}
