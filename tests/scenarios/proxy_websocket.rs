//! WebSockets through `ProxyPass`: of clients over HTTP/1.1 and over streams of HTTP/2 (RFC 8441), at a server that speaks
//! HTTP/1.1 alone.

use crate::faults::await_that;
use crate::faults::frames::{Client, DATA, END_STREAM, HEADERS, Outcome, RST_STREAM, SETTINGS, status_of};
use crate::proxy::{backend, head};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hostler_tests::{Server, Site};
use sha1::{Digest as _, Sha1};
use std::io::{Read, Write};
use std::net::TcpStream;

/// The answer to a handshake's key (RFC 6455 §4.2.2).
pub(crate) fn accepted(key: &str) -> String {
    STANDARD.encode(Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11")))
}

/// A handshake as RFC 6455 §4.2 has it, with this in the place of the answer to the key; then everything comes back in
/// capitals.
fn accept(mut stream: TcpStream, instead: Option<&str>) {
    let asked = head(&mut stream).unwrap_or_default();
    let field = |name: &str| asked.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let key = field("Sec-WebSocket-Key:").unwrap_or_default();
    let is_asked = field("Upgrade:") == Some("websocket") && field("Connection:") == Some("Upgrade");
    if !is_asked || STANDARD.decode(key).is_ok_and(|bytes| bytes.len() != 16) {
        let _ = write!(stream, "HTTP/1.1 400 Bad Request\r\nContent-Length: {}\r\n\r\n{asked}", asked.len());
        return;
    }
    let accepted = instead.map_or_else(|| accepted(key), str::to_owned);
    let line = asked.lines().next().unwrap_or_default();
    let _ = write!(
        stream,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accepted}\r\nX-Asked: {line}\r\n\r\n<"
    );
    let mut bytes = [0; 1024];
    while let Ok(read @ 1..) = stream.read(&mut bytes) {
        let _ = stream.write_all(&bytes[..read].to_ascii_uppercase());
    }
    let _ = stream.write_all(b">");
}

fn proxied(line: &str, instead: Option<&'static str>) -> Server {
    let (port, _) = backend(move |stream| accept(stream, instead));
    let config = format!("Protocols h2c http/1.1\n{}\n", line.replace("PORT", &port.to_string()));
    Site::new().config(&config).start()
}

/// The input of stream 1.
#[derive(Default)]
struct Heard {
    status: u16,
    bytes: Vec<u8>,
    is_over: bool,
    reset: bool,
}

/// Reads until this holds.
fn hear(client: &mut Client, heard: &mut Heard, until: impl Fn(&Heard) -> bool) {
    while !until(heard) {
        let frame = client.frame().expect("the connection goes on");
        match frame.kind {
            SETTINGS if frame.flags & 1 == 0 => drop(client.send(SETTINGS, 1, 0, &[])),
            HEADERS if frame.stream == 1 => heard.status = status_of(&frame.payload),
            DATA if frame.stream == 1 => heard.bytes.extend_from_slice(&frame.payload),
            RST_STREAM if frame.stream == 1 => heard.reset = true,
            _ => {}
        }
        heard.is_over |= frame.stream == 1 && frame.kind <= HEADERS && frame.flags & END_STREAM != 0;
    }
}

#[test]
fn a_stream_of_http_2_reaches_a_websocket_over_http_1() {
    for line in
        ["ProxyPass /p/ ws://127.0.0.1:PORT/x/", "ProxyPass /p/ http://127.0.0.1:PORT/x/ upgrade=websocket"]
    {
        let server = proxied(line, None);
        let (mut client, mut heard) = (Client::connect(&server, &[]), Heard::default());
        client.ask_for(1, "/p/chat?a=b", "websocket");
        hear(&mut client, &mut heard, |heard| heard.bytes == b"<");
        assert_eq!((heard.status, heard.is_over), (200, false), "{line}");
        client.send(DATA, 0, 1, b"hello");
        hear(&mut client, &mut heard, |heard| heard.bytes == b"<HELLO");
        // Either side ends its own way, and the other hears it.
        client.send(DATA, END_STREAM, 1, b" bye");
        hear(&mut client, &mut heard, |heard| heard.is_over || heard.reset);
        assert_eq!((heard.bytes.as_slice(), heard.reset), (&b"<HELLO BYE>"[..], false), "{line}");
        await_that("it is logged when it has ended", || server.access_log().contains("/p/chat?a=b"));
    }
}

#[test]
fn a_server_that_does_not_understand_the_key_gets_no_client() {
    let server = proxied("ProxyPass /p/ ws://127.0.0.1:PORT/", Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    let mut client = Client::connect(&server, &[]);
    client.ask_for(1, "/p/chat", "websocket");
    let outcome = client.outcome(1);
    assert!(matches!(outcome, Outcome::Answer(502, _)), "{outcome:?}");
    let _ = server.await_error("its Sec-WebSocket-Accept does not fit the key");
    // Where nobody allows it the server is asked for nothing of the kind, and the client gets no tunnel.
    let server = proxied("ProxyPass /p/ http://127.0.0.1:PORT/", None);
    let mut client = Client::connect(&server, &[]);
    client.ask_for(1, "/p/chat", "websocket");
    let Outcome::Answer(400, body) = client.outcome(1) else { panic!("it is the server's answer") };
    let asked = String::from_utf8_lossy(&body).into_owned();
    assert!(asked.starts_with("GET /chat HTTP/1.1\r\n") && !asked.contains("Upgrade"), "{asked}");
    assert!(!asked.contains("Sec-WebSocket-Key"), "{asked}");
}

#[test]
fn a_silent_tunnel_ends_after_the_time_that_is_said() {
    let server = proxied("ProxyPass /p/ ws://127.0.0.1:PORT/ timeout=1", None);
    let mut connection = server.connect();
    connection.send(
        "GET /p/chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    );
    let answer = connection.any_response(true);
    assert_eq!(answer.field("Sec-WebSocket-Accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_eq!(connection.rest(), b"<");
    let (mut client, mut heard) = (Client::connect(&server, &[]), Heard::default());
    client.ask_for(1, "/p/chat", "websocket");
    hear(&mut client, &mut heard, |heard| heard.reset || heard.is_over);
    assert_eq!((heard.status, heard.bytes.as_slice()), (200, &b"<"[..]));
    // The connection stays: its other streams have nothing to do with it.
    client.get(3, "/p/page");
    let outcome = client.outcome(3);
    assert!(matches!(outcome, Outcome::Answer(400, _)), "{outcome:?}");
}
