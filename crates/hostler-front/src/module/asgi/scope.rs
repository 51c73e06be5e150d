//! The scope of a request: ASGI's connection scope, as far as the front knows it. The worker adds its own part (state,
//! its extensions).

use crate::hook;
use crate::request::Request;
use crate::request::connection::Tls;
use crate::technique::upload::is_withheld;
use crate::values::text;
use bytes::Bytes;
use hostler_config::directives::alias::push_escaped_path;
use hostler_config::directives::core::EncodedSlashes;
use hostler_config::directives::ssl::client::Verify;
use hostler_http1::head::{HTTP_2, HTTP_10};
use hostler_http1::uri;
use hostler_python_frames::asgi::{Follows, Scope};
use std::borrow::Cow;

/// The kind of scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Http,
    WebSocket,
}

/// A question of ours, which the worker answers by itself: whether it is there.
pub(super) fn presence_question() -> Bytes {
    let mut scope = Scope::new(Follows::Nothing);
    scope.key("type").text("hostler.presence");
    scope.finish().into()
}

/// The scope of a request. `passes_login`: the application is told of Authorization though the server has looked at it.
pub(super) fn of(request: &Request, kind: Kind, root_path: &str, passes_login: bool) -> Bytes {
    let mut scope = Scope::new(match kind {
        Kind::WebSocket => Follows::Nothing,
        Kind::Http if request.target.body.is_empty() => Follows::Nothing,
        Kind::Http if is_withheld(request) => Follows::BodyOnDemand,
        Kind::Http => Follows::Body,
    });
    let is_encrypted = request.client.peer.tls.is_some();
    let scheme = match (kind, is_encrypted) {
        (Kind::Http, false) => "http",
        (Kind::Http, true) => "https",
        (Kind::WebSocket, false) => "ws",
        (Kind::WebSocket, true) => "wss",
    };
    scope.key("type").text(if kind == Kind::Http { "http" } else { "websocket" });
    // What 2.4 says of a lost connection holds for both. Of HTTP it would have frameworks wait for it in `send` alone, and
    // those that only wait for something to send would not hear of it.
    let version = if kind == Kind::Http { "2.3" } else { "2.4" };
    scope.key("asgi").dictionary().key("version").text("3.0").key("spec_version").text(version).end();
    scope.key("http_version").text(match request.client.version {
        HTTP_2.. => "2",
        ..=HTTP_10 => "1.0",
        _ => "1.1",
    });
    if kind == Kind::Http {
        scope.key("method").text(&String::from_utf8_lossy(&request.target.method));
    } else {
        subprotocols(&mut scope, request);
    }
    scope.key("scheme").text(scheme);
    scope.key("path").text(&String::from_utf8_lossy(&request.target.uri));
    scope.key("raw_path").bytes(&raw_path(request));
    scope.key("query_string").bytes(request.target.args.as_deref().unwrap_or_default());
    scope.key("root_path").text(root_path);
    headers(&mut scope, request, passes_login);
    let client = request.client.peer.remote;
    scope.key("client").tuple(2).text(&client.ip().to_string()).number(client.port().into());
    // Where it listens; what the client calls it is in its Host field.
    let local = request.client.peer.local;
    scope.key("server").tuple(2).text(&local.ip().to_string()).number(local.port().into());
    scope.key("extensions").dictionary();
    extensions(&mut scope, request);
    scope.end();
    scope.finish().into()
}

/// The path as it was sent. If rules have made another path of it, that path.
fn raw_path(request: &Request) -> Cow<'_, [u8]> {
    let target = &request.client.target[..];
    let sent = uri::split(target).map_or(&b""[..], |parts| parts.path);
    // Slashes may have been left as they were (AllowEncodedSlashes NoDecode).
    let is_plain = || [false, true].iter().any(|keeps| decoded(sent, *keeps) == request.target.uri);
    if sent.starts_with(b"/") && (is_plain() || is_normalised(request, sent)) {
        return sent.into();
    }
    let keeps_slashes = request.server.conf.core.encoded_slashes == Some(EncodedSlashes::NoDecode);
    encoded(&request.target.uri, keeps_slashes).into()
}

/// Returns whether the request's path is the sent one without what every path is freed of: repeated slashes and dot
/// segments.
fn is_normalised(request: &Request, sent: &[u8]) -> bool {
    hook::walk::normalised(&request.server, sent).is_ok_and(|path| path == request.target.uri)
}

/// `keeps_slashes`: what stands for a slash stands there as it was sent.
fn encoded(path: &[u8], keeps_slashes: bool) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(path.len()), path);
    let is_slash = |three: &[u8]| keeps_slashes && three.eq_ignore_ascii_case(b"%2f");
    while let Some(at) = rest.windows(3).position(is_slash) {
        push_escaped_path(&rest[..at], &mut out);
        out.extend_from_slice(&rest[at..at + 3]);
        rest = &rest[at + 3..];
    }
    push_escaped_path(rest, &mut out);
    out
}

/// `keeps_slashes`: an escaped slash stays as it is.
fn decoded(path: &[u8], keeps_slashes: bool) -> Vec<u8> {
    text::percent_decoded(path, |byte| keeps_slashes && byte == b'/')
}

fn subprotocols(scope: &mut Scope, request: &Request) {
    let said = request
        .target
        .headers_in
        .all(b"Sec-WebSocket-Protocol")
        .flat_map(|value| value.split(|byte| *byte == b','));
    let all: Vec<_> =
        said.map(|name| String::from_utf8_lossy(name.trim_ascii())).filter(|name| !name.is_empty()).collect();
    scope.key("subprotocols").list(all.len() as u32);
    for name in all {
        scope.text(&name);
    }
}

/// Names in lower case. What a login of the server's own has used the application has no business with, unless it is told so
/// (`WSGIPassAuthorization`); fields of the connection to the client are told as they are.
fn headers(scope: &mut Scope, request: &Request, passes_login: bool) {
    let withholds = request.auth_type.is_some() && !passes_login;
    let all: Vec<_> = request
        .target
        .headers_in
        .iter()
        .filter(|(name, _)| !(withholds && name.eq_ignore_ascii_case(b"Authorization")))
        .flat_map(|(name, value)| as_sent(request, name, value))
        .collect();
    scope.key("headers").list(all.len() as u32);
    for (name, value) in all {
        scope.tuple(2).bytes(&name.to_ascii_lowercase()).bytes(value);
    }
}

/// A field as the client has sent it: in several, if nobody has changed it since.
fn as_sent<'a>(
    request: &'a Request,
    name: &'a Bytes,
    value: &'a Bytes,
) -> impl Iterator<Item = (&'a Bytes, &'a Bytes)> {
    let repeated = &request.target.repeated_in;
    let is_as_sent = repeated.joined(name).as_ref() == Some(value);
    let several = is_as_sent.then(|| repeated.all(name)).into_iter().flatten();
    several.chain((!is_as_sent).then_some(value)).map(move |value| (name, value))
}

/// Adds the facts that ASGI has no field for.
fn extensions(scope: &mut Scope, request: &Request) {
    if let Some(tls) = &request.client.peer.tls {
        of_tls(scope, tls);
    }
    let (user, kind) = (request.user.as_deref(), request.auth_type.as_deref());
    if let Some(user) = user {
        scope.key("hostler").dictionary().key("user").text(&String::from_utf8_lossy(user));
        scope.key("auth_type").text(&String::from_utf8_lossy(kind.unwrap_or_default())).end();
    }
}

/// ASGI's TLS extension.
fn of_tls(scope: &mut Scope, tls: &Tls) {
    scope.key("tls").dictionary();
    scope.key("server_cert").text(&tls.certificate.pem());
    scope.key("cipher_suite").number(tls.cipher_suite.into());
    match tls.protocol {
        "TLSv1.3" => scope.key("tls_version").number(0x0304),
        "TLSv1.2" => scope.key("tls_version").number(0x0303),
        _ => scope.key("tls_version").none(),
    };
    let client = tls.client.as_deref();
    let chain = client.map_or(0, |client| 1 + client.chain.len());
    scope.key("client_cert_chain").list(chain as u32);
    for facts in client.into_iter().flat_map(|client| [&client.facts].into_iter().chain(&client.chain)) {
        scope.text(&facts.pem());
    }
    let name = client.and_then(|client| client.facts.find("SSL_CLIENT_S_DN"));
    let error = client.and_then(|client| client.validity.refusal(Verify::Require, u8::MAX));
    for (key, value) in [("client_cert_name", name), ("client_cert_error", error)] {
        match value {
            Some(text) => scope.key(key).text(&text),
            None => scope.key(key).none(),
        };
    }
    scope.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_decoded_as_it_was_sent() {
        assert_eq!(decoded(b"/a%20b/%C3%A4%zz%2%2f", false), b"/a b/\xc3\xa4%zz%2/");
        assert_eq!(decoded(b"/a%20b%2fc%2F", true), b"/a b%2fc%2F");
    }

    #[test]
    fn what_rules_have_made_is_encoded_once() {
        assert_eq!(encoded(b"/a b%2fc%", true), b"/a%20b%2fc%25");
        assert_eq!(encoded(b"/a b%2fc", false), b"/a%20b%252fc");
    }
}
