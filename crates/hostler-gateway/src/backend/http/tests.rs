use super::*;

/// Reads a response that arrives in pieces of so many bytes.
fn read(text: &[u8], piece: usize, asked: RequestFacts) -> Result<(Vec<String>, bool), String> {
    let mut answer = Answer::to(asked, Limits::default());
    let (mut bytes, mut said, mut body) = (BytesMut::new(), Vec::new(), Vec::new());
    for part in text.chunks(piece) {
        bytes.extend_from_slice(part);
        while let Some(event) = answer.next(&mut bytes).map_err(|error| error.to_string())? {
            match event {
                Event::Interim(head) => said.push(format!("interim {}", head.head.status)),
                Event::Head(head) => said.push(format!("head {}", head.head.status)),
                Event::Body(piece) => body.extend_from_slice(&piece),
                Event::Trailers(fields) => said.push(format!("{fields:?}")),
                Event::End => said.push(String::from_utf8(std::mem::take(&mut body)).unwrap()),
                Event::Upgraded => said.push("upgraded".to_owned()),
            }
        }
    }
    let keeps = answer.keeps() && bytes.is_empty();
    if answer.closed() {
        said.push(format!("{} until closed", String::from_utf8(body).unwrap()));
    }
    Ok((said, keeps))
}

fn all(text: &str, asked: RequestFacts) -> Result<(Vec<String>, bool), String> {
    let whole = read(text.as_bytes(), text.len(), asked);
    for piece in 1..text.len() {
        let (one, other) = (read(text.as_bytes(), piece, asked), &whole);
        // Whether bytes behind the end are seen before the end is told is a matter of pieces.
        assert_eq!(
            one.map(|(said, _)| said).ok(),
            other.clone().map(|(said, _)| said).ok(),
            "{piece}: {text:?}"
        );
    }
    whole
}

#[test]
fn answers_are_the_same_however_they_come() {
    let plain = RequestFacts::default();
    for (text, said, keeps) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", &["head 200", "hello"][..], true),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nA: b\r\n\r\n",
            &["head 200", r#"[(b"A", b"b")]"#, "hello"],
            true,
        ),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
            &["interim 100", "interim 103", "head 204", ""],
            true,
        ),
        ("HTTP/1.1 200 OK\r\n\r\nhello", &["head 200", "hello until closed"], false),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", &["head 200", "hi"], false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &["head 200", ""], true),
    ] {
        let (found, kept) = all(text, plain).unwrap();
        assert_eq!(
            (found.iter().map(String::as_str).collect::<Vec<_>>(), kept),
            (said.to_vec(), keeps),
            "{text:?}"
        );
    }
}

#[test]
fn a_connection_is_not_used_again_after_bytes_behind_the_end() {
    let (said, keeps) = read(
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n",
        99,
        RequestFacts::default(),
    )
    .unwrap();
    assert_eq!((said[1].as_str(), keeps), ("hi", false));
}

#[test]
fn a_head_request_s_answer_has_no_body() {
    let asked = RequestFacts { head: true, ..RequestFacts::default() };
    let (said, keeps) = all("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", asked).unwrap();
    assert_eq!((said.len(), keeps), (2, true));
}

#[test]
fn another_protocol_begins_only_where_it_was_asked_for() {
    let text = "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n";
    assert!(all(text, RequestFacts::default()).is_err());
    let (said, keeps) = all(text, RequestFacts { upgrades: true, ..RequestFacts::default() }).unwrap();
    assert_eq!((said, keeps), (vec!["head 101".to_owned(), "upgraded".to_owned()], false));
}

#[test]
fn what_is_malformed_is_told() {
    for (text, why) in [
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "chunk's size"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhix", "CR LF"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "chunk's size"),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "Content-Length"),
        ("hello, I am no server", "hello, I am"),
    ] {
        let error = read(text.as_bytes(), text.len(), RequestFacts::default()).unwrap_err();
        assert!(error.contains(why), "{text:?}: {error}");
    }
    assert!(read(&b"HTTP/1.1 100 Continue\r\n\r\n".repeat(40), 9999, RequestFacts::default()).is_err());
}

#[test]
fn bodies_are_sent_as_the_head_says() {
    let whole = |sending: Sending| {
        let pieces: Vec<u8> = sending.piece(Bytes::from_static(b"hello, world!!!!")).concat();
        String::from_utf8([&pieces[..], &sending.end()].concat()).unwrap()
    };
    assert_eq!(whole(Sending::Length(16)), "hello, world!!!!");
    assert_eq!(whole(Sending::Chunked), "10\r\nhello, world!!!!\r\n0\r\n\r\n");
}
