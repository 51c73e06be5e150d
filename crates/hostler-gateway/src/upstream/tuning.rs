//! Settings of balancers and their members that the operator may change while the server runs (mod_proxy_balancer's
//! `balancer-manager`). They start as in the configuration.

use super::balancer::Method;
use super::member::UpstreamSettings;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// The routes of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    /// `route`
    pub own: Box<str>,
    /// `redirect`
    pub redirect: Box<str>,
}

/// Settings of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberTuning {
    /// `loadfactor`, times 100.
    pub load_factor: u32,
    /// `lbset`
    pub set: u32,
    /// `route` and `redirect`
    pub routes: Routes,
}

impl MemberTuning {
    pub(super) fn of(settings: &UpstreamSettings) -> Self {
        let routes = Routes { own: settings.route.clone(), redirect: settings.redirect.clone() };
        Self { load_factor: settings.load_factor, set: settings.set, routes }
    }
}

/// The present settings of a member, for all threads.
#[derive(Debug)]
pub(super) struct Tuned {
    pub(super) load_factor: AtomicU32,
    pub(super) set: AtomicU32,
    pub(super) routes: RwLock<Arc<Routes>>,
    /// They are not the configuration's any more.
    pub(super) changed: AtomicBool,
}

impl Tuned {
    pub(super) fn of(settings: &UpstreamSettings) -> Self {
        let MemberTuning { load_factor, set, routes } = MemberTuning::of(settings);
        Self {
            load_factor: load_factor.into(),
            set: set.into(),
            routes: RwLock::new(routes.into()),
            changed: AtomicBool::new(false),
        }
    }

    pub(super) fn store(&self, tuning: MemberTuning) {
        self.load_factor.store(tuning.load_factor, Relaxed);
        self.set.store(tuning.set, Relaxed);
        *self.routes.write().unwrap_or_else(PoisonError::into_inner) = tuning.routes.into();
    }
}

/// Settings of a balancer that the operator has changed; `None`: as in the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BalancerTuning {
    /// `lbmethod`
    pub method: Option<Method>,
    /// `timeout`; zero: none.
    pub timeout: Option<Duration>,
    /// `maxattempts`
    pub max_attempts: Option<u32>,
    /// `nofailover`
    pub no_failover: Option<bool>,
    /// `stickysession`: the names of the cookie and of the parameter; inside, `None`: no sessions.
    pub sticky: Option<Option<(Box<str>, Box<str>)>>,
}
