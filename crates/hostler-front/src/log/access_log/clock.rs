//! Times as log lines show them, remembered per thread: most lines are of the same second, and the time zone
//! changes twice a year.

use hostler_sys::time::{Zone, strftime, utc_offset};
use std::cell::{Cell, RefCell};
use std::time::{SystemTime, UNIX_EPOCH};

/// Changes of time zones fall on quarters of an hour.
const QUARTER: i64 = 900;

/// `[21/Nov/2026:09:00:00 +0000]`
pub(super) type CommonTime = [u8; 28];

/// Microseconds since 1970.
pub(super) fn micros(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |n| -n),
    }
}

/// The local time zone at a moment: seconds east of Greenwich.
pub(super) fn offset(seconds: i64) -> i32 {
    thread_local! {
        static LAST: Cell<(i64, i32)> = const { Cell::new((i64::MIN, 0)) };
    }
    let quarter = seconds.div_euclid(QUARTER);
    let (last, known) = LAST.get();
    if last == quarter {
        return known;
    }
    let offset = utc_offset(seconds, Zone::Local) as i32;
    LAST.set((quarter, offset));
    offset
}

/// The zone's name at a moment, as `%Z` shows it.
pub(super) fn zone_name(seconds: i64) -> String {
    let mut name = Vec::new();
    strftime(b"%Z", seconds, Zone::Local, &mut name);
    String::from_utf8_lossy(&name).into_owned()
}

/// A time as `%t` shows it; `None` for years that don't have four digits.
pub(super) fn common(seconds: i64) -> Option<CommonTime> {
    thread_local! {
        static LAST: RefCell<(i64, Option<CommonTime>)> = const { RefCell::new((i64::MIN, None)) };
    }
    LAST.with_borrow_mut(|(last, text)| {
        if *last != seconds {
            let mut out = Vec::with_capacity(28);
            strftime(b"[%d/%b/%Y:%H:%M:%S %z]", seconds, Zone::Local, &mut out);
            (*last, *text) = (seconds, out.try_into().ok());
        }
        *text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_strftime() {
        for seconds in [1_763_715_600, 1_763_715_600, 1_763_715_601, 0] {
            let text = String::from_utf8(common(seconds).unwrap().to_vec()).unwrap();
            let mut expected = Vec::new();
            strftime(b"[%d/%b/%Y:%H:%M:%S %z]", seconds, Zone::Local, &mut expected);
            assert_eq!(text.as_bytes(), expected);
            assert_eq!(i64::from(offset(seconds)), utc_offset(seconds, Zone::Local));
        }
        assert_eq!(common(400_000_000_000), None);
        assert!(!zone_name(0).is_empty());
    }

    #[test]
    fn microseconds() {
        assert_eq!(micros(UNIX_EPOCH + std::time::Duration::from_micros(1_500_000)), 1_500_000);
        assert_eq!(micros(UNIX_EPOCH - std::time::Duration::from_secs(1)), -1_000_000);
    }
}
