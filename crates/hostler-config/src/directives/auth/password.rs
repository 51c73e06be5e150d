//! Checking a password against what htpasswd writes (mod_authn_file, "Password Formats").
//!
//! bcrypt costs tens of milliseconds by design: callers must not do this on a thread that serves others.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use sha1::Sha1;

/// Returns whether `password` is the one that `hash` was made of: bcrypt (`$2y$`), `$apr1$`, `{SHA}`, or what crypt(3)
/// knows (`$1$`, `$5$`, `$6$`, DES). A hash of another kind matches no password, so that an unknown format
/// grants no access. Nor does plain text, which Apache accepts on Windows only.
#[must_use]
pub fn verify(password: &[u8], hash: &str) -> bool {
    if hash.starts_with("$2") {
        return bcrypt_fits(password, hash);
    }
    if let Some(rest) = hash.strip_prefix("$apr1$") {
        let (salt, digest) = rest.split_once('$').unwrap_or((rest, ""));
        return same(apr1(password, salt.as_bytes()).as_bytes(), digest.as_bytes());
    }
    if let Some(encoded) = hash.strip_prefix("{SHA}") {
        return same(STANDARD.encode(Sha1::digest(password)).as_bytes(), encoded.as_bytes());
    }
    pwhash::unix::verify(password, hash)
}

/// Highest cost of bcrypt, each more doubling the time: 16 takes some seconds.
const MOST_COST: u32 = 16;

/// Most rounds of the newer kinds of crypt(3), each over some 64 bytes: a second or two.
const MOST_ROUNDS: usize = 4_000_000;

/// Returns whether [`verify`] would take much longer than a check may take. The cost is part of the
/// hash, so its author chooses it.
#[must_use]
pub fn takes_too_long(password: &[u8], hash: &str) -> bool {
    let fields: Vec<&str> = hash.split('$').collect();
    match fields.as_slice() {
        ["", kind, cost, ..] if kind.starts_with('2') => {
            cost.parse::<u32>().is_ok_and(|cost| cost > MOST_COST)
        }
        ["", "5" | "6", parameter, ..] => {
            let rounds = parameter.strip_prefix("rounds=").map_or(Ok(5000), str::parse::<usize>);
            let pieces = password.len() / 64 + 1;
            rounds.map_or(true, |rounds| rounds.saturating_mul(pieces) > MOST_ROUNDS)
        }
        _ => false,
    }
}

/// Returns whether `hash` is of a kind that [`verify`] can check at all.
#[must_use]
pub fn is_known(hash: &str) -> bool {
    ["$2a$", "$2b$", "$2x$", "$2y$", "$apr1$", "{SHA}", "$1$", "$5$", "$6$"]
        .iter()
        .any(|kind| hash.starts_with(kind))
        || (hash.len() == 13 && hash.bytes().all(is_crypt_digit))
}

fn is_crypt_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/')
}

/// crypt(3) and Apache use 72 bytes of a password; a NUL would end it, so it fits nothing.
fn bcrypt_fits(password: &[u8], hash: &str) -> bool {
    let used = &password[..password.len().min(72)];
    !used.contains(&0) && bcrypt::verify(used, hash).unwrap_or(false)
}

/// Compares secrets in a time that depends on their lengths only, and tells nothing of where they differ.
#[must_use]
pub fn same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// Apache's variant of the MD5 crypt: the same 1,000 rounds under another name.
fn apr1(password: &[u8], salt: &[u8]) -> String {
    let salt = &salt[..salt.len().min(8)];
    let mut digest = first_digest(password, salt);
    for round in 0..1000 {
        let mut hash = Md5::new();
        let (front, back) = if round % 2 == 1 { (password, &digest[..]) } else { (&digest[..], password) };
        hash.update(front);
        if round % 3 != 0 {
            hash.update(salt);
        }
        if round % 7 != 0 {
            hash.update(password);
        }
        hash.update(back);
        digest = hash.finalize().into();
    }
    printable(&digest)
}

fn first_digest(password: &[u8], salt: &[u8]) -> [u8; 16] {
    let mut hash = Md5::new();
    hash.update(password);
    hash.update(b"$apr1$");
    hash.update(salt);
    let inner: [u8; 16] =
        Md5::new().chain_update(password).chain_update(salt).chain_update(password).finalize().into();
    let mut left = password.len();
    while left > 0 {
        let used = left.min(16);
        hash.update(&inner[..used]);
        left -= used;
    }
    let mut bits = password.len();
    while bits > 0 {
        let byte = if bits & 1 == 1 { 0 } else { password[0] };
        hash.update([byte]);
        bits >>= 1;
    }
    hash.finalize().into()
}

/// crypt's base 64: least significant digit first, bytes in an order of its own.
fn printable(digest: &[u8; 16]) -> String {
    const ORDER: [[usize; 3]; 5] = [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]];
    let mut text = String::with_capacity(22);
    for [high, middle, low] in ORDER {
        let value = u32::from(digest[high]) << 16 | u32::from(digest[middle]) << 8 | u32::from(digest[low]);
        push_digits(value, 4, &mut text);
    }
    push_digits(u32::from(digest[11]), 2, &mut text);
    text
}

fn push_digits(mut value: u32, count: usize, text: &mut String) {
    const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for _ in 0..count {
        text.push(char::from(DIGITS[(value & 63) as usize]));
        value >>= 6;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with `htpasswd -nb[B|m|s|d] user secret` and `openssl passwd`.
    const SECRET: [&str; 7] = [
        "$2y$05$WHyl/MVm1ZSToX55ZboCluoKznXDkC/p5uJ/.mO09H.veGBW/yZn6",
        "$apr1$h4W5HAWS$.77QU3nRZN4dij58ut2JR.",
        "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=",
        "IqLLIihEoj8.w",
        "$1$r/3mRVQU$vW0CrQSUuLVZQD0c/hl1s/",
        "$5$C2KYOip.V9d37QGZ$7wxrCKEjdF/C7RiDzAsXs4EOnuPnQV6qghnJ1kikSK/",
        "$6$2d5Ylu9MO84uL/lV$u34MZe2PEbSODnlo6W1OMtYgZIOrVArtCwjYhm2YHlF0DqcMN.AP0ols5/5V3dRUajBufPJYSd0lNzG9tbgvO0",
    ];

    #[test]
    fn every_format_fits_its_password_only() {
        for hash in SECRET {
            assert!(is_known(hash), "{hash}");
            assert!(verify(b"secret", hash), "{hash}");
            assert!(!verify(b"Secret", hash), "{hash}");
            assert!(!verify(b"", hash), "{hash}");
        }
    }

    #[test]
    fn hashes_may_not_take_for_ever() {
        for hash in SECRET {
            assert!(!takes_too_long(&[b'x'; 8000], hash), "{hash}");
        }
        for hash in ["$2y$31$x", "$2b$17$x", "$5$rounds=999999999$x$y", "$6$rounds=4000001$x$", "$6$rounds=$"]
        {
            assert!(takes_too_long(b"secret", hash), "{hash}");
        }
        assert!(takes_too_long(&[b'x'; 8000], "$6$rounds=100000$x$y"));
        assert!(!takes_too_long(b"secret", "$6$rounds=100000$x$y"));
    }

    #[test]
    fn what_is_no_hash_fits_nothing() {
        for hash in [
            "",
            "secret",
            "$apr1$",
            "$apr1$salt",
            "$apr1$salt$",
            "{SHA}",
            "$2y$",
            "$2y$05$short",
            "$9$x$y",
            "*",
        ] {
            assert!(!verify(b"secret", hash), "{hash}");
            assert!(!verify(b"", hash), "{hash}");
        }
    }

    #[test]
    fn long_passwords_under_apr1() {
        assert!(verify(&[b'x'; 100], "$apr1$YZp36OlZ$2f7zcayDoR9yDuICumkxo."));
    }
}
