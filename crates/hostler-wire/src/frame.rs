//! Frames on a stream socket: a head of eight bytes (length of the body, number of descriptors), then the body.
//!
//! Descriptors travel with the first byte of their frame (`SCM_RIGHTS`) and are claimed in order.

use crate::codec::Encoder;
use serde::{Serialize, de::DeserializeOwned};

/// Size of the head, in bytes.
pub const HEAD: usize = 8;
/// Longest body that a peer may send, in bytes; a longer one ends the connection.
pub const MAX_BODY: usize = 32 << 20;
/// Most descriptors in a frame.
pub const MAX_FDS: usize = 8;

/// Why a frame can't be used. The peer that sent it is not to be trusted any further.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The head announces more than [`MAX_BODY`] bytes or [`MAX_FDS`] descriptors.
    #[error("a frame of {body} bytes with {fds} descriptors is over the limit")]
    TooLarge {
        /// Announced length of the body, in bytes.
        body: usize,
        /// Announced number of descriptors.
        fds: usize,
    },
    /// The body is not one of the expected messages.
    #[error("a frame's body can't be decoded")]
    Malformed,
    /// The message can't be encoded (it is over the limit).
    #[error("a message is too large to send")]
    Unsendable,
}

/// The announcement in a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Length of the body, in bytes.
    pub body: usize,
    /// Descriptors that belong to the frame.
    pub fds: usize,
}

impl Head {
    /// # Errors
    /// [`FrameError::TooLarge`].
    pub fn decode(bytes: [u8; HEAD]) -> Result<Self, FrameError> {
        let [a, b, c, d, e, f, g, h] = bytes;
        let body = u32::from_le_bytes([a, b, c, d]) as usize;
        let fds = u32::from_le_bytes([e, f, g, h]) as usize;
        if body > MAX_BODY || fds > MAX_FDS {
            Err(FrameError::TooLarge { body, fds })
        } else {
            Ok(Self { body, fds })
        }
    }
}

/// Appends a frame that `fds` descriptors will accompany, with the body that `write` writes.
///
/// # Errors
/// [`FrameError::Unsendable`] when it is over the limits; `out` is then as before.
pub fn put(fds: usize, out: &mut Vec<u8>, write: impl FnOnce(&mut Encoder<'_>)) -> Result<(), FrameError> {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD]);
    write(&mut Encoder(out));
    let body = out.len() - start - HEAD;
    if body > MAX_BODY || fds > MAX_FDS {
        out.truncate(start);
        return Err(FrameError::Unsendable);
    }
    out[start..start + 4].copy_from_slice(&(body as u32).to_le_bytes());
    out[start + 4..start + HEAD].copy_from_slice(&(fds as u32).to_le_bytes());
    Ok(())
}

/// Appends `message` as a frame that `fds` descriptors will accompany.
///
/// # Errors
/// [`FrameError::Unsendable`] when it is over the limits; `out` is then as before.
pub fn encode<T: Serialize>(message: &T, fds: usize, out: &mut Vec<u8>) -> Result<(), FrameError> {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD]);
    let mut filled = match postcard::to_extend(message, std::mem::take(out)) {
        Ok(filled) => filled,
        Err(_) => return Err(FrameError::Unsendable),
    };
    let body = filled.len() - start - HEAD;
    if body > MAX_BODY || fds > MAX_FDS {
        filled.truncate(start);
        *out = filled;
        return Err(FrameError::Unsendable);
    }
    filled[start..start + 4].copy_from_slice(&(body as u32).to_le_bytes());
    filled[start + 4..start + HEAD].copy_from_slice(&(fds as u32).to_le_bytes());
    *out = filled;
    Ok(())
}

/// The message in a frame's body.
///
/// # Errors
/// [`FrameError::Malformed`], also when bytes are left over.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, FrameError> {
    match postcard::take_from_bytes(body) {
        Ok((message, [])) => Ok(message),
        _ => Err(FrameError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back() {
        let mut out = b"before".to_vec();
        encode(&("text".to_string(), 5u32), 2, &mut out).unwrap();
        let head = Head::decode(out[6..14].try_into().unwrap()).unwrap();
        assert_eq!(head, Head { body: out.len() - 14, fds: 2 });
        assert_eq!(decode::<(String, u32)>(&out[14..]).unwrap(), ("text".to_string(), 5));
        assert_eq!(decode::<u8>(&out[14..]), Err(FrameError::Malformed));
    }

    #[test]
    fn a_head_over_the_limit_is_refused() {
        assert!(Head::decode([0xff; HEAD]).is_err());
        assert!(Head::decode([0, 0, 0, 0, 9, 0, 0, 0]).is_err());
    }
}
