//! Waits in tests for events: polls until the event occurs, however long that takes. `cargo xtask check` requires a
//! reason for every other pause.

use std::time::{Duration, Instant};

/// The time after which a test fails: longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until there is something.
///
/// # Panics
/// It does not come.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        // Time: looks again.
        std::thread::sleep(PAUSE);
    }
}

/// Waits until it is so.
///
/// # Panics
/// It does not become so.
#[track_caller]
pub fn await_that(what: &str, mut holds: impl FnMut() -> bool) {
    until(what, || holds().then_some(()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_until_there_is_something() {
        let mut looks = 0;
        let found = until("the third look", || {
            looks += 1;
            (looks == 3).then_some("it")
        });
        assert_eq!((found, looks), ("it", 3));
        await_that("what is so", || true);
    }
}
