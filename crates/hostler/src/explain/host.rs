//! Which virtual host a URL reaches, as far as that can be told without a connection: by port and name.

use hostler_config::{Config, Server};
use hostler_expr::{Answer, Captures, GlobMode, Host, Variable, glob_matches};
use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use super::url::Url;

/// The virtual host: the first whose name matches, else the first at the address, else the main server.
pub(crate) fn select<'a>(config: &'a Config, url: &Url) -> &'a Arc<Server> {
    let main = &config.servers[0];
    let Some(host) = &url.host else { return main };
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    let here = |server: &&Arc<Server>| {
        server.addresses.iter().any(|a| {
            a.port.is_none_or(|port| Some(port) == url.port)
                && (a.ip.is_none() || address.is_none() || a.ip == address)
        })
    };
    let mut candidates = config.servers[1..].iter().filter(here);
    let first = candidates.clone().next();
    candidates.find(|server| is_named(server, host)).or(first).unwrap_or(main)
}

fn is_named(server: &Server, host: &str) -> bool {
    let core = &server.conf.core;
    core.server_name.as_ref().is_some_and(|name| name.host == host)
        || core.aliases.iter().any(|alias| alias == host)
        || core.wild_aliases.iter().any(|w| glob_matches(w.as_bytes(), host.as_bytes(), GlobMode::Anything))
}

/// Nothing is known of a request that nobody has made.
pub(crate) struct NoRequest;

impl Host for NoRequest {
    fn variable(&self, _: Variable) -> Answer<Option<Cow<'_, [u8]>>> {
        Answer::Ready(None)
    }

    fn request_header(&self, _: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn response_header(&self, _: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn request_env<'a>(&'a self, _: &[u8], _: &'a Captures) -> Option<Cow<'a, [u8]>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostler_config::read_text;

    #[test]
    fn by_port_and_name() {
        let text = "Listen 80\nListen 81\nServerName main\n\
            <VirtualHost *:80>\nServerName a\nServerAlias *.a\n</VirtualHost>\n\
            <VirtualHost *:80>\nServerName b\n</VirtualHost>\n\
            <VirtualHost *:81>\nServerName c\n</VirtualHost>\n";
        let config = Config::build(&read_text(text, "/tmp").unwrap()).unwrap();
        let found = |url: &str| {
            let server = select(&config, &Url::parse(url).unwrap());
            server.conf.core.server_name.as_ref().unwrap().host.clone()
        };
        for (url, name) in [
            ("/x", "main"),
            ("http://a/", "a"),
            ("http://x.a/", "a"),
            ("http://b/", "b"),
            ("http://unknown/", "a"),
            ("http://b:81/", "c"),
            ("https://a/", "main"),
        ] {
            assert_eq!(found(url), name, "{url}");
        }
    }
}
