//! The warm parents of pools: what each of them has loaded, and how it is told of a further front.
//!
//! A parent that was started for the front of one generation works for that of the next one, too, where both want the
//! same of it. It is a program of the tenant's like all others here: it is told, never listened to.

use hostler_sys::fdpass::{self, Wait};
use hostler_wire::engine::ToEngine;
use hostler_wire::site::Warm;
use std::os::fd::{AsFd, OwnedFd};

/// A parent that has been started.
#[derive(Debug)]
pub(crate) struct Parent {
    warm: Warm,
    /// Our end of the socket at which it listens.
    door: OwnedFd,
}

impl Parent {
    pub(crate) fn new(warm: Warm, door: OwnedFd) -> Self {
        Self { warm, door }
    }

    /// The pool that it belongs to.
    pub(crate) fn pool(&self) -> &str {
        &self.warm.pool
    }

    /// Returns whether that is what is asked for now.
    pub(crate) fn has_loaded(&self, wanted: &Warm) -> bool {
        self.warm.key == wanted.key && self.warm.pool == wanted.pool
    }

    /// Passes it the descriptors of a further front. `false`: it does not listen.
    pub(crate) fn tell(&self, front: &[OwnedFd; 3]) -> bool {
        let mut bytes = Vec::new();
        if ToEngine::Adopt.encode(front.len(), &mut bytes).is_err() {
            return false;
        }
        let sent = fdpass::send(self.door.as_fd(), &bytes, &front.each_ref().map(AsFd::as_fd), Wait::No);
        sent.is_ok_and(|sent| sent == bytes.len())
    }
}
