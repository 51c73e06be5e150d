//! Response headers; each expectation marked "Apache" was compared with Apache 2.4.71.

use super::*;
use crate::Limits;
use proptest::prelude::*;

fn parse(text: &str) -> Result<Header, HeaderError> {
    let mut parser = HeaderParser::new(Limits::default());
    match parser.parse(text.as_bytes()) {
        Progress::Complete { .. } => Ok(parser.into_header()),
        Progress::More => Err(parser.ended()),
        Progress::Failed(error) => Err(error),
    }
}

fn text(bytes: Option<&[u8]>) -> String {
    String::from_utf8_lossy(bytes.unwrap_or(b"(none)")).into_owned()
}

#[test]
fn fields_of_a_name_are_merged_but_cookies_are_not() {
    let header = parse("X-A:  1 \r\nx-a: 2\nSet-Cookie: a=1\nSet-Cookie: b=2\n\n").unwrap();
    assert_eq!(text(header.field("X-A")), "1 , 2");
    let cookies = header.fields.iter().filter(|(name, _)| name == b"Set-Cookie").count();
    assert_eq!((cookies, header.fields.len()), (2, 3));
}

#[test]
fn the_last_one_wins_for_fields_that_can_only_be_there_once() {
    let header = parse(
        "Status: 404 Nowhere\nStatus: 201 Made\nContent-Type: a/b\nContent-Type: C/D; X=Y \n\
         Location: /a\nLocation: /b\nETag: \"a\"\nETag: \"b\"\nContent-Range: x\n\n",
    )
    .unwrap();
    assert_eq!(header.status, Some(Status { code: 201, reason: Some(b"Made".to_vec()) }));
    assert_eq!(text(header.content_type.as_deref()), "c/d; X=Y");
    assert_eq!(text(header.location.as_deref()), "/b");
    assert_eq!(text(header.etag.as_deref()), "\"b\"");
    assert_eq!(text(header.content_range.as_deref()), "x");
    assert!(header.fields.is_empty());
}

#[test]
fn what_a_program_may_not_say_is_dropped() {
    let header = parse("Transfer-Encoding: chunked\nDate: x\nServer: y\nContent-Length: 2\n\n").unwrap();
    assert!(header.fields.is_empty());
    assert_eq!(text(header.content_length.as_deref()), "2");
    assert_eq!(parse("Content-Type:\n\n").unwrap().content_type, None);
}

#[test]
fn a_status_that_is_none_becomes_500_and_is_noted() {
    for bad in ["99", "abc", "1000 x"] {
        let header = parse(&format!("Status: {bad}\n\n")).unwrap();
        assert_eq!(header.status.map(|s| s.code), Some(500));
        assert!(matches!(header.notes.as_slice(), [Note::InvalidStatus(_)]));
    }
}

#[test]
fn last_modified_is_a_date_or_nothing() {
    for good in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 +0000",
    ] {
        let time = parse(&format!("Last-Modified: {good}\n\n")).unwrap().last_modified.unwrap();
        assert_eq!(time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs(), 784_111_777);
    }
    let header = parse("Last-Modified: bogus\n\n").unwrap();
    assert_eq!(header.last_modified, None);
    assert!(matches!(header.notes.as_slice(), [Note::InvalidLastModified(_)]));
}

#[test]
fn carriage_returns_never_get_through() {
    let header = parse("X-A: a\rb\r\r\n\r\n").unwrap();
    assert_eq!(text(header.field("X-A")), "ab");
    assert_eq!(parse("\n").unwrap(), Header::default());
    assert_eq!(parse("\r\nbody").unwrap(), Header::default());
}

#[test]
fn bad_headers_are_errors() {
    assert_eq!(parse(""), Err(HeaderError::Nothing));
    assert_eq!(parse("Content-Type: text/plain"), Err(HeaderError::Nothing));
    assert_eq!(parse("Content-Type: text/plain\n"), Err(HeaderError::Premature));
    assert_eq!(parse("HTTP/1.1 200 OK\n\n"), Err(HeaderError::NoColon(b"HTTP/1.1 200 OK".to_vec())));
    assert!(matches!(parse("X: a\n folded\n\n"), Err(HeaderError::NoColon(_))));
    assert!(matches!(parse("X: a\n folded: b\n\n"), Err(HeaderError::BadName(_))));
    assert!(matches!(parse("X: a\0b\n\n"), Err(HeaderError::BadValue(_))));
}

#[test]
fn limits_hold() {
    let long = format!("X: {}\n\n", "a".repeat(1 << 20));
    assert!(matches!(parse(&long), Err(HeaderError::LineTooLong { .. })));
    let mut parser = HeaderParser::new(Limits::default());
    let endless = (0..20_000).find(|_| matches!(parser.parse(&[b'a'; 100]), Progress::Failed(_)));
    assert_eq!(endless, Some(655));
    assert!(matches!(parse(&format!("{}\n", "A: b\n".repeat(1000))), Err(HeaderError::BlockTooLong(_))));
    let wide = format!("{}\n", format!("A: {}\n", "x".repeat(60_000)).repeat(20));
    assert!(matches!(parse(&wide), Err(HeaderError::BlockTooLong(_))));
    assert!(parse(&format!("X: {}\n\n", "a".repeat(60_000))).is_ok());
}

#[test]
fn a_parser_that_is_done_takes_no_more() {
    let mut parser = HeaderParser::new(Limits::default());
    assert_eq!(parser.parse(b"A: b\n\nbody"), Progress::Complete { consumed: 6 });
    assert_eq!(parser.parse(b"A: c\n\n"), Progress::Complete { consumed: 0 });
    let mut parser = HeaderParser::new(Limits::default());
    let failed = parser.parse(b"bad\n");
    assert_eq!(parser.parse(b"A: c\n\n"), failed);
    assert_eq!(Progress::Failed(parser.ended()), failed);
}

proptest! {
    #[test]
    fn any_split_gives_the_same(bytes in proptest::collection::vec(
        proptest::sample::select(b"Status: 20\r\n:aX\0,".to_vec()), 0..80), at in 0..80usize) {
        let at = at.min(bytes.len());
        let mut whole = HeaderParser::new(Limits::default());
        let mut split = HeaderParser::new(Limits::default());
        let once = whole.parse(&bytes);
        let twice = match split.parse(&bytes[..at]) {
            Progress::More => match split.parse(&bytes[at..]) {
                Progress::Complete { consumed } => Progress::Complete { consumed: consumed + at },
                other => other,
            },
            other => other,
        };
        prop_assert_eq!(once, twice);
        prop_assert_eq!(whole.into_header(), split.into_header());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut parser = HeaderParser::new(Limits { line: 50, block: 200, lines: 5 });
        parser.parse(&bytes);
        let header = parser.into_header();
        let sent = header.fields.iter().flat_map(|(name, value)| name.iter().chain(value));
        prop_assert!(!sent.into_iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
    }
}
