//! Dates as `strftime` writes them, for SSI's `timefmt` and the logs' `%{format}t`.
//!
//! The locale is never set, so names are English ("C" locale). Local time is the process's `TZ`.

use std::ffi::CString;

/// The clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// The process's time zone.
    Local,
    /// Greenwich: universal time.
    Gmt,
}

/// Longest result, in bytes; a longer one is not written.
const LONGEST: usize = 8192;

/// Broken-down time of `unixtime` (seconds since the epoch); `None` when the year can't be told.
fn broken_down(unixtime: i64, zone: Zone) -> Option<libc::tm> {
    // SAFETY: a `tm` of zeroes is valid: numbers and a pointer that may be null.
    let mut tm: libc::tm = unsafe { std::mem::zeroed() };
    let time: libc::time_t = unixtime;
    // SAFETY: both pointers are to live values of the right type; the functions keep neither.
    let done = unsafe {
        match zone {
            Zone::Local => libc::localtime_r(&raw const time, &raw mut tm),
            Zone::Gmt => libc::gmtime_r(&raw const time, &raw mut tm),
        }
    };
    (!done.is_null()).then_some(tm)
}

/// Seconds that the zone is east of Greenwich at that moment.
#[must_use]
pub fn utc_offset(unixtime: i64, zone: Zone) -> i64 {
    broken_down(unixtime, zone).map_or(0, |tm| tm.tm_gmtoff)
}

/// Appends `unixtime` (seconds since the epoch) to `out` as `format` says. A format with a NUL byte ends there;
/// a result over 8 KB is left out.
pub fn strftime(format: &[u8], unixtime: i64, zone: Zone, out: &mut Vec<u8>) {
    let format = format.split(|byte| *byte == 0).next().unwrap_or_default();
    let Ok(text) = CString::new(format) else { return };
    let Some(tm) = broken_down(unixtime, zone) else { return };
    if format.is_empty() {
        return;
    }
    let mut room = (format.len() * 4).clamp(128, LONGEST);
    loop {
        let start = out.len();
        out.resize(start + room, 0);
        // SAFETY: the pointer is to `room` writable bytes, the format ends with NUL, and `tm` was filled by libc.
        let written =
            unsafe { libc::strftime(out[start..].as_mut_ptr().cast(), room, text.as_ptr(), &raw const tm) };
        out.truncate(start + written.min(room));
        // Zero means "no room" or an empty result ("%p" in some locales): one more, larger try tells.
        if written > 0 || room >= LONGEST {
            return;
        }
        room = LONGEST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gmt(format: &str, at: i64) -> String {
        let mut out = Vec::new();
        strftime(format.as_bytes(), at, Zone::Gmt, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn formats_as_the_c_locale() {
        assert_eq!(gmt("%A, %d-%b-%Y %H:%M:%S %Z", 0), "Thursday, 01-Jan-1970 00:00:00 GMT");
        assert_eq!(gmt("%s|%%|literal", 12345), "12345|%|literal");
        assert_eq!(gmt("", 0), "");
        assert_eq!(gmt("%Y\0%d", 0), "1970");
    }

    #[test]
    fn long_results_need_a_second_try_and_endless_ones_are_left_out() {
        assert_eq!(gmt(&"%A".repeat(100), 0).len(), 800);
        assert_eq!(gmt(&"%A".repeat(4000), 0), "");
        assert_eq!(gmt("%Y", i64::MAX), "");
    }

    #[test]
    fn appends() {
        let mut out = b"at ".to_vec();
        strftime(b"%Y", 0, Zone::Gmt, &mut out);
        assert_eq!(out, b"at 1970");
        assert_eq!(utc_offset(0, Zone::Gmt), 0);
    }
}
