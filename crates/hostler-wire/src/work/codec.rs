//! Fields of messages, one after the other.

/// A message that is not one of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed message")]
pub struct Malformed;

/// Names and values, as in a header.
pub type Fields<'a> = Vec<(&'a [u8], &'a [u8])>;

/// Length that stands for an absent string.
const ABSENT: u32 = u32::MAX;

/// Writes fields.
#[derive(Debug)]
pub struct Encoder<'a>(pub &'a mut Vec<u8>);

impl Encoder<'_> {
    /// A byte.
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    /// Two bytes.
    pub fn u16(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Four bytes.
    pub fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Eight bytes.
    pub fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// A string.
    pub fn bytes(&mut self, value: &[u8]) {
        self.u32(value.len() as u32);
        self.0.extend_from_slice(value);
    }

    /// A string that may be absent.
    pub fn optional(&mut self, value: Option<&[u8]>) {
        match value {
            Some(value) => self.bytes(value),
            None => self.u32(ABSENT),
        }
    }

    /// A table.
    pub fn fields(&mut self, fields: &[(&[u8], &[u8])]) {
        self.u32(fields.len() as u32);
        for (name, value) in fields {
            self.bytes(name);
            self.bytes(value);
        }
    }

    /// Writes a message: its head, and what `body` writes.
    pub fn message(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Encoder<'_>)) {
        let start = out.len();
        super::put_head(out, kind, 0);
        body(&mut Encoder(out));
        let length = (out.len() - start - super::HEAD) as u32;
        out[start + 4..start + super::HEAD].copy_from_slice(&length.to_le_bytes());
    }
}

/// Reads fields.
#[derive(Clone, Copy, Debug)]
pub struct Decoder<'a>(pub &'a [u8]);

impl<'a> Decoder<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// # Errors
    /// [`Malformed`]: the message is over; so for all that follow.
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.take().map(|[byte]| byte)
    }

    /// # Errors
    /// See [`Self::u8`].
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.take().map(u16::from_le_bytes)
    }

    /// # Errors
    /// See [`Self::u8`].
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_le_bytes)
    }

    /// # Errors
    /// See [`Self::u8`].
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.take().map(u64::from_le_bytes)
    }

    /// # Errors
    /// See [`Self::u8`]; an absent string.
    pub fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        self.optional()?.ok_or(Malformed)
    }

    /// # Errors
    /// See [`Self::u8`].
    pub fn optional(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        let length = self.u32()?;
        if length == ABSENT {
            return Ok(None);
        }
        let (taken, rest) = self.0.split_at_checked(length as usize).ok_or(Malformed)?;
        self.0 = rest;
        Ok(Some(taken))
    }

    /// # Errors
    /// See [`Self::u8`].
    pub fn fields(&mut self) -> Result<Fields<'a>, Malformed> {
        let count = self.u32()? as usize;
        // Each field takes eight bytes at least: a lie about the number allocates nothing.
        if count > self.0.len() / 8 {
            return Err(Malformed);
        }
        let mut fields = Vec::with_capacity(count);
        for _ in 0..count {
            fields.push((self.bytes()?, self.bytes()?));
        }
        Ok(fields)
    }

    /// Nothing may be left over.
    ///
    /// # Errors
    /// [`Malformed`] if something is.
    pub fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed) }
    }
}
