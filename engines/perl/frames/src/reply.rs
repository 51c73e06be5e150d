//! A worker's messages beyond the response.

use crate::{Phase, PhaseSet};
use hostler_wire::codec::{Decoder, Encoder, Fields, Malformed};
use hostler_wire::work::{self, FromWorker, table};

/// Stands for no phase.
const NO_PHASE: u8 = u8::MAX;

/// The worker's messages about phases, and its programs' questions: [`FromWorker::Own`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromPerl<'a> {
    /// The changes to the request itself, before `Finished` and only if there are some.
    Changes(Box<Changes<'a>>),
    /// Asks for the mapping of this URL (or, with `file`, this path). Reply: [`crate::ToPerl::Answer`].
    LookUp {
        /// Method of the question.
        method: &'a [u8],
        /// URL-path with query, or a path.
        target: &'a [u8],
        /// It is a path.
        file: bool,
    },
    /// Send the answer of a sub-request for this URL as part of this one's. Answer: [`crate::ToPerl::Ran`].
    Run {
        /// URL-path with query.
        target: &'a [u8],
        /// The number that the front gave it when it was looked up.
        id: u32,
        /// The program's changes to it since, if any.
        changes: Option<Box<Changes<'a>>>,
    },
    /// The request goes on as one for this local URL, whose answer is this one's; the program waits meanwhile, and what
    /// it prints is dropped. Answer: [`crate::ToPerl::Answer`] with that request as it was answered, or
    /// [`crate::ToPerl::Ran`].
    Redirect {
        /// URL-path with query.
        target: &'a [u8],
        /// It begins with this one's content type (`internal_redirect_handler`).
        keeps_type: bool,
    },
    /// Configuration that a program adds for this request (`add_config`). Answer: [`crate::ToPerl::Configured`].
    Configure {
        /// Its lines.
        text: &'a [u8],
        /// The directives they may contain, in Apache's `OR_` bits.
        overrides: u32,
        /// The phase that runs.
        phase: u8,
    },
    /// Before `Finished`, where the front has to know: what programs have added to the phases that are to come, and
    /// whether the trip has ended before its last phase because the configuration has changed.
    Standing {
        /// Phases with handlers that a program has set.
        pushed: PhaseSet,
        /// The last phase that was run, where others were left out.
        stopped: Option<Phase>,
    },
    /// An interim response, ahead of the answer's head (`psgix.informational`).
    Early {
        /// 102 to 199.
        status: u16,
        /// Its header fields.
        fields: Fields<'a>,
    },
}

/// Statuses of interim responses that a program may send. 100 and 101 are about the connection, which is the front's.
const EARLY: std::ops::RangeInclusive<u16> = 102..=199;

/// A request as the worker's phases have left it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of Apache's request_rec")]
pub struct Changes<'a> {
    /// Of an answer that is still to be made; 0: one has been.
    pub status: u16,
    pub method: &'a [u8],
    pub uri: &'a [u8],
    pub args: Option<&'a [u8]>,
    pub filename: &'a [u8],
    pub path_info: &'a [u8],
    pub user: Option<&'a [u8]>,
    pub ap_auth_type: Option<&'a [u8]>,
    pub handler: Option<&'a [u8]>,
    pub content_type: Option<&'a [u8]>,
    /// Last one wins; the texts of `custom_response`, by status.
    pub custom_responses: Fields<'a>,
    pub headers_in: Fields<'a>,
    pub headers_out: Fields<'a>,
    pub err_headers_out: Fields<'a>,
    pub subprocess_env: Fields<'a>,
    pub notes: Fields<'a>,
}

mod kind {
    pub(super) const CHANGES: u8 = 1;
    pub(super) const LOOK_UP: u8 = 2;
    pub(super) const RUN: u8 = 3;
    pub(super) const REDIRECT: u8 = 4;
    pub(super) const CONFIGURE: u8 = 5;
    pub(super) const STANDING: u8 = 6;
    pub(super) const EARLY: u8 = 7;
}

impl<'a> FromPerl<'a> {
    /// Appends the message with its head.
    pub fn encode(&self, out: &mut Vec<u8>) {
        work::message(out, FromWorker::OWN, |e| self.write(e));
    }

    /// Writes what stands in [`FromWorker::Own`].
    pub fn write(&self, e: &mut Encoder<'_>) {
        match self {
            Self::Changes(changes) => {
                e.u8(kind::CHANGES);
                changes.encode(e);
            }
            Self::LookUp { method, target, file } => {
                e.u8(kind::LOOK_UP);
                e.bytes(method);
                e.bytes(target);
                e.bool(*file);
            }
            Self::Run { target, id, changes } => {
                e.u8(kind::RUN);
                e.bytes(target);
                e.u32(*id);
                e.bool(changes.is_some());
                if let Some(changes) = changes {
                    changes.encode(e);
                }
            }
            Self::Redirect { target, keeps_type } => {
                e.u8(kind::REDIRECT);
                e.bytes(target);
                e.bool(*keeps_type);
            }
            Self::Configure { text, overrides, phase } => {
                e.u8(kind::CONFIGURE);
                e.bytes(text);
                e.u32(*overrides);
                e.u8(*phase);
            }
            Self::Standing { pushed, stopped } => {
                e.u8(kind::STANDING);
                e.u32(pushed.0);
                e.u8(stopped.map_or(NO_PHASE, |phase| phase as u8));
            }
            Self::Early { status, fields } => {
                e.u8(kind::EARLY);
                e.u16(*status);
                e.fields(fields);
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
            kind::CHANGES => Self::Changes(Box::new(Changes::decode(&mut d)?)),
            kind::LOOK_UP => Self::LookUp { method: d.bytes()?, target: d.bytes()?, file: d.bool()? },
            kind::RUN => Self::Run {
                target: d.bytes()?,
                id: d.u32()?,
                changes: if d.bool()? { Some(Box::new(Changes::decode(&mut d)?)) } else { None },
            },
            kind::REDIRECT => match d.bytes()? {
                target if target.starts_with(b"/") => Self::Redirect { target, keeps_type: d.bool()? },
                _ => return Err(Malformed),
            },
            kind::CONFIGURE => Self::Configure { text: d.bytes()?, overrides: d.u32()?, phase: d.u8()? },
            kind::STANDING => Self::Standing {
                pushed: PhaseSet(d.u32()?),
                stopped: match d.u8()? {
                    NO_PHASE => None,
                    number => Some(Phase::numbered(number).ok_or(Malformed)?),
                },
            },
            kind::EARLY => match d.u16()? {
                status if EARLY.contains(&status) => Self::Early { status, fields: table(&mut d)? },
                _ => return Err(Malformed),
            },
            _ => return Err(Malformed),
        };
        d.end().map(|()| message)
    }
}

impl<'a> Changes<'a> {
    pub(crate) fn encode(&self, e: &mut Encoder<'_>) {
        e.u16(self.status);
        e.bytes(self.method);
        e.bytes(self.uri);
        e.optional(self.args);
        e.bytes(self.filename);
        e.bytes(self.path_info);
        [self.user, self.ap_auth_type, self.handler, self.content_type]
            .into_iter()
            .for_each(|t| e.optional(t));
        for table in [
            &self.custom_responses,
            &self.headers_in,
            &self.headers_out,
            &self.err_headers_out,
            &self.subprocess_env,
            &self.notes,
        ] {
            e.fields(table);
        }
    }

    pub(crate) fn decode(d: &mut Decoder<'a>) -> Result<Self, Malformed> {
        Ok(Self {
            status: d.u16()?,
            method: d.bytes()?,
            uri: d.bytes()?,
            args: d.optional()?,
            filename: d.bytes()?,
            path_info: d.bytes()?,
            user: d.optional()?,
            ap_auth_type: d.optional()?,
            handler: d.optional()?,
            content_type: d.optional()?,
            custom_responses: table(d)?,
            headers_in: table(d)?,
            headers_out: table(d)?,
            err_headers_out: table(d)?,
            subprocess_env: table(d)?,
            notes: table(d)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostler_wire::work::MOST_FIELDS;

    fn encoded(message: &FromPerl<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        message.encode(&mut out);
        out.split_off(work::HEAD)
    }

    #[test]
    fn messages_come_back() {
        for message in [
            FromPerl::Changes(Box::default()),
            FromPerl::LookUp { method: b"GET", target: b"/x", file: true },
            FromPerl::Run { target: b"/x", id: 4, changes: None },
            FromPerl::Run { target: b"/x", id: 4, changes: Some(Box::default()) },
            FromPerl::Redirect { target: b"/x?y", keeps_type: true },
            FromPerl::Configure { text: b"Require all denied", overrides: 31, phase: 3 },
            FromPerl::Standing { pushed: PhaseSet(16), stopped: None },
            FromPerl::Standing { pushed: PhaseSet(0), stopped: Some(Phase::Access) },
            FromPerl::Early { status: 103, fields: vec![(b"Link", b"</a.css>; rel=preload")] },
        ] {
            let bytes = encoded(&message);
            assert_eq!(FromPerl::decode(&bytes).as_ref(), Ok(&message));
            assert_eq!(FromPerl::decode(&bytes[..bytes.len() - 1]), Err(Malformed), "{message:?}");
        }
    }

    #[test]
    fn what_no_worker_should_say_is_malformed() {
        for (count, is_fine) in [(MOST_FIELDS, true), (MOST_FIELDS + 1, false)] {
            let notes = vec![(&b""[..], &b""[..]); count];
            let bytes = encoded(&FromPerl::Changes(Box::new(Changes { notes, ..Changes::default() })));
            assert_eq!(FromPerl::decode(&bytes).is_ok(), is_fine);
        }
        assert_eq!(FromPerl::decode(&[99]), Err(Malformed));
        assert_eq!(FromPerl::decode(b""), Err(Malformed));
        assert_eq!(FromPerl::decode(&[6, 0, 0, 0, 0, 14]), Err(Malformed), "there is no fifteenth phase");
        for status in [100, 101, 200] {
            let early = FromPerl::Early { status, fields: Vec::new() };
            assert_eq!(FromPerl::decode(&encoded(&early)), Err(Malformed), "{status}");
        }
        assert!(FromPerl::decode(&encoded(&FromPerl::Redirect { target: b"x", keeps_type: false })).is_err());
    }
}
