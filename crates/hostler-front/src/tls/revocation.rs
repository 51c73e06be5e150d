//! Lists of revoked certificates (SSLCARevocationFile, SSLCARevocationPath, SSLCARevocationCheck; RFC 5280 §5).
//!
//! webpki examines them with the rest of a chain. It reads none of version 1, which `openssl ca -gencrl` makes unless its
//! configuration names extensions, and certificates of version 1 neither: where there are such, the chain that it has found is looked
//! up here.

use super::certificate::all_in;
use hashbrown::HashSet;
use hostler_config::directives::ssl::client::{Clients, Revocable};
use rustls_pki_types::CertificateRevocationListDer;
use webpki::{
    CertRevocationList, ExpirationPolicy, OwnedCertRevocationList, RevocationCheckDepth, RevocationOptions,
    RevocationOptionsBuilder, UnknownStatusPolicy,
};
use x509_parser::asn1_rs::{Any, BitString};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;
use x509_parser::revocation_list::CertificateRevocationList;
use x509_parser::verify::verify_signature;
use x509_parser::x509::AlgorithmIdentifier;

/// The lists, and what they are asked.
#[derive(Debug)]
pub(super) struct Revocation {
    which: Revocable,
    /// A certificate that no list covers is accepted (`no_crl_for_cert_ok`).
    unknown_ok: bool,
    lists: Vec<CertRevocationList<'static>>,
    /// All of them, as they are looked up here.
    own: Vec<List>,
    /// webpki can't read one of them.
    is_own: bool,
}

impl Revocation {
    /// `content` reads files.
    ///
    /// # Errors
    /// Which file can't be used, and why.
    pub(super) fn new<'a>(
        conf: &Clients,
        content: impl Fn(&str) -> Result<&'a [u8], String>,
    ) -> Result<Self, String> {
        let (mut lists, mut own, mut is_own, mut count) = (Vec::new(), Vec::new(), false, 0);
        for path in conf.revoked() {
            let all: Vec<CertificateRevocationListDer<'static>> =
                all_in(path, content(path)?, "list of revoked certificates")?;
            for der in all {
                let list = List::read(&der);
                match OwnedCertRevocationList::from_der(&der) {
                    Ok(read) => lists.push(read.into()),
                    Err(_) if list.is_some() => is_own = true,
                    Err(why) => {
                        return Err(format!("a list of revoked certificates in {path} can't be used: {why}"));
                    }
                }
                own.extend(list);
                count += 1;
            }
        }
        if is_own && own.len() < count {
            return Err(
                "the lists of revoked certificates can't be used together: one of them is of version 1"
                    .to_owned(),
            );
        }
        let asked = conf.revocation.unwrap_or_default();
        if asked.which != Revocable::None && conf.revoked().next().is_none() {
            return Err("SSLCARevocationCheck needs an SSLCARevocationFile or SSLCARevocationPath".to_owned());
        }
        // Of no list webpki would make no check at all.
        is_own |= count == 0;
        Ok(Self { which: asked.which, unknown_ok: asked.unknown_ok, lists, own, is_own })
    }

    /// Returns whether chains are looked up here, not by webpki.
    pub(super) fn is_own(&self) -> bool {
        self.which != Revocable::None && self.is_own
    }

    /// Returns whether those above a client's certificate are looked up, too.
    pub(super) fn is_of_chains(&self) -> bool {
        self.which == Revocable::Chain
    }

    /// The lists that webpki can read.
    pub(super) fn lists(&self) -> Vec<&CertRevocationList<'static>> {
        self.lists.iter().collect()
    }

    /// Returns webpki's options; `None`: no look-up.
    pub(super) fn options<'a>(
        &self,
        lists: &'a [&'a CertRevocationList<'a>],
    ) -> Option<RevocationOptions<'a>> {
        if self.which == Revocable::None || self.is_own() {
            return None;
        }
        let depth = match self.which {
            Revocable::Chain => RevocationCheckDepth::Chain,
            Revocable::Leaf | Revocable::None => RevocationCheckDepth::EndEntity,
        };
        let unknown = if self.unknown_ok { UnknownStatusPolicy::Allow } else { UnknownStatusPolicy::Deny };
        let builder = RevocationOptionsBuilder::new(lists).ok()?;
        let builder = builder.with_depth(depth).with_status_policy(unknown);
        Some(builder.with_expiration_policy(ExpirationPolicy::Enforce).build())
    }

    /// Why a certificate is revoked, or may be, in OpenSSL's words. Its issuer is among `issuers`; `now`: seconds since 1970.
    pub(super) fn refusal<'i>(
        &self,
        certificate: &X509Certificate<'_>,
        issuers: impl Iterator<Item = &'i X509Certificate<'i>> + Clone,
        now: i64,
    ) -> Option<&'static str> {
        if self.which == Revocable::None {
            return None;
        }
        let issuer = certificate.issuer().as_raw();
        let named = issuers.filter(|one| one.subject().as_raw() == issuer);
        for list in self.own.iter().filter(|list| list.issuer == issuer) {
            if !named.clone().any(|one| list.is_signed_by(one)) {
                continue;
            }
            let is_revoked = list.revoked.contains(certificate.raw_serial());
            // It says nothing of those that it does not name.
            if list.is_partial && !is_revoked {
                continue;
            }
            if now < list.begin {
                return Some("CRL is not yet valid");
            }
            if list.end.is_some_and(|end| end < now) {
                return Some("CRL has expired");
            }
            return is_revoked.then_some("certificate revoked");
        }
        (!self.unknown_ok).then_some("unable to get certificate CRL")
    }
}

/// A list, read once: there may be many handshakes, and very many entries.
#[derive(Debug)]
struct List {
    issuer: Vec<u8>,
    /// Serial numbers.
    revoked: HashSet<Vec<u8>>,
    /// When it was made, and when the next one is to be there, in seconds since 1970.
    begin: i64,
    end: Option<i64>,
    /// It has a critical extension: it is about some of the issuer's certificates, or of other issuers.
    is_partial: bool,
    /// The signed data, the algorithm, and the signature.
    data: Vec<u8>,
    algorithm: Vec<u8>,
    signature: Vec<u8>,
}

impl List {
    /// `None`: it is malformed.
    fn read(der: &[u8]) -> Option<Self> {
        let (_, list) = CertificateRevocationList::from_der(der).ok()?;
        let (_, outer) = Any::from_der(der).ok()?;
        let (behind, _) = Any::from_der(outer.data).ok()?;
        let (rest, _) = AlgorithmIdentifier::from_der(behind).ok()?;
        Some(Self {
            issuer: list.issuer().as_raw().to_vec(),
            revoked: list.iter_revoked_certificates().map(|entry| entry.raw_serial().to_vec()).collect(),
            begin: list.last_update().timestamp(),
            end: list.next_update().map(|next| next.timestamp()),
            is_partial: list.extensions().iter().any(|extension| extension.critical),
            data: list.tbs_cert_list.as_ref().to_vec(),
            algorithm: behind[..behind.len() - rest.len()].to_vec(),
            signature: list.signature_value.data.to_vec(),
        })
    }

    fn is_signed_by(&self, issuer: &X509Certificate<'_>) -> bool {
        let Ok((_, algorithm)) = AlgorithmIdentifier::from_der(&self.algorithm) else { return false };
        let signature = BitString::new(0, &self.signature);
        verify_signature(issuer.public_key(), &algorithm, &signature, &self.data).is_ok()
    }
}
