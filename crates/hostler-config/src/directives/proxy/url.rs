//! URLs of other servers, as `ProxyPass`, `BalancerMember` and `<Proxy>` have them, and as a request comes to have one.

use std::fmt;
use std::io::Write as _;

/// Schemes that Hostler speaks, and their usual ports.
const SCHEMES: &[(&str, u16)] = &[
    ("http", 80),
    ("https", 443),
    ("ws", 80),
    ("wss", 443),
    ("h2", 443),
    ("h2c", 80),
    ("fcgi", 8000),
    ("scgi", 4000),
    ("uwsgi", 3031),
    ("ajp", 8009),
];

/// The protocols among them that are not HTTP.
const PROGRAMS: &[&str] = &["fcgi", "scgi", "uwsgi", "ajp"];

/// Schemes of Apache's that are refused, each with the reason.
const REFUSED: &[(&str, &str)] = &[
    ("ftp", "Hostler has no FTP client"),
    ("fdpass", "connections cannot be passed to other servers"),
    ("connect", "Hostler is not a forward proxy"),
];

/// The scheme that stands for one of several servers.
pub const BALANCER: &str = "balancer";

/// A URL of another server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Url {
    /// The socket's path, absolute (`unix:/path|http://host/`).
    pub unix: Option<Box<str>>,
    /// In lower case.
    pub scheme: Box<str>,
    /// In lower case, without the brackets of an IPv6 address; of a balancer its name.
    pub host: Box<str>,
    /// The port, if one is written.
    pub port: Option<u16>,
    /// With the slash that it begins with; empty if there is none.
    pub path: Box<str>,
}

impl Url {
    /// Reads a URL.
    ///
    /// # Errors
    /// A sentence on what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (unix, rest) = match text.get(..5).filter(|start| start.eq_ignore_ascii_case("unix:")) {
            Some(_) => {
                let (path, rest) = text[5..].split_once('|').ok_or_else(|| {
                    format!(
                        "\"{text}\" has no | between the socket's path and the URL (unix:/path|http://host/)"
                    )
                })?;
                if !path.starts_with('/') {
                    return Err(format!("the socket's path \"{path}\" is not absolute"));
                }
                (Some(path.into()), rest)
            }
            None => (None, text),
        };
        // The URL of a socket needs no host: unix:/path|http:
        let bare = rest.strip_suffix(':').filter(|scheme| unix.is_some() && !scheme.contains(':'));
        let split = bare.map(|scheme| (scheme, "localhost")).or_else(|| rest.split_once("://"));
        let (scheme, rest) = split
            .ok_or_else(|| format!("\"{text}\" is not a URL (expected http://host/ or balancer://name/)"))?;
        let (authority, path) = match rest.find(['/', '?']) {
            Some(at) => (&rest[..at], &rest[at..]),
            None => (rest, ""),
        };
        let (host, port) = host_and_port(authority).map_err(|why| format!("\"{text}\": {why}"))?;
        Ok(Self {
            unix,
            scheme: scheme.to_ascii_lowercase().into(),
            host: host.to_ascii_lowercase().into(),
            port,
            path: path.into(),
        })
    }

    /// Returns whether Hostler can speak to such a server.
    ///
    /// # Errors
    /// Why it can't.
    pub fn check(&self) -> Result<(), String> {
        if let Some((_, why)) = REFUSED.iter().find(|(scheme, _)| **scheme == *self.scheme) {
            return Err(format!("{}:// is not supported: {why}", self.scheme));
        }
        if !self.is_balancer() && self.usual_port().is_none() {
            return Err(format!("{}:// is not supported: unknown protocol", self.scheme));
        }
        if self.is_balancer() && self.unix.is_some() {
            return Err("a balancer has no socket: its members may have one each".to_owned());
        }
        Ok(())
    }

    /// Returns whether a program is behind it that speaks another protocol than HTTP.
    #[must_use]
    pub fn is_program(&self) -> bool {
        PROGRAMS.contains(&&*self.scheme)
    }

    /// Returns whether it is spoken to over TLS.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        matches!(&*self.scheme, "https" | "wss" | "h2")
    }

    /// Returns whether HTTP/2 is spoken to it, and nothing else.
    #[must_use]
    pub fn is_http2(&self) -> bool {
        matches!(&*self.scheme, "h2" | "h2c")
    }

    /// Returns whether it names a balancer.
    #[must_use]
    pub fn is_balancer(&self) -> bool {
        &*self.scheme == BALANCER
    }

    /// The port that the scheme usually has.
    #[must_use]
    pub fn usual_port(&self) -> Option<u16> {
        SCHEMES.iter().find(|(scheme, _)| **scheme == *self.scheme).map(|(_, port)| *port)
    }

    /// The port to connect to.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.or_else(|| self.usual_port()).unwrap_or(80)
    }

    /// Returns whether it is a URL of the same server, whatever the path.
    #[must_use]
    pub fn has_server_of(&self, other: &Self) -> bool {
        self.unix == other.unix
            && self.scheme == other.scheme
            && self.host == other.host
            && self.port() == other.port()
    }

    /// Returns whether it has no socket, and the other one has one and otherwise the same server: then it names that
    /// one.
    #[must_use]
    pub fn names_socket_of(&self, other: &Self) -> bool {
        let named = Self { unix: None, ..other.clone() };
        self.unix.is_none() && other.unix.is_some() && self.has_server_of(&named)
    }

    /// Scheme, host and port, the latter if it is not the usual one.
    #[must_use]
    pub fn base(&self) -> String {
        let mut base = format!("{}://", self.scheme).into_bytes();
        self.write_host(&mut base);
        String::from_utf8(base).unwrap_or_default()
    }

    /// Host and port, the latter if it is not the usual one.
    pub fn write_host(&self, out: &mut Vec<u8>) {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        for part in [open, &self.host, close] {
            out.extend_from_slice(part.as_bytes());
        }
        if let Some(port) = self.port.filter(|port| Some(*port) != self.usual_port()) {
            // Writing to memory does not fail.
            let _ = write!(out, ":{port}");
        }
    }
}

impl fmt::Display for Url {
    /// As Apache names a worker: the path without a slash at its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(unix) = &self.unix {
            write!(f, "unix:{unix}|")?;
        }
        write!(f, "{}{}", self.base(), self.path)
    }
}

fn host_and_port(authority: &str) -> Result<(&str, Option<u16>), String> {
    if authority.contains('@') {
        return Err("user names and passwords in URLs are not supported".to_owned());
    }
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => match authority.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    if host.bytes().any(|b| b <= b' ' || b == 0x7f || b"/\\\"<>|^`{}".contains(&b)) {
        return Err("the host's name has a character that none may have".to_owned());
    }
    let port = match port {
        None | Some("") => None,
        Some(port) => Some(
            port.parse::<u16>()
                .ok()
                .filter(|port| *port > 0)
                .ok_or("the port is not a number from 1 to 65535")?,
        ),
    };
    Ok((host, port))
}
