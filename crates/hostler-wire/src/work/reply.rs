//! The messages of a worker.

use super::message;
use crate::codec::{Decoder, Encoder, Fields, Malformed};

/// Fields that a table of a worker's may have: what is done with tables takes time that grows faster than they do.
pub const MOST_FIELDS: usize = 2048;

/// From worker to front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromWorker<'a> {
    /// The answer's head; at most once, before any [`Self::Body`].
    Head(Box<ReplyHead<'a>>),
    /// A piece of the answer's body.
    Body(&'a [u8]),
    /// A line for the virtual host's ErrorLog.
    Log {
        /// The severity.
        severity: Severity,
        /// The log: `true` the virtual host's, `false` the main server's.
        virtual_host: bool,
        /// The text.
        text: &'a [u8],
    },
    /// A line that a program has written to its standard error, where it has its place between those that it logs: what comes
    /// by the pipe is read by somebody else, before or after them.
    Printed(&'a [u8]),
    /// The program reads the request's body in a trip that has come without ([`super::request_flag::BODY_ASKED`]).
    /// Answer: `ToWorker::Body` with as many bytes at most, or `ToWorker::BodyEnd`. If the trip has a body
    /// ([`super::request_flag::BODY`]), all of it may follow the first question.
    ReadBody(u32),
    /// A message that only the front's part for this engine understands.
    Own(&'a [u8]),
    /// The answer is complete; nothing but [`Self::Log`] and [`Self::End`] follows.
    Finished(Outcome<'a>),
    /// The worker has done all for this request and takes another.
    End {
        /// It exits after this request, as it was told to (`MaxConnectionsPerChild`, `child_terminate`).
        exits: bool,
        /// The duration of the request, in microseconds, from its arrival at the worker; `u32::MAX`: as much or more.
        micros: u32,
    },
}

/// The outcome of a request.
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
    /// Of a trip that asks for something else than an answer: a number that the front's part for this engine understands.
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
    /// syslog's number; those beyond its ends are the ends.
    #[must_use]
    pub fn numbered(number: i32) -> Self {
        let last = Self::ALL.len() - 1;
        Self::ALL[usize::try_from(number).unwrap_or(0).min(last)]
    }

    /// The first byte of a line on standard error whose writer gives its severity; syslog's number follows, as in the
    /// kernel's log.
    pub const MARK: u8 = 1;

    /// Returns the severity of a line on standard error, and the line itself. A program's line without a mark is an
    /// error.
    #[must_use]
    pub fn of_line(line: &[u8]) -> (Self, &[u8]) {
        match line {
            [Self::MARK, digit @ b'0'..=b'7', rest @ ..] => (Self::numbered((digit - b'0').into()), rest),
            _ => (Self::Error, line),
        }
    }

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

    /// Returns whether a bit is set.
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

mod kind {
    pub(super) const HEAD: u8 = 1;
    pub(super) const BODY: u8 = 2;
    pub(super) const LOG: u8 = 3;
    pub(super) const READ_BODY: u8 = 4;
    pub(super) const OWN: u8 = 5;
    pub(super) const FINISHED: u8 = 6;
    pub(super) const END: u8 = 7;
    pub(super) const PRINTED: u8 = 8;
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
    /// Kind of [`Self::Printed`].
    pub const PRINTED: u8 = kind::PRINTED;
    /// Kind of [`Self::Own`].
    pub const OWN: u8 = kind::OWN;

    /// Appends the message with its head.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Head(head) => message(out, kind::HEAD, |e| head.encode(e)),
            Self::Body(piece) => message(out, kind::BODY, |e| e.0.extend_from_slice(piece)),
            Self::Log { severity, virtual_host, text } => message(out, kind::LOG, |e| {
                e.u8(*severity as u8);
                e.u8(u8::from(*virtual_host));
                e.bytes(text);
            }),
            Self::Printed(line) => message(out, kind::PRINTED, |e| e.0.extend_from_slice(line)),
            Self::ReadBody(most) => message(out, kind::READ_BODY, |e| e.u32(*most)),
            Self::Own(own) => message(out, kind::OWN, |e| e.0.extend_from_slice(own)),
            Self::Finished(outcome) => message(out, kind::FINISHED, |e| outcome.encode(e)),
            Self::End { exits, micros } => message(out, kind::END, |e| {
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
            kind::PRINTED => return Ok(Self::Printed(body)),
            kind::READ_BODY => Self::ReadBody(d.u32()?),
            kind::OWN => return Ok(Self::Own(body)),
            kind::FINISHED => Self::Finished(Outcome::decode(&mut d)?),
            kind::END => Self::End { exits: d.u8()? == 1, micros: d.u32()? },
            _ => return Err(Malformed),
        };
        d.end().map(|()| message)
    }
}

/// A table of a worker's.
///
/// # Errors
/// [`Malformed`], also when it has more than [`MOST_FIELDS`].
pub fn table<'a>(d: &mut Decoder<'a>) -> Result<Fields<'a>, Malformed> {
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
            (1, status @ 200..=999, _) => Ok(Self::Status(status)),
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
    fn a_line_may_say_how_grave_it_is() {
        assert_eq!(Severity::of_line(b"\x016told"), (Severity::Info, &b"told"[..]));
        assert_eq!(Severity::of_line(b"\x010"), (Severity::Emerg, &b""[..]));
        for plain in [&b"6told"[..], b"\x018told", b"\x01", b""] {
            assert_eq!(Severity::of_line(plain), (Severity::Error, plain));
        }
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
        round_trip(&FromWorker::Printed(b"a line"));
        round_trip(&FromWorker::ReadBody(8192));
        round_trip(&FromWorker::Own(b"own"));
        round_trip(&FromWorker::Finished(Outcome::Verdict(4)));
        round_trip(&FromWorker::Finished(Outcome::Redirect(b"/x")));
        round_trip(&FromWorker::End { exits: true, micros: 70_000 });
    }

    #[test]
    fn what_no_worker_should_say_is_malformed() {
        let mut out = Vec::new();
        FromWorker::Finished(Outcome::Status(7)).encode(&mut out);
        assert_eq!(FromWorker::decode(FromWorker::FINISHED, &out[8..]), Err(Malformed));
        for (count, is_fine) in [(MOST_FIELDS, true), (MOST_FIELDS + 1, false)] {
            let headers_out = vec![(&b""[..], &b""[..]); count];
            out.clear();
            FromWorker::Head(Box::new(ReplyHead { status: 200, headers_out, ..ReplyHead::default() }))
                .encode(&mut out);
            assert_eq!(FromWorker::decode(FromWorker::HEAD, &out[8..]).is_ok(), is_fine);
        }
        assert_eq!(FromWorker::decode(99, b""), Err(Malformed));
    }
}
