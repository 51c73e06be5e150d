//! Comparing names as people do, `x9` before `x10` (IndexOptions VersionSort).

use std::cmp::Ordering;

/// Compares names, runs of digits by their value. White space does not count. As in APR, bytes beyond ASCII
/// come first.
pub(super) fn compare(a: &[u8], b: &[u8], ignore_case: bool) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        (a, b) = (a.trim_ascii_start(), b.trim_ascii_start());
        if let ([x, ..], [y, ..]) = (a, b)
            && x.is_ascii_digit()
            && y.is_ascii_digit()
        {
            let fractional = *x == b'0' || *y == b'0';
            let order = if fractional { by_first_difference(a, b) } else { by_value(a, b) };
            if order.is_ne() {
                return order;
            }
        }
        let order = rank(a, ignore_case).cmp(&rank(b, ignore_case));
        if order.is_ne() || a.is_empty() {
            return order;
        }
        (a, b) = (&a[1..], &b[1..]);
    }
}

/// The first byte as a signed number; the end of the text counts as NUL.
fn rank(text: &[u8], ignore_case: bool) -> i8 {
    let byte = text.first().copied().unwrap_or(0);
    let byte = if ignore_case { byte.to_ascii_uppercase() } else { byte };
    byte.cast_signed()
}

fn digits(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}

/// Numbers that begin with a zero are compared like fractions.
fn by_first_difference(a: &[u8], b: &[u8]) -> Ordering {
    digits(a).cmp(digits(b))
}

/// The longer number is larger; of two that are equally long, the first digit that differs decides.
fn by_value(a: &[u8], b: &[u8]) -> Ordering {
    let (a, b) = (digits(a), digits(b));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn natural_order() {
        let sorted = [
            "\u{e4}", "1.002", "1.010", "1.02", "1.1", "fred", "pic2", "pic02a", "pic3", "pic10", "pic 100a",
            "x-1", "x-2",
        ];
        let mut names = sorted;
        names.reverse();
        names.sort_by(|a, b| compare(a.as_bytes(), b.as_bytes(), false));
        assert_eq!(names[0], sorted[0]);
        let pairs = [
            ("x9", "x10"),
            ("1.002", "1.010"),
            ("1.02", "1.1"),
            ("pic3", "pic10"),
            ("pic 4 else", "pic 5 "),
            ("a", "b"),
            ("", "a"),
        ];
        for (smaller, larger) in pairs {
            assert_eq!(
                compare(smaller.as_bytes(), larger.as_bytes(), false),
                Ordering::Less,
                "{smaller} {larger}"
            );
            assert_eq!(
                compare(larger.as_bytes(), smaller.as_bytes(), false),
                Ordering::Greater,
                "{smaller} {larger}"
            );
        }
        assert_eq!(compare(b"ABC9", b"abc9", true), Ordering::Equal);
        assert_eq!(compare(b"a1", b"a1", false), Ordering::Equal);
    }
}
