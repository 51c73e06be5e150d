//! Messages of a worker of an ASGI application, in whatever pieces its socket delivers.

use crate::{Dice, pieces};
use hostler_python_frames::asgi::{Answer, Head, Malformed, WorkerFrame};

/// The parts of an answer that have come.
#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    heads: Vec<(char, Head)>,
    body: Vec<u8>,
    texts: Vec<Vec<u8>>,
    end: Option<bool>,
}

/// The input is what the worker sends.
pub fn target(data: &[u8]) {
    let mut dice = Dice::of(data);
    let whole = hear(std::iter::once(data));
    let split = hear(pieces(data, &mut dice));
    assert_eq!(whole, split, "at once and in pieces");
    let Ok(heard) = whole else { return };
    let texts: usize = heard.texts.iter().map(Vec::len).sum();
    assert!(heard.body.len() + texts <= data.len());
    let fields = heard.heads.iter().flat_map(|(_, head)| &head.fields);
    for (name, value) in fields {
        assert!(!name.is_empty() && !name.contains(&b':') && !name.contains(&b' '), "{name:?}");
        assert!(!value.contains(&b'\n') && !value.contains(&b'\r') && !value.contains(&0), "{value:?}");
    }
    let answers = heard.heads.iter().filter(|(kind, _)| matches!(kind, 'H' | 'A'));
    assert!(answers.count() <= 1, "there is one answer");
}

fn hear<'a>(input: impl Iterator<Item = &'a [u8]>) -> Result<Heard, Malformed> {
    let (mut answer, mut heard) = (Answer::default(), Heard::default());
    for mut piece in input {
        while !piece.is_empty() {
            let (used, said) = answer.next(piece)?;
            piece = &piece[used..];
            match said {
                Some(WorkerFrame::Head(head)) => heard.heads.push(('H', head)),
                Some(WorkerFrame::Accepted(head)) => heard.heads.push(('A', head)),
                Some(WorkerFrame::Early(head)) => heard.heads.push(('I', head)),
                Some(WorkerFrame::Trailers(head)) => heard.heads.push(('T', head)),
                Some(WorkerFrame::Body(bytes)) => heard.body.extend_from_slice(bytes),
                Some(WorkerFrame::Log(text) | WorkerFrame::Failed(text)) => heard.texts.push(text),
                Some(WorkerFrame::Alive | WorkerFrame::BodyWanted) => {}
                Some(WorkerFrame::Goodbye) => heard.end = Some(false),
                Some(WorkerFrame::End { stays }) => heard.end = Some(stays),
                None => assert!(piece.is_empty(), "all is used up"),
            }
        }
    }
    assert_eq!(answer.is_over(), heard.end == Some(true));
    Ok(heard)
}
