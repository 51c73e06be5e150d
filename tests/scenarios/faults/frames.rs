//! A tiny HTTP/2 client (RFC 9113) that can send any frame: no Huffman coding, no table of its own, no flow control
//! but what a scenario asks for.

use hostler_tests::Server;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// A received frame.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// The end of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// An answer: status and body.
    Answer(u16, Vec<u8>),
    /// RST_STREAM with this code.
    Reset(u32),
    /// The connection was closed, perhaps after a GOAWAY with this code.
    Closed(Option<u32>),
}

/// A connection with prior knowledge (`Protocols h2c`).
pub(crate) struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Client {
    /// Sends preface and settings (pairs of identifier and value).
    pub(crate) fn connect(server: &Server, settings: &[(u16, u32)]) -> Self {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_millis(100))).expect("a time limit");
        stream.set_write_timeout(Some(Duration::from_secs(20))).expect("a time limit");
        let mut client = Self { stream, received: Vec::new() };
        client.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        let pairs =
            settings.iter().map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat());
        client.send(SETTINGS, 0, 0, &pairs.collect::<Vec<_>>().concat());
        client
    }

    /// Returns whether the server still takes bytes.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// As [`Client::raw`], but gives up soon when the server does not read.
    pub(crate) fn raw_or_full(&mut self, bytes: &[u8]) -> bool {
        self.stream.set_write_timeout(Some(Duration::from_secs(1))).expect("a time limit");
        self.raw(bytes)
    }

    pub(crate) fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> bool {
        self.raw(&frame(kind, flags, stream, payload))
    }

    /// A whole GET request.
    pub(crate) fn get(&mut self, stream: u32, path: &str) -> bool {
        let block =
            block(&[(":method", "GET"), (":scheme", "http"), (":authority", "localhost"), (":path", path)]);
        self.send(HEADERS, END_STREAM | END_HEADERS, stream, &block)
    }

    /// An extended CONNECT (RFC 8441): bytes of that protocol may go over its stream afterwards.
    pub(crate) fn ask_for(&mut self, stream: u32, path: &str, protocol: &str) -> bool {
        let fields = [
            (":method", "CONNECT"),
            (":protocol", protocol),
            (":scheme", "http"),
            (":authority", "localhost"),
            (":path", path),
            ("sec-websocket-version", "13"),
        ];
        self.send(HEADERS, END_HEADERS, stream, &block(&fields))
    }

    /// The next frame; `None` when the connection has ended. Waits for up to 20 seconds.
    pub(crate) fn frame(&mut self) -> Option<Frame> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(frame) = self.complete() {
                return Some(frame);
            }
            let mut piece = [0; 16_384];
            match self.stream.read(&mut piece) {
                Ok(0) => return None,
                Ok(count) => self.received.extend_from_slice(&piece[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    assert!(Instant::now() < deadline, "neither a frame nor an end in time");
                }
                Err(_) => return None,
            }
        }
    }

    fn complete(&mut self) -> Option<Frame> {
        let head: [u8; 9] = self.received.get(..9)?.try_into().ok()?;
        let end = 9 + u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let payload = self.received.get(9..end)?.to_vec();
        self.received.drain(..end);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & 0x7fff_ffff;
        Some(Frame { kind: head[3], flags: head[4], stream, payload })
    }

    /// Reads until this stream is over. Settings and pings are acknowledged.
    pub(crate) fn outcome(&mut self, stream: u32) -> Outcome {
        let (mut status, mut body, mut code) = (0, Vec::new(), None);
        while let Some(frame) = self.frame() {
            match frame.kind {
                SETTINGS | PING if frame.flags & 1 == 0 => {
                    let payload: &[u8] = if frame.kind == PING { &frame.payload } else { &[] };
                    self.send(frame.kind, 1, 0, payload);
                }
                GOAWAY => code = frame.payload.get(4..8).map(number),
                RST_STREAM if frame.stream == stream => return Outcome::Reset(number(&frame.payload)),
                HEADERS if frame.stream == stream => status = status_of(&frame.payload),
                DATA if frame.stream == stream => body.extend_from_slice(&frame.payload),
                _ => {}
            }
            if frame.stream == stream && frame.flags & END_STREAM != 0 && matches!(frame.kind, DATA | HEADERS)
            {
                return Outcome::Answer(status, body);
            }
        }
        Outcome::Closed(code)
    }

    /// Reads until the server closes the connection; the code of its last GOAWAY.
    ///
    /// # Panics
    /// If it does not within 20 seconds of silence.
    pub(crate) fn closes(&mut self) -> Option<u32> {
        let mut code = None;
        while let Some(frame) = self.frame() {
            if frame.kind == GOAWAY {
                code = frame.payload.get(4..8).map(number);
            }
        }
        code
    }
}

fn number(bytes: impl AsRef<[u8]>) -> u32 {
    bytes.as_ref().iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// A frame's bytes.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a payload of this world").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A field block without indexing (RFC 7541 §6.2.2).
pub(crate) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let literal = |(name, value): &(&str, &str)| [&[0][..], &string(name), &string(value)].concat();
    fields.iter().flat_map(literal).collect()
}

/// A string without Huffman coding (RFC 7541 §5.2), its length in seven bits and more.
pub(crate) fn string(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    match text.len() {
        length @ 0..127 => out.push(length as u8),
        length => {
            out.push(127);
            let mut rest = length - 127;
            while rest >= 128 {
                out.push(rest as u8 & 127 | 128);
                rest >>= 7;
            }
            out.push(rest as u8);
        }
    }
    out.extend_from_slice(text.as_bytes());
    out
}

/// The status at the start of an answer's block: one of the static table's, or a literal value for its name.
pub(crate) fn status_of(block: &[u8]) -> u16 {
    const INDEXED: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
    match *block {
        [index @ 0x88..=0x8e, ..] => INDEXED[usize::from(index - 0x88)],
        [0x48 | 0x08 | 0x18, 3, a, b, c, ..] => [a, b, c].iter().fold(0, |n, d| n * 10 + u16::from(d - b'0')),
        // Huffman: digits are 5 bits for 0 to 2, 6 bits for the others (RFC 7541, appendix B).
        [0x48 | 0x08 | 0x18, length, ..] if length & 0x80 != 0 => huffman_digits(&block[2..]),
        _ => 0,
    }
}

fn huffman_digits(bytes: &[u8]) -> u16 {
    let mut bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1));
    let mut take = |count: u32| (0..count).fold(0_u16, |n, _| n << 1 | u16::from(bits.next().unwrap_or(1)));
    (0..3).fold(0, |number, _| {
        let five = take(5);
        let digit = if five <= 2 { five } else { (five << 1 | take(1)) - 0x19 + 3 };
        number * 10 + digit
    })
}
