//! Numbers that nobody can foresee cheaply, for names that must not meet. Nothing secret is made of them.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A random number.
pub(crate) fn number() -> u64 {
    // Each state has keys of its own, which come from the kernel.
    RandomState::new().build_hasher().finish()
}
