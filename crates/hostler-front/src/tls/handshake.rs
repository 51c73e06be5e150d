//! The ingredients of a virtual host's handshakes: versions, cipher suites, groups, tickets.

use super::cipher;
use hostler_config::Server;
use hostler_config::directives::ssl::Ciphers;
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use std::sync::Arc;

/// A virtual host's settings of handshakes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Handshake {
    pub(super) tls12: bool,
    pub(super) tls13: bool,
    ciphers: Ciphers,
    /// For key exchange, where not all may be used.
    groups: Option<Vec<&'static str>>,
    /// `SSLHonorCipherOrder`
    pub(super) own_cipher_order: bool,
    /// `SSLSessionTickets`
    pub(super) tickets: bool,
    /// `SSLSessionTicketKeyFile`
    pub(super) ticket_key: Option<Box<str>>,
}

impl Handshake {
    pub(super) fn of(server: &Server) -> Self {
        let ssl = &server.conf.ssl;
        let versions = ssl.versions();
        Self {
            tls12: versions.tls12,
            tls13: versions.tls13,
            ciphers: ssl.ciphers.clone(),
            groups: ssl.groups.clone(),
            own_cipher_order: ssl.own_cipher_order == Some(true),
            tickets: ssl.tickets != Some(false),
            ticket_key: ssl.ticket_key.clone(),
        }
    }

    /// The library's suites and groups that are allowed, in the order of the lists.
    pub(super) fn provider(&self, whole: &Arc<CryptoProvider>) -> Arc<CryptoProvider> {
        if self.ciphers == Ciphers::default() && self.groups.is_none() {
            return whole.clone();
        }
        let mut provider = (**whole).clone();
        if let Some(groups) = &self.groups {
            let place = |group: &&dyn SupportedKxGroup| {
                let name = format!("{:?}", group.name());
                groups.iter().position(|own| *own == name)
            };
            provider.kx_groups.retain(|group| place(group).is_some());
            provider.kx_groups.sort_by_key(place);
        }
        let place = |suite: &rustls::SupportedCipherSuite| {
            let list = if suite.tls13().is_some() { &self.ciphers.tls13 } else { &self.ciphers.tls12 };
            let Some(list) = list else { return Some(0) };
            list.iter().position(|name| *name == cipher::name(suite.suite()))
        };
        provider.cipher_suites.retain(|suite| place(suite).is_some());
        provider.cipher_suites.sort_by_key(|suite| (suite.tls13().is_none(), place(suite)));
        Arc::new(provider)
    }
}
