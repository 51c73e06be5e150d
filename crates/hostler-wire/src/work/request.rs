//! The messages to a worker: the request, its body, configuration.

use super::message;
use crate::codec::{Decoder, Encoder, Fields, Malformed};

/// The name of a protocol by its number (Apache's `proto_num`): `SERVER_PROTOCOL`.
#[must_use]
pub const fn protocol_name(number: u16) -> &'static str {
    const MINOR: [&str; 10] = [
        "HTTP/1.0", "HTTP/1.1", "HTTP/1.2", "HTTP/1.3", "HTTP/1.4", "HTTP/1.5", "HTTP/1.6", "HTTP/1.7",
        "HTTP/1.8", "HTTP/1.9",
    ];
    match number {
        2000.. => "HTTP/2.0",
        1000..1010 => MINOR[(number - 1000) as usize],
        1010.. => "HTTP/1.1",
        _ => "HTTP/0.9",
    }
}

/// From front to worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToWorker<'a> {
    /// Configuration under a number by which later requests of this worker name it.
    Define {
        /// The number.
        id: u32,
        /// A [`super::Directory`], encoded.
        directory: &'a [u8],
    },
    /// A request begins.
    Request(Box<RequestHead<'a>>),
    /// A piece of its body.
    Body(&'a [u8]),
    /// The end of its body; `false`: it broke off (the client is gone, too slow, or over the limit).
    BodyEnd(bool),
    /// No further trip of a request that [`stays`](request_flag::STAYS) comes: the worker cleans up after it.
    Release,
    /// A message that only the engine understands.
    Own(&'a [u8]),
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
    /// There is a body; it comes when it is asked for ([`super::FromWorker::ReadBody`]), also with [`BODY`].
    pub const BODY_ASKED: u32 = 1 << 11;
    /// It stays, as with [`STAYS`], if what comes of it is the status of an error.
    pub const ERRORS_STAY: u32 = 1 << 12;
    /// The scheme of the server's URLs is https, with TLS here or before this server (`ServerName https://…`).
    pub const HTTPS_SCHEME: u32 = 1 << 13;
}

/// Gives the macro that it is called with the fields of a request's head, in the order in which they travel, and their
/// kinds: `u16`, `u32`, `u64`; `text`; `optional` text; a `file`'s facts; a `table` of names and values. The one list of
/// them: the record here, its codec, and the same for engines in C are made of it.
#[macro_export]
macro_rules! request_fields {
    ($with:ident) => {
        $with! {
            /// [`request_flag`]s.
            flags: u32,
            /// Number of the configuration that applies (see [`ToWorker::Define`]).
            directory: u32,
            /// Number of the request in this front, for logs.
            number: u64,
            /// Number of the client's connection in this front.
            connection: u64,
            /// When it was received, microseconds since the epoch.
            time: u64,
            /// Index of the virtual host.
            server: u32,
            /// The number of requests answered on the connection before.
            keepalives: u32,
            /// As HTTP/1.1 = 1001; see [`protocol_name`].
            protocol: u16,
            /// The client's.
            remote_port: u16,
            /// Of the address that the client has connected to.
            local_port: u16,
            /// Port for URLs of this server (`ap_get_server_port`).
            server_port: u16,
            /// As the client has sent it.
            method: text,
            /// The request line.
            the_request: text,
            /// The path, unescaped.
            uri: text,
            /// As the client has sent it.
            unparsed_uri: text,
            /// The query, without `?`.
            args: optional,
            /// The file that the URL maps to.
            filename: text,
            /// The part of the path after the file.
            path_info: text,
            /// The client's word for this server.
            hostname: optional,
            /// Name for URLs of this server (`ap_get_server_name`).
            server_name: text,
            /// The client's address.
            remote_ip: text,
            /// The address that the client has connected to.
            local_ip: text,
            /// The authenticated user.
            user: optional,
            /// How.
            ap_auth_type: optional,
            /// The handler's name.
            handler: optional,
            /// The file's, by its name.
            content_type: optional,
            /// The file's, by its name.
            content_encoding: optional,
            /// The file's, by its name, with commas between.
            content_languages: optional,
            /// `CONTEXT_PREFIX`
            context_prefix: text,
            /// `CONTEXT_DOCUMENT_ROOT`
            context_document_root: text,
            /// The path info as a file, if it was asked for.
            path_translated: optional,
            /// URL of the request that this one was redirected from.
            redirect_url: optional,
            /// Query of that.
            redirect_query: optional,
            /// The id of the request in error logs and pages.
            log_id: text,
            /// The file at `filename`.
            finfo: file,
            /// Header fields.
            headers_in: table,
            /// Variables (`SetEnv` and others).
            subprocess_env: table,
        }
    };
}

/// The same for what stands at a file's name.
#[macro_export]
macro_rules! file_fields {
    ($with:ident) => {
        $with! {
            /// 0: nothing, 1: regular file, 2: directory, 3: something else.
            kind: u8,
            /// Permission bits.
            mode: u32,
            /// Owner.
            uid: u32,
            /// Group.
            gid: u32,
            /// Nanoseconds of the modification time.
            mtime_nsec: u32,
            /// Size, in bytes.
            size: u64,
            /// Device.
            dev: u64,
            /// Inode.
            ino: u64,
            /// Hard links.
            nlink: u64,
            /// Modification time, seconds since the epoch.
            mtime: u64,
            /// Status change time.
            ctime: u64,
            /// Access time.
            atime: u64,
        }
    };
}

macro_rules! define_file {
    ($($(#[$doc:meta])* $name:ident: $kind:ident,)*) => {
        /// The file at [`RequestHead::filename`].
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct FileFacts {
            $($(#[$doc])* pub $name: $kind,)*
        }

        impl FileFacts {
            fn encode(&self, e: &mut Encoder<'_>) {
                $(e.$kind(self.$name);)*
            }

            fn decode(d: &mut Decoder<'_>) -> Result<Self, Malformed> {
                // Evaluated in the order in which they are written here.
                Ok(Self { $($name: d.$kind()?,)* })
            }
        }
    };
}

file_fields!(define_file);

macro_rules! rust_type {
    (text, $life:lifetime) => { &$life [u8] };
    (optional, $life:lifetime) => { Option<&$life [u8]> };
    (file, $life:lifetime) => { FileFacts };
    (table, $life:lifetime) => { Fields<$life> };
    ($number:ident, $life:lifetime) => { $number };
}

macro_rules! encode_field {
    ($e:ident, text, $value:expr) => {
        $e.bytes($value)
    };
    ($e:ident, optional, $value:expr) => {
        $e.optional($value)
    };
    ($e:ident, file, $value:expr) => {
        $value.encode($e)
    };
    ($e:ident, table, $value:expr) => {
        $e.fields(&$value)
    };
    ($e:ident, $number:ident, $value:expr) => {
        $e.$number($value)
    };
}

macro_rules! decode_field {
    ($d:ident, text) => {
        $d.bytes()
    };
    ($d:ident, optional) => {
        $d.optional()
    };
    ($d:ident, file) => {
        FileFacts::decode($d)
    };
    ($d:ident, table) => {
        $d.fields()
    };
    ($d:ident, $number:ident) => {
        $d.$number()
    };
}

macro_rules! define_head {
    ($($(#[$doc:meta])* $name:ident: $kind:ident,)*) => {
        /// A request as the phases before the worker have left it; names are those of Apache's `request_rec` and `conn_rec`.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct RequestHead<'a> {
            $($(#[$doc])* pub $name: rust_type!($kind, 'a),)*
            /// The part that only the engine understands.
            pub own: &'a [u8],
        }

        impl<'a> RequestHead<'a> {
            fn encode_fields(&self, e: &mut Encoder<'_>) {
                $(encode_field!(e, $kind, self.$name);)*
            }

            /// Reads it.
            ///
            /// # Errors
            /// [`Malformed`]
            pub fn decode(d: &mut Decoder<'a>) -> Result<Self, Malformed> {
                // Evaluated in the order in which they are written here.
                Ok(Self { $($name: decode_field!(d, $kind)?,)* own: d.bytes()? })
            }
        }
    };
}

request_fields!(define_head);

impl RequestHead<'_> {
    /// Writes it, with what `own` writes in the place of [`Self::own`].
    pub fn encode_with(&self, e: &mut Encoder<'_>, own: impl FnOnce(&mut Encoder<'_>)) {
        self.encode_fields(e);
        e.nested(own);
    }

    /// Writes it.
    pub fn encode(&self, e: &mut Encoder<'_>) {
        self.encode_fields(e);
        e.bytes(self.own);
    }
}

mod kind {
    pub(super) const DEFINE: u8 = 1;
    pub(super) const REQUEST: u8 = 2;
    pub(super) const BODY: u8 = 3;
    pub(super) const BODY_END: u8 = 4;
    pub(super) const RELEASE: u8 = 5;
    pub(super) const OWN: u8 = 6;
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
    /// Kind of [`Self::Release`].
    pub const RELEASE: u8 = kind::RELEASE;
    /// Kind of [`Self::Own`].
    pub const OWN: u8 = kind::OWN;

    /// Appends the message with its head.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Define { id, directory } => message(out, kind::DEFINE, |e| {
                e.u32(*id);
                e.bytes(directory);
            }),
            Self::Request(head) => message(out, kind::REQUEST, |e| head.encode(e)),
            Self::Body(piece) => message(out, kind::BODY, |e| e.0.extend_from_slice(piece)),
            Self::BodyEnd(complete) => message(out, kind::BODY_END, |e| e.bool(*complete)),
            Self::Release => message(out, kind::RELEASE, |_| ()),
            Self::Own(own) => message(out, kind::OWN, |e| e.0.extend_from_slice(own)),
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
            kind::BODY_END => Self::BodyEnd(d.bool()?),
            kind::RELEASE => Self::Release,
            kind::OWN => return Ok(Self::Own(body)),
            _ => return Err(Malformed),
        };
        d.end().map(|()| message)
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
        if !matches!(message, ToWorker::Body(_) | ToWorker::Own(_) | ToWorker::Release) {
            assert_eq!(ToWorker::decode(kind, &out[8..out.len() - 1]), Err(Malformed));
        }
    }

    #[test]
    fn what_a_worker_is_told_comes_back() {
        let head = RequestHead {
            flags: request_flag::BODY,
            method: b"POST",
            uri: b"/x",
            args: Some(b""),
            headers_in: vec![(b"Host", b"a"), (b"A", b"")],
            finfo: FileFacts { kind: 1, mtime: 5, ..FileFacts::default() },
            own: b"phases",
            ..RequestHead::default()
        };
        round_trip(&ToWorker::Request(Box::new(head)));
        round_trip(&ToWorker::Define { id: 4, directory: b"directory" });
        round_trip(&ToWorker::Body(b"piece"));
        round_trip(&ToWorker::BodyEnd(false));
        round_trip(&ToWorker::Release);
        round_trip(&ToWorker::Own(b"own"));
    }

    #[test]
    fn flags_are_first_and_the_engine_s_own_is_last() {
        let mut out = Vec::new();
        let head = RequestHead { flags: 0x0102_0304, ..RequestHead::default() };
        head.encode_with(&mut Encoder(&mut out), |e| e.u16(0x0506));
        assert_eq!(out[..4], [4, 3, 2, 1], "the gateway and hostler-engine look at them alone");
        assert_eq!(out[out.len() - 6..], [2, 0, 0, 0, 6, 5]);
    }
}
