//! Figures as text for people: three or four digits that say something, never `NaN`, never a made-up zero.

/// The text for a missing figure.
pub(super) const NONE: &str = "–";

/// A figure with three digits or more: `0.123`, `4.56`, `78.9`, `123`, `12,345`.
pub(super) fn figure(value: f64) -> String {
    if !value.is_finite() {
        return NONE.into();
    }
    let size = value.abs();
    let decimals = match size {
        _ if size >= 99.95 || size == 0.0 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.9995 => 2,
        _ if size >= 0.09995 => 3,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    if size < 999.5 { text } else { grouped(&text) }
}

/// A figure as it was published: as many digits as it has.
pub(super) fn plain(value: f64) -> String {
    if value.is_finite() { format!("{value}") } else { NONE.into() }
}

/// Seconds as milliseconds.
pub(super) fn milliseconds(seconds: f64) -> String {
    figure(seconds * 1e3)
}

/// A count: `12,345`.
pub(super) fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// A part of one: `75 %`.
pub(super) fn percent(part: f64) -> String {
    if !part.is_finite() {
        return NONE.into();
    }
    let percent = part * 100.0;
    match percent {
        _ if percent == 0.0 => "0 %".into(),
        _ if percent.abs() < 0.1 => format!("{percent:.3} %"),
        _ if percent.abs() < 10.0 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

/// A ratio with its sign: `1.42 ×`.
pub(super) fn times(ratio: f64) -> String {
    if !ratio.is_finite() {
        return NONE.into();
    }
    if ratio < 9.995 { format!("{ratio:.2} ×") } else { format!("{} ×", figure(ratio)) }
}

/// Bytes: `73.5 kB`, `12.3 MB` (powers of 1000).
pub(super) fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{value:.0} B") } else { format!("{} {}", figure(value), UNITS[unit]) }
}

/// Puts commas between thousands of a number written in digits.
fn grouped(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let mut text = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_three_digits() {
        let text: Vec<String> =
            [0.0, 0.0123, 0.123, 1.2345, 9.999, 12.34, 99.96, 123.4, 999.6, 12345.6].map(figure).into();
        assert_eq!(text, ["0", "0.0123", "0.123", "1.23", "10.0", "12.3", "100", "123", "1,000", "12,346"]);
    }

    #[test]
    fn what_is_no_number_is_a_dash() {
        assert_eq!([figure(f64::NAN), percent(f64::INFINITY), times(f64::NAN)], [NONE, NONE, NONE]);
    }

    #[test]
    fn counts_and_bytes() {
        assert_eq!([count(999), count(1000), count(1_234_567)], ["999", "1,000", "1,234,567"]);
        assert_eq!([bytes(12.0), bytes(73_500.0), bytes(1.5e9)], ["12 B", "73.5 kB", "1.50 GB"]);
    }
}
