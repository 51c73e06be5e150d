//! Programs behind `ProxyPass` and `P` that speak another protocol than HTTP: FastCGI, SCGI and uwsgi programs, and servlet
//! containers over AJP.
//!
//! What their handlers (`proxy:fcgi://...`) and applications (`ServletApp`) do is done here too; a server's parameters
//! decide how long is waited, and whether it is asked at all.

use super::PREFIX;
use super::answer;
use super::run::overridden;
use super::target::{Aim, split};
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::module::proxy_fcgi;
use crate::module::socket::worker::Worker;
use crate::request::flow::Halt;
use crate::request::{Request, settings};
use crate::technique::container::{self, Told};
use crate::technique::respond::fail;
use crate::technique::sockets::{Address, Target};
use hostler_ajp::{Attribute, USUAL};
use hostler_config::directives::proxy::parameters::{Parameters, States};
use hostler_config::directives::proxy::url::Url;
use hostler_gateway::backend::ajp::Ajp;
use std::sync::Arc;
use std::time::Duration;

/// The log's name of the module.
const LOG: &str = "proxy";

/// Has the program answer.
pub(super) async fn handle(request: &mut Request, aim: &Aim) -> Result<Body, Halt> {
    let whole = Url { path: String::from_utf8_lossy(&aim.path).into(), ..aim.url.clone() };
    let known = request.server.conf.proxy.worker(&whole);
    let said = known.map(|worker| worker.parameters.clone()).unwrap_or_default();
    let name = aim.url.to_string();
    let states = said.states.unwrap_or_default();
    if states.has(States::DISABLED) || states.has(States::STOPPED) {
        let message = format!("{name}: it is disabled (status=)");
        log::request(request, Severity::Error, LOG, &message);
        return Err(Halt::Status(503));
    }
    let usual = || request.server.conf.proxy.timeout.unwrap_or_else(|| settings::timeout(&request.server));
    let timeout = said.timeout.unwrap_or_else(usual);
    let target = Arc::new(Target {
        address: address(&aim.url),
        connect_timeout: said.connect_timeout.unwrap_or(timeout),
        settings: proxy_fcgi::connections(request, said.max.unwrap_or(proxy_fcgi::MOST)),
    });
    let path = aim.path.split(|b| *b == b'?').next().unwrap_or_default();
    let body = if &*aim.url.scheme == "ajp" {
        contain(request, &target, path, &said, timeout).await?
    } else {
        let mut path = path.to_vec();
        if &*aim.url.scheme == "uwsgi" {
            path = tell_path(request);
        }
        let worker = Worker {
            scheme: aim.url.scheme.to_string(),
            address: target.address.clone(),
            origin: aim.url.base(),
            path: Vec::new(),
        };
        proxy_fcgi::serve(request, &worker, target, &path, timeout).await?
    };
    if let Some(halt) = overridden(request) {
        return Err(halt);
    }
    Ok(body)
}

/// mod_proxy_uwsgi: the path behind the server's name is the application's, what comes before it in the URL its name.
/// It is told as it is, without escapes.
fn tell_path(request: &mut Request) -> Vec<u8> {
    let path = split(&request.filename[PREFIX.len()..]).1.to_vec();
    if request.uri.ends_with(&path) {
        request.path_info.clone_from(&path);
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
    said: &Parameters,
    timeout: Duration,
) -> Result<Body, Halt> {
    let (thread, server) = (request.thread.clone(), request.server.clone());
    let pool = match thread.shared.sockets.pool::<Ajp>(&thread, &server, target) {
        Ok(pool) => pool,
        Err(error) => return Err(fail(request, LOG, &error)),
    };
    let secret = said.secret.as_deref().map(|secret| Attribute::Secret(secret.as_bytes()));
    let attributes = secret.into_iter().collect();
    let told = Told { path, server_name: None, attributes, packet: USUAL, timeout: Some(timeout) };
    let body = container::respond(request, pool, told, LOG).await?;
    let name = format!("{}", target.address);
    let mut fields = std::mem::take(&mut request.headers_out);
    answer::map(request, &name, &mut fields);
    request.headers_out = fields;
    Ok(body)
}
