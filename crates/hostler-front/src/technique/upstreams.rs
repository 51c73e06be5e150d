//! Other servers that the configuration names, and balancers of several of them, as all threads share them.

use hostler_config::directives::jk::Kind;
use hostler_config::directives::proxy::checks::CheckMethod;
use hostler_config::directives::proxy::parameters::{Method as ConfiguredMethod, Parameters};
use hostler_config::directives::proxy::{self, Worker, url::Url};
use hostler_config::{Config, Server};
use hostler_gateway::upstream::{
    Balancer, BalancerTuning, MemberTuning, Method, Routes, States, Target, Upstream, UpstreamSettings,
};
use hostler_wire::plan::{BackendStates, BalancerState, MemberSettings};
use ring::rand::{SecureRandom as _, SystemRandom};
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
    /// By the address of the balancer.
    labels: HashMap<usize, Label>,
}

/// A balancer as the operator's commands know it.
#[derive(Debug)]
pub(crate) struct Label {
    /// The virtual host that it belongs to, the same for all generations.
    pub(crate) host: Box<str>,
    /// The word with which a form of balancer-manager may change it; empty: none may.
    pub(crate) nonce: Box<str>,
}

impl Upstreams {
    /// `known`: how members of balancers fared in the eyes of the front before this one.
    pub(crate) fn new(config: &Config, known: &BackendStates) -> Self {
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
                all.add(server, balancer, known);
            }
        }
        all
    }

    fn add(&mut self, server: &Server, balancer: &Arc<proxy::Balancer>, known: &BackendStates) {
        let key = address(balancer);
        if !self.balancers.contains_key(&key) {
            let made = Arc::new(balanced(balancer, server.conf.proxy.receive_buffer));
            let label = Label { host: host(server), nonce: nonce(balancer) };
            restore(&made, balancer, &label, known);
            self.labels.insert(address(&made), label);
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

    /// Returns the label of a balancer.
    pub(crate) fn label(&self, balancer: &Arc<Balancer>) -> Option<&Label> {
        self.labels.get(&address(balancer))
    }

    /// All balancers.
    pub(crate) fn balancers(&self) -> &[Arc<Balancer>] {
        &self.order
    }
}

/// Members are as the front before has left them, until the operator or a check says otherwise.
fn restore(balancer: &Balancer, said: &proxy::Balancer, label: &Label, known: &BackendStates) {
    let is_its = |host: &str, name: &str| *host == *label.host && name == balancer.name();
    for state in known.balancers.iter().filter(|state| is_its(&state.host, &state.balancer)) {
        balancer.tune(tuning(state));
    }
    for state in known.members.iter().filter(|state| is_its(&state.host, &state.balancer)) {
        let members = balancer.members().iter().zip(&said.members);
        for (member, said) in members.filter(|(member, _)| member.name() == state.member) {
            if let Some(states) = state.states {
                member.set_states(Some(States(states)));
            }
            member.tune(state.settings.as_ref().map(settings_of));
            if let Some(ago) = state.failed_ms {
                member.failed_before(Duration::from_millis(ago));
            }
            let method = said.worker.parameters.check.method;
            let is_checked = method.is_some_and(|method| method != CheckMethod::None);
            member.set_failed_checks(state.failed_checks && is_checked);
        }
    }
}

/// The operator's changes of a balancer, from the front before.
fn tuning(state: &BalancerState) -> BalancerTuning {
    let names = |(cookie, parameter): &(String, String)| (cookie.as_str().into(), parameter.as_str().into());
    BalancerTuning {
        method: state.method.as_deref().and_then(method_named),
        timeout: state.timeout_ms.map(Duration::from_millis),
        max_attempts: state.max_attempts,
        no_failover: state.no_failover,
        sticky: state.sticky.as_ref().map(|names_or_none| names_or_none.as_ref().map(names)),
    }
}

fn settings_of(state: &MemberSettings) -> MemberTuning {
    let routes = Routes { own: state.route.as_str().into(), redirect: state.redirect.as_str().into() };
    MemberTuning { load_factor: state.load_factor, set: state.set, routes }
}

/// The operator's changes of a balancer, for the front after this one; `None`: there are none.
pub(crate) fn changed(balancer: &Balancer, label: &Label) -> Option<BalancerState> {
    let tuning = balancer.tuning();
    let names =
        |(cookie, parameter): &(Box<str>, Box<str>)| (cookie.clone().into(), parameter.clone().into());
    (*tuning != BalancerTuning::default()).then(|| BalancerState {
        host: label.host.clone().into(),
        balancer: balancer.name().to_owned(),
        method: tuning.method.map(|method| method_name(method).to_owned()),
        timeout_ms: tuning.timeout.map(|timeout| timeout.as_millis() as u64),
        max_attempts: tuning.max_attempts,
        no_failover: tuning.no_failover,
        sticky: tuning.sticky.as_ref().map(|names_or_none| names_or_none.as_ref().map(names)),
    })
}

/// The operator's changes of a member's settings, for the front after this one.
pub(crate) fn changed_settings(member: &Upstream) -> Option<MemberSettings> {
    let MemberTuning { load_factor, set, routes } = member.changed_tuning()?;
    Some(MemberSettings { load_factor, set, route: routes.own.into(), redirect: routes.redirect.into() })
}

/// The name of a virtual host in all generations: its addresses and its ServerName. Balancers of two hosts may have one name.
fn host(server: &Server) -> Box<str> {
    let name = server.canonical.host.as_deref().unwrap_or_default();
    let port = server.canonical.port.unwrap_or_default();
    format!("{name}:{port} {:?}", server.addresses).into()
}

/// Without `nonce=`, each front has its own: pages of the front before change nothing. Without random numbers nothing
/// can be changed.
fn nonce(balancer: &proxy::Balancer) -> Box<str> {
    let random = || {
        let mut bytes = [0; 16];
        let Ok(()) = SystemRandom::new().fill(&mut bytes) else { return "".into() };
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-").into()
    };
    balancer.parameters.nonce.clone().unwrap_or_else(random)
}

/// Returns the method with this name in the configuration.
pub(crate) fn method_named(name: &str) -> Option<Method> {
    let found = ConfiguredMethod::NAMES.into_iter().find(|(known, _)| *known == name);
    found.map(|(_, configured)| method(configured))
}

/// Returns a method's name in the configuration.
pub(crate) fn method_name(of: Method) -> &'static str {
    let found = ConfiguredMethod::NAMES.into_iter().find(|(_, configured)| method(*configured) == of);
    found.map_or("", |(name, _)| name)
}

const fn method(configured: ConfiguredMethod) -> Method {
    match configured {
        ConfiguredMethod::ByRequests => Method::ByRequests,
        ConfiguredMethod::ByTraffic => Method::ByTraffic,
        ConfiguredMethod::ByBusyness => Method::ByBusyness,
    }
}

fn address<T>(value: &Arc<T>) -> usize {
    Arc::as_ptr(value) as usize
}

fn balanced(balancer: &proxy::Balancer, buffer: Option<u32>) -> Balancer {
    let members = balancer.members.iter().map(|member| upstream(&member.worker, buffer)).collect();
    let method = method(balancer.parameters.method.unwrap_or_default());
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
