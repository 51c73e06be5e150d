//! Passwords that were right lately: a browser sends its password with every request, and checking one takes long by
//! design. Only digests are kept, each for a minute.

use sha1::{Digest, Sha1};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The time in which a password need not be checked again.
const KEEP: Duration = Duration::from_secs(60);
/// Beyond so many all are forgotten.
const MAX: usize = 1024;

/// The memory of one thread.
#[derive(Default)]
pub(crate) struct Passwords {
    right: HashMap<[u8; 20], Instant>,
}

/// The stored hash brings its salt into the digest.
fn digest(password: &[u8], hash: &str) -> [u8; 20] {
    let mut digest = Sha1::new();
    digest.update(hash.as_bytes());
    digest.update([0]);
    digest.update(password);
    digest.finalize().into()
}

impl Passwords {
    /// Returns whether the password was right for this hash a moment ago.
    pub(crate) fn was_right(&self, password: &[u8], hash: &str) -> bool {
        self.right.get(&digest(password, hash)).is_some_and(|when| when.elapsed() < KEEP)
    }

    /// Wrong ones are not kept: each guess costs what it costs.
    pub(crate) fn keep(&mut self, password: &[u8], hash: &str) {
        if self.right.len() >= MAX {
            self.right.clear();
        }
        self.right.insert(digest(password, hash), Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_password_and_hash_are_known() {
        let mut passwords = Passwords::default();
        passwords.keep(b"secret", "$apr1$salt$x");
        assert!(passwords.was_right(b"secret", "$apr1$salt$x"));
        assert!(!passwords.was_right(b"secret2", "$apr1$salt$x"));
        assert!(!passwords.was_right(b"secret", "$apr1$other$x"));
    }
}
