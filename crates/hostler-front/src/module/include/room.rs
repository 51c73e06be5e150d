//! The memory that pages of a site take in a thread, in the cache or in use: a page that is sent slowly is kept as long
//! as that takes.

use std::cell::Cell;
use std::rc::Rc;

/// Most bytes of a site's pages, for each thread of the front.
const MOST: usize = 48 << 20;

/// The used part.
#[derive(Debug, Default)]
pub(crate) struct Room {
    used: Cell<usize>,
}

/// A part of it, until it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    room: Rc<Room>,
    bytes: usize,
}

impl Room {
    /// Takes so many bytes, if they are there.
    pub(super) fn take(self: &Rc<Self>, bytes: usize) -> Option<Share> {
        let used = self.used.get().checked_add(bytes).filter(|used| *used <= MOST)?;
        self.used.set(used);
        Some(Share { room: self.clone(), bytes })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.room.used.set(self.room.used.get().saturating_sub(self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_can_be_taken_again() {
        let room = Rc::new(Room::default());
        let half = room.take(MOST / 2).unwrap();
        assert!(room.take(MOST / 2 + 1).is_none());
        let _other = room.take(MOST / 2).unwrap();
        assert!(room.take(1).is_none());
        drop(half);
        assert!(room.take(1).is_some() && room.take(usize::MAX).is_none());
    }
}
