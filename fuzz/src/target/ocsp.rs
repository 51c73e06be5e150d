//! A responder's statements about a certificate.

use hostler_ocsp::{Answer, CertId, read, signed};

/// The input is the answer; it is about the certificate of the examples.
pub fn target(data: &[u8]) {
    let about = CertId { issuer_name: [1; 20], issuer_key: [2; 20], serial: vec![0x12, 0x34] };
    let other = CertId { serial: vec![0x12, 0x35], ..about.clone() };
    let said = read(data, &about);
    if let Some(Answer::Refused(fault)) = said {
        assert_eq!(read(data, &other), Some(Answer::Refused(fault)), "whatever was asked");
    }
    if let Some(signed) = signed(data) {
        assert!(signed.signature.len() + signed.data.len() < data.len(), "parts of the answer");
        assert!(!matches!(said, Some(Answer::Refused(_))), "what says nothing is not signed");
    }
    if said.is_some() {
        assert_eq!(read(&[data, b"\0"].concat(), &about), None, "nothing stands behind an answer");
    }
}
