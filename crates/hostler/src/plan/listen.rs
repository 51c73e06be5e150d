//! The addresses of `Listen`: what the master will bind, and what it would be refused. Nothing is bound here.

use hostler_config::{Config, Setting};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Finding, Situation, place};

/// One address for each `Listen`, in order: the front tells them apart by their position.
pub(crate) fn addresses(config: &Config) -> Vec<SocketAddr> {
    let all = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    let listen = config.process.listen.iter();
    listen.map(|listen| SocketAddr::new(listen.ip.unwrap_or(all), listen.port)).collect()
}

/// Checks the lines themselves: none at all, and addresses that include each other.
pub(crate) fn examine(config: &Config) -> Vec<Finding> {
    let all = addresses(config);
    if all.is_empty() {
        let why = "there is no Listen directive; for example: Listen 80";
        return vec![Finding::Absent(why.to_owned())];
    }
    let clashes = all.iter().enumerate().filter_map(|(at, address)| {
        let earlier = all[..at].iter().find(|earlier| clash(**earlier, *address, &all))?;
        let why = format!(
            "{} is already part of Listen {}; leave one of them out",
            shown(*address),
            shown(*earlier)
        );
        Some(Finding::Error(why).prefixed(&line(config, at)))
    });
    clashes.collect()
}

/// Returns whether the kernel refuses one of two addresses when the other is bound.
fn clash(one: SocketAddr, other: SocketAddr, all: &[SocketAddr]) -> bool {
    // The same one twice shares a socket.
    if one.port() != other.port() || one == other {
        return false;
    }
    let covers = |wide: SocketAddr, narrow: SocketAddr| match (wide.ip(), narrow.ip()) {
        (IpAddr::V4(wide), IpAddr::V4(_)) => wide.is_unspecified(),
        (IpAddr::V6(wide), IpAddr::V6(_)) => wide.is_unspecified(),
        // `[::]` leaves IPv4 to a `0.0.0.0` beside it.
        (IpAddr::V6(wide), IpAddr::V4(_)) => {
            wide.is_unspecified() && !all.contains(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, narrow.port())))
        }
        (IpAddr::V4(_), IpAddr::V6(_)) => false,
    };
    covers(one, other) || covers(other, one)
}

/// As `Listen` has it.
fn shown(address: SocketAddr) -> String {
    if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        address.port().to_string()
    } else {
        address.to_string()
    }
}

/// `file:line: Listen` of an address.
fn line(config: &Config, at: usize) -> String {
    let lines: Vec<&Setting> =
        config.main().settings.iter().filter(|setting| setting.directive == "Listen").collect();
    // A host name may stand for several addresses; then it can't be told whose this is.
    let own = lines.get(at).filter(|_| lines.len() == config.process.listen.len()).or(lines.first());
    own.map_or_else(|| "Listen".to_owned(), |own| format!("{}: Listen", place::of(config, own.origin)))
}

/// Checks what the machine would refuse now: for `hostler check`, which binds nothing.
pub(crate) fn inspect(config: &Config, situation: &Situation) -> Vec<Finding> {
    let all = addresses(config);
    let taken = taken();
    let first_open = first_open_port();
    let mut found = Vec::new();
    for (at, address) in all.iter().enumerate() {
        if !situation.root() && address.port() < first_open {
            let why = format!("ports below {first_open} need root");
            found.push(Finding::Unseen(why).prefixed(&line(config, at)));
        }
        if let Some(there) = taken.iter().find(|there| *there == address || clash(**there, *address, &all)) {
            let why = format!(
                "something listens on {} now; a start needs the address free (see `ss -ltnp`)",
                shown(*there)
            );
            found.push(Finding::Warning(why).prefixed(&line(config, at)));
        }
    }
    found
}

/// ip(7): `ip_unprivileged_port_start`.
fn first_open_port() -> u16 {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(1024)
}

/// Addresses on which something listens.
fn taken() -> Vec<SocketAddr> {
    // Our own server, which a changed configuration is checked for, does not get here: see `check`.
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .filter_map(|table| std::fs::read_to_string(table).ok());
    tables.flat_map(|table| table.lines().filter_map(listening).collect::<Vec<_>>()).collect()
}

/// The local address of a line of proc(5)'s `/proc/net/tcp`, if that socket listens (state 0A).
fn listening(line: &str) -> Option<SocketAddr> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (local, state) = (words.next()?, words.nth(1)?);
    if state != "0A" {
        return None;
    }
    let (address, port) = local.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    // Groups of four bytes, each as the machine keeps a number.
    let group =
        |at: usize| u32::from_str_radix(address.get(at * 8..at * 8 + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = match address.len() {
        8 => IpAddr::from(group(0)?),
        32 => {
            let bytes = [group(0)?, group(1)?, group(2)?, group(3)?].concat();
            IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?)
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: &str) -> Vec<Finding> {
        hostler_techniques::install().ok().unwrap();
        let tree = hostler_config::read_text(lines, "/etc").ok().unwrap();
        examine(&Config::build(&tree).ok().unwrap())
    }

    #[test]
    fn addresses_that_include_each_other_are_told_with_their_line() {
        for lines in
            ["Listen 80\nListen 127.0.0.1:80", "Listen 127.0.0.1:80\nListen 80", "Listen [::1]:80\nListen 80"]
        {
            let found = found(lines);
            assert!(
                matches!(&found[..], [Finding::Error(why)] if why.starts_with("configuration:2: Listen: ")),
                "{lines}: {found:?}"
            );
        }
        for lines in [
            "Listen 80\nListen 81\nListen 127.0.0.1:8080",
            "Listen 0.0.0.0:80\nListen [::]:80",
            "Listen 127.0.0.1:80\nListen 127.0.0.2:80\nListen [::1]:80",
        ] {
            assert_eq!(found(lines), [], "{lines}");
        }
        assert!(matches!(&found("")[..], [Finding::Absent(_)]));
    }

    #[test]
    fn who_listens_is_seen_without_binding() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert!(taken().contains(&address));
        let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else { return };
        assert!(taken().contains(&listener.local_addr().unwrap()));
    }
}
