//! A `LogFormat` text, compiled once to pieces (mod_log_config and mod_logio, "Custom Log Formats").
//!
//! Only the compiler is here; writing a line is [`super::line`]. Formats say nothing about where the line goes.

use super::item::{Item, PortOf, ProcessPart, TimeFormat, Unit, Which};
use hostler_ssi::time::CivilTime;

/// A compiled format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    pub(super) pieces: Box<[Piece]>,
}

/// One piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Copied as it stands.
    Text(Box<[u8]>),
    /// Asked of the request.
    Field(Field),
}

/// A `%` directive with its modifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) item: Item,
    /// `%200,304...`: only for these statuses; empty: for all.
    pub(super) statuses: Box<[u16]>,
    /// `%!200,304...`: for all but these.
    pub(super) negated: bool,
    /// True if an internal redirect's first or last request is asked.
    pub(super) which: Which,
}

impl Format {
    /// Apache's format when no other is given (Common Log Format).
    pub const COMMON: &'static str = "%h %l %u %t \"%r\" %>s %b";

    /// Compiles a format.
    ///
    /// # Errors
    /// A sentence: a directive that does not exist, or a text that ends within one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let (piece, after) = match rest {
                [b'%', b'%', after @ ..] => (Piece::Text((*b"%").into()), after),
                [b'%', after @ ..] => field(after)?,
                _ => literal(rest),
            };
            push(&mut pieces, piece);
            rest = after;
        }
        push(&mut pieces, Piece::Text((*b"\n").into()));
        Ok(Self { pieces: pieces.into() })
    }

    /// Returns whether a line needs the bytes on the wire (`%I %O %S`), which cost the server some counting.
    #[must_use]
    pub fn counts_wire_bytes(&self) -> bool {
        self.fields().any(|item| matches!(item, Item::BytesIn | Item::BytesOut | Item::BytesBoth))
    }

    /// Returns whether a line needs the client's host name (`%h`, subject to HostnameLookups).
    #[must_use]
    pub fn names_client(&self) -> bool {
        self.fields().any(|item| matches!(item, Item::RemoteHost { .. }))
    }

    /// Returns whether a line tells of fields behind an answer's body (`%{name}^to`), which are known when all of it
    /// has come.
    #[must_use]
    pub fn tells_answer_trailers(&self) -> bool {
        self.fields().any(|item| matches!(item, Item::ResponseTrailer(_)))
    }

    /// Returns whether a line has a variable of mod_ssl's that is about the request, and not about TLS
    /// (`%{REMOTE_ADDR}x`).
    #[must_use]
    pub fn asks_about_request(&self) -> bool {
        let is_of_tls = |name: &[u8]| name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"SSL_"));
        self.fields().any(|item| matches!(item, Item::Ssl(name) if !is_of_tls(name)))
    }

    fn fields(&self) -> impl Iterator<Item = &Item> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Field(field) => Some(&field.item),
            Piece::Text(_) => None,
        })
    }
}

/// Neighbouring texts become one piece.
fn push(pieces: &mut Vec<Piece>, piece: Piece) {
    match (pieces.last_mut(), piece) {
        (Some(Piece::Text(last)), Piece::Text(text)) => *last = [&last[..], &text[..]].concat().into(),
        (_, piece) => pieces.push(piece),
    }
}

/// Text up to the next `%`; `\n`, `\r`, `\t` and `\\` mean what they do in C.
fn literal(text: &[u8]) -> (Piece, &[u8]) {
    let end = text.iter().position(|byte| *byte == b'%').unwrap_or(text.len());
    let mut plain = Vec::with_capacity(end);
    let mut rest = &text[..end];
    while let [byte, after @ ..] = rest {
        let (escaped, used) = match (byte, after.first()) {
            (b'\\', Some(b'\\')) => (b'\\', 2),
            (b'\\', Some(b'r')) => (b'\r', 2),
            (b'\\', Some(b'n')) => (b'\n', 2),
            (b'\\', Some(b't')) => (b'\t', 2),
            _ => (*byte, 1),
        };
        plain.push(escaped);
        rest = &rest[used..];
    }
    (Piece::Text(plain.into()), &text[end..])
}

/// Reads one directive; `text` starts after its `%`.
fn field(text: &[u8]) -> Result<(Piece, &[u8]), String> {
    let (mut statuses, mut negated, mut which, mut argument) = (Vec::new(), false, None, &b""[..]);
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        rest = after;
        match byte {
            b'!' => negated = !negated,
            b'<' => which = Some(Which::First),
            b'>' => which = Some(Which::Last),
            b',' => {}
            b'{' => {
                let end = after.iter().position(|byte| *byte == b'}').unwrap_or(after.len());
                argument = &after[..end];
                rest = after.get(end + 1..).unwrap_or_default();
            }
            b'0'..=b'9' => {
                let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
                statuses.push(status(*byte, &after[..digits]));
                rest = &after[digits..];
            }
            letter => {
                let (item, after) = item(*letter, after, argument)?;
                let which = which.unwrap_or(item.usual_request());
                return Ok((Piece::Field(Field { item, statuses: statuses.into(), negated, which }), after));
            }
        }
    }
    Err("the format ends within a % directive".into())
}

fn status(first: u8, digits: &[u8]) -> u16 {
    let digit = |byte: u8| u16::from(byte - b'0');
    digits.iter().fold(digit(first), |value, byte| value.saturating_mul(10).saturating_add(digit(*byte)))
}

/// Finds the directive of a letter, or of `^` and two letters.
fn item<'t>(letter: u8, after: &'t [u8], argument: &[u8]) -> Result<(Item, &'t [u8]), String> {
    if let (b'^', [first, second, rest @ ..]) = (letter, after) {
        let item = match [*first, *second] {
            [b't', b'i'] => Item::RequestTrailer(argument.into()),
            [b't', b'o'] => Item::ResponseTrailer(argument.into()),
            [b'F', b'B'] => Item::TimeToFirstByte,
            _ => return Err(unknown(&[b'^', *first, *second])),
        };
        return Ok((item, rest));
    }
    let found = addressed(letter, argument).or_else(|| named(letter, argument)).or_else(|| plain(letter));
    found.map(|item| (item, after)).ok_or_else(|| unknown(&[letter]))
}

fn unknown(directive: &[u8]) -> String {
    format!("unknown log directive %{}", String::from_utf8_lossy(directive))
}

/// Directives whose argument chooses between variants. Apache prints an argument that it does not know.
fn addressed(letter: u8, argument: &[u8]) -> Option<Item> {
    let is = |word: &str| argument.eq_ignore_ascii_case(word.as_bytes());
    let echoed = || Item::Echo(argument.into());
    Some(match letter {
        b'a' => Item::ClientIp { peer: is("c") },
        b'h' => Item::RemoteHost { peer: is("c") },
        b'L' => Item::LogId { connection: is("c") },
        b'T' if argument.is_empty() || is("s") => Item::Duration(Unit::Seconds),
        b'T' if is("ms") => Item::Duration(Unit::Milliseconds),
        b'T' if is("us") => Item::Duration(Unit::Microseconds),
        b'p' if argument.is_empty() || is("canonical") => Item::Port(PortOf::Canonical),
        b'p' if is("local") => Item::Port(PortOf::Local),
        b'p' if is("remote") => Item::Port(PortOf::Remote),
        b'P' if argument.is_empty() || is("pid") => Item::Process(ProcessPart::Pid),
        b'P' if is("tid") => Item::Process(ProcessPart::Tid),
        b'P' if is("hextid") => Item::Process(ProcessPart::HexTid),
        b'T' | b'p' | b'P' => echoed(),
        b't' => time(argument),
        _ => return None,
    })
}

/// Directives whose argument is a name.
fn named(letter: u8, argument: &[u8]) -> Option<Item> {
    let name = || argument.into();
    Some(match letter {
        b'C' => Item::Cookie(name()),
        b'e' => Item::Env(name()),
        b'i' => Item::RequestHeader(name()),
        b'n' => Item::Note(name()),
        b'x' => Item::Ssl(name()),
        b'c' => Item::Ssl(old_ssl_name(argument).into()),
        b'o' => Item::ResponseHeader(name()),
        _ => return None,
    })
}

/// The variable behind a name of `%{name}c`, mod_ssl's older form.
fn old_ssl_name(name: &[u8]) -> &'static [u8] {
    match name {
        b"version" => b"SSL_PROTOCOL",
        b"cipher" => b"SSL_CIPHER",
        b"subjectdn" => b"SSL_CLIENT_S_DN",
        b"issuerdn" => b"SSL_CLIENT_I_DN",
        _ => b"",
    }
}

/// Directives without argument.
fn plain(letter: u8) -> Option<Item> {
    Some(match letter {
        b'A' => Item::LocalIp,
        b'B' => Item::BodyBytes { dash: false },
        b'b' => Item::BodyBytes { dash: true },
        b'D' => Item::Duration(Unit::Microseconds),
        b'f' => Item::Filename,
        b'H' => Item::Protocol,
        b'I' => Item::BytesIn,
        b'k' => Item::KeepAliveRequests,
        b'l' => Item::RemoteLogname,
        b'm' => Item::Method,
        b'O' => Item::BytesOut,
        b'q' => Item::Query,
        b'R' => Item::Handler,
        b'r' => Item::RequestLine,
        b'S' => Item::BytesBoth,
        b's' => Item::Status,
        b'U' => Item::Path,
        b'u' => Item::User,
        b'V' => Item::ServerName,
        b'v' => Item::VirtualHost,
        b'X' => Item::ConnectionStatus,
        _ => return None,
    })
}

/// `%t`, `%{end:%H:%M}t`, `%{msec_frac}t`.
fn time(argument: &[u8]) -> Item {
    let prefixed = |word: &[u8]| {
        let rest = argument.strip_prefix(word)?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b":") }
    };
    let (end, format) = match (prefixed(b"begin"), prefixed(b"end")) {
        (Some(format), _) => (false, format),
        (_, Some(format)) => (true, format),
        _ => (false, argument),
    };
    let format = match format {
        b"" => TimeFormat::Common,
        b"sec" => TimeFormat::Seconds,
        b"msec" => TimeFormat::Milliseconds,
        b"usec" => TimeFormat::Microseconds,
        b"msec_frac" => TimeFormat::MillisecondFraction,
        b"usec_frac" => TimeFormat::MicrosecondFraction,
        custom => TimeFormat::Strftime(custom.into()),
    };
    Item::Time { end, format }
}

/// The time zone of a time: seconds east of Greenwich and the zone's name at that moment.
#[derive(Clone, Copy, Debug)]
pub struct Zone<'a> {
    /// Seconds east of Greenwich.
    pub offset: i32,
    /// As `%Z` prints it.
    pub name: &'a str,
}

impl Zone<'_> {
    pub(super) fn civil(&self, seconds: i64) -> CivilTime<'_> {
        CivilTime::new(seconds, self.offset, self.name)
    }
}
