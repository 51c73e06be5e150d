//! A server, as all threads see it: what the configuration says of it, how it fares, and what it is at.

use super::balancer::Method;
use super::resolve::{CachedAddresses, NotConnected, Target};
use super::tuning::{MemberTuning, Routes, Tuned};
use crate::lookup::Asker;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// States that an operator sets (`status=`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct States(pub u8);

impl States {
    /// It takes no requests.
    pub const DISABLED: Self = Self(1);
    /// It takes no requests, not even those of its own sessions.
    pub const STOPPED: Self = Self(2);
    /// Errors are no reason to leave it alone.
    pub const IGNORE_ERRORS: Self = Self(4);
    /// It takes requests where all the others can't.
    pub const HOT_STANDBY: Self = Self(8);
    /// It takes requests of its own sessions only.
    pub const DRAIN: Self = Self(16);
    /// It takes requests in the place of others of its set that can't.
    pub const HOT_SPARE: Self = Self(32);
    /// It begins in error.
    pub const ERROR: Self = Self(64);

    /// Returns whether all of these hold.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// In words, as Apache's status page has them.
    #[must_use]
    pub fn words(self) -> Vec<&'static str> {
        let all = [
            (Self::IGNORE_ERRORS, "Ign"),
            (Self::DRAIN, "Drn"),
            (Self::DISABLED, "Dis"),
            (Self::STOPPED, "Stop"),
            (Self::HOT_STANDBY, "Stby"),
            (Self::HOT_SPARE, "Spar"),
        ];
        all.into_iter().filter(|(state, _)| self.has(*state)).map(|(_, word)| word).collect()
    }
}

/// The configuration of a server.
#[derive(Clone, Debug)]
pub struct UpstreamSettings {
    /// `loadfactor`, times 100.
    pub load_factor: u32,
    /// `route`
    pub route: Box<str>,
    /// `redirect`
    pub redirect: Box<str>,
    /// `status`
    pub states: States,
    /// `retry`
    pub retry: Duration,
    /// `lbset`
    pub set: u32,
    /// `max`
    pub max: Option<u32>,
    /// `acquire`
    pub acquire: Duration,
    /// `ttl`
    pub idle: Duration,
    /// `smax`: most idle connections of a thread.
    pub keep: usize,
    /// `enablereuse`
    pub reuse: bool,
    /// `addressttl`
    pub address_ttl: Duration,
    /// `keepalive`
    pub keep_alive: bool,
    /// `receivebuffersize`, in bytes; `None`: what the kernel finds right.
    pub receive_buffer: Option<u32>,
}

/// The age that a failure may have when a server is created.
const BEFORE: Duration = Duration::from_secs(3600);

impl Default for UpstreamSettings {
    fn default() -> Self {
        Self {
            load_factor: 100,
            route: "".into(),
            redirect: "".into(),
            states: States::default(),
            retry: Duration::from_secs(60),
            set: 0,
            max: None,
            acquire: Duration::ZERO,
            idle: Duration::from_secs(60),
            keep: 256,
            reuse: true,
            address_ttl: Duration::from_secs(60),
            keep_alive: false,
            receive_buffer: None,
        }
    }
}

/// The health of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Nothing is known against it.
    Fine,
    /// It has failed, so long ago.
    Failed(Duration),
}

/// A server.
#[derive(Debug)]
pub struct Upstream {
    pub(super) id: u64,
    name: Box<str>,
    target: Target,
    pub(super) settings: UpstreamSettings,
    pub(super) known: Mutex<CachedAddresses>,
    /// Its name is asked for by one at a time.
    pub(super) asker: Asker,
    states: AtomicU8,
    /// The states are not the configuration's any more.
    changed: AtomicBool,
    /// Settings that the operator has changed.
    pub(super) tuned: Tuned,
    /// It has failed its checks.
    unchecked: AtomicBool,
    /// Milliseconds from `since` to its last failure, and 1; 0: it fares well.
    failed: AtomicU64,
    since: Instant,
    pub(super) busy: AtomicU32,
    pub(super) chosen: AtomicU64,
    pub(super) sent: AtomicU64,
    pub(super) received: AtomicU64,
    failures: AtomicU64,
    pub(super) score: AtomicI64,
    limit: Option<Arc<Semaphore>>,
}

/// A request that a server is at.
#[derive(Debug)]
pub struct Usage {
    upstream: Arc<Upstream>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Drop for Usage {
    fn drop(&mut self) {
        self.upstream.busy.fetch_sub(1, Relaxed);
    }
}

impl Upstream {
    /// A server that is called so.
    #[must_use]
    pub fn new(name: &str, target: Target, settings: UpstreamSettings) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let limit = settings.max.map(|max| Arc::new(Semaphore::new(max as usize)));
        let failed = u64::from(settings.states.has(States::ERROR));
        Arc::new(Self {
            id: NEXT.fetch_add(1, Relaxed),
            name: name.into(),
            target,
            known: Mutex::default(),
            asker: Asker::new(1),
            states: AtomicU8::new(settings.states.0),
            changed: AtomicBool::new(false),
            tuned: Tuned::of(&settings),
            unchecked: AtomicBool::new(false),
            settings,
            failed: AtomicU64::new(failed),
            // So that it can have failed before it was known here.
            since: Instant::now().checked_sub(BEFORE).unwrap_or_else(Instant::now),
            busy: AtomicU32::new(0),
            chosen: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            score: AtomicI64::new(0),
            limit,
        })
    }

    /// Its URL.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its address.
    #[must_use]
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// Returns its configuration.
    #[must_use]
    pub const fn settings(&self) -> &UpstreamSettings {
        &self.settings
    }

    /// Returns the states that the operator has set.
    #[must_use]
    pub fn states(&self) -> States {
        States(self.states.load(Relaxed))
    }

    /// Sets what the operator wants; `None`: what the configuration says.
    pub fn set_states(&self, states: Option<States>) {
        self.states.store(states.unwrap_or(self.settings.states).0, Relaxed);
        self.changed.store(states.is_some(), Relaxed);
    }

    /// Returns the states that the operator has set, if they differ from the configuration.
    #[must_use]
    pub fn changed_states(&self) -> Option<States> {
        self.changed.load(Relaxed).then(|| self.states())
    }

    /// Returns its present `loadfactor`, times 100.
    #[must_use]
    pub fn load_factor(&self) -> u32 {
        self.tuned.load_factor.load(Relaxed)
    }

    /// Returns its present `lbset`.
    #[must_use]
    pub fn set(&self) -> u32 {
        self.tuned.set.load(Relaxed)
    }

    /// Returns its present routes.
    #[must_use]
    pub fn routes(&self) -> Arc<Routes> {
        self.tuned.routes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the settings that the operator has set, if any were.
    #[must_use]
    pub fn changed_tuning(&self) -> Option<MemberTuning> {
        self.tuned.changed.load(Relaxed).then(|| self.tuning())
    }

    /// Returns the present values of the settings that the operator may change.
    #[must_use]
    pub fn tuning(&self) -> MemberTuning {
        MemberTuning { load_factor: self.load_factor(), set: self.set(), routes: (*self.routes()).clone() }
    }

    /// Sets them; `None`: as in the configuration.
    pub fn tune(&self, tuning: Option<MemberTuning>) {
        let is_changed = tuning.is_some();
        self.tuned.store(tuning.unwrap_or_else(|| MemberTuning::of(&self.settings)));
        self.tuned.changed.store(is_changed, Relaxed);
    }

    /// Returns its place in the balancer's order: of equal loads the highest is chosen.
    #[must_use]
    pub fn score(&self) -> i64 {
        self.score.load(Relaxed)
    }

    /// Returns whether it has failed its checks, and not passed them again.
    #[must_use]
    pub fn has_failed_checks(&self) -> bool {
        self.unchecked.load(Relaxed)
    }

    /// Says whether it has failed its checks.
    pub fn set_failed_checks(&self, failed: bool) {
        self.unchecked.store(failed, Relaxed);
    }

    /// It has failed so long ago, as another front knows.
    pub fn failed_before(&self, ago: Duration) {
        let at = self.since.elapsed().saturating_sub(ago).as_millis() as u64;
        self.failed.store(at + 1, Relaxed);
    }

    /// Returns its health.
    #[must_use]
    pub fn health(&self) -> Health {
        match self.failed.load(Relaxed) {
            0 => Health::Fine,
            at => Health::Failed(self.since.elapsed().saturating_sub(Duration::from_millis(at - 1))),
        }
    }

    /// Returns whether requests may go to it. One that has failed `retry` ago fares well again until it fails again.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        let states = self.states();
        if states.has(States::DISABLED) || states.has(States::STOPPED) || self.has_failed_checks() {
            return false;
        }
        match self.health() {
            Health::Fine => true,
            Health::Failed(_) if states.has(States::IGNORE_ERRORS) => true,
            Health::Failed(ago) if ago >= self.settings.retry => {
                self.recover();
                true
            }
            Health::Failed(_) => false,
        }
    }

    /// It has failed: it is left alone for a while.
    pub fn fail(&self) {
        self.failures.fetch_add(1, Relaxed);
        if !self.states().has(States::IGNORE_ERRORS) {
            self.failed.store(self.since.elapsed().as_millis() as u64 + 1, Relaxed);
        }
    }

    /// It may be asked again.
    pub fn recover(&self) {
        self.failed.store(0, Relaxed);
    }

    /// Begins a request with it.
    ///
    /// # Errors
    /// As many as it may have are being served, and that has not changed while one waited.
    pub async fn enter(self: &Arc<Self>) -> Result<Usage, NotConnected> {
        if let Some(usage) = self.try_enter() {
            return Ok(usage);
        }
        let Some(limit) = self.limit.clone() else { return Err(NotConnected::Full) };
        let waited = timeout(self.settings.acquire, limit.acquire_owned()).await;
        let permit = waited.ok().and_then(Result::ok).ok_or(NotConnected::Full)?;
        Ok(self.used(Some(permit)))
    }

    /// The same without waiting; `None`: as many as it may have are being served.
    #[must_use]
    pub fn try_enter(self: &Arc<Self>) -> Option<Usage> {
        let permit = match &self.limit {
            None => None,
            Some(limit) => Some(limit.clone().try_acquire_owned().ok()?),
        };
        Some(self.used(permit))
    }

    fn used(self: &Arc<Self>, permit: Option<OwnedSemaphorePermit>) -> Usage {
        self.busy.fetch_add(1, Relaxed);
        self.chosen.fetch_add(1, Relaxed);
        Usage { upstream: self.clone(), _permit: permit }
    }

    /// Counts bytes of bodies.
    pub fn count(&self, sent: u64, received: u64) {
        self.sent.fetch_add(sent, Relaxed);
        self.received.fetch_add(received, Relaxed);
    }

    /// Requests that it is at, that it has had, that failed; bytes sent to it and received.
    #[must_use]
    pub fn figures(&self) -> [u64; 5] {
        let busy = u64::from(self.busy.load(Relaxed));
        let [chosen, failures] = [&self.chosen, &self.failures].map(|all| all.load(Relaxed));
        [busy, chosen, failures, self.sent.load(Relaxed), self.received.load(Relaxed)]
    }

    /// Returns its load as a balancer measures it: the lowest is chosen.
    pub(super) fn load(&self, method: Method) -> u64 {
        match method {
            Method::ByRequests => 0,
            Method::ByTraffic => {
                let bytes = self.sent.load(Relaxed) + self.received.load(Relaxed);
                bytes.saturating_mul(100) / u64::from(self.load_factor().max(1))
            }
            Method::ByBusyness => u64::from(self.busy.load(Relaxed)),
        }
    }
}
