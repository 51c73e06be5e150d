//! A servlet container's answer, in whatever pieces its socket delivers.

use crate::{Dice, pieces};
use hostler_ajp::{Answer, Event, Head, LONGEST, Malformed, DEFAULT_PACKET};

/// The parts of an answer that have come.
#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    head: Option<Head>,
    body: Vec<u8>,
    wants: Vec<u16>,
    end: Option<bool>,
}

/// The input is what the container sends.
pub fn target(data: &[u8]) {
    let mut dice = Dice::of(data);
    let most = if dice.one_in(2) { DEFAULT_PACKET } else { LONGEST };
    let new = if dice.one_in(4) { Answer::after_cping } else { Answer::new };
    let whole = hear(new(most), std::iter::once(data));
    let split = hear(new(most), pieces(data, &mut dice));
    assert_eq!(whole, split, "at once and in pieces");
    if let Ok(heard) = whole {
        assert!(heard.body.len() <= data.len());
        assert!(heard.end.is_none() || heard.head.is_some(), "an answer has a head");
        for (name, value) in heard.head.into_iter().flat_map(|head| head.headers) {
            assert!(!name.is_empty() && !name.contains(&b':'));
            assert!(!value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
        }
    }
}

fn hear<'a>(mut answer: Answer, input: impl Iterator<Item = &'a [u8]>) -> Result<Heard, Malformed> {
    let mut heard = Heard::default();
    for mut piece in input {
        loop {
            let (used, event) = answer.next(piece)?;
            piece = &piece[used..];
            match event {
                Some(Event::Head(head)) => {
                    assert!(heard.head.is_none(), "one head");
                    heard.head = Some(head);
                }
                Some(Event::Body(bytes)) => heard.body.extend_from_slice(bytes),
                Some(Event::Wants(bytes)) => heard.wants.push(bytes),
                Some(Event::End { reuse }) => {
                    assert!(heard.end.is_none(), "a request ends once");
                    heard.end = Some(reuse);
                }
                Some(Event::Flush | Event::CPong) => {}
                None => break,
            }
        }
        assert!(piece.is_empty(), "all is used up");
    }
    Ok(heard)
}
