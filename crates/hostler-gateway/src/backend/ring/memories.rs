//! The memory that workers share with the front. A worker that serves one request leaves its own to a later one: making
//! and mapping it anew would cost more than all else that is done here for such a request.

use hostler_ring::Memory;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

/// The most that are kept.
const KEPT: usize = 64;

/// One worker's memory, and the descriptor that it is given.
type Shared = (Arc<Memory>, Rc<OwnedFd>);

/// Memories that are in use, or were.
#[derive(Debug, Default)]
pub(crate) struct Memories(Vec<Shared>);

impl Memories {
    /// For a worker that serves many requests.
    pub(crate) fn lasting() -> io::Result<Shared> {
        let (memory, descriptor) = Memory::create()?;
        Ok((memory, Rc::new(descriptor)))
    }

    /// For a worker that serves one: what nobody holds any more, made as new, if there is one.
    pub(crate) fn passing(&mut self) -> io::Result<Shared> {
        let free = self.0.iter_mut().position(|(memory, _)| Memory::renew(memory));
        let shared = match free {
            Some(free) => self.0.remove(free),
            None => Self::lasting()?,
        };
        // In the order of their use: the oldest is most likely free.
        self.0.push(shared.clone());
        if self.0.len() > KEPT {
            self.0.remove(0);
        }
        Ok(shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_when_nobody_holds_it() {
        let mut memories = Memories::default();
        let (first, second) = (memories.passing().unwrap(), memories.passing().unwrap());
        assert!(!Arc::ptr_eq(&first.0, &second.0));
        let known = Arc::as_ptr(&first.0);
        drop(first);
        assert_eq!(Arc::as_ptr(&memories.passing().unwrap().0), known);
        drop(second);
    }
}
