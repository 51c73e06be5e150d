//! The virtual host that a URL reaches, as far as it is known without a connection: by port and name.

use hostler_config::{Config, Server};
use hostler_expr::{Answer, Captures, GlobMode, Host, Variable, glob_matches};
use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use super::url::Url;

/// The recipient of a URL, and the parts that were not found.
pub(crate) struct Choice<'a> {
    /// The virtual host.
    pub(crate) server: &'a Arc<Server>,
    /// Sentences: where it is another than the URL names.
    pub(crate) notes: Vec<String>,
}

/// The virtual host: the first whose name matches, else the first at the address, else the main server.
pub(crate) fn select<'a>(config: &'a Config, url: &Url) -> Choice<'a> {
    let main = &config.servers[0];
    let mut notes = Vec::new();
    let Some(host) = &url.host else {
        if config.servers.len() > 1 {
            notes.push(
                "a path alone is taken for the main server's; give a whole URL for a virtual host's"
                    .to_owned(),
            );
        }
        return Choice { server: main, notes };
    };
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    let mut candidates = candidates(config, url.port, address);
    let first = candidates.first().copied();
    candidates.retain(|server| is_named(server, host));
    let server = candidates.first().copied().or(first).unwrap_or(main);
    notes.extend(nobody_listens(config, url.port));
    if candidates.is_empty() {
        match first {
            Some(_) => notes.push(format!(
                "no ServerName or ServerAlias at that address is {host}: the first virtual host there answers"
            )),
            None if !is_named(main, host) => notes.push(format!(
                "no virtual host has that address, and the main server is not named {host}; it answers all the same"
            )),
            None => {}
        }
    }
    notes.extend(wrong_scheme(server, url));
    Choice { server, notes }
}

/// The virtual hosts at an address: those that name it, or else those for any. Where the address is not known, all that
/// a connection to that port may reach.
fn candidates(config: &Config, port: Option<u16>, address: Option<IpAddr>) -> Vec<&Arc<Server>> {
    let at = |wanted: &dyn Fn(Option<IpAddr>) -> bool| -> Vec<&Arc<Server>> {
        let here = |server: &&Arc<Server>| {
            let mut addresses = server.addresses.iter();
            addresses.any(|a| a.port.is_none_or(|own| Some(own) == port) && wanted(a.ip))
        };
        config.servers[1..].iter().filter(here).collect()
    };
    let named = at(&|ip| address.is_none() || ip == address);
    if named.is_empty() { at(&|ip| ip.is_none()) } else { named }
}

fn nobody_listens(config: &Config, port: Option<u16>) -> Option<String> {
    let listen = &config.process.listen;
    let port = port.filter(|port| listen.iter().all(|listen| listen.port != *port))?;
    let mut ports: Vec<String> = listen.iter().map(|listen| listen.port.to_string()).collect();
    ports.dedup();
    let there =
        if ports.is_empty() { "there is none".to_owned() } else { format!("there is {}", ports.join(", ")) };
    Some(format!("no Listen has port {port} ({there}): a request for this URL does not arrive here at all"))
}

fn wrong_scheme(server: &Server, url: &Url) -> Option<String> {
    match (url.tls?, server.conf.ssl.is_on()) {
        (true, false) => Some("this host does not speak TLS (SSLEngine), so https:// fails".to_owned()),
        (false, true) => Some("this host speaks TLS (SSLEngine), so http:// gets an error page".to_owned()),
        _ => None,
    }
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
        hostler_techniques::install().unwrap();
        let config = Config::build(&read_text(text, "/tmp").unwrap()).unwrap();
        let found = |url: &str| {
            let server = select(&config, &Url::parse(url).unwrap()).server;
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
        for (url, told) in [
            ("/x", "a path alone"),
            ("http://unknown/", "no ServerName or ServerAlias at that address is unknown"),
            ("http://a:8082/", "no Listen has port 8082 (there is 80, 81)"),
            ("https://a:80/", "does not speak TLS"),
        ] {
            let notes = select(&config, &Url::parse(url).unwrap()).notes.join("; ");
            assert!(notes.contains(told), "{url}: {notes}");
        }
        for url in ["http://a/", "http://x.a/", "http://b:81/x"] {
            let notes = select(&config, &Url::parse(url).unwrap()).notes.len();
            assert_eq!(notes, usize::from(url.contains("b:81")), "{url}");
        }
    }

    #[test]
    fn a_host_for_an_address_comes_before_those_for_any() {
        let text = "Listen 80\nServerName main\n<VirtualHost *:80>\nServerName any\n</VirtualHost>\n\
            <VirtualHost 192.0.2.1:80>\nServerName one\n</VirtualHost>\n";
        hostler_techniques::install().unwrap();
        let config = Config::build(&read_text(text, "/tmp").unwrap()).unwrap();
        let found = |url: &str| {
            let server = select(&config, &Url::parse(url).unwrap()).server;
            server.conf.core.server_name.as_ref().unwrap().host.clone()
        };
        assert_eq!([found("http://192.0.2.1/"), found("http://192.0.2.2/")], ["one", "any"]);
    }
}
