//! TLS of the generator: full handshakes, as of clients that come for the first time.
//!
//! On this machine any certificate will do: contestants run on copies of configurations, with names and ports that
//! theirs are not for, and nobody else can have the port. A server elsewhere that a user has confirmed is verified as
//! usual, against the certificates that the system trusts.

#[cfg(test)]
pub(crate) mod server;

use super::plan::Target;
use anyhow::{Context, Result, bail};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme, StreamOwned,
};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The systems' files of trusted certificates: Debian, Fedora, openSUSE, and others.
const TRUSTED: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The TLS settings of connections to a target.
#[derive(Clone, Debug)]
pub(super) struct Tls {
    pub(super) config: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
}

impl Tls {
    /// `None`: the target speaks none. `protocols` are offered by ALPN.
    ///
    /// # Errors
    /// A host that is no name; nothing to verify against.
    pub(super) fn of(target: &Target, protocols: &[&[u8]]) -> Result<Option<Self>> {
        if !target.tls {
            return Ok(None);
        }
        let host = target.hosts.first().unwrap_or(&target.host);
        Self::new(target.address, host, protocols).map(Some)
    }

    fn new(address: SocketAddr, host: &str, protocols: &[&[u8]]) -> Result<Self> {
        let name = name(host);
        let name = ServerName::try_from(name.to_owned())
            .with_context(|| format!("{name} is not a name that a certificate could have"))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().context("TLS")?;
        let mut config = if address.ip().to_canonical().is_loopback() {
            let any = Arc::new(AnyCertificate(provider));
            builder.dangerous().with_custom_certificate_verifier(any).with_no_client_auth()
        } else {
            builder.with_root_certificates(trusted()?).with_no_client_auth()
        };
        config.resumption = Resumption::disabled();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Ok(Self { config: Arc::new(config), name })
    }

    /// A connection's part that is ours.
    ///
    /// # Errors
    /// The library's.
    pub(super) fn client(&self) -> Result<ClientConnection> {
        ClientConnection::new(Arc::clone(&self.config), self.name.clone()).context("TLS")
    }
}

/// A connection for one request.
///
/// # Errors
/// As [`Tls::of`].
pub(crate) fn stream(
    socket: TcpStream,
    address: SocketAddr,
    host: &str,
) -> Result<StreamOwned<ClientConnection, TcpStream>> {
    Ok(StreamOwned::new(Tls::new(address, host, &[])?.client()?, socket))
}

/// A `Host` field without its port.
fn name(host: &str) -> &str {
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    };
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Returns the certificates that the system trusts.
fn trusted() -> Result<RootCertStore> {
    let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let mut files = named.into_iter().chain(TRUSTED.map(PathBuf::from));
    let Some(file) = files.find(|file| file.is_file()) else {
        bail!("no trusted certificates found to verify a server with; set SSL_CERT_FILE to a file of them");
    };
    read(&file).with_context(|| format!("cannot read {}", file.display()))
}

fn read(file: &Path) -> Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file)? {
        // A system may trust what this library cannot read.
        let _ = store.add(certificate?);
    }
    Ok(store)
}

/// Takes any certificate; that the server has its key is looked at all the same.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::synthetic::{Behaviour, Server};

    #[test]
    fn a_certificates_name_has_no_port() {
        for (host, expected) in [
            ("www.example:8443", "www.example"),
            ("localhost", "localhost"),
            ("[::1]:443", "::1"),
            ("[::1]", "::1"),
        ] {
            assert_eq!(name(host), expected);
        }
    }

    /// So many requests of two clients.
    fn load(relay: &server::Relay, keep_alive: bool) -> crate::load::Outcome {
        let phase = crate::load::Phase::Closed {
            clients: 2,
            to_clients: None,
            join: None,
            seconds: None,
            requests: Some(40),
            think: crate::load::Think::None,
        };
        let plan = crate::load::Plan {
            phases: vec![phase],
            keep_alive,
            ..crate::scenario::load("registry").unwrap().cases[0].plan.clone()
        };
        let target = Target {
            address: relay.address,
            host: "lab.test:443".to_owned(),
            hosts: Vec::new(),
            path: "/".to_owned(),
            form: None,
            expected_length: Some(100_000),
            tls: true,
        };
        let plan = crate::load::Plan { warm_up: 0.0, ..plan };
        assert_eq!(crate::method::ask(&target, "lab.test").unwrap().body.len(), 100_000);
        crate::load::run(&target, &plan, &crate::load::Cancel::default(), &mut |_, _| {}).unwrap()
    }

    #[test]
    fn pages_are_asked_through_tls() {
        let behaviour = Behaviour { length: 100_000, ..Behaviour::default() };
        let Some(relay) = server::Relay::start(behaviour) else { return };
        for keep_alive in [true, false] {
            let phase = &load(&relay, keep_alive).phases[0];
            assert_eq!((phase.answers, phase.errors.sum()), (40, 0), "{phase:?}");
            assert_eq!(phase.connections, if keep_alive { 2 } else { 40 });
        }
        assert_eq!(relay.behind.answers(), 82);
    }

    #[test]
    fn what_is_no_tls_is_a_failure_and_no_answer() {
        let plain = Server::start(Behaviour::default()).unwrap();
        let target = format!("https://{}/", plain.address);
        let target = crate::load::may_load(&target, None).unwrap();
        assert!(target.tls && crate::method::ask(&target, "localhost").is_err());
    }

    #[test]
    fn only_this_machine_is_trusted_without_a_look() {
        let config = |address: &str| Tls::new(address.parse().unwrap(), "example", &[]);
        let loopback = format!("{:?}", config("127.0.0.1:443").unwrap().config);
        assert!(loopback.contains("AnyCertificate"), "{loopback}");
        // Where nothing is trusted nothing can be verified, and that is an error.
        let elsewhere = config("192.0.2.1:443").map(|tls| format!("{:?}", tls.config)).unwrap_or_default();
        assert!(!elsewhere.contains("AnyCertificate"), "{elsewhere}");
    }
}
