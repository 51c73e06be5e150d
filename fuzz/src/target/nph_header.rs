//! The header of an `nph-` program's answer.

use crate::{Dice, pieces};
use hostler_cgi::{HeaderError, Limits, NphHeader, NphParser, Progress};

/// The input is what the program writes.
pub fn target(data: &[u8]) {
    let mut dice = Dice::of(data);
    let limits = Limits { line: 64, block: 300, lines: 12 };
    let whole = run(limits, std::iter::once(data));
    let split = run(limits, pieces(data, &mut dice));
    // Of two limits that are exceeded, either may show first.
    assert!(whole == split || (whole.is_err() && split.is_err()), "at once: {whole:?}; in pieces: {split:?}");
    if let Ok((header, _)) = whole {
        assert!((200..=999).contains(&header.code), "{header:?}");
    }
}

fn run<'a>(limits: Limits, input: impl Iterator<Item = &'a [u8]>) -> Result<(NphHeader, usize), HeaderError> {
    let mut parser = NphParser::new(limits);
    let mut taken = 0;
    for piece in input {
        match parser.parse(piece) {
            Progress::More => taken += piece.len(),
            Progress::Complete { consumed } => return Ok((parser.into_header(), taken + consumed)),
            Progress::Failed(error) => return Err(error),
        }
    }
    Err(parser.ended())
}
