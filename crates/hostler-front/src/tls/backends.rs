//! TLS to other servers (SSLProxyEngine and its relatives): who is believed, and who they are told that this is.
//!
//! As mod_ssl has it, who has signed a server's certificate is looked at with SSLProxyVerify only; its name and its time are
//! looked at unless they are not to be.

use super::certificate::{certificates, is_folder};
use super::cipher;
use super::clients::Policy;
use hashbrown::HashMap;
use hostler_config::directives::ssl::backends::{Backends as Settings, NameCheck, possible};
use hostler_config::directives::ssl::client::{DEPTH, Verify};
use hostler_config::{Config, Server};
use rustls::client::ResolvesClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_pki_types::pem::{PemObject, SectionKind};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use serde_bytes::ByteBuf;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use webpki::KeyUsage;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::{FromDer, GeneralName};

/// Most settings that are remembered beside those of the configuration.
const MOST: usize = 1024;

/// TLS to other servers, by what is said of it.
pub(crate) struct Backends {
    files: HashMap<String, Vec<u8>>,
    provider: CryptoProvider,
    made: Mutex<HashMap<(Settings, bool), Arc<ClientConfig>>>,
}

impl Backends {
    /// Makes what the configuration may come to; `secrets` are contents of files.
    ///
    /// # Errors
    /// The file that can't be used, with the virtual host's file and line.
    pub(crate) fn new(config: &Config, secrets: &[(String, ByteBuf)]) -> io::Result<Self> {
        let all: Vec<_> = config.servers.iter().flat_map(|server| possible(server)).collect();
        let wanted = |path: &str| all.iter().any(|settings| settings.files().any(|file| file == path));
        let files = secrets.iter().filter(|(path, _)| wanted(path));
        let files = files.map(|(path, bytes)| (path.clone(), bytes.to_vec())).collect();
        let provider = rustls::crypto::ring::default_provider();
        let backends = Self { files, provider, made: Mutex::default() };
        for server in &config.servers {
            for settings in possible(server) {
                let place = || place(config, server);
                backends
                    .of(&settings, false)
                    .map_err(|why| io::Error::other(format!("{}: {why}", place())))?;
            }
        }
        Ok(backends)
    }

    /// Returns the TLS settings for servers. `http2`: only HTTP/2 is offered.
    ///
    /// # Errors
    /// The file that can't be used, with the reason.
    pub(crate) fn of(&self, settings: &Settings, http2: bool) -> Result<Arc<ClientConfig>, String> {
        let key = (settings.clone(), http2);
        if let Some(made) = self.made().get(&key) {
            return Ok(made.clone());
        }
        let mut new = self.make(settings)?;
        if http2 {
            new.alpn_protocols = vec![b"h2".to_vec()];
        }
        let new = Arc::new(new);
        let mut made = self.made();
        if made.len() >= MOST {
            made.clear();
        }
        Ok(made.entry(key).or_insert(new).clone())
    }

    fn made(&self) -> std::sync::MutexGuard<'_, HashMap<(Settings, bool), Arc<ClientConfig>>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn make(&self, settings: &Settings) -> Result<ClientConfig, String> {
        let mut provider = self.provider.clone();
        let (tls12, tls13) = (&settings.ciphers.tls12, &settings.ciphers.tls13);
        provider.cipher_suites.retain(|suite| {
            let allowed = if suite.tls13().is_some() { tls13 } else { tls12 };
            allowed.as_ref().is_none_or(|names| names.contains(&cipher::name(suite.suite())))
        });
        let algorithms = provider.signature_verification_algorithms;
        let versions = settings.protocols.unwrap_or_default();
        let both = [(versions.tls13, &TLS13), (versions.tls12, &TLS12)];
        let wanted: Vec<_> =
            both.into_iter().filter_map(|(wanted, version)| wanted.then_some(version)).collect();
        let builder = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&wanted)
            .map_err(|e| format!("SSLProxyProtocol and SSLProxyCipherSuite leave nothing: {e}"))?;
        let files = self.files.iter().map(|(path, bytes)| (path.as_str(), &bytes[..])).collect();
        let policy = Policy::new(&settings.servers, &files, algorithms, KeyUsage::server_auth())
            .map_err(|why| why.replace("SSLCA", "SSLProxyCA"))?;
        let verifier = Verifier {
            policy,
            verify: settings.servers.verify.unwrap_or_default(),
            depth: settings.servers.depth.unwrap_or(DEPTH),
            names: settings.name_check(),
            expire: settings.check_expire != Some(false),
        };
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
        let machine = Machine::new(settings, &files)?;
        Ok(if machine.0.is_empty() {
            builder.with_no_client_auth()
        } else {
            builder.with_client_cert_resolver(Arc::new(machine))
        })
    }
}

/// Returns the configuration line of the TLS settings for other servers.
fn place(config: &Config, server: &Server) -> String {
    let settings = server.settings.iter().chain(&config.main().settings);
    let mut found = settings.filter(|s| s.directive.starts_with("SSLProxy")).map(|s| (s.origin, s.directive));
    let (origin, directive) = found.next_back().unwrap_or((server.origin, "SSLProxyEngine"));
    let file = config.files.get(origin.file as usize).map_or("configuration", |file| &**file);
    format!("{file}:{}: {directive}", origin.line)
}

/// True if a server is who it should be.
#[derive(Debug)]
struct Verifier {
    policy: Policy,
    verify: Verify,
    depth: u8,
    names: NameCheck,
    expire: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.verify != Verify::None {
            let validity = self.policy.validity(end_entity, intermediates, now);
            if let Some(why) = validity.refusal(self.verify, self.depth) {
                return Err(Error::General(why.replace("(SSLVerifyDepth)", "(SSLProxyVerifyDepth)")));
            }
        }
        let (_, parsed) = X509Certificate::from_der(end_entity)
            .map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
        if self.expire {
            let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
            if now < parsed.validity().not_before.timestamp() {
                return Err(Error::InvalidCertificate(CertificateError::NotValidYet));
            }
            if now >= parsed.validity().not_after.timestamp() {
                return Err(Error::InvalidCertificate(CertificateError::Expired));
            }
        }
        if self.names != NameCheck::None && !is_called(&parsed, &server_name.to_str(), self.names) {
            return Err(Error::InvalidCertificate(CertificateError::NotValidForName));
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        ClientCertVerifier::verify_tls12_signature(&self.policy, message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        ClientCertVerifier::verify_tls13_signature(&self.policy, message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ClientCertVerifier::supported_verify_schemes(&self.policy)
    }
}

/// Returns whether a certificate is for a server that is called so (`modssl_X509_match_name`).
fn is_called(certificate: &X509Certificate<'_>, name: &str, check: NameCheck) -> bool {
    let commons = certificate.subject().iter_common_name().filter_map(|common| common.as_str().ok());
    let mut commons = commons.filter(|common| !common.contains('\0'));
    if commons.any(|common| matches(common, name)) {
        return true;
    }
    if check == NameCheck::CommonName {
        return false;
    }
    let names = certificate.subject_alternative_name().ok().flatten();
    let names = names.map_or(&[][..], |extension| &extension.value.general_names);
    let ip = name.parse::<std::net::IpAddr>().ok().map(|ip| match ip {
        std::net::IpAddr::V4(ip) => ip.octets().to_vec(),
        std::net::IpAddr::V6(ip) => ip.octets().to_vec(),
    });
    names.iter().any(|one| match one {
        GeneralName::DNSName(own) => matches(own, name),
        // RFC 9110 §4.3.5; mod_ssl knows names only.
        GeneralName::IPAddress(own) => ip.as_deref() == Some(*own),
        _ => false,
    })
}

/// A star stands for one label, the first.
fn matches(own: &str, name: &str) -> bool {
    if own.eq_ignore_ascii_case(name) {
        return true;
    }
    let Some(suffix) = own.strip_prefix("*.") else { return false };
    name.split_once('.').is_some_and(|(first, rest)| !first.is_empty() && rest.eq_ignore_ascii_case(suffix))
}

/// The certificate shown to servers that ask for one (SSLProxyMachineCertificateFile).
#[derive(Debug)]
struct Machine(Vec<TestCertificate>);

#[derive(Debug)]
struct TestCertificate {
    certified: Arc<CertifiedKey>,
    /// Its issuers: the signing certificate, and those above it.
    issuers: Vec<Vec<u8>>,
}

impl Machine {
    fn new(settings: &Settings, files: &HashMap<&str, &[u8]>) -> Result<Self, String> {
        let content = |path: &str| files.get(path).copied().ok_or_else(|| format!("{path} was not read"));
        let chain = match settings.machine_chain.as_deref() {
            Some(path) => certificates(path, content(path)?)?,
            None => Vec::new(),
        };
        let mut all = Vec::new();
        for path in [&settings.machine_file, &settings.machine_path].into_iter().flatten() {
            for (certificate, key) in pairs(path, content(path)?)? {
                all.push(
                    TestCertificate::new(certificate, &key, &chain)
                        .map_err(|why| format!("{path}: {why}"))?,
                );
            }
        }
        Ok(Self(all))
    }
}

/// Certificates with the keys that stand beside them.
fn pairs(path: &str, pem: &[u8]) -> Result<Vec<(CertificateDer<'static>, PrivateKeyDer<'static>)>, String> {
    let incomplete = || format!("{path} has a certificate without its key, or one that is encrypted");
    let (mut all, mut certificate, mut key) = (Vec::new(), None, None);
    for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(pem) {
        let (kind, der) = section.map_err(|e| format!("{path} is not a PEM file: {e}"))?;
        if kind == SectionKind::Certificate {
            if certificate.replace(CertificateDer::from(der)).is_some() {
                return Err(incomplete());
            }
        } else if let Some(read) = PrivateKeyDer::from_pem(kind, der)
            && key.replace(read).is_some()
        {
            return Err(incomplete());
        }
        if let (Some(_), Some(_)) = (&certificate, &key) {
            all.extend(certificate.take().zip(key.take()));
        }
    }
    let is_none = all.is_empty() && !is_folder(path);
    if certificate.is_some() || key.is_some() || is_none { Err(incomplete()) } else { Ok(all) }
}

impl TestCertificate {
    fn new(
        certificate: CertificateDer<'static>,
        key: &PrivateKeyDer<'static>,
        chain: &[CertificateDer<'static>],
    ) -> Result<Self, String> {
        let signing = any_supported_type(key).map_err(|e| format!("the key can't be used: {e}"))?;
        let mut issuers: Vec<Vec<u8>> = Vec::new();
        let mut shown = vec![certificate];
        while let Some((subject, issuer)) = shown.last().and_then(|last| names(last)) {
            let is_new = subject != issuer && !issuers.contains(&issuer);
            issuers.push(issuer.clone());
            let above = chain.iter().find(|one| names(one).is_some_and(|(subject, _)| subject == issuer));
            match above.filter(|_| is_new) {
                Some(above) => shown.push(above.clone()),
                None => break,
            }
        }
        let certified = CertifiedKey::new(shown, signing);
        match certified.keys_match() {
            Ok(()) | Err(Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {}
            Err(_) => return Err("a key is not that of the certificate beside it".to_owned()),
        }
        Ok(Self { certified: Arc::new(certified), issuers })
    }
}

/// Subject and issuer.
fn names(certificate: &CertificateDer<'_>) -> Option<(Vec<u8>, Vec<u8>)> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    Some((parsed.subject().as_raw().to_vec(), parsed.issuer().as_raw().to_vec()))
}

impl ResolvesClientCert for Machine {
    /// The first that somebody has signed whom the server names; the first of all where it names nobody.
    fn resolve(&self, hints: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let can_sign = |shown: &&TestCertificate| shown.certified.key.choose_scheme(schemes).is_some();
        let known = |shown: &&TestCertificate| {
            hints.is_empty() || hints.iter().any(|hint| shown.issuers.iter().any(|issuer| issuer == hint))
        };
        self.0.iter().filter(can_sign).find(known).map(|shown| shown.certified.clone())
    }

    fn has_certs(&self) -> bool {
        !self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_one_label() {
        for (own, name, fits) in [
            ("a.test", "A.TEST", true),
            ("*.test", "a.test", true),
            ("*.test", "a.b.test", false),
            ("*.test", "test", false),
            ("*.test", ".test", false),
            ("*", "a", false),
            ("a*.test", "ab.test", false),
        ] {
            assert_eq!(matches(own, name), fits, "{own} {name}");
        }
    }
}
