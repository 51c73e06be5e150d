//! More load, or less time: scenarios for today's machines, and for a quick look.

use super::Scenario;
use crate::load::{Phase, Plan, Think};

impl Scenario {
    /// Changes all plans.
    fn with_plans(mut self, change: impl Fn(&Plan) -> Plan) -> Self {
        for case in &mut self.cases {
            case.plan = change(&case.plan);
            case.saturation = case.saturation.as_ref().map(&change);
        }
        self
    }

    /// Clients and rates multiplied.
    #[must_use]
    pub fn loaded(self, factor: f64) -> Self {
        self.with_plans(|plan| plan.loaded(factor))
    }

    /// As `--quick` has it.
    #[must_use]
    pub fn quick(self) -> Self {
        let (rounds, scale) = (self.quick.rounds, self.quick.scale);
        let shorter = self.with_plans(|plan| plan.shortened(scale));
        Self { rounds, ..shorter }
    }

    /// The saturation form of each case in its plan's place; cases that have none are left out.
    #[must_use]
    pub fn saturating(mut self) -> Self {
        self.cases.retain(|case| case.saturation.is_some());
        for case in &mut self.cases {
            if let Some(saturation) = case.saturation.take() {
                case.plan = saturation;
            }
        }
        self
    }

    /// The longest random pause of clients in seconds, where they think for random times.
    #[must_use]
    pub fn thinking(self, longest: f64) -> Self {
        self.with_plans(|plan| {
            let mut plan = plan.clone();
            for phase in &mut plan.phases {
                if let Phase::Closed { think: Think::Uniform { from, to }, .. } = phase {
                    *to = longest.max(*from);
                }
            }
            plan
        })
    }

    /// Connections stay open for further requests, or don't.
    #[must_use]
    pub fn keeping_alive(self, keep_alive: bool) -> Self {
        self.with_plans(|plan| Plan { keep_alive, ..plan.clone() })
    }

    /// Another seed.
    #[must_use]
    pub fn seeded(self, seed: u64) -> Self {
        self.with_plans(|plan| Plan { seed, ..plan.clone() })
    }
}

impl Plan {
    fn with_phases(&self, change: impl Fn(&mut Phase)) -> Self {
        let mut plan = self.clone();
        plan.phases.iter_mut().for_each(change);
        plan
    }

    /// Clients and rates multiplied.
    #[must_use]
    pub fn loaded(&self, factor: f64) -> Self {
        self.with_phases(|phase| match phase {
            Phase::Closed { clients, to_clients, .. } => {
                *clients = count(*clients, factor);
                *to_clients = to_clients.map(|to| count(to, factor));
            }
            Phase::Open { rate, to_rate, .. } => {
                *rate *= factor;
                *to_rate = to_rate.map(|to| to * factor);
            }
        })
    }

    /// Seconds and requests multiplied.
    #[must_use]
    pub fn shortened(&self, factor: f64) -> Self {
        let plan = self.with_phases(|phase| match phase {
            Phase::Closed { seconds, requests, join, .. } => {
                *seconds = seconds.map(|s| s * factor);
                *join = join.map(|s| s * factor);
                *requests = requests.map(|all| whole(all, factor));
            }
            Phase::Open { seconds, .. } => *seconds *= factor,
        });
        // Below half a second hardly anything is warm.
        Self { warm_up: (self.warm_up * factor).max(self.warm_up.min(0.5)), ..plan }
    }
}

/// At least one.
fn count(clients: u32, factor: f64) -> u32 {
    u32::try_from(whole(u64::from(clients), factor)).unwrap_or(u32::MAX)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count times a positive factor, rounded"
)]
fn whole(all: u64, factor: f64) -> u64 {
    ((all as f64 * factor).round() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::super::load;
    use super::*;

    #[test]
    fn quick_shortens_and_scale_loads() {
        let bench4 = load("bench4").unwrap();
        let Phase::Closed { to_clients, join, seconds, .. } = bench4.clone().quick().cases[0].plan.phases[0]
        else {
            panic!("closed")
        };
        assert_eq!((to_clients, join, seconds), (Some(100), Some(2.0), Some(12.0)));
        let Phase::Closed { to_clients, join, .. } = bench4.loaded(2.5).cases[0].plan.phases[0] else {
            panic!("closed")
        };
        assert_eq!((to_clients, join), (Some(250), Some(10.0)));
        let Phase::Open { rate, .. } = load("bench3").unwrap().loaded(10.0).cases[0].plan.phases[0] else {
            panic!("open")
        };
        assert!((rate - 140.0).abs() < 1e-9);
        let registry = load("registry").unwrap().quick();
        assert_eq!(registry.rounds, registry.quick.rounds);
        let Phase::Closed { requests, clients, .. } = registry.cases[0].plan.phases[0] else {
            panic!("closed")
        };
        assert_eq!((requests, clients), (Some(2000), 15));
    }

    #[test]
    fn saturation_takes_the_plans_place() {
        let bench1 = load("bench1").unwrap();
        let saturation = bench1.cases[0].saturation.clone().unwrap();
        let saturating = bench1.thinking(8.0).saturating();
        assert_ne!(saturating.cases[0].plan, saturation);
        assert_eq!(saturating.cases[0].plan.stop, saturation.stop);
    }
}
