//! The messages between a PHP worker and the front's module for it while a script runs.

use hostler_wire::codec::{Decoder, Encoder, Fields, Malformed};

/// The state of the cache of compiled scripts, which all workers of a pool share. Sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cache {
    /// All of its memory.
    pub memory: u64,
    /// Of it: used.
    pub used: u64,
    /// Of it: lost to scripts that have changed, until it is emptied.
    pub wasted: u64,
    /// Scripts in it.
    pub scripts: u64,
    /// Names by which they are found.
    pub keys: u64,
    /// The most of these.
    pub most_keys: u64,
    /// The number of hits.
    pub hits: u64,
    /// The number of misses.
    pub misses: u64,
    /// The number of times it was emptied.
    pub restarts: u64,
    /// It takes nothing more.
    pub full: bool,
}

/// A worker's messages beyond a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromPhp<'a> {
    /// The state of the cache.
    Cache(Cache),
    /// Variables and notes for the server's logs (`apache_setenv`, `apache_note`).
    Logged {
        /// Variables.
        variables: Fields<'a>,
        /// Notes.
        notes: Fields<'a>,
    },
    /// A question: what this URL would be (`apache_lookup_uri`). [`ToPhp::Found`] comes back.
    LookUp(&'a [u8]),
    /// A question: this URL's answer is to be a part of the present one (`virtual`). [`ToPhp::Included`] comes back.
    Include(&'a [u8]),
}

impl<'a> FromPhp<'a> {
    const CACHE: u8 = 0;
    const LOGGED: u8 = 1;
    const LOOK_UP: u8 = 2;
    const INCLUDE: u8 = 3;

    /// Writes it.
    pub fn encode(&self, e: &mut Encoder<'_>) {
        match self {
            Self::Cache(cache) => {
                e.u8(Self::CACHE);
                let Cache { memory, used, wasted, scripts, keys, most_keys, hits, misses, restarts, full } =
                    *cache;
                for number in [memory, used, wasted, scripts, keys, most_keys, hits, misses, restarts] {
                    e.u64(number);
                }
                e.bool(full);
            }
            Self::Logged { variables, notes } => {
                e.u8(Self::LOGGED);
                e.fields(variables);
                e.fields(notes);
            }
            Self::LookUp(target) => {
                e.u8(Self::LOOK_UP);
                e.bytes(target);
            }
            Self::Include(target) => {
                e.u8(Self::INCLUDE);
                e.bytes(target);
            }
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`Malformed`], also when bytes are left over.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut d = Decoder(bytes);
        let said = match d.u8()? {
            Self::CACHE => Self::Cache(Cache {
                memory: d.u64()?,
                used: d.u64()?,
                wasted: d.u64()?,
                scripts: d.u64()?,
                keys: d.u64()?,
                most_keys: d.u64()?,
                hits: d.u64()?,
                misses: d.u64()?,
                restarts: d.u64()?,
                full: d.bool()?,
            }),
            Self::LOGGED => Self::Logged { variables: d.fields()?, notes: d.fields()? },
            Self::LOOK_UP => Self::LookUp(d.bytes()?),
            Self::INCLUDE => Self::Include(d.bytes()?),
            _ => return Err(Malformed),
        };
        d.end().map(|()| said)
    }
}

/// A request that another URL would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubRequest<'a> {
    /// 200, or why it would be none.
    pub status: u16,
    /// The request line.
    pub the_request: &'a [u8],
    /// Its method.
    pub method: &'a [u8],
    /// The media type.
    pub content_type: Option<&'a [u8]>,
    /// The handler's name.
    pub handler: Option<&'a [u8]>,
    /// As it was asked for.
    pub unparsed_uri: &'a [u8],
    /// The path.
    pub uri: &'a [u8],
    /// The file.
    pub filename: &'a [u8],
    /// The part of the path after the file.
    pub path_info: &'a [u8],
    /// The query.
    pub args: Option<&'a [u8]>,
    /// When the file was changed, in seconds since the epoch.
    pub mtime: u64,
    /// When the request came.
    pub request_time: u64,
    /// An encoded [`hostler_wire::work::Directory`], if it is a script that the worker which asks may run in the place of its own.
    pub in_place: Option<&'a [u8]>,
}

/// Answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToPhp<'a> {
    /// To [`FromPhp::LookUp`].
    SubRequest(SubRequest<'a>),
    /// To [`FromPhp::Include`]: with this status.
    Included(u16),
}

impl<'a> ToPhp<'a> {
    const FOUND: u8 = 0;
    const INCLUDED: u8 = 1;

    /// Its bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut e = Encoder(&mut bytes);
        match self {
            Self::SubRequest(found) => {
                e.u8(Self::FOUND);
                e.u16(found.status);
                e.bytes(found.the_request);
                e.bytes(found.method);
                e.optional(found.content_type);
                e.optional(found.handler);
                e.bytes(found.unparsed_uri);
                e.bytes(found.uri);
                e.bytes(found.filename);
                e.bytes(found.path_info);
                e.optional(found.args);
                e.u64(found.mtime);
                e.u64(found.request_time);
                e.optional(found.in_place);
            }
            Self::Included(status) => {
                e.u8(Self::INCLUDED);
                e.u16(*status);
            }
        }
        bytes
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`Malformed`], also when bytes are left over.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut d = Decoder(bytes);
        let answer = match d.u8()? {
            Self::FOUND => Self::SubRequest(SubRequest {
                status: d.u16()?,
                the_request: d.bytes()?,
                method: d.bytes()?,
                content_type: d.optional()?,
                handler: d.optional()?,
                unparsed_uri: d.bytes()?,
                uri: d.bytes()?,
                filename: d.bytes()?,
                path_info: d.bytes()?,
                args: d.optional()?,
                mtime: d.u64()?,
                request_time: d.u64()?,
                in_place: d.optional()?,
            }),
            Self::INCLUDED => Self::Included(d.u16()?),
            _ => return Err(Malformed),
        };
        d.end().map(|()| answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_worker_says_comes_back() {
        let cache = Cache { memory: 1, used: 2, restarts: 3, full: true, ..Cache::default() };
        let logged = FromPhp::Logged { variables: vec![(b"A", b"1")], notes: vec![(b"n", b"m")] };
        for said in [FromPhp::Cache(cache), logged, FromPhp::LookUp(b"/a"), FromPhp::Include(b"/b?c")] {
            let mut bytes = Vec::new();
            said.encode(&mut Encoder(&mut bytes));
            assert_eq!(FromPhp::decode(&bytes), Ok(said));
            bytes.push(0);
            assert_eq!(FromPhp::decode(&bytes), Err(Malformed));
        }
        assert_eq!(FromPhp::decode(&[9]), Err(Malformed));
    }

    #[test]
    fn answers_come_back() {
        let found = SubRequest {
            status: 200,
            uri: b"/a",
            args: Some(b"q"),
            in_place: Some(b"d"),
            ..SubRequest::default()
        };
        for answer in [ToPhp::SubRequest(found), ToPhp::Included(404)] {
            let bytes = answer.to_bytes();
            assert_eq!(ToPhp::decode(&bytes), Ok(answer));
            assert_eq!(ToPhp::decode(&bytes[1..]), Err(Malformed));
        }
    }
}
