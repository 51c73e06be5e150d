//! The first steps of a request: its target taken apart, and the virtual host chosen.

use crate::log::{self, Severity};
use crate::request::{Request, methods};
use bytes::Bytes;
use hostler_config::Server;
use hostler_http1::authority::{Authority, authority};
use hostler_http1::head::HTTP_11;
use hostler_http1::uri;

/// Splits the target and selects the virtual host.
pub(crate) fn select(request: &mut Request) -> Result<(), u16> {
    let target = request.client.target.clone();
    if request.client.peer.limits.registered_methods && !methods::is_known_method(request) {
        return Err(refused(
            request,
            501,
            "the method is not registered (HttpProtocolOptions RegisteredMethods)",
        ));
    }
    if &*request.target.method == b"CONNECT" {
        if memchr::memchr(b'/', &target).is_some() {
            return Err(refused(request, 400, "CONNECT takes a host and a port"));
        }
        request.target.uri = target.to_vec();
        request.reply.headers_out.set("Allow", methods::allowed(request));
        return Err(405);
    }
    let strict = request.client.peer.limits.strict;
    let whole = if strict { &target[..] } else { without_fragment(&target) };
    let parts = uri::split(whole).map_err(|error| refused(request, error.status(), &error.to_string()))?;
    request.target.uri = parts.path.to_vec();
    request.target.args = parts.query.map(|q| target.slice_ref(q));
    let authority = match parts.authority {
        Some(text) => {
            if request.client.version == HTTP_11 && !request.target.headers_in.contains("Host") {
                return Err(refused(request, 400, NO_HOST));
            }
            let authority = authority(text, strict).filter(|_| has_port(text));
            let authority =
                authority.ok_or_else(|| refused(request, 400, "the target's host is malformed"))?;
            // RFC 9112 §3.2.2: the target's host replaces the Host field. Where there was none programs see none.
            if strict && request.target.headers_in.contains("Host") {
                request.target.headers_in.set("Host", target.slice_ref(text));
            }
            Some(authority)
        }
        None => host_field(request, strict)?,
    };
    if let Some(Authority { host, port }) = authority {
        choose(request, host, port)?;
    }
    Ok(())
}

/// Returns whether what follows the host in a target is a port, or nothing.
fn has_port(authority: &[u8]) -> bool {
    let host = authority.rsplit(|&b| b == b'@').next().unwrap_or(authority);
    let behind = host.rsplit(|&b| b == b']').next().unwrap_or(host);
    behind.split(|&b| b == b':').skip(1).all(|port| port.iter().all(u8::is_ascii_digit))
}

/// A fragment is never sent (RFC 9110 §4.2.5), and refused with Strict.
/// A target without its fragment, which is nobody's to be asked for.
pub(super) fn without_fragment(target: &[u8]) -> &[u8] {
    &target[..memchr::memchr(b'#', target).unwrap_or(target.len())]
}

fn refused(request: &Request, status: u16, why: &str) -> u16 {
    log::request(request, Severity::Info, "core", why);
    status
}

const NO_HOST: &str = "the request has no Host field";

/// The Host field: one, and required since HTTP/1.1 (RFC 9112 §3.2).
fn host_field(request: &Request, strict: bool) -> Result<Option<Authority>, u16> {
    let mut fields = request.target.headers_in.all(b"host");
    let Some(field) = fields.next() else {
        return if request.client.version >= HTTP_11 {
            Err(refused(request, 400, NO_HOST))
        } else {
            Ok(None)
        };
    };
    if fields.next().is_some() {
        return Err(refused(request, 400, "the request has several Host fields"));
    }
    if field.is_empty() {
        // Before HTTP/1.1 it is as good as none.
        let needed = request.client.version >= HTTP_11;
        return if needed { Err(refused(request, 400, "the Host field is empty")) } else { Ok(None) };
    }
    match authority(field, strict) {
        Some(authority) => Ok(Some(authority)),
        None => Err(refused(request, 400, "the Host field is malformed")),
    }
}

fn choose(request: &mut Request, host: Vec<u8>, port: Option<u16>) -> Result<(), u16> {
    let found = request.client.peer.hosts.find(&host).cloned();
    if let Some(server) = &found {
        request.server = server.clone();
        request.resource.dir = server.defaults.clone();
    } else if request.server.conf.core.strict_host_check == Some(true) {
        return Err(refused(request, 400, "no virtual host has the name (StrictHostCheck)"));
    }
    misdirected(request)?;
    request.client.hostname = Some(Bytes::from(host));
    request.client.host_port = port;
    Ok(())
}

/// A connection whose handshake was for one virtual host must not reach another with other TLS settings
/// (RFC 9110 §15.5.20).
fn misdirected(request: &Request) -> Result<(), u16> {
    let Some(tls) = &request.client.peer.tls else { return Ok(()) };
    let hosts = &request.client.peer.hosts;
    let strict = |server: &Server| server.conf.ssl.strict_sni == Some(true);
    if tls.server_name.is_none()
        && hosts.are_named()
        && (strict(hosts.default_server()) || strict(&request.server))
    {
        return Err(refused(
            request,
            403,
            "the client did not say which host it wants (SSLStrictSNIVHostCheck)",
        ));
    }
    let asked = tls.server_name.as_deref().and_then(|name| hosts.find(name.as_bytes()));
    let shaken: &Server = asked.unwrap_or_else(|| hosts.default_server());
    if shaken.id == request.server.id || crate::request::tls_facts::same_settings(shaken, &request.server) {
        Ok(())
    } else {
        Err(refused(request, 421, "the handshake was for a virtual host with other TLS settings"))
    }
}
