//! The boundaries of WebSocket frames (RFC 6455 §5.2) in bytes that pass through a tunnel: between two of them a stopping
//! server can say goodbye. Payloads are skipped, not read.

/// Close, without mask, with the code 1001, "going away" (RFC 6455 §7.4.1).
pub(crate) const GOING_AWAY: [u8; 4] = [0x88, 2, 0x03, 0xe9];

/// The opcode of Close.
const CLOSE: u8 = 8;
/// The longest header: two bytes, a length of eight, a mask of four.
const LONGEST: usize = 14;

/// The reader of one direction.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    header: [u8; LONGEST],
    /// Bytes of the header that have come.
    have: usize,
    /// Bytes of the payload that are missing.
    missing: u64,
    is_close: bool,
    has_closed: bool,
}

impl Frames {
    /// Bytes pass.
    pub(crate) fn pass(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.missing > 0 {
                let skipped = usize::try_from(self.missing).unwrap_or(usize::MAX).min(bytes.len());
                bytes = &bytes[skipped..];
                self.missing -= skipped as u64;
            } else {
                self.header[self.have] = bytes[0];
                (self.have, bytes) = (self.have + 1, &bytes[1..]);
                self.begin_payload();
            }
            self.has_closed |= self.is_close && self.is_between();
        }
    }

    /// Returns true if the last frame is complete.
    pub(crate) fn is_between(&self) -> bool {
        self.have == 0 && self.missing == 0
    }

    /// Returns true if a whole Close frame has passed.
    pub(crate) fn has_closed(&self) -> bool {
        self.has_closed
    }

    fn begin_payload(&mut self) {
        let [first, second, ..] = self.header;
        let extended = match second & 0x7f {
            _ if self.have < 2 => return,
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let mask = if second & 0x80 != 0 { 4 } else { 0 };
        if self.have < 2 + extended + mask {
            return;
        }
        let length =
            self.header[2..2 + extended].iter().fold(0, |length, byte| length << 8 | u64::from(*byte));
        self.missing = if extended == 0 { u64::from(second & 0x7f) } else { length };
        self.is_close = first & 0x0f == CLOSE;
        self.have = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(opcode: u8, length: usize, mask: bool) -> Vec<u8> {
        let bit = if mask { 0x80 } else { 0 };
        let mut frame = vec![0x80 | opcode];
        match length {
            0..126 => frame.push(bit | length as u8),
            126..65_536 => {
                frame.push(bit | 126);
                frame.extend((length as u16).to_be_bytes());
            }
            _ => {
                frame.push(bit | 127);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        frame.extend([0xff; 4].iter().take(if mask { 4 } else { 0 }));
        frame.extend(std::iter::repeat_n(0x88, length));
        frame
    }

    #[test]
    fn boundaries_are_found_however_the_bytes_come() {
        for (length, mask) in [(0, false), (5, true), (125, true), (126, false), (300, true), (70_000, true)]
        {
            let bytes = frame(1, length, mask);
            for piece in [1, 3, bytes.len()] {
                let mut frames = Frames::default();
                let (last, before) = bytes.split_last().unwrap();
                before.chunks(piece).for_each(|piece| frames.pass(piece));
                assert!(!frames.is_between(), "{length}");
                frames.pass(&[*last]);
                assert!(frames.is_between() && !frames.has_closed(), "{length}");
            }
        }
    }

    #[test]
    fn a_close_has_passed_when_its_payload_has() {
        let mut frames = Frames::default();
        frames.pass(&frame(2, 9, false));
        frames.pass(&GOING_AWAY[..3]);
        assert!(!frames.has_closed());
        frames.pass(&GOING_AWAY[3..]);
        assert!(frames.has_closed());
        let mut frames = Frames::default();
        frames.pass(&frame(CLOSE, 0, true));
        assert!(frames.has_closed());
    }
}
