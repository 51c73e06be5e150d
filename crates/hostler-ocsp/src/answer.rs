//! A responder's statement about one certificate.

use crate::CertId;
use crate::der::{ENUMERATED, Elements, INTEGER, OBJECT, OCTETS, SEQUENCE, TIME, explicit, seconds};

/// `id-pkix-ocsp-basic`, the only kind of answer there is (RFC 6960 §4.2.1).
const BASIC: [u8; 9] = [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01, 0x01];

/// An answer's outermost status (RFC 6960 §4.2.1 `OCSPResponseStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The responder could not read the question.
    MalformedRequest,
    /// It is broken.
    InternalError,
    /// It may know later.
    TryLater,
    /// It wants questions signed.
    SigRequired,
    /// It does not tell us, or not of this certificate.
    Unauthorized,
    /// Another number.
    Other(u8),
}

/// The status of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is not revoked.
    Good,
    /// It is.
    Revoked,
    /// The responder does not know it.
    Unknown,
}

/// The statement about a certificate. Times are seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The status.
    pub status: Status,
    /// When that was so.
    pub this_update: i64,
    /// Until when it holds, where the responder says so.
    pub next_update: Option<i64>,
}

impl Verdict {
    /// Why it does not hold now: `skew` is how much clocks may differ, `most_age` how old it may be; all in seconds.
    #[must_use]
    pub fn outdated(&self, now: i64, skew: i64, most_age: Option<i64>) -> Option<&'static str> {
        let is_old = most_age.is_some_and(|most| self.this_update < now.saturating_sub(most));
        let is_over = self.next_update.is_some_and(|next| next < now - skew || next < self.this_update);
        if self.this_update > now + skew {
            return Some("its answer is of the future");
        }
        (is_old || is_over).then_some("its answer is out of date")
    }
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The responder has refused to say anything.
    Refused(Fault),
    /// It says something, but nothing of this certificate.
    OfOthers,
    /// It says this.
    Said(Verdict),
}

/// Reads an answer for what it says of this certificate; `None`: it is none.
#[must_use]
pub fn read(answer: &[u8], about: &CertId) -> Option<Answer> {
    match basic(answer)? {
        Ok(basic) => responses(basic, about),
        Err(fault) => Some(Answer::Refused(fault)),
    }
}

/// Returns the contents of a successful response, or the reason why it has none.
pub(crate) fn basic(answer: &[u8]) -> Option<Result<Elements<'_>, Fault>> {
    let mut whole = Elements(answer);
    let mut outer = whole.inside(SEQUENCE)?;
    if !whole.0.is_empty() {
        return None;
    }
    let [status] = outer.expect(ENUMERATED)? else { return None };
    if let Some(fault) = fault(*status) {
        return Some(Err(fault));
    }
    let mut bytes = outer.inside(explicit(0))?.inside(SEQUENCE)?;
    if bytes.expect(OBJECT)? != BASIC {
        return None;
    }
    Some(Ok(Elements(bytes.expect(OCTETS)?).inside(SEQUENCE)?))
}

fn fault(status: u8) -> Option<Fault> {
    Some(match status {
        0 => return None,
        1 => Fault::MalformedRequest,
        2 => Fault::InternalError,
        3 => Fault::TryLater,
        5 => Fault::SigRequired,
        6 => Fault::Unauthorized,
        other => Fault::Other(other),
    })
}

/// RFC 6960 §4.2.1 `ResponseData`.
fn responses(mut basic: Elements<'_>, about: &CertId) -> Option<Answer> {
    let mut data = basic.inside(SEQUENCE)?;
    data.next_if(explicit(0));
    // Who answers: by name or by key.
    let (responder, _) = data.next()?;
    if responder != explicit(1) && responder != explicit(2) {
        return None;
    }
    data.expect(TIME)?;
    let mut list = data.inside(SEQUENCE)?;
    while let Some(mut single) = list.inside(SEQUENCE) {
        let is_meant = is_about(single.inside(SEQUENCE)?, about)?;
        let verdict = verdict(single)?;
        if is_meant {
            return Some(Answer::Said(verdict));
        }
    }
    Some(Answer::OfOthers)
}

/// Returns whether a `CertID` is the one that was asked about. One with hashes of another kind is not.
fn is_about(mut id: Elements<'_>, about: &CertId) -> Option<bool> {
    id.expect(SEQUENCE)?;
    let (name, key, serial) = (id.expect(OCTETS)?, id.expect(OCTETS)?, id.expect(INTEGER)?);
    Some(name == about.issuer_name && key == about.issuer_key && serial == about.serial)
}

/// Parses the fields after the `CertID` of a `SingleResponse`.
fn verdict(mut single: Elements<'_>) -> Option<Verdict> {
    let status = match single.next()?.0 {
        0x80 => Status::Good,
        0xa1 => Status::Revoked,
        0x82 => Status::Unknown,
        _ => return None,
    };
    let this_update = seconds(single.expect(TIME)?)?;
    let next_update = match single.inside(explicit(0)) {
        Some(mut next) => Some(seconds(next.expect(TIME)?)?),
        None => None,
    };
    Some(Verdict { status, this_update, next_update })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::der::wrapped;
    use crate::{TRY_LATER, der};

    fn about() -> CertId {
        CertId { issuer_name: [1; 20], issuer_key: [2; 20], serial: vec![0x12, 0x34] }
    }

    /// An answer with these `SingleResponse`s.
    fn answer(responses: &[Vec<u8>]) -> Vec<u8> {
        let responder = wrapped(explicit(2), &wrapped(OCTETS, &[9; 20]));
        let produced = wrapped(TIME, b"20261126000000Z");
        let list = wrapped(SEQUENCE, &responses.concat());
        let data = wrapped(SEQUENCE, &[responder, produced, list].concat());
        let basic = wrapped(SEQUENCE, &data);
        let bytes = wrapped(SEQUENCE, &[wrapped(OBJECT, &BASIC), wrapped(OCTETS, &basic)].concat());
        wrapped(SEQUENCE, &[wrapped(ENUMERATED, &[0]), wrapped(explicit(0), &bytes)].concat())
    }

    fn single(id: &CertId, status: &[u8], next: Option<&[u8]>) -> Vec<u8> {
        let next = next.map(|next| wrapped(explicit(0), &wrapped(TIME, next))).unwrap_or_default();
        let this = wrapped(TIME, b"19700101000010Z");
        wrapped(SEQUENCE, &[id.encoded(), status.to_vec(), this, next].concat())
    }

    #[test]
    fn what_is_said_of_a_certificate() {
        let other = CertId { serial: vec![1], ..about() };
        let revoked = wrapped(0xa1, &wrapped(TIME, b"19700101000000Z"));
        let both =
            answer(&[single(&other, &revoked, None), single(&about(), &[0x80, 0], Some(b"19700101000020Z"))]);
        let good = Verdict { status: Status::Good, this_update: 10, next_update: Some(20) };
        assert_eq!(read(&both, &about()), Some(Answer::Said(good)));
        let said = Verdict { status: Status::Revoked, this_update: 10, next_update: None };
        assert_eq!(read(&both, &other), Some(Answer::Said(said)));
        let unknown = answer(&[single(&about(), &[0x82, 0], None)]);
        let said = Verdict { status: Status::Unknown, ..said };
        assert_eq!(read(&unknown, &about()), Some(Answer::Said(said)));
        assert_eq!(read(&unknown, &other), Some(Answer::OfOthers));
    }

    #[test]
    fn verdicts_have_their_time() {
        let verdict = Verdict { status: Status::Good, this_update: 1000, next_update: Some(2000) };
        assert_eq!(verdict.outdated(1500, 10, None), None);
        assert_eq!(verdict.outdated(995, 10, Some(1)), None);
        assert_eq!(verdict.outdated(980, 10, None), Some("its answer is of the future"));
        assert_eq!(verdict.outdated(2010, 10, None), None);
        assert_eq!(verdict.outdated(2011, 10, None), Some("its answer is out of date"));
        assert_eq!(verdict.outdated(1500, 10, Some(499)), Some("its answer is out of date"));
        let turned = Verdict { next_update: Some(999), ..verdict };
        assert_eq!(turned.outdated(1000, 10, None), Some("its answer is out of date"));
    }

    #[test]
    fn faults_and_what_is_no_answer() {
        assert_eq!(read(&TRY_LATER, &about()), Some(Answer::Refused(Fault::TryLater)));
        assert_eq!(read(&[0x30, 3, 0x0a, 1, 6], &about()), Some(Answer::Refused(Fault::Unauthorized)));
        let whole = answer(&[single(&about(), &[0x80, 0], None)]);
        for end in 0..whole.len() {
            assert_eq!(read(&whole[..end], &about()), None, "cut at {end}");
        }
        assert_eq!(read(&[&whole[..], b"x"].concat(), &about()), None);
        assert_eq!(read(&answer(&[single(&about(), &[0x81, 0], None)]), &about()), None);
        assert_eq!(read(&answer(&[single(&about(), &[0x80, 0], Some(b"soon"))]), &about()), None);
    }

    #[test]
    fn the_question_names_the_certificate() {
        let question = about().question(None);
        let mut list =
            Elements(&question).inside(SEQUENCE).unwrap().inside(SEQUENCE).unwrap().inside(SEQUENCE).unwrap();
        let id = list.inside(SEQUENCE).unwrap().inside(SEQUENCE).unwrap();
        assert_eq!(is_about(id, &about()), Some(true));
        assert_eq!(question.len(), 2 * 4 + about().encoded().len());
        assert!(der::Elements(&question).next().is_some());
        let asked = about().question(Some(b"once"));
        let mut inner = Elements(&asked).inside(SEQUENCE).unwrap().inside(SEQUENCE).unwrap();
        assert!(inner.inside(SEQUENCE).is_some());
        assert_eq!(crate::signed::nonce(inner.inside(explicit(2)).unwrap()), Some(&b"once"[..]));
    }
}
