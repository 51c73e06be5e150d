//! Space to read into, one for each thread: who waits for bytes keeps none of it.

use std::cell::RefCell;

/// Whatever has to outlive a poll is copied out of it.
pub(crate) fn with_scratch<T>(f: impl FnOnce(&mut [u8]) -> T) -> T {
    const SIZE: usize = 32 << 10;
    thread_local! {
        static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; SIZE].into_boxed_slice());
    }
    SCRATCH.with_borrow_mut(|scratch| f(scratch))
}
