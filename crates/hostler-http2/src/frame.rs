//! Frame heads (RFC 9113 §4.1), the sizes of frames, and GOAWAY.

/// Bytes of a head.
pub(crate) const HEAD: usize = 9;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const PADDED: u8 = 8;
pub(crate) const WITH_PRIORITY: u8 = 0x20;

/// `SETTINGS_MAX_FRAME_SIZE`, which the server leaves as it is (§6.5.2).
pub(crate) const LONGEST: usize = 1 << 14;

/// An error that ends the connection: the code of GOAWAY (RFC 9113 §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Fault {
    /// The message that a header block makes cannot be replaced by another one that is wrong, too.
    Protocol = 1,
    /// `SETTINGS_INITIAL_WINDOW_SIZE` is larger than a window can be.
    FlowControl = 3,
    /// A frame has a size that its type does not permit.
    FrameSize = 6,
    /// A header block cannot be decoded.
    Compression = 9,
    /// A header block does not end.
    EnhanceYourCalm = 11,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) length: usize,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
}

impl Head {
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, kind, flags, s, t, u, v] = *bytes.first_chunk::<HEAD>()?;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        let stream = u32::from_be_bytes([s, t, u, v]) & 0x7fff_ffff;
        Some(Self { length, kind, flags, stream })
    }

    pub(crate) fn bytes(self) -> [u8; HEAD] {
        let [_, a, b, c] = (self.length as u32).to_be_bytes();
        let [s, t, u, v] = self.stream.to_be_bytes();
        [a, b, c, self.kind, self.flags, s, t, u, v]
    }

    pub(crate) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Returns whether the size is one that the frame's type permits.
    pub(crate) fn check(self) -> Result<(), Fault> {
        let fits = match self.kind {
            _ if self.length > LONGEST => false,
            DATA => self.length >= usize::from(self.has(PADDED)),
            HEADERS => {
                self.length >= usize::from(self.has(PADDED)) + 5 * usize::from(self.has(WITH_PRIORITY))
            }
            PRIORITY => self.length == 5,
            RST_STREAM | WINDOW_UPDATE => self.length == 4,
            SETTINGS if self.has(ACK) => self.length == 0,
            SETTINGS => self.length.is_multiple_of(6),
            PING => self.length == 8,
            GOAWAY => self.length >= 8,
            _ => true,
        };
        if fits { Ok(()) } else { Err(Fault::FrameSize) }
    }
}

/// The frame GOAWAY (§6.8).
#[must_use]
pub fn go_away(last_stream: u32, fault: Fault) -> [u8; HEAD + 8] {
    let mut frame = [0; HEAD + 8];
    frame[..HEAD].copy_from_slice(&Head { length: 8, kind: GOAWAY, flags: 0, stream: 0 }.bytes());
    frame[HEAD..HEAD + 4].copy_from_slice(&last_stream.to_be_bytes());
    frame[HEAD + 4..].copy_from_slice(&(fault as u32).to_be_bytes());
    frame
}
