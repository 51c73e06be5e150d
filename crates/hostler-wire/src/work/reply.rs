//! What a worker says.

use super::codec::{Decoder, Encoder, Fields, Malformed};
use super::directory::{Phase, PhaseSet};

/// Stands for no phase.
const NO_PHASE: u8 = u8::MAX;

/// Fields that a table of a worker's may have: what is done with tables takes time that grows faster than they do.
const MOST_FIELDS: usize = 2048;

/// From worker to front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromWorker<'a> {
    /// The answer's head; at most once, before any [`Self::Body`].
    Head(Box<ReplyHead<'a>>),
    /// A piece of the answer's body.
    Body(&'a [u8]),
    /// A line for the virtual host's ErrorLog.
    Log {
        /// How serious.
        severity: Severity,
        /// Whose log: `true` the virtual host's, `false` the main server's.
        virtual_host: bool,
        /// The text.
        text: &'a [u8],
    },
    /// What was changed of the request itself, before [`Self::Finished`] and only if something was.
    Changes(Box<Changes<'a>>),
    /// What does this URL (or, with `file`, this path) map to? Answer: `ToWorker::Answer`.
    LookUp {
        /// Method of the question.
        method: &'a [u8],
        /// URL-path with query, or a path.
        target: &'a [u8],
        /// It is a path.
        file: bool,
    },
    /// Send the answer of a sub-request for this URL as part of this one's. Answer: `ToWorker::Ran`.
    Run {
        /// URL-path with query.
        target: &'a [u8],
        /// The number that the front gave it when it was looked up.
        id: u32,
        /// What the program has changed of it since, if anything.
        changes: Option<Box<Changes<'a>>>,
    },
    /// The request goes on as one for this local URL, whose answer is this one's; the program waits meanwhile, and what
    /// it prints is dropped. Answer: `ToWorker::Answer` with that request as it was answered, or `ToWorker::Ran`.
    Redirect {
        /// URL-path with query.
        target: &'a [u8],
    },
    /// Configuration that a program adds for this request (`add_config`). Answer: `ToWorker::Configured`.
    Configure {
        /// Its lines.
        text: &'a [u8],
        /// What they may contain, in Apache's `OR_` bits.
        overrides: u32,
        /// The phase that runs.
        phase: u8,
    },
    /// The program reads the request's body in a trip that has come without ([`super::request_flag::BODY_ASKED`]).
    /// Answer: `ToWorker::Body` with as many bytes at most, or `ToWorker::BodyEnd`.
    ReadBody(u32),
    /// Before [`Self::Finished`], where the front has to know: what programs have added to the phases that are to come,
    /// and whether the trip has ended before its last phase because the configuration has changed.
    Standing {
        /// Phases with handlers that a program has set.
        pushed: PhaseSet,
        /// The last phase that was run, where others were left out.
        stopped: Option<Phase>,
    },
    /// The answer is complete; nothing but [`Self::Log`] and [`Self::End`] follows.
    Finished(Outcome<'a>),
    /// The worker has done all for this request and takes another.
    End {
        /// It exits after this request, as it was told to (`MaxConnectionsPerChild`, `child_terminate`).
        exits: bool,
        /// What the request took, in microseconds, from when the worker had it; `u32::MAX`: as much or more.
        micros: u32,
    },
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// The body has been sent whole. Of a trip without the response phase, and without a head: a handler of the
    /// trip's last phase returned OK, which settles translation, storage, authentication and authorisation, so that
    /// the front's own means for that phase are not asked; where they all declined, it is [`Self::Declined`].
    Done,
    /// Nothing was sent: an error or redirect status; the front makes the page (`ErrorDocument`).
    Status(u16),
    /// The worker has nothing to say about the response (or, see [`Self::Done`], the last phase of its trip): the
    /// front goes on with its own means.
    Declined,
    /// Nothing was sent: go on as a request for this local URL.
    Redirect(&'a [u8]),
    /// Of a trip that asks a provider ([`super::RequestHead::provider`]): what it has said.
    Verdict(u16),
    /// The answer broke off; what was sent must not look complete.
    Broken(&'a [u8]),
}

/// syslog's levels, as Apache's `LogLevel` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "LogLevel's own words")]
pub enum Severity {
    Emerg,
    Alert,
    Crit,
    Error,
    Warn,
    Notice,
    Info,
    Debug,
}

impl Severity {
    const ALL: [Self; 8] = [
        Self::Emerg,
        Self::Alert,
        Self::Crit,
        Self::Error,
        Self::Warn,
        Self::Notice,
        Self::Info,
        Self::Debug,
    ];
}

/// Bits of [`ReplyHead::flags`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeadFlags(pub u32);

impl HeadFlags {
    /// `no_cache`: tell caches so.
    pub const NO_CACHE: u32 = 1;
    /// `assbackwards`: the body is the whole answer, with its own head (nph-).
    pub const RAW: u32 = 1 << 1;
    /// `no_local_copy`: conditions of the request are not looked at.
    pub const NO_LOCAL_COPY: u32 = 1 << 2;
    /// The connection is to be closed.
    pub const CLOSE: u32 = 1 << 3;

    /// Whether a bit is set.
    #[must_use]
    pub fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }
}

/// An answer's head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of Apache's request_rec")]
pub struct ReplyHead<'a> {
    pub flags: HeadFlags,
    pub status: u16,
    /// Code and reason, as in `status_line`.
    pub status_line: Option<&'a [u8]>,
    pub content_type: Option<&'a [u8]>,
    pub content_encoding: Option<&'a [u8]>,
    /// `set_content_length`.
    pub content_length: Option<u64>,
    pub content_languages: Vec<&'a [u8]>,
    /// Modification time (`update_mtime`, `set_last_modified` set the field itself), seconds; 0: none.
    pub mtime: u64,
    pub headers_out: Fields<'a>,
    pub err_headers_out: Fields<'a>,
}

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
    pub(super) const HEAD: u8 = 1;
    pub(super) const BODY: u8 = 2;
    pub(super) const LOG: u8 = 3;
    pub(super) const CHANGES: u8 = 4;
    pub(super) const LOOK_UP: u8 = 5;
    pub(super) const RUN: u8 = 6;
    pub(super) const FINISHED: u8 = 7;
    pub(super) const END: u8 = 8;
    pub(super) const REDIRECT: u8 = 9;
    pub(super) const CONFIGURE: u8 = 10;
    pub(super) const READ_BODY: u8 = 11;
    pub(super) const STANDING: u8 = 12;
}

impl<'a> FromWorker<'a> {
    /// Kind of [`Self::Body`], which may be passed on in pieces.
    pub const BODY: u8 = kind::BODY;
    /// Kind of [`Self::Head`].
    pub const HEAD: u8 = kind::HEAD;
    /// Kind of [`Self::Finished`].
    pub const FINISHED: u8 = kind::FINISHED;
    /// Kind of [`Self::End`].
    pub const END: u8 = kind::END;

    /// Appends the message with its head.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Head(head) => Encoder::message(out, kind::HEAD, |e| head.encode(e)),
            Self::Body(piece) => Encoder::message(out, kind::BODY, |e| e.0.extend_from_slice(piece)),
            Self::Log { severity, virtual_host, text } => Encoder::message(out, kind::LOG, |e| {
                e.u8(*severity as u8);
                e.u8(u8::from(*virtual_host));
                e.bytes(text);
            }),
            Self::Changes(changes) => Encoder::message(out, kind::CHANGES, |e| changes.encode(e)),
            Self::LookUp { method, target, file } => Encoder::message(out, kind::LOOK_UP, |e| {
                e.bytes(method);
                e.bytes(target);
                e.u8(u8::from(*file));
            }),
            Self::Run { target, id, changes } => Encoder::message(out, kind::RUN, |e| {
                e.bytes(target);
                e.u32(*id);
                e.u8(u8::from(changes.is_some()));
                if let Some(changes) = changes {
                    changes.encode(e);
                }
            }),
            Self::Redirect { target } => Encoder::message(out, kind::REDIRECT, |e| e.bytes(target)),
            Self::Configure { text, overrides, phase } => Encoder::message(out, kind::CONFIGURE, |e| {
                e.bytes(text);
                e.u32(*overrides);
                e.u8(*phase);
            }),
            Self::ReadBody(most) => Encoder::message(out, kind::READ_BODY, |e| e.u32(*most)),
            Self::Standing { pushed, stopped } => Encoder::message(out, kind::STANDING, |e| {
                e.u32(pushed.0);
                e.u8(stopped.map_or(NO_PHASE, |phase| phase as u8));
            }),
            Self::Finished(outcome) => Encoder::message(out, kind::FINISHED, |e| outcome.encode(e)),
            Self::End { exits, micros } => Encoder::message(out, kind::END, |e| {
                e.u8(u8::from(*exits));
                e.u32(*micros);
            }),
        }
    }

    /// The message behind a head of this kind.
    ///
    /// # Errors
    /// [`Malformed`], also when bytes are left over.
    pub fn decode(kind: u8, body: &'a [u8]) -> Result<Self, Malformed> {
        let mut d = Decoder(body);
        let message = match kind {
            kind::HEAD => Self::Head(Box::new(ReplyHead::decode(&mut d)?)),
            kind::BODY => return Ok(Self::Body(body)),
            kind::LOG => Self::Log {
                severity: *Severity::ALL.get(usize::from(d.u8()?)).ok_or(Malformed)?,
                virtual_host: d.u8()? == 1,
                text: d.bytes()?,
            },
            kind::CHANGES => Self::Changes(Box::new(Changes::decode(&mut d)?)),
            kind::LOOK_UP => Self::LookUp { method: d.bytes()?, target: d.bytes()?, file: d.u8()? == 1 },
            kind::RUN => Self::Run {
                target: d.bytes()?,
                id: d.u32()?,
                changes: match d.u8()? {
                    0 => None,
                    _ => Some(Box::new(Changes::decode(&mut d)?)),
                },
            },
            kind::REDIRECT => match d.bytes()? {
                target if target.starts_with(b"/") => Self::Redirect { target },
                _ => return Err(Malformed),
            },
            kind::CONFIGURE => Self::Configure { text: d.bytes()?, overrides: d.u32()?, phase: d.u8()? },
            kind::READ_BODY => Self::ReadBody(d.u32()?),
            kind::STANDING => Self::Standing {
                pushed: PhaseSet(d.u32()?),
                stopped: match d.u8()? {
                    NO_PHASE => None,
                    number => Some(*Phase::ALL.get(usize::from(number)).ok_or(Malformed)?),
                },
            },
            kind::FINISHED => Self::Finished(Outcome::decode(&mut d)?),
            kind::END => Self::End { exits: d.u8()? == 1, micros: d.u32()? },
            _ => return Err(Malformed),
        };
        d.end().map(|()| message)
    }
}

fn table<'a>(d: &mut Decoder<'a>) -> Result<Fields<'a>, Malformed> {
    d.fields().and_then(|fields| if fields.len() <= MOST_FIELDS { Ok(fields) } else { Err(Malformed) })
}

impl<'a> Outcome<'a> {
    fn encode(&self, e: &mut Encoder<'_>) {
        let (kind, status, text): (u8, u16, &[u8]) = match self {
            Self::Done => (0, 0, b""),
            Self::Status(status) => (1, *status, b""),
            Self::Declined => (2, 0, b""),
            Self::Redirect(target) => (3, 0, target),
            Self::Broken(why) => (4, 0, why),
            Self::Verdict(said) => (5, *said, b""),
        };
        e.u8(kind);
        e.u16(status);
        e.bytes(text);
    }

    fn decode(d: &mut Decoder<'a>) -> Result<Self, Malformed> {
        match (d.u8()?, d.u16()?, d.bytes()?) {
            (0, ..) => Ok(Self::Done),
            (1, status @ 100..=999, _) => Ok(Self::Status(status)),
            (2, ..) => Ok(Self::Declined),
            (3, _, target) if target.starts_with(b"/") => Ok(Self::Redirect(target)),
            (4, _, why) => Ok(Self::Broken(why)),
            (5, said, _) => Ok(Self::Verdict(said)),
            _ => Err(Malformed),
        }
    }
}

impl<'a> ReplyHead<'a> {
    fn encode(&self, e: &mut Encoder<'_>) {
        e.u32(self.flags.0);
        e.u16(self.status);
        [self.status_line, self.content_type, self.content_encoding].into_iter().for_each(|t| e.optional(t));
        e.u64(self.content_length.map_or(0, |length| length.saturating_add(1)));
        e.u32(self.content_languages.len() as u32);
        self.content_languages.iter().for_each(|language| e.bytes(language));
        e.u64(self.mtime);
        e.fields(&self.headers_out);
        e.fields(&self.err_headers_out);
    }

    fn decode(d: &mut Decoder<'a>) -> Result<Self, Malformed> {
        let flags = HeadFlags(d.u32()?);
        let status = d.u16()?;
        if !(100..=999).contains(&status) {
            return Err(Malformed);
        }
        let (status_line, content_type, content_encoding) = (d.optional()?, d.optional()?, d.optional()?);
        let content_length = d.u64()?.checked_sub(1);
        let languages = d.u32()? as usize;
        if languages > (d.0.len() / 4).min(MOST_FIELDS) {
            return Err(Malformed);
        }
        let content_languages = (0..languages).map(|_| d.bytes()).collect::<Result<_, _>>()?;
        Ok(Self {
            flags,
            status,
            status_line,
            content_type,
            content_encoding,
            content_length,
            content_languages,
            mtime: d.u64()?,
            headers_out: table(d)?,
            err_headers_out: table(d)?,
        })
    }
}

impl<'a> Changes<'a> {
    fn encode(&self, e: &mut Encoder<'_>) {
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

    fn decode(d: &mut Decoder<'a>) -> Result<Self, Malformed> {
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

    fn round_trip(message: &FromWorker<'_>) {
        let mut out = Vec::new();
        message.encode(&mut out);
        let (kind, length) = crate::work::read_head(out[..8].try_into().unwrap()).unwrap();
        assert_eq!(length, out.len() - 8);
        assert_eq!(FromWorker::decode(kind, &out[8..]).as_ref(), Ok(message));
    }

    #[test]
    fn messages_come_back() {
        round_trip(&FromWorker::Head(Box::new(ReplyHead {
            status: 200,
            content_length: Some(0),
            content_languages: vec![b"de"],
            headers_out: vec![(b"A", b"b")],
            ..ReplyHead::default()
        })));
        round_trip(&FromWorker::Body(b"Hello"));
        round_trip(&FromWorker::Log { severity: Severity::Warn, virtual_host: true, text: b"x" });
        round_trip(&FromWorker::Changes(Box::default()));
        round_trip(&FromWorker::Run { target: b"/x", id: 4, changes: None });
        round_trip(&FromWorker::Run { target: b"/x", id: 4, changes: Some(Box::default()) });
        round_trip(&FromWorker::Redirect { target: b"/x?y" });
        round_trip(&FromWorker::Configure { text: b"Require all denied", overrides: 31, phase: 3 });
        round_trip(&FromWorker::ReadBody(8192));
        round_trip(&FromWorker::Standing { pushed: PhaseSet(16), stopped: None });
        round_trip(&FromWorker::Standing { pushed: PhaseSet(0), stopped: Some(Phase::Access) });
        round_trip(&FromWorker::Finished(Outcome::Verdict(4)));
        round_trip(&FromWorker::Finished(Outcome::Redirect(b"/x")));
        round_trip(&FromWorker::End { exits: true, micros: 70_000 });
    }

    #[test]
    fn what_no_worker_should_say_is_malformed() {
        let mut out = Vec::new();
        FromWorker::Finished(Outcome::Status(7)).encode(&mut out);
        assert_eq!(FromWorker::decode(7, &out[8..]), Err(Malformed));
        for (count, is_fine) in [(MOST_FIELDS, true), (MOST_FIELDS + 1, false)] {
            let notes = vec![(&b""[..], &b""[..]); count];
            out.clear();
            FromWorker::Changes(Box::new(Changes { notes, ..Changes::default() })).encode(&mut out);
            assert_eq!(FromWorker::decode(4, &out[8..]).is_ok(), is_fine);
        }
        assert_eq!(FromWorker::decode(99, b""), Err(Malformed));
        assert_eq!(FromWorker::decode(12, &[0, 0, 0, 0, 12]), Err(Malformed), "there is no thirteenth phase");
    }
}
