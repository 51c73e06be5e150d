//! The head of an answer of another server, which is sent on.

use hostler_http1::answer::{BadLine, Limits, parse};
use hostler_http1::head::is_token;

/// The input is what the server says.
pub fn target(data: &[u8]) {
    for bad_line in [BadLine::Refuse, BadLine::Skip, BadLine::Body] {
        let limits = Limits { bad_line, ..Limits::default() };
        let Ok(Some(head)) = parse(data, &limits) else { continue };
        assert!((100..=999).contains(&head.status) && head.length <= data.len());
        for (name, value) in &head.fields {
            let (name, value) = (name.of(data), value.of(data));
            assert!(!name.is_empty() && name.iter().copied().all(is_token));
            // A line's end is there only where the value goes on.
            let ends = value.iter().enumerate().filter(|(_, b)| **b == b'\n');
            ends.for_each(|(at, _)| assert!(matches!(value.get(at + 1), Some(b' ' | b'\t'))));
            assert!(!value.contains(&0));
        }
        if bad_line != BadLine::Body {
            let again = parse(&data[..head.length], &limits).ok().flatten();
            assert_eq!(again.map(|again| again.length), Some(head.length));
        }
        for to_head in [false, true] {
            let _ = head.body(data, to_head);
        }
    }
}
