//! `SetHandler balancer-manager` (mod_proxy_balancer): a page that shows the balancers of its virtual host and their
//! members, and changes them.
//!
//! - `form`: the fields of a request, and what may change something;
//! - `change`: the changes;
//! - `page`, `xml`: what is shown.
//!
//! Only the operator changes members: the server's own configuration has to name the handler, the request has to be a
//! client's own, and it has to send the balancer's nonce, which the page shows. Choosing a member is [`super::proxy`]'s.
//!
//! **Diagnostics**: under `proxy_balancer`: each change with its client, and each one that is refused with the cause.

mod change;
mod form;
mod page;
mod xml;

use super::status;
use crate::hook::registry::{Handler, Module};
use crate::io::body::Body;
use crate::module::core::options;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::technique::upstreams::{Label, Upstreams};
use bytes::Bytes;
use form::Fields;
use hostler_config::directives::proxy;
use hostler_config::directives::proxy::parameters::BalancerParameters;
use hostler_gateway::upstream::{Balancer, Upstream};
use std::sync::Arc;

const LOG: &str = "proxy_balancer";

pub(crate) static MODULE: Module = Module {
    handlers: &[Handler {
        names: &["balancer-manager"],
        types: &[],
        when: |_| true,
        settles: false,
        run: |request| Box::pin(handle(request)),
    }],
    ..Module::new("proxy_balancer", |_| false)
};

/// A balancer of the request's virtual host.
struct Managed<'a> {
    config: &'a proxy::Balancer,
    balancer: &'a Arc<Balancer>,
    label: &'a Label,
    /// The prefix of the `ProxyPass` that leads to it.
    path: Option<&'a str>,
}

impl Managed<'_> {
    /// The configuration's parameters with the operator's changes.
    fn parameters(&self) -> BalancerParameters {
        let mut parameters = self.config.parameters.clone();
        super::proxy::choice::tuned(&mut parameters, &self.balancer.tuning());
        parameters
    }

    /// `maxattempts`; by default all members are tried.
    fn max_attempts(&self, parameters: &BalancerParameters) -> usize {
        let usual = self.balancer.members().len().saturating_sub(1);
        parameters.max_attempts.map_or(usual, |most| most as usize)
    }

    fn member(&self, name: &str) -> Option<&Arc<Upstream>> {
        let is = |member: &&Arc<Upstream>| {
            member.name().trim_end_matches('/').eq_ignore_ascii_case(name.trim_end_matches('/'))
        };
        self.balancer.members().iter().find(is)
    }
}

/// The balancer and the member that the fields name.
#[derive(Clone, Copy)]
struct Selection<'a> {
    balancer: &'a Managed<'a>,
    member: Option<&'a Arc<Upstream>>,
}

async fn handle(request: &mut Request) -> Result<Body, Halt> {
    if &*request.target.method == b"OPTIONS" {
        return options::handle(request);
    }
    status::operators_only(request, LOG)?;
    let is_post = request.target.method == "POST";
    if !is_post && !request.is_get() {
        request.reply.headers_out.set("Allow", Bytes::from_static(b"GET,POST,OPTIONS,HEAD,TRACE"));
        return Err(Halt::Status(405));
    }
    let fields = Fields::of(request, is_post).await?;
    let (server, shared) = (request.server.clone(), request.thread.shared.clone());
    let all = managed(&server.conf.proxy, shared.of::<Upstreams>());
    let selection = selected(&all, &fields);
    if let Some(selection) = selection.filter(|_| is_post) {
        change::carry_out(request, selection, &fields);
    }
    let (content_type, text) = if fields.find("xml").is_some() {
        ("text/xml", xml::text(&all))
    } else {
        ("text/html; charset=ISO-8859-1", page::text(request, &all, selection))
    };
    request.resource.content_type = Some(Bytes::from_static(content_type.as_bytes()));
    request.reply.headers_out.set("Cache-Control", Bytes::from_static(b"no-store"));
    Ok(Body::Bytes(text.into()))
}

fn managed<'a>(config: &'a proxy::Server, upstreams: &'a Upstreams) -> Vec<Managed<'a>> {
    let one = |config_of: &'a Arc<proxy::Balancer>| {
        let balancer = upstreams.balancer(config_of)?;
        let label = upstreams.label(balancer)?;
        Some(Managed { config: config_of, balancer, label, path: path(config, &config_of.name) })
    };
    config.balancers.iter().filter_map(one).collect()
}

fn path<'a>(config: &'a proxy::Server, balancer: &str) -> Option<&'a str> {
    let leads_there = |target: &str| {
        let name = target.strip_prefix("balancer://").and_then(|rest| rest.split('/').next());
        name.is_some_and(|name| name.eq_ignore_ascii_case(balancer))
    };
    config.passes.iter().find(|pass| leads_there(&pass.target)).map(|pass| &*pass.prefix)
}

fn selected<'a>(all: &'a [Managed<'a>], fields: &Fields) -> Option<Selection<'a>> {
    let name = fields.find("b")?;
    let balancer = all.iter().find(|one| one.balancer.name().eq_ignore_ascii_case(name))?;
    let member = fields.find("w").and_then(|name| balancer.member(name));
    Some(Selection { balancer, member })
}
