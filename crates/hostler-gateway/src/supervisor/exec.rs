//! Programs that are started for one request each (CGI): how many run at once, for each site and in all. Who would be
//! one too many waits, first come, first served within a site; among sites, the one that has the fewest goes first, so
//! that one site's queue does not stand before another's. The last places are for sites that have no program: whatever
//! some sites run, another one's first program does not wait for theirs.
//!
//! The front's threads share it; nobody but requests for such programs comes here. It is no
//! [`Supervisor`](super::Supervisor) of a pool: no worker is there before its request, none is idle after it, and what
//! is scheduled is not one site's workers but all sites' (docs/decisions/0033). The program itself is started by the
//! site's process, for the thread whose request it is, and watched over as a [`Process`](super::Process).

use crate::{Error, Kind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// The limits for the programs of one request's virtual host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// `HostlerSitePrograms`: programs of the site.
    pub most: usize,
    /// `HostlerQueueLength`: requests of the site that wait.
    pub queue_length: usize,
    /// `HostlerQueueTimeout`: how long.
    pub queue_timeout: Duration,
}

/// Most places that are kept for sites without a program.
const MOST_RESERVED: usize = 16;

/// The number of a site's running programs, and of requests waiting to run one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Programs.
    pub running: usize,
    /// Requests.
    pub waiting: usize,
}

/// All programs of a front.
#[derive(Debug)]
pub struct Programs {
    /// `MaxRequestWorkers`; where there are several sites, no less than two.
    most: usize,
    /// The number of places that go only to a site without a program.
    reserved: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    sites: Vec<Site>,
    /// The sites with waiting requests.
    waiting: BTreeSet<usize>,
    /// The number of the next request that waits.
    next: u64,
}

#[derive(Debug, Default)]
struct Site {
    running: usize,
    /// In the order in which they came.
    queue: BTreeMap<u64, Waiter>,
}

#[derive(Debug)]
struct Waiter {
    most: usize,
    tell: oneshot::Sender<Permit>,
}

/// The right to have one program run, for as long as it does.
#[derive(Debug)]
pub struct Permit {
    /// `None`: it has been taken back.
    programs: Option<Arc<Programs>>,
    site: usize,
}

impl Programs {
    /// `most`: in all; `sites`: how many sites there are.
    #[must_use]
    pub fn new(most: usize, sites: usize) -> Arc<Self> {
        let (most, reserved) = match sites {
            0 | 1 => (most.max(1), 0),
            _ => (most.max(2), (most / 8).clamp(1, MOST_RESERVED)),
        };
        let sites = (0..sites).map(|_| Site::default()).collect();
        Arc::new(Self { most, reserved, state: Mutex::new(State { sites, ..State::default() }) })
    }

    /// Returns true if a site that runs `of_site` programs may start another while `in_all` run.
    fn has_room(&self, of_site: usize, in_all: usize) -> bool {
        let reserved = if of_site == 0 { 0 } else { self.reserved };
        in_all + reserved < self.most
    }

    /// Waits until one more program of the site may run. Must be called within a tokio runtime with time.
    ///
    /// # Errors
    /// As many wait as may, or it took too long.
    ///
    /// # Panics
    /// If there is no such site.
    pub async fn enter(self: &Arc<Self>, site: usize, bounds: Bounds) -> Result<Permit, Error> {
        let (number, mut told) = match self.ask(site, bounds)? {
            Asked::Now(permit) => return Ok(permit),
            Asked::Later(number, told) => (number, told),
        };
        // However this ends, also when the client goes away: nobody is left in the queue.
        let waits = Waits { programs: self, site, number };
        let granted = tokio::time::timeout(bounds.queue_timeout, &mut told).await;
        drop(waits);
        match granted {
            Ok(Ok(permit)) => Ok(permit),
            // It may have come in this very moment.
            _ => told.try_recv().map_err(|_| self.refused(Kind::QueueTimeout, site, bounds)),
        }
    }

    /// Returns the figures of a site.
    #[must_use]
    pub fn figures(&self, site: usize) -> Figures {
        let state = self.state();
        let figures = |site: &Site| Figures { running: site.running, waiting: site.queue.len() };
        state.sites.get(site).map(figures).unwrap_or_default()
    }

    fn ask(self: &Arc<Self>, site: usize, bounds: Bounds) -> Result<Asked, Error> {
        let mut state = self.state();
        let has_room = self.has_room(state.sites[site].running, state.running);
        let at = &mut state.sites[site];
        if has_room && at.running < bounds.most && at.queue.is_empty() {
            at.running += 1;
            state.running += 1;
            return Ok(Asked::Now(Permit { programs: Some(self.clone()), site }));
        }
        if at.queue.len() >= bounds.queue_length {
            drop(state);
            return Err(self.refused(Kind::QueueFull, site, bounds));
        }
        let number = state.next;
        let (tell, told) = oneshot::channel();
        state.next += 1;
        state.waiting.insert(site);
        state.sites[site].queue.insert(number, Waiter { most: bounds.most.max(1), tell });
        Ok(Asked::Later(number, told))
    }

    /// The refusal, with the bound that was reached.
    fn refused(&self, kind: Kind, site: usize, bounds: Bounds) -> Error {
        let running = self.figures(site).running;
        let bound = if running >= bounds.most { "HostlerSitePrograms" } else { "MaxRequestWorkers" };
        let (queue, seconds) = match kind {
            Kind::QueueFull => (format!("HostlerQueueLength is {}", bounds.queue_length), 2),
            _ => (format!("HostlerQueueTimeout is {} s", bounds.queue_timeout.as_secs_f32()), 5),
        };
        let why = format!("{running} programs of the site are running: {bound}; {queue}");
        Error::because(kind, why).retry_after(seconds)
    }

    /// A program has ended.
    fn leave(self: &Arc<Self>, site: usize) {
        let mut state = self.state();
        state.sites[site].running -= 1;
        state.running -= 1;
        self.grant(state);
    }

    /// Lets those go on for whom there is room.
    fn grant<'a>(self: &'a Arc<Self>, mut state: MutexGuard<'a, State>) {
        while let Some((site, waiter)) = state.next(|of_site, in_all| self.has_room(of_site, in_all)) {
            // Told without the lock, and one who has gone meanwhile gives the permit back.
            drop(state);
            let unwanted = waiter.tell.send(Permit { programs: Some(self.clone()), site }).err();
            state = self.state();
            if let Some(mut permit) = unwanted {
                permit.programs = None;
                state.sites[site].running -= 1;
                state.running -= 1;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns the next request if there is room, counted as running.
    fn next(&mut self, has_room: impl Fn(usize, usize) -> bool) -> Option<(usize, Waiter)> {
        let may_go = |site: &Site| {
            let first = site.queue.first_key_value();
            has_room(site.running, self.running) && first.is_some_and(|(_, w)| site.running < w.most)
        };
        let candidates = self.waiting.iter().map(|index| (*index, &self.sites[*index]));
        let (index, _) = candidates.filter(|(_, site)| may_go(site)).min_by_key(|(_, site)| {
            (site.running, site.queue.first_key_value().map(|(number, _)| *number))
        })?;
        let site = &mut self.sites[index];
        let (_, waiter) = site.queue.pop_first()?;
        if site.queue.is_empty() {
            self.waiting.remove(&index);
        }
        site.running += 1;
        self.running += 1;
        Some((index, waiter))
    }
}

enum Asked {
    Now(Permit),
    Later(u64, oneshot::Receiver<Permit>),
}

/// A place in the queue.
struct Waits<'a> {
    programs: &'a Arc<Programs>,
    site: usize,
    number: u64,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let mut state = self.programs.state();
        let queue = &mut state.sites[self.site].queue;
        if queue.remove(&self.number).is_some() {
            if queue.is_empty() {
                state.waiting.remove(&self.site);
            }
            // The one behind it may have another bound.
            self.programs.grant(state);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(programs) = self.programs.take() {
            programs.leave(self.site);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    const BOUNDS: Bounds = Bounds { most: 2, queue_length: 3, queue_timeout: Duration::from_secs(60) };

    fn poll<T>(future: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn now(programs: &Arc<Programs>, site: usize) -> Permit {
        match poll(pin!(programs.enter(site, BOUNDS))) {
            Poll::Ready(Ok(permit)) => permit,
            other => panic!("{other:?}"),
        }
    }

    fn figures(running: usize, waiting: usize) -> Figures {
        Figures { running, waiting }
    }

    #[tokio::test]
    async fn within_a_site_who_comes_first_goes_first() {
        let programs = Programs::new(10, 1);
        let (first, _second) = (now(&programs, 0), now(&programs, 0));
        let (mut a, mut b) = (pin!(programs.enter(0, BOUNDS)), pin!(programs.enter(0, BOUNDS)));
        assert!(poll(a.as_mut()).is_pending() && poll(b.as_mut()).is_pending());
        assert_eq!(programs.figures(0), figures(2, 2));
        drop(first);
        assert!(poll(b.as_mut()).is_pending());
        let Poll::Ready(Ok(_third)) = poll(a.as_mut()) else { panic!("it was first") };
        assert_eq!(programs.figures(0), figures(2, 1));
    }

    #[tokio::test]
    async fn the_site_that_has_the_fewest_goes_first() {
        let programs = Programs::new(4, 2);
        let (one, _two, _three) = (now(&programs, 0), now(&programs, 0), now(&programs, 1));
        let all = Bounds { most: 9, ..BOUNDS };
        let mut greedy = pin!(programs.enter(0, all));
        let mut modest = pin!(programs.enter(1, all));
        assert!(poll(greedy.as_mut()).is_pending() && poll(modest.as_mut()).is_pending());
        drop(one);
        // Each has one: who has waited longer goes first.
        let Poll::Ready(Ok(again)) = poll(greedy.as_mut()) else { panic!("it was first") };
        let mut greedier = pin!(programs.enter(0, all));
        assert!(poll(greedier.as_mut()).is_pending() && poll(modest.as_mut()).is_pending());
        drop(again);
        let Poll::Ready(Ok(_five)) = poll(modest.as_mut()) else { panic!("the other one has more") };
    }

    #[tokio::test]
    async fn no_site_has_the_last_places_at_any_setting() {
        let all = Bounds { most: usize::MAX, queue_length: 0, ..BOUNDS };
        for most in [1, 2, 3, 8, 16, 17, 64, 256] {
            let programs = Programs::new(most, 3);
            let mut greedy = Vec::new();
            while let Ok(permit) = programs.enter(0, all).await {
                greedy.push(permit);
            }
            assert!(!greedy.is_empty() && greedy.len() < most.max(2), "{most}: {}", greedy.len());
            let first = programs.enter(1, all).await;
            assert!(first.is_ok(), "{most}: another site waits");
            assert!(
                programs.enter(1, all).await.is_err(),
                "{most}: it has a program, and no other place is left"
            );
        }
        assert_eq!(Programs::new(5, 1).reserved, 0, "a single site has all");
    }

    #[tokio::test]
    async fn a_full_queue_refuses_and_tells_the_bound() {
        let programs = Programs::new(10, 1);
        let _running = (now(&programs, 0), now(&programs, 0));
        let mut waiting: Vec<_> = (0..3).map(|_| Box::pin(programs.enter(0, BOUNDS))).collect();
        assert!(waiting.iter_mut().all(|one| poll(one.as_mut()).is_pending()));
        let refused = programs.enter(0, BOUNDS).await.unwrap_err();
        assert_eq!((refused.kind, refused.status(), refused.retry_after), (Kind::QueueFull, 503, Some(2)));
        assert!(
            refused
                .to_string()
                .contains("2 programs of the site are running: HostlerSitePrograms; HostlerQueue")
        );
        // Who goes away leaves a place.
        waiting.pop();
        assert_eq!(programs.figures(0), figures(2, 2));
        let mut another = pin!(programs.enter(0, BOUNDS));
        assert!(poll(another.as_mut()).is_pending());
    }

    #[tokio::test]
    async fn who_waits_for_too_long_is_told_so_and_leaves_nothing_behind() {
        let programs = Programs::new(2, 3);
        let running = (now(&programs, 1), now(&programs, 2));
        let late = programs.enter(0, Bounds { queue_timeout: Duration::ZERO, ..BOUNDS }).await.unwrap_err();
        assert_eq!((late.kind, late.retry_after.is_some()), (Kind::QueueTimeout, true));
        assert!(late.to_string().contains("MaxRequestWorkers"), "{late}");
        assert_eq!(programs.figures(0), figures(0, 0));
        drop(running);
        drop(now(&programs, 0));
        assert_eq!(programs.state().running, 0);
    }

    #[tokio::test]
    async fn a_place_that_nobody_takes_goes_to_the_next() {
        let programs = Programs::new(1, 1);
        let running = now(&programs, 0);
        let mut gone = Box::pin(programs.enter(0, BOUNDS));
        let mut next = pin!(programs.enter(0, BOUNDS));
        assert!(poll(gone.as_mut()).is_pending() && poll(next.as_mut()).is_pending());
        drop(running);
        // The permit has been sent, and is never looked at.
        drop(gone);
        let Poll::Ready(Ok(permit)) = poll(next.as_mut()) else { panic!("nobody got it") };
        drop(permit);
        assert_eq!(programs.figures(0), figures(0, 0));
        assert_eq!(programs.state().running, 0);
    }
}
