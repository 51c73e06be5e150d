//! Workers: what `worker.NAME....=` says, in mod_proxy's terms.

use super::mounts::statuses;
use super::properties::{Property, words};
use crate::Origin;
use crate::directives::proxy::parameters::{BalancerParameters, Method, Parameters, States};
use crate::directives::proxy::url::Url;
use crate::directives::proxy::{Balancer, Member, Worker as Server};
use std::sync::Arc;
use std::time::Duration;

/// A balancer with more members, or one of balancers in a circle, is a mistake.
const MOST_MEMBERS: usize = 1000;
/// `reference=` leads to a worker that may have one, too.
const MOST_REFERENCES: usize = 20;

/// A worker that may be mounted.
#[derive(Clone, Debug, PartialEq)]
pub struct Worker {
    /// Its name.
    pub name: Box<str>,
    /// Its kind.
    pub kind: Kind,
}

/// The kind of a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Containers that answer, one or several.
    Containers(Arc<Balancer>),
    /// The status page.
    Status,
}

/// The properties of one worker.
struct Properties<'p> {
    name: &'p str,
    all: &'p [Property],
    /// The line of its first property.
    origin: Origin,
}

type Wrong = (Origin, String);

/// The workers of `worker.list`.
pub(super) fn of(all: &[Property], warnings: &mut Vec<Wrong>) -> Result<Vec<Arc<Worker>>, Wrong> {
    let list = all.iter().find(|property| &*property.name == "worker.list");
    let mut made: Vec<Arc<Worker>> = Vec::new();
    for name in list.into_iter().flat_map(|list| words(&list.value)) {
        if !made.iter().any(|worker| &*worker.name == name) {
            made.push(Arc::new(worker(
                all,
                name,
                list.map_or_else(Origin::default, |list| list.origin),
                warnings,
            )?));
        }
    }
    Ok(made)
}

fn worker(all: &[Property], name: &str, listed: Origin, warnings: &mut Vec<Wrong>) -> Result<Worker, Wrong> {
    let said = Properties::of(all, name).unwrap_or(Properties { name, all, origin: listed });
    let kind = match said.value("type").unwrap_or("ajp13") {
        "status" => Kind::Status,
        "lb" => Kind::Containers(Arc::new(said.balancer(warnings)?)),
        "ajp13" | "ajp14" => Kind::Containers(Arc::new(said.alone(warnings)?)),
        other => {
            return Err(said.wrong(&format!("type={other} is not supported (expected ajp13, lb or status)")));
        }
    };
    Ok(Worker { name: name.into(), kind })
}

impl<'p> Properties<'p> {
    fn of(all: &'p [Property], name: &'p str) -> Option<Self> {
        let is_its = |property: &&Property| property_of(property, name).is_some();
        let origin = all.iter().find(is_its)?.origin;
        Some(Self { name, all, origin })
    }

    fn wrong(&self, why: &str) -> Wrong {
        (self.origin, format!("worker.{}: {why}", self.name))
    }

    /// Its own properties, and after them those of the worker that it refers to, as far as it does not say otherwise.
    fn properties(&self) -> Vec<(&'p str, &'p str)> {
        let mut found: Vec<(&str, &str)> = Vec::new();
        let mut name = self.name;
        for _ in 0..MOST_REFERENCES {
            let own = self.all.iter().filter_map(|one| Some((property_of(one, name)?, &*one.value)));
            for (key, value) in own.collect::<Vec<_>>() {
                if !found.iter().any(|(known, _)| canonical(known) == canonical(key)) || key == "reference" {
                    found.push((key, value));
                }
            }
            let at = found.iter().position(|(key, _)| *key == "reference");
            let Some((_, other)) = at.map(|at| found.remove(at)) else { return found };
            name = other.strip_prefix("worker.").unwrap_or(other);
        }
        found
    }

    fn value(&self, name: &str) -> Option<&'p str> {
        self.properties().into_iter().find(|(key, _)| canonical(key) == name).map(|(_, value)| value)
    }

    /// A container that is not shared with others. It is asked however it fared before.
    fn alone(&self, warnings: &mut Vec<Wrong>) -> Result<Balancer, Wrong> {
        let mut parameters = BalancerParameters { semicolon: Some(true), ..BalancerParameters::default() };
        let member = self.container(&mut parameters, warnings)?;
        Ok(self.named(vec![member], parameters))
    }

    fn named(&self, members: Vec<Member>, parameters: BalancerParameters) -> Balancer {
        Balancer { name: format!("jk-{}", self.name).into(), members, parameters, origin: self.origin }
    }

    fn balancer(&self, warnings: &mut Vec<Wrong>) -> Result<Balancer, Wrong> {
        let mut parameters = BalancerParameters {
            sticky: Some(("JSESSIONID".into(), ";jsessionid".into())),
            semicolon: Some(true),
            ..BalancerParameters::default()
        };
        let (mut names, mut retry) = (Vec::new(), None);
        for (key, value) in self.properties() {
            let wrong = |why: String| self.wrong(&format!("{key}: {why}"));
            match canonical(key) {
                "type"
                | "lock"
                | "error_escalation_time"
                | "retries"
                | "retry_interval"
                | "lb_retries"
                | "max_reply_timeouts"
                | "mount" => {}
                "balance_workers" => names.extend(words(value)),
                "sticky_session" if !flag(value) => parameters.sticky = None,
                "sticky_session" => {}
                "sticky_session_force" => parameters.no_failover = Some(flag(value)),
                "session_cookie" => sticky(&mut parameters).0 = value.into(),
                "session_path" => sticky(&mut parameters).1 = value.trim_end_matches('=').into(),
                "recover_time" => retry = Some(seconds(value).map_err(wrong)?),
                "method" => parameters.method = Some(method(value).map_err(wrong)?),
                _ => warnings.push(self.wrong(&format!("{key} has no effect here"))),
            }
        }
        if names.is_empty() {
            return Err(self.wrong("has no members (balance_workers=)"));
        }
        let mut members: Vec<Member> = Vec::with_capacity(names.len());
        for name in names {
            let said = Properties::of(self.all, name)
                .ok_or_else(|| self.wrong(&format!("its member {name} has no settings")))?;
            if said.value("type").is_some_and(|kind| !kind.starts_with("ajp")) {
                return Err(self.wrong(&format!("its member {name} is not of type ajp13")));
            }
            let mut member = said.container(&mut parameters, warnings)?;
            let own = Arc::make_mut(&mut member.worker.parameters);
            own.route.get_or_insert_with(|| name.into());
            own.retry = own.retry.or(retry).or(Some(Duration::from_secs(60)));
            members.push(member);
            if members.len() > MOST_MEMBERS {
                return Err(self.wrong("has too many members"));
            }
        }
        Ok(self.named(members, parameters))
    }

    /// A container, and what is said of it that is its balancer's.
    fn container(&self, of: &mut BalancerParameters, warnings: &mut Vec<Wrong>) -> Result<Member, Wrong> {
        let mut url = Url::parse("ajp://localhost:8009").map_err(|why| self.wrong(&why))?;
        let (mut own, mut idle) = (Parameters::default(), Silence::default());
        for (key, value) in self.properties() {
            let wrong = |why: String| self.wrong(&format!("{key}: {why}"));
            match canonical(key) {
                "type"
                | "mount"
                | "cachesize"
                | "connection_pool_minsize"
                | "connection_acquire_timeout"
                | "recovery_options"
                | "retries"
                | "retry_interval"
                | "max_reply_timeouts"
                | "socket_buffer"
                | "connection_ping_interval"
                | "ping_mode"
                | "domain" => {}
                "host" => url.host = host(value).map_err(wrong)?,
                "port" => url.port = Some(number(value).map_err(wrong)?),
                "secret" => own.secret = Some(value.into()),
                "lbfactor" => {
                    own.load_factor = Some(number::<u32>(value).map_err(wrong)?.clamp(1, 100) * 100);
                }
                "route" => own.route = Some(value.into()),
                "redirect" => own.redirect = Some(value.into()),
                "distance" => own.set = Some(number(value).map_err(wrong)?),
                "activation" => own.states = Some(activation(value).map_err(wrong)?),
                "disabled" if flag(value) => own.states = Some(States::DRAIN),
                "stopped" if flag(value) => own.states = Some(States::STOPPED),
                "disabled" | "stopped" => {}
                "reply_timeout" => idle.answer = milliseconds(value).map_err(wrong)?,
                "socket_timeout" => {
                    idle.socket = Some(seconds(value).map_err(wrong)?).filter(|time| !time.is_zero());
                }
                "socket_connect_timeout" => own.connect_timeout = milliseconds(value).map_err(wrong)?,
                "connect_timeout" | "prepost_timeout" | "ping_timeout" => {
                    own.ping = own.ping.max(milliseconds(value).map_err(wrong)?);
                }
                "connection_pool_size" => own.soft_max = Some(number(value).map_err(wrong)?),
                "connection_pool_timeout" => {
                    own.ttl = Some(seconds(value).map_err(wrong)?).filter(|time| !time.is_zero());
                }
                "socket_keepalive" => own.keep_alive = Some(flag(value)),
                "max_packet_size" => own.io_buffer = Some(number(value).map_err(wrong)?),
                "fail_on_status" => {
                    of.fail_on_status.get_or_insert_default().extend(statuses(value).map_err(wrong)?);
                }
                _ => warnings.push(self.wrong(&format!("{key} has no effect here"))),
            }
        }
        own.ping = self.pings().then_some(own.ping).flatten();
        own.timeout = idle.answer.or(idle.socket);
        Ok(Member { worker: Server { url: Arc::new(url), parameters: Arc::new(own), origin: self.origin } })
    }

    /// Returns whether a container is asked before each request: `prepost_timeout`, or `ping_mode` with one of A and P.
    /// A connection that is asked only when it is new (`connect_timeout`) is asked each time here.
    fn pings(&self) -> bool {
        let mode = self.value("ping_mode").unwrap_or_default();
        mode.contains(['A', 'P', 'C'])
            || ["connect_timeout", "prepost_timeout"].iter().any(|name| self.value(name).is_some())
    }
}

/// The longest silence of a container.
#[derive(Default)]
struct Silence {
    answer: Option<Duration>,
    socket: Option<Duration>,
}

/// Returns the value of a property of this worker.
fn property_of<'p>(property: &'p Property, name: &str) -> Option<&'p str> {
    let rest = property.name.strip_prefix("worker.")?.strip_prefix(name)?;
    rest.strip_prefix('.')
}

/// Older names.
fn canonical(key: &str) -> &str {
    match key {
        "balanced_workers" => "balance_workers",
        "jvm_route" | "jvmRoute" => "route",
        "connection_pool_maxsize" => "connection_pool_size",
        "cache_timeout" => "connection_pool_timeout",
        "secretkey" => "secret",
        other => other,
    }
}

fn sticky(parameters: &mut BalancerParameters) -> &mut (Box<str>, Box<str>) {
    parameters.sticky.get_or_insert_with(|| ("JSESSIONID".into(), ";jsessionid".into()))
}

fn flag(value: &str) -> bool {
    value.starts_with(['T', 't', 'Y', 'y', '1']) || value.eq_ignore_ascii_case("on")
}

fn host(value: &str) -> Result<Box<str>, String> {
    if value.starts_with('/') {
        return Err("a Unix socket is not supported".to_owned());
    }
    let authority = if value.contains(':') { format!("[{value}]") } else { value.to_owned() };
    Ok(Url::parse(&format!("ajp://{authority}/"))?.host)
}

fn number<N: std::str::FromStr>(value: &str) -> Result<N, String> {
    value.parse().map_err(|_| format!("\"{value}\" is not a number, or too large"))
}

fn seconds(value: &str) -> Result<Duration, String> {
    number(value).map(Duration::from_secs)
}

/// Zero is as long as it takes.
fn milliseconds(value: &str) -> Result<Option<Duration>, String> {
    Ok(Some(Duration::from_millis(number(value)?)).filter(|time| !time.is_zero()))
}

fn activation(value: &str) -> Result<States, String> {
    match value.chars().next().map(|letter| letter.to_ascii_uppercase()) {
        Some('A') => Ok(States::default()),
        Some('D') => Ok(States::DRAIN),
        Some('S') => Ok(States::STOPPED),
        _ => Err(crate::unknown("activation", value, &["Active", "Disabled", "Stopped"])),
    }
}

/// New sessions are shared as requests are.
fn method(value: &str) -> Result<Method, String> {
    match value.chars().next().map(|letter| letter.to_ascii_uppercase()) {
        Some('R' | 'S' | 'N') => Ok(Method::ByRequests),
        Some('T') => Ok(Method::ByTraffic),
        Some('B') => Ok(Method::ByBusyness),
        _ => Err(crate::unknown("method", value, &["Request", "Session", "Next", "Traffic", "Busyness"])),
    }
}
