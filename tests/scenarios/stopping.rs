//! Stopping without loss: SIGTERM and SIGWINCH let requests finish, new connections are refused at once, and what cannot
//! finish is told why.

mod health;
mod rolling;

use crate::faults::{await_that, process, until};
use hostler_tests::{Connection, Server, Site, hostler};
use rustix::process::Signal;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;

/// Answers when the test has opened and closed the pipe, which it can do once the program runs.
const WAITS: &str = "#!/bin/sh\nread line < \"${0%/*}/pipe\"\nprintf 'Content-Type: text/plain\\n\\ndone'\n";

fn site() -> Site {
    let config = "ScriptAlias /cgi-bin/ \"@ROOT@/cgi-bin/\"\n<Directory \"@ROOT@/cgi-bin\">\nRequire all granted\n</Directory>\n";
    let site = Site::new().config(config).dir("cgi-bin").script("cgi-bin/waits", WAITS);
    let site = site.file("htdocs/x", "x").file("htdocs/large", vec![b'x'; 64 << 20]);
    let made = Command::new("mkfifo").args(["-m", "666"]).arg(site.path("cgi-bin/pipe")).status();
    assert!(made.expect("mkfifo runs").success());
    site
}

/// A request whose program runs, and the pipe that it waits for.
fn request_in_flight(server: &Server) -> (Connection, File) {
    let mut client = server.connect();
    client.send("GET /cgi-bin/waits HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let pipe = OpenOptions::new().write(true).open(server.site().path("cgi-bin/pipe")).expect("it is read");
    (client, pipe)
}

fn await_refusal(server: &Server) {
    await_that("new connections are refused", || {
        let connected = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port()));
        connected.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    });
}

#[test]
fn requests_finish_and_new_connections_are_refused() {
    for signal in [Signal::TERM, Signal::WINCH] {
        let mut server = site().start();
        let mut idle = server.connect();
        idle.send("GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(idle.response().field("Connection"), None);
        let (mut client, mut pipe) = request_in_flight(&server);
        server.signal(signal);
        await_refusal(&server);
        // A connection that was there is served once more.
        idle.send("GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let last = idle.response();
        assert_eq!((last.status, last.field("Connection")), (200, Some("close")));
        pipe.write_all(b"\n").expect("the program reads");
        let response = client.response();
        assert_eq!((response.status, response.text().as_str()), (200, "done"), "{}", server.error_log());
        assert_eq!(response.field("Connection"), Some("close"));
        assert!(server.await_end().success());
    }
}

#[test]
fn what_is_not_finished_in_time_is_told_and_logged() {
    let mut server = site().config("GracefulShutdownTimeout 1\n").start();
    let (mut client, _pipe) = request_in_flight(&server);
    let mut download = server.connect();
    download.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(download.byte().is_some());
    server.signal(Signal::TERM);
    let response = client.response();
    assert_eq!(response.status, 503);
    assert!(response.text().contains("This server is stopping"), "{}", response.text());
    assert!(server.await_end().success());
    let cause =
        "the server is stopping, and the time to finish requests is over (GracefulShutdownTimeout, 1 s)";
    let log = server.error_log();
    assert!(log.contains(&format!("killed: {cause}")), "{log}");
    assert!(log.contains(&format!("cut off in mid-response: {cause}")), "{log}");
    for line in ["GET /cgi-bin/waits HTTP/1.1\" 503", "GET /large HTTP/1.1\" 200"] {
        assert!(server.access_log().contains(line), "{}", server.access_log());
    }
}

#[test]
fn a_second_sigterm_and_other_signals_end_it_at_once() {
    for signals in [&[Signal::TERM, Signal::TERM][..], &[Signal::WINCH, Signal::INT], &[Signal::QUIT]] {
        let mut server = site().start();
        let (mut client, _pipe) = request_in_flight(&server);
        for (number, signal) in signals.iter().enumerate() {
            if number > 0 {
                await_refusal(&server);
            }
            server.signal(*signal);
        }
        let response = client.response();
        assert_eq!(response.status, 503, "{signals:?}");
        assert!(response.text().contains("This server is stopping"), "{}", response.text());
        assert!(server.await_end().success());
        let log = server.error_log();
        assert!(log.contains("killed: the server is stopping at once"), "{log}");
    }
}

#[test]
fn the_command_stops_gracefully_or_at_once() {
    let server = site().start();
    let (mut client, mut pipe) = request_in_flight(&server);
    await_that("the PidFile", || server.site().path("hostler.pid").exists());
    let file = server.site().path("httpd.conf");
    let mut stop = Command::new(hostler()).args(["stop", "-f"]).arg(&file).spawn().expect("hostler runs");
    await_refusal(&server);
    assert!(stop.try_wait().expect("a child").is_none());
    pipe.write_all(b"\n").expect("the program reads");
    assert_eq!(client.response().status, 200);
    assert!(stop.wait().expect("a child").success());
    assert!(!process::runs(server.pid()));

    let server = site().start();
    let (mut client, _pipe) = request_in_flight(&server);
    await_that("the PidFile", || server.site().path("hostler.pid").exists());
    let file = server.site().path("httpd.conf");
    let stop = Command::new(hostler()).args(["stop", "--now", "-f"]).arg(&file).status();
    assert!(stop.expect("hostler runs").success());
    assert_eq!(client.response().status, 503);
    assert!(!process::runs(server.pid()));
}

/// Accepts one WebSocket and reports the bytes that come after the handshake, up to the end.
fn websocket_backend() -> (u16, std::thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("it has one").port();
    let backend = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let asked = crate::proxy::head(&mut stream).unwrap_or_default();
        let key = asked.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key:")).unwrap_or_default();
        let accept = crate::proxy_websocket::accepted(key.trim());
        // A text frame, and the beginning of another one.
        let _ = write!(
            stream,
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {accept}\r\n\r\n\u{1}\u{2}hi\u{1}\u{4}ab"
        );
        let mut heard = vec![0; 1];
        stream.read_exact(&mut heard).expect("the client's word");
        let _ = stream.write_all(b"cd");
        let _ = stream.read_to_end(&mut heard);
        heard
    });
    (port, backend)
}

#[test]
fn a_websocket_gets_1001_between_two_frames() {
    let (port, backend) = websocket_backend();
    let config = format!("ProxyPass /ws ws://127.0.0.1:{port}/\n");
    let mut server = site().config(&config).start();
    let mut client = server.connect();
    client.send(
        "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    let mut sender = client.sender();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.byte().expect("a head"));
    }
    assert!(head.starts_with(b"HTTP/1.1 101 "));
    let mut read = |count: usize| (0..count).map(|_| client.byte().expect("a byte")).collect::<Vec<u8>>();
    assert_eq!(read(8), b"\x01\x02hi\x01\x04ab");
    server.signal(Signal::TERM);
    await_refusal(&server);
    // The second frame is finished first: the backend does so at the client's first byte.
    sender.write_all(b"\x88").expect("the client speaks");
    assert_eq!(read(2 + 4), b"cd\x88\x02\x03\xe9");
    let rest = [0x82, 0, 0, 0, 0, 0x03, 0xe9];
    sender.write_all(&rest).expect("the client answers");
    assert!(server.await_end().success());
    assert_eq!(backend.join().expect("it ends"), [&[0x88][..], &rest].concat());
    until("the line of the WebSocket", || server.access_log().find("GET /ws").map(|_| ()));
}
