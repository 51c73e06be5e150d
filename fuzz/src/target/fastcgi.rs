//! A FastCGI application's answer, in whatever pieces its socket delivers.

use crate::{Dice, pieces};
use hostler_fastcgi::{Answer, Event, Malformed, Pairs, ProtocolStatus, pair};

/// The parts of an answer that have come.
#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    end: Option<(u32, ProtocolStatus)>,
}

/// The input is what the application sends, and name-value pairs.
pub fn target(data: &[u8]) {
    let mut dice = Dice::of(data);
    let whole = hear(std::iter::once(data));
    let split = hear(pieces(data, &mut dice));
    assert_eq!(whole, split, "at once and in pieces");
    if let Ok(heard) = whole {
        assert!(heard.stdout.len() + heard.stderr.len() <= data.len());
    }
    if let Ok(known) = Pairs::of(data).collect::<Result<Vec<_>, Malformed>>() {
        let mut again = Vec::new();
        for (name, value) in &known {
            assert!(pair(name, value, &mut again).is_ok());
        }
        // A length that one byte holds may have come in four.
        assert!(again.len() <= data.len());
        assert_eq!(Pairs::of(&again).collect::<Result<Vec<_>, Malformed>>(), Ok(known));
    }
}

fn hear<'a>(input: impl Iterator<Item = &'a [u8]>) -> Result<Heard, Malformed> {
    let (mut answer, mut heard) = (Answer::to(1), Heard::default());
    for mut piece in input {
        loop {
            let (used, event) = answer.next(piece)?;
            piece = &piece[used..];
            match event {
                Some(Event::Stdout(bytes)) => heard.stdout.extend_from_slice(bytes),
                Some(Event::Stderr(bytes)) => heard.stderr.extend_from_slice(bytes),
                Some(Event::End { app_status, protocol_status }) => {
                    assert!(heard.end.is_none(), "a request ends once");
                    heard.end = Some((app_status, protocol_status));
                }
                None => break,
            }
        }
        assert!(piece.is_empty(), "all is used up");
    }
    Ok(heard)
}
