//! A file that the front is to send in place of a worker (`wsgi.file_wrapper`): the worker says which, and is told whether it
//! will be.

use hostler_wire::codec::{Decoder, Encoder, Malformed};

/// A piece of a file, to the end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File<'a> {
    /// Its place.
    pub path: &'a [u8],
    /// The file's identity, against another one that may be at the path meanwhile.
    pub device: u64,
    /// The same.
    pub inode: u64,
    /// The start of the piece, in bytes.
    pub offset: u64,
    /// Its length.
    pub length: u64,
}

/// The reply to the worker: the front sends the file, or the worker has to send it itself.
pub const TAKEN: &[u8] = &[1];
/// The other answer.
pub const LEFT: &[u8] = &[0];

impl<'a> File<'a> {
    /// Writes it.
    pub fn encode(&self, e: &mut Encoder<'_>) {
        [self.device, self.inode, self.offset, self.length].into_iter().for_each(|number| e.u64(number));
        e.bytes(self.path);
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`Malformed`], also when bytes are left over.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut d = Decoder(bytes);
        let (device, inode, offset, length) = (d.u64()?, d.u64()?, d.u64()?, d.u64()?);
        let file = Self { path: d.bytes()?, device, inode, offset, length };
        d.end().map(|()| file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_comes_back() {
        let file = File { path: b"/srv/film", device: 1, inode: 2, offset: 3, length: 4 };
        let mut bytes = Vec::new();
        file.encode(&mut Encoder(&mut bytes));
        assert_eq!(File::decode(&bytes), Ok(file));
        bytes.push(0);
        assert_eq!(File::decode(&bytes), Err(Malformed));
    }
}
