//! One certificate that is stapled: what is asked of whom, and what is handed out now.

use crate::tls::responder::{self, Responder};
use hostler_config::directives::ssl::stapling::Stapling;
use hostler_ocsp::{Answer, CertId, Status, TRY_LATER, Verdict};
use rustls::sign::CertifiedKey;
use rustls_pki_types::CertificateDer;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;
use x509_parser::prelude::{FromDer, X509Certificate};

/// A responder is not asked more often than this.
const LEAST: Duration = Duration::from_secs(1);

/// A certificate with its staple. Written by one task, read in handshakes of all threads.
pub(in crate::tls) struct Staple {
    plain: Arc<CertifiedKey>,
    now: RwLock<Option<HandedOut>>,
    /// True if the first answer is there, or has failed to come.
    settled: watch::Sender<bool>,
    about: CertId,
    responder: Responder,
    settings: Stapling,
}

/// The response that is handed out.
struct HandedOut {
    certificate: Arc<CertifiedKey>,
    /// It says that the certificate is good.
    is_good: bool,
    /// Seconds since 1970 from which on it is of no use.
    until: Option<i64>,
}

impl fmt::Debug for Staple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Staple({})", self.responder.url())
    }
}

impl Staple {
    /// `known`: certificates among which the issuer's may be.
    ///
    /// # Errors
    /// Why the certificate can't have one.
    pub(in crate::tls) fn new(
        plain: &Arc<CertifiedKey>,
        known: &[CertificateDer<'_>],
        settings: &Stapling,
    ) -> Result<Self, String> {
        let own = plain.cert.first().ok_or("there is none")?;
        let (_, parsed) = X509Certificate::from_der(own).map_err(|e| e.to_string())?;
        let responder = match settings.responder.as_deref() {
            Some(url) => Responder::parse(url)?,
            None => Responder::parse(
                responder::named(&parsed)
                    .ok_or("it names no responder, and there is no SSLStaplingForceURL")?,
            )?,
        };
        Ok(Self {
            plain: plain.clone(),
            now: RwLock::default(),
            settled: watch::Sender::new(false),
            about: about(&parsed, plain.cert[1..].iter().chain(known))?,
            responder,
            settings: settings.clone(),
        })
    }

    /// The certificate as it is shown now.
    pub(in crate::tls) fn certificate(&self) -> Arc<CertifiedKey> {
        let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
        let usable = now.as_ref().filter(|now| now.until.is_none_or(|until| until > seconds()));
        usable.map_or(&self.plain, |now| &now.certificate).clone()
    }

    /// Waits until the first answer is there, or has failed to come.
    pub(in crate::tls) async fn settled(&self) {
        let mut settled = self.settled.subscribe();
        let first = settled.wait_for(|settled| *settled);
        let _ = tokio::time::timeout(self.settings.patience(), first).await;
    }

    pub(super) fn at(&self) -> &Responder {
        &self.responder
    }

    pub(super) fn responder(&self) -> String {
        self.responder.url()
    }

    pub(super) fn patience(&self) -> Duration {
        self.settings.patience()
    }

    pub(super) fn question(&self) -> Vec<u8> {
        self.about.question(None)
    }

    /// Takes what the responder has said: after which time it is to be asked again, and what was wrong with it.
    pub(super) fn take(&self, asked: Result<Vec<u8>, String>) -> (Duration, Option<String>) {
        let now = seconds();
        let read = asked.and_then(|answer| {
            let said =
                hostler_ocsp::read(&answer, &self.about).ok_or("what it says is not an OCSP response")?;
            Ok((answer, said))
        });
        let (shown, is_good, until, complaint) = match read {
            Ok((answer, said)) => {
                let (until, complaint) = self.judge(said, now);
                let shows = complaint.is_none() || self.settings.shows_errors != Some(false);
                (shows.then_some(answer), complaint.is_none(), until, complaint)
            }
            // Quirk(apache): also where errors are not shown.
            Err(why) => {
                let fakes = self.settings.fakes_try_later != Some(false);
                (fakes.then(|| TRY_LATER.to_vec()), false, None, Some(why))
            }
        };
        self.hand_out(shown, is_good, until, now);
        self.settled.send_replace(true);
        let kept = self.settings.kept(is_good);
        let left = until.and_then(|until| u64::try_from(until - now).ok()).map(Duration::from_secs);
        (left.map_or(kept, |left| left.min(kept)).max(LEAST), complaint)
    }

    /// Until when an answer holds, and what is wrong with it.
    fn judge(&self, answer: Answer, now: i64) -> (Option<i64>, Option<String>) {
        match answer {
            Answer::Refused(fault) => (None, Some(format!("it does not answer: {fault:?}"))),
            Answer::OfOthers => (None, Some("it says nothing of this certificate".to_owned())),
            Answer::Said(verdict) => (verdict.next_update, self.complaint(verdict, now)),
        }
    }

    fn complaint(&self, verdict: Verdict, now: i64) -> Option<String> {
        let settings = &self.settings;
        match verdict.status {
            Status::Revoked => Some("it says that the certificate is revoked".to_owned()),
            Status::Unknown => Some("it does not know the certificate".to_owned()),
            Status::Good => {
                let outdated = verdict.outdated(now, whole(settings.skew()), settings.most_age.map(whole));
                outdated.map(str::to_owned)
            }
        }
    }

    /// A good answer stays while it holds and there is no other good one.
    fn hand_out(&self, shown: Option<Vec<u8>>, is_good: bool, until: Option<i64>, now: i64) {
        let mut place = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let holds = |old: &HandedOut| old.is_good && old.until.is_some_and(|until| until > now);
        // A revoked certificate's is an answer; only where there is none the last one stays.
        let is_answer = until.is_some() || is_good;
        if !is_answer && place.as_ref().is_some_and(holds) {
            return;
        }
        *place = shown.map(|answer| {
            let certificate = CertifiedKey { ocsp: Some(answer), ..(*self.plain).clone() };
            // What is not good is passed on as it is, however old.
            HandedOut { certificate: Arc::new(certificate), is_good, until: until.filter(|_| is_good) }
        });
    }
}

fn about<'a>(
    certificate: &X509Certificate<'_>,
    known: impl Iterator<Item = &'a CertificateDer<'a>>,
) -> Result<CertId, String> {
    if certificate.subject().as_raw() == certificate.issuer().as_raw() {
        return Ok(responder::id(certificate, certificate));
    }
    for candidate in known {
        if let Ok((_, issuer)) = X509Certificate::from_der(candidate)
            && issuer.subject().as_raw() == certificate.issuer().as_raw()
        {
            return Ok(responder::id(certificate, &issuer));
        }
    }
    Err("its issuer's certificate is not behind it, nor in SSLCertificateChainFile or SSLCACertificateFile"
        .to_owned())
}

fn seconds() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, whole)
}

fn whole(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}
