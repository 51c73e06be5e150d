//! Writing one access log line. Nothing is allocated besides what the caller's buffer needs.

use super::format::{Field, Format, Piece, Zone};
use super::item::{Item, PortOf, ProcessPart, TimeFormat, Unit, Which};
use super::logitem::push_escaped;
use hostler_ssi::time;
use std::borrow::Cow;
use std::io::Write as _;
use std::net::IpAddr;

/// A plain text about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// The client's name, or its address where the name is not known; `%h`.
    RemoteHost,
    /// The same of the connection's peer, `%{c}h`.
    PeerHost,
    /// RFC 1413 identity, `%l`; practically always `None`.
    RemoteLogname,
    /// The authenticated user, `%u`.
    User,
    /// The request line, `%r`.
    RequestLine,
    /// The decoded path, `%U`.
    Path,
    /// The query without its question mark, `%q`.
    Query,
    /// `%m`.
    Method,
    /// `HTTP/1.1`, `%H`.
    Protocol,
    /// The file that the path was mapped to, `%f`.
    Filename,
    /// The handler, `%R`.
    Handler,
    /// ServerName of the virtual host, `%v`.
    VirtualHost,
    /// The name by UseCanonicalName, `%V`.
    ServerName,
    /// The request's id in the error log, `%L`.
    RequestLogId,
    /// The connection's id in the error log, `%{c}L`.
    ConnectionLogId,
}

/// The source of `%{name}x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedSource {
    /// A field of the request's header; several of a name joined with `, `.
    RequestHeader,
    /// A field of the response's header.
    ResponseHeader,
    /// A trailer field of the request.
    RequestTrailer,
    /// A trailer field of the response.
    ResponseTrailer,
    /// The request's environment.
    Env,
    /// The request's notes.
    Note,
    /// A variable of mod_ssl, `%{name}x`.
    Ssl,
}

/// The kind of address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressOf {
    /// The client (after mod_remoteip).
    Client,
    /// The connection's peer.
    Peer,
    /// The server's end.
    Local,
}

/// A number about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Bytes of body sent, without headers.
    BodyBytes,
    /// Bytes received with headers.
    BytesIn,
    /// Bytes sent with headers.
    BytesOut,
    /// Requests served on this connection before this one.
    KeepAliveRequests,
    /// Process id.
    Pid,
    /// Thread id.
    Tid,
    /// Microseconds until the first byte of the answer left.
    TimeToFirstByte,
}

/// The state of the connection (`%X`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionStatus {
    /// Broken off before the answer was complete.
    Aborted,
    /// May be used again.
    KeepAlive,
    /// Closed after the answer.
    Close,
}

/// A finished request, as a log line asks about it. `None` prints as `-`.
pub trait LogRecord {
    /// A text; see [`Text`].
    fn text(&self, text: Text, which: Which) -> Option<Cow<'_, [u8]>>;
    /// A header, trailer, variable or note.
    fn named(&self, kind: NamedSource, name: &[u8], which: Which) -> Option<Cow<'_, [u8]>>;
    /// The status, 0 if there was none.
    fn status(&self, which: Which) -> u16;
    /// A number; see [`Count`].
    fn count(&self, count: Count) -> Option<u64>;
    /// An address.
    fn address(&self, of: AddressOf) -> Option<IpAddr>;
    /// A port.
    fn port(&self, of: PortOf) -> Option<u16>;
    /// Microseconds since 1970 when the request arrived.
    fn began(&self, which: Which) -> i64;
    /// Microseconds since 1970 when its answer was complete.
    fn ended(&self) -> i64;
    /// The local time zone at a moment (seconds since 1970).
    fn zone(&self, seconds: i64) -> Zone<'_>;
    /// A time as `%t` writes it without a format, from a record that has it at hand; `None` has it made.
    fn common_time(&self, _seconds: i64) -> Option<[u8; 28]> {
        None
    }
    /// Returns the state of the connection.
    fn connection(&self) -> ConnectionStatus;
}

impl Format {
    /// Appends the line of a request, line end included.
    pub fn write(&self, record: &impl LogRecord, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Field(field) if field.applies(record) => write_item(field, record, out),
                Piece::Field(_) => out.push(b'-'),
            }
        }
    }
}

impl Field {
    /// Apache asks the last request for its status, whichever request the directive means.
    fn applies(&self, record: &impl LogRecord) -> bool {
        self.statuses.is_empty() || self.statuses.contains(&record.status(Which::Last)) != self.negated
    }
}

fn write_item(field: &Field, record: &impl LogRecord, out: &mut Vec<u8>) {
    let which = field.which;
    match &field.item {
        Item::Cookie(name) => {
            let header = record.named(NamedSource::RequestHeader, b"Cookie", which);
            escaped(header.as_deref().and_then(|header| cookie(header, name)), out);
        }
        Item::Env(name) => named(record, NamedSource::Env, name, which, out),
        Item::Note(name) => named(record, NamedSource::Note, name, which, out),
        Item::Ssl(name) => named(record, NamedSource::Ssl, name, which, out),
        Item::RequestHeader(name) => named(record, NamedSource::RequestHeader, name, which, out),
        Item::RequestTrailer(name) => named(record, NamedSource::RequestTrailer, name, which, out),
        Item::ResponseTrailer(name) => named(record, NamedSource::ResponseTrailer, name, which, out),
        Item::ResponseHeader(name) => response_header(record, name, which, out),
        Item::Time { end, format } => write_time(format, *end, which, record, out),
        Item::Duration(unit) => write_duration(*unit, record.ended() - record.began(which), out),
        Item::Echo(text) => out.extend_from_slice(text),
        item => write_fact(item, which, record, out),
    }
}

/// Directives that are one question to the record.
fn write_fact(item: &Item, which: Which, record: &impl LogRecord, out: &mut Vec<u8>) {
    match item {
        Item::ClientIp { peer: false } => display(record.address(AddressOf::Client), out),
        Item::ClientIp { peer: true } => display(record.address(AddressOf::Peer), out),
        Item::LocalIp => display(record.address(AddressOf::Local), out),
        Item::Port(of) => display(record.port(*of), out),
        Item::Status => display(Some(record.status(which)).filter(|status| *status > 0), out),
        Item::BodyBytes { dash } => {
            let bytes = record.count(Count::BodyBytes).unwrap_or_default();
            display(Some(bytes).filter(|bytes| *bytes > 0 || !dash), out);
        }
        Item::BytesIn => display(record.count(Count::BytesIn), out),
        Item::BytesOut => display(record.count(Count::BytesOut), out),
        Item::BytesBoth => {
            let (received, sent) = (record.count(Count::BytesIn), record.count(Count::BytesOut));
            display(received.zip(sent).map(|(received, sent)| received.saturating_add(sent)), out);
        }
        Item::KeepAliveRequests => display(record.count(Count::KeepAliveRequests), out),
        Item::TimeToFirstByte => display(record.count(Count::TimeToFirstByte), out),
        Item::Process(ProcessPart::Pid) => display(record.count(Count::Pid), out),
        Item::Process(ProcessPart::Tid) => display(record.count(Count::Tid), out),
        Item::Process(ProcessPart::HexTid) => {
            display(record.count(Count::Tid).map(Hex), out);
        }
        Item::ConnectionStatus => out.push(match record.connection() {
            ConnectionStatus::Aborted => b'X',
            ConnectionStatus::KeepAlive => b'+',
            ConnectionStatus::Close => b'-',
        }),
        item => write_text(item, which, record, out),
    }
}

/// A number that prints in hexadecimal.
struct Hex(u64);

impl std::fmt::Display for Hex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

fn write_text(item: &Item, which: Which, record: &impl LogRecord, out: &mut Vec<u8>) {
    let kind = match item {
        Item::RemoteHost { peer: false } => Text::RemoteHost,
        Item::RemoteHost { peer: true } => Text::PeerHost,
        Item::RemoteLogname => Text::RemoteLogname,
        Item::User => Text::User,
        Item::RequestLine => Text::RequestLine,
        Item::Path => Text::Path,
        Item::Query => Text::Query,
        Item::Method => Text::Method,
        Item::Protocol => Text::Protocol,
        Item::Filename => Text::Filename,
        Item::Handler => Text::Handler,
        Item::VirtualHost => Text::VirtualHost,
        Item::ServerName => Text::ServerName,
        Item::LogId { connection: false } => Text::RequestLogId,
        Item::LogId { connection: true } => Text::ConnectionLogId,
        _ => return,
    };
    let value = record.text(kind, which);
    match (kind, value.as_deref()) {
        (Text::User, Some(b"")) => out.extend_from_slice(b"\"\""),
        (Text::Query, None) => {}
        (Text::Query, Some(query)) => {
            out.push(b'?');
            push_escaped(query, out);
        }
        (_, value) => escaped(value, out),
    }
}

fn escaped(value: Option<&[u8]>, out: &mut Vec<u8>) {
    match value {
        Some(value) => push_escaped(value, out),
        None => out.push(b'-'),
    }
}

fn named(record: &impl LogRecord, kind: NamedSource, name: &[u8], which: Which, out: &mut Vec<u8>) {
    escaped(record.named(kind, name, which).as_deref(), out);
}

/// `%{Content-Type}o` leaves the media type's parameters out.
fn response_header(record: &impl LogRecord, name: &[u8], which: Which, out: &mut Vec<u8>) {
    let value = record.named(NamedSource::ResponseHeader, name, which);
    let shown = value.as_deref().map(|value| match value.iter().position(|byte| *byte == b';') {
        Some(end) if name.eq_ignore_ascii_case(b"content-type") => value[..end].trim_ascii_end(),
        _ => value,
    });
    escaped(shown, out);
}

fn display(value: Option<impl std::fmt::Display>, out: &mut Vec<u8>) {
    let written = match value {
        Some(value) => write!(out, "{value}"),
        None => write!(out, "-"),
    };
    debug_assert!(written.is_ok(), "writing to memory cannot fail");
}

fn write_duration(unit: Unit, microseconds: i64, out: &mut Vec<u8>) {
    let divisor = match unit {
        Unit::Seconds => 1_000_000,
        Unit::Milliseconds => 1_000,
        Unit::Microseconds => 1,
    };
    display(Some(microseconds.max(0) / divisor), out);
}

fn write_time(format: &TimeFormat, end: bool, which: Which, record: &impl LogRecord, out: &mut Vec<u8>) {
    let moment = if end { record.ended() } else { record.began(which) };
    let seconds = moment.div_euclid(1_000_000);
    let fraction = moment.rem_euclid(1_000_000);
    let written = match format {
        TimeFormat::Common => {
            if let Some(text) = record.common_time(seconds) {
                return out.extend_from_slice(&text);
            }
            time::format(b"[%d/%b/%Y:%H:%M:%S %z]", &record.zone(seconds).civil(seconds), out);
            Ok(())
        }
        TimeFormat::Strftime(format) => {
            time::format(format, &record.zone(seconds).civil(seconds), out);
            Ok(())
        }
        TimeFormat::Seconds => write!(out, "{seconds}"),
        TimeFormat::Milliseconds => write!(out, "{}", moment.div_euclid(1000)),
        TimeFormat::Microseconds => write!(out, "{moment}"),
        TimeFormat::MillisecondFraction => write!(out, "{:03}", fraction / 1000),
        TimeFormat::MicrosecondFraction => write!(out, "{fraction:06}"),
    };
    debug_assert!(written.is_ok(), "writing to memory cannot fail");
}

/// The value of a cookie of the request, names compared without regard to case as mod_log_config does.
fn cookie<'h>(header: &'h [u8], name: &[u8]) -> Option<&'h [u8]> {
    header.split(|byte| *byte == b';').find_map(|part| {
        let equals = part.iter().position(|byte| *byte == b'=')?;
        let value = part[equals + 1..].trim_ascii();
        let found = part[..equals].trim_ascii().eq_ignore_ascii_case(name) && !value.is_empty();
        found.then_some(value)
    })
}
