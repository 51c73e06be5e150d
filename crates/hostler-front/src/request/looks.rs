//! What was looked at of a request while it was mapped. What differs between clients makes its answer one for this client
//! alone: nothing of it may be kept for others.

use crate::request::Request;
use bytes::Bytes;

/// A note of what was looked at.
const LOOKED: &str = "looked";

/// What a request's rules have looked at that differs between clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Looks {
    /// Host and path, what stands there, and what is the same for all of a server's requests.
    #[default]
    Nothing,
    /// The Authorization field besides.
    Authorization,
    /// Anything else.
    More,
}

/// What rules have looked at. What is made of a request may be kept for others that differ only in what they have not.
pub(crate) fn looks(request: &Request) -> Looks {
    match request.notes.find(LOOKED).map(|value| &**value) {
        None => Looks::Nothing,
        Some(b"authorization") => Looks::Authorization,
        Some(_) => Looks::More,
    }
}

/// Notes that rules have looked at so much.
pub(crate) fn mark(request: &mut Request, looks: Looks) {
    if looks > self::looks(request) {
        let value: &'static [u8] = if looks == Looks::More { b"more" } else { b"authorization" };
        request.notes.set(LOOKED, Bytes::from_static(value));
    }
}
