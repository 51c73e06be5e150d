//! Numbers at places of a file, in the machine's byte order; none of them is taken on trust.

use crate::Error;

/// `length` bytes from `at` on.
pub(crate) fn slice(bytes: &[u8], at: u64, length: u64) -> Result<&[u8], Error> {
    let end = at.checked_add(length).ok_or(Error::Damaged)?;
    let range =
        usize::try_from(at).map_err(|_| Error::Damaged)?..usize::try_from(end).map_err(|_| Error::Damaged)?;
    bytes.get(range).ok_or(Error::Damaged)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Error> {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk::<N>());
    found.copied().ok_or(Error::Damaged)
}

pub(crate) fn u16(bytes: &[u8], at: usize) -> Result<u16, Error> {
    array(bytes, at).map(u16::from_ne_bytes)
}

pub(crate) fn u32(bytes: &[u8], at: usize) -> Result<u32, Error> {
    array(bytes, at).map(u32::from_ne_bytes)
}

pub(crate) fn u64(bytes: &[u8], at: usize) -> Result<u64, Error> {
    array(bytes, at).map(u64::from_ne_bytes)
}

/// Bytes that a file may still be asked for. Nothing in an honest file belongs to two things, so all together have no
/// more than the file; without a bound, things that overlap would take a time far beyond its size.
pub(crate) struct Room(u64);

impl Room {
    pub(crate) fn of(file: &[u8]) -> Self {
        Self(file.len() as u64)
    }

    pub(crate) fn take(&mut self, length: u64) -> Result<(), Error> {
        self.0 = self.0.checked_sub(length).ok_or(Error::Damaged)?;
        Ok(())
    }
}
