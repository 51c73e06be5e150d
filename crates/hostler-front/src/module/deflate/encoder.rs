//! The compressors: bytes in, whatever has come out so far taken from them.

use super::Coding;
use crate::request::Request;
use brotli::CompressorWriter;
use bytes::Bytes;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use std::io::{self, Write};

/// All that a compressed copy depends on but for the plain bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    pub(super) coding: Coding,
    /// DeflateCompressionLevel, BrotliCompressionQuality.
    quality: u32,
    /// BrotliCompressionWindow, as a power of 2.
    window: u32,
}

impl Recipe {
    pub(super) fn of(request: &Request, coding: Coding) -> Self {
        let conf = &request.server.conf.filter;
        match coding {
            Coding::Gzip => Self { coding, quality: conf.deflate_level.unwrap_or(6), window: 0 },
            Coding::Brotli => {
                let (quality, window) = (conf.brotli_quality, conf.brotli_window);
                Self { coding, quality: quality.unwrap_or(5), window: window.unwrap_or(18) }
            }
        }
    }
}

/// A compressor at work.
pub(super) enum Encoder {
    Gzip(Box<GzEncoder<Vec<u8>>>),
    Brotli(Box<CompressorWriter<Vec<u8>>>),
}

/// Bytes that the brotli compressor hands on at once.
const BROTLI_BUFFER: usize = 8 << 10;

/// "Unix" in a gzip header (RFC 1952 §2.3.1), as mod_deflate writes it.
const UNIX: u8 = 3;

impl Encoder {
    pub(super) fn new(recipe: Recipe) -> Self {
        let (quality, window) = (recipe.quality, recipe.window);
        match recipe.coding {
            Coding::Gzip => {
                let builder = GzBuilder::new().operating_system(UNIX);
                Self::Gzip(Box::new(builder.write(Vec::new(), Compression::new(quality))))
            }
            Coding::Brotli => {
                Self::Brotli(Box::new(CompressorWriter::new(Vec::new(), BROTLI_BUFFER, quality, window)))
            }
        }
    }

    pub(super) fn write(&mut self, plain: &[u8]) -> io::Result<()> {
        match self {
            Self::Gzip(encoder) => encoder.write_all(plain),
            Self::Brotli(encoder) => encoder.write_all(plain),
        }
    }

    /// Makes all that was written so far readable for the client.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Gzip(encoder) => encoder.flush(),
            Self::Brotli(encoder) => encoder.flush(),
        }
    }

    /// Takes the output since the last time.
    pub(super) fn take(&mut self) -> Vec<u8> {
        match self {
            Self::Gzip(encoder) => std::mem::take(encoder.get_mut()),
            Self::Brotli(encoder) => std::mem::take(encoder.get_mut()),
        }
    }

    /// Ends the coding; the rest of what comes out.
    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(encoder) => encoder.finish(),
            Self::Brotli(encoder) => Ok(encoder.into_inner()),
        }
    }
}

/// Compresses a whole body.
pub(super) fn all(recipe: Recipe, plain: &[u8]) -> Bytes {
    let mut encoder = Encoder::new(recipe);
    // A vector takes all that is written to it, so neither step can fail.
    let written = encoder.write(plain);
    written.and_then(|()| encoder.finish()).unwrap_or_default().into()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::io::Read;

    pub(in super::super) const GZIP: Recipe = Recipe { coding: Coding::Gzip, quality: 6, window: 0 };
    pub(in super::super) const BROTLI: Recipe = Recipe { coding: Coding::Brotli, quality: 5, window: 18 };

    /// Undoes the coding; what a client could read of `encoded`, even if it has not all of it yet.
    pub(in super::super) fn decoded(coding: Coding, encoded: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        let _ = match coding {
            Coding::Gzip => flate2::read::GzDecoder::new(encoded).read_to_end(&mut plain),
            Coding::Brotli => brotli::Decompressor::new(encoded, 4096).read_to_end(&mut plain),
        };
        plain
    }

    #[test]
    fn both_codings_can_be_undone() {
        let plain: Vec<u8> = (0..100_000u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        for recipe in [GZIP, BROTLI] {
            let encoded = all(recipe, &plain);
            assert!(encoded.len() < plain.len() / 2, "{recipe:?}");
            assert_eq!(decoded(recipe.coding, &encoded), plain, "{recipe:?}");
        }
    }

    #[test]
    fn gzip_begins_as_mod_deflate_writes_it() {
        assert_eq!(all(GZIP, b"x")[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
    }

    #[test]
    fn what_was_flushed_can_be_read() {
        for recipe in [GZIP, BROTLI] {
            let mut encoder = Encoder::new(recipe);
            encoder.write(b"so far").unwrap();
            encoder.flush().unwrap();
            assert_eq!(decoded(recipe.coding, &encoder.take()), b"so far", "{recipe:?}");
        }
    }
}
