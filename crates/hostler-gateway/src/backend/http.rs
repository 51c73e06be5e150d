//! HTTP/1.1 as a client speaks it: how a body is framed, and the reader of one answer. No I/O: bytes in, events out
//! (heads and framing are `hostler_http1`'s).

pub mod pooled;

use super::body::{BodyLength, Meter};
use bytes::{Buf as _, Bytes, BytesMut};
use hostler_http1::answer::{self, AnswerError, Head, Limits};
use hostler_http1::chunked::{ChunkError, Decoder, Step};
use hostler_http1::framing::Framing;

/// Pieces of a chunked body of so many bytes are handed on as they came; smaller ones are copied together.
const LARGE: usize = 8 << 10;
/// Interim answers (1xx) that may come before the answer, as many as Apache takes.
const MOST_INTERIM: u32 = 9;

/// The framing of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// There is none.
    None,
    /// As it is: its length, which is in the head.
    Length(u64),
    /// In chunks.
    Chunked,
}

impl Sending {
    /// The piece as it is sent, with what stands around it.
    #[must_use]
    pub fn piece(self, piece: Bytes) -> [Bytes; 3] {
        match self {
            Self::Chunked => {
                let size = format!("{:x}\r\n", piece.len());
                [size.into(), piece, Bytes::from_static(b"\r\n")]
            }
            Self::None | Self::Length(_) => [Bytes::new(), piece, Bytes::new()],
        }
    }

    /// Returns the guard that keeps the body to the length in the head.
    #[must_use]
    pub(crate) const fn meter(self) -> Meter {
        Meter::of(match self {
            Self::None => BodyLength::Nothing,
            Self::Length(length) => BodyLength::of(Some(length)),
            Self::Chunked => BodyLength::Unknown,
        })
    }

    /// Returns the bytes that end the body.
    #[must_use]
    pub fn end(self) -> Bytes {
        if self == Self::Chunked { Bytes::from_static(b"0\r\n\r\n") } else { Bytes::new() }
    }
}

/// The facts of the request that are needed to interpret its response.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestFacts {
    /// Its method is HEAD.
    pub head: bool,
    /// It asks for another protocol (`Upgrade`).
    pub upgrades: bool,
}

/// An answer's head, with the bytes that it stands in.
#[derive(Clone, Debug)]
pub struct ServerAnswer {
    /// The head.
    pub head: Head,
    /// Its bytes.
    pub bytes: Bytes,
}

/// Something of an answer.
#[derive(Clone, Debug)]
pub enum Event {
    /// An interim answer (RFC 9110 §15.2).
    Interim(ServerAnswer),
    /// The answer's head.
    Head(ServerAnswer),
    /// A piece of its body, never empty.
    Body(Bytes),
    /// Fields behind the body (RFC 9110 §6.5).
    Trailers(Vec<(Bytes, Bytes)>),
    /// The last of all.
    End,
    /// The last of all: the connection speaks another protocol from here on, as the head has said.
    Upgraded,
}

/// Why an answer can't be understood.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Malformed {
    /// Its head.
    #[error(transparent)]
    Head(#[from] AnswerError),
    /// Its body.
    #[error("in the body, {0}")]
    Chunk(#[from] ChunkError),
    /// RFC 9110 §15.2.
    #[error("there are more than {MOST_INTERIM} interim answers")]
    Interim,
    /// RFC 9110 §15.2.2.
    #[error("it changes the protocol, which nobody has asked for (101)")]
    Upgrade,
}

#[derive(Debug)]
enum State {
    Head,
    Length(u64),
    Chunked(Box<Decoder>),
    Trailers(Vec<(Vec<u8>, Vec<u8>)>),
    UntilClosed,
    /// The next output is the end.
    Ends,
    Upgrades,
    Over,
}

/// The reader of one answer.
#[derive(Debug)]
pub struct Answer {
    asked: RequestFacts,
    limits: Limits,
    state: State,
    keeps: bool,
    interim: u32,
    /// Something of the answer has come.
    begun: bool,
}

impl Answer {
    /// Of the answer to a request.
    #[must_use]
    pub fn to(asked: RequestFacts, limits: Limits) -> Self {
        Self { asked, limits, state: State::Head, keeps: false, interim: 0, begun: false }
    }

    /// Returns whether something of it has come.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        self.begun
    }

    /// Returns whether it has ended, whatever becomes of the connection.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Returns whether it has ended so that another request may follow on the connection.
    #[must_use]
    pub const fn keeps(&self) -> bool {
        self.keeps && matches!(self.state, State::Over)
    }

    /// The next event in what has come, of which it takes what it has used up; `None`: more has to come.
    ///
    /// # Errors
    /// The bytes are no answer, or none that could be sent on.
    pub fn next(&mut self, bytes: &mut BytesMut) -> Result<Option<Event>, Malformed> {
        self.begun |= !bytes.is_empty();
        match &mut self.state {
            State::Head if bytes.is_empty() => Ok(None),
            State::Head => self.head(bytes),
            State::Length(left) => {
                let length = (*left).min(bytes.len() as u64) as usize;
                if length == 0 {
                    return Ok(None);
                }
                *left -= length as u64;
                if *left == 0 {
                    self.state = State::Ends;
                }
                Ok(Some(Event::Body(bytes.split_to(length).freeze())))
            }
            State::Chunked(decoder) => {
                let piece = chunks(decoder, bytes)?;
                if decoder.is_done() {
                    self.state = match decoder.take_trailer() {
                        fields if fields.is_empty() => State::Ends,
                        fields => State::Trailers(fields),
                    };
                }
                match piece {
                    Some(piece) => Ok(Some(Event::Body(piece))),
                    None if matches!(self.state, State::Chunked(_)) => Ok(None),
                    None => self.next(bytes),
                }
            }
            State::Trailers(fields) => {
                let fields = std::mem::take(fields).into_iter();
                let fields = fields.map(|(name, value)| (name.into(), value.into())).collect();
                self.state = State::Ends;
                Ok(Some(Event::Trailers(fields)))
            }
            State::UntilClosed if bytes.is_empty() => Ok(None),
            State::UntilClosed => Ok(Some(Event::Body(bytes.split().freeze()))),
            State::Ends => {
                // Who says more than its answer is not asked again: it would be taken for the next one's.
                self.keeps &= bytes.is_empty();
                self.state = State::Over;
                Ok(Some(Event::End))
            }
            State::Upgrades => {
                self.state = State::Over;
                Ok(Some(Event::Upgraded))
            }
            State::Over => Ok(None),
        }
    }

    fn head(&mut self, bytes: &mut BytesMut) -> Result<Option<Event>, Malformed> {
        let Some(head) = answer::parse(bytes, &self.limits)? else { return Ok(None) };
        let body = head.body(bytes, self.asked.head)?;
        let said = ServerAnswer { bytes: bytes.split_to(head.length).freeze(), head };
        if said.head.status == 101 {
            if !self.asked.upgrades {
                return Err(Malformed::Upgrade);
            }
            self.state = State::Upgrades;
            return Ok(Some(Event::Head(said)));
        }
        if said.head.status < 200 {
            self.interim += 1;
            return if self.interim > MOST_INTERIM {
                Err(Malformed::Interim)
            } else {
                Ok(Some(Event::Interim(said)))
            };
        }
        self.keeps = body.keeps;
        self.state = match body.framing {
            None => State::UntilClosed,
            Some(Framing::None | Framing::Length(0)) => State::Ends,
            Some(Framing::Length(length)) => State::Length(length),
            Some(Framing::Chunked) => {
                State::Chunked(Box::new(Decoder::with_trailer(hostler_http1::head::Limits::default())))
            }
        };
        Ok(Some(Event::Head(said)))
    }

    /// The other side has said that nothing more comes: whether that ends the answer.
    pub fn closed(&mut self) -> bool {
        let ends = matches!(self.state, State::UntilClosed);
        if ends {
            self.state = State::Over;
        }
        ends
    }
}

/// The data of chunks that are here.
fn chunks(decoder: &mut Decoder, bytes: &mut BytesMut) -> Result<Option<Bytes>, ChunkError> {
    let mut small = BytesMut::new();
    while !decoder.is_done() && !bytes.is_empty() {
        match decoder.step(bytes)? {
            Step::Data { skip, data } => {
                bytes.advance(skip);
                let piece = bytes.split_to(data);
                if small.is_empty() && data >= LARGE {
                    return Ok(Some(piece.freeze()));
                }
                small.extend_from_slice(&piece);
            }
            Step::More { skip } => {
                bytes.advance(skip);
                break;
            }
            Step::End { skip } => bytes.advance(skip),
        }
    }
    Ok((!small.is_empty()).then(|| small.freeze()))
}

#[cfg(test)]
mod tests;
