//! Lists of revoked certificates (SSLCARevocationFile, SSLCARevocationPath, SSLCARevocationCheck; RFC 5280 §5).
//!
//! webpki examines them with the rest of a chain. It reads none of version 1, which `openssl ca -gencrl` makes unless its
//! configuration names extensions, and certificates of version 1 neither: where there are such, the chain that it has found is looked
//! up here.

use super::certificate::all_in;
use hostler_config::directives::ssl::client::{Clients, Revocable};
use rustls_pki_types::CertificateRevocationListDer;
use webpki::{
    CertRevocationList, ExpirationPolicy, OwnedCertRevocationList, RevocationCheckDepth, RevocationOptions,
    RevocationOptionsBuilder, UnknownStatusPolicy,
};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;
use x509_parser::revocation_list::CertificateRevocationList;

/// The lists, and what they are asked.
#[derive(Debug)]
pub(super) struct Revocation {
    which: Revocable,
    /// What no list is about is good (`no_crl_for_cert_ok`).
    unknown_ok: bool,
    lists: Vec<CertRevocationList<'static>>,
    /// All of them, as they were read.
    der: Vec<CertificateRevocationListDer<'static>>,
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
        let (mut lists, mut der) = (Vec::new(), Vec::new());
        for path in conf.revoked() {
            let all: Vec<CertificateRevocationListDer<'static>> =
                all_in(path, content(path)?, "list of revoked certificates")?;
            for list in all {
                match OwnedCertRevocationList::from_der(&list) {
                    Ok(read) => lists.push(read.into()),
                    Err(_) if CertificateRevocationList::from_der(&list).is_ok() => {}
                    Err(why) => {
                        return Err(format!("a list of revoked certificates in {path} can't be used: {why}"));
                    }
                }
                der.push(list);
            }
        }
        let asked = conf.revocation.unwrap_or_default();
        if asked.which != Revocable::None && der.is_empty() {
            return Err("SSLCARevocationCheck needs an SSLCARevocationFile or SSLCARevocationPath".to_owned());
        }
        Ok(Self { which: asked.which, unknown_ok: asked.unknown_ok, lists, der })
    }

    /// Whether chains are looked up here, not by webpki.
    pub(super) fn is_own(&self) -> bool {
        self.which != Revocable::None && self.lists.len() < self.der.len()
    }

    /// Whether those above a client's certificate are looked up, too.
    pub(super) fn is_of_chains(&self) -> bool {
        self.which == Revocable::Chain
    }

    /// The lists that webpki can read.
    pub(super) fn lists(&self) -> Vec<&CertRevocationList<'static>> {
        self.lists.iter().collect()
    }

    /// What webpki is told; `None`: it looks nothing up.
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
        for der in &self.der {
            let Ok((_, list)) = CertificateRevocationList::from_der(der) else { continue };
            // One with a critical extension is about some of the issuer's certificates, or of other issuers.
            if list.issuer().as_raw() != issuer
                || list.extensions().iter().any(|extension| extension.critical)
            {
                continue;
            }
            if !named.clone().any(|one| list.verify_signature(one.public_key()).is_ok()) {
                continue;
            }
            if now < list.last_update().timestamp() {
                return Some("CRL is not yet valid");
            }
            if list.next_update().is_some_and(|next| next.timestamp() < now) {
                return Some("CRL has expired");
            }
            let serial = certificate.raw_serial();
            let revoked = list.iter_revoked_certificates().any(|entry| entry.raw_serial() == serial);
            return revoked.then_some("certificate revoked");
        }
        (!self.unknown_ok).then_some("unable to get certificate CRL")
    }
}
