//! uwsgi requests (<https://uwsgi-docs.readthedocs.io/en/latest/Protocol.html>): a packet of names and values, each with
//! its length, in the modifiers of a WSGI request. The body follows as it is.

/// Appends the head of a request.
///
/// # Errors
/// It has more bytes than a packet can have.
pub fn request<'a>(
    variables: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    out: &mut Vec<u8>,
) -> Result<(), TooLong> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    for text in variables.into_iter().flat_map(|(name, value)| [name, value]) {
        let length = u16::try_from(text.len()).map_err(|_| TooLong)?;
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(text);
    }
    let length = u16::try_from(out.len() - start - 4).map_err(|_| TooLong)?;
    // Modifiers 0 and 0: a request of WSGI's kind.
    out[start + 1..start + 3].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// A packet has 64 KB at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the request's variables have more than the 64 KB that uwsgi can say")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_has_its_length_and_those_of_its_strings() {
        let mut out = b"before".to_vec();
        assert_eq!(request([(&b"A"[..], &b"bc"[..]), (b"D", b"")], &mut out), Ok(()));
        assert_eq!(out, b"before\0\x0c\0\0\x01\0A\x02\0bc\x01\0D\0\0");
    }

    #[test]
    fn more_than_a_packet_can_hold_is_refused() {
        let value = vec![b'x'; 40_000];
        let variables = [(&b"A"[..], &value[..]), (b"B", &value)];
        assert_eq!(request(variables, &mut Vec::new()), Err(TooLong));
        assert_eq!(request([(&b"A"[..], &vec![b'x'; 70_000][..])], &mut Vec::new()), Err(TooLong));
    }
}
