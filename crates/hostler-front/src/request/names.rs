//! Names of the two ends of a connection, from the resolver: the client's (HostnameLookups, `Require host`) and the
//! server's own (UseCanonicalName DNS). Each is asked for at most once for a connection, and only where the
//! configuration wants it; what asks later finds what is known by then.

use crate::request::Request;
use crate::request::connection::Peer;
use hostler_config::DirConfig;
use hostler_config::directives::core::{CanonicalName, HostnameLookups};
use hostler_gateway::lookup::{self, Asker};
use std::cell::OnceCell;
use std::net::IpAddr;

/// The resolver's answers about a connection.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The client's name as it is shown; `None`: it has none.
    client: OnceCell<Option<String>>,
    /// The client's name, if it leads back to the address.
    proven: OnceCell<Option<String>>,
    /// The name of the address that the client reached.
    local: OnceCell<Option<String>>,
}

impl Names {
    /// The client's name, as far as it is known.
    pub(crate) fn client(&self) -> Option<&str> {
        self.client.get()?.as_deref()
    }

    /// The name of the address that the client reached, as far as it is known.
    pub(crate) fn local(&self) -> Option<&str> {
        self.local.get()?.as_deref()
    }
}

/// Returns whether anything about a request can depend on the resolver.
pub(crate) fn are_wanted(dir: &DirConfig) -> bool {
    lookups(dir) != HostnameLookups::Off || wants_local(dir)
}

fn lookups(dir: &DirConfig) -> HostnameLookups {
    dir.core.hostname_lookups.unwrap_or_default()
}

fn wants_local(dir: &DirConfig) -> bool {
    dir.core.use_canonical_name == Some(CanonicalName::Dns)
}

/// Asks for the names that the request's configuration wants.
pub(crate) async fn look_up(request: &Request) {
    let (peer, dir) = (&request.client.peer, &request.resource.dir);
    let asker = &asker(request);
    if wants_local(dir) && peer.names.local.get().is_none() {
        let _ = peer.names.local.set(reverse(peer.local.ip(), asker).await);
    }
    match lookups(dir) {
        HostnameLookups::Off => {}
        HostnameLookups::On => shown(peer, asker).await,
        HostnameLookups::Double if peer.names.client.get().is_some() => {}
        HostnameLookups::Double => {
            let name = proven_client(peer, asker).await;
            let _ = peer.names.client.set(name);
        }
    }
}

async fn shown(peer: &Peer, asker: &Asker) {
    if peer.names.client.get().is_none() {
        let _ = peer.names.client.set(reverse(peer.remote.ip(), asker).await);
    }
}

/// The client's name for access rules: one that does not lead back to its address is none.
async fn proven_client(peer: &Peer, asker: &Asker) -> Option<String> {
    if let Some(known) = peer.names.proven.get() {
        return known.clone();
    }
    let ip = peer.remote.ip();
    let name = match peer.names.client.get() {
        Some(name) => name.clone(),
        None => reverse(ip, asker).await,
    };
    let proven = match name {
        Some(name) => addresses(&name, asker).await.contains(&ip).then_some(name),
        None => None,
    };
    let _ = peer.names.proven.set(proven.clone());
    proven
}

/// The same; other users of the connection may show the name from then on, as in Apache.
pub(crate) async fn client_for_access(request: &Request) -> Option<String> {
    let (peer, asker) = (&request.client.peer, &asker(request));
    shown(peer, asker).await;
    proven_client(peer, asker).await
}

/// Each site has its own questions.
fn asker(request: &Request) -> Asker {
    request.thread.site(&request.server).asker.clone()
}

async fn reverse(ip: IpAddr, asker: &Asker) -> Option<String> {
    lookup::ask(asker.leave().await?, move || hostler_sys::names::reverse_lookup(ip)).await?
}

async fn addresses(name: &str, asker: &Asker) -> Vec<IpAddr> {
    let Some(leave) = asker.leave().await else { return Vec::new() };
    let found = lookup::addresses(leave, name, 0).await.unwrap_or_default();
    found.into_iter().map(|address| address.ip()).collect()
}

/// The addresses of a name that the request's rules name.
pub(crate) async fn addresses_for_access(request: &Request, name: &str) -> Vec<IpAddr> {
    addresses(name, &asker(request)).await
}
