//! Programs behind `ProxyPass` and `P` that speak another protocol than HTTP: FastCGI, SCGI and uwsgi programs, and servlet
//! containers over AJP.
//!
//! The work of their handlers (`proxy:fcgi://...`) and applications (`ServletApp`) is done here too; a server's parameters
//! decide how long is waited, and whether it is asked at all.

use super::answer;
use super::run::note_failure;
use super::target::{Destination, split};
use super::upload::BodySoFar;
use super::{PREFIX, ProxyState, mounted};
use crate::io::body::{Body, BodyError, BodyStream};
use crate::log::{self, Severity};
use crate::module::cgi::ClientBody;
use crate::module::proxy_fcgi;
use crate::module::socket::talk::NoAnswer;
use crate::module::socket::worker::Worker;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::technique::container::{self, AsJk, ContainerRequest};
use crate::technique::overridden::{overridden, replaced};
use crate::technique::respond::fail;
use crate::technique::sockets::Sockets;
use crate::technique::sockets::{Address, Target};
use crate::values::text;
use bytes::Bytes;
use hostler_ajp::{Attribute, DEFAULT_PACKET, LONGEST};
use hostler_config::Server;
use hostler_config::directives::proxy::url::Url;
use hostler_gateway::backend::ajp::Ajp;
use hostler_gateway::upstream::{States, Usage};
use hostler_gateway::{Error, Kind};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// The log's name of the module.
pub(super) const LOG: &str = "proxy";

/// Has a program answer.
pub(super) async fn answer(
    request: &mut Request,
    to: &Destination,
    read: &mut BodySoFar,
) -> Result<Body, NoAnswer> {
    let client = read.for_program(request);
    let body = attempt(request, to, client).await.map_err(|missed| with_hint(request, to, missed))?;
    note_failure(request, to, request.reply.status);
    let page = own_page(request).or_else(|| overridden(request));
    page.map_or(Ok(body), |page| Err(NoAnswer::Halt(page)))
}

/// A name that cannot be resolved may be that of a socket, which a `ProxyPass` does not use: it names a server of its own.
fn with_hint(request: &Request, to: &Destination, missed: NoAnswer) -> NoAnswer {
    let named = request.server.conf.proxy.named_socket(&to.url);
    match (missed, named) {
        (NoAnswer::NotConnected(error, status), Some(named)) => {
            let why = format!("{error} (to use the socket of {}, write its whole URL)", named.url);
            NoAnswer::NotConnected(Error::because(error.kind, why), status)
        }
        (missed, _) => missed,
    }
}

/// `use_server_errors` of a mount: a page of this server's in the place of the answer.
pub(super) fn own_page(request: &mut Request) -> Option<Halt> {
    let from = mounted(request)?.rule.own_errors?;
    if request.reply.status < from {
        return None;
    }
    replaced(request)
}

/// Has this program answer.
async fn attempt(
    request: &mut Request,
    to: &Destination,
    client: &mut Option<ClientBody>,
) -> Result<Body, NoAnswer> {
    let usage =
        to.upstream.enter().await.map_err(|why| {
            NoAnswer::NotConnected(Error::because(Kind::NotConnected, why.to_string()), 503)
        })?;
    let timeout = to.timeout(request);
    let target = Arc::new(target(request, to, timeout));
    let end = match mounted(request) {
        // It is without the query, and may have what looks like one.
        Some(_) => to.path.len(),
        None => to.path.iter().position(|b| *b == b'?').unwrap_or(to.path.len()),
    };
    let path = &to.path[..end];
    let body = if &*to.url.scheme == "ajp" {
        if let Some(client) = client.take() {
            request.target.body = client.put_back();
        }
        contain(request, &target, path, to, timeout).await?
    } else {
        let path = match &*to.url.scheme {
            "uwsgi" => tell_path(request),
            "fcgi" => path_info(request, path)?,
            _ => path.to_vec(),
        };
        let worker = Worker {
            scheme: to.url.scheme.to_string(),
            address: target.address.clone(),
            origin: to.url.base(),
            path: Vec::new(),
        };
        let keep = proxy_fcgi::kept(&to.parameters);
        proxy_fcgi::serve(request, &worker, target, (&path, keep), timeout, client).await?
    };
    Ok(BusyBody::around(body, usage))
}

/// Returns the address to connect to.
pub(super) fn target(request: &Request, to: &Destination, timeout: Duration) -> Target {
    Target {
        address: address(&to.url),
        connect_timeout: to.parameters.connect_timeout.unwrap_or(timeout),
        settings: proxy_fcgi::said_connections(request, &to.parameters),
    }
}

/// An answer's body on its way: as long as it is, the server counts as busy.
pub(super) struct BusyBody {
    stream: Box<dyn BodyStream>,
    #[allow(dead_code, reason = "it counts as long as it is there")]
    usage: Usage,
}

impl BusyBody {
    /// A body that is whole needs nobody any more.
    pub(super) fn around(body: Body, usage: Usage) -> Body {
        match body {
            Body::Stream(stream) => Body::Stream(Box::new(Self { stream, usage })),
            whole => whole,
        }
    }
}

impl BodyStream for BusyBody {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.stream.poll_chunk(context)
    }
}

/// `proxy-fcgi-pathinfo`: where the script's name ends, and what is behind it (`proxy_fcgi_canon`).
fn path_info(request: &mut Request, path: &[u8]) -> Result<Vec<u8>, Halt> {
    let how = request.slots.find::<ProxyState>().and_then(|proxied| proxied.path_info.clone());
    let Some(how) = how else { return Ok(path.to_vec()) };
    let is = |word: &str| how.eq_ignore_ascii_case(word.as_bytes());
    if is("full") {
        let why = "proxy-fcgi-pathinfo=full is not possible: files of other machines are not looked for here; first-dot and \
                   last-dot are";
        log::request(request, Severity::Error, LOG, why);
        return Err(Halt::Status(500));
    }
    if is("first-dot") || is("last-dot") {
        let mut dots = path.iter().enumerate().filter(|(_, b)| **b == b'.').map(|(at, _)| at);
        let dot = if is("first-dot") { dots.next() } else { dots.next_back() };
        let slash = dot.and_then(|dot| Some(dot + path[dot..].iter().position(|b| *b == b'/')?));
        let Some(slash) = slash else { return Ok(path.to_vec()) };
        // Quirk(apache): the script's name is told with it, as php-fpm wants it.
        request.resource.path_info = path[slash..].to_vec();
        return Ok(path.to_vec());
    }
    let info = if is("unescape") { text::percent_decoded(path, |_| false) } else { path.to_vec() };
    request.resource.path_info = info;
    Ok(path.to_vec())
}

/// mod_proxy_uwsgi: the path behind the server's name is the application's, what comes before it in the URL its name.
/// It is told as it is, without escapes, and begins with one slash: where only one of the two in a ProxyPass ends with a slash,
/// the path has two, or none.
fn tell_path(request: &mut Request) -> Vec<u8> {
    let path = split(&request.resource.filename[PREFIX.len()..]).1.to_vec();
    let behind = path.iter().position(|byte| *byte != b'/').unwrap_or(path.len());
    request.resource.path_info = [b"/", &path[behind..]].concat();
    path
}

fn address(url: &Url) -> Address {
    match &url.unix {
        Some(path) => Address::Unix(path.as_bytes().into()),
        // Quirk(apache): no host is `localhost`.
        None if url.host.is_empty() => Address::Tcp { host: "localhost".into(), port: url.port() },
        None => Address::Tcp { host: url.host.clone(), port: url.port() },
    }
}

/// The longest packet, as mod_proxy_ajp takes it from a buffer's size.
pub(super) fn packet(to: &Destination, server: &Server) -> usize {
    let buffer = to.parameters.io_buffer.or(server.conf.proxy.io_buffer);
    buffer.map_or(DEFAULT_PACKET, |size| size.next_multiple_of(1024).clamp(DEFAULT_PACKET, LONGEST))
}

/// `JkEnvVar`: variables that the container is told as attributes of the request.
fn variables(request: &Request) -> Vec<(Vec<u8>, Vec<u8>)> {
    let value = |name: &str, usual: &Option<Box<str>>| {
        let set = request.env.find(name).map(|value| value.to_vec());
        set.or_else(|| usual.as_deref().map(|usual| usual.as_bytes().to_vec()))
    };
    let all = &request.server.conf.jk.variables;
    all.iter().filter_map(|(name, usual)| Some((name.as_bytes().to_vec(), value(name, usual)?))).collect()
}

/// Returns the secret that a container requires (`secret=`).
pub(super) fn secret(to: &Destination) -> Option<Attribute<'_>> {
    to.parameters.secret.as_deref().map(|secret| Attribute::Secret(secret.as_bytes()))
}

/// Asks a servlet container; what it says of URLs and cookies is put in this server's words.
async fn contain(
    request: &mut Request,
    target: &Arc<Target>,
    path: &[u8],
    to: &Destination,
    timeout: Duration,
) -> Result<Body, NoAnswer> {
    let (thread, server) = (request.thread.clone(), request.server.clone());
    let pool = match thread.shared.of::<Sockets>().pool::<Ajp>(&thread, &server, target) {
        Ok(pool) => pool,
        Err(error) => return Err(NoAnswer::Halt(fail(request, LOG, &error))),
    };
    if let Some(limit) = to.parameters.ping {
        let asked = container::ping(request, &pool, limit).await;
        asked.map_err(|why| {
            let why = format!("it does not say within {limit:?} that it is there: {why}");
            NoAnswer::NotConnected(Error::because(Kind::NotConnected, why), 503)
        })?;
    }
    let own = mounted(request).map(|_| variables(request)).unwrap_or_default();
    let mut attributes: Vec<Attribute<'_>> = secret(to).into_iter().collect();
    let mut as_jk = AsJk::default();
    if mounted(request).is_some() {
        let route = to.parameters.route.as_deref().map(|route| Attribute::Route(route.as_bytes()));
        attributes.extend(route);
        let states = to.upstream.states();
        let activation: &[u8] = if states.has(States::DRAIN) { b"DIS" } else { b"ACT" };
        attributes.push(Attribute::Named(b"JK_LB_ACTIVATION", activation));
        attributes.extend(own.iter().map(|(name, value)| Attribute::Named(name, value)));
        let conf = &server.conf.jk;
        as_jk = AsJk {
            says_zero: true,
            hides_tls: conf.extract_ssl == Some(false),
            local_address: conf.local_address == Some(true),
        };
    }
    let packet = packet(to, &server);
    let is_last = to.parameters.reuse == Some(false)
        || (mounted(request).is_some() && server.conf.jk.disables_reuse == Some(true));
    let told = ContainerRequest {
        path,
        server_name: None,
        attributes,
        packet,
        timeout: Some(timeout),
        as_jk,
        is_last,
    };
    let answered = container::attempt(request, pool, told, LOG).await?;
    let body = answered.map_err(|error| {
        let status = error.status();
        NoAnswer::NotConnected(error, status)
    })?;
    let mut fields = std::mem::take(&mut request.reply.headers_out);
    answer::map(request, to.upstream.name(), &mut fields);
    request.reply.headers_out = fields;
    Ok(body)
}
