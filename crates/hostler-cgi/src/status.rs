//! The `Status` field of a CGI response (RFC 3875 §6.3.3), read as Apache reads it.

/// A status that a program has set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// 200 to 999.
    pub code: u16,
    /// The program's own reason phrase, without control characters; `None`: the server's phrase for the code.
    pub reason: Option<Vec<u8>>,
}

impl Status {
    /// A `Status` value: digits, then a space and the reason. A line that does not begin with exactly three
    /// digits keeps its number and loses its reason. `None`: not a status at all (`99`, `abc`, `1000`); a
    /// final answer can't have 1xx either.
    #[must_use]
    pub fn parse(value: &[u8]) -> Option<Self> {
        let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = value[..digits]
            .iter()
            .try_fold(0_u16, |n, digit| n.checked_mul(10)?.checked_add(u16::from(digit - b'0')));
        let code = number.filter(|code| (200..=999).contains(code))?;
        let own = digits == 3 && value.get(3).is_some_and(|byte| matches!(byte, b' ' | b'\t'));
        let reason = if own { value.get(4..).filter(|text| !text.iter().any(is_control)) } else { None };
        Some(Self { code, reason: reason.map(<[u8]>::to_vec) })
    }
}

fn is_control(byte: &u8) -> bool {
    byte.is_ascii_control() && *byte != b'\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(value: &str) -> Option<(u16, Option<String>)> {
        Status::parse(value.as_bytes())
            .map(|s| (s.code, s.reason.map(|r| String::from_utf8_lossy(&r).into_owned())))
    }

    /// Each line was compared with Apache 2.4.71.
    #[test]
    fn statuses_are_apaches() {
        assert_eq!(parse("404 Nowhere"), Some((404, Some("Nowhere".into()))));
        assert_eq!(parse("404   Spaces  "), Some((404, Some("  Spaces  ".into()))));
        assert_eq!(parse("404"), Some((404, None)));
        assert_eq!(parse("404Foo"), Some((404, None)));
        assert_eq!(parse("999 Foo"), Some((999, Some("Foo".into()))));
        for invalid in ["99", "abc", "1000 x", "", "-200", "99999999999"] {
            assert_eq!(parse(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn an_interim_status_is_none_and_controls_cost_the_reason() {
        assert_eq!(parse("100 Continue"), None);
        assert_eq!(parse("200 a\u{1}b"), Some((200, None)));
    }
}
