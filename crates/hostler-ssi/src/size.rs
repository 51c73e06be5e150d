//! File sizes as `fsize` prints them.

/// Appends a size in at most four characters, right-aligned with its unit: `  0 `, `972 `, `1.0K`, ` 10M`.
///
/// `sizefmt=abbrev`; the rule is APR's `apr_strfsize`: a unit is left once the number reaches 973, so
/// that rounding never needs a fourth digit. An unknown size is four characters too, with a dash.
pub fn abbreviated_size(size: Option<u64>, out: &mut Vec<u8>) {
    let Some(mut size) = size.filter(|size| i64::try_from(*size).is_ok()) else {
        out.extend_from_slice(b"  - ");
        return;
    };
    if size < 973 {
        push_right_aligned(size, out);
        out.push(b' ');
        return;
    }
    for unit in b"KMGTPE" {
        let remainder = size & 1023;
        size >>= 10;
        if size < 973 {
            push_scaled(size, remainder, *unit, out);
            return;
        }
    }
}

/// One digit and a tenth below ten, whole numbers above; both rounded.
fn push_scaled(size: u64, remainder: u64, unit: u8, out: &mut Vec<u8>) {
    if size < 9 || (size == 9 && remainder < 973) {
        let tenths = (remainder * 5 + 256) / 512;
        let (whole, tenths) = if tenths >= 10 { (size + 1, 0) } else { (size, tenths) };
        out.extend_from_slice(&[b'0' + whole as u8, b'.', b'0' + tenths as u8, unit]);
    } else {
        push_right_aligned(size + u64::from(remainder >= 512), out);
        out.push(unit);
    }
}

/// A number below 1000 in three columns.
fn push_right_aligned(number: u64, out: &mut Vec<u8>) {
    let digit = |divisor: u64| b'0' + (number / divisor % 10) as u8;
    out.push(if number >= 100 { digit(100) } else { b' ' });
    out.push(if number >= 10 { digit(10) } else { b' ' });
    out.push(digit(1));
}

/// Appends a size in bytes with a comma before each group of three digits (`sizefmt=bytes`).
pub fn size_with_commas(size: u64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 27];
    let mut at = digits.len();
    let mut rest = size;
    for count in 0.. {
        if count > 0 && count % 3 == 0 {
            at -= 1;
            digits[at] = b',';
        }
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abbreviated(size: u64) -> String {
        let mut out = Vec::new();
        abbreviated_size(Some(size), &mut out);
        String::from_utf8(out).unwrap()
    }

    fn with_commas(size: u64) -> String {
        let mut out = Vec::new();
        size_with_commas(size, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn sizes_take_four_columns() {
        let cases = [
            (0, "  0 "),
            (7, "  7 "),
            (42, " 42 "),
            (972, "972 "),
            (973, "1.0K"),
            (1024, "1.0K"),
            (1536, "1.5K"),
            (10_187, "9.9K"),
            (10_188, "9.9K"),
            (10_189, " 10K"),
            (102_400, "100K"),
            (995_839, "972K"),
            (996_352, "1.0M"),
            (5 << 30, "5.0G"),
            (i64::MAX as u64, "8.0E"),
        ];
        for (size, expected) in cases {
            assert_eq!(abbreviated(size), expected, "{size}");
        }
        let mut out = Vec::new();
        abbreviated_size(None, &mut out);
        assert_eq!(out, b"  - ");
    }

    #[test]
    fn commas_group_by_three() {
        for (size, expected) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(with_commas(size), expected);
        }
    }
}
