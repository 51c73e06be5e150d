//! `?xml=1`: balancers and members for programs, in mod_proxy_balancer's elements.

use super::Managed;
use super::page::{escaped, factor, on};
use crate::module::status::auto::state;
use crate::technique::upstreams::method_name;
use hostler_config::directives::proxy::Worker;
use hostler_gateway::upstream::Upstream;
use std::fmt::Write;

pub(super) fn text(all: &[Managed<'_>]) -> String {
    let mut out = "<?xml version='1.0' encoding='UTF-8' ?>\n\
                   <httpd:manager xmlns:httpd='http://httpd.apache.org'>\n  <httpd:balancers>\n"
        .to_owned();
    for managed in all {
        one(&mut out, managed);
    }
    out.push_str("  </httpd:balancers>\n</httpd:manager>");
    out
}

fn one(out: &mut String, managed: &Managed<'_>) {
    let parameters = managed.parameters();
    let mut elements = vec![
        ("name", format!("balancer://{}", managed.balancer.name())),
        ("nonce", managed.label.nonce.to_string()),
    ];
    if let Some((cookie, parameter)) = &parameters.sticky {
        elements.push(("stickysession", cookie.to_string()));
        if cookie != parameter {
            elements.push(("stickysession-path", parameter.to_string()));
        }
        elements.push(("nofailover", on(managed.balancer.no_failover()).to_owned()));
    }
    elements.push(("timeout", parameters.timeout.unwrap_or_default().as_secs().to_string()));
    match managed.max_attempts(&parameters) {
        0 => {}
        attempts => elements.push(("maxattempts", attempts.to_string())),
    }
    elements.push(("lbmethod", method_name(managed.balancer.method()).to_owned()));
    if parameters.sticky.is_some() {
        elements.push(("scolonpathdelim", on(parameters.semicolon == Some(true)).to_owned()));
    }
    out.push_str("    <httpd:balancer>\n");
    write(out, "      ", &elements);
    out.push_str("      <httpd:workers>\n");
    for (upstream, config) in managed.balancer.members().iter().zip(&managed.config.members) {
        out.push_str("        <httpd:worker>\n");
        write(out, "          ", &member(upstream, &config.worker));
        out.push_str("        </httpd:worker>\n");
    }
    out.push_str("      </httpd:workers>\n    </httpd:balancer>\n");
}

fn member(upstream: &Upstream, config: &Worker) -> Vec<(&'static str, String)> {
    let [busy, chosen, failures, sent, received] = upstream.figures();
    let (url, said, routes) = (&config.url, &config.parameters, upstream.routes());
    let most = |number: Option<u32>| number.unwrap_or(0).to_string();
    vec![
        ("name", upstream.name().to_owned()),
        ("scheme", url.scheme.to_string()),
        ("hostname", url.host.to_string()),
        ("loadfactor", factor(upstream)),
        ("port", url.port().to_string()),
        ("min", most(said.min)),
        ("smax", most(said.soft_max.or(said.max))),
        ("max", most(said.max)),
        ("ttl", said.ttl.unwrap_or_default().as_secs().to_string()),
        ("status", state(upstream)),
        ("retries", failures.to_string()),
        ("lbstatus", upstream.score().to_string()),
        ("transferred", sent.to_string()),
        ("read", received.to_string()),
        ("elected", chosen.to_string()),
        ("route", routes.own.to_string()),
        ("redirect", routes.redirect.to_string()),
        ("busy", busy.to_string()),
        ("lbset", upstream.set().to_string()),
    ]
}

fn write(out: &mut String, indent: &str, elements: &[(&str, String)]) {
    for (name, value) in elements {
        let _ = writeln!(out, "{indent}<httpd:{name}>{}</httpd:{name}>", escaped(value));
    }
}
