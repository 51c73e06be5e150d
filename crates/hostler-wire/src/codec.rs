//! Fields of messages, one after the other: `u8`, `u16`, `u32`, `u64` (little endian), byte strings with a `u32` length
//! before them, and lists with a `u32` count before them. An absent string has the length `u32::MAX`. `docs/protocol.md`
//! has it for those who write an engine in another language.

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

    /// A truth: a byte, 1 or 0.
    pub fn bool(&mut self, value: bool) {
        self.u8(u8::from(value));
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

    /// Text that may be absent.
    pub fn optional_text(&mut self, value: Option<&str>) {
        self.optional(value.map(str::as_bytes));
    }

    /// A list.
    pub fn list<T>(&mut self, all: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.u32(all.len() as u32);
        all.iter().for_each(|one| each(self, one));
    }

    /// Texts.
    pub fn texts(&mut self, texts: &[String]) {
        self.list(texts, |e, text| e.bytes(text.as_bytes()));
    }

    /// Names and values, in the form of [`Self::fields`].
    pub fn pairs(&mut self, pairs: &[(String, String)]) {
        self.list(pairs, |e, (name, value)| {
            e.bytes(name.as_bytes());
            e.bytes(value.as_bytes());
        });
    }

    /// A string of what `write` writes.
    pub fn nested(&mut self, write: impl FnOnce(&mut Encoder<'_>)) {
        let start = self.0.len();
        self.u32(0);
        write(&mut Encoder(self.0));
        let length = (self.0.len() - start - 4) as u32;
        self.0[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }
}

/// Reads fields.
#[derive(Clone, Copy, Debug)]
pub struct Decoder<'a>(pub &'a [u8]);

impl<'a> Decoder<'a> {
    /// So many bytes.
    ///
    /// # Errors
    /// See [`Self::u8`].
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// # Errors
    /// [`Malformed`]: the message is over; so for all that follow.
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    /// # Errors
    /// See [`Self::u8`].
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    /// # Errors
    /// See [`Self::u8`].
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// # Errors
    /// See [`Self::u8`].
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
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

    /// # Errors
    /// See [`Self::u8`]; a byte that is neither 0 nor 1.
    pub fn bool(&mut self) -> Result<bool, Malformed> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }

    /// # Errors
    /// See [`Self::u8`]; an absent string, or one that is not UTF-8.
    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        self.bytes().and_then(|bytes| std::str::from_utf8(bytes).map_err(|_| Malformed))
    }

    /// # Errors
    /// See [`Self::text`].
    pub fn string(&mut self) -> Result<String, Malformed> {
        self.text().map(str::to_owned)
    }

    /// # Errors
    /// See [`Self::u8`]; a string that is not UTF-8.
    pub fn optional_text(&mut self) -> Result<Option<&'a str>, Malformed> {
        self.optional()?.map(|bytes| std::str::from_utf8(bytes).map_err(|_| Malformed)).transpose()
    }

    /// A list of what takes `least` bytes each, at least.
    ///
    /// # Errors
    /// See [`Self::u8`]; a count of more than there can be.
    pub fn list<T>(
        &mut self,
        least: usize,
        mut each: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let count = self.u32()? as usize;
        // A lie about the number allocates nothing.
        if count > self.0.len() / least {
            return Err(Malformed);
        }
        (0..count).map(|_| each(self)).collect()
    }

    /// # Errors
    /// See [`Self::text`].
    pub fn texts(&mut self) -> Result<Vec<String>, Malformed> {
        self.list(4, Self::string)
    }

    /// # Errors
    /// See [`Self::text`].
    pub fn pairs(&mut self) -> Result<Vec<(String, String)>, Malformed> {
        self.list(8, |d| Ok((d.string()?, d.string()?)))
    }

    /// Nothing may be left over.
    ///
    /// # Errors
    /// [`Malformed`] if something is.
    pub fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_one_after_the_other() {
        let mut out = Vec::new();
        let mut e = Encoder(&mut out);
        e.bool(true);
        e.u16(0x0102);
        e.bytes(b"ab");
        e.optional_text(None);
        e.texts(&["x".to_owned()]);
        e.nested(|e| e.u8(7));
        assert_eq!(
            out,
            [
                1, 2, 1, 2, 0, 0, 0, b'a', b'b', 255, 255, 255, 255, 1, 0, 0, 0, 1, 0, 0, 0, b'x', 1, 0, 0,
                0, 7
            ]
        );
        let mut d = Decoder(&out);
        assert_eq!(
            (d.bool(), d.u16(), d.text(), d.optional_text()),
            (Ok(true), Ok(0x0102), Ok("ab"), Ok(None))
        );
        assert_eq!((d.texts(), d.bytes()), (Ok(vec!["x".to_owned()]), Ok(&[7][..])));
        assert_eq!(d.end(), Ok(()));
    }

    #[test]
    fn lies_are_refused_before_anything_is_allocated() {
        assert_eq!(Decoder(&[255, 255, 255, 254]).texts(), Err(Malformed));
        assert_eq!(Decoder(&[2, 0, 0, 0, 0, 0, 0, 0]).texts(), Err(Malformed));
        assert_eq!(Decoder(&[1, 0, 0, 0, 255]).text(), Err(Malformed));
        assert_eq!(Decoder(&[2]).bool(), Err(Malformed));
    }
}
