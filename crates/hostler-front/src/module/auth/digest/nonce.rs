//! Nonces: making them, knowing them again, and the counts that clients have used with them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest as _, Sha1};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The secret of nonces. A front that gets no random bytes logs no user in.
static SECRET: LazyLock<Option<[u8; 32]>> = LazyLock::new(|| {
    let mut secret = [0; 32];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random.fill(&mut secret).ok().map(|()| secret)
});

/// The age of a nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// It is none of this front's.
    Foreign,
    Seconds(i64),
}

impl Age {
    /// Returns whether it is older than so many seconds.
    pub(super) fn is_over(self, seconds: i64) -> bool {
        !matches!(self, Self::Seconds(age) if age <= seconds)
    }
}

fn microseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

fn at(time: u64, realm: &[u8]) -> Option<Vec<u8>> {
    let secret = (*SECRET)?;
    let mut hash = Sha1::new();
    hash.update(secret);
    hash.update(time.to_le_bytes());
    hash.update(realm);
    hash.update(secret);
    let mut text = STANDARD.encode(time.to_le_bytes());
    for byte in hash.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    Some(text.into_bytes())
}

/// A new one.
pub(super) fn fresh(realm: &[u8]) -> Vec<u8> {
    at(microseconds(), realm).unwrap_or_default()
}

/// Characters of the time.
const TIME: usize = 12;

fn time_of(nonce: &str) -> Option<u64> {
    let bytes = STANDARD.decode(nonce.get(..TIME)?).ok()?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// Returns the age of a nonce, if it is ours.
pub(super) fn age(nonce: &str, realm: &[u8]) -> Age {
    let Some(time) = time_of(nonce) else { return Age::Foreign };
    let Some(ours) = at(time, realm).filter(|ours| ours.len() == nonce.len()) else { return Age::Foreign };
    if ours.iter().zip(nonce.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) != 0 {
        return Age::Foreign;
    }
    let age = i128::from(microseconds()) - i128::from(time);
    Age::Seconds(i64::try_from(age.div_euclid(1_000_000)).unwrap_or(i64::MAX))
}

/// A count of a client's: eight hexadecimal digits (RFC 7616 §3.4).
pub(super) fn count(text: &str) -> Option<u32> {
    let is_one = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_one.then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

/// The relation of a count to a nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Fresh,
    Again,
    /// The nonce is older than what is remembered.
    Forgotten,
}

/// Nonces whose counts are remembered.
const MOST: usize = 50_000;

/// The counts of a nonce: the highest, and which of the 64 below it. Requests of one client may overtake each other.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// One more than the count, since the first one may be 0.
    highest: u64,
    below: u64,
}

impl Counts {
    /// Returns whether a count is new; it is not any more.
    fn take(&mut self, count: u32) -> bool {
        let count = u64::from(count) + 1;
        if count > self.highest {
            let ahead = count - self.highest;
            // The bit of what was the highest itself.
            let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
            self.below =
                self.below.checked_shl(ahead).unwrap_or(0) | 1_u64.checked_shl(ahead - 1).unwrap_or(0);
            self.highest = count;
            return true;
        }
        let behind = self.highest - count;
        let place = behind.checked_sub(1).and_then(|place| u32::try_from(place).ok());
        let bit = place.and_then(|place| 1_u64.checked_shl(place));
        match bit {
            Some(bit) if self.below & bit == 0 => {
                self.below |= bit;
                true
            }
            _ => false,
        }
    }
}

#[derive(Default)]
struct Table {
    counts: HashMap<Box<str>, Counts>,
    /// Nonces of before are not remembered: in microseconds since 1970.
    since: u64,
}

impl Table {
    fn take(&mut self, nonce: &str, count: u32, once: bool) -> Use {
        if time_of(nonce).is_none_or(|time| time < self.since) {
            return Use::Forgotten;
        }
        if self.counts.len() >= MOST && !self.counts.contains_key(nonce) {
            self.counts.clear();
            self.since = microseconds();
            return Use::Forgotten;
        }
        let known = self.counts.contains_key(nonce);
        let counts = self.counts.entry(nonce.into()).or_default();
        if (once && known) || !counts.take(count) { Use::Again } else { Use::Fresh }
    }
}

static TABLE: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);

/// Notes that a count was used with a nonce of ours; `once`: the nonce is good for one use.
pub(super) fn take(nonce: &str, count: u32, once: bool) -> Use {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner).take(nonce, count, once)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(time: u64) -> String {
        String::from_utf8(at(time, b"realm").unwrap()).unwrap()
    }

    #[test]
    fn only_our_own_are_known_and_their_age() {
        let now = microseconds();
        assert_eq!(age(&text(now), b"realm"), Age::Seconds(0));
        assert_eq!(age(&text(now - 7_500_000), b"realm"), Age::Seconds(7));
        assert!(matches!(age(&text(now + 60_000_000), b"realm"), Age::Seconds(..0)));
        assert_eq!(age(&text(now), b"other"), Age::Foreign);
        let mut forged = text(now).into_bytes();
        *forged.last_mut().unwrap() ^= 1;
        for foreign in ["", "x", "AAAAAAAAAAA=", &String::from_utf8(forged).unwrap(), &"é".repeat(26)] {
            assert_eq!(age(foreign, b"realm"), Age::Foreign, "{foreign}");
        }
    }

    #[test]
    fn a_count_is_good_once_in_whatever_order_they_come() {
        let (mut table, nonce) = (Table::default(), text(microseconds()));
        for (count, expected) in [
            (1, Use::Fresh),
            (1, Use::Again),
            (3, Use::Fresh),
            (2, Use::Fresh),
            (2, Use::Again),
            (3, Use::Again),
            (0, Use::Fresh),
            (200, Use::Fresh),
            (137, Use::Fresh),
            (136, Use::Fresh),
            (135, Use::Again),
            (4, Use::Again),
            (u32::MAX, Use::Fresh),
            (u32::MAX, Use::Again),
        ] {
            assert_eq!(table.take(&nonce, count, false), expected, "{count}");
        }
        let once = text(microseconds() + 1);
        assert_eq!(table.take(&once, 1, true), Use::Fresh);
        assert_eq!(table.take(&once, 2, true), Use::Again);
    }

    #[test]
    fn what_is_forgotten_is_good_for_nothing() {
        let mut table = Table::default();
        let begin = microseconds() - 1_000_000;
        let used = text(begin);
        assert_eq!(table.take(&used, 1, false), Use::Fresh);
        for n in 1..MOST as u64 {
            assert_eq!(table.take(&text(begin + n), 1, false), Use::Fresh);
        }
        assert_eq!(table.take(&text(begin + MOST as u64), 1, false), Use::Forgotten);
        assert_eq!(table.take(&used, 1, false), Use::Forgotten);
        assert!(table.counts.len() <= MOST);
    }

    #[test]
    fn counts_have_eight_digits() {
        assert_eq!((count("00000001"), count("ffffffff")), (Some(1), Some(u32::MAX)));
        for wrong in ["", "1", "+0000001", "000000001", "0000000g"] {
            assert_eq!(count(wrong), None, "{wrong}");
        }
    }
}
