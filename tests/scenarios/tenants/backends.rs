//! The endless output of a tenant's own programs at sockets: empty pieces, log lines, questions. None of it is an
//! attack on HTTP; the front reads it in its own time.

use super::{A, Attack, Owned, is_long, tenants};
use hostler_tests::{Server, needs_program, needs_root};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::{Duration, Instant};

/// An attack: the protocol, the first message, and the repeated message.
type Row = (&'static str, &'static str, Vec<u8>, Vec<u8>);

fn time() -> Duration {
    Duration::from_millis(if is_long() { 5000 } else { 500 })
}

/// A program of A's: says what it has to say until its client, or its time, is at an end.
fn speak(mut stream: UnixStream, first: &[u8], again: &[u8]) {
    let mut asked = [0; 8192];
    if stream.read(&mut asked).is_ok_and(|read| read > 0) && stream.write_all(first).is_ok() {
        let again = again.repeat(65_536_usize.div_ceil(again.len()));
        let end = Instant::now() + time();
        while Instant::now() < end && stream.write_all(&again).is_ok() {}
    }
}

/// Each row's socket is in A's folder, and its path leads there.
fn server(rows: &[Row]) -> Server {
    let proxied = |number: usize, scheme: &str| {
        format!("ProxyPass /{number}/ unix:@ROOT@/a/{number}.sock|{scheme}://localhost/ timeout=2 retry=0\n")
    };
    let lines: String = rows.iter().enumerate().map(|(number, row)| proxied(number, row.1)).collect();
    let site = tenants(&lines);
    for (number, (_, _, first, again)) in rows.iter().enumerate() {
        let path = site.path(&format!("a/{number}.sock"));
        let listener = UnixListener::bind(&path).expect("a socket");
        chown(&path, Some(A), Some(A)).expect("its owner");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).expect("its mode");
        let (first, again) = (first.clone(), again.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (first, again) = (first.clone(), again.clone());
                thread::spawn(move || speak(stream, &first, &again));
            }
        });
    }
    site.start()
}

/// Several clients that read what comes as fast as they can.
fn read_all(server: &Server, target: &str) {
    let request = format!("GET {target} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut stream =
                    TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("a connection");
                stream.write_all(request.as_bytes()).expect("it is sent");
                let mut space = vec![0; 1 << 20];
                while stream.read(&mut space).is_ok_and(|read| read > 0) {}
            });
        }
    });
}

fn attack(name: &'static str, memory: u64, rows: &[Row]) {
    let server = server(rows);
    Attack::new(name, memory).run(&server, || {
        for number in 0..rows.len() {
            read_all(&server, &format!("/{number}/x"));
        }
    });
}

/// A record of FastCGI.
fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    [&[1, kind, 0, 1, high, low, 0, 0], content].concat()
}

#[test]
fn programs_of_fastcgi_that_never_end() {
    needs_root!();
    let head = || record(6, b"Content-Type: text/plain\r\n\r\n");
    let rows: Vec<Row> = vec![
        ("empty lines for the log", "fcgi", Vec::new(), record(7, b"\n")),
        ("letters for the log", "fcgi", Vec::new(), record(7, b"x")),
        ("nothing for the log", "fcgi", Vec::new(), record(7, b"")),
        ("values that nobody asked for", "fcgi", Vec::new(), record(10, b"")),
        ("a letter of a head", "fcgi", Vec::new(), record(6, b"x")),
        ("letters of an answer", "fcgi", head(), record(6, b"x")),
        ("an answer, and lines", "fcgi", head(), [record(6, b"x"), record(7, b"line\n")].concat()),
    ];
    attack("FastCGI programs that say tiny things without end", 48, &rows);
}

/// A packet of AJP, as containers send them.
fn packet(content: &[u8]) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    [b"AB", &[high, low][..], content].concat()
}

#[test]
fn servlet_containers_that_never_end() {
    needs_root!();
    let head = || packet(b"\x04\x00\xc8\x00\x02OK\x00\x00\x00");
    let rows: Vec<Row> = vec![
        ("questions whose answers nobody reads", "ajp", Vec::new(), packet(b"\x06\x20\x00")),
        ("nothing of an answer", "ajp", head(), packet(b"\x03\x00\x00\x00")),
        ("letters of an answer", "ajp", head(), packet(b"\x03\x00\x01x\x00")),
    ];
    attack("servlet containers that say tiny things without end", 48, &rows);
}

#[test]
fn servers_that_never_end() {
    needs_root!();
    let answer = |fields: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n").into_bytes();
    let chunked = || answer("Transfer-Encoding: chunked\r\n");
    let settings = vec![0, 0, 0, 4, 0, 0, 0, 0, 0];
    let rows: Vec<Row> = vec![
        ("interim answers", "http", Vec::new(), b"HTTP/1.1 103 E\r\n\r\n".to_vec()),
        ("letters in chunks", "http", chunked(), b"1\r\nx\r\n".to_vec()),
        ("a chunk's extension", "http", [&chunked()[..], b"1;"].concat(), b"x".to_vec()),
        ("trailers", "http", [&chunked()[..], b"0\r\n"].concat(), b"X: y\r\n".to_vec()),
        ("an answer until the end", "http", answer(""), b"x".to_vec()),
        ("PING", "h2c", settings.clone(), vec![0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]),
        ("SETTINGS", "h2c", settings.clone(), settings.clone()),
        ("WINDOW_UPDATE", "h2c", settings.clone(), vec![0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        ("PRIORITY", "h2c", settings, vec![0, 0, 5, 2, 0, 0, 0, 0, 1, 0, 0, 0, 3, 7]),
    ];
    attack("other servers that say tiny things without end", 48, &rows);
}

/// An application whose worker says by itself, over the connection to the front, what no worker says; and a WebSocket that
/// talks without end.
const PYTHON: &str = r#"
import os, time
SAYS = {
    "/alive": b"N\0\0\0\0", "/lines": b"L\0\0\0\4\n\nx\n", "/early": b"I\0\0\0\4\0\xc8\0\0", "/nothing": b"B\0\0\0\0",
    "/trailers": b"T\0\0\0\4\0\xc8\0\0", "/letters": b"B\0\0\0\1x",
}
async def app(scope, receive, send):
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        while True:
            await send({"type": "websocket.send", "bytes": bytes(65536)})
    says = SAYS.get(scope["path"], b"")
    head = b"H\0\0\0\4\0\xc8\0\0" if scope["path"] in ("/nothing", "/trailers", "/letters") else b""
    end = time.monotonic() + SECONDS
    while says and time.monotonic() < end:
        for number in range(3, 64):
            try:
                if os.readlink(f"/proc/self/fd/{number}").startswith("socket:"):
                    os.write(number, head + says * (65536 // len(says)))
            except OSError:
                pass
        head = b""
    os._exit(1)
"#;

#[test]
fn applications_of_asgi_that_never_end() {
    needs_root!();
    needs_program!("/usr/bin/python3");
    let text = format!("SECONDS = {}\n{PYTHON}", time().as_secs_f64());
    let config = "<Location \"/\">\nSetHandler asgi\nASGIApp @ROOT@/a/app.py\n</Location>";
    let server = tenants(config).a_file("app.py", text).start();
    Attack::new("workers of ASGI that say tiny things without end", 64).run(&server, || {
        for what in ["alive", "lines", "early", "nothing", "trailers", "letters"] {
            read_all(&server, &format!("/{what}"));
        }
    });
    Attack::new("WebSockets that talk without end", 64).run(&server, || {
        let handshake = "GET /talk HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut stream =
                        TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("a connection");
                    stream.write_all(handshake.as_bytes()).expect("it is sent");
                    let (mut space, mut heard, end) = (vec![0; 1 << 20], 0, Instant::now() + 2 * time());
                    while heard < 16 << 20 || Instant::now() < end {
                        let read = stream.read(&mut space).expect("it goes on");
                        assert!(read > 0, "it ends after {heard} bytes");
                        heard += read;
                    }
                });
            }
        });
    });
}
