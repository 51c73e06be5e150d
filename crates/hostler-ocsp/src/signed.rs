//! The signed part of a response, its signature, and the certificates that came with it.

use crate::NONCE;
use crate::answer::basic;
use crate::der::{BITS, BOOLEAN, Elements, OBJECT, OCTETS, SEQUENCE, TIME, explicit};

/// The signature of an answer (RFC 6960 §4.2.1 `BasicOCSPResponse`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed<'a> {
    /// The signed bytes.
    pub data: &'a [u8],
    /// The algorithm, as DER.
    pub algorithm: &'a [u8],
    /// The signature.
    pub signature: &'a [u8],
    /// Certificates, as DER, among which the signer's may be.
    pub certificates: Vec<&'a [u8]>,
    /// The nonce that it repeats.
    pub nonce: Option<&'a [u8]>,
}

/// The signature of an answer; `None`: it says nothing, or is none.
#[must_use]
pub fn signed(answer: &[u8]) -> Option<Signed<'_>> {
    let mut basic = basic(answer)?.ok()?;
    let data = basic.whole(SEQUENCE)?;
    let algorithm = basic.whole(SEQUENCE)?;
    // Signatures are whole bytes: none of the last one's bits are unused.
    let (0, signature) = basic.expect(BITS)?.split_first()? else { return None };
    let mut certificates = Vec::new();
    if let Some(mut list) = basic.inside(explicit(0)) {
        let mut list = list.inside(SEQUENCE)?;
        while !list.0.is_empty() {
            certificates.push(list.whole(SEQUENCE)?);
        }
    }
    let nonce = extensions(Elements(data).inside(SEQUENCE)?).and_then(nonce);
    Some(Signed { data, algorithm, signature, certificates, nonce })
}

/// The extensions of a `ResponseData`.
fn extensions(mut data: Elements<'_>) -> Option<Elements<'_>> {
    data.next_if(explicit(0));
    data.next()?;
    data.expect(TIME)?;
    data.expect(SEQUENCE)?;
    data.inside(explicit(1))
}

/// The nonce among extensions.
pub(crate) fn nonce(mut around: Elements<'_>) -> Option<&[u8]> {
    let mut list = around.inside(SEQUENCE)?;
    while let Some(mut extension) = list.inside(SEQUENCE) {
        let name = extension.expect(OBJECT)?;
        extension.next_if(BOOLEAN);
        let value = extension.expect(OCTETS)?;
        if name == NONCE {
            return Elements(value).expect(OCTETS);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::der::{ENUMERATED, wrapped};

    /// An answer with these parts of a `BasicOCSPResponse`.
    fn answer(basic: &[u8]) -> Vec<u8> {
        let kind = wrapped(OBJECT, &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01, 0x01]);
        let bytes = wrapped(SEQUENCE, &[kind, wrapped(OCTETS, &wrapped(SEQUENCE, basic))].concat());
        wrapped(SEQUENCE, &[wrapped(ENUMERATED, &[0]), wrapped(explicit(0), &bytes)].concat())
    }

    fn data(nonce: Option<&[u8]>) -> Vec<u8> {
        let responder = wrapped(explicit(2), &wrapped(OCTETS, &[9; 20]));
        let mut parts = [responder, wrapped(TIME, b"20261126000000Z"), wrapped(SEQUENCE, &[])].concat();
        if let Some(nonce) = nonce {
            let value = wrapped(OCTETS, &wrapped(OCTETS, nonce));
            let other = wrapped(SEQUENCE, &[wrapped(OBJECT, &[1]), wrapped(OCTETS, b"x")].concat());
            let own = [wrapped(OBJECT, &NONCE), wrapped(BOOLEAN, &[0xff]), value].concat();
            let list = [other, wrapped(SEQUENCE, &own)].concat();
            parts.extend(wrapped(explicit(1), &wrapped(SEQUENCE, &list)));
        }
        wrapped(SEQUENCE, &parts)
    }

    #[test]
    fn the_parts_are_told_apart() {
        let (data, algorithm) = (data(Some(b"once")), wrapped(SEQUENCE, &wrapped(OBJECT, &[1, 2])));
        let certificates = [wrapped(SEQUENCE, b"one"), wrapped(SEQUENCE, b"two")];
        let list = wrapped(explicit(0), &wrapped(SEQUENCE, &certificates.concat()));
        let whole = answer(&[data.clone(), algorithm.clone(), wrapped(BITS, b"\0signature"), list].concat());
        let signed = signed(&whole).unwrap();
        assert_eq!((signed.data, signed.algorithm), (&data[..], &algorithm[..]));
        assert_eq!((signed.signature, signed.nonce), (&b"signature"[..], Some(&b"once"[..])));
        assert_eq!(signed.certificates, certificates);
        for end in 0..whole.len() {
            assert_eq!(super::signed(&whole[..end]), None, "cut at {end}");
        }
    }

    #[test]
    fn what_is_not_there_is_none() {
        let algorithm = wrapped(SEQUENCE, &wrapped(OBJECT, &[1, 2]));
        let bare = answer(&[data(None), algorithm.clone(), wrapped(BITS, b"\0s")].concat());
        let found = signed(&bare).unwrap();
        assert_eq!((found.nonce, found.certificates.len()), (None, 0));
        assert_eq!(signed(&crate::TRY_LATER), None);
        assert_eq!(signed(&answer(&[data(None), algorithm, wrapped(BITS, b"\x01s")].concat())), None);
        assert_eq!(signed(&answer(&data(None))), None);
    }
}
