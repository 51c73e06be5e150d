//! Clients behind proxies (mod_remoteip): where a proxy that is believed says whose request it hands on, rules, programs
//! and logs see that client. What the PROXY protocol says is known of the connection already (`crate::process::preface`).
//!
//! **Diagnostics**: whom a request is taken to be from is told in the virtual host's ErrorLog under `remoteip`, at `info`.

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::connection::{Peer, plain};
use crate::request::flow::Flow;
use bytes::Bytes;
use hostler_config::directives::remoteip::Trust;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;

pub(crate) static MODULE: Module = Module {
    hooks: &[Hook {
        phase: Phase::PostRead,
        after: &[],
        before: &["unique_id"],
        when: |request| {
            let header = request.server.conf.remoteip.header.as_deref();
            request.is_read_anew() && header.is_some_and(|name| request.target.headers_in.contains(name))
        },
        effect: Effect::Notes,
        run: Run::Now(|request| {
            look(request);
            Ok(Flow::Ok)
        }),
    }],
    // Each request may be somebody else's.
    ..Module::new("remoteip", |request| request.server.conf.remoteip.header.is_some())
};

/// Goes back from proxy to proxy, as far as they are believed.
fn look(request: &mut Request) {
    let server = request.server.clone();
    let conf = &server.conf.remoteip;
    let Some(header) = conf.header.as_deref() else { return };
    let Some(field) = request.target.headers_in.find(header).cloned() else { return };
    let mut client = request.client.peer.remote.ip();
    let mut left = Some(&field[..]);
    let mut proxies: Vec<String> = Vec::new();
    let mut steps = 0;
    while let Some(rest) = left {
        let trust = conf.trust(client);
        if trust == Trust::None {
            break;
        }
        let (before, last) = match rest.iter().rposition(|&b| b == b',') {
            Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
            None => (None, rest),
        };
        let told =
            std::str::from_utf8(last).ok().and_then(|text| text.trim_matches(' ').parse::<IpAddr>().ok());
        let Some(told) = told.map(|ip| plain(SocketAddr::new(ip, 0)).ip()) else {
            tell(request, header, last, "cannot be parsed as a client IP");
            break;
        };
        if trust == Trust::Public && !is_public(told) {
            tell(request, header, last, "appears to be a private IP or nonsensical.  Ignored");
            break;
        }
        if trust == Trust::Public {
            proxies.push(client.to_string());
        }
        (client, left, steps) = (told, before, steps + 1);
    }
    if steps > 0 {
        let left = left.map(<[u8]>::to_vec);
        take(request, client, left, &proxies);
    }
}

fn tell(request: &Request, header: &str, value: &[u8], why: &str) {
    let message =
        format!("RemoteIP: Header {header} value of {} {why}", String::from_utf8_lossy(value.trim_ascii()));
    log::request(request, Severity::Debug, "remoteip", &message);
}

/// Returns whether proxies that are not one's own may speak of the address.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        // Global unicast (RFC 4291).
        IpAddr::V6(address) => is_global_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !(address.is_private() || address.is_loopback() || address.is_link_local())
}

fn is_global_v6(address: Ipv6Addr) -> bool {
    address.octets()[0] & 0xe0 == 0x20
}

/// From now on it is this client's request.
fn take(request: &mut Request, client: IpAddr, left: Option<Vec<u8>>, proxies: &[String]) {
    let server = request.server.clone();
    let conf = &server.conf.remoteip;
    let Some(header) = conf.header.as_deref() else { return };
    match left {
        Some(left) => request.target.configure(header.to_owned(), left),
        None => request.target.headers_in.unset(header),
    }
    if !proxies.is_empty() {
        let list = Bytes::from(proxies.join(", "));
        request.notes.set("remoteip-proxy-ip-list", list.clone());
        if let Some(name) = &conf.proxies_header {
            request.target.configure(name.as_bytes().to_vec(), list);
        }
    }
    let by = if proxies.is_empty() {
        "internal proxies".to_owned()
    } else {
        format!("proxies {}", proxies.join(", "))
    };
    request.client.peer = Rc::new(Peer::of_client(&request.client.peer, client));
    log::request(request, Severity::Info, "remoteip", &format!("Using {client} as client's IP by {by}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_speak_of_public_addresses_only() {
        for (text, public) in [
            ("192.0.2.1", true),
            ("10.1.2.3", false),
            ("127.0.0.1", false),
            ("169.254.1.1", false),
            ("172.16.0.1", false),
            ("172.32.0.1", true),
            ("192.168.0.1", false),
            ("2001:db8::1", true),
            ("::1", false),
            ("fe80::1", false),
            ("fd00::1", false),
        ] {
            assert_eq!(is_public(text.parse().unwrap()), public, "{text}");
        }
    }
}
