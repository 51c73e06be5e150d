//! The URL of a request at another server (`proxy_http_canon`), and that server.

use super::{PREFIX, ProxyState, mounted};
use crate::log::{self, Severity};
use crate::request::flow::{Continue, Halt};
use crate::request::{Request, settings};
use crate::technique::upstreams::Upstreams;
use crate::technique::upstreams::target;
use crate::technique::websocket;
use bytes::Bytes;
use hostler_config::directives::core::EncodedSlashes;
use hostler_config::directives::proxy::parameters::Parameters;
use hostler_config::directives::proxy::pass::Form;
use hostler_config::directives::proxy::url::Url;
use hostler_config::directives::proxy::{Balancer as BalancerConfig, pass};
use hostler_gateway::upstream::{Balancer, Upstream, UpstreamSettings};
use hostler_http1::framing::has_token;
use hostler_http1::head::{HTTP_2, HTTP_11};
use std::sync::Arc;
use std::time::Duration;

/// A request's URL at another server.
pub(super) struct Aim {
    /// Server or balancer, without the path.
    pub(super) url: Arc<Url>,
    /// Path and query, as they are sent.
    pub(super) path: Vec<u8>,
    /// Of the path alone.
    path_length: usize,
}

impl Aim {
    /// The path without the query.
    pub(super) fn path_alone(&self) -> &[u8] {
        &self.path[..self.path_length]
    }
}

/// The possible source of a response.
pub(super) enum Whose {
    One(Destination),
    Balancer(Arc<Balancer>, Arc<BalancerConfig>),
}

/// A server, and what is said of it.
#[derive(Clone)]
pub(super) struct Destination {
    pub(super) upstream: Arc<Upstream>,
    /// Its own URL, to which the path belongs.
    pub(super) url: Arc<Url>,
    pub(super) parameters: Arc<Parameters>,
    /// No configuration mentions it: no state is kept for it.
    pub(super) is_unknown: bool,
    /// Path and query.
    pub(super) path: Vec<u8>,
    /// Answers after which it is left alone (`failonstatus`), and whether it is after none in time (`failontimeout`).
    pub(super) fails_on: (Vec<u16>, bool),
}

fn refused(request: &Request, status: u16, why: &str) -> Halt {
    let url = String::from_utf8_lossy(&request.resource.filename).into_owned();
    log::request(request, Severity::Error, "proxy", &format!("{url}: {why}"));
    Halt::Status(status)
}

/// The request's URL there, as it is sent.
pub(super) fn aim(request: &Request) -> Result<Aim, Halt> {
    let proxied = request.slots.find::<ProxyState>().cloned().unwrap_or_default();
    let whole = request
        .resource
        .filename
        .strip_prefix(PREFIX)
        .ok_or_else(|| refused(request, 500, "it is not a URL"))?;
    let (base, path) = split(whole);
    let base = std::str::from_utf8(base).map_err(|_| refused(request, 400, "its host is malformed"))?;
    let url = Url::parse(base).map_err(|why| refused(request, 400, &why))?;
    // A name that a request has brought may be anything.
    url.check().map_err(|why| refused(request, 500, &why))?;
    let mut sent = if proxied.form != Form::Decoded {
        path.to_vec()
    } else {
        let slashes = request.server.conf.core.encoded_slashes == Some(EncodedSlashes::NoDecode);
        pass::encoded(path, slashes)
            .ok_or_else(|| refused(request, 400, "an escape in its path is malformed"))?
    };
    if sent.first() != Some(&b'/') {
        sent.insert(0, b'/');
    }
    let path_length = sent.len();
    query(request, &mut sent)?;
    Ok(Aim { url: Arc::new(url), path: sent, path_length })
}

/// Appends the request's query to a path, as it is sent.
pub(super) fn query(request: &Request, sent: &mut Vec<u8>) -> Continue {
    let form = request.slots.find::<ProxyState>().map_or_else(Form::default, |proxied| proxied.form);
    // Quirk(apache): noquery concerns FastCGI's variables, and no URL.
    if let Some(args) = request.target.args.as_ref().filter(|_| form != Form::AsSent) {
        sent.push(b'?');
        sent.extend_from_slice(args);
    }
    // It would end the request line, or begin another one.
    if sent.iter().any(|b| *b <= b' ' || *b == 0x7f) {
        return Err(refused(request, 403, "it has blanks or control characters in it"));
    }
    Ok(())
}

/// Scheme, host and port, and what follows them.
pub(super) fn split(url: &[u8]) -> (&[u8], &[u8]) {
    let socket = if url.starts_with(b"unix:") {
        url.iter().position(|b| *b == b'|').map_or(0, |at| at + 1)
    } else {
        0
    };
    let host = memchr::memmem::find(&url[socket..], b"://").map_or(url.len(), |at| socket + at + 3);
    let end = url[host..].iter().position(|b| matches!(b, b'/' | b'?')).map_or(url.len(), |at| host + at);
    url.split_at(end)
}

/// Returns the server or servers that may answer.
pub(super) fn whose(request: &Request, aim: &Aim) -> Result<Whose, Halt> {
    let (conf, shared) = (&request.server.conf.proxy, &request.thread.shared);
    if let Some(mounted) = mounted(request) {
        let balancer = shared.of::<Upstreams>().balancer(&mounted.containers);
        let balancer = balancer.ok_or_else(|| refused(request, 500, "there is no such worker"))?;
        return Ok(Whose::Balancer(balancer.clone(), mounted.containers.clone()));
    }
    if aim.url.is_balancer() {
        let found = conf.balancer(&aim.url.host);
        let made = found.and_then(|said| Some((shared.of::<Upstreams>().balancer(said)?, said)));
        let (balancer, said) = made.ok_or_else(|| refused(request, 500, "there is no such balancer"))?;
        return Ok(Whose::Balancer(balancer.clone(), said.clone()));
    }
    let known = conf.worker(&aim.url, &aim.path);
    let known = known.and_then(|worker| Some((shared.of::<Upstreams>().worker(worker)?, worker)));
    let destination = match known {
        Some((upstream, worker)) => Destination {
            upstream: upstream.clone(),
            url: with_socket(&aim.url, &worker.url),
            parameters: worker.parameters.clone(),
            is_unknown: false,
            path: aim.path.clone(),
            fails_on: Default::default(),
        },
        None => {
            let said = request.slots.find::<ProxyState>().and_then(|proxied| proxied.parameters.clone());
            let settings = UpstreamSettings { reuse: false, ..UpstreamSettings::default() };
            Destination {
                upstream: Upstream::new(&aim.url.base(), target(&aim.url), settings),
                url: aim.url.clone(),
                parameters: said.unwrap_or_default(),
                is_unknown: true,
                path: aim.path.clone(),
                fails_on: Default::default(),
            }
        }
    };
    Ok(Whose::One(destination))
}

/// A URL that may name a server with a socket, with that socket.
fn with_socket(url: &Arc<Url>, server: &Url) -> Arc<Url> {
    match &server.unix {
        Some(_) if url.unix.is_none() => Arc::new(Url { unix: server.unix.clone(), ..(**url).clone() }),
        _ => url.clone(),
    }
}

/// A member of a balancer: its path comes before the request's.
pub(super) fn member(
    request: &Request,
    upstream: Arc<Upstream>,
    said: &BalancerConfig,
    index: usize,
    aim: &Aim,
) -> Destination {
    let worker = &said.members[index].worker;
    let path = [worker.url.path.as_bytes(), &aim.path].concat();
    let mut fails_on = (
        said.parameters.fail_on_status.clone().unwrap_or_default(),
        said.parameters.fail_on_timeout == Some(true),
    );
    let (url, mut parameters) = (worker.url.clone(), worker.parameters.clone());
    if let Some(mounted) = mounted(request) {
        if let Some(timeout) = mounted.rule.timeout {
            Arc::make_mut(&mut parameters).timeout = Some(timeout);
        }
        if !mounted.rule.fail_on_status.is_empty() {
            fails_on.0.clone_from(&mounted.rule.fail_on_status);
        }
    }
    Destination { upstream, url, parameters, is_unknown: false, path, fails_on }
}

impl Destination {
    /// Returns the longest silence.
    pub(super) fn timeout(&self, request: &Request) -> Duration {
        let usual =
            || request.server.conf.proxy.timeout.unwrap_or_else(|| settings::timeout(&request.server));
        self.parameters.timeout.unwrap_or_else(usual)
    }

    /// Returns the time limit for connecting.
    pub(super) fn connect_timeout(&self, request: &Request) -> Duration {
        self.parameters.connect_timeout.unwrap_or_else(|| self.timeout(request))
    }

    /// Returns the protocol that the client wants to change to, if it is allowed here (`upgrade=`, `ws://`).
    pub(super) fn upgrade<'r>(&self, request: &'r Request) -> Option<&'r Bytes> {
        let asked = websocket::asked(request).or_else(|| asked_on_a_connection(request))?;
        let is = |name: &str| name == "*" || asked.eq_ignore_ascii_case(name.as_bytes());
        let may = match &self.parameters.upgrade {
            Some(protocols) => protocols.iter().any(|name| is(name)),
            None => matches!(&*self.url.scheme, "ws" | "wss") && is("websocket"),
        };
        (may && request.target.body.is_empty() && !request.is_sub()).then_some(asked)
    }
}

/// The protocol that a client wants its connection to change to (RFC 9110 §7.8).
fn asked_on_a_connection(request: &Request) -> Option<&Bytes> {
    let is_wanted = (HTTP_11..HTTP_2).contains(&request.client.version)
        && request.target.headers_in.all(b"Connection").any(|value| has_token(value, b"upgrade"));
    request.target.headers_in.find("Upgrade").filter(|_| is_wanted)
}
