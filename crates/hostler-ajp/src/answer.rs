//! A container's response to one request, taken from the packets of its connection, wherever these are split.

use crate::code;
use crate::packet::{Content, DEFAULT_PACKET, ENVELOPE, FROM_CONTAINER, LONGEST, Malformed};

/// `JK_AJP13_SEND_BODY_CHUNK`.
const SEND_BODY_CHUNK: u8 = 3;
/// `JK_AJP13_SEND_HEADERS`.
const SEND_HEADERS: u8 = 4;
/// `JK_AJP13_END_RESPONSE`.
const END_RESPONSE: u8 = 5;
/// `JK_AJP13_GET_BODY_CHUNK`.
const GET_BODY_CHUNK: u8 = 6;
/// `JK_AJP13_CPONG_REPLY`.
const CPONG: u8 = 9;

/// Bytes of a packet with a piece of a body that stand before it: envelope, type, the piece's length.
const BEFORE_BODY: usize = ENVELOPE + 3;

/// Something that has been answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// Status and fields, once.
    Head(Head),
    /// A piece of the answer's body, never empty.
    Body(&'a [u8]),
    /// The container asks for so many bytes of the request's body at most; it waits for them.
    Wants(u16),
    /// The container has what it is to send on: the client need not wait for more (a chunk without content).
    Flush,
    /// The request is done; nothing of it follows.
    End {
        /// Another request may follow on the connection.
        reuse: bool,
    },
    /// The answer to a question ([`crate::cping`]).
    CPong,
}

/// The head of an answer ("Send Headers").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The HTTP status, of three digits, 200 or more.
    pub status: u16,
    /// The status line's text, often empty.
    pub reason: Vec<u8>,
    /// The fields. Names are tokens; values have no line ends and no NUL. What is said of connection and length is the
    /// container's opinion: AJP has a framing of its own.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The progress of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// A question was asked before the request, and has not been answered.
    Asked,
    /// Nothing has come.
    Before,
    /// The head has come.
    Headed,
    /// The last packet has come.
    Ended,
}

/// The answer to a request.
#[derive(Clone, Debug)]
pub struct Answer {
    stage: Stage,
    reuse: bool,
    /// The longest packet, in bytes.
    most: usize,
    /// A packet that has not come whole; of one with a piece of body only what stands before that.
    packet: Vec<u8>,
    /// Bytes that are still to come of a body's piece, and of its packet after it.
    piece: Option<(usize, usize)>,
}

impl Answer {
    /// To a request that is sent now. `most`: the longest packet that was agreed on, in bytes, [`DEFAULT_PACKET`] if none was.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            stage: Stage::Before,
            reuse: false,
            most: most.clamp(DEFAULT_PACKET, LONGEST),
            packet: Vec::new(),
            piece: None,
        }
    }

    /// To a question and a request that are sent now.
    #[must_use]
    pub fn after_cping(most: usize) -> Self {
        Self { stage: Stage::Asked, ..Self::new(most) }
    }

    /// The next event in these bytes: how many of them are used up, and what has come. `None`: all are used up, and
    /// more are needed. To be called again with the rest.
    ///
    /// # Errors
    /// The packet is none that a container sends; nothing after it can be understood.
    pub fn next<'a>(&mut self, bytes: &'a [u8]) -> Result<(usize, Option<Event<'a>>), Malformed> {
        let mut used = 0;
        loop {
            let rest = &bytes[used..];
            if let Some((left, after)) = self.piece {
                if left > 0 {
                    let taken = rest.len().min(left);
                    self.piece = Some((left - taken, after));
                    let event = (taken > 0).then(|| Event::Body(&rest[..taken]));
                    return Ok((used + taken, event));
                }
                let taken = rest.len().min(after);
                used += taken;
                self.piece = (taken < after).then(|| (0, after - taken));
                if self.piece.is_some() {
                    return Ok((used, None));
                }
                continue;
            }
            let (wanted, is_all) = self.wanted()?;
            if self.packet.len() < wanted {
                let taken = rest.len().min(wanted - self.packet.len());
                if taken == 0 {
                    return Ok((used, None));
                }
                self.packet.extend_from_slice(&rest[..taken]);
                used += taken;
                continue;
            }
            debug_assert!(is_all, "a packet's parts become longer");
            let packet = std::mem::take(&mut self.packet);
            let event = self.message(&packet)?;
            // A large head is rare: most packets fit into what was there.
            self.packet = packet;
            self.packet.clear();
            self.packet.shrink_to(DEFAULT_PACKET);
            if event.is_some() {
                return Ok((used, event));
            }
        }
    }

    /// Returns how many bytes of the packet must be here, as far as known; and whether that is all.
    fn wanted(&self) -> Result<(usize, bool), Malformed> {
        let [a, b, high, low, ref content @ ..] = self.packet[..] else {
            return Ok((ENVELOPE, false));
        };
        if [a, b] != FROM_CONTAINER {
            return Err(Malformed::Magic([a, b]));
        }
        let length = u16::from_be_bytes([high, low]);
        let most = self.most - ENVELOPE;
        if length == 0 || usize::from(length) > most {
            return Err(Malformed::Length { length, most });
        }
        match content.first() {
            None => Ok((ENVELOPE + 1, false)),
            Some(&SEND_BODY_CHUNK) if length < 3 => Err(Malformed::Short(SEND_BODY_CHUNK)),
            Some(&SEND_BODY_CHUNK) => Ok((BEFORE_BODY, self.packet.len() == BEFORE_BODY)),
            Some(_) => {
                let all = ENVELOPE + usize::from(length);
                Ok((all, self.packet.len() == all))
            }
        }
    }

    /// Decodes a packet; of one with a piece of body its first bytes.
    fn message(&mut self, packet: &[u8]) -> Result<Option<Event<'static>>, Malformed> {
        let mut envelope = Content::of(0, &packet[2..]);
        let length = envelope.integer()?;
        let kind = envelope.byte()?;
        self.check(kind)?;
        let mut content = Content::of(kind, &packet[ENVELOPE + 1..]);
        let event = match kind {
            SEND_BODY_CHUNK => {
                let piece = usize::from(content.integer()?);
                let room = usize::from(length) - 3;
                // Tomcat ends a piece with a zero, as a string; the reference does not mention it.
                let after = room.checked_sub(piece).ok_or(Malformed::Short(kind))?;
                if after > 1 {
                    return Err(Malformed::Over { kind, bytes: after });
                }
                self.piece = Some((piece, after));
                return Ok((piece == 0).then_some(Event::Flush));
            }
            SEND_HEADERS => {
                self.stage = Stage::Headed;
                Event::Head(head(&mut content)?)
            }
            END_RESPONSE => {
                self.stage = Stage::Ended;
                self.reuse = content.byte()? == 1;
                Event::End { reuse: self.reuse }
            }
            GET_BODY_CHUNK => Event::Wants(content.integer()?),
            _ => {
                self.stage = Stage::Before;
                Event::CPong
            }
        };
        content.end()?;
        Ok(Some(event))
    }

    /// Returns whether a message may come now.
    const fn check(&self, kind: u8) -> Result<(), Malformed> {
        let when = match (kind, self.stage) {
            (SEND_BODY_CHUNK, Stage::Headed)
            | (SEND_HEADERS, Stage::Before)
            | (END_RESPONSE, Stage::Headed)
            | (GET_BODY_CHUNK, Stage::Before | Stage::Headed)
            | (CPONG, Stage::Asked) => return Ok(()),
            (SEND_BODY_CHUNK..=GET_BODY_CHUNK | CPONG, Stage::Ended) => "after the end of the answer",
            (SEND_BODY_CHUNK..=GET_BODY_CHUNK, Stage::Asked) => "before the answer to CPing",
            (SEND_BODY_CHUNK | END_RESPONSE, Stage::Before) => "before the answer's head",
            (SEND_HEADERS, Stage::Headed) => "after the answer's head",
            (CPONG, _) => "that nobody has asked for",
            _ => return Err(Malformed::Type(kind)),
        };
        Err(Malformed::Order { kind, when })
    }

    /// Returns whether the request is done, its last packet has come whole, and another request may follow on the
    /// connection.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Ended && self.reuse && self.packet.is_empty() && self.piece.is_none()
    }

    /// The container has ended the connection: whether that is a loss.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.stage == Stage::Ended
    }
}

fn head(content: &mut Content<'_>) -> Result<Head, Malformed> {
    let status = content.integer()?;
    if !(200..=999).contains(&status) {
        return Err(Malformed::Status(status));
    }
    let reason = content.string()?;
    if !is_value(reason) {
        return Err(Malformed::Field(reason.to_vec()));
    }
    let count = content.integer()?;
    // A field takes four bytes at least, so what is promised is not made room for.
    let mut headers = Vec::new();
    for _ in 0..count {
        let number = content.integer()?;
        let name = if code::is_field(number) {
            code::response_field(number).ok_or_else(|| Malformed::Field(number.to_be_bytes().to_vec()))?
        } else {
            content.text(number)?
        };
        let value = content.string()?;
        if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) || !is_value(value) {
            return Err(Malformed::Field([name, b": ", value].concat()));
        }
        headers.push((name.to_vec(), value.to_vec()));
    }
    Ok(Head { status, reason: reason.to_vec(), headers })
}

/// `tchar` of RFC 9110 §5.6.2.
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

/// Returns whether a line of HTTP can hold it.
fn is_value(text: &[u8]) -> bool {
    !text.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n'))
}

#[cfg(test)]
mod tests;
