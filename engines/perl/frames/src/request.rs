//! mod_perl's part of a request, and what programs are told about other ones.

use crate::PhaseSet;
use hostler_wire::codec::{Decoder, Encoder, Fields, Malformed};
use hostler_wire::work::{self, ToWorker};
use std::ops::{Deref, DerefMut};

/// A request's head, with what is mod_perl's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of Apache's request_rec")]
pub struct RequestHead<'a> {
    /// The part for all engines. Its `own` is the rest of this structure.
    pub common: work::RequestHead<'a>,
    /// Phases to run.
    pub phases: PhaseSet,
    pub status: u16,
    /// Of an answer that has been sent: code and reason.
    pub status_line: Option<&'a [u8]>,
    /// Of an answer that has been sent: bytes of its body, or, after HEAD, of what it would have been.
    pub bytes_sent: u64,
    /// No phase is run, but a provider asked (`Require`, `AuthBasicProvider`): its kind (`authz`, `authn`), the function's
    /// name and what it is given, with NULs between them. It answers with `Outcome::Verdict`.
    pub provider: Option<&'a [u8]>,
    pub headers_out: Fields<'a>,
    pub err_headers_out: Fields<'a>,
    pub notes: Fields<'a>,
}

impl<'a> Deref for RequestHead<'a> {
    type Target = work::RequestHead<'a>;

    fn deref(&self) -> &Self::Target {
        &self.common
    }
}

impl DerefMut for RequestHead<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.common
    }
}

impl<'a> RequestHead<'a> {
    /// Appends the message that begins a request with it.
    pub fn encode_request(&self, out: &mut Vec<u8>) {
        work::message(out, ToWorker::REQUEST, |e| self.encode(e));
    }

    fn encode(&self, e: &mut Encoder<'_>) {
        self.common.encode_with(e, |e| {
            e.u32(self.phases.0);
            e.u16(self.status);
            e.optional(self.status_line);
            e.u64(self.bytes_sent);
            e.optional(self.provider);
            e.fields(&self.headers_out);
            e.fields(&self.err_headers_out);
            e.fields(&self.notes);
        });
    }

    /// The head in the message that begins a request.
    ///
    /// # Errors
    /// [`Malformed`], also when bytes are left over.
    pub fn decode_request(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut d = Decoder(message);
        let head = Self::decode(&mut d)?;
        d.end().map(|()| head)
    }

    fn decode(d: &mut Decoder<'a>) -> Result<Self, Malformed> {
        let common = work::RequestHead::decode(d)?;
        let mut d = Decoder(common.own);
        let head = Self {
            common,
            phases: PhaseSet(d.u32()?),
            status: d.u16()?,
            status_line: d.optional()?,
            bytes_sent: d.u64()?,
            provider: d.optional()?,
            headers_out: d.fields()?,
            err_headers_out: d.fields()?,
            notes: d.fields()?,
        };
        d.end().map(|()| head)
    }
}

/// The messages to a worker beyond the request: [`ToWorker::Own`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToPerl<'a> {
    /// The answer to a question about a URL: what it maps to, with the status the phases came to in
    /// [`RequestHead::status`].
    Answer {
        /// The number of the sub-request that it is, by which it may be run.
        id: u32,
        /// The request that it would be.
        head: Box<RequestHead<'a>>,
    },
    /// The part of the response that was requested (`Run`) has been sent, with this status.
    Ran(u16),
    /// The configuration with the program's additions: its number (defined before, if need be), or the reason why
    /// nothing was added.
    Configured(Result<u32, &'a [u8]>),
    /// Run phases of a sub-request before the question that the worker waits with is answered: nested, as part of the
    /// request that is being served. Its answer has a head, a body and a `Finished` of its own, but no `End`.
    Nested(Box<Nested<'a>>),
    /// The next request is a part of this one, or goes on in its place: somebody else has answered it.
    Related {
        /// Its role in that.
        role: Role,
        /// That request in its last state.
        head: Box<RequestHead<'a>>,
    },
}

/// The relation of a request to another, in the words of `request_rec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The other is a part of it.
    Main,
    /// The other goes on in its place.
    Prev,
    /// It has gone on in the other's place.
    Next,
    /// It goes on in the place of the other, which is the one that stayed.
    Stayed,
}

/// Phases of a sub-request. Requests of a conversation have numbers: 0 is the one that it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nested<'a> {
    /// The sub-request's number.
    pub id: u32,
    /// Of which request it is a part.
    pub main: u32,
    /// The number of the request in whose place it goes on, plus one; 0: of none.
    pub prev: u32,
    /// The sub-request.
    pub head: RequestHead<'a>,
}

mod kind {
    pub(super) const ANSWER: u8 = 1;
    pub(super) const RAN: u8 = 2;
    pub(super) const CONFIGURED: u8 = 3;
    pub(super) const NESTED: u8 = 4;
    pub(super) const RELATED: u8 = 5;
}

impl<'a> ToPerl<'a> {
    /// Appends the message with its head.
    pub fn encode(&self, out: &mut Vec<u8>) {
        work::message(out, ToWorker::OWN, |e| self.write(e));
    }

    /// For [`ToWorker::Own`].
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64);
        self.write(&mut Encoder(&mut bytes));
        bytes
    }

    fn write(&self, e: &mut Encoder<'_>) {
        match self {
            Self::Answer { id, head } => {
                e.u8(kind::ANSWER);
                e.u32(*id);
                head.encode(e);
            }
            Self::Ran(status) => {
                e.u8(kind::RAN);
                e.u16(*status);
            }
            Self::Configured(outcome) => {
                e.u8(kind::CONFIGURED);
                e.u32(outcome.unwrap_or(0));
                e.optional(outcome.err());
            }
            Self::Nested(nested) => {
                e.u8(kind::NESTED);
                [nested.id, nested.main, nested.prev].into_iter().for_each(|number| e.u32(number));
                nested.head.encode(e);
            }
            Self::Related { role, head } => {
                e.u8(kind::RELATED);
                e.u8(*role as u8);
                head.encode(e);
            }
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`Malformed`], also when bytes are left over.
    pub fn decode(own: &'a [u8]) -> Result<Self, Malformed> {
        let mut d = Decoder(own);
        let message = match d.u8()? {
            kind::ANSWER => Self::Answer { id: d.u32()?, head: Box::new(RequestHead::decode(&mut d)?) },
            kind::RAN => Self::Ran(d.u16()?),
            kind::CONFIGURED => match (d.u32()?, d.optional()?) {
                (number, None) => Self::Configured(Ok(number)),
                (_, Some(why)) => Self::Configured(Err(why)),
            },
            kind::NESTED => Self::Nested(Box::new(Nested {
                id: d.u32()?,
                main: d.u32()?,
                prev: d.u32()?,
                head: RequestHead::decode(&mut d)?,
            })),
            kind::RELATED => {
                let role = match d.u8()? {
                    0 => Role::Main,
                    1 => Role::Prev,
                    2 => Role::Next,
                    3 => Role::Stayed,
                    _ => return Err(Malformed),
                };
                Self::Related { role, head: Box::new(RequestHead::decode(&mut d)?) }
            }
            _ => return Err(Malformed),
        };
        d.end().map(|()| message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As it comes back: what is mod_perl's is in the common part, too.
    fn received<'a>(head: &RequestHead<'a>, own: &'a [u8]) -> RequestHead<'a> {
        let mut head = head.clone();
        head.common.own = own;
        head
    }

    #[test]
    fn a_request_comes_back() {
        let common = work::RequestHead { method: b"POST", uri: b"/x", ..work::RequestHead::default() };
        let head = RequestHead {
            common,
            phases: PhaseSet(512),
            status: 200,
            provider: Some(b"authz"),
            notes: vec![(b"a", b"b")],
            ..RequestHead::default()
        };
        let mut out = Vec::new();
        head.encode_request(&mut out);
        let message = &out[work::HEAD..];
        let back = RequestHead::decode_request(message).unwrap();
        assert_eq!(back, received(&head, back.common.own));
        assert_eq!(RequestHead::decode_request(&message[..message.len() - 1]), Err(Malformed));
    }

    #[test]
    fn what_is_said_of_other_requests_comes_back() {
        let head = || Box::new(RequestHead { status: 404, ..RequestHead::default() });
        let nested = Nested { id: 3, main: 2, prev: 1, head: *head() };
        for message in [
            ToPerl::Nested(Box::new(nested)),
            ToPerl::Related { role: Role::Next, head: head() },
            ToPerl::Answer { id: 7, head: head() },
            ToPerl::Ran(500),
            ToPerl::Configured(Ok(9)),
            ToPerl::Configured(Err(b"no such directive")),
        ] {
            let bytes = message.to_bytes();
            let back = ToPerl::decode(&bytes).unwrap();
            assert_eq!(back.to_bytes(), bytes, "{message:?}");
            assert!(ToPerl::decode(&bytes[..bytes.len() - 1]).is_err(), "{message:?}");
        }
    }
}
