use super::*;

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    [&[kind][..], &(payload.len() as u32).to_be_bytes(), payload].concat()
}

fn head_of(status: u16, fields: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut payload = status.to_be_bytes().to_vec();
    payload.extend_from_slice(&(fields.len() as u16).to_be_bytes());
    for (name, value) in fields {
        payload.extend_from_slice(&(name.len() as u16).to_be_bytes());
        payload.extend_from_slice(&(value.len() as u32).to_be_bytes());
        payload.extend_from_slice(name);
        payload.extend_from_slice(value);
    }
    payload
}

/// All that is said in pieces of so many bytes, bodies joined.
fn all(bytes: &[u8], step: usize) -> Result<Vec<String>, Malformed> {
    let (mut answer, mut told, mut whole) = (Answer::default(), Vec::new(), Vec::new());
    for mut piece in bytes.chunks(step) {
        while !piece.is_empty() {
            let (used, said) = answer.next(piece)?;
            piece = &piece[used..];
            match said {
                None => {}
                Some(WorkerFrame::Body(piece)) => whole.extend_from_slice(piece),
                Some(said) => told.push(format!("{said:?}")),
            }
        }
    }
    told.push(String::from_utf8_lossy(&whole).into_owned());
    Ok(told)
}

#[test]
fn an_answer_is_the_same_however_it_comes() {
    let bytes = [
        frame(b'I', &head_of(103, &[(b"link", b"</a>")])),
        frame(b'N', b""),
        frame(b'H', &head_of(200, &[(b"x-own", b"1")])),
        frame(b'B', b"hello "),
        frame(b'L', b"a line"),
        frame(b'B', b""),
        frame(b'B', b"world"),
        frame(b'E', &[1]),
    ]
    .concat();
    let expected = all(&bytes, bytes.len()).unwrap();
    assert_eq!(expected.last().map(String::as_str), Some("hello world"));
    assert_eq!(expected.len(), 6);
    for step in 1..bytes.len() {
        assert_eq!(all(&bytes, step).unwrap(), expected, "in pieces of {step}");
    }
}

#[test]
fn what_breaks_the_rules_is_refused() {
    for (bytes, why) in [
        (frame(b'B', b"x"), "without a head"),
        (frame(b'X', b""), "no known kind"),
        (frame(b'H', &head_of(101, &[])), "no answer"),
        (frame(b'H', &head_of(200, &[(b"a b", b"1")])), "can't stand"),
        (frame(b'H', &head_of(200, &[(b"a", b"1\r\nb: 2")])), "can't stand"),
        (frame(b'H', &[0, 200, 0, 9]), "cut off"),
        (frame(b'H', &[head_of(200, &[]), b"x".to_vec()].concat()), "follows"),
        (frame(b'H', &vec![0; LONGEST_HEAD + 1]), "too long"),
        ([frame(b'E', &[1]), frame(b'E', &[1])].concat(), "after its end"),
        ([frame(b'H', &head_of(200, &[])), frame(b'H', &head_of(200, &[]))].concat(), "second head"),
    ] {
        let error = all(&bytes, bytes.len()).unwrap_err().to_string();
        assert!(error.contains(why), "{error} for {why}");
    }
}

#[test]
fn a_connection_stays_only_if_that_is_said() {
    for (last, stays) in [(1, true), (0, false)] {
        let mut answer = Answer::default();
        let bytes = frame(b'E', &[last]);
        assert_eq!(answer.next(&bytes), Ok((bytes.len(), Some(WorkerFrame::End { stays }))));
        assert_eq!((answer.is_ended(), answer.is_over()), (true, stays));
    }
}

#[test]
fn a_scope_is_written_as_python_writes_its_values() {
    let mut scope = Scope::new(Follows::Body);
    scope.key("type").text("http").key("headers").list(1).tuple(2).bytes(b"a").bytes(b"1");
    scope.key("client").none().key("extensions").dictionary().end().key("port").number(80);
    let expected =
        b"\x01{Z\x04typeu\x04\0\0\0httpZ\x07headers[\x01\0\0\0(\x02\0\0\0s\x01\0\0\0as\x01\0\0\x001\
                     Z\x06clientNZ\x0aextensions{0Z\x04porti\x50\0\0\x000";
    assert_eq!(scope.finish(), frame(b'S', expected));
}
