//! The host of a request: the Host field, or the authority of an absolute target, taken apart; and patterns of hosts
//! (ServerAlias).

/// A Host field or authority, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub struct Authority {
    /// Lower case, without a dot at the end; brackets of an IPv6 address stay.
    pub host: Vec<u8>,
    /// Never 0.
    pub port: Option<u16>,
}

/// Parses `host[:port]` as Apache's strict host check does (RFC 3986 §3.2.2): an address, a name of letters, digits and
/// `-._`, other characters that Apache lets pass, or an IPv6 address in brackets. `None`: not a host.
///
/// Without `strict` only what could be taken for a path is refused (`fix_hostname`): an end that is no port stays in the
/// name, which then is that of no virtual host.
#[must_use]
pub fn authority(text: &[u8], strict: bool) -> Option<Authority> {
    if !strict && text.first() != Some(&b'[') {
        return lenient_authority(text);
    }
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

/// A host as it is written, with a port if digits follow the last colon.
fn lenient_authority(text: &[u8]) -> Option<Authority> {
    let (host, port) = match text.iter().rposition(|&b| b == b':') {
        Some(at) if text[at + 1..].iter().all(u8::is_ascii_digit) && at > 0 => {
            (&text[..at], Some(&text[at + 1..]))
        }
        _ => (text, None),
    };
    let port = match port.filter(|digits| !digits.is_empty()) {
        Some(digits) => match std::str::from_utf8(digits).ok()?.parse::<u16>() {
            Ok(0) | Err(_) => return None,
            Ok(port) => Some(port),
        },
        None => None,
    };
    let mut host = host.to_ascii_lowercase();
    check_name(&host, false)?;
    if host.last() == Some(&b'.') {
        host.pop();
    }
    Some(Authority { host, port })
}

fn check_name(host: &[u8], strict: bool) -> Option<()> {
    if host.windows(2).any(|two| two == b"..") {
        return None;
    }
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    // Apache without Strict refuses only what could be taken for a path.
    let lenient = |b: u8| !matches!(b, b'/' | b'\\');
    if !host.iter().all(|&b| plain(b) || (!strict && lenient(b))) {
        return None;
    }
    if strict { check_numbers(host) } else { Some(()) }
}

/// Rejects names that could be an address in one place and a name in another: an address has four decimal numbers, and
/// a name's last label does not begin with a digit.
fn check_numbers(host: &[u8]) -> Option<()> {
    let host = host.strip_suffix(b".").unwrap_or(host);
    let mut labels = host.split(|&b| b == b'.');
    if !host.iter().all(|b| b.is_ascii_digit() || *b == b'.') {
        let last = labels.next_back()?;
        let alone = last.len() == host.len();
        return (alone || last.first().is_none_or(u8::is_ascii_alphabetic)).then_some(());
    }
    let is_number = |label: &[u8]| !label.is_empty() && (label[0] != b'0' || label.len() == 1);
    (labels.clone().count() == 4 && labels.all(is_number)).then_some(())
}

/// Returns whether a host matches a pattern of ServerAlias: `*` is any run of characters, `?` any one
/// (`ap_strcasecmp_match`); both sides are lower case.
#[must_use]
pub fn glob(pattern: &[u8], text: &[u8]) -> bool {
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
    fn numbers_are_whole_addresses() {
        for good in
            ["127.0.0.1", "256.1.1.1", "1.2.3.256", "127.0.0.1.", "0x7f", "1a.example", "example.a1", "-a"]
        {
            assert!(host(good).is_some(), "{good}");
        }
        for bad in [
            "017700000001",
            "0x7f.1",
            "127.01.0.1",
            "127.1",
            "1.2.3",
            "1.2.3.4.5",
            "example.1",
            "0",
            "a.0x1",
            "1.2.3.-4",
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
