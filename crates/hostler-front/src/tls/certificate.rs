//! Certificates and keys from their PEM files (RFC 7468), checked to belong together.

use super::stapling::Staple;
use crate::request::certificate_facts::CertificateFacts;
use hashbrown::HashMap;
use hostler_config::Server;
use hostler_config::directives::ssl::client::EVERY_FILE;
use hostler_config::directives::ssl::stapling::Stapling;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;

/// The certificates of a virtual host, one for each kind of key, in the configuration's order.
#[derive(Debug, Default)]
pub(super) struct Keys(Vec<StapledCertificate>);

/// A certificate, and what is stapled to it.
#[derive(Debug)]
struct StapledCertificate {
    certified: Arc<CertifiedKey>,
    staple: Option<Arc<Staple>>,
}

impl Keys {
    /// Returns the facts about them.
    pub(super) fn facts(&self) -> CertificateFacts {
        let first = self.0.first().and_then(|shown| shown.certified.cert.first());
        first.map(CertificateFacts::server).unwrap_or_default()
    }

    /// Has each stapled that can be; `known`: certificates among which the issuers' may be.
    pub(super) fn staple(
        &mut self,
        known: &[CertificateDer<'_>],
        settings: &Stapling,
    ) -> Vec<Result<Arc<Staple>, String>> {
        let staples = self.0.iter_mut().map(|shown| {
            let staple = Staple::new(&shown.certified, known, settings).map(Arc::new);
            shown.staple = staple.as_ref().ok().cloned();
            staple
        });
        staples.collect()
    }
}

impl ResolvesServerCert for Keys {
    /// The first whose key the client can verify.
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let schemes = hello.signature_schemes();
        let shown = self.0.iter().find(|shown| shown.certified.key.choose_scheme(schemes).is_some())?;
        Some(shown.staple.as_ref().map_or_else(|| shown.certified.clone(), |staple| staple.certificate()))
    }
}

/// Reads what `SSLCertificateFile` and its relatives name; `files` are their contents by path.
///
/// # Errors
/// Which file can't be used, and why.
pub(super) fn load(server: &Server, files: &HashMap<&str, &[u8]>) -> Result<Keys, String> {
    let content = |path: &str| files.get(path).copied().ok_or_else(|| format!("{path} was not read"));
    let ssl = &server.conf.ssl;
    let chain = match ssl.chain.as_deref() {
        Some(path) => certificates(path, content(path)?)?,
        None => Vec::new(),
    };
    let mut keys = Vec::new();
    for (certificate, key) in ssl.pairs() {
        let mut certificates = certificates(certificate, content(certificate)?)?;
        certificates.extend(chain.iter().cloned());
        let certified = Arc::new(pair(certificates, (certificate, key), content(key)?)?);
        keys.push(StapledCertificate { certified, staple: None });
    }
    if keys.is_empty() { Err("SSLEngine on needs an SSLCertificateFile".into()) } else { Ok(Keys(keys)) }
}

pub(super) fn certificates(path: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    all_in(path, pem, "certificate")
}

/// Returns whether a path of the configuration stands for the files of a folder, of which there may be none.
pub(super) fn is_folder(path: &str) -> bool {
    path.ends_with('/') || path.ends_with(EVERY_FILE)
}

/// All parts of one kind in a PEM file; there is one at least, but in a folder. `what`: how one is called.
///
/// # Errors
/// Why there is none.
pub(super) fn all_in<T: PemObject>(path: &str, pem: &[u8], what: &str) -> Result<Vec<T>, String> {
    let found: Result<Vec<T>, _> = T::pem_slice_iter(pem).collect();
    let found = found.map_err(|e| format!("{path} is not a PEM file: {e}"))?;
    if found.is_empty() && !is_folder(path) { Err(format!("{path} has no {what}")) } else { Ok(found) }
}

fn pair(
    certificates: Vec<CertificateDer<'static>>,
    (certificate, key): (&str, &str),
    pem: &[u8],
) -> Result<CertifiedKey, String> {
    let der = PrivateKeyDer::from_pem_slice(pem).map_err(|_| no_key(key, pem))?;
    let signing = any_supported_type(&der).map_err(|e| format!("the key in {key} can't be used: {e}"))?;
    let certified = CertifiedKey::new(certificates, signing);
    match certified.keys_match() {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
        Err(Error::InconsistentKeys(_)) => {
            Err(format!("the key in {key} is not the key of the certificate in {certificate}"))
        }
        Err(error) => Err(format!("the certificate in {certificate} can't be used: {error}")),
    }
}

fn no_key(path: &str, pem: &[u8]) -> String {
    let encrypted = memchr::memmem::find(pem, b"ENCRYPTED").is_some();
    let hint =
        if encrypted { " that is not encrypted; keep an open one where only root can read it" } else { "" };
    format!("{path} has no private key{hint}")
}
