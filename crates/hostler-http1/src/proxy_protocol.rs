//! The header of the PROXY protocol (versions 1 and 2), with which a balancer begins a connection to tell whose it is.
//! Read as strictly as the specification allows: whoever is to begin with a header and does not is no balancer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The beginning of version 2.
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// The longest header of version 1, with its end of line.
const LONGEST_LINE: usize = 107;
/// The fixed part of version 2.
const FIXED: usize = 16;
/// The longest header of version 2 that is taken: addresses, and what balancers say beside.
const LONGEST: usize = 4096;
/// Bytes that are enough to read a header, but for what version 2 says beside the addresses.
pub const ENOUGH: usize = 128;

/// The meaning of a connection's first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// More has to be known.
    More,
    /// A header of this length. `client`: who has connected to the balancer; `None`: the balancer itself (a check of
    /// health), or somebody without an address.
    Header {
        /// In bytes; it may be longer than what was looked at.
        length: usize,
        /// Address and port.
        client: Option<SocketAddr>,
    },
    /// No header.
    Wrong,
}

/// Looks at the first bytes.
#[must_use]
pub fn start(bytes: &[u8]) -> Start {
    let common = bytes.len().min(SIGNATURE.len());
    if bytes[..common] == SIGNATURE[..common] {
        return version_2(bytes);
    }
    let line = &bytes[..bytes.len().min(LONGEST_LINE)];
    let head = b"PROXY ";
    let common = line.len().min(head.len());
    if line[..common] != head[..common] {
        return Start::Wrong;
    }
    match line.windows(2).position(|two| two == b"\r\n") {
        Some(end) => version_1(&line[head.len()..end], end + 2),
        None if bytes.len() < LONGEST_LINE => Start::More,
        None => Start::Wrong,
    }
}

fn version_1(line: &[u8], length: usize) -> Start {
    if line == b"UNKNOWN" || line.starts_with(b"UNKNOWN ") {
        return Start::Header { length, client: None };
    }
    let client = std::str::from_utf8(line).ok().and_then(addresses);
    client.map_or(Start::Wrong, |client| Start::Header { length, client: Some(client) })
}

/// `TCP4 source destination port port`
fn addresses(line: &str) -> Option<SocketAddr> {
    let mut words = line.split(' ');
    let family = words.next()?;
    let (source, destination): (IpAddr, IpAddr) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let (port, _): (u16, u16) = (number(words.next()?)?, number(words.next()?)?);
    let fits = match family {
        "TCP4" => source.is_ipv4() && destination.is_ipv4(),
        "TCP6" => source.is_ipv6() && destination.is_ipv6(),
        _ => false,
    };
    (fits && words.next().is_none()).then_some(SocketAddr::new(source, port))
}

/// Digits alone: no sign.
fn number(text: &str) -> Option<u16> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

fn version_2(bytes: &[u8]) -> Start {
    let Some(fixed) = bytes.get(..FIXED) else { return Start::More };
    let addresses = usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    let length = FIXED + addresses;
    if length > LONGEST {
        return Start::Wrong;
    }
    let needed = match (fixed[12], fixed[13]) {
        // LOCAL: the balancer's own connection.
        (0x20, _) => return Start::Header { length, client: None },
        (0x21, 0x11) => 12,
        (0x21, 0x21) => 36,
        // Families without an address that rules could compare.
        (0x21, _) => return Start::Header { length, client: None },
        _ => return Start::Wrong,
    };
    if addresses < needed {
        return Start::Wrong;
    }
    let Some(block) = bytes.get(FIXED..FIXED + needed) else { return Start::More };
    let port = |at: usize| u16::from_be_bytes([block[at], block[at + 1]]);
    let client = if needed == 12 {
        let source: [u8; 4] = [block[0], block[1], block[2], block[3]];
        SocketAddr::new(Ipv4Addr::from(source).into(), port(8))
    } else {
        let mut source = [0; 16];
        source.copy_from_slice(&block[..16]);
        SocketAddr::new(Ipv6Addr::from(source).into(), port(32))
    };
    Start::Header { length, client: Some(client) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v2(command: u8, family: u8, block: &[u8], beside: usize) -> Vec<u8> {
        let length = (block.len() + beside) as u16;
        let mut bytes = [&SIGNATURE[..], &[command, family], &length.to_be_bytes(), block].concat();
        bytes.resize(bytes.len() + beside, 0);
        bytes
    }

    #[test]
    fn version_1_is_one_line() {
        let client = |text: &str| Some(text.parse().unwrap());
        for (line, expected) in [
            ("PROXY TCP4 192.0.2.1 192.0.2.2 1234 80\r\n", client("192.0.2.1:1234")),
            ("PROXY TCP6 2001:db8::1 ::1 65535 443\r\n", client("[2001:db8::1]:65535")),
            ("PROXY UNKNOWN\r\n", None),
            ("PROXY UNKNOWN ffff:: ffff:: 1 2\r\n", None),
        ] {
            assert_eq!(
                start(format!("{line}GET / HTTP/1.1\r\n").as_bytes()),
                Start::Header { length: line.len(), client: expected },
                "{line}"
            );
            for end in 0..line.len() {
                assert_eq!(start(&line.as_bytes()[..end]), Start::More, "{line} {end}");
            }
        }
    }

    #[test]
    fn what_is_no_header_is_refused() {
        for line in [
            "GET / HTTP/1.1\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 1234\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 1234 80 9\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 123456 80\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 +12 80\r\n",
            "PROXY TCP4 192.0.2 192.0.2.2 1 80\r\n",
            "PROXY TCP4 ::1 ::1 1 80\r\n",
            "PROXY TCP6 192.0.2.1 192.0.2.2 1 80\r\n",
            "PROXY  TCP4 192.0.2.1 192.0.2.2 1 80\r\n",
            "PROXY UDP4 192.0.2.1 192.0.2.2 1 80\r\n",
            "PROXY UNKNOWNS\r\n",
            "proxy TCP4 192.0.2.1 192.0.2.2 1 80\r\n",
        ] {
            assert_eq!(start(line.as_bytes()), Start::Wrong, "{line}");
        }
        assert_eq!(start(&[&b"PROXY "[..], &[b'x'; 200]].concat()), Start::Wrong);
    }

    #[test]
    fn version_2_is_of_fixed_parts() {
        let v4 = [192, 0, 2, 1, 192, 0, 2, 2, 4, 210, 0, 80];
        let header = v2(0x21, 0x11, &v4, 9);
        let known = Start::Header { length: 37, client: Some("192.0.2.1:1234".parse().unwrap()) };
        assert_eq!(start(&header), known);
        assert_eq!(start(&header[..28]), known);
        for end in 0..28 {
            assert_eq!(start(&header[..end]), Start::More, "{end}");
        }
        let mut v6 = [0; 36];
        v6[15] = 1;
        v6[33] = 7;
        let client = Some("[::1]:7".parse().unwrap());
        assert_eq!(start(&v2(0x21, 0x21, &v6, 0)), Start::Header { length: 52, client });
        assert_eq!(start(&v2(0x20, 0, b"", 0)), Start::Header { length: 16, client: None });
        assert_eq!(start(&v2(0x21, 0x31, &[0; 216], 0)), Start::Header { length: 232, client: None });
        for wrong in [
            v2(0x21, 0x11, &v4[..8], 0),
            v2(0x11, 0x11, &v4, 0),
            v2(0x22, 0x11, &v4, 0),
            v2(0x21, 0x11, &v4, 5000),
        ] {
            assert_eq!(start(&wrong), Start::Wrong);
        }
    }
}
