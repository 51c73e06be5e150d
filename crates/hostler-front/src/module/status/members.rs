//! Members of balancers for `hostler status` and `hostler backend`: how they fare, and what the operator wants of them.

use super::report::text;
use crate::request::thread::SharedState;
use crate::technique::upstreams::{self, Upstreams};
use hostler_gateway::upstream::{Balancer, BalancerTuning, Health, States, Upstream};
use hostler_wire::plan::{BalancerState, MemberState};
use hostler_wire::report::{Ask, Change, Member};
use std::sync::Arc;

/// Balancers with settings that the operator has changed.
pub(super) fn balancers(shared: &SharedState) -> Vec<BalancerState> {
    let upstreams = shared.of::<Upstreams>();
    let changed = |balancer: &Arc<Balancer>| upstreams::changed(balancer, upstreams.label(balancer)?);
    upstreams.balancers().iter().filter_map(changed).collect()
}

/// All of them.
pub(super) fn all(shared: &SharedState) -> Vec<Member> {
    let upstreams = shared.of::<Upstreams>();
    let members = |balancer: &Arc<Balancer>| {
        let host = upstreams.label(balancer).map(|label| label.host.to_string()).unwrap_or_default();
        let name = balancer.name().to_owned();
        balancer.members().iter().map(move |upstream| member(&host, &name, upstream)).collect::<Vec<_>>()
    };
    upstreams.balancers().iter().flat_map(members).collect()
}

fn member(host: &str, balancer: &str, upstream: &Upstream) -> Member {
    let [busy, requests, failures, sent, received] = upstream.figures();
    let mut words = upstream.states().words();
    let failed_ms = match upstream.health() {
        Health::Fine => None,
        Health::Failed(ago) => Some(ago.as_millis() as u64),
    };
    words.push(match failed_ms {
        _ if upstream.has_failed_checks() => "HcFl",
        Some(_) => "Err",
        None => "Ok",
    });
    Member {
        state: MemberState {
            host: host.to_owned(),
            balancer: balancer.to_owned(),
            member: upstream.name().to_owned(),
            states: upstream.changed_states().map(|states| states.0),
            settings: upstreams::changed_settings(upstream),
            failed_ms,
            failed_checks: upstream.has_failed_checks(),
        },
        route: text(&upstream.routes().own),
        words: words.into_iter().map(str::to_owned).collect(),
        busy,
        requests,
        failures,
        sent,
        received,
    }
}

/// Does what is asked for.
///
/// # Errors
/// A sentence that says what there is not.
pub(super) fn carry_out(shared: &SharedState, asked: &Ask) -> Result<(), String> {
    let Ask::Change { balancer, member, change } = asked else { return Ok(()) };
    let named = balancer.strip_prefix("balancer://").unwrap_or(balancer).trim_end_matches('/');
    let all = shared.of::<Upstreams>().balancers().iter();
    let found: Vec<_> = all.filter(|one| one.name().eq_ignore_ascii_case(named)).collect();
    if found.is_empty() {
        return Err(format!("there is no balancer {}", text(named)));
    }
    let is = |one: &&Arc<Upstream>| {
        member.as_deref().is_none_or(|name| one.name() == name || *one.routes().own == *name)
    };
    let members: Vec<_> = found.iter().flat_map(|balancer| balancer.members()).filter(is).collect();
    if members.is_empty() {
        let name = text(member.as_deref().unwrap_or_default());
        return Err(format!("balancer {} has no member with the URL or the route {name}", text(named)));
    }
    members.into_iter().for_each(|member| apply(member, *change));
    if *change == Change::Reset && member.is_none() {
        found.iter().for_each(|balancer| balancer.tune(BalancerTuning::default()));
    }
    Ok(())
}

fn apply(member: &Upstream, change: Change) {
    match change {
        Change::Drain => set_states(member, States::DRAIN, States(0)),
        Change::Disable => set_states(member, States::DISABLED, States(0)),
        Change::Enable => {
            let off = States::DRAIN.0 | States::DISABLED.0 | States::STOPPED.0 | States::ERROR.0;
            set_states(member, States(0), States(off));
            member.recover();
        }
        Change::Reset => {
            member.set_states(None);
            member.tune(None);
            member.recover();
        }
    }
}

/// Adds and removes states of a member, for the operator.
pub(crate) fn set_states(member: &Upstream, on: States, off: States) {
    let States(now) = member.states();
    member.set_states(Some(States((now | on.0) & !off.0)));
}
