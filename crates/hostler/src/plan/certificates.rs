//! True if certificates and keys can be used: for `hostler check`. The planner itself hands them on unread, so that at
//! a start no process of root's parses what a tenant wrote; the front does.

use rustls::crypto::ring::sign::any_supported_type;
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// A file's path and content.
pub(crate) type File<'a> = (&'a str, &'a [u8]);

/// The certificates in a PEM file (RFC 7468).
///
/// # Errors
/// Why there is none.
pub(crate) fn certificates((path, pem): File<'_>) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Err(why) => Err(format!("{path} is not a PEM file: {why}")),
        Ok(found) if found.is_empty() => Err(format!("{path} has no certificate")),
        Ok(found) => Ok(found),
    }
}

/// Returns whether a certificate and a key belong together.
///
/// # Errors
/// Why they can't be used.
pub(crate) fn pair(certificate: File<'_>, (path, pem): File<'_>) -> Result<(), String> {
    let certificates = certificates(certificate)?;
    let der = PrivateKeyDer::from_pem_slice(pem).map_err(|_| format!("{path} has no open private key"))?;
    let key = any_supported_type(&der).map_err(|why| format!("the key in {path} can't be used: {why}"))?;
    match CertifiedKey::new(certificates, key).keys_match() {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(()),
        Err(Error::InconsistentKeys(_)) => {
            Err(format!("the key in {path} is not the key of the certificate in {}", certificate.0))
        }
        Err(why) => Err(format!("the certificate in {} can't be used: {why}", certificate.0)),
    }
}
