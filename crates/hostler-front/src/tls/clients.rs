//! Clients' certificates (SSLVerifyClient and its relatives): asking for them in the handshake, and finding out whether one
//! can be relied upon. Other servers' certificates are examined alike.
//!
//! Where a section of a virtual host may want one, the handshake asks for one and takes any: the section decides. What
//! mod_ssl's chains need holds here too: they end at a certificate that has signed itself; others from
//! SSLCACertificateFile only help to get there.

use super::certificate::certificates;
use super::ocsp::{Lookup, unknown};
use super::revocation::Revocation;
use crate::request::certificate_facts::CertificateFacts;
use crate::request::connection::{ClientCertificate, Validity};
use hashbrown::{HashMap, HashSet};
use hostler_config::directives::ssl::client::{Clients, DEPTH, Verify};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use rustls_pki_types::{CertificateDer, SubjectPublicKeyInfoDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage, RawPublicKeyEntity, anchor_from_trusted_cert};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

/// A virtual host's requirements of clients' certificates.
#[derive(Debug)]
pub(super) struct Policy {
    /// Of the whole virtual host.
    verify: Verify,
    depth: u8,
    any_issuer: bool,
    /// The possible ends of a chain.
    anchors: Vec<TrustAnchor<'static>>,
    /// The same, whole: a client may be one of them.
    roots: Vec<CertificateDer<'static>>,
    /// Certificates that may be part of a chain although the client has not sent them.
    intermediates: Vec<CertificateDer<'static>>,
    names: Vec<DistinguishedName>,
    revocation: Revocation,
    algorithms: WebPkiSupportedAlgorithms,
    /// The required key usage.
    usage: KeyUsage,
    /// The look-up of their revocation.
    lookup: Option<Lookup>,
}

impl Policy {
    /// Reads what the configuration names; `files` are contents by path.
    ///
    /// # Errors
    /// Which file can't be used, and why.
    pub(super) fn new(
        conf: &Clients,
        files: &HashMap<&str, &[u8]>,
        algorithms: WebPkiSupportedAlgorithms,
        usage: KeyUsage,
    ) -> Result<Self, String> {
        let content = |path: &str| files.get(path).copied().ok_or_else(|| format!("{path} was not read"));
        let read = |paths: [&Option<Box<str>>; 2]| -> Result<Vec<_>, String> {
            let mut all = Vec::new();
            for path in paths.into_iter().flatten() {
                all.extend(certificates(path, content(path)?)?);
            }
            Ok(all)
        };
        let trusted = read([&conf.ca_file, &conf.ca_path])?;
        let told = read([&conf.names_file, &conf.names_path])?;
        let (roots, intermediates): (Vec<_>, Vec<_>) = trusted.into_iter().partition(is_self_issued);
        let in_folder = if told.is_empty() { read([&conf.ca_names, &None])? } else { Vec::new() };
        let names = if told.is_empty() {
            roots.iter().chain(&intermediates).chain(&in_folder).collect()
        } else {
            told.iter().collect::<Vec<_>>()
        };
        let mut names: Vec<_> = names.into_iter().filter_map(subject).collect();
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.as_ref().to_vec()));
        let anchors =
            roots.iter().filter_map(|root| Some(anchor_from_trusted_cert(root).ok()?.to_owned())).collect();
        Ok(Self {
            verify: conf.verify.unwrap_or_default(),
            depth: conf.depth.unwrap_or(DEPTH),
            any_issuer: conf.any_issuer || conf.verify == Some(Verify::OptionalNoCa),
            anchors,
            roots,
            intermediates,
            names,
            revocation: Revocation::new(conf, content)?,
            algorithms,
            usage,
            lookup: Lookup::new(&conf.ocsp, content)?,
        })
    }

    /// Returns the validity of the connection's certificate; `None` if the client has shown none.
    pub(super) fn shown(&self, chain: Option<&[CertificateDer<'_>]>) -> Option<ClientCertificate> {
        let (client, above) = chain?.split_first()?;
        Some(ClientCertificate {
            facts: CertificateFacts::client(client),
            chain: above.iter().map(CertificateFacts::client).collect(),
            validity: self.validity(client, above, UnixTime::now()),
            any_issuer: self.any_issuer,
        })
    }

    /// Asks about the certificate of a connection, where that is wanted; what is wrong with it then, for the log.
    pub(super) async fn look_up(
        &self,
        shown: &mut ClientCertificate,
        chain: Option<&[CertificateDer<'_>]>,
    ) -> Option<String> {
        let lookup = self.lookup.as_ref()?;
        let (client, above) = chain?.split_first()?;
        let refusal = match shown.validity {
            Validity::Valid(_) => {
                let known: Vec<_> = above.iter().chain(&self.intermediates).chain(&self.roots).collect();
                lookup.chain(client, &known).await.err()?
            }
            // Whose certificate it is can't be asked of anybody.
            Validity::UnknownIssuer if self.any_issuer => unknown("its issuer is not known"),
            Validity::UnknownIssuer | Validity::Invalid(_) => return None,
        };
        shown.validity = Validity::Invalid(refusal.words.to_owned());
        Some(refusal.why)
    }

    /// Why a connection with this certificate must not go on. A resumed session had its certificate verified when it was
    /// new, which may be long ago.
    pub(super) fn refusal(&self, client: Option<&ClientCertificate>) -> Option<String> {
        match client {
            None if self.verify == Verify::Require => Some("the client has shown no certificate".to_owned()),
            None => None,
            Some(client) => {
                client.validity.refusal(self.verify, self.depth).map(std::borrow::Cow::into_owned)
            }
        }
    }

    pub(super) fn validity(
        &self,
        client: &CertificateDer<'_>,
        above: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Validity {
        let parsed = match EndEntityCert::try_from(client) {
            Ok(parsed) => parsed,
            // A certificate that has signed itself and is trusted as it is.
            Err(_) if self.is_root(client) => return self.alone(client, 0, now),
            Err(webpki::Error::UnsupportedCertVersion) => return self.first_version(client, now),
            Err(error) => return Validity::Invalid(error.to_string()),
        };
        let others: Vec<CertificateDer<'_>> =
            above.iter().cloned().chain(self.intermediates.iter().cloned()).collect();
        let lists = self.revocation.lists();
        let verified = parsed.verify_for_usage(
            self.algorithms.all,
            &self.anchors,
            &others,
            now,
            self.usage,
            self.revocation.options(&lists),
            None,
        );
        match verified {
            Ok(path) if self.revocation.is_own() => {
                let between: Vec<_> = path.intermediate_certificates().map(webpki::Cert::der).collect();
                match self.revoked(client, &between, now) {
                    Some(why) => Validity::Invalid(why.to_owned()),
                    None => Validity::Valid(between.len() + 1),
                }
            }
            Ok(path) => Validity::Valid(path.intermediate_certificates().count() + 1),
            Err(webpki::Error::CaUsedAsEndEntity) if self.is_root(client) => self.alone(client, 0, now),
            Err(error) => invalid(&error),
        }
    }

    fn is_root(&self, client: &CertificateDer<'_>) -> bool {
        self.roots.iter().any(|root| root == client)
    }

    /// Of a certificate of version 1, which `openssl x509 -req` makes unless told otherwise, and webpki does not read: it
    /// must be signed by a root itself.
    fn first_version(&self, client: &CertificateDer<'_>, now: UnixTime) -> Validity {
        let Ok((_, parsed)) = X509Certificate::from_der(client) else {
            return Validity::Invalid("certificate is malformed".to_owned());
        };
        let signed = self.roots.iter().any(|root| {
            X509Certificate::from_der(root).is_ok_and(|(_, root)| {
                root.subject().as_raw() == parsed.issuer().as_raw()
                    && parsed.verify_signature(Some(root.public_key())).is_ok()
            })
        });
        if signed { self.alone(client, 1, now) } else { Validity::UnknownIssuer }
    }

    /// Why a certificate of a chain is revoked, or may be; `between`: those between the client's and a root.
    fn revoked(
        &self,
        client: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Option<&'static str> {
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let issuers: Vec<X509Certificate<'_>> = between
            .iter()
            .chain(&self.roots)
            .filter_map(|der| Some(X509Certificate::from_der(der).ok()?.1))
            .collect();
        let asked = std::iter::once(client).chain(between.iter().filter(|_| self.revocation.is_of_chains()));
        asked.map(|der| X509Certificate::from_der(der).ok()).find_map(|parsed| match parsed {
            Some((_, parsed)) => self.revocation.refusal(&parsed, issuers.iter(), now),
            None => Some("certificate is malformed"),
        })
    }

    /// Of a certificate whose issuer has been found: what is left to look at is its time, and whether it is revoked.
    fn alone(&self, certificate: &CertificateDer<'_>, above: usize, now: UnixTime) -> Validity {
        let Ok((_, parsed)) = X509Certificate::from_der(certificate) else {
            return Validity::Invalid("certificate is malformed".to_owned());
        };
        if let Some(why) = self.revoked(certificate, &[], now) {
            return Validity::Invalid(why.to_owned());
        }
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        if now < parsed.validity().not_before.timestamp() {
            return invalid(&webpki::Error::CertNotValidYet {
                time: UnixTime::now(),
                not_before: UnixTime::now(),
            });
        }
        if now > parsed.validity().not_after.timestamp() {
            return invalid(&webpki::Error::CertExpired {
                time: UnixTime::now(),
                not_after: UnixTime::now(),
            });
        }
        Validity::Valid(above)
    }
}

/// OpenSSL's words, which administrators search for.
fn invalid(error: &webpki::Error) -> Validity {
    let words = match error {
        webpki::Error::UnknownIssuer => return Validity::UnknownIssuer,
        webpki::Error::CertExpired { .. } => "certificate has expired",
        webpki::Error::CertNotValidYet { .. } => "certificate is not yet valid",
        webpki::Error::CertRevoked => "certificate revoked",
        webpki::Error::UnknownRevocationStatus => "unable to get certificate CRL",
        webpki::Error::CrlExpired { .. } => "CRL has expired",
        webpki::Error::PathLenConstraintViolated => "path length constraint exceeded",
        other => return Validity::Invalid(format!("{other}")),
    };
    Validity::Invalid(words.to_owned())
}

fn is_self_issued(certificate: &CertificateDer<'_>) -> bool {
    let parsed = X509Certificate::from_der(certificate);
    parsed.is_ok_and(|(_, parsed)| parsed.subject().as_raw() == parsed.issuer().as_raw())
}

fn subject(certificate: &CertificateDer<'_>) -> Option<DistinguishedName> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    Some(DistinguishedName::from(parsed.subject().as_raw().to_vec()))
}

impl Policy {
    /// A handshake's signature by the key of a certificate that webpki does not read.
    fn signed_by_first_version(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let bad = |_| Error::InvalidCertificate(CertificateError::BadSignature);
        let (_, parsed) = X509Certificate::from_der(certificate).map_err(|_| bad(()))?;
        let key = SubjectPublicKeyInfoDer::from(parsed.public_key().raw);
        let key = RawPublicKeyEntity::try_from(&key).map_err(|_| bad(()))?;
        let possible = self.algorithms.mapping.iter().filter(|(scheme, _)| *scheme == signed.scheme);
        let verified = possible
            .flat_map(|(_, algorithms)| algorithms.iter())
            .any(|algorithm| key.verify_signature(*algorithm, message, signed.signature()).is_ok());
        if verified { Ok(HandshakeSignatureValid::assertion()) } else { Err(bad(())) }
    }
}

/// RFC 8446 §4.2.3: no SHA-1 and no PKCS #1 v1.5 in the handshake of TLS 1.3.
fn is_of_tls13(scheme: SignatureScheme) -> bool {
    use SignatureScheme as S;
    matches!(
        scheme,
        S::ECDSA_NISTP256_SHA256
            | S::ECDSA_NISTP384_SHA384
            | S::ECDSA_NISTP521_SHA512
            | S::RSA_PSS_SHA256
            | S::RSA_PSS_SHA384
            | S::RSA_PSS_SHA512
            | S::ED25519
            | S::ED448
    )
}

impl ClientCertVerifier for Policy {
    fn client_auth_mandatory(&self) -> bool {
        self.verify == Verify::Require
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.names
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let validity = self.validity(end_entity, intermediates, now);
        if validity.refusal(self.verify, self.depth).is_none() {
            return Ok(ClientCertVerified::assertion());
        }
        Err(Error::InvalidCertificate(match validity {
            Validity::UnknownIssuer => CertificateError::UnknownIssuer,
            Validity::Invalid(why) if why.ends_with("expired") => CertificateError::Expired,
            Validity::Invalid(why) if why.ends_with("revoked") => CertificateError::Revoked,
            Validity::Valid(_) | Validity::Invalid(_) => CertificateError::ApplicationVerificationFailure,
        }))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match verify_tls12_signature(message, certificate, signed, &self.algorithms) {
            Err(Error::InvalidCertificate(_)) => self.signed_by_first_version(message, certificate, signed),
            verified => verified,
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match verify_tls13_signature(message, certificate, signed, &self.algorithms) {
            Err(Error::InvalidCertificate(_)) if is_of_tls13(signed.scheme) => {
                self.signed_by_first_version(message, certificate, signed)
            }
            verified => verified,
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
