//! Other servers that the configuration names, and balancers of several of them, as all threads share them.

use hostler_config::Config;
use hostler_config::directives::jk::Kind;
use hostler_config::directives::proxy::checks::CheckMethod;
use hostler_config::directives::proxy::parameters::{Method as ConfiguredMethod, Parameters};
use hostler_config::directives::proxy::{self, Worker, url::Url};
use hostler_gateway::upstream::{Balancer, Method, States, Target, Upstream, UpstreamSettings};
use hostler_wire::plan::MemberState;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// All of them. Virtual hosts that say nothing of a server themselves share it with the main server.
#[derive(Debug, Default)]
pub(crate) struct Upstreams {
    /// By the address of what the configuration says, which lives as long.
    workers: HashMap<usize, Arc<Upstream>>,
    balancers: HashMap<usize, Arc<Balancer>>,
    /// The balancers in the configuration's order.
    order: Vec<Arc<Balancer>>,
}

impl Upstreams {
    /// `known`: how members of balancers fared in the eyes of the front before this one.
    pub(crate) fn new(config: &Config, known: &[MemberState]) -> Self {
        let mut all = Self::default();
        for server in &config.servers {
            let buffer = server.conf.proxy.receive_buffer;
            for worker in &server.conf.proxy.workers {
                all.workers.entry(address(worker)).or_insert_with(|| upstream(worker, buffer));
            }
            let of_jk = server.conf.jk.workers.iter().filter_map(|worker| match &worker.kind {
                Kind::Containers(balancer) => Some(balancer),
                Kind::Status => None,
            });
            for balancer in server.conf.proxy.balancers.iter().chain(of_jk) {
                all.add(balancer, buffer, known);
            }
        }
        all
    }

    fn add(&mut self, balancer: &Arc<proxy::Balancer>, buffer: Option<u32>, known: &[MemberState]) {
        let key = address(balancer);
        if !self.balancers.contains_key(&key) {
            let made = Arc::new(balanced(balancer, buffer));
            restore(&made, balancer, known);
            self.order.push(made.clone());
            self.balancers.insert(key, made);
        }
    }

    /// A server that lines name.
    pub(crate) fn worker(&self, worker: &Arc<Worker>) -> Option<&Arc<Upstream>> {
        self.workers.get(&address(worker))
    }

    pub(crate) fn balancer(&self, balancer: &Arc<proxy::Balancer>) -> Option<&Arc<Balancer>> {
        self.balancers.get(&address(balancer))
    }

    /// All balancers.
    pub(crate) fn balancers(&self) -> &[Arc<Balancer>] {
        &self.order
    }
}

/// Members are as the front before has left them, until the operator or a check says otherwise.
fn restore(balancer: &Balancer, said: &proxy::Balancer, known: &[MemberState]) {
    for state in known.iter().filter(|state| state.balancer == balancer.name()) {
        let members = balancer.members().iter().zip(&said.members);
        for (member, said) in members.filter(|(member, _)| member.name() == state.member) {
            if let Some(states) = state.states {
                member.set_states(Some(States(states)));
            }
            if let Some(ago) = state.failed_ms {
                member.failed_before(Duration::from_millis(ago));
            }
            let method = said.worker.parameters.check.method;
            let is_checked = method.is_some_and(|method| method != CheckMethod::None);
            member.set_failed_checks(state.failed_checks && is_checked);
        }
    }
}

fn address<T>(value: &Arc<T>) -> usize {
    Arc::as_ptr(value) as usize
}

fn balanced(balancer: &proxy::Balancer, buffer: Option<u32>) -> Balancer {
    let members = balancer.members.iter().map(|member| upstream(&member.worker, buffer)).collect();
    let method = match balancer.parameters.method.unwrap_or_default() {
        ConfiguredMethod::ByRequests => Method::ByRequests,
        ConfiguredMethod::ByTraffic => Method::ByTraffic,
        ConfiguredMethod::ByBusyness => Method::ByBusyness,
    };
    let no_failover = balancer.parameters.no_failover == Some(true);
    let recovery = balancer.parameters.force_recovery.unwrap_or(true);
    Balancer::new(&balancer.name, members, method, no_failover, recovery)
}

fn upstream(worker: &Worker, buffer: Option<u32>) -> Arc<Upstream> {
    Upstream::new(&worker.url.to_string(), target(&worker.url), settings(&worker.parameters, buffer))
}

/// Returns the address of a URL's server.
pub(crate) fn target(url: &Url) -> Target {
    match &url.unix {
        Some(path) => Target::Unix(path.clone()),
        None => Target::Tcp(url.host.clone(), url.port()),
    }
}

/// `of_server`: `ProxyReceiveBufferSize`.
fn settings(said: &Parameters, of_server: Option<u32>) -> UpstreamSettings {
    let usual = UpstreamSettings::default();
    UpstreamSettings {
        load_factor: said.load_factor.unwrap_or(usual.load_factor),
        route: said.route.clone().unwrap_or_default(),
        redirect: said.redirect.clone().unwrap_or_default(),
        states: States(said.states.unwrap_or_default().bits()),
        retry: said.retry.unwrap_or(usual.retry),
        set: said.set.unwrap_or(usual.set),
        max: said.max,
        acquire: said.acquire.unwrap_or(usual.acquire),
        idle: said.ttl.unwrap_or(usual.idle),
        keep: said.soft_max.or(said.max).map_or(usual.keep, |most| most as usize),
        reuse: said.reuse.unwrap_or(true),
        address_ttl: said.address_ttl.unwrap_or(usual.address_ttl),
        keep_alive: said.keep_alive == Some(true),
        receive_buffer: said.receive_buffer.or(of_server).filter(|bytes| *bytes > 0),
    }
}
