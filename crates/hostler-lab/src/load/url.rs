//! Addresses that users give. Load is for one's own servers: what is not on this machine has to be named twice.

use super::Target;
use anyhow::{Context, Result, bail};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Time limit for each of several addresses when looking for one that is served.
const TRY: Duration = Duration::from_secs(1);

/// The target of `http://host:port/path?query` or `https://...`, if it may be loaded: it is on this machine, or `confirmed` names its
/// host once more.
///
/// # Errors
/// Not such a URL, a host that cannot be found, or one elsewhere that is not confirmed; for the user.
pub fn may_load(url: &str, confirmed: Option<&str>) -> Result<Target> {
    let Url { host, port, authority, path, tls } = Url::parse(url)?;
    let addresses: Vec<SocketAddr> = (host.as_str(), port)
        .to_socket_addrs()
        .with_context(|| format!("cannot resolve the host {host}"))?
        .collect();
    let elsewhere = addresses.iter().find(|address| !address.ip().to_canonical().is_loopback());
    if let Some(elsewhere) = elsewhere
        && !confirmed.is_some_and(|named| named.eq_ignore_ascii_case(&host))
    {
        bail!(
            "{host} is not on this machine ({}): load can keep a server from working. If it is yours, say so with \
             --confirm-host {host}",
            elsewhere.ip()
        );
    }
    let address = *addresses
        .iter()
        .find(|address| addresses.len() == 1 || TcpStream::connect_timeout(address, TRY).is_ok())
        .or(addresses.first())
        .with_context(|| format!("the host {host} has no address"))?;
    Ok(Target { address, host: authority, hosts: Vec::new(), path, form: None, expected_length: None, tls })
}

/// The parts of a URL that matter here.
#[derive(Debug, PartialEq)]
struct Url {
    host: String,
    port: u16,
    /// As in the `Host` field.
    authority: String,
    path: String,
    tls: bool,
}

impl Url {
    /// RFC 3986 §3, of which `http` and `https` without user information (RFC 9110 §4.2.1).
    fn parse(url: &str) -> Result<Self> {
        let form = "a URL to load looks like http://localhost:8080/page";
        let Some((scheme, rest)) = url.split_once("://") else { bail!("{url}: {form}") };
        let tls = scheme.eq_ignore_ascii_case("https");
        if !tls && !scheme.eq_ignore_ascii_case("http") {
            bail!("{url}: {form}");
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.is_empty() || authority.contains('@') {
            bail!("{url}: {form}");
        }
        if path.bytes().any(|byte| !byte.is_ascii_graphic()) {
            bail!("{url}: characters other than ASCII's, and spaces, are written as %XX");
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                (host, port.parse().with_context(|| format!("{url}: {port} is not a port"))?)
            }
            _ => (authority, if tls { 443 } else { 80 }),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { host: host.to_owned(), port, authority: authority.to_owned(), path, tls })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(url: &str) -> (String, u16, String, String) {
        let Url { host, port, authority, path, .. } = Url::parse(url).unwrap();
        (host, port, authority, path)
    }

    #[test]
    fn urls_have_parts() {
        let text = |a: &str, port, b: &str, c: &str| (a.to_owned(), port, b.to_owned(), c.to_owned());
        assert_eq!(parts("http://localhost"), text("localhost", 80, "localhost", "/"));
        assert_eq!(parts("HTTP://a.example:81/b?c#d"), text("a.example", 81, "a.example:81", "/b?c"));
        assert_eq!(parts("http://[::1]:8080?x"), text("::1", 8080, "[::1]:8080", "/?x"));
        assert_eq!(parts("http://[::1]/"), text("::1", 80, "[::1]", "/"));
        for wrong in ["localhost:80", "ftp://x/", "http:///x", "http://a@b/", "http://a:b/", "http://a/ b"] {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn hosts_elsewhere_are_named_twice() {
        assert!(may_load("http://127.0.0.1:1/", None).unwrap().address.ip().is_loopback());
        assert!(may_load("http://localhost:1/", None).is_ok());
        // An address for documentation (RFC 5737): nobody has it.
        let refused = may_load("http://192.0.2.1/", None).unwrap_err().to_string();
        assert!(refused.contains("--confirm-host 192.0.2.1"), "{refused}");
        assert!(may_load("http://192.0.2.1/", Some("localhost")).is_err());
        assert_eq!(may_load("http://192.0.2.1/", Some("192.0.2.1")).unwrap().address.port(), 80);
        assert!(may_load("http://[::ffff:192.0.2.1]/", None).is_err());
    }
}
