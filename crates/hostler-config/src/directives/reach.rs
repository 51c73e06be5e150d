//! The programs at sockets that a request may be handed to: those that `proxy:` handlers name, and who may name them.
//!
//! A Unix socket is connected to as the site's user, whoever names it. A TCP address is connected to by the server: what
//! listens there, on loopback above all, takes the server for a friend. So an access file reaches only what the operator
//! has allowed.

use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, unset_part};
use std::sync::Arc;

/// The module, ours.
pub static MODULE: Module = Module {
    name: "hostler_reach_module",
    file: "mod_hostler_reach.c",
    directives: DIRECTIVES,
    effect: Effect::Guards,
};

static DIRECTIVES: &[Directive] = &[Directive::new(
    "HostlerProxyAllow",
    Arity::Iterate,
    "host:port|host:*|none ...",
    "Set the TCP addresses of backends that .htaccess files may name; the main configuration may name any \
        (default: none)",
    allow,
)
.allowed(Contexts::CONFIG, Overrides::NONE)];

/// Protocols that requests are handed on in, by their schemes.
pub const SCHEMES: &[&str] = &["fcgi", "scgi", "uwsgi", "http", "https", "ws", "wss", "ajp", "balancer"];

/// An address that access files may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedAddress {
    /// Lower case, as it has to be written.
    pub host: Box<str>,
    /// `None`: all.
    pub port: Option<u16>,
}

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// `HostlerProxyAllow`; `None`: nothing is said.
    pub allowed: Option<Vec<AllowedAddress>>,
    /// Handlers of `proxy:` that the operator's own configuration has named for this place.
    named: Vec<Arc<str>>,
}

impl Dir {
    /// Returns whether a handler may lead to a TCP address here.
    #[must_use]
    pub fn may_reach(&self, handler: &[u8], host: &str, port: u16) -> bool {
        let allows = |one: &AllowedAddress| {
            one.host.eq_ignore_ascii_case(host) && one.port.is_none_or(|own| own == port)
        };
        self.is_named(handler) || self.allowed.iter().flatten().any(allows)
    }

    /// Returns whether the operator's own configuration has named a handler for this place.
    #[must_use]
    pub fn is_named(&self, handler: &[u8]) -> bool {
        self.named.iter().any(|named| named.as_bytes() == handler)
    }

    /// The operator names a handler.
    pub(crate) fn name(&mut self, handler: &str) {
        self.named.push(handler.into());
    }
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        let mut named = self.named.clone();
        named.extend(other.named.iter().filter(|name| !self.named.contains(name)).cloned());
        Self { allowed: crate::over(&self.allowed, &other.allowed), named }
    }

    unset_part!(Dir);
}

/// Nothing per server.
pub type Server = ();

/// Returns the text after `proxy:` in a handler's name, and the scheme of the protocol: `unix:/path|fcgi://host`.
#[must_use]
pub fn proxied(handler: &str) -> Option<(&str, &str)> {
    let prefix = handler.get(..6).filter(|prefix| prefix.eq_ignore_ascii_case("proxy:"))?;
    let worker = &handler[prefix.len()..];
    let url = match worker.get(..5).filter(|start| start.eq_ignore_ascii_case("unix:")) {
        Some(_) => worker.split_once('|')?.1,
        None => worker,
    };
    Some((worker, url.split_once("://")?.0))
}

fn allow(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let allowed = command.dir.reach.allowed.get_or_insert_default();
    if args.first().eq_ignore_ascii_case("none") {
        allowed.clear();
        return Ok(());
    }
    let wrong = || format!("\"{}\" is not host:port", args.first());
    let (host, port) = args.first().rsplit_once(':').ok_or_else(wrong)?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let port = match port {
        "*" => None,
        port => Some(port.parse().map_err(|_| wrong())?),
    };
    if host.is_empty() {
        return Err(wrong());
    }
    allowed.push(AllowedAddress { host: host.to_ascii_lowercase().into(), port });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_of_a_handler_is_found_behind_a_socket() {
        for (handler, scheme) in [
            ("proxy:fcgi://127.0.0.1:9000", Some("fcgi")),
            ("Proxy:unix:/run/php.sock|fcgi://localhost", Some("fcgi")),
            ("proxy:unix:/run/php.sock", None),
            ("cgi-script", None),
            ("proxy:", None),
        ] {
            assert_eq!(proxied(handler).map(|(_, scheme)| scheme), scheme, "{handler}");
        }
    }

    #[test]
    fn an_access_file_reaches_what_is_allowed_and_what_the_operator_has_named() {
        let mut outer = Dir::default();
        outer.name("proxy:fcgi://127.0.0.1:9000");
        outer.allowed = Some(vec![AllowedAddress { host: "app".into(), port: Some(1) }]);
        let merged = outer.merge(&Dir::default());
        assert!(merged.may_reach(b"proxy:fcgi://127.0.0.1:9000", "127.0.0.1", 9000));
        assert!(merged.may_reach(b"proxy:fcgi://APP:1/", "APP", 1));
        assert!(!merged.may_reach(b"proxy:fcgi://app:2", "app", 2));
        assert!(!merged.may_reach(b"proxy:fcgi://127.0.0.1:9001", "127.0.0.1", 9001));
        let closed = merged.merge(&Dir { allowed: Some(Vec::new()), ..Dir::default() });
        assert!(!closed.may_reach(b"proxy:fcgi://app:1", "app", 1));
    }
}
