//! URLs of programs: `[unix:/path|]scheme://[host][:port][/path]`, as mod_proxy has them.

use crate::technique::sockets::Address;

/// A program's URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Worker {
    /// Lower case.
    pub(crate) scheme: String,
    pub(crate) address: Address,
    /// Scheme, host and, where it is not the usual one, port: what stands before the path when applications are told.
    pub(crate) origin: String,
    /// With its slash; may be empty.
    pub(crate) path: Vec<u8>,
}

/// Ports that are not named in a URL.
fn usual_port(scheme: &str) -> u16 {
    match scheme {
        "fcgi" => 8000,
        "scgi" => 4000,
        "uwsgi" => 3031,
        _ => 0,
    }
}

/// Understands a URL.
///
/// # Errors
/// The fault in it.
pub(crate) fn parse(text: &[u8]) -> Result<Worker, String> {
    let (socket, url) = match strip(text, b"unix:") {
        Some(rest) => {
            let end =
                rest.iter().position(|byte| *byte == b'|').ok_or("there is no | behind the socket's path")?;
            (Some(&rest[..end]), &rest[end + 1..])
        }
        None => (None, text),
    };
    let at = memchr::memmem::find(url, b"://").ok_or("there is no scheme://")?;
    let scheme = String::from_utf8_lossy(&url[..at]).to_ascii_lowercase();
    let rest = &url[at + 3..];
    let end = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
    let authority = std::str::from_utf8(&rest[..end]).map_err(|_| "the host is not text")?;
    let authority = authority.to_ascii_lowercase();
    let (host, port) = host_and_port(&authority)?;
    let usual = usual_port(&scheme);
    let shown = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let origin = match port {
        Some(port) if port != usual => format!("{scheme}://{shown}:{port}"),
        _ => format!("{scheme}://{shown}"),
    };
    let address = match socket {
        Some(path) if path.first() == Some(&b'/') => Address::Unix(path.into()),
        Some(_) => return Err("the socket's path is not absolute".to_owned()),
        None => Address::Tcp { host: host.into(), port: port.unwrap_or(usual) },
    };
    Ok(Worker { scheme, address, origin, path: rest[end..].to_vec() })
}

fn strip<'a>(text: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    let start = text.get(..prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// Quirk(apache): no host is `localhost`.
fn host_and_port(authority: &str) -> Result<(&str, Option<u16>), String> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or("there is no ] behind the address")?;
            (host, rest.strip_prefix(':'))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = match port {
        None | Some("") => None,
        Some(port) => Some(port.parse().map_err(|_| format!("{port:?} is not a port"))?),
    };
    Ok((if host.is_empty() { "localhost" } else { host }, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_understood_as_apache_does() {
        let tcp = |host: &str, port| Address::Tcp { host: host.into(), port };
        let unix = |path: &str| Address::Unix(path.as_bytes().into());
        for (text, origin, address, path) in [
            ("unix:/run/a.sock|fcgi://localhost", "fcgi://localhost", unix("/run/a.sock"), ""),
            ("UNIX:/run/a.sock|FCGI://", "fcgi://localhost", unix("/run/a.sock"), ""),
            ("fcgi://127.0.0.1:9000/srv/", "fcgi://127.0.0.1:9000", tcp("127.0.0.1", 9000), "/srv/"),
            ("fcgi://App:8000", "fcgi://app", tcp("app", 8000), ""),
            ("scgi://[::1]:4001", "scgi://[::1]:4001", tcp("::1", 4001), ""),
            ("uwsgi://h", "uwsgi://h", tcp("h", 3031), ""),
        ] {
            let worker = parse(text.as_bytes()).expect(text);
            assert_eq!((&*worker.origin, worker.address, &*worker.path), (origin, address, path.as_bytes()));
        }
        for text in [
            "unix:/run/a.sock",
            "unix:run|fcgi://",
            "fcgi:/x",
            "",
            "fcgi://h:x",
            "fcgi://[::1",
            "fcgi://h:70000",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
