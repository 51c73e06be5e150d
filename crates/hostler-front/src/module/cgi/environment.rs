//! The environment of a program, or an SSI page (RFC 3875 §4.1 and Apache's own variables).

use crate::hook::walk;
use crate::module::alias;
use crate::request::Request;
use crate::request::{settings, variables};
use crate::values::table::Table;
use hostler_cgi::escape_html;
use hostler_cgi::{Client, Environment, Redirected, Server};
use hostler_config::directives::alias::escape_path;
use hostler_config::directives::core::Signature;
use std::sync::OnceLock;

/// All variables: those of the configuration, then those of the request, which win.
pub(crate) async fn environment(request: &Request) -> Environment {
    let translated = path_translated(request).await;
    told(request, translated.as_deref())
}

/// `PATH_TRANSLATED`: the file that the path info would be as a URL.
async fn path_translated(request: &Request) -> Option<Vec<u8>> {
    let path_info = &request.resource.path_info;
    if path_info.ends_with(b"/") {
        // A directory may have an index.
        let (sub, phase) = Box::pin(walk::look_up(request, &escape_path(path_info))).await;
        if phase.is_ok() && !sub.resource.filename.is_empty() {
            return Some([sub.resource.filename, sub.resource.path_info].concat());
        }
    }
    if path_info.is_empty() { None } else { alias::translate_only(request, path_info).await }
}

/// The same, where it is known already which file the path info stands for.
pub(crate) fn told(request: &Request, translated: Option<&[u8]>) -> Environment {
    let mut environment = Environment::new();
    for (name, value) in request.env.iter() {
        environment.set(name, &value[..]);
    }
    let (name, signature) = (variables::server_name(request), signature(request));
    let (local, remote) =
        (request.client.peer.local.ip().to_string(), request.client.peer.remote.ip().to_string());
    let (uri, root) = (request_uri(request), variables::context_document_root(request));
    let redirect_url = request.prev.as_ref().map(|prev| redirect_url(request, prev));
    let server = Server {
        name: &name,
        port: variables::server_port(request),
        scheme: request.scheme(),
        address: &local,
        admin: admin(request).as_bytes(),
        signature: &signature,
        software: settings::product(&request.server).as_bytes(),
        path: path(),
    };
    let facts = hostler_cgi::Request {
        method: &request.target.method,
        protocol: if request.is_part() { "INCLUDED" } else { variables::protocol(request) },
        uri: &request.target.uri,
        request_uri: &uri,
        query: request.target.args.as_deref().unwrap_or_default(),
        path_info: &request.resource.path_info,
        path_translated: translated,
        script_filename: &request.resource.filename,
        context_prefix: &request.resource.context_prefix,
        context_document_root: &root,
        document_root: settings::root_of(request),
        auth_type: request.auth_type.as_deref(),
        user: request.user.as_deref(),
        pass_authorization: request.resource.dir.core.cgi_pass_auth == Some(true),
        server,
        client: Client {
            address: &remote,
            port: request.client.peer.remote.port(),
            host: request.client.peer.names.client().map(str::as_bytes),
            ident: None,
        },
        redirected: redirect_url.as_deref().map(|url| redirected(request, url)),
    };
    environment.add_common(&facts, last_of_each(&request.target.headers_in));
    environment.add_cgi(&facts);
    environment
}

/// Iterates over the fields; those that a client sent under one name are one field by now.
///
/// Quirk(apache): where `RequestHeader add` has added to it, programs see only what it added.
fn last_of_each(headers: &Table) -> impl Iterator<Item = (&[u8], &[u8])> {
    let is_last = |at: usize, name: &[u8]| {
        headers.iter().skip(at + 1).all(|(other, _)| !other.eq_ignore_ascii_case(name))
    };
    let fields = headers.iter().enumerate().filter(move |(at, (name, _))| is_last(*at, name));
    fields.map(|(_, (name, value))| (&name[..], &value[..]))
}

/// `REQUEST_URI`: as the client sent it, or (`CGIVar REQUEST_URI current-uri`) that of this request.
fn request_uri(request: &Request) -> Vec<u8> {
    if request.resource.dir.core.cgi_request_uri_is_current != Some(true) {
        return request.client.target.to_vec();
    }
    let mut uri = escape_path(&request.target.uri);
    if let Some(query) = &request.target.args {
        uri.push(b'?');
        uri.extend_from_slice(query);
    }
    uri
}

fn redirect_url(request: &Request, prev: &Request) -> Vec<u8> {
    if request.resource.dir.core.qualify_redirect_url == Some(true) {
        variables::absolute_url(prev, &prev.target.uri)
    } else {
        prev.target.uri.clone()
    }
}

fn redirected<'a>(request: &'a Request, url: &'a [u8]) -> Redirected<'a> {
    let user = request.chain().skip(1).find_map(|prev| prev.user.as_deref());
    let query = request.prev.as_ref().and_then(|prev| prev.target.args.as_deref());
    Redirected { url, query, user }
}

/// `ServerAdmin`, with Apache's words where there is none.
fn admin(request: &Request) -> &str {
    request.server.conf.core.admin.as_deref().unwrap_or("[no address given]")
}

/// `ServerSignature`'s line (`ap_psignature`); empty when it is off.
pub(crate) fn signature(request: &Request) -> Vec<u8> {
    let kind = request.resource.dir.core.server_signature.unwrap_or_default();
    if kind == Signature::Off {
        return Vec::new();
    }
    let name = String::from_utf8_lossy(&escape_html(&variables::server_name(request))).into_owned();
    let name = match kind {
        Signature::Email => {
            let admin = String::from_utf8_lossy(&escape_html(admin(request).as_bytes())).into_owned();
            format!("<a href=\"mailto:{admin}\">{name}</a>")
        }
        _ => name,
    };
    let (product, port) = (settings::product(&request.server), variables::server_port(request));
    format!("<address>{product} Server at {name} Port {port}</address>\n").into_bytes()
}

/// The same for everybody who meets this configuration: with the virtual host's own name, never one that some client has
/// made up.
pub(crate) fn lasting_signature(request: &Request) -> String {
    let mut anybody = Request::new(&request.thread, &request.client.peer);
    anybody.server = request.server.clone();
    anybody.resource.dir = request.resource.dir.clone();
    String::from_utf8_lossy(&signature(&anybody)).into_owned()
}

/// The server's own `PATH`.
fn path() -> &'static [u8] {
    static PATH: OnceLock<Vec<u8>> = OnceLock::new();
    PATH.get_or_init(|| {
        use std::os::unix::ffi::OsStringExt;
        let own = std::env::var_os("PATH").map(OsStringExt::into_vec).filter(|path| !path.is_empty());
        own.unwrap_or_else(|| settings::DEFAULT_PATH.to_vec())
    })
}
