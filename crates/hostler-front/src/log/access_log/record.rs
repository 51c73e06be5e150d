//! A request that took the slow path, as log formats ask about it.
//!
//! After internal redirects there are several requests; a directive means the client's (`%<`) or the one that was
//! answered in the end (`%>`).

use super::{Outcome, clock};
use crate::request::Request;
use crate::request::connection::Peer;
use crate::request::id;
use crate::request::ssl_lookup;
use crate::request::tls_facts;
use crate::request::variables;
use crate::values::table::Table;
use hostler_config::Server;
use hostler_config::directives::log_config::{
    AddressOf, ConnectionStatus, Count, LogRecord, NamedSource, PortOf, Text, Which, Zone,
};
use hostler_config::directives::ssl::Options;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::io::Write as _;
use std::net::IpAddr;
use std::time::SystemTime;

/// Bytes of the longest address as text (`INET6_ADDRSTRLEN`).
const LONGEST_ADDRESS: usize = 46;

/// A finished request.
pub(super) struct Record<'a> {
    request: &'a Request,
    status: u16,
    outcome: &'a Outcome,
    first: &'a Request,
    facts: LineValues,
}

/// Values that are computed at most once for a line, on demand.
#[derive(Default)]
pub(super) struct LineValues {
    remote: OnceCell<(usize, [u8; LONGEST_ADDRESS])>,
    zone: OnceCell<String>,
    ended: OnceCell<i64>,
}

impl LineValues {
    pub(super) fn remote<'a>(&'a self, peer: &'a Peer) -> &'a [u8] {
        if let Some(name) = peer.names.client() {
            return name.as_bytes();
        }
        let (length, text) = self.remote.get_or_init(|| {
            let mut text = [0; LONGEST_ADDRESS];
            let mut rest = &mut text[..];
            let written = write!(rest, "{}", peer.remote.ip());
            debug_assert!(written.is_ok(), "an address is not longer");
            (LONGEST_ADDRESS - rest.len(), text)
        });
        &text[..*length]
    }

    pub(super) fn zone(&self, seconds: i64) -> Zone<'_> {
        let name = self.zone.get_or_init(|| clock::zone_name(seconds));
        Zone { offset: clock::offset(seconds), name }
    }

    fn ended(&self) -> i64 {
        *self.ended.get_or_init(|| clock::micros(SystemTime::now()))
    }
}

impl<'a> Record<'a> {
    pub(super) fn new(request: &'a Request, status: u16, outcome: &'a Outcome) -> Self {
        Self { request, status, outcome, first: request.original(), facts: LineValues::default() }
    }

    fn of(&self, which: Which) -> &'a Request {
        match which {
            Which::First => self.first,
            Which::Last => self.request,
        }
    }

    fn peer(&self) -> &'a Peer {
        &self.request.client.peer
    }

    /// `%{X}o`: fields of errors and of the answer are one header when it is sent.
    fn response_header(&self, name: &[u8], which: Which) -> Option<Cow<'a, [u8]>> {
        let request = self.of(which);
        let (errors, fields) = (&request.reply.err_headers_out, &request.reply.headers_out);
        if name.eq_ignore_ascii_case(b"set-cookie") {
            let both: Vec<&[u8]> = errors.all(name).chain(fields.all(name)).map(|v| &**v).collect();
            return (!both.is_empty()).then(|| Cow::Owned(both.join(&b", "[..])));
        }
        let found = errors.find(name).or_else(|| fields.find(name)).map(|v| Cow::Borrowed(&**v));
        let length = || {
            let length = self.outcome.sent.length.filter(|_| name.eq_ignore_ascii_case(b"content-length"))?;
            Some(Cow::Owned(length.to_string().into_bytes()))
        };
        found.or_else(length)
    }
}

/// A field of a request, several of one name joined.
fn request_header<'a>(fields: &'a Table, name: &[u8]) -> Option<Cow<'a, [u8]>> {
    if fields.count(name) > 1 {
        return fields.joined(name).map(|v| Cow::Owned(v.to_vec()));
    }
    fields.find(name).map(|v| Cow::Borrowed(&**v))
}

fn some(text: &[u8]) -> Option<&[u8]> {
    (!text.is_empty()).then_some(text)
}

/// `%p`: the port that the server goes by, or else the scheme's own.
pub(super) fn canonical_port(server: &Server, peer: &Peer) -> u16 {
    let is_https = peer.tls.is_some() || server.canonical.is_https;
    server.canonical.port.unwrap_or(if is_https { 443 } else { 80 })
}

/// `%{name}x`
pub(super) fn ssl<'a>(peer: &'a Peer, options: &Options, name: &[u8]) -> Option<Cow<'a, [u8]>> {
    tls_facts::value_with(options, peer.tls.as_ref()?, std::str::from_utf8(name).ok()?)
}

/// `%k`. Quirk(apache): a request that is the connection's last doesn't count itself.
pub(super) fn keep_alive_requests(peer: &Peer, kept: bool) -> u64 {
    u64::from(peer.requests.get().saturating_sub(u32::from(!kept)))
}

pub(super) fn port(server: &Server, peer: &Peer, of: PortOf) -> u16 {
    match of {
        PortOf::Canonical => canonical_port(server, peer),
        PortOf::Local => peer.local.port(),
        PortOf::Remote => peer.remote.port(),
    }
}

pub(super) fn address(peer: &Peer, of: AddressOf) -> IpAddr {
    match of {
        AddressOf::Client => peer.remote.ip(),
        AddressOf::Peer => peer.connected.ip(),
        AddressOf::Local => peer.local.ip(),
    }
}

pub(super) fn connection(aborted: bool, kept: bool) -> ConnectionStatus {
    match (aborted, kept) {
        (true, _) => ConnectionStatus::Aborted,
        (false, true) => ConnectionStatus::KeepAlive,
        (false, false) => ConnectionStatus::Close,
    }
}

impl LogRecord for Record<'_> {
    fn text(&self, text: Text, which: Which) -> Option<Cow<'_, [u8]>> {
        let request = self.of(which);
        let owned = |text: String| Cow::Owned(text.into_bytes());
        Some(match text {
            Text::PeerHost if self.peer().connected != self.peer().remote => {
                owned(self.peer().connected.ip().to_string())
            }
            Text::RemoteHost | Text::PeerHost => Cow::Borrowed(self.facts.remote(self.peer())),
            Text::RemoteLogname => return None,
            Text::User => Cow::Borrowed(request.user.as_deref()?),
            Text::RequestLine => Cow::Borrowed(some(&request.client.line)?),
            Text::Path => Cow::Borrowed(some(&request.target.uri)?),
            Text::Query => Cow::Borrowed(request.target.args.as_deref()?),
            Text::Method => Cow::Borrowed(&request.target.method),
            Text::Protocol => Cow::Borrowed(variables::protocol(request).as_bytes()),
            Text::Filename => Cow::Borrowed(some(&request.resource.filename)?),
            Text::Handler => Cow::Borrowed(request.resource.handler.as_deref()?),
            Text::VirtualHost => variables::virtual_host(&request.server, &request.client.peer),
            Text::ServerName => Cow::Owned(variables::server_name(request)),
            Text::RequestLogId => owned(id::was_mentioned(request)?),
            Text::ConnectionLogId => {
                owned(id::was_mentioned(request).map(|_| id::connection_id(self.peer()))?)
            }
        })
    }

    fn named(&self, kind: NamedSource, name: &[u8], which: Which) -> Option<Cow<'_, [u8]>> {
        let request = self.of(which);
        match kind {
            NamedSource::RequestHeader => request_header(&request.target.headers_in, name)
                .or_else(|| request.client.trailers.merged(&request.server, name).map(Cow::Owned)),
            NamedSource::ResponseHeader => self.response_header(name, which),
            NamedSource::RequestTrailer => request.client.trailers.asked(name).map(Cow::Owned),
            NamedSource::ResponseTrailer => request.client.trailers.answered(name).map(Cow::Owned),
            NamedSource::Env => request.env.find(name).map(|v| Cow::Borrowed(&**v)),
            NamedSource::Note => request.notes.find(name).map(|v| Cow::Borrowed(&**v)),
            NamedSource::Ssl => ssl_lookup::value(request, std::str::from_utf8(name).ok()?),
        }
    }

    fn status(&self, which: Which) -> u16 {
        match which {
            Which::First if self.request.prev.is_some() => self.first.reply.status,
            _ => self.status,
        }
    }

    fn count(&self, count: Count) -> Option<u64> {
        Some(match count {
            Count::BodyBytes => self.outcome.sent.body,
            Count::BytesIn => self.outcome.received,
            Count::BytesOut => self.outcome.sent.total,
            Count::KeepAliveRequests => keep_alive_requests(self.peer(), self.outcome.kept),
            Count::Pid => u64::from(self.first.thread.shared.pid),
            Count::Tid => tid(),
            Count::TimeToFirstByte => {
                let noted = self.request.notes.find(crate::log::FIRST_BYTE)?;
                return std::str::from_utf8(noted).ok()?.parse().ok();
            }
        })
    }

    fn address(&self, of: AddressOf) -> Option<IpAddr> {
        Some(address(self.peer(), of))
    }

    fn port(&self, of: PortOf) -> Option<u16> {
        Some(port(&self.request.server, self.peer(), of))
    }

    fn began(&self, which: Which) -> i64 {
        clock::micros(self.of(which).client.received)
    }

    fn ended(&self) -> i64 {
        self.facts.ended()
    }

    fn zone(&self, seconds: i64) -> Zone<'_> {
        self.facts.zone(seconds)
    }

    fn common_time(&self, seconds: i64) -> Option<[u8; 28]> {
        clock::common(seconds)
    }

    fn connection(&self) -> ConnectionStatus {
        connection(self.outcome.aborted, self.outcome.kept)
    }
}

/// The kernel's number of this thread, asked for once.
pub(crate) fn tid() -> u64 {
    thread_local! {
        static TID: u64 = u64::from(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs());
    }
    TID.with(|tid| *tid)
}
