//! Figures computed from a report before it is shown: rates, and numbers as people read them.

use hostler_wire::report::Report;

/// The time that rates are about: since the report before, or since the front's start.
pub(super) fn span_ms(now: &Report, before: Option<&Report>) -> u64 {
    match comparable(now, before) {
        Some(before) => now.serving_ms.saturating_sub(before.serving_ms),
        None => now.serving_ms,
    }
}

/// The report before, if it is the same front's.
pub(super) fn comparable<'a>(now: &Report, before: Option<&'a Report>) -> Option<&'a Report> {
    before.filter(|before| before.front == now.front && before.serving_ms < now.serving_ms)
}

/// Counts a second.
#[expect(clippy::cast_precision_loss, reason = "for display")]
pub(super) fn rate(now: u64, before: u64, span_ms: u64) -> f64 {
    now.saturating_sub(before) as f64 * 1000.0 / span_ms.max(1) as f64
}

/// The mean of a sum over a count.
#[expect(clippy::cast_precision_loss, reason = "for display")]
pub(super) fn mean(sum: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}

/// `12.3`, `1234`
pub(super) fn shown_rate(rate: f64) -> String {
    if rate < 100.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}

/// `512 B`, `38.2 MiB`
#[expect(clippy::cast_precision_loss, reason = "for display")]
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut units = UNITS.into_iter();
    let mut unit = units.next().unwrap_or_default();
    for next in units {
        if value < 1000.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    if value < 100.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// `250 µs`, `2.5 ms`, `1.2 s`
#[expect(clippy::cast_precision_loss, reason = "for display")]
pub(super) fn microseconds(time: f64, bounds: &[u64]) -> String {
    let longest = bounds.last().copied().unwrap_or(u64::MAX) as f64;
    match time {
        t if t > longest => format!("> {:.0} s", longest / 1e6),
        t if t < 1e3 => format!("{t:.0} µs"),
        t if t < 1e5 => format!("{:.1} ms", t / 1e3),
        t if t < 1e6 => format!("{:.0} ms", t / 1e3),
        t => format!("{:.1} s", t / 1e6),
    }
}

/// `3 d 4 h`, `3 h 12 min`, `12 min`, `12 s`
pub(super) fn duration(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

/// A text of a front's, for a terminal: no control characters, not endless.
pub(super) fn tame(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([bytes(0), bytes(2048), bytes(40_000_000)], ["0 B", "2.0 KiB", "38.1 MiB"]);
        assert_eq!(bytes(u64::MAX), "16384 PiB");
        let shown = |time| microseconds(time, &[100, 30_000_000]);
        assert_eq!([shown(250.0), shown(2500.0), shown(2.5e5)], ["250 µs", "2.5 ms", "250 ms"]);
        assert_eq!([shown(1.5e6), shown(1e12)], ["1.5 s", "> 30 s"]);
        assert_eq!([duration(59), duration(61), duration(3700)], ["59 s", "1 min", "1 h 1 min"]);
        assert_eq!(duration(90_000), "1 d 1 h");
        assert_eq!([shown_rate(1.26), shown_rate(1234.5)], ["1.3", "1234"]);
        assert_eq!(tame("a\x1b]0;b\x07"), "a ]0;b ");
    }
}
