//! The announced length of a request's body, and the guard that keeps the sent bytes to it, for every protocol.
//!
//! A backend that is sent more than was announced takes the rest for another request; one that is sent less takes the next
//! request for the rest. So [`Meter`] admits no byte beyond the announced length, and says when some are missing.

/// The length of a request's body as announced to a backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyLength {
    /// There is no body.
    #[default]
    Nothing,
    /// This many bytes, more than zero.
    Known(u64),
    /// There may be a body; its end says where it ends.
    Unknown,
}

impl BodyLength {
    /// Of a body with this many bytes; `None`: nobody knows.
    #[must_use]
    pub const fn of(length: Option<u64>) -> Self {
        match length {
            Some(0) => Self::Nothing,
            Some(length) => Self::Known(length),
            None => Self::Unknown,
        }
    }
}

/// Counts what is sent of a body against what was announced.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    /// Bytes that may still be sent; `None`: any number.
    left: Option<u64>,
}

/// Why a connection is given up whose request was not sent whole.
pub(crate) const SHORT: &str = "the request's body ended before its announced length";

impl Meter {
    /// For a body that is announced so.
    #[must_use]
    pub const fn of(length: BodyLength) -> Self {
        let left = match length {
            BodyLength::Nothing => Some(0),
            BodyLength::Known(length) => Some(length),
            BodyLength::Unknown => None,
        };
        Self { left }
    }

    /// Returns how many bytes of a piece may be sent: those that were announced.
    #[must_use]
    pub fn admit(&mut self, length: usize) -> usize {
        let Some(left) = &mut self.left else { return length };
        let admitted = usize::try_from(*left).map_or(length, |left| left.min(length));
        *left -= admitted as u64;
        admitted
    }

    /// Returns whether bytes are missing that were announced.
    #[must_use]
    pub const fn is_short(self) -> bool {
        matches!(self.left, Some(left) if left > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_is_admitted_beyond_the_announced_length() {
        let mut meter = Meter::of(BodyLength::of(Some(5)));
        assert_eq!([3, 4, 1].map(|length| meter.admit(length)), [3, 2, 0]);
        assert!(!meter.is_short());
        assert_eq!(Meter::of(BodyLength::of(Some(0))).admit(514), 0);
        assert_eq!(Meter::of(BodyLength::of(None)).admit(514), 514);
    }

    #[test]
    fn missing_bytes_are_noticed() {
        let mut meter = Meter::of(BodyLength::Known(5));
        let _ = meter.admit(4);
        assert!(meter.is_short());
        assert!(!Meter::of(BodyLength::Unknown).is_short());
    }
}
