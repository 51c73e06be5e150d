//! Responses over HTTP/2 that are not read: a client has a hundred streams for each connection, and the server has the beginning of
//! each response. Each technique brings its output in its own way.

use super::connections::connected;
use super::{Attack, Owned, is_long, tenants};
use crate::faults::{await_that, process};
use hostler_tests::{Server, Site, needs_php, needs_root};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// The attacker's address; B's visitor comes from 127.0.0.1.
const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 4);

/// Streams of a connection.
const STREAMS: u32 = 100;

const NO_LIMITS: &str = "Protocols h2c http/1.1\nHostlerConnectionsPerAddress max\n\
                         HostlerSiteConnections max\nHostlerSiteRequests max\n";

/// A program in Perl that writes so many bytes.
fn writes(bytes: usize) -> String {
    format!("#!/usr/bin/perl\nprint \"Content-Type: text/plain\\n\\n\", 'x' x {bytes};\n")
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;

/// A frame of HTTP/2 (RFC 9113 §4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A whole request for a page of A's.
fn asked(stream: u32, target: &str) -> Vec<u8> {
    // GET, http, a.test
    let fields = [b"\x82\x86\x01\x06a.test\x04", &[target.len() as u8][..], target.as_bytes()].concat();
    frame(HEADERS, 5, stream, &fields)
}

/// The beginning of a connection: preface and settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// A client that asks for a page on each of its streams and reads nothing.
fn unread_streams(server: &Server, target: &str) -> TcpStream {
    let mut stream = connected(server, ATTACKER);
    let requests = (0..STREAMS).flat_map(|number| asked(2 * number + 1, target));
    stream.write_all(&PREFACE.iter().copied().chain(requests).collect::<Vec<_>>()).expect("it is taken");
    stream
}

/// A has a page of 1 MiB by each technique, and shorter ones that are gathered as a whole.
fn server(backend: &Server) -> Server {
    let php = "<FilesMatch \"\\.php$\">\nSetHandler application/x-httpd-php\n</FilesMatch>\n";
    let proxy = format!("ProxyPass /px/ http://127.0.0.1:{}/\n", backend.port());
    tenants(&format!("{php}{proxy}"))
        .a_file("htdocs/large.bin", vec![b'x'; 1 << 20])
        .a_file("htdocs/large.php", "<?php echo str_repeat('x', 1 << 20);")
        .a_file("htdocs/mid.php", "<?php echo str_repeat('x', 60_000);")
        .a_script("cgi-bin/large", writes(1 << 20))
        .config(NO_LIMITS)
        .start()
}

/// The next frame: kind, flags, stream, and the length of what it carries.
fn next_frame(client: &mut TcpStream) -> (u8, u8, u32, usize) {
    let mut head = [0; 9];
    client.read_exact(&mut head).expect("a frame");
    let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
    client.read_exact(&mut vec![0; length]).expect("the rest of the frame");
    (head[3], head[4], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), length)
}

/// Waits until so many responses have begun. They take no room of the client's window.
fn await_heads(client: &mut TcpStream, count: u32) {
    client.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
    let mut heads = 0;
    while heads < count {
        heads += u32::from(next_frame(client).0 == HEADERS);
    }
}

/// `heads`: the responses that begin at once on each connection; others wait for workers.
fn attack(server: &Server, name: &'static str, target: &str, heads: u32, memory: u64) {
    let front = process::front(server);
    let connections = if is_long() { 100 } else { 20 };
    let memory = if is_long() { memory } else { memory / 2 };
    Attack::new(name, memory).run(server, || {
        let mut all: Vec<TcpStream> = (0..connections).map(|_| unread_streams(server, target)).collect();
        all.iter_mut().for_each(|client| await_heads(client, heads));
        let most = process::resident(front);
        drop(all);
        await_that("memory is given back", || process::resident(front) < most / 2 + (32 << 10));
    });
}

#[test]
fn streams_of_http2_that_are_not_read_fill_no_memory() {
    needs_root!();
    needs_php!();
    let backend = Site::new()
        .file("htdocs/large.bin", vec![b'x'; 1 << 20])
        .file("htdocs/mid.bin", vec![b'x'; 60_000])
        .config(NO_LIMITS)
        .start();
    let server = server(&backend);
    attack(&server, "files over HTTP/2 that are not read", "/large.bin", STREAMS, 256);
    attack(&server, "output of PHP over HTTP/2 that is not read", "/large.php", 1, 256);
    attack(&server, "short output of PHP over HTTP/2 that is not read", "/mid.php", 1, 256);
    attack(&server, "output of CGI over HTTP/2 that is not read", "/cgi-bin/large", 1, 256);
    attack(&server, "other servers' responses over HTTP/2 that are not read", "/px/large.bin", STREAMS, 384);
    attack(
        &server,
        "other servers' short responses over HTTP/2 that are not read",
        "/px/mid.bin",
        STREAMS,
        384,
    );
    let log = server.error_log();
    assert!(!log.contains("broke the protocol"), "{log}");
}

/// Paused videos are such streams: their client reads them when its user goes on.
#[test]
fn paused_responses_stop_no_other_response_of_their_connection() {
    needs_root!();
    const PAUSED: u32 = 20;
    const LAST: u32 = 2 * PAUSED + 1;
    let server = tenants("")
        .a_file("htdocs/large.bin", vec![b'x'; 1 << 20])
        .a_script("cgi-bin/large", writes(200_000))
        .config(NO_LIMITS)
        .start();
    let mut client = connected(&server, ATTACKER);
    client.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
    let more = frame(WINDOW_UPDATE, 0, 0, &(1_u32 << 30).to_be_bytes());
    let paused = (0..PAUSED).flat_map(|number| asked(2 * number + 1, "/large.bin"));
    client.write_all(&[PREFACE, &more, &paused.collect::<Vec<_>>()].concat()).expect("it is taken");
    let (mut of_paused, mut of_last) = (0, 0);
    let is_asked = |of_paused: usize| of_paused == 65_535 * PAUSED as usize;
    while of_last < 65_535 {
        let (kind, flags, stream, length) = next_frame(&mut client);
        match (kind, stream) {
            (DATA, LAST) => of_last += length,
            (DATA, _) => {
                of_paused += length;
                if is_asked(of_paused) {
                    client.write_all(&asked(LAST, "/cgi-bin/large")).expect("it is taken");
                }
            }
            (SETTINGS, _) if flags == 0 => {
                client.write_all(&frame(SETTINGS, 1, 0, b"")).expect("it is taken");
            }
            _ => {}
        }
    }
}
