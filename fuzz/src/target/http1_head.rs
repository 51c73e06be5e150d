//! The head of an HTTP/1 request, and what it says about the body.

use hostler_http1::framing;
use hostler_http1::head::{self, HTTP_09, Head, HeadError, Limits, Partial};
use crate::{Dice, pieces};

/// The input is what a client sends.
pub fn target(data: &[u8]) {
    let mut dice = Dice::of(data);
    let small = Limits { line: 40, fields: 5, field_size: 40, ..Limits::default() };
    for mut limits in [Limits::default(), small] {
        limits.strict = !dice.one_in(4);
        let whole = head::parse(data, &limits);
        arrives_in_pieces(data, &whole, &limits, &mut dice);
        match whole {
            Ok(Some(head)) => check(data, &head, &limits, &mut dice),
            Ok(None) => {}
            Err(error) => assert!((400..600).contains(&error.status()), "{error}"),
        }
    }
}

/// The facts about a head go on from piece to piece, to the same end.
fn arrives_in_pieces(data: &[u8], whole: &Result<Option<Head>, HeadError>, limits: &Limits, dice: &mut Dice) {
    let (mut partial, mut come) = (Partial::default(), 0);
    for piece in pieces(data, dice) {
        come += piece.len();
        match (partial.parse(&data[..come], limits), whole) {
            (Ok(None), _) => {}
            (Ok(Some(head)), Ok(Some(whole))) => {
                return assert_eq!((head.length, head.fields.len()), (whole.length, whole.fields.len()));
            }
            (Err(_), Err(_)) => return,
            (split, whole) => panic!("at once: {whole:?}; in pieces: {split:?}"),
        }
    }
    assert!(!matches!(whole, Ok(Some(_))), "it is never complete");
}

fn check(data: &[u8], head: &Head, limits: &Limits, dice: &mut Dice) {
    assert!(head.length <= data.len());
    // Each earlier moment asked for more; what comes later changes nothing.
    let early = head::parse(&data[..dice.below(head.length)], limits);
    assert!(matches!(early, Ok(None)), "{early:?}");
    let exact = head::parse(&data[..head.length], limits);
    assert!(matches!(&exact, Ok(Some(exact)) if exact.length == head.length), "{exact:?}");
    let graphic = |text: &[u8]| !text.is_empty() && text.iter().all(|byte| *byte > b' ' && *byte != 0x7f);
    assert!(graphic(head.method.of(data)) && graphic(head.target.of(data)));
    assert!(head.version == HTTP_09 || limits.fields == 0 || head.fields.len() <= limits.fields);
    for field in &head.fields {
        let name = field.name.of(data);
        assert!(if limits.strict { graphic(name) } else { !name.is_empty() && !name.contains(&b' ') });
        let value = head::unfold(field.value.of(data));
        assert!(!value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')), "{}", value.escape_ascii());
        assert!(field.folded || field.value.of(data) == value.as_slice() || value.len() < field.value.of(data).len());
    }
    if let Err(error) = framing::framing(head, data) {
        assert!((400..600).contains(&error.status()), "{error}");
    }
}
