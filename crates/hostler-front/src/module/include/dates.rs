//! Times as pages show them. Pages show the same second in the same format again and again, so the last few
//! results are remembered.

use hostler_ssi::Zone;
use hostler_sys::time;
use std::cell::RefCell;

/// Results remembered per thread.
const REMEMBERED: usize = 8;

struct FormattedDate {
    seconds: i64,
    zone: Zone,
    format: Vec<u8>,
    text: Vec<u8>,
}

thread_local! {
    static LAST: RefCell<(Vec<FormattedDate>, usize)> = const { RefCell::new((Vec::new(), 0)) };
}

/// Appends `seconds` since 1970 in strftime's format.
pub(super) fn format(seconds: i64, zone: Zone, format: &[u8], out: &mut Vec<u8>) {
    LAST.with_borrow_mut(|(last, next)| {
        let known =
            last.iter().find(|one| one.seconds == seconds && one.zone == zone && one.format == format);
        if let Some(known) = known {
            out.extend_from_slice(&known.text);
            return;
        }
        let clock = match zone {
            Zone::Local => time::Zone::Local,
            Zone::Gmt => time::Zone::Gmt,
        };
        let mut text = Vec::new();
        time::strftime(format, seconds, clock, &mut text);
        out.extend_from_slice(&text);
        let formatted = FormattedDate { seconds, zone, format: format.to_vec(), text };
        if last.len() < REMEMBERED {
            last.push(formatted);
        } else {
            last[*next % REMEMBERED] = formatted;
            *next = next.wrapping_add(1);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_told_apart_by_all_that_they_depend_on() {
        let shown = |seconds, text: &str| {
            let mut out = b">".to_vec();
            format(seconds, Zone::Gmt, text.as_bytes(), &mut out);
            String::from_utf8(out).unwrap()
        };
        for _ in 0..2 {
            assert_eq!(shown(0, "%Y %Z"), ">1970 GMT");
            assert_eq!(shown(0, "%H:%M"), ">00:00");
            assert_eq!(shown(60, "%H:%M"), ">00:01");
        }
        for n in 0..3 * REMEMBERED as i64 {
            assert_eq!(shown(n, "%s"), format!(">{n}"));
        }
    }
}
