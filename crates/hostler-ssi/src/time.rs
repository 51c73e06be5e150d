//! strftime in the C locale, for `timefmt`.
//!
//! Pure: whoever knows the time zone hands in the zone's offset and name. As in glibc, a conversion may
//! carry the flags `_`, `-`, `0`, `^`, `#`, a width, and a modifier `E` or `O` that changes nothing here; an
//! unknown conversion is copied as it stands. Also Apache's `%Z` and `%z` for Greenwich (`ap_ht_time`).

use std::io::Write as _;

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Widest padding that a format can ask for; one conversion must not fill the memory.
const MAX_WIDTH: usize = 1024;

/// A moment as a calendar and a clock show it somewhere.
#[derive(Clone, Copy, Debug)]
pub struct CivilTime<'a> {
    seconds: i64,
    offset: i32,
    zone: &'a str,
    year: i64,
    month: u32,
    day: u32,
    year_day: u32,
    week_day: u32,
    second_of_day: u32,
}

impl<'a> CivilTime<'a> {
    /// `seconds` since 1970, shown in a zone `offset` seconds east of Greenwich that is called `zone`.
    pub fn new(seconds: i64, offset: i32, zone: &'a str) -> CivilTime<'a> {
        let local = seconds.saturating_add(i64::from(offset));
        let days = local.div_euclid(86_400);
        let (year, month, day) = civil_from_days(days);
        CivilTime {
            seconds,
            offset,
            zone,
            year,
            month,
            day,
            year_day: (days - days_from_civil(year, 1, 1)) as u32,
            week_day: (days + 4).rem_euclid(7) as u32,
            second_of_day: local.rem_euclid(86_400) as u32,
        }
    }

    /// The same in Greenwich, as `DATE_GMT` shows it.
    pub fn gmt(seconds: i64) -> CivilTime<'static> {
        CivilTime::new(seconds, 0, "GMT")
    }

    fn hour(&self) -> u32 {
        self.second_of_day / 3600
    }

    fn hour12(&self) -> u32 {
        (self.hour() + 11) % 12 + 1
    }

    /// Year and week by ISO 8601: weeks start on Monday, the first has the year's first Thursday.
    fn iso_week(&self) -> (i64, u32) {
        let monday_based = (self.week_day + 6) % 7;
        let week = (self.year_day + 10 - monday_based - 1) / 7;
        match week {
            0 => (self.year - 1, weeks_in(self.year - 1)),
            53 if weeks_in(self.year) == 52 => (self.year + 1, 1),
            _ => (self.year, week),
        }
    }
}

/// Days since 1970 to year, month, day of the Gregorian calendar, counting years from March.
fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * from_march + 2) / 5 + 1) as u32;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 } as u32;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let from_march = i64::from((month + 9) % 12);
    let day_of_year = (153 * from_march + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// 53 if the year starts or ends on a Thursday.
fn weeks_in(year: i64) -> u32 {
    let thursday = |days: i64| (days + 4).rem_euclid(7) == 4;
    let long = thursday(days_from_civil(year, 1, 1)) || thursday(days_from_civil(year, 12, 31));
    if long { 53 } else { 52 }
}

/// Flags and width between `%` and the conversion.
#[derive(Clone, Copy, Default)]
struct Padding {
    flag: Option<u8>,
    upper: bool,
    swap: bool,
    width: usize,
}

/// Appends a time in strftime's format.
pub fn format(format: &[u8], time: &CivilTime<'_>, out: &mut Vec<u8>) {
    format_nested(format, time, out);
}

fn format_nested(format: &[u8], time: &CivilTime<'_>, out: &mut Vec<u8>) {
    let mut rest = format;
    while let Some(at) = memchr::memchr(b'%', rest) {
        out.extend_from_slice(&rest[..at]);
        let (padding, used) = padding(&rest[at + 1..]);
        let end = at + 1 + used;
        let known = rest.get(end).is_some_and(|conversion| convert(*conversion, padding, time, out));
        let next = (end + 1).min(rest.len());
        if !known {
            out.extend_from_slice(&rest[at..next]);
        }
        rest = &rest[next..];
    }
    out.extend_from_slice(rest);
}

/// Reads flags, width and modifier; returns how many bytes they take.
fn padding(text: &[u8]) -> (Padding, usize) {
    let mut padding = Padding::default();
    let mut used = 0;
    while let Some(byte) = text.get(used) {
        match byte {
            b'_' | b'-' | b'0' if padding.width == 0 => padding.flag = Some(*byte),
            b'^' => padding.upper = true,
            b'#' => padding.swap = true,
            b'0'..=b'9' => {
                padding.width = (padding.width * 10 + usize::from(byte - b'0')).min(MAX_WIDTH);
            }
            b'E' | b'O' => {
                used += 1;
                break;
            }
            _ => break,
        }
        used += 1;
    }
    (padding, used)
}

/// Appends one conversion; false if there is none of this letter.
fn convert(conversion: u8, padding: Padding, time: &CivilTime<'_>, out: &mut Vec<u8>) -> bool {
    if let Some((value, width, fill)) = number(conversion, time) {
        push_number(value, width, fill, padding, out);
        return true;
    }
    let start = out.len();
    if !push_text(conversion, time, out) {
        return false;
    }
    adapt_case(conversion, padding, &mut out[start..]);
    let missing = padding.width.saturating_sub(out.len() - start);
    let fill = if padding.flag == Some(b'0') { b'0' } else { b' ' };
    out.splice(start..start, std::iter::repeat_n(fill, missing));
    true
}

/// Value, width and fill of a numeric conversion.
fn number(conversion: u8, time: &CivilTime<'_>) -> Option<(i64, usize, u8)> {
    let second = time.second_of_day;
    Some(match conversion {
        b'C' => (time.year.div_euclid(100), 2, b'0'),
        b'd' => (time.day.into(), 2, b'0'),
        b'e' => (time.day.into(), 2, b' '),
        b'g' => (time.iso_week().0.rem_euclid(100), 2, b'0'),
        b'G' => (time.iso_week().0, 1, b'0'),
        b'H' => (time.hour().into(), 2, b'0'),
        b'I' => (time.hour12().into(), 2, b'0'),
        b'j' => ((time.year_day + 1).into(), 3, b'0'),
        b'k' => (time.hour().into(), 2, b' '),
        b'l' => (time.hour12().into(), 2, b' '),
        b'm' => (time.month.into(), 2, b'0'),
        b'M' => ((second / 60 % 60).into(), 2, b'0'),
        b's' => (time.seconds, 1, b'0'),
        b'S' => ((second % 60).into(), 2, b'0'),
        b'u' => (((time.week_day + 6) % 7 + 1).into(), 1, b'0'),
        b'U' => (((time.year_day + 7 - time.week_day) / 7).into(), 2, b'0'),
        b'V' => (time.iso_week().1.into(), 2, b'0'),
        b'w' => (time.week_day.into(), 1, b'0'),
        b'W' => (((time.year_day + 7 - (time.week_day + 6) % 7) / 7).into(), 2, b'0'),
        b'y' => (time.year.rem_euclid(100), 2, b'0'),
        b'Y' => (time.year, 1, b'0'),
        _ => return None,
    })
}

fn push_number(value: i64, width: usize, fill: u8, padding: Padding, out: &mut Vec<u8>) {
    // Without padding (`-`) only a width that was asked for counts, and it is filled with spaces.
    let width = if padding.flag == Some(b'-') { padding.width } else { padding.width.max(width) };
    let blank = match padding.flag {
        Some(b'_' | b'-') => true,
        Some(b'0') => false,
        _ => fill == b' ',
    };
    let written = if blank { write!(out, "{value:width$}") } else { write!(out, "{value:0width$}") };
    debug_assert!(written.is_ok(), "writing to memory cannot fail");
}

fn push_text(conversion: u8, time: &CivilTime<'_>, out: &mut Vec<u8>) -> bool {
    let day = DAYS[time.week_day as usize % 7];
    let month = MONTHS[(time.month as usize + 11) % 12];
    let nested: &[u8] = match conversion {
        b'a' => &day.as_bytes()[..3],
        b'A' => day.as_bytes(),
        b'b' | b'h' => &month.as_bytes()[..3],
        b'B' => month.as_bytes(),
        b'p' => [&b"AM"[..], b"PM"][usize::from(time.hour() >= 12)],
        b'P' => [&b"am"[..], b"pm"][usize::from(time.hour() >= 12)],
        b'n' => b"\n",
        b't' => b"\t",
        b'%' => b"%",
        b'c' => b"%a %b %e %H:%M:%S %Y",
        b'D' | b'x' => b"%m/%d/%y",
        b'F' => b"%Y-%m-%d",
        b'r' => b"%I:%M:%S %p",
        b'R' => b"%H:%M",
        b'T' | b'X' => b"%H:%M:%S",
        b'Z' => time.zone.as_bytes(),
        b'z' => return push_offset(time.offset, out),
        _ => return false,
    };
    if matches!(conversion, b'c' | b'D' | b'x' | b'F' | b'r' | b'R' | b'T' | b'X') {
        format_nested(nested, time, out);
    } else {
        out.extend_from_slice(nested);
    }
    true
}

/// Hours and minutes east of Greenwich, `+0130`.
fn push_offset(offset: i32, out: &mut Vec<u8>) -> bool {
    let minutes = offset.unsigned_abs() / 60;
    let sign = if offset < 0 { '-' } else { '+' };
    write!(out, "{sign}{:02}{:02}", minutes / 60, minutes % 60).is_ok()
}

/// `^` gives capitals; `#` changes case, which for most names means capitals, for `%p` and `%Z` small letters.
fn adapt_case(conversion: u8, padding: Padding, text: &mut [u8]) {
    if padding.swap && matches!(conversion, b'p' | b'Z') {
        text.make_ascii_lowercase();
    } else if padding.upper || (padding.swap && matches!(conversion, b'a' | b'A' | b'b' | b'B' | b'h')) {
        text.make_ascii_uppercase();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(text: &str, seconds: i64) -> String {
        let mut out = Vec::new();
        format(text.as_bytes(), &CivilTime::new(seconds, 0, "UTC"), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_default_format() {
        assert_eq!(
            formatted("%A, %d-%b-%Y %H:%M:%S %Z", 1_709_208_003),
            "Thursday, 29-Feb-2024 12:00:03 UTC"
        );
    }

    #[test]
    fn every_conversion() {
        let all =
            "%a|%A|%b|%B|%C|%d|%e|%g|%G|%h|%H|%I|%j|%k|%l|%m|%M|%n|%p|%P|%s|%S|%t|%u|%U|%V|%w|%W|%y|%Y|%z|%%";
        let expected = "Fri|Friday|Jan|January|20|01| 1|20|2020|Jan|03|03|001| 3| 3|01|04|\n|AM|am|1609470245|05|\t|5|00|53|5|00|21|2021|+0000|%";
        assert_eq!(formatted(all, 1_609_470_245), expected);
        assert_eq!(
            formatted("%c|%D|%F|%r|%R|%T|%x|%X", 1_609_470_245),
            "Fri Jan  1 03:04:05 2021|01/01/21|2021-01-01|03:04:05 AM|03:04|03:04:05|01/01/21|03:04:05"
        );
    }

    #[test]
    fn flags_widths_and_unknown_letters() {
        assert_eq!(
            formatted("%-d|%-3d|%_H|%05Y|%^a|%#p|%10b|%Ey|%Q|%!|%", 0),
            "1|  1| 0|01970|THU|am|       Jan|70|%Q|%!|%"
        );
    }

    #[test]
    fn before_1970_and_far_away() {
        assert_eq!(formatted("%F %T", -1), "1969-12-31 23:59:59");
        formatted("%c %G %V %U %W", i64::MAX / 1000);
        formatted("%c %G %V %U %W", i64::MIN / 1000);
    }

    #[test]
    fn zones() {
        let mut out = Vec::new();
        format(b"%H:%M %z %Z", &CivilTime::new(0, -12_600, "NST"), &mut out);
        format(b" %H %z %Z", &CivilTime::gmt(0), &mut out);
        assert_eq!(out, b"20:30 -0330 NST 00 +0000 GMT");
    }
}
