//! The Online Certificate Status Protocol (RFC 6960) as values: the question about one certificate, and what its answer says.
//!
//! Signatures are not verified here: what is stapled is verified by the client that it is for, and who believes an answer himself
//! has what is [`signed`] and by whom. No I/O.

mod answer;
mod der;
mod signed;

pub use answer::{Answer, Fault, Status, Verdict, read};
pub use signed::{Signed, signed};

use der::{OBJECT, OCTETS, SEQUENCE, explicit, wrapped};

/// Media types of questions and answers (RFC 6960 appendix A).
pub const QUESTION_TYPE: &str = "application/ocsp-request";
/// See [`QUESTION_TYPE`].
pub const ANSWER_TYPE: &str = "application/ocsp-response";

/// An answer that says nothing but `tryLater`: for clients, where a responder could not be reached.
pub const TRY_LATER: [u8; 5] = [0x30, 0x03, 0x0a, 0x01, 0x03];

/// `id-pkix-ocsp-nonce` (RFC 6960 §4.4.1)
const NONCE: [u8; 9] = [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01, 0x02];

/// The algorithm that hashes in a [`CertId`] are of: SHA-1, which responders must know (RFC 5019 §2.1.1), with its empty parameters.
const SHA1: [u8; 11] = [0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00];

/// Identifies a certificate (RFC 6960 §4.1.1 `CertID`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertId {
    /// SHA-1 of the issuer's name as DER.
    pub issuer_name: [u8; 20],
    /// SHA-1 of the issuer's key, without its frame.
    pub issuer_key: [u8; 20],
    /// The serial number, as the certificate's INTEGER has it.
    pub serial: Vec<u8>,
}

impl CertId {
    fn encoded(&self) -> Vec<u8> {
        let name = wrapped(OCTETS, &self.issuer_name);
        let key = wrapped(OCTETS, &self.issuer_key);
        let serial = wrapped(der::INTEGER, &self.serial);
        wrapped(SEQUENCE, &[&SHA1[..], &name, &key, &serial].concat())
    }

    /// The question about it: without a nonce, so that responders may have the answer ready, or with one, which proves that the
    /// answer is new.
    #[must_use]
    pub fn question(&self, nonce: Option<&[u8]>) -> Vec<u8> {
        let request = wrapped(SEQUENCE, &self.encoded());
        let mut asked = wrapped(SEQUENCE, &request);
        if let Some(nonce) = nonce {
            let value = wrapped(OCTETS, &wrapped(OCTETS, nonce));
            let extension = wrapped(SEQUENCE, &[wrapped(OBJECT, &NONCE), value].concat());
            asked.extend(wrapped(explicit(2), &wrapped(SEQUENCE, &extension)));
        }
        wrapped(SEQUENCE, &wrapped(SEQUENCE, &asked))
    }
}
