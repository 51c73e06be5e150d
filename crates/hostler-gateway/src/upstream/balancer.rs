//! The choice between several servers for a request (`mod_proxy_balancer`, `mod_lbmethod_*`).

use super::member::{States, Upstream};
use super::session::Session;
use super::tuning::BalancerTuning;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The method by which a balancer chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// By how many requests members have had.
    #[default]
    ByRequests,
    /// By how many bytes.
    ByTraffic,
    /// By how many they are at.
    ByBusyness,
}

/// Several servers that do the same.
#[derive(Debug)]
pub struct Balancer {
    name: Box<str>,
    members: Vec<Arc<Upstream>>,
    method: Method,
    /// A session whose member can't answer is not another one's.
    no_failover: bool,
    /// If all have failed, they are tried at once.
    force_recovery: bool,
    /// The operator's changes.
    tuning: RwLock<Arc<BalancerTuning>>,
    /// Held while one is chosen: scores change together.
    choosing: Mutex<()>,
}

/// The facts of a request that matter for the choice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice<'a> {
    /// The session that it belongs to.
    pub session: Option<&'a Session>,
    /// Members that it has been sent to in vain, by their index.
    pub tried: &'a [usize],
}

/// A member that is to take a request.
#[derive(Clone, Debug)]
pub struct ChosenMember {
    /// The member.
    pub member: Arc<Upstream>,
    /// Its index.
    pub index: usize,
    /// It is not the session's own, or there is no session.
    pub route_changed: bool,
}

/// No member can take the request now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMember {
    /// None of all.
    Usable,
    /// The session's own can't, and no other may.
    OfSession,
}

impl Balancer {
    /// A balancer of these members.
    #[must_use]
    pub fn new(
        name: &str,
        members: Vec<Arc<Upstream>>,
        method: Method,
        no_failover: bool,
        force_recovery: bool,
    ) -> Self {
        let (tuning, choosing) = (RwLock::default(), Mutex::default());
        Self { name: name.into(), members, method, no_failover, force_recovery, tuning, choosing }
    }

    /// Returns the operator's changes.
    #[must_use]
    pub fn tuning(&self) -> Arc<BalancerTuning> {
        self.tuning.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the operator's changes, instead of earlier ones.
    pub fn tune(&self, tuning: BalancerTuning) {
        *self.tuning.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(tuning);
    }

    /// Returns the method by which it chooses now.
    #[must_use]
    pub fn method(&self) -> Method {
        self.tuning().method.unwrap_or(self.method)
    }

    /// Returns whether a session waits for its own member now.
    #[must_use]
    pub fn no_failover(&self) -> bool {
        self.tuning().no_failover.unwrap_or(self.no_failover)
    }

    /// Starts the scores again after a change of load factors, as Apache does: a member alone has the factor 1.
    pub fn reset_scores(&self) {
        let _choosing = self.choosing.lock().unwrap_or_else(PoisonError::into_inner);
        if let [alone] = &*self.members {
            alone.tuned.load_factor.store(100, Relaxed);
        }
        for member in &self.members {
            member.score.store(member.load_factor().into(), Relaxed);
        }
    }

    /// Its name, without `balancer://`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The members, in the configuration's order.
    #[must_use]
    pub fn members(&self) -> &[Arc<Upstream>] {
        &self.members
    }

    /// Chooses a member for a request.
    ///
    /// # Errors
    /// There is none.
    pub fn choose(&self, choice: Choice<'_>) -> Result<ChosenMember, NoMember> {
        let _choosing = self.choosing.lock().unwrap_or_else(PoisonError::into_inner);
        self.recover();
        let route =
            choice.session.and_then(|session| session.route.as_deref()).filter(|route| !route.is_empty());
        if let Some(route) = route {
            if let Some((index, is_own)) = self.of_route(route, choice.tried) {
                self.note(index);
                return Ok(self.chosen(index, !is_own));
            }
            if self.no_failover() && self.members.iter().any(|member| *member.routes().own == *route) {
                return Err(NoMember::OfSession);
            }
        }
        let index = self.best(choice.tried).ok_or(NoMember::Usable)?;
        Ok(self.chosen(index, true))
    }

    fn chosen(&self, index: usize, route_changed: bool) -> ChosenMember {
        ChosenMember { member: self.members[index].clone(), index, route_changed }
    }

    /// All in error is none in error: somebody has to be asked whether it is over.
    fn recover(&self) {
        let has_failed =
            |member: &Arc<Upstream>| !member.is_usable() && !matches!(member.health(), super::Health::Fine);
        if self.force_recovery && !self.members.is_empty() && self.members.iter().all(has_failed) {
            self.members.iter().for_each(|member| member.recover());
        }
    }

    /// The member of a session's route, or the one that takes over for it.
    fn of_route(&self, route: &str, tried: &[usize]) -> Option<(usize, bool)> {
        let at = self.members.iter().position(|member| *member.routes().own == *route)?;
        let may = |index: usize| !tried.contains(&index) && self.members[index].is_usable();
        if may(at) {
            return Some((at, true));
        }
        let redirect = &self.members[at].routes().redirect;
        let other = self
            .members
            .iter()
            .position(|member| !redirect.is_empty() && member.routes().own == *redirect)?;
        may(other).then_some((other, false))
    }

    /// A member that was not chosen by its score has served one more all the same.
    fn note(&self, index: usize) {
        if self.method() != Method::ByRequests {
            return;
        }
        let all: Vec<usize> =
            (0..self.members.len()).filter(|index| self.members[*index].is_usable()).collect();
        self.settle(&all, index);
    }

    fn best(&self, tried: &[usize]) -> Option<usize> {
        let is = |index: usize, state| self.members[index].states().has(state);
        let may: Vec<usize> = (0..self.members.len())
            .filter(|index| {
                !tried.contains(index) && !is(*index, States::DRAIN) && self.members[*index].is_usable()
            })
            .collect();
        let mut sets: Vec<u32> = self.members.iter().map(|member| member.set()).collect();
        sets.sort_unstable();
        sets.dedup();
        let of = |set: u32, standby: bool| -> Vec<usize> {
            let all = may.iter().copied().filter(|index| self.members[*index].set() == set);
            all.filter(|index| is(*index, States::HOT_STANDBY) == standby).collect()
        };
        for standby in [false, true] {
            for set in &sets {
                let candidates = self.with_spares(&of(*set, standby), *set, standby);
                if let Some(index) = self.best_of(&candidates) {
                    return Some(index);
                }
            }
        }
        None
    }

    /// Members of a set, with so many of its spares as others of it can't take requests.
    fn with_spares(&self, may: &[usize], set: u32, standby: bool) -> Vec<usize> {
        let is_spare = |index: &usize| self.members[*index].states().has(States::HOT_SPARE);
        let (spares, mut candidates): (Vec<usize>, Vec<usize>) = may.iter().copied().partition(is_spare);
        let wanted = (0..self.members.len())
            .filter(|index| {
                let member = &self.members[*index];
                member.set() == set && !is_spare(index) && member.states().has(States::HOT_STANDBY) == standby
            })
            .count();
        let missing = wanted.saturating_sub(candidates.len());
        candidates.extend(spares.into_iter().take(missing));
        candidates
    }

    fn best_of(&self, candidates: &[usize]) -> Option<usize> {
        let score = |index: usize| {
            let member = &self.members[index];
            member.score.load(Relaxed) + i64::from(member.load_factor())
        };
        let method = self.method();
        let mut best: Option<usize> = None;
        for &index in candidates {
            let better = best.is_none_or(|best| {
                let (load, least) = (self.members[index].load(method), self.members[best].load(method));
                load < least || (load == least && score(index) > score(best))
            });
            if better {
                best = Some(index);
            }
        }
        self.settle(candidates, best?);
        best
    }

    /// Each candidate's claim grows by its factor; who was chosen has had its share.
    fn settle(&self, candidates: &[usize], chosen: usize) {
        let mut total = 0;
        for &index in candidates {
            let factor = i64::from(self.members[index].load_factor());
            self.members[index].score.fetch_add(factor, Relaxed);
            total += factor;
        }
        self.members[chosen].score.fetch_sub(total, Relaxed);
    }
}

#[cfg(test)]
mod tests;
