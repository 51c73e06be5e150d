//! Packets of a container, whole and in pieces.

use super::*;
use proptest::prelude::*;

#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    heads: Vec<Head>,
    body: Vec<u8>,
    wants: Vec<u16>,
    pongs: u32,
    flushes: u32,
    end: Option<bool>,
}

fn hear(mut answer: Answer, pieces: &[&[u8]]) -> Result<Heard, Malformed> {
    let mut heard = Heard::default();
    for piece in pieces {
        let mut rest = *piece;
        loop {
            let (used, event) = answer.next(rest)?;
            rest = &rest[used..];
            match event {
                Some(Event::Head(head)) => heard.heads.push(head),
                Some(Event::Body(bytes)) => heard.body.extend_from_slice(bytes),
                Some(Event::Wants(bytes)) => heard.wants.push(bytes),
                Some(Event::CPong) => heard.pongs += 1,
                Some(Event::Flush) => heard.flushes += 1,
                Some(Event::End { reuse }) => heard.end = Some(reuse),
                None => break,
            }
        }
        assert!(rest.is_empty());
    }
    assert_eq!(answer.is_over(), heard.end == Some(true));
    Ok(heard)
}

fn packet(content: &[u8]) -> Vec<u8> {
    [b"AB", &(content.len() as u16).to_be_bytes()[..], content].concat()
}

const HEAD: &[u8] = b"\x04\0\xc8\0\x02OK\0\0\x02\xa0\x01\0\x09text/html\0\0\x03X-A\0\0\x01b\0";

fn answered() -> Vec<u8> {
    let chunk = |text: &[u8], end: &[u8]| {
        packet(&[b"\x03", &(text.len() as u16).to_be_bytes()[..], text, end].concat())
    };
    let parts = [
        packet(b"\x09"),
        packet(b"\x06\x1f\xfa"),
        packet(HEAD),
        chunk(b"hello ", b"\0"),
        chunk(b"", b"\0"),
        chunk(b"world", b""),
        packet(b"\x05\x01"),
    ];
    parts.concat()
}

fn hear_one(bytes: &[u8]) -> Result<Heard, Malformed> {
    hear(Answer::new(DEFAULT_PACKET), &[bytes])
}

proptest! {
    #[test]
    fn an_answer_is_the_same_wherever_it_is_split(cuts in proptest::collection::vec(0_usize..150, 0..9)) {
        let bytes = answered();
        let mut cuts: Vec<_> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<_> = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
        let heard = hear(Answer::after_cping(DEFAULT_PACKET), &pieces).unwrap();
        let headers = vec![(b"Content-Type".to_vec(), b"text/html".to_vec()), (b"X-A".to_vec(), b"b".to_vec())];
        let heads = vec![Head { status: 200, reason: b"OK".to_vec(), headers }];
        let body = b"hello world".to_vec();
        let expected = Heard { heads, body, wants: vec![8186], pongs: 1, flushes: 1, end: Some(true) };
        prop_assert_eq!(heard, expected);
    }
}

#[test]
fn every_end_before_the_end_is_noticed() {
    let bytes = answered();
    for length in 0..bytes.len() {
        let mut answer = Answer::after_cping(DEFAULT_PACKET);
        let mut rest = &bytes[..length];
        while let (used, Some(_)) = answer.next(rest).unwrap() {
            rest = &rest[used..];
        }
        assert!(!answer.is_over() && !answer.is_ended(), "{length}");
    }
}

#[test]
fn what_no_container_says_is_refused() {
    let order = |kind, when| Err(Malformed::Order { kind, when });
    let head = packet(HEAD);
    let after = |packet: Vec<u8>| [head.clone(), packet].concat();
    assert_eq!(hear_one(b"HTTP/1.1 400"), Err(Malformed::Magic([b'H', b'T'])));
    assert!(hear_one(b"HTT").is_ok());
    assert_eq!(hear_one(b"AB\0\0"), Err(Malformed::Length { length: 0, most: 8188 }));
    assert_eq!(hear_one(b"AB\x1f\xfd"), Err(Malformed::Length { length: 8189, most: 8188 }));
    assert!(hear(Answer::new(LONGEST), &[b"AB\x1f\xfd\x04"]).is_ok());
    assert_eq!(hear_one(&packet(b"\x02")), Err(Malformed::Type(2)));
    assert_eq!(hear_one(&packet(b"\x03\0\0\0")), order(3, "before the answer's head"));
    assert_eq!(hear_one(&packet(b"\x05\x01")), order(5, "before the answer's head"));
    assert_eq!(hear_one(&packet(b"\x09")), order(9, "that nobody has asked for"));
    assert_eq!(hear_one(&after(head.clone())), order(4, "after the answer's head"));
    assert_eq!(
        hear_one(&[answered()[5..].to_vec(), packet(b"\x05\x01")].concat()),
        order(5, "after the end of the answer")
    );
    assert_eq!(hear(Answer::after_cping(DEFAULT_PACKET), &[&head]), order(4, "before the answer to CPing"));
    assert_eq!(hear_one(&after(packet(b"\x03\0\x05abc\0"))), Err(Malformed::Short(3)));
    assert_eq!(hear_one(&after(packet(b"\x03\0\x01abc"))), Err(Malformed::Over { kind: 3, bytes: 2 }));
    assert_eq!(hear_one(&after(packet(b"\x03\0"))), Err(Malformed::Short(3)));
    assert_eq!(hear_one(&after(packet(b"\x05"))), Err(Malformed::Short(5)));
    assert_eq!(hear_one(&after(packet(b"\x05\x01\x01"))), Err(Malformed::Over { kind: 5, bytes: 1 }));
}

#[test]
fn heads_are_what_a_line_of_http_can_hold() {
    let one = |name: &[u8], value: &[u8]| {
        let text = |text: &[u8]| [&(text.len() as u16).to_be_bytes()[..], text, b"\0"].concat();
        hear_one(&packet(&[b"\x04\0\xc8\0\0\0\0\x01", &text(name)[..], &text(value)].concat()))
    };
    assert!(one(b"X", b"a\tb \xff").is_ok());
    for (name, value) in [
        (&b"X"[..], &b"a\r\nSet-Cookie: b"[..]),
        (b"X", b"a\0"),
        (b"X\r\nY", b"a"),
        (b"X Y", b"a"),
        (b"", b"a"),
    ] {
        assert_eq!(one(name, value), Err(Malformed::Field([name, b": ", value].concat())));
    }
    assert_eq!(hear_one(&packet(b"\x04\0\x64\0\0\0\0\0")), Err(Malformed::Status(100)));
    assert_eq!(hear_one(&packet(b"\x04\xff\xff\0\0\0\0\0")), Err(Malformed::Status(0xFFFF)));
    assert_eq!(hear_one(&packet(b"\x04\0\xc8\0\0\0\xff\xff")), Err(Malformed::Short(4)));
    assert_eq!(
        hear_one(&packet(b"\x04\0\xc8\0\0\0\0\x01\xa0\x63\0\0\0")),
        Err(Malformed::Field(vec![0xA0, 0x63]))
    );
    // A null is no text.
    let heard = hear_one(&packet(b"\x04\0\xc8\xff\xff\0\x01\xa0\x0b\xff\xff")).unwrap();
    assert_eq!(heard.heads[0].headers, [(b"WWW-Authenticate".to_vec(), Vec::new())]);
}

#[test]
fn a_connection_that_is_not_to_be_used_again_is_not() {
    let bytes = [packet(HEAD), packet(b"\x05\0")].concat();
    let mut answer = Answer::new(DEFAULT_PACKET);
    let mut rest = &bytes[..];
    while let (used, Some(_)) = answer.next(rest).unwrap() {
        rest = &rest[used..];
    }
    assert!(answer.is_ended() && !answer.is_over());
}
