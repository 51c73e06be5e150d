//! The flag `CO`: `name:value:domain:lifetime:path:secure:httponly:samesite`, or with `;` between the parts if it
//! begins with one.

use crate::host::Host;

/// Adds the cookie that a flag's text describes, unless a rule has set one of its name already. False: it has a line
/// break or the like in it, and the request must not go on.
pub(crate) fn add(text: &[u8], host: &mut dyn Host) -> bool {
    let (separator, text) = match text.strip_prefix(b";") {
        Some(rest) => (b';', rest),
        None => (b':', text),
    };
    // As C's strtok: several separators are one.
    let mut parts = text.split(|byte| *byte == separator).filter(|part| !part.is_empty());
    let (Some(name), Some(value), Some(domain)) = (parts.next(), parts.next(), parts.next()) else {
        return true;
    };
    if host.has_cookie(name) {
        trace(host, &[b"skipping already set cookie '", name, b"'"].concat());
        return true;
    }
    let (lifetime, path) = (parts.next(), parts.next().unwrap_or(b"/"));
    let mut field = [name, b"=", value, b"; path=", path, b"; domain=", domain].concat();
    let minutes = lifetime.map_or(0, crate::condition::integer);
    if minutes != 0 {
        field.extend_from_slice(b"; expires=");
        field.extend(date(host.time().saturating_add(minutes.saturating_mul(60))).into_bytes());
    }
    let is = |part: Option<&[u8]>, word: &[u8]| {
        part.is_some_and(|part| {
            part == b"1" || part.eq_ignore_ascii_case(b"true") || part.eq_ignore_ascii_case(word)
        })
    };
    if is(parts.next(), b"secure") {
        field.extend_from_slice(b"; secure");
    }
    if is(parts.next(), b"HttpOnly") {
        field.extend_from_slice(b"; HttpOnly");
    }
    let same_site = parts.next().filter(|part| *part != b"0" && !part.eq_ignore_ascii_case(b"false"));
    if let Some(same_site) = same_site {
        field.extend_from_slice(b"; SameSite=");
        field.extend_from_slice(same_site);
    }
    // A line break would begin a field of its own.
    if field.iter().any(u8::is_ascii_control) {
        host.error("a rule's cookie has a control character in it");
        return false;
    }
    trace(host, &[b"setting cookie '", &field[..], b"'"].concat());
    let name = name.to_vec();
    host.add_cookie(&name, field);
    true
}

fn trace(host: &mut dyn Host, text: &[u8]) {
    if host.trace_level() >= 5 {
        host.trace(5, None, text);
    }
}

/// A date as cookies have it: `Fri, 27-Nov-2026 10:00:00 GMT`.
fn date(seconds: i64) -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = seconds.clamp(0, 253_402_300_799);
    let (day, time) = (seconds / 86_400, seconds % 86_400);
    let weekday = DAYS[usize::try_from((day + 4) % 7).unwrap_or_default()];
    let (year, month, day) = civil(day);
    let month = MONTHS[usize::try_from(month - 1).unwrap_or_default()];
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    format!("{weekday}, {day:02}-{month}-{year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

/// Year, month and day of a number of days since 1970 (proleptic Gregorian calendar), counted in years that begin in
/// March, so that the day that is sometimes there is the last.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_cookies() {
        assert_eq!(date(0), "Thu, 01-Jan-1970 00:00:00 GMT");
        assert_eq!(date(951_782_400), "Tue, 29-Feb-2000 00:00:00 GMT");
        assert_eq!(date(1_795_601_045), "Wed, 25-Nov-2026 10:04:05 GMT");
        assert_eq!(date(i64::MAX), "Fri, 31-Dec-9999 23:59:59 GMT");
    }
}
