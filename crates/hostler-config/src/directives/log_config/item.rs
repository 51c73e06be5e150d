//! The meanings of a `%` directive.

/// A `%` directive of a log format, without its modifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// `%a`, with `{c}` the connection's peer rather than mod_remoteip's client.
    ClientIp { peer: bool },
    /// `%A`.
    LocalIp,
    /// `%B`, with `dash` `%b`.
    BodyBytes { dash: bool },
    /// `%{name}C`.
    Cookie(Box<[u8]>),
    /// `%D` and `%T`.
    Duration(Unit),
    /// An argument that its directive does not know: Apache prints it.
    Echo(Box<[u8]>),
    /// `%{name}e`.
    Env(Box<[u8]>),
    /// `%f`.
    Filename,
    /// `%h`.
    RemoteHost { peer: bool },
    /// `%H`.
    Protocol,
    /// `%{name}i`.
    RequestHeader(Box<[u8]>),
    /// `%I`.
    BytesIn,
    /// `%k`.
    KeepAliveRequests,
    /// `%l`.
    RemoteLogname,
    /// `%L`.
    LogId { connection: bool },
    /// `%m`.
    Method,
    /// `%{name}n`.
    Note(Box<[u8]>),
    /// `%{name}o`.
    ResponseHeader(Box<[u8]>),
    /// `%{name}x`, a variable of mod_ssl.
    Ssl(Box<[u8]>),
    /// `%O`.
    BytesOut,
    /// `%p`.
    Port(PortOf),
    /// `%P`.
    Process(ProcessPart),
    /// `%q`.
    Query,
    /// `%r`.
    RequestLine,
    /// `%R`.
    Handler,
    /// `%s`.
    Status,
    /// `%S`.
    BytesBoth,
    /// `%t`.
    Time { end: bool, format: TimeFormat },
    /// `%u`.
    User,
    /// `%U`.
    Path,
    /// `%v`.
    VirtualHost,
    /// `%V`.
    ServerName,
    /// `%X`.
    ConnectionStatus,
    /// `%{name}^ti`.
    RequestTrailer(Box<[u8]>),
    /// `%{name}^to`.
    ResponseTrailer(Box<[u8]>),
    /// `%^FB`.
    TimeToFirstByte,
}

impl Item {
    /// Of which request a directive speaks unless `<` or `>` says so.
    pub(super) fn usual_request(&self) -> Which {
        match self {
            Self::RequestLine
            | Self::Duration(_)
            | Self::Path
            | Self::Status
            | Self::Handler
            | Self::LogId { .. } => Which::First,
            _ => Which::Last,
        }
    }
}

/// After internal redirects there are several requests; a directive means one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// As the client sent it (`%<s`).
    First,
    /// The one that was answered in the end (`%>s`).
    Last,
}

/// Unit of `%D` and `%T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
    Microseconds,
}

/// The port that `%p` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortOf {
    /// The virtual host's (ServerName, Listen).
    Canonical,
    /// The server's end of the connection.
    Local,
    /// The client's end.
    Remote,
}

/// The value that `%P` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessPart {
    Pid,
    Tid,
    HexTid,
}

/// The format of `%t`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TimeFormat {
    /// `[18/Sep/2011:19:18:28 -0400]`.
    Common,
    Seconds,
    Milliseconds,
    Microseconds,
    MillisecondFraction,
    MicrosecondFraction,
    Strftime(Box<[u8]>),
}
