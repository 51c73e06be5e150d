//! The head of a request as another server gets it (`ap_proxy_create_hdrbrgd`).

use super::target::Destination;
use crate::request::{Request, settings, variables};
use crate::technique::outgoing::EndToEnd;
use bytes::Bytes;
use hostler_config::directives::proxy::Via;
use hostler_gateway::backend::http::Sending;
use hostler_http1::head::Version;
use hostler_http1::response::field;

/// Fields that make an answer depend on what somebody has already; not for a part of another answer.
const CONDITIONS: [&[u8]; 5] =
    [b"if-match", b"if-modified-since", b"if-range", b"if-unmodified-since", b"if-none-match"];

/// The framing of the connection and the body.
#[derive(Clone, Copy)]
pub(super) struct Framing<'a> {
    pub(super) sending: Sending,
    /// There is no body, and the client has said so.
    pub(super) says_zero: bool,
    /// The protocol that the client wants to change to.
    pub(super) upgrade: Option<&'a Bytes>,
    /// The key of a WebSocket's handshake, where the client has sent none.
    pub(super) key: Option<&'a str>,
    /// The server is asked to say whether it wants the body.
    pub(super) expect: bool,
    /// The connection ends with the answer.
    pub(super) close: bool,
}

/// The head.
pub(super) fn head(request: &Request, to: &Destination, framing: Framing<'_>) -> Bytes {
    let is_old = request.env.contains("force-proxy-request-1.0");
    let mut out = Vec::with_capacity(1024);
    out.extend_from_slice(&request.target.method);
    out.push(b' ');
    out.extend_from_slice(&to.path);
    out.extend_from_slice(if is_old { b" HTTP/1.0\r\n" } else { b" HTTP/1.1\r\n" });
    field(&mut out, b"Host", &host(request, to));
    fields(request, |name, value| field(&mut out, name, value));
    about_body(&mut out, framing, is_old);
    out.extend_from_slice(b"\r\n");
    out.into()
}

/// The fields, but for those about the connection and the body.
pub(super) fn fields(request: &Request, mut add: impl FnMut(&[u8], &[u8])) {
    let end_to_end = EndToEnd::of(request);
    let own = own_fields(request, &end_to_end);
    let is_own = |name: &[u8]| own.iter().any(|(own, _)| own.as_bytes().eq_ignore_ascii_case(name));
    for (name, value) in request.target.headers_in.iter() {
        let is = |all: &[&[u8]]| all.iter().any(|one| name.eq_ignore_ascii_case(one));
        let is_sent = end_to_end.has(name) && !is_own(name) && !(request.is_sub() && is(&CONDITIONS));
        if is_sent {
            add(name, value);
        }
    }
    for (name, value) in &own {
        if let Some(value) = value {
            add(name.as_bytes(), value);
        }
    }
}

fn about_body(out: &mut Vec<u8>, framing: Framing<'_>, is_old: bool) {
    if framing.expect && !is_old {
        field(out, b"Expect", b"100-continue");
    }
    match framing.sending {
        Sending::Chunked => field(out, b"Transfer-Encoding", b"chunked"),
        Sending::Length(length) => field(out, b"Content-Length", length.to_string().as_bytes()),
        Sending::None if framing.says_zero => field(out, b"Content-Length", b"0"),
        Sending::None => {}
    }
    match framing.upgrade {
        _ if is_old => {}
        Some(protocol) => {
            field(out, b"Upgrade", protocol);
            field(out, b"Connection", b"Upgrade");
            framing.key.into_iter().for_each(|key| field(out, b"Sec-WebSocket-Key", key.as_bytes()));
        }
        None => field(out, b"Connection", if framing.close { b"close" } else { b"Keep-Alive" }),
    }
}

/// Returns the `Host` field for the server.
pub(super) fn host(request: &Request, to: &Destination) -> Vec<u8> {
    if request.resource.dir.proxy.preserve_host == Some(true) {
        let own = || variables::virtual_host(&request.server, &request.client.peer).into_owned();
        return request.target.headers_in.find("Host").map_or_else(own, |host| host.to_vec());
    }
    let mut host = Vec::with_capacity(to.url.host.len() + 8);
    to.url.write_host(&mut host);
    host
}

/// Fields that this server sets or adds to, and those that it takes out.
fn own_fields(request: &Request, end_to_end: &EndToEnd<'_>) -> Vec<(&'static str, Option<Vec<u8>>)> {
    let mut own = Vec::new();
    let conf = &request.server.conf.proxy;
    let joined = |name: &str, value: &[u8]| match request.target.headers_in.joined(name.as_bytes()) {
        Some(known) if !end_to_end.is_named(name.as_bytes()) => [&known[..], b", ", value].concat(),
        _ => value.to_vec(),
    };
    match conf.via.unwrap_or_default() {
        Via::Off => {}
        Via::Block => own.push(("Via", None)),
        via => own.push(("Via", Some(joined("Via", &self::via(request, via, request.client.version))))),
    }
    if request.resource.dir.proxy.add_headers != Some(false) {
        let client = request.client.peer.remote.ip().to_string();
        own.push(("X-Forwarded-For", Some(joined("X-Forwarded-For", client.as_bytes()))));
        if let Some(host) = request.target.headers_in.find("Host") {
            own.push(("X-Forwarded-Host", Some(joined("X-Forwarded-Host", host))));
        }
        let server = variables::virtual_host(&request.server, &request.client.peer);
        own.push(("X-Forwarded-Server", Some(joined("X-Forwarded-Server", &server))));
    }
    if let Some(most) = max_forwards(request) {
        own.push(("Max-Forwards", Some(most.to_string().into_bytes())));
    }
    own
}

/// `Max-Forwards` for the next server; `None`: it is not told.
fn max_forwards(request: &Request) -> Option<i64> {
    match asked_forwards(request) {
        Some(asked) => Some((asked - 1).max(0)),
        None => request.server.conf.proxy.max_forwards.filter(|most| *most >= 0),
    }
}

/// Returns the client's limit of forwarding servers.
pub(super) fn asked_forwards(request: &Request) -> Option<i64> {
    let text = std::str::from_utf8(request.target.headers_in.find("Max-Forwards")?).ok()?.trim();
    Some(text.parse().unwrap_or(0))
}

/// Returns this server's entry in `Via`.
pub(super) fn via(request: &Request, via: Via, version: Version) -> Vec<u8> {
    let name = variables::virtual_host(&request.server, &request.client.peer);
    let port = variables::server_port(request);
    let usual = request.default_port();
    let mut out = format!("{}.{} ", version / 1000, version % 1000).into_bytes();
    out.extend_from_slice(&name);
    if port != usual {
        out.extend_from_slice(format!(":{port}").as_bytes());
    }
    if via == Via::Full {
        out.extend_from_slice(format!(" ({})", settings::product(&request.server)).as_bytes());
    }
    out
}
