//! Small texts that every answer needs, without allocation: decimal numbers and HTTP dates.

use std::cell::RefCell;

/// Path and query of a request's target.
pub(crate) fn split(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(b'?', target) {
        Some(at) => (&target[..at], Some(&target[at + 1..])),
        None => (target, None),
    }
}

/// A number as decimal digits.
pub(crate) struct Decimal {
    digits: [u8; 20],
    start: usize,
}

/// `n` in decimal.
pub(crate) fn decimal(mut n: u64) -> Decimal {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            return Decimal { digits, start };
        }
    }
}

impl Decimal {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.digits[self.start..]
    }
}

/// An HTTP date (RFC 9110 §5.6.7), always 29 bytes.
pub(crate) type HttpDate = [u8; 29];

/// `seconds` since the epoch as an HTTP date; times before the epoch are shown as the epoch.
pub(crate) fn http_date(seconds: i64) -> HttpDate {
    thread_local! {
        // Date and Last-Modified of hot files: the same few seconds over and over.
        static LAST: RefCell<(i64, HttpDate)> = const { RefCell::new((i64::MIN, [0; 29])) };
    }
    LAST.with_borrow_mut(|(last, text)| {
        if *last != seconds {
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds.max(0) as u64);
            let formatted = httpdate::fmt_http_date(at);
            text.copy_from_slice(formatted.as_bytes());
            *last = seconds;
        }
        *text
    })
}

/// Replaces percent escapes (RFC 3986 §2.1), except those of bytes that `keeps` names. A percent sign without two digits
/// behind it stays.
pub(crate) fn percent_decoded(text: &[u8], keeps: impl Fn(u8) -> bool) -> Vec<u8> {
    let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let pair = digit(at + 1).zip(digit(at + 2)).filter(|_| *byte == b'%');
        let escaped = pair.map(|(high, low)| (high * 16 + low) as u8).filter(|escaped| !keeps(*escaped));
        out.push(escaped.unwrap_or(*byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_replaced_but_for_those_that_stay() {
        let decoded =
            |text: &str| String::from_utf8(percent_decoded(text.as_bytes(), |byte| byte == b'/')).unwrap();
        assert_eq!(decoded("a%20b%2Fc%2fd%"), "a b%2Fc%2fd%");
        assert_eq!(decoded("%4%41%zz%2"), "%4A%zz%2");
        assert_eq!(percent_decoded(b"%2f", |_| false), b"/");
    }

    #[test]
    fn decimals() {
        for n in [0, 9, 10, u64::MAX] {
            assert_eq!(decimal(n).as_bytes(), n.to_string().as_bytes());
        }
    }

    #[test]
    fn dates() {
        assert_eq!(&http_date(784_111_777), b"Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(&http_date(0), b"Thu, 01 Jan 1970 00:00:00 GMT");
    }
}
