//! Which virtual host a request is for: first by the address it came to, then by the name it asks for.

use hashbrown::HashMap;
use hostler_config::{Config, Server};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The virtual hosts that one local address and port may reach.
#[derive(Debug)]
pub(crate) struct AddressHosts {
    /// The first of them, or the main server.
    default: Arc<Server>,
    /// In the order of the configuration; empty: the main server, whatever the name.
    servers: Vec<Arc<Server>>,
    /// ServerName and ServerAlias without wildcards: position of the first virtual host with that name.
    exact: HashMap<Vec<u8>, usize, foldhash::fast::FixedState>,
    /// ServerAlias with wildcards, in order.
    wild: Vec<(Vec<u8>, usize)>,
}

impl AddressHosts {
    /// Those of `config` that `local` may reach: the ones that name its address, or else those for any address
    /// (Apache: the best matching set of virtual hosts).
    pub(crate) fn new(config: &Config, local: SocketAddr) -> Self {
        let named = |ip: Option<IpAddr>| {
            config.servers[1..].iter().filter(move |server| {
                server.addresses.iter().any(|a| a.ip == ip && a.port.is_none_or(|port| port == local.port()))
            })
        };
        let mut servers: Vec<Arc<Server>> = named(Some(local.ip())).cloned().collect();
        if servers.is_empty() {
            servers = named(None).cloned().collect();
        }
        let default = servers.first().unwrap_or(&config.servers[0]).clone();
        let (mut exact, mut wild) = (HashMap::default(), Vec::new());
        for (index, server) in servers.iter().enumerate() {
            let core = &server.conf.core;
            let names = core.server_name.iter().map(|n| &n.host);
            for name in names.chain(&core.aliases) {
                exact.entry(name.clone().into_bytes()).or_insert(index);
            }
            wild.extend(core.wild_aliases.iter().map(|name| (name.clone().into_bytes(), index)));
        }
        Self { default, servers, exact, wild }
    }

    /// Whether there are several virtual hosts to choose from, or one that has names.
    pub(crate) fn are_named(&self) -> bool {
        self.servers.len() > 1 || !self.exact.is_empty() || !self.wild.is_empty()
    }

    /// The virtual host for requests without a name that matches.
    pub(crate) fn default_server(&self) -> &Arc<Server> {
        &self.default
    }

    /// The first virtual host in the configuration whose name or alias is `host` (lower case, no port).
    pub(crate) fn find(&self, host: &[u8]) -> Option<&Arc<Server>> {
        let exact = self.exact.get(host).copied();
        let wild = self
            .wild
            .iter()
            .take_while(|(_, index)| exact.is_none_or(|e| *index < e))
            .find(|(pattern, _)| glob(pattern, host))
            .map(|(_, index)| *index);
        self.servers.get(wild.or(exact)?)
    }
}

/// `*` is any run of characters, `?` any one (`ap_strcasecmp_match`); both sides are lower case.
pub(crate) fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == b'?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((sp, st)) => {
                    star = Some((sp, st + 1));
                    p = sp + 1;
                    t = st + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&b| b == b'*')
}

/// A Host field or authority, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Authority {
    /// Lower case, without a dot at the end; brackets of an IPv6 address stay.
    pub(crate) host: Vec<u8>,
    pub(crate) port: Option<u16>,
}

/// Parses `host[:port]` as Apache's strict host check does (RFC 3986 §3.2.2): a name of letters, digits and
/// `-._`, other characters that Apache lets pass, or an IPv6 address in brackets. `None`: not a host.
pub(crate) fn authority(text: &[u8], strict: bool) -> Option<Authority> {
    let (host, port) = if text.first() == Some(&b'[') {
        let end = text.iter().position(|&b| b == b']')?;
        let inside = std::str::from_utf8(&text[1..end]).ok()?;
        inside.parse::<std::net::Ipv6Addr>().ok()?;
        (&text[..=end], &text[end + 1..])
    } else {
        let end = text.iter().position(|&b| b == b':').unwrap_or(text.len());
        (&text[..end], &text[end..])
    };
    let port = match port {
        [] => None,
        [b':', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => {
            match std::str::from_utf8(digits).ok()?.parse::<u16>() {
                Ok(0) | Err(_) => return None,
                Ok(port) => Some(port),
            }
        }
        _ => return None,
    };
    if host.is_empty() && strict {
        return None;
    }
    let mut host = host.to_ascii_lowercase();
    if host.first() != Some(&b'[') {
        check_name(&host, strict)?;
        if host.last() == Some(&b'.') {
            host.pop();
        }
    }
    Some(Authority { host, port })
}

fn check_name(host: &[u8], strict: bool) -> Option<()> {
    if host.windows(2).any(|two| two == b"..") {
        return None;
    }
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~');
    // Apache without Strict refuses only what could be taken for a path.
    let lenient = |b: u8| !b.is_ascii_control() && !matches!(b, b'/' | b'\\' | b'%' | b'[' | b']');
    host.iter().all(|&b| plain(b) || (!strict && lenient(b))).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Option<(String, Option<u16>)> {
        authority(text.as_bytes(), true).map(|a| (String::from_utf8(a.host).unwrap(), a.port))
    }

    #[test]
    fn authorities() {
        assert_eq!(host("Example.ORG:8080"), Some(("example.org".into(), Some(8080))));
        assert_eq!(host("example.org."), Some(("example.org".into(), None)));
        assert_eq!(host("[::1]:80"), Some(("[::1]".into(), Some(80))));
        for bad in [
            "",
            "a/../b",
            "4714::abcd:8001",
            "%31.example",
            "a b",
            "a:0",
            "a:99999",
            "a:b",
            "[::1",
            "[fe80::1%25eth0]",
            "a..b",
            "a:",
            "a,b",
            "a@b",
        ] {
            assert_eq!(host(bad), None, "{bad}");
        }
    }

    #[test]
    fn globs() {
        assert!(glob(b"*.example.org", b"a.b.example.org"));
        assert!(glob(b"www?.x", b"www1.x"));
        assert!(!glob(b"*.example.org", b"example.org"));
        assert!(glob(b"*", b""));
    }
}
