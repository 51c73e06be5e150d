//! Watches the front's threads from outside of them, in a thread that does nothing else, and tells the master whether all
//! of them go on: one that stands still serves none of its clients and can't say so itself.
//!
//! **Runs as** the front. **Diagnostics**: the master's, who also notices when this thread says nothing any more.

use crate::request::thread::SharedState;
use hostler_sys::fdpass::{self, Wait};
use hostler_wire::control::FromFront;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The interval of checks.
const LOOKS: Duration = Duration::from_secs(1);
/// A look that comes later than this says nothing: the machine was busy, or asleep.
const LATE: Duration = Duration::from_millis(1500);
/// So many looks in a row at which a thread has not gone on make it a stuck one.
const STUCK: u32 = 5;
/// Part of the time between two looks, in percent, that a thread may have waited for a processor: with more, it is no
/// wonder that it has not gone on.
const STARVED: u64 = 25;

/// A thread's sign of life: it still goes round its loop.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    /// The kernel's number of the thread; 0: it has not begun.
    thread: AtomicU32,
    turns: AtomicU32,
}

impl Pulse {
    /// To be called by the thread at its start.
    pub(crate) fn begin(&self) {
        self.thread.store(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs(), Relaxed);
    }

    /// To be called by the thread about each second.
    pub(crate) fn beat(&self) {
        self.turns.fetch_add(1, Relaxed);
    }
}

/// The state of a thread at the previous check.
#[derive(Debug, Default)]
struct Observation {
    turns: u32,
    /// Nanoseconds that it has waited for a processor so far.
    waited: u64,
    /// Looks in a row at which it had not gone on.
    still: u32,
}

impl Observation {
    /// Takes note of a look, `elapsed` after the one before; whether the thread is stuck.
    fn look(&mut self, turns: u32, waited: u64, elapsed: Duration) -> bool {
        let moved = std::mem::replace(&mut self.turns, turns) != turns;
        let waits = waited.saturating_sub(std::mem::replace(&mut self.waited, waited));
        let starved = u128::from(waits) * 100 > elapsed.as_nanos() * u128::from(STARVED);
        if moved {
            self.still = 0;
        } else if !starved && elapsed < LATE {
            self.still += 1;
        }
        self.still >= STUCK
    }
}

/// The signs of life of all threads.
pub(crate) struct Pulses(Arc<[Pulse]>);

impl Pulses {
    pub(crate) fn new(threads: usize) -> Self {
        Self((0..threads).map(|_| Pulse::default()).collect())
    }

    /// A thread's own.
    pub(crate) fn of(&self, thread: u32) -> &Pulse {
        &self.0[thread as usize]
    }
}

/// Starts to watch; `control` leads to the master. Says at once that the front is alive.
pub(crate) fn start(shared: &SharedState, control: OwnedFd) -> io::Result<()> {
    let pulses = shared.of::<Pulses>().0.clone();
    tell(&control, FromFront::Alive);
    std::thread::Builder::new().name("front-watch".into()).spawn(move || watch(&pulses, &control)).map(drop)
}

fn watch(pulses: &[Pulse], control: &OwnedFd) {
    let mut watched: Vec<Observation> = pulses.iter().map(|_| Observation::default()).collect();
    let mut last = Instant::now();
    loop {
        std::thread::sleep(LOOKS);
        let elapsed = last.elapsed();
        last = Instant::now();
        let stuck = pulses.iter().zip(&mut watched).find_map(|(pulse, watched)| {
            let thread = pulse.thread.load(Relaxed);
            // One that has not begun has its time from the master, until the front is ready.
            let begun = thread != 0;
            (begun && watched.look(pulse.turns.load(Relaxed), waited(thread), elapsed)).then_some(thread)
        });
        tell(control, stuck.map_or(FromFront::Alive, FromFront::Stuck));
    }
}

/// A master that does not listen is noticed elsewhere.
fn tell(control: &OwnedFd, message: FromFront) {
    let _ = fdpass::send(control.as_fd(), &message.encode(), &[], Wait::No);
}

/// Nanoseconds that a thread has waited for a processor in its life; 0 where the kernel does not tell.
fn waited(thread: u32) -> u64 {
    let told = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).unwrap_or_default();
    told.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_thread_that_has_not_gone_on_for_several_looks_is_stuck() {
        let mut watched = Observation::default();
        assert!(!watched.look(1, 0, LOOKS));
        let stuck: Vec<bool> = (0..STUCK).map(|_| watched.look(1, 0, LOOKS)).collect();
        assert_eq!(stuck.iter().position(|stuck| *stuck), Some(STUCK as usize - 1));
        assert!(!watched.look(2, 0, LOOKS), "it goes on");
    }

    #[test]
    fn a_busy_or_sleeping_machine_makes_no_thread_stuck() {
        let (mut starved, mut late) = (Observation::default(), Observation::default());
        for second in 1..20 {
            assert!(!starved.look(1, second * SECOND / 2, LOOKS), "it had no processor");
            assert!(!late.look(1, 0, LATE * 2), "nobody had");
        }
    }

    #[test]
    fn the_kernel_tells_how_long_a_thread_has_waited() {
        let pulse = Pulse::default();
        pulse.begin();
        let thread = pulse.thread.load(Relaxed);
        assert!(std::path::Path::new(&format!("/proc/self/task/{thread}")).exists());
        assert_eq!(waited(u32::MAX), 0);
    }
}
