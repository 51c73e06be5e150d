//! A request that was answered from memory ([`crate::memory::answers`]), as log formats ask about it.

use super::record;
use super::record::LineValues;
use super::{buffers, clock};
use crate::request::Request;
use crate::request::connection::Peer;
use crate::request::looks::Looks;
use crate::request::thread::Thread;
use crate::request::variables;
use crate::values::table::Table;
use bytes::Bytes;
use hostler_config::Server;
use hostler_config::directives::log_config::{
    AddressOf, Condition, ConnectionStatus, Count, LogRecord, NamedSource, PortOf, Text, Which, Zone,
};
use hostler_config::directives::ssl::Options;
use hostler_http1::head::{HTTP_10, Head};
use std::borrow::Cow;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

/// Facts that the first request for a URL found out, and that later ones would find out again.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    path: Vec<u8>,
    /// The query, where it is not the request's own: rules have changed it, or led to another URL.
    query: Option<Option<Bytes>>,
    filename: Vec<u8>,
    handler: Option<Bytes>,
    server_name: Vec<u8>,
    env: Table,
    notes: Table,
    headers_out: Table,
    ssl: Options,
    /// The facts of the client's original request, where rules have redirected it internally.
    first: Option<Box<Facts>>,
}

impl Facts {
    /// `None`: whether a line is written depends on more than the URL.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        let logs = request.thread.shared.logs.access_logs(&request.server);
        if logs.is_empty() {
            return Some(Self::default());
        }
        if logs.iter().any(|log| matches!(log.condition, Some(Condition::Expr(_)))) {
            return None;
        }
        if logs.iter().any(|log| log.format.asks_about_request()) {
            return None;
        }
        // Those are for who has waited for the answer's end.
        if logs.iter().any(|log| log.format.tells_answer_trailers()) {
            return None;
        }
        let first = request.prev.as_ref().map(|_| Box::new(Self::of_one(request.original())));
        Some(Self { first, ..Self::of_one(request) })
    }

    fn of_one(request: &Request) -> Self {
        let mut headers_out = request.reply.err_headers_out.clone();
        for (name, value) in request.reply.headers_out.iter() {
            headers_out.add(name.clone(), value.clone());
        }
        Self {
            path: request.target.uri.clone(),
            query: (request.prev.is_some() || request.all_looks().have(Looks::LINE))
                .then(|| request.target.args.clone()),
            filename: request.resource.filename.clone(),
            handler: request.resource.handler.clone(),
            server_name: variables::server_name(request),
            env: request.env.clone(),
            notes: request.notes.clone(),
            headers_out,
            ssl: request.resource.dir.ssl.options.clone(),
            first: None,
        }
    }
}

/// A request answered from memory.
pub(crate) struct FastRecord<'a> {
    pub(crate) peer: &'a Peer,
    pub(crate) server: &'a Server,
    pub(crate) facts: &'a Facts,
    pub(crate) head: &'a Head,
    pub(crate) buffer: &'a [u8],
    pub(crate) received: SystemTime,
    pub(crate) elapsed: Duration,
    /// Bytes of the body.
    pub(crate) body: u64,
    /// Bytes of head and body.
    pub(crate) sent: u64,
    pub(crate) whole: bool,
    /// The connection stays for another request.
    pub(crate) kept: bool,
    /// The answer's fields, where they are not those of `facts`.
    pub(crate) headers_out: Option<&'a Table>,
}

/// As [`super::write`], for an answer from memory.
pub(crate) fn write_fast(thread: &Thread, record: &FastRecord<'_>) {
    let line = Line { record, pid: thread.shared.pid, shown: LineValues::default() };
    for log in thread.shared.logs.access_logs(record.server) {
        let met = match &log.condition {
            None => true,
            Some(Condition::Env { name, set }) => record.facts.env.contains(name.as_bytes()) == *set,
            Some(Condition::Expr(_)) => false,
        };
        if met {
            buffers::push(thread, log.destination, |out| log.format.write(&line, out));
        }
    }
}

struct Line<'a> {
    record: &'a FastRecord<'a>,
    pid: u32,
    shown: LineValues,
}

impl Line<'_> {
    /// The facts about the request that the client sent, or about the one that was answered.
    fn facts(&self, which: Which) -> &Facts {
        match (which, &self.record.facts.first) {
            (Which::First, Some(first)) => first,
            _ => self.record.facts,
        }
    }

    /// `%{X}o`; the body's length stands in no table.
    fn response_header(&self, name: &[u8], which: Which) -> Option<Cow<'_, [u8]>> {
        if name.eq_ignore_ascii_case(b"content-length") {
            return Some(Cow::Owned(self.record.body.to_string().into_bytes()));
        }
        let fields = match (which, &self.record.facts.first) {
            (Which::First, Some(first)) => &first.headers_out,
            _ => self.record.headers_out.unwrap_or(&self.record.facts.headers_out),
        };
        fields.find(name).map(|value| Cow::Borrowed(&**value))
    }

    fn request_header(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        let FastRecord { head, buffer, .. } = self.record;
        let mut fields = head.fields.iter().filter(|f| f.name.of(buffer).eq_ignore_ascii_case(name));
        let first = fields.next()?.value.of(buffer);
        let mut joined = Cow::Borrowed(first);
        for field in fields {
            let joined = joined.to_mut();
            joined.extend_from_slice(b", ");
            joined.extend_from_slice(field.value.of(buffer));
        }
        Some(joined)
    }
}

impl LogRecord for Line<'_> {
    fn text(&self, text: Text, which: Which) -> Option<Cow<'_, [u8]>> {
        let FastRecord { peer, server, head, buffer, .. } = self.record;
        let facts = self.facts(which);
        Some(match text {
            Text::PeerHost if peer.connected != peer.remote => {
                Cow::Owned(peer.connected.ip().to_string().into_bytes())
            }
            Text::RemoteHost | Text::PeerHost => Cow::Borrowed(self.shown.remote(peer)),
            Text::RequestLine => Cow::Borrowed(head.line.of(buffer)),
            Text::Path => Cow::Borrowed(&facts.path),
            Text::Method => Cow::Borrowed(head.method.of(buffer)),
            Text::Protocol if head.version == HTTP_10 => Cow::Borrowed(b"HTTP/1.0"),
            Text::Protocol => Cow::Borrowed(b"HTTP/1.1"),
            Text::Filename => Cow::Borrowed(&facts.filename),
            Text::Handler => Cow::Borrowed(facts.handler.as_deref()?),
            Text::VirtualHost => variables::virtual_host(server, peer),
            Text::ServerName => Cow::Borrowed(&facts.server_name),
            Text::Query if facts.query.is_some() => Cow::Borrowed(facts.query.as_ref()?.as_deref()?),
            Text::Query => {
                let target = head.target.of(buffer);
                Cow::Borrowed(&target[memchr::memchr(b'?', target)? + 1..])
            }
            // Nobody logs in or fails here.
            Text::RemoteLogname | Text::User | Text::RequestLogId | Text::ConnectionLogId => {
                return None;
            }
        })
    }

    fn named(&self, kind: NamedSource, name: &[u8], which: Which) -> Option<Cow<'_, [u8]>> {
        let facts = self.facts(which);
        match kind {
            NamedSource::RequestHeader => self.request_header(name),
            NamedSource::ResponseHeader => self.response_header(name, which),
            NamedSource::RequestTrailer | NamedSource::ResponseTrailer => None,
            NamedSource::Env => facts.env.find(name).map(|v| Cow::Borrowed(&**v)),
            NamedSource::Note => facts.notes.find(name).map(|v| Cow::Borrowed(&**v)),
            NamedSource::Ssl => record::ssl(self.record.peer, &facts.ssl, name),
        }
    }

    fn status(&self, _: Which) -> u16 {
        200
    }

    fn count(&self, count: Count) -> Option<u64> {
        Some(match count {
            Count::BodyBytes => self.record.body,
            Count::BytesIn => self.record.head.length as u64,
            Count::BytesOut => self.record.sent,
            Count::KeepAliveRequests => record::keep_alive_requests(self.record.peer, self.record.kept),
            Count::Pid => u64::from(self.pid),
            Count::Tid => record::tid(),
            Count::TimeToFirstByte => return None,
        })
    }

    fn address(&self, of: AddressOf) -> Option<IpAddr> {
        Some(record::address(self.record.peer, of))
    }

    fn port(&self, of: PortOf) -> Option<u16> {
        Some(record::port(self.record.server, self.record.peer, of))
    }

    fn began(&self, _: Which) -> i64 {
        clock::micros(self.record.received)
    }

    fn ended(&self) -> i64 {
        clock::micros(self.record.received + self.record.elapsed)
    }

    fn zone(&self, seconds: i64) -> Zone<'_> {
        self.shown.zone(seconds)
    }

    fn common_time(&self, seconds: i64) -> Option<[u8; 28]> {
        clock::common(seconds)
    }

    fn connection(&self) -> ConnectionStatus {
        record::connection(!self.record.whole, self.record.kept)
    }
}
