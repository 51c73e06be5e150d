//! A file that a site's process has opened: its pieces, and for small ones its content, read once.

use crate::io::body::BodyError;
use crate::values::extensions::Extensions;
use bytes::Bytes;
use hostler_wire::site::FileInfo;
use std::cell::OnceCell;
use std::os::fd::OwnedFd;

/// Files up to this size are kept in memory, in bytes.
pub(crate) const SMALL: u64 = 64 << 10;

/// A file opened by its site's process.
#[derive(Debug)]
pub(crate) struct OpenFile {
    descriptor: OwnedFd,
    pub(crate) info: FileInfo,
    content: OnceCell<Bytes>,
    /// Data derived from it; dropped with it when the file changes.
    pub(crate) extensions: Extensions,
}

impl OpenFile {
    pub(crate) fn new(descriptor: OwnedFd, info: FileInfo) -> Self {
        Self { descriptor, info, content: OnceCell::new(), extensions: Extensions::default() }
    }

    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.descriptor
    }

    /// Up to `length` bytes from `offset` on; never empty.
    pub(crate) fn read(&self, offset: u64, length: usize) -> Result<Bytes, BodyError> {
        let mut piece = Vec::with_capacity(length);
        let spare = rustix::buffer::spare_capacity(&mut piece);
        match rustix::io::pread(&self.descriptor, spare, offset) {
            Ok(0) => Err(BodyError::Truncated),
            Ok(_) => Ok(piece.into()),
            Err(error) => Err(BodyError::Read(error.to_string())),
        }
    }

    /// The whole content of a small file, read once. `None`: it is large, or changed while it was read.
    pub(crate) fn content(&self) -> Option<Bytes> {
        if let Some(content) = self.content.get() {
            return Some(content.clone());
        }
        if self.info.size > SMALL {
            return None;
        }
        let mut content = Vec::with_capacity(self.info.size as usize);
        while (content.len() as u64) < self.info.size {
            let left = self.info.size as usize - content.len();
            content.extend_from_slice(&self.read(content.len() as u64, left).ok()?);
        }
        let content = Bytes::from(content);
        let _ = self.content.set(content.clone());
        Some(content)
    }

    /// All of a file of so many bytes; `None` if it is shorter, or can't be read. For threads that may wait.
    pub(crate) fn whole(descriptor: &OwnedFd, size: u64) -> Option<Vec<u8>> {
        let mut text = vec![0; usize::try_from(size).ok()?];
        let mut done = 0;
        while done < text.len() {
            match rustix::io::pread(descriptor, &mut text[done..], done as u64) {
                Ok(0) | Err(_) => return None,
                Ok(count) => done += count,
            }
        }
        Some(text)
    }
}
