//! Looking up clients' certificates (SSLOCSPEnable, RFC 6960): their authority's responder is asked whether they are good, and its
//! answer is believed if the authority, or somebody whom it has charged with that, has signed it.
//!
//! Only certificates that are good otherwise are looked up, so a stranger can't have anybody asked. What is found out is not kept:
//! each handshake asks again, also one that resumes a session.
//!
//! **Runs as** the front. **Diagnostics**: under `ssl`, what a responder has said wrong.

use super::certificate::certificates;
use super::responder::{self, Responder};
use hostler_config::directives::ssl::client::Revocable;
use hostler_config::directives::ssl::ocsp::Ocsp;
use hostler_gateway::lookup::Asker;
use hostler_ocsp::{Answer, Signed, Status};
use ring::rand::{SecureRandom as _, SystemRandom};
use rustls_pki_types::CertificateDer;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use x509_parser::asn1_rs::BitString;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::verify::verify_signature;
use x509_parser::x509::AlgorithmIdentifier;

/// Names of responders that are looked up at once, for one virtual host.
const AT_ONCE: usize = 8;
/// Certificates that may come with an answer.
const MOST_SIGNERS: usize = 8;
/// Longest chain.
const MOST_ISSUERS: usize = 16;
/// Bytes of a question's nonce: as many as OpenSSL sends.
const NONCE: usize = 16;

/// A virtual host's look-up of certificates.
#[derive(Debug)]
pub(super) struct Lookup {
    settings: Ocsp,
    responder: Option<Responder>,
    proxy: Option<Responder>,
    /// The signers that are trusted besides the authority.
    signers: Vec<CertificateDer<'static>>,
    asker: Asker,
}

/// Why a certificate is not good.
pub(super) struct Refusal {
    /// In OpenSSL's words.
    pub(super) words: &'static str,
    /// For the log.
    pub(super) why: String,
}

/// Refuses a certificate of unknown status.
pub(super) fn unknown(why: impl Into<String>) -> Refusal {
    Refusal { words: "application verification failure", why: why.into() }
}

impl Lookup {
    /// `None`: nothing is looked up. `content` reads files.
    ///
    /// # Errors
    /// The file that can't be used, with the reason.
    pub(super) fn new<'a>(
        settings: &Ocsp,
        content: impl Fn(&str) -> Result<&'a [u8], String>,
    ) -> Result<Option<Self>, String> {
        if settings.which() == Revocable::None {
            return Ok(None);
        }
        let parsed = |url: &Option<Box<str>>| url.as_deref().map(Responder::parse).transpose();
        let signers = match settings.signers.as_deref() {
            Some(path) => certificates(path, content(path)?)?,
            None => Vec::new(),
        };
        Ok(Some(Self {
            responder: parsed(&settings.responder)?,
            proxy: parsed(&settings.proxy)?,
            signers,
            asker: Asker::new(AT_ONCE),
            settings: settings.clone(),
        }))
    }

    /// Looks up a certificate, and those above it if all of a chain are; `known` are certificates among which their issuers are.
    pub(super) async fn chain(
        &self,
        certificate: &CertificateDer<'_>,
        known: &[&CertificateDer<'_>],
    ) -> Result<(), Refusal> {
        let mut current = parsed(certificate)?;
        for _ in 0..MOST_ISSUERS {
            if current.subject().as_raw() == current.issuer().as_raw() {
                return Ok(());
            }
            let issuer =
                known.iter().filter_map(|der| parsed(der).ok()).find(|issuer| has_signed(issuer, &current));
            let issuer = issuer.ok_or_else(|| unknown("its issuer's certificate is not known"))?;
            self.one(&current, &issuer).await?;
            if self.settings.which() == Revocable::Leaf {
                return Ok(());
            }
            current = issuer;
        }
        Err(unknown("the chain is too long"))
    }

    async fn one(
        &self,
        certificate: &X509Certificate<'_>,
        issuer: &X509Certificate<'_>,
    ) -> Result<(), Refusal> {
        let Some(responder) = self.responder(certificate)? else {
            if self.settings.nowhere_ok == Some(true) {
                return Ok(());
            }
            return Err(unknown("it names no responder, and there is no SSLOCSPDefaultResponder"));
        };
        let at = |why: String| unknown(format!("{}: {why}", responder.url()));
        let about = responder::id(certificate, issuer);
        let nonce = self.nonce()?;
        let question = about.question(nonce.as_ref().map(|nonce| &nonce[..]));
        let asked = match &self.proxy {
            Some(proxy) => responder.through(proxy),
            None => responder.clone(),
        };
        let answered = responder::ask(&asked, question, self.settings.patience(), &self.asker).await;
        let answer = answered.map_err(at)?;
        let said = hostler_ocsp::read(&answer, &about);
        let verdict = match said.ok_or_else(|| at("what it says is not an OCSP response".to_owned()))? {
            Answer::Said(verdict) => verdict,
            Answer::OfOthers => return Err(at("it says nothing of this certificate".to_owned())),
            Answer::Refused(fault) => return Err(at(format!("it does not answer: {fault:?}"))),
        };
        let signed = hostler_ocsp::signed(&answer);
        let signed = signed.ok_or_else(|| at("its answer is not signed".to_owned()))?;
        let now = seconds();
        if nonce.is_some_and(|nonce| signed.nonce != Some(&nonce[..])) {
            return Err(at(
                "its answer does not repeat the nonce of the question (SSLOCSPUseRequestNonce)".to_owned()
            ));
        }
        if self.settings.unverified != Some(true) && !self.is_signed(&signed, issuer, now) {
            return Err(at("its answer is signed by nobody who may".to_owned()));
        }
        if let Some(why) =
            verdict.outdated(now, whole(self.settings.skew()), self.settings.most_age.map(whole))
        {
            return Err(at(why.to_owned()));
        }
        match verdict.status {
            Status::Good => Ok(()),
            Status::Unknown => Err(at("it does not know the certificate".to_owned())),
            Status::Revoked => Err(Refusal {
                words: "certificate revoked",
                why: format!("{}: it says that the certificate is revoked", responder.url()),
            }),
        }
    }

    /// Returns the responder for a certificate.
    fn responder(&self, certificate: &X509Certificate<'_>) -> Result<Option<Responder>, Refusal> {
        match responder::named(certificate).filter(|_| self.settings.overrides != Some(true)) {
            Some(url) => Responder::parse(url).map(Some).map_err(unknown),
            None => Ok(self.responder.clone()),
        }
    }

    fn nonce(&self) -> Result<Option<[u8; NONCE]>, Refusal> {
        if self.settings.nonce == Some(false) {
            return Ok(None);
        }
        let mut nonce = [0; NONCE];
        let filled = SystemRandom::new().fill(&mut nonce);
        filled.map(|()| Some(nonce)).map_err(|_| unknown("there are no random numbers"))
    }

    /// RFC 6960 §4.2.2.2: by the issuer, by one whom it has charged with answers, or by one whom the configuration trusts.
    fn is_signed(&self, signed: &Signed<'_>, issuer: &X509Certificate<'_>, now: i64) -> bool {
        let Ok((_, algorithm)) = AlgorithmIdentifier::from_der(signed.algorithm) else { return false };
        let signature = BitString::new(0, signed.signature);
        let is_by = |signer: &X509Certificate<'_>| {
            verify_signature(signer.public_key(), &algorithm, &signature, signed.data).is_ok()
        };
        let trusted = self.signers.iter().filter_map(|der| parsed(der).ok());
        let sent = signed.certificates.iter().take(MOST_SIGNERS);
        let sent = sent.filter_map(|der| Some(X509Certificate::from_der(der).ok()?.1));
        let charged = sent.filter(|signer| answers_for(signer, issuer, now));
        is_by(issuer) || trusted.chain(charged).any(|signer| is_by(&signer))
    }
}

/// Returns whether an authority has charged the owner of a certificate with answers.
fn answers_for(signer: &X509Certificate<'_>, issuer: &X509Certificate<'_>, now: i64) -> bool {
    let usage = signer.extended_key_usage().ok().flatten();
    let (begin, end) = (signer.validity().not_before.timestamp(), signer.validity().not_after.timestamp());
    usage.is_some_and(|usage| usage.value.ocsp_signing)
        && begin <= now
        && now <= end
        && has_signed(issuer, signer)
}

/// Returns whether the owner of a certificate has signed another.
fn has_signed(issuer: &X509Certificate<'_>, certificate: &X509Certificate<'_>) -> bool {
    issuer.subject().as_raw() == certificate.issuer().as_raw()
        && certificate.verify_signature(Some(issuer.public_key())).is_ok()
}

fn parsed<'a>(der: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, Refusal> {
    let (_, parsed) = X509Certificate::from_der(der).map_err(|_| unknown("a certificate is malformed"))?;
    Ok(parsed)
}

fn seconds() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, whole)
}

fn whole(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}
