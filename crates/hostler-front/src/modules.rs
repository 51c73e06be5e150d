//! All modules of the front: the one place that names them. Their order here means nothing but for handlers of one name,
//! of which the first that wants the request answers; the order of hooks follows from what these say
//! ([`crate::hook::plan`]).

use crate::hook::registry::Module;
use crate::module::{
    actions, alias, asgi, asis, auth, autoindex, buffer, cern_meta, cgi, charset_lite, core, data, deflate,
    dir, env, expires, ext_filter, fcgid, filter, headers, health, imagemap, include, info, jk, log_debug,
    log_forensic, logio, negotiation, perl, php, plain, proxy, proxy_balancer, proxy_fcgi, proxy_html,
    ratelimit, reflector, remoteip, rewrite, sed, servlet, session, speling, ssl, status, substitute,
    unique_id, userdir, usertrack, vhost_alias, wsgi, xml2enc,
};

/// The modules.
pub(crate) static MODULES: [&Module; 64] = [
    // It answers for pages instead of the core.
    &include::MODULE,
    &core::MODULE,
    &core::NAMES,
    &core::ALLOWMETHODS,
    &actions::MODULE,
    &alias::MODULE,
    &asgi::MODULE,
    &asis::MODULE,
    &auth::ACCESS_COMPAT,
    &auth::AUTHZ_CORE,
    &auth::basic::MODULE,
    &auth::digest::MODULE,
    &auth::form::MODULE,
    &session::MODULE,
    &cern_meta::MODULE,
    &data::MODULE,
    &imagemap::MODULE,
    &info::MODULE,
    &log_debug::MODULE,
    &log_forensic::MODULE,
    &logio::MODULE,
    &autoindex::MODULE,
    &buffer::MODULE,
    &deflate::MODULE,
    &dir::MODULE,
    &env::ENV,
    &env::SETENVIF,
    &expires::MODULE,
    &ext_filter::MODULE,
    &filter::MODULE,
    &fcgid::MODULE,
    &headers::MODULE,
    &health::MODULE,
    &negotiation::MODULE,
    &ratelimit::MODULE,
    &reflector::MODULE,
    &remoteip::MODULE,
    &perl::GUARD,
    &perl::MODULE,
    &php::MODULE,
    &plain::MODULE,
    &proxy::MODULE,
    &proxy_balancer::MODULE,
    &jk::MODULE,
    &wsgi::MODULE,
    &wsgi::guard::MODULE,
    &proxy_fcgi::MODULE,
    &cgi::MODULE,
    &rewrite::MODULE,
    &rewrite::REDIRECT,
    &rewrite::FORCE,
    &servlet::MODULE,
    &ssl::MODULE,
    &speling::MODULE,
    &sed::MODULE,
    &charset_lite::MODULE,
    &proxy_html::MODULE,
    &xml2enc::MODULE,
    &substitute::MODULE,
    &status::MODULE,
    &unique_id::MODULE,
    &userdir::MODULE,
    &usertrack::MODULE,
    &vhost_alias::MODULE,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::phases::Phase;
    use crate::hook::plan::Plan;
    use crate::hook::registry::Stage;

    /// As `docs/phases.md` has it; whoever changes the order changes both.
    #[test]
    fn the_order_of_hooks_is_the_documented_one() {
        let plan = Plan::new(&MODULES).unwrap();
        let text = include_str!("../../../docs/phases.md");
        let documented: Vec<&str> = text.lines().filter(|line| line.starts_with("| `")).collect();
        let planned: Vec<String> = Phase::ALL
            .into_iter()
            .map(|phase| format!("| `{phase:?}` | {} |", plan.names(phase).join(", ")))
            .collect();
        let filters = Stage::ALL.map(|stage| format!("| `{stage:?}` | {} |", plan.filters(stage).join(", ")));
        assert_eq!(documented, planned.into_iter().chain(filters).collect::<Vec<_>>());
    }
}
