//! TLS: the handshake, with the certificate and the protocols of the virtual host that the client names (SNI).
//!
//! Certificates and keys come with the plan; nothing is read here. A new generation brings new ones.

pub(crate) mod backends;
mod certificate;
mod cipher;
mod clients;
mod handshake;
mod ocsp;
mod plain;
mod responder;
mod revocation;
pub(crate) mod stapling;
mod tickets;

use crate::log::{self, Severity};
use crate::request::certificate_facts::CertificateFacts;
use crate::request::connection::{ClientCertificate, Tls};
use crate::request::thread::Thread;
use handshake::Handshake;
use hashbrown::HashMap;
use hostler_config::directives::ssl::client::Clients;
use hostler_config::directives::ssl::stapling::Stapling;
use hostler_config::{Config, Server};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::server::{ProducesTickets, ServerSessionMemoryCache, StoresServerSessions};
use rustls::version::{TLS12, TLS13};
use serde_bytes::ByteBuf;
use stapling::Staple;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;
use webpki::KeyUsage;

/// Sessions kept for clients that can't keep a ticket.
const SESSIONS: usize = 4096;
/// First byte of a handshake record (RFC 8446 §5.1).
const HANDSHAKE: u8 = 22;

/// TLS settings of all virtual hosts.
pub(crate) struct Hosts {
    /// By [`Server::id`]; `None`: it doesn't speak TLS.
    servers: Vec<Option<Arc<Host>>>,
    staples: Vec<(u32, Stapled)>,
}

/// A certificate's staple, or why it has none.
type Stapled = Result<Arc<Staple>, String>;

/// A virtual host's offer in handshakes. ALPN is settled before the handshake continues, because a client whose
/// protocols are not supported is served HTTP/1.1, where rustls alone would refuse it.
struct Host {
    /// Without ALPN.
    plain: Arc<ServerConfig>,
    /// One for each protocol, in the order of `Protocols`.
    by_protocol: Vec<(Vec<u8>, Arc<ServerConfig>)>,
    /// `ProtocolsHonorOrder`: our order counts, not the client's.
    own_order: bool,
    certificate: Arc<CertificateFacts>,
    /// Set if clients are asked for certificates.
    clients: Option<Arc<clients::Policy>>,
    staples: Vec<Arc<Staple>>,
}

impl Host {
    fn config<'a>(&self, mut offered: impl Iterator<Item = &'a [u8]>) -> Arc<ServerConfig> {
        let place = |name: &[u8]| self.by_protocol.iter().position(|(own, _)| own == name);
        let chosen = if self.own_order { offered.filter_map(place).min() } else { offered.find_map(place) };
        chosen.map_or(&self.plain, |at| &self.by_protocol[at].1).clone()
    }
}

impl Hosts {
    /// # Errors
    /// A certificate that can't be used, with the configuration's file and line.
    pub(crate) fn new(config: &Config, secrets: &[(String, ByteBuf)]) -> io::Result<Self> {
        let mut making = Making::new(secrets)?;
        let servers = config.servers.iter().map(|server| {
            if !is_on(server) || server.user_of.is_some() {
                return Ok(None);
            }
            let made = making.host(server);
            made.map(Some).map_err(|why| io::Error::other(format!("{}: {why}", place(config, server))))
        });
        Ok(Self { servers: servers.collect::<io::Result<_>>()?, staples: making.staples })
    }

    /// Returns the certificates to staple, with the virtual host's [`Server::id`].
    fn staples(&self) -> &[(u32, Stapled)] {
        &self.staples
    }

    fn of(&self, server: &Server) -> Option<&Arc<Host>> {
        self.servers.get(server.id as usize)?.as_ref()
    }
}

/// Returns the configuration line of the virtual host's certificate.
fn place(config: &Config, server: &Server) -> String {
    let settings = server.settings.iter().chain(&config.main().settings);
    let found =
        settings.filter(|s| s.directive == "SSLCertificateFile").map(|s| (s.origin, s.directive)).next();
    let (origin, directive) = found.unwrap_or((server.origin, "SSLEngine"));
    let file = config.files.get(origin.file as usize).map_or("configuration", |file| &**file);
    format!("{file}:{}: {directive}", origin.line)
}

/// The settings that make two virtual hosts offer the same.
type Key =
    (Vec<(Box<str>, Box<str>)>, Option<Box<str>>, Handshake, Vec<String>, bool, Clients, Option<Stapling>);

/// State shared while the settings are built: ten thousand virtual hosts with one certificate share one setting.
struct Making<'a> {
    provider: Arc<CryptoProvider>,
    tickets: Arc<dyn ProducesTickets>,
    sessions: Arc<dyn StoresServerSessions>,
    secrets: HashMap<&'a str, &'a [u8]>,
    made: HashMap<Key, Arc<Host>>,
    staples: Vec<(u32, Stapled)>,
}

impl<'a> Making<'a> {
    fn new(secrets: &'a [(String, ByteBuf)]) -> io::Result<Self> {
        Ok(Self {
            provider: Arc::new(rustls::crypto::ring::default_provider()),
            tickets: rustls::crypto::ring::Ticketer::new().map_err(io::Error::other)?,
            sessions: ServerSessionMemoryCache::new(SESSIONS),
            secrets: secrets.iter().map(|(path, bytes)| (path.as_str(), &bytes[..])).collect(),
            made: HashMap::new(),
            staples: Vec::new(),
        })
    }

    fn host(&mut self, server: &Server) -> Result<Arc<Host>, String> {
        let (ssl, core) = (&server.conf.ssl, &server.conf.core);
        let spoken = alpn(core.protocols.as_deref());
        let own_order = core.protocols_honor_order.unwrap_or(true);
        let asked = if ssl.clients.are_asked() { ssl.clients.clone() } else { Clients::default() };
        let pairs: Vec<_> = ssl.pairs().map(|(certificate, key)| (certificate.into(), key.into())).collect();
        let stapling = ssl.stapling.is_on.unwrap_or(false).then(|| ssl.stapling.clone());
        let key = (pairs, ssl.chain.clone(), Handshake::of(server), spoken, own_order, asked, stapling);
        if let Some(made) = self.made.get(&key) {
            return Ok(made.clone());
        }
        let mut keys = certificate::load(server, &self.secrets)?;
        let staples = key.6.as_ref().map(|settings| self.staple(server, &mut keys, settings));
        let staples = staples.transpose()?.unwrap_or_default();
        let certificate = Arc::new(keys.facts());
        let algorithms = self.provider.signature_verification_algorithms;
        let clients = key
            .5
            .are_asked()
            .then(|| clients::Policy::new(&key.5, &self.secrets, algorithms, KeyUsage::client_auth()));
        let clients = clients.transpose()?.map(Arc::new);
        let plain = self.config(keys, &key.2, &key.5, clients.clone())?;
        let with = |protocol: &String| {
            let mut config = plain.clone();
            config.alpn_protocols = vec![protocol.clone().into_bytes()];
            (protocol.clone().into_bytes(), Arc::new(config))
        };
        let by_protocol = key.3.iter().map(with).collect();
        let host =
            Arc::new(Host { plain: Arc::new(plain), by_protocol, own_order, certificate, clients, staples });
        self.made.insert(key, host.clone());
        Ok(host)
    }

    /// Starts stapling for those of the virtual host's certificates that support it.
    fn staple(
        &mut self,
        server: &Server,
        keys: &mut certificate::Keys,
        settings: &Stapling,
    ) -> Result<Vec<Arc<Staple>>, String> {
        let authorities = server.conf.ssl.clients.ca_file.as_deref();
        let known = match authorities.and_then(|path| Some((path, *self.secrets.get(path)?))) {
            Some((path, content)) => certificate::certificates(path, content)?,
            None => Vec::new(),
        };
        let made = keys.staple(&known, settings);
        let staples = made.iter().filter_map(|staple| staple.as_ref().ok().cloned()).collect();
        self.staples.extend(made.into_iter().map(|staple| (server.id, staple)));
        Ok(staples)
    }

    fn config(
        &self,
        keys: certificate::Keys,
        handshake: &Handshake,
        asked: &Clients,
        clients: Option<Arc<clients::Policy>>,
    ) -> Result<ServerConfig, String> {
        let both = [(handshake.tls13, &TLS13), (handshake.tls12, &TLS12)];
        let wanted: Vec<_> =
            both.into_iter().filter_map(|(wanted, version)| wanted.then_some(version)).collect();
        let builder = ServerConfig::builder_with_provider(handshake.provider(&self.provider))
            .with_protocol_versions(&wanted)
            .map_err(|e| format!("SSLProtocol and SSLCipherSuite leave nothing: {e}"))?;
        let asks = clients.is_some();
        let builder = match clients {
            Some(policy) => builder.with_client_cert_verifier(policy),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::new(keys));
        config.ignore_client_order = handshake.own_cipher_order;
        if asks {
            // What one virtual host found good enough must not be resumed at another.
            config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
            if handshake.tickets {
                config.ticketer = rustls::crypto::ring::Ticketer::new().map_err(|e| e.to_string())?;
            }
        } else {
            config.session_storage = self.sessions.clone();
            if handshake.tickets {
                config.ticketer = self.tickets.clone();
            }
        }
        if let Some(path) = handshake.ticket_key.as_deref().filter(|_| handshake.tickets) {
            let file = self.secrets.get(path).ok_or_else(|| format!("{path} was not read"))?;
            // What one virtual host found good enough must not be resumed at another, nor at another server's.
            config.ticketer = Arc::new(tickets::SharedTickets::new(file, format!("{asked:?}").as_bytes())?);
        }
        Ok(config)
    }
}

/// `Protocols` as ALPN names (RFC 7301 §6); h2c is for connections without TLS.
fn alpn(protocols: Option<&[String]>) -> Vec<String> {
    let usual = ["http/1.1".to_owned()];
    let spoken = protocols.unwrap_or(&usual).iter();
    spoken.filter(|name| matches!(name.as_str(), "h2" | "http/1.1")).cloned().collect()
}

/// `SSLEngine on`.
pub(crate) fn is_on(server: &Server) -> bool {
    server.conf.ssl.is_on()
}

/// Shakes hands; the flag says that HTTP/2 was agreed on. `None`: it failed, and the log says why.
pub(crate) async fn accept(
    thread: &Rc<Thread>,
    stream: TcpStream,
    local: SocketAddr,
) -> Option<(TlsStream<TcpStream>, Tls, bool)> {
    let remote = crate::request::connection::plain(stream.peer_addr().ok()?);
    let hosts = thread.hosts(local);
    let failed = |severity: Severity, why: &str| {
        log::connection(thread, hosts.default_server(), remote, severity, "ssl", why);
    };
    let mut first = [0];
    if stream.peek(&mut first).await.ok()? == 0 {
        return None;
    }
    if first[0] != HANDSHAKE {
        failed(Severity::Info, "the client does not speak TLS on a port for TLS");
        plain::answer(thread, stream, local, remote).await;
        return None;
    }
    let start = match LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream).await {
        Ok(start) => start,
        Err(error) => {
            failed(Severity::Info, &format!("the TLS handshake failed: {error}"));
            return None;
        }
    };
    let hello = start.client_hello();
    let server_name = hello.server_name().map(str::to_ascii_lowercase);
    let named = server_name.as_deref().and_then(|name| hosts.find(name.as_bytes()));
    let all = &thread.shared.of::<Hosts>();
    let Some(host) = named.and_then(|server| all.of(server)).or_else(|| all.of(hosts.default_server()))
    else {
        failed(Severity::Error, "a Listen directive says https, but the virtual host has no SSLEngine on");
        return None;
    };
    let config = host.config(hello.alpn().into_iter().flatten());
    for staple in &host.staples {
        staple.settled().await;
    }
    match start.into_stream(config).await {
        Ok(stream) => {
            let client = match &host.clients {
                Some(policy) => shown(policy, &stream, |why| failed(Severity::Error, why)).await,
                None => Ok(None),
            };
            match client {
                Ok(client) => {
                    let (tls, h2) = agreed(&stream, server_name, host, client);
                    Some((stream, tls, h2))
                }
                Err(why) => {
                    failed(Severity::Info, &format!("the TLS handshake failed: {why}"));
                    None
                }
            }
        }
        Err(error) => {
            failed(Severity::Info, &format!("the TLS handshake failed: {error}"));
            None
        }
    }
}

/// The certificate that the client has shown, after all that is to be found out about it.
///
/// # Errors
/// Why the connection must not go on.
async fn shown(
    policy: &clients::Policy,
    stream: &TlsStream<TcpStream>,
    complain: impl Fn(&str),
) -> Result<Option<Arc<ClientCertificate>>, String> {
    let chain = stream.get_ref().1.peer_certificates();
    let mut client = policy.shown(chain);
    if let Some(client) = &mut client
        && let Some(why) = policy.look_up(client, chain).await
    {
        complain(&format!("a client's certificate was looked up: {why}"));
    }
    match policy.refusal(client.as_ref()) {
        Some(why) => Err(why),
        None => Ok(client.map(Arc::new)),
    }
}

fn agreed(
    stream: &TlsStream<TcpStream>,
    server_name: Option<String>,
    host: &Host,
    client: Option<Arc<ClientCertificate>>,
) -> (Tls, bool) {
    let connection = stream.get_ref().1;
    let protocol = match connection.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3",
        _ => "TLSv1.2",
    };
    let suite = connection.negotiated_cipher_suite().map(|suite| suite.suite());
    let resumed = connection.handshake_kind() == Some(rustls::HandshakeKind::Resumed);
    let h2 = connection.alpn_protocol() == Some(b"h2");
    let tls = Tls {
        protocol,
        cipher: suite.map_or("", cipher::name).to_owned(),
        cipher_suite: suite.map_or(0, u16::from),
        server_name,
        resumed,
        certificate: host.certificate.clone(),
        asked: host.clients.is_some(),
        client,
    };
    (tls, h2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offering(protocols: &[&str], own_order: bool) -> Host {
        let config = |protocol: Option<&str>| {
            let mut config =
                ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
                    .with_safe_default_protocol_versions()
                    .unwrap()
                    .with_no_client_auth()
                    .with_cert_resolver(Arc::new(certificate::Keys::default()));
            config.alpn_protocols = protocol.map(|p| p.as_bytes().to_vec()).into_iter().collect();
            Arc::new(config)
        };
        let by_protocol = protocols.iter().map(|p| (p.as_bytes().to_vec(), config(Some(p)))).collect();
        let (certificate, clients, staples) = (Arc::default(), None, Vec::new());
        Host { plain: config(None), by_protocol, own_order, certificate, clients, staples }
    }

    fn chosen(host: &Host, offered: &[&str]) -> Option<String> {
        let config = host.config(offered.iter().map(|p| p.as_bytes()));
        config.alpn_protocols.first().map(|p| String::from_utf8(p.clone()).unwrap())
    }

    #[test]
    fn protocols_are_chosen_in_our_order_or_the_clients() {
        let both = offering(&["h2", "http/1.1"], true);
        assert_eq!(chosen(&both, &["http/1.1", "h2"]).as_deref(), Some("h2"));
        assert_eq!(
            chosen(&offering(&["h2", "http/1.1"], false), &["http/1.1", "h2"]).as_deref(),
            Some("http/1.1")
        );
        assert_eq!(chosen(&both, &["spdy/3", "http/1.1"]).as_deref(), Some("http/1.1"));
        assert_eq!(chosen(&both, &["spdy/3"]), None);
        assert_eq!(chosen(&both, &[]), None);
    }

    #[test]
    fn protocols_as_configured() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        assert_eq!(alpn(None), ["http/1.1"]);
        assert_eq!(alpn(Some(&words("h2 h2c http/1.1"))), ["h2", "http/1.1"]);
    }
}
