//! A client of WebSockets (RFC 6455) that sends any frame, and what applications see of one.

use super::{log_when, needs_python, site};
use crate::faults::frames::{Client, DATA, END_STREAM, HEADERS, SETTINGS};
use hostler_tests::{Connection, Server};

pub(crate) const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;

/// An application that says back what it is told, and closes when told so.
const ECHO: &str = r#"
async def app(scope, receive, send):
    if scope["type"] != "websocket":
        return await say(send, "not a websocket")
    await receive()
    if scope["path"] == "/closed":
        return await send({"type": "websocket.close"})
    if scope["path"] == "/denied":
        await send({"type": "websocket.http.response.start", "status": 451, "headers": [(b"x-why", b"law")]})
        return await send({"type": "websocket.http.response.body", "body": b"not for you"})
    if scope["path"] == "/raise":
        raise ValueError("before it is accepted")
    await send({"type": "websocket.accept", "subprotocol": (scope["subprotocols"] or [None])[-1],
                "headers": [(b"x-own", b"1")]})
    if scope["path"] == "/raise-later":
        raise ValueError("after it is accepted")
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            print("left with", message["code"], message.get("reason"), flush=True)
            return
        if message.get("text") == "close":
            await send({"type": "websocket.close", "code": 4001, "reason": "as you wish"})
        elif message.get("text") == "scope":
            await send({"type": "websocket.send", "text": f"{scope['scheme']} {scope['http_version']} {scope['path']} "
                        f"{scope['query_string'].decode()} {'method' in scope}"})
        elif message.get("text") is not None:
            await send({"type": "websocket.send", "text": message["text"]})
        else:
            await send({"type": "websocket.send", "bytes": message["bytes"]})
"#;

pub(crate) fn handshake(path: &str, fields: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{fields}\r\n"
    )
}

/// A frame as clients send it, masked.
pub(crate) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    const MASK: [u8; 4] = [7, 91, 200, 33];
    let mut out = vec![first];
    match payload.len() {
        length @ 0..126 => out.push(0x80 | length as u8),
        length @ 126..65_536 => {
            out.push(0x80 | 126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            out.push(0x80 | 127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&MASK);
    out.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    out
}

/// The length of a whole frame at the beginning, and where its payload starts.
pub(crate) fn measure(bytes: &[u8]) -> Option<(usize, usize)> {
    let (start, length) = match *bytes.get(1)? {
        126 => (4, usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
        127 => (10, u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?) as usize),
        length => (2, usize::from(length)),
    };
    (bytes.len() >= start + length).then_some((start, start + length))
}

/// An open WebSocket.
struct Open(Connection);

impl Open {
    fn to(server: &Server, path: &str, fields: &str) -> Self {
        let mut client = server.connect();
        client.send(handshake(path, fields));
        let answer = client.any_response(false);
        assert_eq!(answer.status, 101, "{}", server.error_log());
        assert_eq!(answer.field("Sec-WebSocket-Accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        assert_eq!(answer.field("X-Own"), Some("1"));
        Self(client)
    }

    fn say(&mut self, first: u8, payload: &[u8]) {
        self.0.send(frame(first, payload));
    }

    fn hear(&mut self) -> (u8, Vec<u8>) {
        let mut bytes = Vec::new();
        loop {
            if let Some((start, end)) = measure(&bytes) {
                assert_eq!(end, bytes.len(), "bytes are read one by one");
                return (bytes[0], bytes[start..].to_vec());
            }
            bytes.push(self.0.byte().expect("the server says something"));
        }
    }

    fn code(&mut self) -> u16 {
        let (kind, payload) = self.hear();
        assert_eq!(kind, CLOSE, "{payload:?}");
        u16::from_be_bytes([payload[0], payload[1]])
    }
}

#[test]
fn messages_go_both_ways_in_any_form() {
    needs_python!();
    let server = site(ECHO, "").start();
    let mut socket = Open::to(&server, "/chat?a=b", "");
    for length in [0, 1, 125, 126, 127, 65_535, 65_536, 200_000] {
        socket.say(BINARY, &vec![7; length]);
        assert_eq!(socket.hear(), (BINARY, vec![7; length]), "{length}");
    }
    socket.say(TEXT, b"scope");
    assert_eq!(socket.hear(), (TEXT, b"ws 1.1 /chat a=b False".to_vec()));
    // In pieces, with a ping between.
    socket.say(0x01, "gr\u{fc}".as_bytes().split_at(3).0);
    socket.say(PING, b"there?");
    socket.say(0x80, "gr\u{fc}".as_bytes().split_at(3).1);
    assert_eq!(socket.hear(), (PONG, b"there?".to_vec()));
    assert_eq!(socket.hear(), (TEXT, "gr\u{fc}".as_bytes().to_vec()));
    // A frame byte by byte.
    for byte in frame(TEXT, b"slow") {
        socket.0.send([byte]);
    }
    assert_eq!(socket.hear(), (TEXT, b"slow".to_vec()));
}

#[test]
fn both_sides_can_close_with_a_code_and_a_reason() {
    needs_python!();
    let server = site(ECHO, "").start();
    let mut socket = Open::to(&server, "/", "");
    socket.say(TEXT, b"close");
    assert_eq!(socket.hear(), (CLOSE, [&4001_u16.to_be_bytes()[..], b"as you wish"].concat()));
    socket.say(CLOSE, &4001_u16.to_be_bytes());
    assert_eq!(socket.0.byte(), None);
    let mut socket = Open::to(&server, "/", "");
    // It is told what it has said, with the reason, which is what pages see of their own.
    let last = [&3000_u16.to_be_bytes()[..], b"enough"].concat();
    socket.say(CLOSE, &last);
    assert_eq!(socket.hear(), (CLOSE, last));
    assert_eq!(socket.0.byte(), None);
    log_when(&server, "left with 3000 enough");
    drop(Open::to(&server, "/", ""));
    log_when(&server, "left with 1006");
}

#[test]
fn an_application_chooses_a_subprotocol_or_denies() {
    needs_python!();
    let server = site(ECHO, "").start();
    let mut client = server.connect();
    client.send(handshake("/", "Sec-WebSocket-Protocol: one, two\r\n"));
    assert_eq!(client.any_response(false).field("Sec-WebSocket-Protocol"), Some("two"));
    assert_eq!(server.request(handshake("/closed", "").as_bytes()).status, 403);
    let denied = server.request(handshake("/denied", "").as_bytes());
    assert_eq!((denied.status, denied.field("x-why"), &*denied.text()), (451, Some("law"), "not for you"));
    let failed = server.request(handshake("/raise", "").as_bytes());
    assert_eq!(failed.status, 500);
    log_when(&server, "ValueError: before it is accepted");
    assert_eq!(Open::to(&server, "/raise-later", "").code(), 1011);
    log_when(&server, "ValueError: after it is accepted");
}

#[test]
fn who_breaks_the_protocol_is_told_how() {
    needs_python!();
    let server = site(ECHO, "").start();
    let unmasked = vec![TEXT, 1, b'x'];
    let cases: [(&str, Vec<u8>, u16); 12] = [
        ("a frame is not masked", unmasked, 1002),
        ("a reserved bit", frame(0xc1 | 0x20, b""), 1002),
        ("compressed, though nobody agreed on that", frame(0xc1, b"x"), 1002),
        ("an unknown kind", frame(0x83, b""), 1002),
        ("an unknown control", frame(0x8b, b""), 1002),
        ("a control in pieces", frame(0x09, b""), 1002),
        ("a long ping", frame(PING, &[0; 126]), 1002),
        ("the rest of nothing", frame(0x80, b"x"), 1002),
        ("a message within another", [frame(0x01, b"a"), frame(TEXT, b"b")].concat(), 1002),
        ("a text that is none", frame(TEXT, b"\xff"), 1007),
        ("half a code", frame(CLOSE, &[3]), 1002),
        ("a code that is nobody's to send", frame(CLOSE, &1005_u16.to_be_bytes()), 1002),
    ];
    for (what, bytes, code) in cases {
        let mut socket = Open::to(&server, "/", "");
        socket.0.send(bytes);
        assert_eq!(socket.code(), code, "{what}");
        assert_eq!(socket.0.byte(), None, "{what}");
    }
}

#[test]
fn a_message_has_a_bound() {
    needs_python!();
    let server =
        site(ECHO, "<Location />\nASGIApp @ROOT@/app/app.py max-message=1000\n</Location>\n").start();
    let mut socket = Open::to(&server, "/", "");
    socket.say(BINARY, &[1; 1000]);
    assert_eq!(socket.hear().1.len(), 1000);
    // Its announcement is enough.
    socket.0.send([BINARY, 0x80 | 127, 0, 0, 0, 255, 0, 0, 0, 0]);
    assert_eq!(socket.code(), 1009);
    // Pieces count together.
    let mut socket = Open::to(&server, "/", "");
    socket.say(0x02, &[1; 600]);
    socket.say(0x80, &[1; 600]);
    assert_eq!(socket.code(), 1009);
}

#[test]
fn messages_are_compressed_where_the_client_offers_it() {
    needs_python!();
    let server =
        site(ECHO, "<Location />\nASGIApp @ROOT@/app/app.py max-message=2000\n</Location>\n").start();
    let mut client = server.connect();
    client.send(handshake("/", "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"));
    let answer = client.any_response(false);
    let agreed = answer.field("Sec-WebSocket-Extensions").unwrap_or_default();
    assert!(agreed.starts_with("permessage-deflate; server_no_context_takeover"), "{agreed}");
    let mut socket = Open(client);
    // "Hello" of RFC 7692 §7.2.3.1.
    socket.say(0xc1, &[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]);
    assert_eq!(socket.hear(), (TEXT, b"Hello".to_vec()));
    socket.say(BINARY, &[9; 1500]);
    let (first, payload) = socket.hear();
    assert!(first == 0xc2 && payload.len() < 100, "{first:x} {}", payload.len());
    // A million zeros in a thousand bytes: it is not unpacked further than to the bound.
    let mut bomb = vec![0xec, 0xc1, 0x01, 0x01, 0, 0, 0, 0x80, 0x90, 0xfe, 0xaf, 0xee, 0x08];
    bomb.resize(1000, 0);
    socket.say(0xc2, &bomb);
    assert!(matches!(socket.code(), 1007 | 1009));
}

#[test]
fn a_handshake_that_is_none_is_refused() {
    needs_python!();
    let server = site(ECHO, "").start();
    let old = handshake("/", "").replace("Version: 13", "Version: 8");
    let answer = server.request(old.as_bytes());
    assert_eq!((answer.status, answer.field("Sec-WebSocket-Version")), (426, Some("13")));
    let no_key = handshake("/", "").replace("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "");
    assert_eq!(server.request(no_key.as_bytes()).status, 400);
    assert_eq!(server.request(handshake("/", "").replace("GET", "POST").as_bytes()).status, 400);
    let no_wish = handshake("/", "").replace("Connection: keep-alive, Upgrade", "Connection: keep-alive");
    assert_eq!(server.request(no_wish.as_bytes()).text(), "not a websocket");
}

#[test]
fn a_websocket_goes_over_a_stream_of_http_2() {
    needs_python!();
    let server = site(ECHO, "Protocols h2c http/1.1\n")
        .file("htdocs/x/y.html", "page")
        .config("<Location /x>\nSetHandler None\n</Location>\n");
    let server = server.start();
    let mut client = Client::connect(&server, &[(1, 0)]);
    let mut offers = false;
    client.ask_for(1, "/two?c=d", "websocket");
    let mut bytes = Vec::new();
    let mut sent = false;
    while measure(&bytes).is_none() {
        let frame_of = client.frame().expect("the stream goes on");
        match frame_of.kind {
            SETTINGS if frame_of.flags & 1 == 0 => {
                // SETTINGS_ENABLE_CONNECT_PROTOCOL = 1
                offers = frame_of.payload.chunks(6).any(|pair| pair == [0, 8, 0, 0, 0, 1]);
                client.send(SETTINGS, 1, 0, &[]);
            }
            HEADERS if frame_of.stream == 1 => {
                assert!(frame_of.payload[..2].contains(&0x88), "the status is 200: {frame_of:?}");
                assert!(!sent && frame_of.flags & END_STREAM == 0);
                sent = client.send(DATA, 0, 1, &frame(TEXT, b"scope"));
            }
            DATA if frame_of.stream == 1 => bytes.extend_from_slice(&frame_of.payload),
            _ => {}
        }
    }
    assert!(offers, "the server says that it can be asked");
    assert_eq!(&bytes[2..], b"ws 2 /two c=d False");
    client.send(DATA, 0, 1, &frame(CLOSE, &1000_u16.to_be_bytes()));
    log_when(&server, "left with 1000");
    // What has no tunnel to offer must not look as if it had.
    for (stream, path, protocol) in [(3, "/x/y.html", "websocket"), (5, "/", "other")] {
        client.ask_for(stream, path, protocol);
        let outcome = client.outcome(stream);
        assert!(
            matches!(outcome, crate::faults::frames::Outcome::Answer(501, _)),
            "{path} {protocol}: {outcome:?}"
        );
    }
}

/// An application that only sends learns from that that the client has gone; other requests are served meanwhile.
#[test]
fn who_sends_without_end_holds_up_nobody_when_the_client_has_gone() {
    needs_python!();
    let text = r#"
async def app(scope, receive, send):
    if scope["path"] == "/other":
        return await say(send, "here")
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        while True:
            await send({"type": "websocket.send", "bytes": bytes(65536)})
    await send({"type": "http.response.start", "status": 200})
    while True:
        await send({"type": "http.response.body", "body": bytes(65536), "more_body": True})
"#;
    let server = site(text, "").start();
    for asked in [handshake("/talk", ""), "GET /talk HTTP/1.1\r\nHost: a\r\n\r\n".to_owned()] {
        for _ in 0..3 {
            let mut connection = server.connect();
            connection.send(asked.as_bytes());
            assert!((0..500_000).all(|_| connection.byte().is_some()));
            drop(connection);
            assert_eq!(server.get("/other").text(), "here");
        }
    }
    assert!(!server.error_log().contains("raised exception"), "{}", server.error_log());
}
