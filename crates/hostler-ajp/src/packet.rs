//! Packets ("Packet Structure"): four bytes, of which two are a length, then so many bytes. Numbers have their highest byte
//! first ("Data Types").

/// The longest packet that there can be, in bytes; both sides have to be told (`packetSize`, `ProxyIOBufferSize`).
pub const LONGEST: usize = 65536;

/// The longest packet where nobody is told anything ("Packet Size"), in bytes.
pub const DEFAULT_PACKET: usize = 8192;

/// Bytes before a packet's content.
pub(crate) const ENVELOPE: usize = 4;

/// The first bytes of packets to a container.
pub(crate) const TO_CONTAINER: [u8; 2] = [0x12, 0x34];

/// The first bytes of packets from a container.
pub(crate) const FROM_CONTAINER: [u8; 2] = *b"AB";

/// The length of a string that is none: a null of Java's.
pub(crate) const NO_STRING: u16 = 0xFFFF;

/// A request does not fit into one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the request's head takes more than the {0} bytes of a packet")]
pub struct TooLong(pub usize);

/// Input that no container sends; nothing after it can be interpreted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Something else is spoken.
    #[error("a packet begins with {:?}, not with \"AB\": is it AJP?", .0.escape_ascii().to_string())]
    Magic([u8; 2]),
    /// Longer than was agreed on, or empty.
    #[error("a packet of {length} bytes, where {most} are the most")]
    Length {
        /// Length of its content, in bytes.
        length: u16,
        /// The most that it may be.
        most: usize,
    },
    /// A message that the protocol does not have.
    #[error("a message of type {0}")]
    Type(u8),
    /// A field that continues after the packet's end.
    #[error("a packet of type {0} ends before what it holds does")]
    Short(u8),
    /// Bytes are left in a packet.
    #[error("a packet of type {kind} has {bytes} bytes too many")]
    Over {
        /// The message's type.
        kind: u8,
        /// So many.
        bytes: usize,
    },
    /// A name or a value that no field can have.
    #[error("a field {:?}", .0.escape_ascii().to_string())]
    Field(Vec<u8>),
    /// No HTTP status of an answer.
    #[error("status {0}")]
    Status(u16),
    /// The message may not come now.
    #[error("a message of type {kind} {when}")]
    Order {
        /// Its type.
        kind: u8,
        /// The event it comes after, or before.
        when: &'static str,
    },
}

/// Appends a string ("Data Types"); `None` is a null. It is shorter than 64 KiB: [`Room`] has seen to that.
pub(crate) fn string(text: Option<&[u8]>, out: &mut Vec<u8>) {
    match text {
        None => out.extend_from_slice(&NO_STRING.to_be_bytes()),
        Some(text) => {
            out.extend_from_slice(&(text.len() as u16).to_be_bytes());
            out.extend_from_slice(text);
            out.push(0);
        }
    }
}

/// The rest of a packet's content.
#[derive(Debug)]
pub(crate) struct Content<'a> {
    kind: u8,
    rest: &'a [u8],
}

impl<'a> Content<'a> {
    pub(crate) const fn of(kind: u8, rest: &'a [u8]) -> Self {
        Self { kind, rest }
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Malformed::Short(self.kind))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn integer(&mut self) -> Result<u16, Malformed> {
        let (two, rest) = self.rest.split_first_chunk().ok_or(Malformed::Short(self.kind))?;
        self.rest = rest;
        Ok(u16::from_be_bytes(*two))
    }

    /// A string; a null is an empty one.
    pub(crate) fn string(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.integer()?;
        self.text(length)
    }

    /// The text of a string whose length has been taken.
    pub(crate) fn text(&mut self, length: u16) -> Result<&'a [u8], Malformed> {
        if length == NO_STRING {
            return Ok(&[]);
        }
        let text = self.take(length.into())?;
        self.byte()?;
        Ok(text)
    }

    pub(crate) const fn end(&self) -> Result<(), Malformed> {
        match self.rest.len() {
            0 => Ok(()),
            bytes => Err(Malformed::Over { kind: self.kind, bytes }),
        }
    }
}
