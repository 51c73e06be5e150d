//! Reading values: numbers with bounds, choices, times. Errors are sentences about the word.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A decimal number within bounds.
pub(crate) fn number<T>(word: &str, bounds: RangeInclusive<T>) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display + Copy,
{
    let digits = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let parsed = if digits { word.parse().ok() } else { None };
    match parsed {
        Some(value) if bounds.contains(&value) => Ok(value),
        _ => Err(format!("\"{word}\" is not a number from {} to {}", bounds.start(), bounds.end())),
    }
}

/// As C's `atoi`, with which Apache reads some numbers: digits at the beginning, perhaps with a sign; 0 if there are none.
pub(crate) fn leading_number(word: &str) -> i64 {
    let word = word.trim_ascii_start();
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, word.strip_prefix('+').unwrap_or(word)),
    };
    let end = digits.bytes().take_while(u8::is_ascii_digit).count();
    sign * digits[..end].parse::<u32>().map_or(if end == 0 { 0 } else { i64::from(u32::MAX) }, i64::from)
}

/// One of several words, without regard to case.
pub(crate) fn choice<T: Clone>(word: &str, choices: &[(&str, T)]) -> Result<T, String> {
    match choices.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
        Some((_, value)) => Ok(value.clone()),
        None => {
            let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
            Err(crate::unknown("value", word, &names))
        }
    }
}

/// A time in milliseconds; a bare number counts in `unit` milliseconds. Suffixes: ms, s, mi, h.
pub(crate) fn milliseconds(word: &str, unit: u64) -> Result<u64, String> {
    let end = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
    let (digits, suffix) = word.split_at(end);
    let factor = match suffix.to_ascii_lowercase().as_str() {
        "" => unit,
        "ms" => 1,
        "s" => 1000,
        "mi" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return Err(format!("\"{word}\" is not a time (suffixes: ms, s, mi, h)")),
    };
    let count: u64 = number(digits, 0..=10_000_000)?;
    Ok(count * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal_and_bounded() {
        assert_eq!(number("12", 0..=20u32), Ok(12));
        for bad in ["", "-1", "+1", "21", "1x", "0x1", "99999999999999999999"] {
            assert!(number(bad, 0..=20u32).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_leading_number_ends_where_atoi_ends() {
        for (word, value) in
            [("12", 12), ("1.5", 1), ("10ms", 10), ("-5", -5), (" +4", 4), ("x", 0), ("", 0), ("0x10", 0)]
        {
            assert_eq!(leading_number(word), value, "{word}");
        }
        assert_eq!(leading_number("99999999999999999999"), i64::from(u32::MAX));
    }

    #[test]
    fn times_take_suffixes() {
        assert_eq!(milliseconds("5", 1000), Ok(5000));
        assert_eq!(milliseconds("1500ms", 1000), Ok(1500));
        assert_eq!(milliseconds("2mi", 1000), Ok(120_000));
        assert!(milliseconds("ms", 1000).is_err());
        assert!(milliseconds("5d", 1000).is_err());
    }
}
