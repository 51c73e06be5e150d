//! The bytes of a client's connection, frame by frame.

use crate::frame::{self, Fault, HEAD, Head};
use crate::hpack::{Block, Decoder};

/// The client's preface (RFC 9113 §3.4), which h2 checks.
const PREFACE: usize = 24;
/// `SETTINGS_INITIAL_WINDOW_SIZE`, and the largest window (§6.5.2, §6.9.1).
const INITIAL_WINDOW: u16 = 4;
const LARGEST_WINDOW: u32 = (1 << 31) - 1;

/// Checks what a client sends.
#[derive(Debug)]
pub struct Checker {
    hpack: Decoder,
    state: State,
    /// The frame that is being gathered: a part of its head, or as much of it as has come.
    held: Vec<u8>,
    block: Option<HeaderBlock>,
    last_stream: u32,
    /// Most bytes of a header block.
    longest: usize,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// So many bytes are passed on: of the preface, or of a frame that needs no look.
    Passing(usize),
    /// A head.
    Head,
    /// A frame that is looked at as a whole, and so many bytes of it are still to come.
    Whole(Head, usize),
}

/// A block of which CONTINUATION frames are still to come.
#[derive(Debug)]
struct HeaderBlock {
    head: Head,
    fragment: Vec<u8>,
    frames: Vec<u8>,
}

impl Checker {
    /// For a new connection. `longest`: bytes that a header block may have.
    #[must_use]
    pub fn new(longest: usize) -> Self {
        Self {
            hpack: Decoder::new(),
            state: State::Passing(PREFACE),
            held: Vec::new(),
            block: None,
            last_stream: 0,
            longest,
        }
    }

    /// The last stream that the client has opened, for GOAWAY.
    #[must_use]
    pub fn last_stream(&self) -> u32 {
        self.last_stream
    }

    /// Takes what has come, and appends to `out` what h2 is to read. No frame is complete there that ends the connection.
    ///
    /// # Errors
    /// The connection is to be ended. Nothing more may be fed.
    pub fn feed(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        while !bytes.is_empty() {
            match self.state {
                State::Passing(left) => {
                    let some = take(&mut bytes, left);
                    out.extend_from_slice(some);
                    self.state = after(left - some.len());
                }
                State::Head => {
                    self.held.extend_from_slice(take(&mut bytes, HEAD - self.held.len()));
                    if let Some(head) = Head::parse(&self.held) {
                        self.begin(head, out)?;
                    }
                }
                State::Whole(head, left) => {
                    let some = take(&mut bytes, left);
                    self.held.extend_from_slice(some);
                    self.state = State::Whole(head, left - some.len());
                }
            }
            if let State::Whole(head, 0) = self.state {
                self.end(head, out)?;
                self.held.clear();
                self.state = State::Head;
            }
        }
        Ok(())
    }

    /// The head of a frame is there.
    fn begin(&mut self, head: Head, out: &mut Vec<u8>) -> Result<(), Fault> {
        head.check()?;
        let is_whole = match head.kind {
            frame::HEADERS | frame::SETTINGS => self.block.is_none(),
            frame::CONTINUATION => true,
            _ => false,
        };
        if is_whole {
            self.state = State::Whole(head, head.length);
            return Ok(());
        }
        if let Some(block) = self.block.take() {
            // Another frame within a block: h2 ends the connection.
            out.extend(block.frames);
        }
        out.append(&mut self.held);
        self.state = after(head.length);
        Ok(())
    }

    /// A frame has come as a whole.
    fn end(&mut self, head: Head, out: &mut Vec<u8>) -> Result<(), Fault> {
        match head.kind {
            frame::HEADERS => {
                let Some(fragment) = fragment(head, &self.held[HEAD..]) else {
                    out.append(&mut self.held);
                    return Ok(());
                };
                self.last_stream = self.last_stream.max(head.stream);
                let (fragment, frames) = (fragment.to_vec(), std::mem::take(&mut self.held));
                self.gathered(HeaderBlock { head, fragment, frames }, head, out)
            }
            frame::CONTINUATION => match self.block.take() {
                Some(mut block) if block.head.stream == head.stream => {
                    block.fragment.extend_from_slice(&self.held[HEAD..]);
                    block.frames.append(&mut self.held);
                    self.gathered(block, head, out)
                }
                block => {
                    out.extend(block.into_iter().flat_map(|block| block.frames));
                    out.append(&mut self.held);
                    Ok(())
                }
            },
            _ => {
                windows(&self.held[HEAD..])?;
                out.append(&mut self.held);
                Ok(())
            }
        }
    }

    /// A header block has come, as far as its last frame, `head`.
    fn gathered(&mut self, block: HeaderBlock, head: Head, out: &mut Vec<u8>) -> Result<(), Fault> {
        if block.frames.len() > self.longest {
            return Err(Fault::EnhanceYourCalm);
        }
        if !head.has(frame::END_HEADERS) {
            self.block = Some(block);
            return Ok(());
        }
        match self.hpack.check(&block.fragment)? {
            Block::Fine => out.extend(block.frames),
            Block::Malformed(instead) => write(block.head, &instead, out),
        }
        Ok(())
    }
}

fn after(left: usize) -> State {
    if left == 0 { State::Head } else { State::Passing(left) }
}

fn take<'a>(bytes: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (some, rest) = bytes.split_at(most.min(bytes.len()));
    *bytes = rest;
    some
}

/// Returns the part of the block in the payload of HEADERS (§6.2); `None`: its padding is too long, which h2 reports.
fn fragment(head: Head, payload: &[u8]) -> Option<&[u8]> {
    let (padding, rest) = if head.has(frame::PADDED) {
        let (first, rest) = payload.split_first()?;
        (usize::from(*first), rest)
    } else {
        (0, payload)
    };
    let rest = rest.get(if head.has(frame::WITH_PRIORITY) { 5 } else { 0 }..)?;
    rest.get(..rest.len().checked_sub(padding)?)
}

/// Returns whether the windows in SETTINGS are such.
fn windows(payload: &[u8]) -> Result<(), Fault> {
    let (settings, _) = payload.as_chunks::<6>();
    let is_too_large = |&[a, b, c, d, e, f]: &[u8; 6]| {
        u16::from_be_bytes([a, b]) == INITIAL_WINDOW && u32::from_be_bytes([c, d, e, f]) > LARGEST_WINDOW
    };
    if settings.iter().any(is_too_large) { Err(Fault::FlowControl) } else { Ok(()) }
}

/// Writes a block as frames.
fn write(head: Head, block: &[u8], out: &mut Vec<u8>) {
    let mut pieces = block.chunks(frame::LONGEST).peekable();
    let (mut kind, mut flags) = (frame::HEADERS, head.flags & frame::END_STREAM);
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            flags |= frame::END_HEADERS;
        }
        out.extend(Head { length: piece.len(), kind, flags, stream: head.stream }.bytes());
        out.extend_from_slice(piece);
        (kind, flags) = (frame::CONTINUATION, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        [&Head { length: payload.len(), kind, flags, stream }.bytes(), payload].concat()
    }

    /// Returns the bytes that h2 reads of these frames, fed in pieces of this size.
    fn fed(frames: &[Vec<u8>], size: usize) -> (Vec<u8>, Result<(), Fault>) {
        let (mut checker, mut out) = (Checker::new(1000), Vec::new());
        checker.feed(&[b'p'; PREFACE], &mut out).unwrap();
        out.clear();
        let result = frames.concat().chunks(size).try_for_each(|piece| checker.feed(piece, &mut out));
        (out, result)
    }

    fn check(frames: &[Vec<u8>]) -> (Vec<u8>, Result<(), Fault>) {
        let all = fed(frames, usize::MAX);
        for size in [1, 2, 7, 10] {
            assert_eq!(fed(frames, size), all);
        }
        all
    }

    const BAD: &[u8] = b"\x82\x00\x01A\x01a";

    #[test]
    fn frames_pass_as_they_are() {
        let frames = [
            frame(frame::SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0]),
            frame(frame::HEADERS, frame::PADDED | frame::WITH_PRIORITY | 5, 1, b"\x02\0\0\0\0\x01\x82..")
                .into_iter()
                .collect(),
            frame(frame::DATA, 1, 1, &[b'd'; 500]),
            frame(0x77, 0xff, 9, b"unknown"),
            frame(frame::HEADERS, 1, 3, b"\x82"),
            frame(frame::CONTINUATION, 0, 3, b""),
            frame(frame::CONTINUATION, 4, 3, b"\x84"),
            frame(frame::PING, 0, 0, b"12345678"),
        ];
        assert_eq!(check(&frames), (frames.concat(), Ok(())));
    }

    #[test]
    fn sizes_that_a_type_does_not_permit() {
        let wrong = [
            frame(frame::PING, 0, 0, b"abc"),
            frame(frame::SETTINGS, 1, 0, &[0; 6]),
            frame(frame::SETTINGS, 0, 0, &[0; 5]),
            frame(frame::WINDOW_UPDATE, 0, 0, &[0; 3]),
            frame(frame::RST_STREAM, 0, 1, &[0; 5]),
            frame(frame::PRIORITY, 0, 1, &[0; 4]),
            frame(frame::GOAWAY, 0, 0, &[0; 7]),
            frame(frame::DATA, 8, 1, b""),
            frame(frame::HEADERS, 0x20, 1, &[0; 4]),
            frame(frame::DATA, 0, 1, &[0; frame::LONGEST + 1]),
        ];
        for frame in wrong {
            assert_eq!(check(&[frame]), (Vec::new(), Err(Fault::FrameSize)));
        }
        let settings = [&[0, 3, 0, 0, 0, 0][..], &[0, 4, 0x80, 0, 0, 0]].concat();
        assert_eq!(check(&[frame(frame::SETTINGS, 0, 0, &settings)]), (Vec::new(), Err(Fault::FlowControl)));
    }

    #[test]
    fn header_blocks_are_judged_as_a_whole() {
        assert_eq!(check(&[frame(frame::HEADERS, 5, 1, b"\x80")]), (Vec::new(), Err(Fault::Compression)));
        let parts = [frame(frame::HEADERS, 1, 1, &BAD[..2]), frame(frame::CONTINUATION, 4, 1, &BAD[2..])];
        let (out, result) = check(&parts);
        assert_eq!(result, Ok(()));
        let head = Head::parse(&out).unwrap();
        assert_eq!(
            (head.kind, head.flags, head.stream, head.length),
            (frame::HEADERS, 5, 1, out.len() - HEAD)
        );
        let without_end =
            vec![frame(frame::HEADERS, 1, 1, &[0x82; 600]), frame(frame::CONTINUATION, 0, 1, &[0x82; 600])];
        assert_eq!(check(&without_end).1, Err(Fault::EnhanceYourCalm));
    }

    #[test]
    fn a_frame_within_a_block_is_reported_by_h2() {
        for other in [
            frame(frame::PING, 0, 0, &[0; 8]),
            frame(frame::CONTINUATION, 4, 3, b""),
            frame(frame::SETTINGS, 0, 0, b""),
        ] {
            let frames = [frame(frame::HEADERS, 1, 1, b"\x82"), other];
            assert_eq!(check(&frames), (frames.concat(), Ok(())));
        }
    }

    #[test]
    fn goaway() {
        let frame = frame::go_away(5, Fault::Compression);
        assert_eq!(frame, *b"\0\0\x08\x07\0\0\0\0\0\0\0\0\x05\0\0\0\x09");
    }
}
