//! The translation of another server's URLs and cookies to this server's: `ProxyPassReverse` and related directives
//! (`ap_proxy_location_reverse_map`, `ap_proxy_cookie_reverse_map`).

use super::pass::interpolate;
use super::{Dir, Server};

/// `ProxyPassReverse`, `ProxyPassReverseCookiePath`, `ProxyPassReverseCookieDomain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reverse {
    /// Its name here.
    pub here: Box<str>,
    /// Its name there.
    pub there: Box<str>,
    /// `interpolate`
    pub interpolate: bool,
}

impl Reverse {
    /// Both names, with variables in them.
    fn names(&self, dir: &Dir, variable: &dyn Fn(&str) -> Option<Vec<u8>>) -> (Vec<u8>, Vec<u8>) {
        if self.interpolate && dir.interpolate == Some(true) {
            return (interpolate(&self.here, variable), interpolate(&self.there, variable));
        }
        (self.here.as_bytes().to_vec(), self.there.as_bytes().to_vec())
    }
}

/// The request, as far as mapping looks at it.
#[derive(Clone, Copy)]
pub struct ReverseFacts<'a> {
    /// The value of a variable.
    pub variable: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    /// A path of this server as an absolute URL.
    pub absolute: &'a dyn Fn(&[u8]) -> Vec<u8>,
    /// The member that has answered, as its URL: what `balancer://` stands for.
    pub member: Option<&'a str>,
}

impl std::fmt::Debug for ReverseFacts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReverseFacts").field("member", &self.member).finish_non_exhaustive()
    }
}

/// `Location`, `Content-Location`, `URI`: the URL as it is here; `None`: it stays.
#[must_use]
pub fn location(dir: &Dir, server: &Server, url: &[u8], asked: ReverseFacts<'_>) -> Option<Vec<u8>> {
    for reverse in &dir.reverse {
        let (here, there) = reverse.names(dir, asked.variable);
        let there = match asked.member.filter(|_| is_of_balancer(server, &there)) {
            Some(member) => of_member(&there, member),
            None => there,
        };
        // A relative one is one of the same server's.
        let rest = if there.starts_with(b"/") { rest_of_path(url, &there) } else { rest(url, &there) };
        let Some(rest) = rest else { continue };
        let mapped = [&here[..], rest].concat();
        return Some(if mapped.starts_with(b"/") { (asked.absolute)(&mapped) } else { mapped });
    }
    None
}

fn is_of_balancer(server: &Server, there: &[u8]) -> bool {
    let name = std::str::from_utf8(there).ok().and_then(|there| there.strip_prefix("balancer://"));
    name.is_some_and(|rest| {
        let name = rest.split('/').next().unwrap_or_default();
        server.balancer(name).is_some()
    })
}

/// The URL of a balancer as one of its member's.
fn of_member(there: &[u8], member: &str) -> Vec<u8> {
    let rest = &there["balancer://".len()..];
    let path = rest.iter().position(|b| *b == b'/').map_or(&b""[..], |at| &rest[at..]);
    let member = member.as_bytes();
    let member = member.strip_suffix(b"/").filter(|_| path.starts_with(b"/")).unwrap_or(member);
    [member, path].concat()
}

/// Returns the rest of a URL after a prefix; the case of scheme and host is ignored.
fn rest<'u>(url: &'u [u8], beginning: &[u8]) -> Option<&'u [u8]> {
    let head = url.get(..beginning.len())?;
    let host = beginning.windows(3).position(|three| three == b"://").map_or(0, |at| {
        let from = at + 3;
        from + beginning[from..].iter().position(|b| *b == b'/').unwrap_or(beginning.len() - from)
    });
    let same = head[..host].eq_ignore_ascii_case(&beginning[..host]) && head[host..] == beginning[host..];
    same.then(|| &url[beginning.len()..])
}

fn rest_of_path<'u>(url: &'u [u8], beginning: &[u8]) -> Option<&'u [u8]> {
    url.strip_prefix(beginning)
}

/// `Set-Cookie`: the cookie with its path and its domain as they are here.
#[must_use]
pub fn cookie(dir: &Dir, cookie: &[u8], asked: ReverseFacts<'_>) -> Vec<u8> {
    if dir.cookie_paths.is_empty() && dir.cookie_domains.is_empty() {
        return cookie.to_vec();
    }
    let mut out = Vec::with_capacity(cookie.len() + 16);
    for (index, part) in cookie.split(|b| *b == b';').enumerate() {
        if index > 0 {
            out.push(b';');
        }
        let trimmed = part.trim_ascii_start();
        let blanks = &part[..part.len() - trimmed.len()];
        let mapped = attribute(trimmed, b"path=")
            .filter(|_| index > 0)
            .and_then(|value| path(dir, value, asked))
            .map(|value| (&trimmed[..5], value))
            .or_else(|| {
                let value = attribute(trimmed, b"domain=").filter(|_| index > 0)?;
                Some((&trimmed[..7], domain(dir, value, asked)?))
            });
        out.extend_from_slice(blanks);
        match mapped {
            Some((name, value)) => {
                out.extend_from_slice(name);
                out.extend_from_slice(&value);
            }
            None => out.extend_from_slice(trimmed),
        }
    }
    out
}

fn attribute<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    text.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name)).map(|_| &text[name.len()..])
}

fn path(dir: &Dir, value: &[u8], asked: ReverseFacts<'_>) -> Option<Vec<u8>> {
    dir.cookie_paths.iter().find_map(|reverse| {
        let (here, there) = reverse.names(dir, asked.variable);
        // Quirk(apache): what follows the path is left out.
        value.starts_with(&there).then_some(here)
    })
}

fn domain(dir: &Dir, value: &[u8], asked: ReverseFacts<'_>) -> Option<Vec<u8>> {
    dir.cookie_domains.iter().find_map(|reverse| {
        let (here, there) = reverse.names(dir, asked.variable);
        value.eq_ignore_ascii_case(&there).then_some(here)
    })
}
