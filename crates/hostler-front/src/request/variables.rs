//! Values of the server's variables (`REQUEST_URI`, `TIME_YEAR` ...), for expressions and programs alike.

use crate::request::Request;
use crate::request::settings;
use hostler_config::directives::core::CanonicalName;
use hostler_expr::Variable;
use hostler_sys::time::{Zone, strftime};
use std::borrow::Cow;

type Value<'a> = Option<Cow<'a, [u8]>>;

fn owned(value: impl Into<Vec<u8>>) -> Value<'static> {
    Some(Cow::Owned(value.into()))
}

/// The value of a variable of Apache's core; `None` if it has none.
#[allow(clippy::too_many_lines, reason = "one line per variable")]
pub(crate) fn value(request: &Request, variable: Variable) -> Value<'_> {
    let borrowed = |value: &'_ [u8]| -> Value<'_> { Some(Cow::Owned(value.to_vec())) };
    match variable {
        Variable::RequestMethod => Some(Cow::Borrowed(&request.target.method)),
        Variable::RequestScheme => borrowed(request.scheme().as_bytes()),
        Variable::RequestUri => Some(Cow::Borrowed(&request.target.uri)),
        Variable::DocumentUri => Some(Cow::Borrowed(&request.target.uri)),
        Variable::RequestFilename | Variable::ScriptFilename => {
            Some(Cow::Borrowed(&request.resource.filename))
        }
        Variable::RemoteHost => owned(remote_host(request)),
        Variable::RemoteAddr => owned(request.client.peer.remote.ip().to_string()),
        Variable::ConnRemoteAddr => owned(request.client.peer.connected.ip().to_string()),
        Variable::RemotePort => owned(request.client.peer.remote.port().to_string()),
        Variable::RemoteUser => request.user.as_deref().map(Cow::Borrowed),
        Variable::AuthType => request.auth_type.as_deref().map(Cow::Borrowed),
        Variable::ServerAdmin => request.server.conf.core.admin.as_deref().and_then(owned),
        Variable::ServerName => owned(server_name(request)),
        Variable::ServerPort => owned(server_port(request).to_string()),
        Variable::ServerProtocol => borrowed(protocol(request).as_bytes()),
        Variable::PathInfo => Some(Cow::Borrowed(&request.resource.path_info)),
        Variable::QueryString => request.target.args.as_deref().map(Cow::Borrowed),
        Variable::IsSubreq => borrowed(if request.is_sub() { b"true" } else { b"false" }),
        Variable::DocumentRoot => Some(Cow::Borrowed(settings::root_of(request))),
        Variable::TheRequest => Some(Cow::Borrowed(&request.client.line)),
        Variable::ContentType => content_type(request).map(Cow::Borrowed),
        Variable::Handler => {
            let by_type =
                request.resource.content_type.as_deref().map(|t| t.split(|&b| b == b';').next().unwrap_or(t));
            request.resource.handler.as_deref().or(by_type).map(Cow::Borrowed)
        }
        Variable::RequestLogId => owned(crate::request::id::error_id(request)),
        Variable::ConnLogId => owned(format!("{:x}", request.client.peer.id)),
        Variable::ScriptUser => request.resource.found.info().and_then(|i| owned(i.uid.to_string())),
        Variable::ScriptGroup => request.resource.found.info().and_then(|i| owned(i.gid.to_string())),
        Variable::LastModified => {
            request.resource.found.info().and_then(|i| owned(time(b"%Y%m%d%H%M%S", i.mtime)))
        }
        Variable::ContextPrefix => Some(Cow::Borrowed(&request.resource.context_prefix)),
        Variable::ContextDocumentRoot => owned(context_document_root(request)),
        Variable::RequestStatus => {
            (request.reply.status != 0).then(|| Cow::Owned(request.reply.status.to_string().into_bytes()))
        }
        Variable::Https => borrowed(on(request.client.peer.tls.is_some())),
        Variable::Ipv6 => borrowed(on(request.client.peer.remote.ip().to_canonical().is_ipv6())),
        Variable::Http2 => borrowed(on(request.client.version == hostler_http1::head::HTTP_2)),
        Variable::TimeYear => now(request, b"%Y"),
        Variable::TimeMon => now(request, b"%m"),
        Variable::TimeDay => now(request, b"%d"),
        Variable::TimeHour => now(request, b"%H"),
        Variable::TimeMin => now(request, b"%M"),
        Variable::TimeSec => now(request, b"%S"),
        Variable::TimeWday => now(request, b"%w"),
        Variable::Time => now(request, b"%Y%m%d%H%M%S"),
        Variable::ServerSoftware => borrowed(settings::product(&request.server).as_bytes()),
        // Module magic number of Apache 2.4, as far as scripts compare it.
        Variable::ApiVersion => borrowed(b"20120211:145"),
        _ => None,
    }
}

fn on(holds: bool) -> &'static [u8] {
    if holds { b"on" } else { b"off" }
}

fn time(format: &[u8], seconds: i64) -> Vec<u8> {
    let mut out = Vec::new();
    strftime(format, seconds, Zone::Local, &mut out);
    out
}

fn now(request: &Request, format: &[u8]) -> Value<'static> {
    let seconds =
        request.client.received.duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs() as i64);
    owned(time(format, seconds))
}

/// `SERVER_PROTOCOL`.
pub(crate) fn protocol(request: &Request) -> &'static str {
    hostler_wire::work::protocol_name(request.client.version)
}

/// `SERVER_NAME`: what the client asked for, or ServerName (`UseCanonicalName`).
pub(crate) fn server_name(request: &Request) -> Vec<u8> {
    match request.resource.dir.core.use_canonical_name.unwrap_or_default() {
        CanonicalName::On => canonical_name(request),
        CanonicalName::Dns => match request.client.peer.names.local() {
            Some(name) => name.as_bytes().to_vec(),
            None => canonical_name(request),
        },
        CanonicalName::Off => {
            request.client.hostname.as_ref().map_or_else(|| canonical_name(request), |host| host.to_vec())
        }
    }
}

/// `REMOTE_HOST` in expressions: the client's name if it is known (HostnameLookups), else its address.
pub(crate) fn remote_host(request: &Request) -> String {
    let name = request.client.peer.names.client().map(str::to_owned);
    name.unwrap_or_else(|| request.client.peer.remote.ip().to_string())
}

fn canonical_name(request: &Request) -> Vec<u8> {
    match &request.server.canonical.host {
        Some(name) => name.as_bytes().to_vec(),
        None => request
            .client
            .hostname
            .as_ref()
            .map_or_else(|| request.client.peer.local.ip().to_string().into_bytes(), |h| h.to_vec()),
    }
}

/// The name of the virtual host in logs (`%v`): ServerName, whatever the client asked for.
pub(crate) fn virtual_host<'a>(
    server: &'a hostler_config::Server,
    peer: &crate::request::connection::Peer,
) -> Cow<'a, [u8]> {
    match &server.canonical.host {
        Some(name) => Cow::Borrowed(name.as_bytes()),
        None => Cow::Owned(peer.local.ip().to_string().into_bytes()),
    }
}

/// `SERVER_PORT`.
pub(crate) fn server_port(request: &Request) -> u16 {
    let core = &request.resource.dir.core;
    let physical = core.use_canonical_physical_port == Some(true);
    let named = request.server.canonical.port;
    let local = request.client.peer.local.port();
    let physical = physical.then_some(local);
    let port = if core.use_canonical_name.unwrap_or_default() == CanonicalName::On {
        named.or(physical)
    } else {
        request.client.host_port.or(physical).or(named)
    };
    port.unwrap_or(request.default_port())
}

/// `CONTEXT_DOCUMENT_ROOT`.
pub(crate) fn context_document_root(request: &Request) -> Vec<u8> {
    match &request.resource.context_document_root {
        Some(root) => root.clone(),
        None => settings::root_of(request).to_vec(),
    }
}

/// Returns the response's content type. An error's page has a type of its own.
fn content_type(request: &Request) -> Option<&[u8]> {
    let sent = request.reply.headers_out.find("Content-Type");
    sent.or(request.resource.content_type.as_ref()).map(|kind| &**kind)
}

/// An absolute URL on this server for an escaped path (`ap_construct_url`).
pub(crate) fn absolute_url(request: &Request, path: &[u8]) -> Vec<u8> {
    let mut url = format!("{}://", request.scheme()).into_bytes();
    url.extend_from_slice(&server_name(request));
    let port = server_port(request);
    if port != request.default_port() {
        url.extend_from_slice(format!(":{port}").as_bytes());
    }
    url.extend_from_slice(path);
    url
}
