//! Whom a server has to be that is spoken to over TLS, and with which settings (`SSLProxyEngine`, in `<Proxy>` too).

use super::target::Destination;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::Halt;
use crate::request::thread::Thread;
use crate::tls::backends::Backends;
use hostler_config::Server;
use hostler_config::directives::proxy::url::Url;
use hostler_config::directives::ssl::backends;
use hostler_gateway::upstream::Secure;
use rustls_pki_types::ServerName;
use std::sync::Arc;

/// TLS to a server whose URL asks for it.
pub(super) fn of(request: &Request, to: &Destination) -> Result<Option<Arc<Secure>>, Halt> {
    if !to.url.is_secure() {
        return Ok(None);
    }
    let refused = |why: &str| {
        let message = format!("{}: {why}", to.upstream.name());
        log::request(request, Severity::Error, "proxy", &message);
        Halt::Status(500)
    };
    let settings =
        request.resource.dir.ssl.backends.as_ref().filter(|settings| settings.engine == Some(true));
    let settings =
        settings.ok_or_else(|| refused("its URL asks for TLS, which is not enabled (SSLProxyEngine on)"))?;
    let settings = request
        .thread
        .shared
        .of::<Backends>()
        .of(settings, to.url.is_http2())
        .map_err(|why| refused(&why))?;
    let name = name(request, to);
    let name = ServerName::try_from(name).map_err(|_| refused("TLS needs a proper name of the server"))?;
    Ok(Some(Arc::new(Secure { settings, name })))
}

/// The same for a check, which no request is at: a virtual host's settings, and those of `<Proxy>` sections that name the
/// server.
pub(super) fn of_check(thread: &Thread, server: &Server, url: &Url) -> Result<Option<Arc<Secure>>, String> {
    if !url.is_secure() {
        return Ok(None);
    }
    let settings = backends::of_url(server, &url.to_string());
    let settings = settings.filter(|settings| settings.engine == Some(true));
    let settings = settings.ok_or("its URL asks for TLS, which is not enabled (SSLProxyEngine on)")?;
    let settings = thread.shared.of::<Backends>().of(&settings, false)?;
    let name = ServerName::try_from(url.host.to_string()).map_err(|_| "TLS needs a proper name")?;
    Ok(Some(Arc::new(Secure { settings, name })))
}

/// The name that the server has to have: the client's word for it with `ProxyPreserveHost`, else the URL's.
fn name(request: &Request, to: &Destination) -> String {
    let preserved = request
        .target
        .headers_in
        .find("Host")
        .filter(|_| request.resource.dir.proxy.preserve_host == Some(true));
    let Some(host) = preserved else { return to.url.host.to_string() };
    let host = String::from_utf8_lossy(host);
    let bare = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    bare.to_ascii_lowercase()
}
