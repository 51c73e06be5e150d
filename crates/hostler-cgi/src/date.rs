//! Dates as Apache reads them (`apr_date_parse_http`): HTTP's three forms, and such of mail's as look like the first of
//! them. The day of the week may be any word, and what follows the time is not looked at, a zone neither.

/// Characters that a form has at a place: `#` a digit, `~` a digit or a blank, `@` an upper case letter, `$` a lower case
/// one, `*` anything, or nothing, to the end.
const FORMS: [(&[u8], Places); 4] = [
    (b"## @$$ #### ##:##:## *", Places { day: 0, month: 3, year: 7, time: 12 }),
    (b"##-@$$-## ##:##:## *", Places { day: 0, month: 3, year: 7, time: 10 }),
    (b"@$$ ~# ##:##:## ####*", Places { day: 4, month: 0, year: 16, time: 7 }),
    (b"# @$$ #### ##:##:## *", Places { day: 0, month: 2, year: 6, time: 11 }),
];

/// The positions of a date's parts.
struct Places {
    day: usize,
    month: usize,
    year: usize,
    time: usize,
}

const MONTHS: [&[u8]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// The time that a text names, in seconds since the epoch; `None`: it is no date.
#[must_use]
pub fn parse(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii_start();
    let weekday = text.iter().position(|&byte| byte == b' ')?;
    let date = &text[weekday + 1..];
    let (form, places) = FORMS.iter().find(|(form, _)| fits(date, form))?;
    let number = |at: usize, digits: usize| {
        date[at..at + digits].iter().fold(0, |n, byte| n * 10 + i64::from(byte.wrapping_sub(b'0') % 16))
    };
    let year = match number(places.year, if form[places.year..].starts_with(b"####") { 4 } else { 2 }) {
        year @ ..70 => year + 2000,
        year @ 70..100 => year + 1900,
        year => year,
    };
    // A blank in the place of a digit counts as 0.
    let day = if form[1] == b' ' {
        number(places.day, 1)
    } else {
        number(places.day + 1, 1) + if date[places.day] == b' ' { 0 } else { number(places.day, 1) * 10 }
    };
    let month = MONTHS.iter().position(|month| date[places.month..].starts_with(month))?;
    let [hour, minute, second] = [0, 3, 6].map(|at| number(places.time + at, 2));
    if year < 1900 || hour > 23 || minute > 59 || second > 61 || day < 1 || day > days_in(month, year) {
        return None;
    }
    Some(((days(year, month as i64 + 1, day) * 24 + hour) * 60 + minute) * 60 + second)
}

fn fits(text: &[u8], form: &[u8]) -> bool {
    for (at, kind) in form.iter().enumerate() {
        let fits = match (kind, text.get(at)) {
            (b'*', _) => return true,
            (_, None) => false,
            (b'#', Some(byte)) => byte.is_ascii_digit(),
            (b'~', Some(byte)) => byte.is_ascii_digit() || *byte == b' ',
            (b'@', Some(byte)) => byte.is_ascii_uppercase(),
            (b'$', Some(byte)) => byte.is_ascii_lowercase(),
            (other, Some(byte)) => byte == other,
        };
        if !fits {
            return false;
        }
    }
    text.len() == form.len()
}

fn days_in(month: usize, year: i64) -> i64 {
    match month {
        1 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

/// Days since the epoch, by the Gregorian calendar; `month` from 1.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (month, year) = if month > 2 { (month - 3, year) } else { (month + 9, year - 1) };
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_apache() {
        for text in [
            "Wed, 01 Jan 2020 00:00:00 GMT",
            "Wed, 1 Jan 2020 00:00:00 GMT",
            "Wed, 1 Jan 2020 00:00:00 +0000",
            "Wed, 1 Jan 2020 00:00:00 ",
            "  Wed, 01 Jan 2020 00:00:00 +0200 (somewhere)",
            "Wednesday, 01-Jan-20 00:00:00 GMT",
            "Wed Jan  1 00:00:00 2020",
            "Wed Jan 01 00:00:00 2020",
            "x 01 Jan 2020 00:00:00 GMT",
        ] {
            assert_eq!(parse(text.as_bytes()), Some(1_577_836_800), "{text}");
        }
        assert_eq!(parse(b"Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(parse(b"Thu, 29 Feb 2024 23:59:60 GMT"), Some(1_709_251_200));
        assert_eq!(parse(b"Sunday, 06-Nov-94 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(parse(b"Thu, 01 Jan 1970 00:00:01 GMT"), Some(1));
    }

    #[test]
    fn what_is_none() {
        for text in [
            "",
            " ",
            "yesterday",
            "01 Jan 2020 00:00:00 GMT",
            "Wed, 01 Jan 2020 00:00:00",
            "Wed, 01 JAN 2020 00:00:00 GMT",
            "Wed, 01 Jan 20 00:00:00 GMT",
            "Wed, 32 Jan 2020 00:00:00 GMT",
            "Wed, 31 Apr 2020 00:00:00 GMT",
            "Wed, 29 Feb 2023 00:00:00 GMT",
            "Wed, 00 Jan 2020 00:00:00 GMT",
            "Wed, 01 Jan 1820 00:00:00 GMT",
            "Wed, 01 Jan 2020 24:00:00 GMT",
            "Wed, 01 Xyz 2020 00:00:00 GMT",
            "Wed,  01 Jan 2020 00:00:00 GMT",
            "2020-01-01T00:00:00Z",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
