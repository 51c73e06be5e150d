//! Another server's response as this one's (`ap_proxy_http_process_response`).

use super::outgoing;
use super::target::Destination;
use crate::request::reply::Marks;
use crate::request::{Request, variables};
use crate::values::table::Table;
use crate::values::trailers::may_follow;
use bytes::Bytes;
use hostler_config::directives::proxy::{Dir as ProxyDir, Via, reverse};
use hostler_gateway::backend::http::ServerAnswer;
use hostler_http1::framing::is_hop_by_hop;
use hostler_http1::head::HTTP_11;

/// Returns whether a field is about the connection to that server, not the answer.
pub(crate) fn is_of_connection(name: &[u8]) -> bool {
    is_hop_by_hop(name) || name.eq_ignore_ascii_case(b"proxy-authenticate")
}

/// Fields that have URLs of that server.
const URLS: [&[u8]; 4] = [b"location", b"content-location", b"uri", b"destination"];

/// Returns whether a response's URLs or cookies are mapped to this server's.
pub(super) fn maps(dir: &ProxyDir) -> bool {
    !(dir.reverse.is_empty() && dir.cookie_paths.is_empty() && dir.cookie_domains.is_empty())
}

/// Returns whether that concerns a field.
pub(super) fn is_mapped(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"set-cookie") || URLS.iter().any(|url| name.eq_ignore_ascii_case(url))
}

/// Makes the head the request's answer.
pub(super) fn apply(request: &mut Request, to: &Destination, said: &ServerAnswer) {
    request.reply.status = said.head.status;
    let reason = said.bytes.slice(said.head.reason.start as usize..said.head.reason.end as usize);
    request.reply.reason = (!reason.is_empty()).then_some(reason);
    let is_chunked = said.head.all(&said.bytes, "transfer-encoding").next().is_some();
    let connection: Vec<&[u8]> =
        said.head.all(&said.bytes, "connection").flat_map(|value| value.split(|b| *b == b',')).collect();
    let mut fields = Table::with_capacity(said.head.fields.len() + 2);
    for (name, value) in &said.head.fields {
        let piece =
            |span: hostler_http1::head::Span| said.bytes.slice(span.start as usize..span.end as usize);
        let (name, mut value) = (piece(*name), piece(*value));
        let is = |all: &[&[u8]]| all.iter().any(|one| name.eq_ignore_ascii_case(one));
        let is_named = connection.iter().any(|token| token.trim_ascii().eq_ignore_ascii_case(&name));
        let is_length = is(&[b"content-length"]);
        // One that is said twice is the same both times.
        let is_superfluous = is_length && (is_chunked || fields.contains(b"Content-Length"));
        if is_of_connection(&name) || is_named || is_superfluous {
            continue;
        }
        if value.contains(&b'\n') {
            // As Apache does: the blanks stay.
            value = value.iter().copied().filter(|b| !matches!(b, b'\r' | b'\n')).collect::<Vec<u8>>().into();
        }
        fields.add(name, value);
    }
    map(request, to.upstream.name(), &mut fields);
    let via = request.server.conf.proxy.via.unwrap_or_default();
    if matches!(via, Via::On | Via::Full) {
        fields.merge("Via", &outgoing::via(request, via, said.head.version.min(HTTP_11)).into());
    }
    request.resource.content_type = fields.take(b"Content-Type");
    if !fields.contains(b"Content-Length") && &*request.target.method != b"HEAD" {
        request.reply.marks.set(Marks::FLUSHED);
    }
    request.reply.headers_out = fields;
    request.reply.marks.set(Marks::KEEPS_SERVER);
}

/// Tells the client an interim answer, but for 100 (Continue), which is about this server's own part of the way, and 101.
/// `proxy-interim-response` may forbid it.
pub(super) fn tell_early(request: &Request, said: &ServerAnswer) {
    let is_suppressed = || {
        let how = request.env.find("proxy-interim-response");
        how.is_some_and(|how| how.eq_ignore_ascii_case(b"suppress"))
    };
    if said.head.status <= 101 || is_suppressed() {
        return;
    }
    let fields = said.head.fields.iter().map(|(name, value)| (name.of(&said.bytes), value.of(&said.bytes)));
    let passed = fields.filter(|(name, _)| !name.eq_ignore_ascii_case(b"proxy-authenticate"));
    request.tell_early(said.head.status, passed);
}

/// Returns the trailers of a response's body, as far as they are allowed.
pub(super) fn trailers(request: &Request, fields: Vec<(Bytes, Bytes)>) -> Option<Table> {
    let mut kept = Table::with_capacity(fields.len());
    for (name, value) in fields {
        request.client.trailers.answer(&name, &value);
        if may_follow(&name) {
            kept.add(name, value);
        }
    }
    (kept.len() > 0).then_some(kept)
}

/// URLs and cookies in this server's words.
pub(super) fn map(request: &Request, member: &str, fields: &mut Table) {
    let dir = &request.resource.dir.proxy;
    if !maps(dir) {
        return;
    }
    let variable = |name: &str| request.env.find(name).map(|value| value.to_vec());
    let absolute = |path: &[u8]| variables::absolute_url(request, path);
    let asked = reverse::ReverseFacts { variable: &variable, absolute: &absolute, member: Some(member) };
    let mut mapped = Table::with_capacity(fields.len());
    for (name, value) in fields.iter() {
        let new = if URLS.iter().any(|url| name.eq_ignore_ascii_case(url)) {
            reverse::location(dir, &request.server.conf.proxy, value, asked).map(Bytes::from)
        } else if name.eq_ignore_ascii_case(b"set-cookie") {
            Some(reverse::cookie(dir, value, asked).into())
        } else {
            None
        };
        mapped.add(name.clone(), new.unwrap_or_else(|| value.clone()));
    }
    *fields = mapped;
}

/// The head of an answer that changes the protocol: what it says of the connection stays, as it is this one's too.
pub(super) fn apply_upgrade(request: &mut Request, to: &Destination, said: &ServerAnswer) {
    apply(request, to, said);
    let upgrade = said.head.all(&said.bytes, "upgrade").next().map(Bytes::copy_from_slice);
    if let Some(upgrade) = upgrade {
        request.reply.headers_out.set("Upgrade", upgrade);
    }
    request.reply.headers_out.set("Connection", "Upgrade");
    if let Some(content_type) = request.resource.content_type.take() {
        request.reply.headers_out.set("Content-Type", content_type);
    }
}
