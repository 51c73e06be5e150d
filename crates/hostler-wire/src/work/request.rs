//! What a worker is told: the request, its body, and answers to the worker's questions.

use super::codec::{Decoder, Encoder, Fields, Malformed};
use super::directory::PhaseSet;

/// From front to worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToWorker<'a> {
    /// Configuration ([`super::Directory`], encoded with postcard) under a number by which later requests of this
    /// worker name it.
    Define {
        /// The number.
        id: u32,
        /// The encoded [`super::Directory`].
        directory: &'a [u8],
    },
    /// A request begins.
    Request(Box<RequestHead<'a>>),
    /// A piece of its body.
    Body(&'a [u8]),
    /// The end of its body; `false`: it broke off (the client is gone, too slow, or over the limit).
    BodyEnd(bool),
    /// The answer to a question about a URL: what it maps to, with the status the phases came to in
    /// [`RequestHead::status`].
    Answer {
        /// The number of the sub-request that it is, by which it may be run.
        id: u32,
        /// The request that it would be.
        head: Box<RequestHead<'a>>,
    },
    /// What was asked to be sent as part of the answer (`Run`) has been sent, with this status.
    Ran(u16),
    /// What the configuration has come to with what the program has added: its number (defined before, if need be), or
    /// why nothing was added.
    Configured(Result<u32, &'a [u8]>),
    /// No further trip of a request that [`stays`](request_flag::STAYS) comes: the worker cleans up after it.
    Release,
    /// Run phases of a sub-request before the question that the worker waits with is answered: nested, as part of the
    /// request that is being served. Its answer has a head, a body and a `Finished` of its own, but no `End`.
    Nested(Box<Nested<'a>>),
    /// The next [`Self::Request`] is a part of this one, or goes on in its place: somebody else has answered it.
    Related {
        /// What it is to that.
        role: Role,
        /// That request, as it was left.
        head: Box<RequestHead<'a>>,
    },
}

/// What a request is to another, in the words of `request_rec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The other is a part of it.
    Main,
    /// The other goes on in its place.
    Prev,
    /// It has gone on in the other's place.
    Next,
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

/// Bits of [`RequestHead::flags`].
pub mod request_flag {
    /// TLS.
    pub const TLS: u32 = 1;
    /// Only the head of the answer is sent (HEAD).
    pub const HEAD_ONLY: u32 = 1 << 1;
    /// The request came by an internal redirect.
    pub const REDIRECTED: u32 = 1 << 2;
    /// The request is part of another's answer.
    pub const SUBREQUEST: u32 = 1 << 3;
    /// A body follows.
    pub const BODY: u32 = 1 << 4;
    /// The URL is a proxy's (absolute form).
    pub const PROXY: u32 = 1 << 5;
    /// The connection may be kept.
    pub const KEEP_ALIVE: u32 = 1 << 6;
    /// The client has gone over HTTP/2.
    pub const HTTP_2: u32 = 1 << 7;
    /// Conditional requests are not answered 304 (`no_local_copy`).
    pub const NO_CACHE: u32 = 1 << 8;
    /// The site has a user of its own: scripts that others could have changed are not run (as suexec).
    pub const SUEXEC: u32 = 1 << 9;
    /// This is one trip of several: another [`super::ToWorker::Request`] of the same request follows in the same
    /// conversation, or [`super::ToWorker::Release`]. Until then there is no `End`, and nothing is cleaned up.
    pub const STAYS: u32 = 1 << 10;
    /// There is a body; it comes when it is asked for ([`super::FromWorker::ReadBody`]).
    pub const BODY_ASKED: u32 = 1 << 11;
}

/// What stands at [`RequestHead::filename`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// 0: nothing, 1: regular file, 2: directory, 3: something else.
    pub kind: u8,
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Size, in bytes.
    pub size: u64,
    /// Device.
    pub dev: u64,
    /// Inode.
    pub ino: u64,
    /// Hard links.
    pub nlink: u64,
    /// Modification time, seconds since the epoch.
    pub mtime: u64,
    /// Nanoseconds of it.
    pub mtime_nsec: u32,
    /// Status change time.
    pub ctime: u64,
    /// Access time.
    pub atime: u64,
}

/// A request as the phases before the worker have left it; names are `request_rec`'s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of Apache's request_rec and conn_rec")]
pub struct RequestHead<'a> {
    /// [`request_flag`]s.
    pub flags: u32,
    /// Phases to run.
    pub phases: PhaseSet,
    /// Number of the configuration that applies (see [`ToWorker::Define`]).
    pub directory: u32,
    /// Number of the request in this front, for logs.
    pub number: u64,
    /// Index of the virtual host.
    pub server: u32,
    /// When it was received, microseconds since the epoch.
    pub time: u64,
    /// As HTTP/1.1 = 1001.
    pub protocol: u16,
    pub status: u16,
    pub remote_port: u16,
    pub local_port: u16,
    /// Port for URLs of this server (`ap_get_server_port`).
    pub server_port: u16,
    pub method: &'a [u8],
    /// The request line.
    pub the_request: &'a [u8],
    pub uri: &'a [u8],
    pub unparsed_uri: &'a [u8],
    pub args: Option<&'a [u8]>,
    pub filename: &'a [u8],
    pub path_info: &'a [u8],
    pub hostname: Option<&'a [u8]>,
    /// Name for URLs of this server (`ap_get_server_name`).
    pub server_name: &'a [u8],
    pub remote_ip: &'a [u8],
    pub local_ip: &'a [u8],
    pub user: Option<&'a [u8]>,
    pub ap_auth_type: Option<&'a [u8]>,
    pub handler: Option<&'a [u8]>,
    pub content_type: Option<&'a [u8]>,
    pub content_encoding: Option<&'a [u8]>,
    /// `CONTEXT_PREFIX`
    pub context_prefix: &'a [u8],
    /// `CONTEXT_DOCUMENT_ROOT`
    pub context_document_root: &'a [u8],
    /// The path info as a file, if it was asked for.
    pub path_translated: Option<&'a [u8]>,
    /// URL of the request that this one was redirected from.
    pub redirect_url: Option<&'a [u8]>,
    /// Query of that.
    pub redirect_query: Option<&'a [u8]>,
    /// The id of the request in error logs and pages.
    pub log_id: &'a [u8],
    /// Of an answer that has been sent: code and reason.
    pub status_line: Option<&'a [u8]>,
    /// Of an answer that has been sent: bytes of its body, or, after HEAD, of what it would have been.
    pub bytes_sent: u64,
    /// No phase is run, but a provider asked (`Require`, `AuthBasicProvider`): its kind (`authz`, `authn`), the function's
    /// name and what it is given, with NULs between them. It answers with `Outcome::Verdict`.
    pub provider: Option<&'a [u8]>,
    pub finfo: FileFacts,
    pub headers_in: Fields<'a>,
    pub headers_out: Fields<'a>,
    pub err_headers_out: Fields<'a>,
    pub subprocess_env: Fields<'a>,
    pub notes: Fields<'a>,
}

mod kind {
    pub(super) const DEFINE: u8 = 1;
    pub(super) const REQUEST: u8 = 2;
    pub(super) const BODY: u8 = 3;
    pub(super) const BODY_END: u8 = 4;
    pub(super) const ANSWER: u8 = 5;
    pub(super) const RAN: u8 = 6;
    pub(super) const RELEASE: u8 = 7;
    pub(super) const NESTED: u8 = 8;
    pub(super) const RELATED: u8 = 9;
    pub(super) const CONFIGURED: u8 = 10;
}

impl<'a> ToWorker<'a> {
    /// Kind of [`Self::Define`].
    pub const DEFINE: u8 = kind::DEFINE;
    /// Kind of [`Self::Request`].
    pub const REQUEST: u8 = kind::REQUEST;
    /// Kind of [`Self::Body`], which may be taken in pieces.
    pub const BODY: u8 = kind::BODY;
    /// Kind of [`Self::BodyEnd`].
    pub const BODY_END: u8 = kind::BODY_END;
    /// Kind of [`Self::Answer`].
    pub const ANSWER: u8 = kind::ANSWER;
    /// Kind of [`Self::Ran`].
    pub const RAN: u8 = kind::RAN;
    /// Kind of [`Self::Release`].
    pub const RELEASE: u8 = kind::RELEASE;
    /// Kind of [`Self::Nested`].
    pub const NESTED: u8 = kind::NESTED;
    /// Kind of [`Self::Related`].
    pub const RELATED: u8 = kind::RELATED;
    /// Kind of [`Self::Configured`].
    pub const CONFIGURED: u8 = kind::CONFIGURED;

    /// Appends the message with its head.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Define { id, directory } => Encoder::message(out, kind::DEFINE, |e| {
                e.u32(*id);
                e.bytes(directory);
            }),
            Self::Request(head) => Encoder::message(out, kind::REQUEST, |e| head.encode(e)),
            Self::Body(piece) => Encoder::message(out, kind::BODY, |e| e.0.extend_from_slice(piece)),
            Self::BodyEnd(complete) => Encoder::message(out, kind::BODY_END, |e| e.u8(u8::from(*complete))),
            Self::Answer { id, head } => Encoder::message(out, kind::ANSWER, |e| {
                e.u32(*id);
                head.encode(e);
            }),
            Self::Ran(status) => Encoder::message(out, kind::RAN, |e| e.u16(*status)),
            Self::Configured(outcome) => Encoder::message(out, kind::CONFIGURED, |e| {
                e.u32(outcome.unwrap_or(0));
                e.optional(outcome.err());
            }),
            Self::Release => Encoder::message(out, kind::RELEASE, |_| ()),
            Self::Nested(nested) => Encoder::message(out, kind::NESTED, |e| {
                [nested.id, nested.main, nested.prev].into_iter().for_each(|number| e.u32(number));
                nested.head.encode(e);
            }),
            Self::Related { role, head } => Encoder::message(out, kind::RELATED, |e| {
                e.u8(*role as u8);
                head.encode(e);
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
            kind::DEFINE => Self::Define { id: d.u32()?, directory: d.bytes()? },
            kind::REQUEST => Self::Request(Box::new(RequestHead::decode(&mut d)?)),
            kind::BODY => return Ok(Self::Body(body)),
            kind::BODY_END => Self::BodyEnd(d.u8()? == 1),
            kind::ANSWER => Self::Answer { id: d.u32()?, head: Box::new(RequestHead::decode(&mut d)?) },
            kind::RAN => Self::Ran(d.u16()?),
            kind::CONFIGURED => match (d.u32()?, d.optional()?) {
                (number, None) => Self::Configured(Ok(number)),
                (_, Some(why)) => Self::Configured(Err(why)),
            },
            kind::RELEASE => Self::Release,
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
                    _ => return Err(Malformed),
                };
                Self::Related { role, head: Box::new(RequestHead::decode(&mut d)?) }
            }
            _ => return Err(Malformed),
        };
        d.end().map(|()| message)
    }
}

impl FileFacts {
    fn encode(&self, e: &mut Encoder<'_>) {
        e.u8(self.kind);
        for word in [self.mode, self.uid, self.gid, self.mtime_nsec] {
            e.u32(word);
        }
        for word in [self.size, self.dev, self.ino, self.nlink, self.mtime, self.ctime, self.atime] {
            e.u64(word);
        }
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let kind = d.u8()?;
        let (mode, uid, gid, mtime_nsec) = (d.u32()?, d.u32()?, d.u32()?, d.u32()?);
        let (size, dev, ino, nlink) = (d.u64()?, d.u64()?, d.u64()?, d.u64()?);
        let (mtime, ctime, atime) = (d.u64()?, d.u64()?, d.u64()?);
        Ok(Self { kind, mode, uid, gid, size, dev, ino, nlink, mtime, mtime_nsec, ctime, atime })
    }
}

impl<'a> RequestHead<'a> {
    fn encode(&self, e: &mut Encoder<'_>) {
        e.u32(self.flags);
        e.u32(self.phases.0);
        e.u32(self.directory);
        e.u64(self.number);
        e.u32(self.server);
        e.u64(self.time);
        for port in [self.protocol, self.status, self.remote_port, self.local_port, self.server_port] {
            e.u16(port);
        }
        for text in [self.method, self.the_request, self.uri, self.unparsed_uri] {
            e.bytes(text);
        }
        e.optional(self.args);
        e.bytes(self.filename);
        e.bytes(self.path_info);
        e.optional(self.hostname);
        for text in [self.server_name, self.remote_ip, self.local_ip] {
            e.bytes(text);
        }
        let optional = [self.user, self.ap_auth_type, self.handler, self.content_type, self.content_encoding];
        optional.into_iter().for_each(|text| e.optional(text));
        e.bytes(self.context_prefix);
        e.bytes(self.context_document_root);
        [self.path_translated, self.redirect_url, self.redirect_query]
            .into_iter()
            .for_each(|t| e.optional(t));
        e.bytes(self.log_id);
        e.optional(self.status_line);
        e.u64(self.bytes_sent);
        e.optional(self.provider);
        self.finfo.encode(e);
        for table in
            [&self.headers_in, &self.headers_out, &self.err_headers_out, &self.subprocess_env, &self.notes]
        {
            e.fields(table);
        }
    }

    fn decode(d: &mut Decoder<'a>) -> Result<Self, Malformed> {
        // Fields are evaluated in the order in which they are written here, which is that of `encode`.
        Ok(Self {
            flags: d.u32()?,
            phases: PhaseSet(d.u32()?),
            directory: d.u32()?,
            number: d.u64()?,
            server: d.u32()?,
            time: d.u64()?,
            protocol: d.u16()?,
            status: d.u16()?,
            remote_port: d.u16()?,
            local_port: d.u16()?,
            server_port: d.u16()?,
            method: d.bytes()?,
            the_request: d.bytes()?,
            uri: d.bytes()?,
            unparsed_uri: d.bytes()?,
            args: d.optional()?,
            filename: d.bytes()?,
            path_info: d.bytes()?,
            hostname: d.optional()?,
            server_name: d.bytes()?,
            remote_ip: d.bytes()?,
            local_ip: d.bytes()?,
            user: d.optional()?,
            ap_auth_type: d.optional()?,
            handler: d.optional()?,
            content_type: d.optional()?,
            content_encoding: d.optional()?,
            context_prefix: d.bytes()?,
            context_document_root: d.bytes()?,
            path_translated: d.optional()?,
            redirect_url: d.optional()?,
            redirect_query: d.optional()?,
            log_id: d.bytes()?,
            status_line: d.optional()?,
            bytes_sent: d.u64()?,
            provider: d.optional()?,
            finfo: FileFacts::decode(d)?,
            headers_in: d.fields()?,
            headers_out: d.fields()?,
            err_headers_out: d.fields()?,
            subprocess_env: d.fields()?,
            notes: d.fields()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(message: &ToWorker<'_>) {
        let mut out = Vec::new();
        message.encode(&mut out);
        let (kind, length) = crate::work::read_head(out[..8].try_into().unwrap()).unwrap();
        assert_eq!(length, out.len() - 8);
        assert_eq!(ToWorker::decode(kind, &out[8..]).as_ref(), Ok(message));
    }

    #[test]
    fn what_is_said_of_other_requests_comes_back() {
        let head = RequestHead { uri: b"/part", status: 404, ..RequestHead::default() };
        round_trip(&ToWorker::Nested(Box::new(Nested { id: 3, main: 2, prev: 1, head: head.clone() })));
        round_trip(&ToWorker::Related { role: Role::Next, head: Box::new(head.clone()) });
        round_trip(&ToWorker::Answer { id: 7, head: Box::new(head) });
        round_trip(&ToWorker::Configured(Ok(9)));
        round_trip(&ToWorker::Configured(Err(b"no such directive")));
    }

    #[test]
    fn a_request_comes_back() {
        let head = RequestHead {
            flags: request_flag::BODY,
            method: b"POST",
            uri: b"/x",
            args: Some(b""),
            headers_in: vec![(b"Host", b"a"), (b"A", b"")],
            finfo: FileFacts { kind: 1, mtime: 5, ..FileFacts::default() },
            ..RequestHead::default()
        };
        let message = ToWorker::Request(Box::new(head));
        let mut out = Vec::new();
        message.encode(&mut out);
        let (kind, length) = crate::work::read_head(out[..8].try_into().unwrap()).unwrap();
        assert_eq!(length, out.len() - 8);
        assert_eq!(ToWorker::decode(kind, &out[8..]), Ok(message));
        assert_eq!(ToWorker::decode(kind, &out[8..out.len() - 1]), Err(Malformed));
    }
}
