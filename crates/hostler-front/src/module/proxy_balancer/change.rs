//! The changes that a form of `balancer-manager` asks for. A value out of its range changes nothing, as in Apache.

use super::form::Fields;
use super::{LOG, Managed, Selection};
use crate::log::{self, Severity};
use crate::module::status::members::set_states;
use crate::request::{Origin, Request};
use crate::technique::upstreams::method_named;
use hostler_config::directives::auth::same;
use hostler_config::directives::proxy::parameters::sticky;
use hostler_gateway::upstream::{States, Upstream};
use std::time::Duration;

/// The states that a form sets or clears.
const STATES: [(&str, States); 6] = [
    ("w_status_I", States::IGNORE_ERRORS),
    ("w_status_N", States::DRAIN),
    ("w_status_D", States::DISABLED),
    ("w_status_H", States::HOT_STANDBY),
    ("w_status_R", States::HOT_SPARE),
    ("w_status_S", States::STOPPED),
];

/// Longest route, in bytes.
const LONGEST_ROUTE: usize = 62;

/// Changes the balancer and its member, unless the form has another nonce.
pub(super) fn carry_out(request: &Request, selection: Selection<'_>, fields: &Fields) {
    let (balancer, member) = (selection.balancer, selection.member);
    let name = member.map_or(balancer.balancer.name(), |member| member.name());
    if let Some(why) = refusal(request, balancer, fields) {
        log::request(request, Severity::Error, LOG, &format!("{name} is not changed: {why}"));
        return;
    }
    let changed_member = member.is_some_and(|member| {
        let has_factor = change_settings(member, fields);
        if has_factor {
            balancer.balancer.reset_scores();
        }
        change_states(member, fields) || has_factor
    });
    let changed = change_balancer(balancer, fields) || changed_member;
    if changed {
        let client = request.client.peer.remote.ip();
        let user = request.user.as_deref().map_or("-".into(), String::from_utf8_lossy);
        let message =
            format!("{name} of balancer://{} changed by {client} (user {user})", balancer.balancer.name());
        log::request(request, Severity::Notice, LOG, &message);
    }
}

/// The reason why a form changes nothing.
fn refusal(request: &Request, balancer: &Managed<'_>, fields: &Fields) -> Option<&'static str> {
    if request.origin != Origin::Client {
        return Some("only a client's own request may change it, not an internal redirect or a sub-request");
    }
    let nonce = &*balancer.label.nonce;
    let sent = fields.find("nonce").unwrap_or_default();
    if nonce.is_empty() || !same(nonce.as_bytes(), sent.as_bytes()) {
        return Some("the form has another nonce (load the page again; nonce=None allows no changes)");
    }
    (!matches!(fields.find("b_nwrkr"), None | Some("")))
        .then_some("members are added in the configuration only (b_nwrkr)")
}

fn change_states(member: &Upstream, fields: &Fields) -> bool {
    let (mut on, mut off) = (0, 0);
    for (name, state) in STATES {
        match fields.switch(name) {
            Some(true) => on |= state.0,
            Some(false) => off |= state.0,
            None => {}
        }
    }
    if on | off != 0 {
        set_states(member, States(on), States(off));
    }
    let failed_checks = fields.switch("w_status_C");
    if let Some(failed) = failed_checks {
        member.set_failed_checks(failed);
    }
    on | off != 0 || failed_checks.is_some()
}

fn change_settings(member: &Upstream, fields: &Fields) -> bool {
    let before = member.tuning();
    let mut now = before.clone();
    let factor = fields.find("w_lf").and_then(|text| text.trim().parse::<f64>().ok());
    let has_factor = factor.filter(|factor| (1.0..=100.0).contains(factor));
    if let Some(factor) = has_factor {
        now.load_factor = (factor * 100.0) as u32;
    }
    if let Some(set) = fields.number("w_ls").and_then(|set| u32::try_from(set).ok()).filter(|set| *set <= 99)
    {
        now.set = set;
    }
    let route = |name: &str| fields.find(name).map(|text| if text.len() > LONGEST_ROUTE { "" } else { text });
    if let Some(own) = route("w_wr") {
        now.routes.own = own.into();
    }
    if let Some(redirect) = route("w_rr") {
        now.routes.redirect = redirect.into();
    }
    let is_changed = now != before;
    if is_changed {
        member.tune(Some(now));
    }
    is_changed || has_factor.is_some()
}

fn change_balancer(managed: &Managed<'_>, fields: &Fields) -> bool {
    let before = managed.balancer.tuning();
    let mut now = (*before).clone();
    now.method = fields.find("b_lbm").and_then(method_named).or(now.method);
    let within = |name: &str, most: i64| fields.number(name).filter(|number| (0..=most).contains(number));
    if let Some(seconds) = within("b_tmo", 7200) {
        now.timeout = Some(Duration::from_secs(seconds.unsigned_abs()));
    }
    if let Some(attempts) = within("b_max", 99) {
        now.max_attempts = u32::try_from(attempts).ok();
    }
    now.no_failover = fields.switch("b_sforce").or(now.no_failover);
    match fields.find("b_ss") {
        Some("-" | "|") => now.sticky = Some(None),
        Some(names) => now.sticky = sticky(names).ok().map(Some).or(now.sticky),
        None => {}
    }
    let is_changed = now != *before;
    if is_changed {
        managed.balancer.tune(now);
    }
    is_changed
}
