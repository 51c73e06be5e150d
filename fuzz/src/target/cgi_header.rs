//! The header of a CGI program's answer, in whatever pieces the pipe delivers.

use crate::{Dice, pieces};
use hostler_cgi::{Header, HeaderError, HeaderParser, Limits, Progress};

/// The input is what the program writes.
pub fn target(data: &[u8]) {
    let mut dice = Dice::of(data);
    let small = Limits { line: 64, block: 300, lines: 12 };
    let limits = if dice.one_in(2) { small } else { Limits::default() };
    let whole = run(limits, std::iter::once(data));
    let split = run(limits, pieces(data, &mut dice));
    // Of two limits that are exceeded, either may show first.
    assert!(whole == split || (whole.is_err() && split.is_err()), "at once: {whole:?}; in pieces: {split:?}");
    if let Ok((header, _)) = &whole {
        check(header);
    }
}

/// The header and how many bytes it takes.
fn run<'a>(limits: Limits, input: impl Iterator<Item = &'a [u8]>) -> Result<(Header, usize), HeaderError> {
    let mut parser = HeaderParser::new(limits);
    let mut taken = 0;
    for piece in input {
        match parser.parse(piece) {
            Progress::More => taken += piece.len(),
            Progress::Complete { consumed } => return Ok((parser.into_header(), taken + consumed)),
            Progress::Failed(error) => {
                let _ = error.to_string();
                return Err(error);
            }
        }
    }
    Err(parser.ended())
}

/// Nothing that could end a line of an answer, or begin another one.
fn check(header: &Header) {
    let text = [&header.content_type, &header.location, &header.etag, &header.content_range];
    let fields = header.fields.iter().map(|(_, value)| value);
    for value in text.into_iter().flatten().chain(fields) {
        assert!(!value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')), "{value:?}");
    }
    for (name, _) in &header.fields {
        assert!(!name.is_empty() && name.iter().all(u8::is_ascii_graphic), "{name:?}");
        assert!(!name.eq_ignore_ascii_case(b"transfer-encoding"));
    }
    if let Some(status) = &header.status {
        assert!((100..=999).contains(&status.code), "{status:?}");
    }
}
