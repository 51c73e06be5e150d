//! Configured values with Apache's defaults where nothing is configured.

use crate::request::Request;
use crate::request::connection::Pace;
use crate::request::slots::{Relation, State};
use hostler_config::directives::core::{DefaultCharset, RangeLimit, ReadTimeout, ServerTokens};
use hostler_config::{DirConfig, Server};
use hostler_gateway::backend::TimeLimit;
use std::time::Duration;

/// The search path of programs if the server itself was started without a `PATH`.
pub(crate) const DEFAULT_PATH: &[u8] = b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// `Timeout`.
pub(crate) fn timeout(server: &Server) -> Duration {
    Duration::from_secs(u64::from(server.conf.core.timeout.unwrap_or(60)))
}

/// `HostlerWaitTimeout`. By default a little more than anything has that ends by itself.
pub(crate) fn wait_timeout(server: &Server) -> Duration {
    let set = server.conf.core.wait_timeout.map(|seconds| Duration::from_secs(u64::from(seconds)));
    set.unwrap_or_else(|| timeout(server).max(Duration::from_secs(60)) + Duration::from_secs(5))
}

/// `HostlerWorkerTimeout`.
pub(crate) fn worker_timeout(server: &Server) -> TimeLimit {
    let seconds = server.conf.core.site_bounds.worker_timeout.flatten();
    let limit = |seconds: u32| TimeLimit {
        after: Duration::from_secs(seconds.into()),
        set_by: "HostlerWorkerTimeout",
    };
    seconds.map_or(TimeLimit::NONE, limit)
}

/// `RequestReadTimeout`: of heads and of bodies.
pub(crate) fn read_timeouts(server: &Server) -> (Pace, Pace) {
    const HEADER: ReadTimeout = ReadTimeout { seconds: 20, most: Some(40), min_rate: 500 };
    const BODY: ReadTimeout = ReadTimeout { seconds: 20, most: None, min_rate: 500 };
    let pace = |limit: ReadTimeout| Pace {
        first: Duration::from_secs(u64::from(limit.seconds)),
        most: limit.most.map(|seconds| Duration::from_secs(u64::from(seconds))),
        rate: limit.min_rate,
    };
    let configured = server.conf.core.read_timeouts;
    (pace(configured.header.unwrap_or(HEADER)), pace(configured.body.unwrap_or(BODY)))
}

/// `RequestReadTimeout handshake=`: how long that of TLS may take; where nothing is said, as long as a head.
pub(crate) fn handshake_timeout(server: &Server) -> Duration {
    let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
    match server.conf.core.read_timeouts.handshake {
        Some(limit) if limit.seconds == 0 => timeout(server),
        Some(limit) => seconds(limit.most.unwrap_or(limit.seconds)),
        None => read_timeouts(server).0.longest(timeout(server)),
    }
}

/// `KeepAliveTimeout`.
pub(crate) fn keep_alive_timeout(server: &Server) -> Duration {
    Duration::from_millis(server.conf.core.keep_alive_timeout.unwrap_or(5000))
}

/// `KeepAlive`.
pub(crate) fn keep_alive(server: &Server) -> bool {
    server.conf.core.keep_alive.unwrap_or(true)
}

/// `MaxKeepAliveRequests`; `None`: any number.
pub(crate) fn max_keep_alive_requests(server: &Server) -> Option<u32> {
    match server.conf.core.max_keep_alive_requests.unwrap_or(100) {
        0 => None,
        n => Some(n),
    }
}

/// Limits of a request's head.
pub(crate) fn head_limits(server: &Server) -> hostler_http1::head::Limits {
    let core = &server.conf.core;
    hostler_http1::head::Limits {
        line: core.limit_request_line.unwrap_or(8190) as usize,
        fields: core.limit_request_fields.unwrap_or(100) as usize,
        field_size: core.limit_request_field_size.unwrap_or(8190) as usize,
        strict: core.http_protocol.lenient != Some(true),
        registered_methods: core.http_protocol.registered_methods == Some(true),
        allow_09: core.http_protocol.require_1_0 != Some(true),
    }
}

/// `LimitInternalRecursion`: internal redirects, sub-requests.
pub(crate) fn recursion(server: &Server) -> (u32, u32) {
    server.conf.core.limit_internal_recursion.unwrap_or((10, 10))
}

/// `DocumentRoot`; Apache's compiled-in default when there is none.
pub(crate) fn document_root(server: &Server) -> &str {
    server.conf.core.document_root.as_deref().unwrap_or("/var/www/html")
}

/// A document root that was found for one request (`ap_set_document_root`).
#[derive(Clone)]
pub(crate) struct DocumentRoot(pub(crate) Vec<u8>);

impl State for DocumentRoot {
    fn copy(&self) -> Box<dyn State> {
        Box::new(self.clone())
    }

    fn related(&self, _: &Request, _: Relation) -> Option<Box<dyn State>> {
        Some(self.copy())
    }
}

/// The document root of a request (`DOCUMENT_ROOT`).
pub(crate) fn root_of(request: &Request) -> &[u8] {
    let own = request.slots.find::<DocumentRoot>().map(|root| &root.0[..]);
    own.unwrap_or_else(|| document_root(&request.server).as_bytes())
}

/// `AddDefaultCharset`.
pub(crate) fn default_charset(dir: &DirConfig) -> Option<&str> {
    match &dir.core.default_charset {
        Some(DefaultCharset::Name(name)) => Some(name),
        Some(DefaultCharset::Off) | None => None,
    }
}

/// A range limit as a number; `None`: no limit.
pub(crate) fn range_limit(limit: Option<RangeLimit>, default: u32) -> Option<u32> {
    match limit.unwrap_or(RangeLimit::Count(default)) {
        RangeLimit::None => Some(0),
        RangeLimit::Count(n) => Some(n),
        RangeLimit::Unlimited => None,
    }
}

/// The `Server` field (`ServerTokens`); also `SERVER_SOFTWARE`.
pub(crate) fn product(server: &Server) -> &'static str {
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    static FULL: std::sync::LazyLock<[String; 5]> = std::sync::LazyLock::new(|| {
        let mut parts = VERSION.split('.');
        let major = parts.next().unwrap_or("0");
        let minor = parts.next().unwrap_or("0");
        [
            "Hostler".into(),
            format!("Hostler/{major}"),
            format!("Hostler/{major}.{minor}"),
            format!("Hostler/{VERSION}"),
            format!("Hostler/{VERSION} (Unix)"),
        ]
    });
    match server.conf.core.server_tokens.unwrap_or_default() {
        ServerTokens::ProductOnly => &FULL[0],
        ServerTokens::Major => &FULL[1],
        ServerTokens::Minor => &FULL[2],
        ServerTokens::Minimal => &FULL[3],
        ServerTokens::Os | ServerTokens::Full => &FULL[4],
    }
}
