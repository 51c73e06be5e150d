//! The choice of a balancer's member for a request, and the environment variables about it.

use super::mounted;
use super::target::{self, Aim, Destination, Whose};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::Halt;
use hostler_config::directives::proxy::parameters::BalancerParameters;
use hostler_gateway::upstream::{BalancerTuning, Choice, Session, Sticky, route_of};
use std::time::{Duration, Instant};

/// The interval of checks whether a balancer has a member again (`timeout=`).
const LOOK: Duration = Duration::from_millis(100);

/// The values that a balancer's choice depends on.
pub(super) struct Balanced {
    parameters: BalancerParameters,
    session: Option<Session>,
    tried: Vec<usize>,
    since: Instant,
}

impl Balanced {
    pub(super) fn of(request: &Request, aim: &Aim, whose: &Whose) -> Self {
        let mut parameters = match whose {
            Whose::Balancer(_, said) => said.parameters.clone(),
            Whose::One(_) => BalancerParameters::default(),
        };
        if let Some(mounted) = mounted(request) {
            mounted.rule.apply(&mut parameters);
        }
        if let Whose::Balancer(balancer, _) = whose {
            tuned(&mut parameters, &balancer.tuning());
        }
        let session = parameters.sticky.as_ref().and_then(|(cookie, parameter)| {
            let cookies = request.target.headers_in.joined(b"Cookie").unwrap_or_default();
            let separator = parameters.separator.unwrap_or(Some(b'.'));
            let semicolon = parameters.semicolon == Some(true);
            route_of(&aim.path, &cookies, Sticky { cookie, parameter, separator, semicolon })
        });
        Self { parameters, session, tried: Vec::new(), since: Instant::now() }
    }

    /// Returns whether another member may be tried.
    pub(super) fn may_go_on(&self, whose: &Whose) -> bool {
        let Whose::Balancer(balancer, _) = whose else { return false };
        let most = self.parameters.max_attempts.map_or(balancer.members().len(), |most| most as usize + 1);
        self.tried.len() < most
    }
}

/// Puts the operator's changes over the configuration's parameters.
pub(crate) fn tuned(parameters: &mut BalancerParameters, tuning: &BalancerTuning) {
    if let Some(timeout) = tuning.timeout {
        parameters.timeout = Some(timeout).filter(|timeout| !timeout.is_zero());
    }
    if let Some(sticky) = &tuning.sticky {
        parameters.sticky.clone_from(sticky);
    }
    parameters.max_attempts = tuning.max_attempts.or(parameters.max_attempts);
    parameters.no_failover = tuning.no_failover.or(parameters.no_failover);
}

/// Chooses the member that answers.
pub(super) async fn choose(
    request: &mut Request,
    whose: &Whose,
    aim: &Aim,
    balanced: &mut Balanced,
) -> Result<Destination, Halt> {
    let (balancer, said) = match whose {
        Whose::Balancer(balancer, said) => (balancer, said),
        Whose::One(destination) => return one(request, destination),
    };
    loop {
        let choice = Choice { session: balanced.session.as_ref(), tried: &balanced.tried };
        match balancer.choose(choice) {
            Ok(chosen) => {
                balanced.tried.push(chosen.index);
                let to = target::member(request, chosen.member, said, chosen.index, aim);
                tell(request, balancer.name(), &to, balanced, chosen.route_changed);
                return Ok(to);
            }
            Err(_) if balanced.parameters.timeout.is_some_and(|wait| balanced.since.elapsed() < wait) => {
                tokio::time::sleep(LOOK).await;
            }
            Err(_) => {
                let message = format!("balancer://{}: no member can take the request now", balancer.name());
                log::request(request, Severity::Error, "proxy", &message);
                return Err(Halt::Status(503));
            }
        }
    }
}

/// A server of its own, unless it is to be left alone.
fn one(request: &Request, destination: &Destination) -> Result<Destination, Halt> {
    if !destination.upstream.is_usable() {
        let message = format!(
            "{}: it is left alone (retry=, status=), as it could not be connected to, or is disabled",
            destination.upstream.name()
        );
        log::request(request, Severity::Error, "proxy", &message);
        return Err(Halt::Status(503));
    }
    Ok(destination.clone())
}

/// The environment tells who was chosen, and why.
fn tell(request: &mut Request, balancer: &str, to: &Destination, balanced: &Balanced, changed: bool) {
    let route = to.upstream.routes().own.as_bytes().to_vec();
    request.env.set("BALANCER_NAME", format!("balancer://{balancer}"));
    request.env.set("BALANCER_WORKER_NAME", to.upstream.name().to_owned());
    request.env.set("BALANCER_WORKER_ROUTE", route);
    if balanced.parameters.sticky.is_some() && changed {
        request.env.set("BALANCER_ROUTE_CHANGED", "1");
    }
    if let Some(session) = &balanced.session
        && let Some(route) = &session.route
    {
        request.env.set("BALANCER_SESSION_ROUTE", route.clone());
        request.env.set("BALANCER_SESSION_STICKY", session.name.clone());
    }
}
