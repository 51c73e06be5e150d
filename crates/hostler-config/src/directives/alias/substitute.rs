//! `$0` to `$9` in the target of a Match directive.

use hostler_expr::Captures;

/// Replaces `$0` ... `$9` by what a regular expression matched; a backslash takes the meaning from what follows.
#[must_use]
pub fn substitute(template: &[u8], captures: &Captures) -> Vec<u8> {
    let mut out = Vec::with_capacity(template.len() * 2);
    let mut rest = template;
    while let [byte, after @ ..] = rest {
        rest = match (byte, after) {
            (b'$', [digit @ b'0'..=b'9', after @ ..]) => {
                out.extend_from_slice(captures.group(usize::from(digit - b'0')).unwrap_or_default());
                after
            }
            (b'\\', [escaped, after @ ..]) => {
                out.push(*escaped);
                after
            }
            _ => {
                out.push(*byte);
                after
            }
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostler_expr::{Regex, RegexOptions};

    #[test]
    fn groups_are_replaced() {
        let mut captures = Captures::new();
        let regex = Regex::new("/(a+)(x)?/", RegexOptions::default()).unwrap();
        assert!(regex.capture(b"b/aa/c", &mut captures).unwrap());
        for (template, expected) in [
            ("$1", "aa"),
            ("$0$2$9.", "/aa/."),
            ("$x\\$1\\\\$", "$x$1\\$"),
            ("a&b", "a&b"),
            ("end\\", "end\\"),
        ] {
            assert_eq!(String::from_utf8(substitute(template.as_bytes(), &captures)).unwrap(), expected);
        }
    }
}
