//! The target number of a pool's workers.
//!
//! A pool starts with `StartServers`. It grows at once for requests that wait, as far as `MaxRequestWorkers` allows;
//! it forks one, two, four ... 32 in a second to have `MinSpareServers` idle ones (Apache's prefork); and it ends one
//! in a second when more than `MaxSpareServers` are idle. A worker at its last request has its successor forked
//! right then.

use super::WorkerState;
use super::settings::Settings;
use super::state::State;
use crate::backend::Backend;
use std::time::{Duration, Instant};

/// The time a request may wait before another worker is forked for it: much less than a fork takes to pay off, and
/// longer than the wait of the many requests that are served in microseconds.
pub(super) const PATIENCE: Duration = Duration::from_millis(3);
/// Most workers that are forked in a second to be spare.
const FASTEST: usize = 32;
/// Workers that are being forked at the same time, at most.
const AT_ONCE: usize = 32;
/// First and longest pause while workers die and none is of use.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

/// Workers that may die in a row without any request being served, before forking pauses.
const STREAK: u32 = 4;

/// The interval at which failing forks are logged.
const COMPLAINTS: Duration = Duration::from_secs(10);

/// The maintenance's memory of forks.
#[derive(Debug)]
pub(super) struct Pace {
    /// Spare workers to fork in this second.
    rate: usize,
    /// Nothing is forked before.
    pub(super) not_before: Option<Instant>,
    pause: Duration,
    /// Deaths since a request was last served, and how many had been.
    streak: (u32, u64),
    /// When it was last told that a worker can't be made.
    told: Option<Instant>,
}

impl Default for Pace {
    fn default() -> Self {
        Self { rate: 1, not_before: None, pause: PAUSES.0, streak: (0, 0), told: None }
    }
}

impl Pace {
    /// A worker has died, or could not be forked; so many requests have been served by the pool until now.
    pub(super) fn stumbled(&mut self, now: Instant, served: u64) {
        if self.streak.1 != served {
            self.streak = (0, served);
            self.pause = PAUSES.0;
        }
        self.streak.0 += 1;
        if self.streak.0 > STREAK {
            self.not_before = Some(now + self.pause);
            self.pause = (self.pause * 2).min(PAUSES.1);
        }
    }

    /// Returns whether it is to be told that a worker can't be made: now and then, not each time.
    pub(super) fn tells(&mut self, now: Instant) -> bool {
        let tells = self.told.is_none_or(|last| now.duration_since(last) >= COMPLAINTS);
        if tells {
            self.told = Some(now);
        }
        tells
    }
}

/// The number of workers in each state.
struct Census {
    /// Workers that can serve requests to come.
    lasting: usize,
    starting: usize,
    idle: usize,
    /// All but those that are ending.
    running: usize,
}

fn census<B: Backend>(state: &State<B>) -> Census {
    let mut census = Census { lasting: 0, starting: 0, idle: 0, running: 0 };
    for record in state.records.values() {
        census.lasting += usize::from(record.lasts());
        census.starting += usize::from(record.state == WorkerState::Starting);
        census.idle += usize::from(record.state == WorkerState::Idle);
        census.running += usize::from(record.state != WorkerState::Ending);
    }
    census
}

impl<B: Backend> State<B> {
    /// Returns whether a successor is to be forked at once for a worker that is at its last request. Of a reserve, a
    /// quarter may be used up before: several are then forked with one wake-up. What is missing is made up for each
    /// second, too.
    pub(super) fn is_fork_due(&self, settings: &Settings) -> bool {
        let lasting = || self.records.values().filter(|record| record.lasts()).count();
        !settings.one_shot || self.waiting() > 0 || lasting() * 4 <= self.target * 3
    }
}

/// Returns whether requests have waited for long enough that further workers are made for them.
fn is_asked_for<B: Backend>(state: &State<B>, now: Instant) -> bool {
    state.growth_due.is_some_and(|due| due <= now)
}

/// Returns how many to fork now. `second`: once in each second.
pub(super) fn wanted<B: Backend>(
    state: &mut State<B>,
    settings: &Settings,
    pace: &mut Pace,
    now: Instant,
    second: bool,
) -> usize {
    if pace.not_before.is_some_and(|time| now < time) {
        return 0;
    }
    if settings.on_demand && !settings.one_shot && !is_asked_for(state, now) {
        // Nothing is made ahead of need, and to count very many connections at each event costs.
        return 0;
    }
    let most = settings.max_workers.max(1) as usize;
    let Census { lasting, starting, idle, running } = census(state);
    let late = is_asked_for(state, now);
    let waiting = if late { state.waiting() } else { 0 };
    if late {
        state.growth_due = None;
    }
    let mut need = waiting.saturating_sub(starting);
    if settings.one_shot && waiting > 0 {
        // The reserve was too small for the rate at which requests come.
        state.target = (state.target * 2).min(most);
    }
    need = need.max(state.target.saturating_sub(lasting));
    if second {
        let least = if settings.on_demand { 0 } else { settings.min_spare as usize };
        let spare = least.saturating_sub(idle + starting);
        need = need.max(spare.min(pace.rate));
        pace.rate = if spare > 0 { (pace.rate * 2).min(FASTEST) } else { 1 };
    }
    // One at its last request has its place until it is gone, and its successor another: there is no gap.
    let taken = if settings.one_shot { running } else { lasting };
    let room = most.saturating_sub(taken);
    let need = need.min(room).min(AT_ONCE.saturating_sub(starting));
    if need < room && waiting > starting + need {
        // More of them than are forked at once.
        state.growth_due = Some(now + settings.patience);
    }
    if !settings.one_shot && !settings.on_demand {
        state.target = state.target.max(lasting + need);
    }
    need
}

/// Returns whether an idle worker is to be ended now: asked once in each second.
pub(super) fn too_many<B: Backend>(state: &mut State<B>, settings: &Settings) -> bool {
    let most = settings.max_spare.max(settings.min_spare).max(1) as usize;
    let first = settings.first() as usize;
    if settings.one_shot {
        // A reserve of which half was not touched for a second shrinks.
        let unused = state.idle.len() * 2 > state.target && state.target > first;
        state.target -= usize::from(unused);
        return state.idle.len() > state.target.max(most);
    }
    let many = state.idle.len() > most;
    if many && !settings.on_demand {
        state.target = census(state).lasting.saturating_sub(1).max(1);
    }
    many
}
