//! The protocol between the front and a worker of an ASGI application over a connection: frames of a letter, a length
//! in four bytes, and so many bytes. No I/O.
//!
//! A request's scope is told in the form in which Python writes its own values (`marshal`), which every Python reads without
//! a line of ours. It goes to the tenant only; what comes back is believed in nothing, and has bounds.
//!
//! Once both have agreed on memory beside the connection (`M`), frames go through that, and over the socket goes what wakes the worker
//! ([`CALL`]).
//!
//! | letter | from the front | letter | from the worker |
//! |---|---|---|---|
//! | `M` | memory, and bells, in descriptors; the bells' number | `M` | it will use the memory: its process |
//! | `S` | flags (1: a body follows; 2: once the worker asks for it), the scope | `H` | an answer's head |
//! | `B` | a piece of the request's body | `A` | a WebSocket is accepted: from here on there are no frames |
//! | `E` | that body's end | `I` | early hints |
//! | | | `B` | a piece of the answer's body |
//! | | | `T` | fields behind the answer's body |
//! | | | `L` | something for the log |
//! | | | `F` | there is no answer, or no further one: why |
//! | | | `R` | the request's body is wanted |
//! | | | `N` | nothing |
//! | | | `G` | the connection ends, and what has come meanwhile was not looked at |
//! | | | `E` | the end, and whether the connection can have another request |

use std::fmt;

/// The handler, as `SetHandler` says it.
pub const HANDLER: &str = "asgi";

/// Bytes of a frame before its payload.
const PREFIX: usize = 5;
/// The longest head, in bytes.
const LONGEST_HEAD: usize = 256 << 10;
/// The longest text for the log, and the longest reason.
const LONGEST_TEXT: usize = 64 << 10;
/// Most fields of a head.
const MOST_FIELDS: usize = 1000;

/// Bytes of [`memory`].
pub const MEMORY: usize = PREFIX + 8;
/// The byte that wakes a worker that should look into its memory.
pub const CALL: &[u8] = b"W";

/// Returns the first bytes of a connection on which the front offers memory; descriptors go with them. Bells of one
/// number are the same.
#[must_use]
pub fn memory(bells: u64) -> [u8; MEMORY] {
    let mut frame = [0; MEMORY];
    frame[..PREFIX].copy_from_slice(&[b'M', 0, 0, 0, 8]);
    frame[PREFIX..].copy_from_slice(&bells.to_be_bytes());
    frame
}

/// The bells' number in [`memory`]; `None`: it is something else.
#[must_use]
pub fn memory_bells(frame: &[u8]) -> Option<u64> {
    let bells = frame.strip_prefix(&[b'M', 0, 0, 0, 8])?;
    Some(u64::from_be_bytes(bells.try_into().ok()?))
}

/// Returns the message of a worker's process before its first response if it uses the memory.
#[must_use]
pub fn memory_user(process: u32) -> [u8; PREFIX + 4] {
    let mut frame = [0; PREFIX + 4];
    frame[..PREFIX].copy_from_slice(&[b'M', 0, 0, 0, 4]);
    frame[PREFIX..].copy_from_slice(&process.to_be_bytes());
    frame
}

/// The body that follows a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// None.
    Nothing = 0,
    /// Its pieces.
    Body = 1,
    /// Its pieces, once the worker has asked for them.
    BodyOnDemand = 3,
}

/// A scope on its way into Python's form.
#[derive(Debug)]
pub struct Scope(Vec<u8>);

impl Scope {
    /// A dictionary's beginning.
    #[must_use]
    pub fn new(follows: Follows) -> Self {
        let mut bytes = Vec::with_capacity(1024);
        bytes.extend_from_slice(&[b'S', 0, 0, 0, 0, follows as u8, b'{']);
        Self(bytes)
    }

    /// A key, which is ASCII and short.
    pub fn key(&mut self, key: &str) -> &mut Self {
        debug_assert!(key.is_ascii() && key.len() < 256, "keys are ours");
        self.0.push(b'Z');
        self.0.push(key.len() as u8);
        self.0.extend_from_slice(key.as_bytes());
        self
    }

    /// Text.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.counted(b'u', text.as_bytes())
    }

    /// Bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.counted(b's', bytes)
    }

    /// A number below 2³¹.
    pub fn number(&mut self, number: u32) -> &mut Self {
        self.0.push(b'i');
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// `None`.
    pub fn none(&mut self) -> &mut Self {
        self.0.push(b'N');
        self
    }

    /// Begins a tuple of so many values, which follow.
    pub fn tuple(&mut self, length: u32) -> &mut Self {
        self.0.push(b'(');
        self.0.extend_from_slice(&length.to_le_bytes());
        self
    }

    /// Begins a list of so many values, which follow.
    pub fn list(&mut self, length: u32) -> &mut Self {
        self.0.push(b'[');
        self.0.extend_from_slice(&length.to_le_bytes());
        self
    }

    /// Begins a dictionary within; keys and values follow, then [`Self::end`].
    pub fn dictionary(&mut self) -> &mut Self {
        self.0.push(b'{');
        self
    }

    /// Ends a dictionary within.
    pub fn end(&mut self) -> &mut Self {
        self.0.push(b'0');
        self
    }

    /// The whole frame.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.0.push(b'0');
        let length = (self.0.len() - PREFIX) as u32;
        self.0[1..PREFIX].copy_from_slice(&length.to_be_bytes());
        self.0
    }

    fn counted(&mut self, kind: u8, bytes: &[u8]) -> &mut Self {
        self.0.push(kind);
        self.0.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.0.extend_from_slice(bytes);
        self
    }
}

/// Appends a piece of a request's body.
pub fn body(piece: &[u8], out: &mut Vec<u8>) {
    out.push(b'B');
    out.extend_from_slice(&(piece.len() as u32).to_be_bytes());
    out.extend_from_slice(piece);
}

/// Appends the end of a request's body.
pub fn body_end(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'E', 0, 0, 0, 0]);
}

/// A status and fields; names and values can stand in a head as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// From 200 to 999; of early hints and accepted WebSockets it means nothing.
    pub status: u16,
    /// Names and values.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A worker's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerFrame<'a> {
    /// An answer's head.
    Head(Head),
    /// A WebSocket is accepted. What follows is the client's.
    Accepted(Head),
    /// Fields of what will perhaps be an answer.
    Early(Head),
    /// A piece of the answer's body, never empty.
    Body(&'a [u8]),
    /// Fields behind the answer's body.
    Trailers(Head),
    /// The request's body is wanted.
    BodyWanted,
    /// It is at work.
    Alive,
    /// The connection ends, and the request was not looked at.
    Goodbye,
    /// Text for the log.
    Log(Vec<u8>),
    /// There is no (further) answer: why.
    Failed(Vec<u8>),
    /// The end.
    End {
        /// The connection can have another request.
        stays: bool,
    },
}

/// A message that a worker may not send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(&'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The reader of one answer. What is understood only as a whole is kept until it is there, up to its bound.
#[derive(Debug, Default)]
pub struct Answer {
    kept: Vec<u8>,
    /// Bytes of a piece of the body that are still to come.
    left: usize,
    has_head: bool,
    /// True if the connection stays, once the end has come.
    ended: Option<bool>,
    memory_user: Option<u32>,
}

impl Answer {
    /// The next thing said in `bytes`, and how many of those are used up.
    ///
    /// # Errors
    /// [`Malformed`]: nothing more of it is understood.
    pub fn next<'a>(&mut self, bytes: &'a [u8]) -> Result<(usize, Option<WorkerFrame<'a>>), Malformed> {
        let mut used = 0;
        while used < bytes.len() {
            if self.ended.is_some() {
                return Err(Malformed("it goes on after its end"));
            }
            if self.left > 0 {
                let piece = &bytes[used..][..self.left.min(bytes.len() - used)];
                self.left -= piece.len();
                return Ok((used + piece.len(), Some(WorkerFrame::Body(piece))));
            }
            if self.kept.len() < PREFIX {
                used += self.keep(PREFIX, &bytes[used..]);
                if self.kept.len() == PREFIX {
                    self.begin()?;
                }
            } else {
                used += self.keep(PREFIX + self.length(), &bytes[used..]);
            }
            if self.kept.len() >= PREFIX && self.kept.len() == PREFIX + self.length() {
                let frame = std::mem::take(&mut self.kept);
                if let [b'M', _, _, _, _, a, b, c, d] = frame[..] {
                    self.memory_user = Some(u32::from_be_bytes([a, b, c, d]));
                    continue;
                }
                return self.said(frame[0], &frame[PREFIX..]).map(|said| (used, Some(said)));
            }
        }
        Ok((used, None))
    }

    /// The process that uses the memory beside the connection, if one has said so.
    #[must_use]
    pub const fn memory_user(&self) -> Option<u32> {
        self.memory_user
    }

    /// Returns whether the end has come.
    #[must_use]
    pub const fn is_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Returns whether the end has come so that another request may follow.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self.ended, Some(true))
    }

    fn length(&self) -> usize {
        match self.kept.get(1..PREFIX) {
            Some([a, b, c, d]) => u32::from_be_bytes([*a, *b, *c, *d]) as usize,
            _ => 0,
        }
    }

    /// Keeps bytes until there are so many; how many it has taken.
    fn keep(&mut self, until: usize, bytes: &[u8]) -> usize {
        let taken = (until - self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(&bytes[..taken]);
        taken
    }

    /// A frame's kind and length are there. A piece of the body is passed on as it comes, all others when they are whole.
    fn begin(&mut self) -> Result<(), Malformed> {
        let most = match self.kept[0] {
            b'B' if !self.has_head => return Err(Malformed("a body comes without a head")),
            b'B' => {
                self.left = self.length();
                self.kept.clear();
                return Ok(());
            }
            b'H' | b'A' | b'I' | b'T' => LONGEST_HEAD,
            b'L' | b'F' => LONGEST_TEXT,
            b'E' => 1,
            b'M' if self.length() != 4 => return Err(Malformed("a process is not what it should be")),
            b'M' => 4,
            b'N' | b'G' | b'R' => 0,
            _ => return Err(Malformed("a frame is of no known kind")),
        };
        if self.length() > most { Err(Malformed("a frame is too long")) } else { Ok(()) }
    }

    fn said<'a>(&mut self, kind: u8, payload: &[u8]) -> Result<WorkerFrame<'a>, Malformed> {
        Ok(match kind {
            b'H' | b'A' if self.has_head => return Err(Malformed("there is a second head")),
            b'H' => {
                let head = head(payload)?;
                if !(200..=999).contains(&head.status) {
                    return Err(Malformed("its status is for no answer"));
                }
                self.has_head = true;
                WorkerFrame::Head(head)
            }
            b'A' => {
                (self.has_head, self.ended) = (true, Some(false));
                WorkerFrame::Accepted(head(payload)?)
            }
            b'I' => WorkerFrame::Early(head(payload)?),
            b'T' => WorkerFrame::Trailers(head(payload)?),
            b'L' => WorkerFrame::Log(payload.to_vec()),
            b'F' => WorkerFrame::Failed(payload.to_vec()),
            b'E' => {
                let stays = payload == [1];
                self.ended = Some(stays);
                WorkerFrame::End { stays }
            }
            b'G' => {
                self.ended = Some(false);
                WorkerFrame::Goodbye
            }
            b'R' => WorkerFrame::BodyWanted,
            _ => WorkerFrame::Alive,
        })
    }
}

fn head(mut bytes: &[u8]) -> Result<Head, Malformed> {
    const CUT: Malformed = Malformed("a head is cut off");
    let mut take = |count: usize| -> Result<&[u8], Malformed> {
        let (piece, rest) = bytes.split_at_checked(count).ok_or(CUT)?;
        bytes = rest;
        Ok(piece)
    };
    let start = take(4)?;
    let status = u16::from_be_bytes([start[0], start[1]]);
    let count = usize::from(u16::from_be_bytes([start[2], start[3]]));
    if count > MOST_FIELDS {
        return Err(Malformed("there are too many fields"));
    }
    let mut fields = Vec::with_capacity(count);
    for _ in 0..count {
        let lengths = take(6)?;
        let name = usize::from(u16::from_be_bytes([lengths[0], lengths[1]]));
        let value = u32::from_be_bytes([lengths[2], lengths[3], lengths[4], lengths[5]]) as usize;
        let (name, value) = (take(name)?.to_vec(), take(value)?.to_vec());
        if !is_name(&name) || value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')) {
            return Err(Malformed("a field can't stand in a head"));
        }
        fields.push((name, value));
    }
    if bytes.is_empty() {
        Ok(Head { status, fields })
    } else {
        Err(Malformed("something follows a head's fields"))
    }
}

/// RFC 9110 §5.1.
fn is_name(name: &[u8]) -> bool {
    let is = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !name.is_empty() && name.iter().all(is)
}

#[cfg(test)]
mod tests;
