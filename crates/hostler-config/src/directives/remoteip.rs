//! Directives of mod_remoteip: which proxies are believed about who the client is.

use crate::{Args, Arity, Command, Directive, Effect, Merge, Module, over, unset_part};
use hostler_expr::Subnet;
use std::net::IpAddr;
use std::sync::Arc;

/// The module.
pub static MODULE: Module = Module {
    name: "remoteip_module",
    file: "mod_remoteip.c",
    directives: DIRECTIVES,
    effect: Effect::Guards,
};

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "RemoteIPHeader",
        Arity::Take1,
        "field",
        "Set the header field in which proxies pass the client's address, such as X-Forwarded-For",
        |command, args| {
            command.server.remoteip.header = Some(field(args)?);
            Ok(())
        },
    ),
    Directive::new(
        "RemoteIPProxiesHeader",
        Arity::Take1,
        "field",
        "Set the request header field that records trusted proxies, such as X-Forwarded-By",
        |command, args| {
            command.server.remoteip.proxies_header = Some(field(args)?);
            Ok(())
        },
    ),
    Directive::new(
        "RemoteIPTrustedProxy",
        Arity::Iterate,
        "address|network|host ...",
        "Set proxies that are trusted for public client addresses",
        |command, args| add(command, args.first(), false),
    ),
    Directive::new(
        "RemoteIPInternalProxy",
        Arity::Iterate,
        "address|network|host ...",
        "Set internal proxies, which are trusted for any client address",
        |command, args| add(command, args.first(), true),
    ),
    Directive::new(
        "RemoteIPTrustedProxyList",
        Arity::Take1,
        "file",
        "Read trusted proxies from a file; # starts a comment",
        |command, args| list(command, args, false),
    ),
    Directive::new(
        "RemoteIPInternalProxyList",
        Arity::Take1,
        "file",
        "Read internal proxies from a file; # starts a comment",
        |command, args| list(command, args, true),
    ),
    Directive::new(
        "RemoteIPProxyProtocol",
        Arity::Flag,
        "On|Off",
        "Expect a PROXY protocol header (versions 1 and 2) on connections to the addresses of this virtual \
            host",
        |command, args| {
            command.server.remoteip.protocol = Some(args.flag());
            Ok(())
        },
    ),
    Directive::new(
        "RemoteIPProxyProtocolExceptions",
        Arity::Iterate,
        "address|network|host ...",
        "Set the clients that connect without a PROXY protocol header",
        |command, args| {
            let found = subnets(command, args.first())?;
            command.server.remoteip.exceptions.get_or_insert_default().extend(found);
            Ok(())
        },
    ),
];

/// Proxies that are believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Proxy {
    network: Subnet,
    internal: bool,
}

/// A server's settings.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// RemoteIPHeader
    pub header: Option<Arc<str>>,
    /// RemoteIPProxiesHeader
    pub proxies_header: Option<Arc<str>>,
    proxies: Option<Vec<Proxy>>,
    /// RemoteIPProxyProtocol; unset means Off.
    pub protocol: Option<bool>,
    exceptions: Option<Vec<Subnet>>,
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        Self {
            header: over(&self.header, &other.header),
            proxies_header: over(&self.proxies_header, &other.proxies_header),
            proxies: over(&self.proxies, &other.proxies),
            protocol: over(&self.protocol, &other.protocol),
            exceptions: over(&self.exceptions, &other.exceptions),
        }
    }

    unset_part!(Server);
}

/// mod_remoteip has nothing per directory.
pub type Dir = ();

/// The trust in a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Not at all.
    None,
    /// About public addresses.
    Public,
    /// About any address.
    Any,
}

impl Server {
    /// Returns the trust in an address. Without any list every address is trusted, for public addresses.
    #[must_use]
    pub fn trust(&self, address: IpAddr) -> Trust {
        let Some(proxies) = &self.proxies else { return Trust::Public };
        match proxies.iter().find(|proxy| proxy.network.contains(address)) {
            None => Trust::None,
            Some(proxy) if proxy.internal => Trust::Any,
            Some(_) => Trust::Public,
        }
    }

    /// Returns whether a connection from this address begins with no header of the PROXY protocol.
    #[must_use]
    pub fn excepts(&self, address: IpAddr) -> bool {
        self.exceptions.iter().flatten().any(|network| network.contains(address))
    }
}

fn field(args: &Args) -> Result<Arc<str>, String> {
    let name = args.first();
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(format!("\"{name}\" is not the name of a header field"));
    }
    Ok(name.into())
}

/// A network, or the addresses of a host.
fn subnets(command: &Command<'_>, text: &str) -> Result<Vec<Subnet>, String> {
    match Subnet::parse(text) {
        Ok(network) => Ok(vec![network]),
        Err(error) => {
            let found: Vec<Subnet> = command
                .resolved(text)
                .iter()
                .filter_map(|address| Subnet::parse(&address.to_canonical().to_string()).ok())
                .collect();
            if found.is_empty() {
                Err(format!("\"{text}\" is wrong: {error}, and no host either"))
            } else {
                Ok(found)
            }
        }
    }
}

fn add(command: &mut Command<'_>, text: &str, internal: bool) -> Result<(), String> {
    let found = subnets(command, text)?;
    let proxies = command.server.remoteip.proxies.get_or_insert_default();
    proxies.extend(found.into_iter().map(|network| Proxy { network, internal }));
    Ok(())
}

fn list(command: &mut Command<'_>, args: &Args, internal: bool) -> Result<(), String> {
    let file = args.first();
    let text = command.attached(file).ok_or_else(|| format!("cannot read {file}"))?;
    // An empty list believes nobody, and is not as good as none.
    command.server.remoteip.proxies.get_or_insert_default();
    for (line, words) in (1..).zip(text.lines()) {
        for word in words.split_ascii_whitespace().take_while(|word| !word.starts_with('#')) {
            add(command, word.trim_matches('"'), internal).map_err(|why| format!("{file}:{line}: {why}"))?;
        }
    }
    Ok(())
}
