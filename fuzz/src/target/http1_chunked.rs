//! A chunked body, in whatever pieces the network delivers.

use hostler_http1::chunked::{ChunkError, Decoder, Step};
use hostler_http1::head::Limits;
use crate::{Dice, pieces};

/// The input is what a client sends after the head.
pub fn target(data: &[u8]) {
    let mut dice = Dice::of(data);
    let whole = run(std::iter::once(data));
    let split = run(pieces(data, &mut dice));
    match (&whole, &split) {
        (Ok(whole), Ok(split)) => assert_eq!(whole, split),
        (Err(_), Err(_)) => {}
        _ => panic!("at once: {whole:?}; in pieces: {split:?}"),
    }
}

/// The body, and what follows it if it ends.
fn run<'a>(input: impl Iterator<Item = &'a [u8]>) -> Result<(Vec<u8>, Option<Vec<u8>>), ChunkError> {
    let (mut decoder, mut pending, mut body) = (Decoder::new(Limits::default()), Vec::new(), Vec::new());
    let mut rest: Option<Vec<u8>> = None;
    for piece in input {
        if let Some(rest) = &mut rest {
            rest.extend_from_slice(piece);
            continue;
        }
        pending.extend_from_slice(piece);
        while rest.is_none() {
            match decoder.step(&pending)? {
                Step::Data { skip, data } => {
                    assert!(data > 0);
                    body.extend_from_slice(&pending[skip..skip + data]);
                    drop(pending.drain(..skip + data));
                }
                Step::More { skip } => {
                    drop(pending.drain(..skip));
                    break;
                }
                Step::End { skip } => {
                    assert!(decoder.is_done());
                    rest = Some(pending.split_off(skip));
                }
            }
        }
    }
    Ok((body, rest))
}
