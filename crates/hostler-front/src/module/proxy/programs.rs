//! Programs behind `ProxyPass` and `P` that speak another protocol than HTTP: FastCGI, SCGI and uwsgi programs, and servlet
//! containers over AJP.
//!
//! What their handlers (`proxy:fcgi://...`) and applications (`ServletApp`) do is done here too; a server's parameters
//! decide how long is waited, and whether it is asked at all.

use super::PREFIX;
use super::answer;
use super::run::{Balanced, choose, note_failure};
use super::target::{Aim, Destination, Whose, split};
use crate::io::body::{Body, BodyError, BodyStream};
use crate::log::{self, Severity};
use crate::module::cgi::ClientBody;
use crate::module::proxy_fcgi;
use crate::module::socket::talk::NoAnswer;
use crate::module::socket::worker::Worker;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::technique::container::{self, Told};
use crate::technique::overridden::overridden;
use crate::technique::respond::fail;
use crate::technique::sockets::Sockets;
use crate::technique::sockets::{Address, Target};
use bytes::Bytes;
use hostler_ajp::{Attribute, USUAL};
use hostler_config::directives::proxy::url::Url;
use hostler_gateway::backend::ajp::Ajp;
use hostler_gateway::backend::stream::Keep;
use hostler_gateway::upstream::Usage;
use hostler_gateway::{Error, Kind};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// The log's name of the module.
const LOG: &str = "proxy";

/// Has a program answer, of a balancer's one that can be connected to.
pub(super) async fn handle(request: &mut Request, aim: &Aim, whose: &Whose) -> Result<Body, Halt> {
    let mut balanced = Balanced::of(request, aim, whose);
    let mut client = None;
    loop {
        let to = choose(request, whose, aim, &mut balanced).await?;
        let missed = match attempt(request, &to, &mut client).await {
            Ok(body) => {
                note_failure(request, &to, request.reply.status);
                return overridden(request).map_or(Ok(body), Err);
            }
            Err(NoAnswer::Halt(halt)) => return Err(halt),
            Err(missed) => missed,
        };
        to.upstream.fail();
        if !balanced.may_go_on(whose) {
            return Err(missed.halt(request, LOG));
        }
        if let NoAnswer::NotConnected(error, _) = &missed {
            log::failure_soon(request, LOG, error, to.upstream.name().as_bytes());
        }
    }
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
    let target = Arc::new(Target {
        address: address(&to.url),
        connect_timeout: to.parameters.connect_timeout.unwrap_or(timeout),
        settings: proxy_fcgi::connections(request, to.parameters.max.unwrap_or(proxy_fcgi::MOST)),
    });
    let path = to.path.split(|b| *b == b'?').next().unwrap_or_default();
    let body = if &*to.url.scheme == "ajp" {
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
        // Quirk(apache): FastCGI's connections are kept only where that is said.
        let keep = if to.parameters.reuse == Some(true) { Keep::Connection } else { Keep::Nothing };
        proxy_fcgi::serve(request, &worker, target, (&path, keep), timeout, client).await?
    };
    Ok(match body {
        Body::Stream(stream) => Body::Stream(Box::new(BusyBody { stream, usage })),
        whole => whole,
    })
}

/// An answer's body on its way: as long as it is, the server counts as busy.
struct BusyBody {
    stream: Box<dyn BodyStream>,
    #[allow(dead_code, reason = "it counts as long as it is there")]
    usage: Usage,
}

impl BodyStream for BusyBody {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.stream.poll_chunk(context)
    }
}

/// `proxy-fcgi-pathinfo`: where the script's name ends, and what is behind it (`proxy_fcgi_canon`).
fn path_info(request: &mut Request, path: &[u8]) -> Result<Vec<u8>, Halt> {
    let Some(how) = request.env.find("proxy-fcgi-pathinfo").cloned() else { return Ok(path.to_vec()) };
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
    let info = if is("unescape") { percent_decoded(path) } else { path.to_vec() };
    request.resource.path_info = info;
    Ok(path.to_vec())
}

/// Without escapes; what is none stays.
fn percent_decoded(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut at = 0;
    while let Some(byte) = path.get(at) {
        let hex = |offset: usize| path.get(at + offset).and_then(|b| (*b as char).to_digit(16));
        match (byte, hex(1), hex(2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    out
}

/// mod_proxy_uwsgi: the path behind the server's name is the application's, what comes before it in the URL its name.
/// It is told as it is, without escapes.
fn tell_path(request: &mut Request) -> Vec<u8> {
    let path = split(&request.resource.filename[PREFIX.len()..]).1.to_vec();
    if request.target.uri.ends_with(&path) {
        request.resource.path_info.clone_from(&path);
    }
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
    let secret = to.parameters.secret.as_deref().map(|secret| Attribute::Secret(secret.as_bytes()));
    let attributes = secret.into_iter().collect();
    let told = Told { path, server_name: None, attributes, packet: USUAL, timeout: Some(timeout) };
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
