//! Ids by which an error page, the access log (`%L`) and the error log find each other.

use crate::request::Request;
use crate::request::connection::Peer;
use std::cell::RefCell;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// Letters of ids: none that is easily taken for another.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Requests remembered as mentioned, per thread. (Those that are dropped unfinished leave theirs behind.)
const MAX: usize = 4096;

/// Milliseconds since 1970 at the front's start: ids of two starts differ.
static START: LazyLock<u64> =
    LazyLock::new(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64));

/// A message about a request in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mention {
    number: u64,
    /// The error log has a message with the id.
    logged: bool,
}

thread_local! {
    static MENTIONED: RefCell<Vec<Mention>> = const { RefCell::new(Vec::new()) };
}

fn mention(number: u64, logged: bool) {
    MENTIONED.with_borrow_mut(|mentioned| match mentioned.iter_mut().find(|m| m.number == number) {
        Some(known) => known.logged |= logged,
        None => {
            if mentioned.len() >= MAX {
                mentioned.drain(..MAX / 2);
            }
            mentioned.push(Mention { number, logged });
        }
    });
}

/// The id of a request: short, and not given again after a restart.
pub(crate) fn error_id(request: &Request) -> String {
    mention(request.number, false);
    text(request.number)
}

/// The id of a request with this number, for somebody who may or may not show it.
pub(crate) fn id_of(number: u64) -> String {
    text(number)
}

/// The id for a message in the error log.
pub(crate) fn logged(request: &Request) -> String {
    mention(request.number, true);
    text(request.number)
}

/// The id if the error log or an error page has it; `%L` shows it then.
pub(crate) fn was_mentioned(request: &Request) -> Option<String> {
    MENTIONED
        .with_borrow(|mentioned| mentioned.iter().any(|m| m.number == request.number))
        .then(|| text(request.number))
}

/// Returns whether the id was shown to somebody who will not find it in the error log.
pub(crate) fn is_unexplained(request: &Request) -> bool {
    MENTIONED.with_borrow(|mentioned| mentioned.iter().any(|m| m.number == request.number && !m.logged))
}

/// The request is over.
pub(crate) fn finished(request: &Request) {
    MENTIONED.with_borrow_mut(|mentioned| mentioned.retain(|m| m.number != request.number));
}

/// The id of a connection (`%{c}L`).
pub(crate) fn connection_id(peer: &Peer) -> String {
    format!("{:x}", peer.id)
}

fn text(number: u64) -> String {
    // 40 bits of milliseconds come round after 34 years.
    let mut out = String::with_capacity(16);
    push(*START & ((1 << 40) - 1), 8, &mut out);
    push(number, 1, &mut out);
    out
}

/// Five bits a letter, at least `width` letters.
fn push(value: u64, width: u32, out: &mut String) {
    let needed = (64 - value.leading_zeros()).div_ceil(5).max(width);
    for at in (0..needed).rev() {
        out.push(char::from(ALPHABET[(value >> (5 * at) & 31) as usize]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_short_and_differ() {
        let (one, other) = (text(1 << 8), text(2 << 8));
        assert_ne!(one, other);
        assert!(one.len() <= 12 && one.is_ascii(), "{one}");
        assert!(text(u64::MAX).len() <= 21);
    }

    #[test]
    fn letters_by_five_bits() {
        let of = |value, width| {
            let mut out = String::new();
            push(value, width, &mut out);
            out
        };
        assert_eq!([of(0, 1), of(31, 1), of(32, 1), of(33, 4)], ["0", "z", "10", "0011"]);
    }
}
