//! The names of Apache's core variables, one table (docs/manual/expr.html#vars). Names are not case
//! sensitive. The `HTTP_*` names are request headers and live in [`header_of`].

/// Declares the enum and its names in one place, so that they cannot disagree.
macro_rules! variables {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// A variable of Apache's core.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Variable {
            $($(#[$doc])* $variant,)+
        }

        impl Variable {
            /// Every variable.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name as an administrator writes it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

variables! {
    /// `GET`, `POST` ...
    RequestMethod = "REQUEST_METHOD",
    /// `http` or `https`.
    RequestScheme = "REQUEST_SCHEME",
    /// The decoded path of the request, without the query.
    RequestUri = "REQUEST_URI",
    /// The file the path was mapped to; before mapping the path itself.
    RequestFilename = "REQUEST_FILENAME",
    /// The client's name where known without a double lookup, else its address.
    RemoteHost = "REMOTE_HOST",
    /// The name RFC 1413 gave; `unknown` or empty in practice.
    RemoteIdent = "REMOTE_IDENT",
    /// The authenticated user.
    RemoteUser = "REMOTE_USER",
    /// ServerAdmin.
    ServerAdmin = "SERVER_ADMIN",
    /// The name for self-referring URLs (UseCanonicalName).
    ServerName = "SERVER_NAME",
    /// The port for self-referring URLs.
    ServerPort = "SERVER_PORT",
    /// `HTTP/1.1`, `HTTP/2.0` ...
    ServerProtocol = "SERVER_PROTOCOL",
    /// Same as `REQUEST_FILENAME`.
    ScriptFilename = "SCRIPT_FILENAME",
    /// The rest of the path after the file.
    PathInfo = "PATH_INFO",
    /// The query without its question mark.
    QueryString = "QUERY_STRING",
    /// `true` in a sub-request, else `false`.
    IsSubreq = "IS_SUBREQ",
    /// DocumentRoot.
    DocumentRoot = "DOCUMENT_ROOT",
    /// The authentication type that was used.
    AuthType = "AUTH_TYPE",
    /// The request line.
    TheRequest = "THE_REQUEST",
    /// The response's media type.
    ContentType = "CONTENT_TYPE",
    /// The response's handler.
    Handler = "HANDLER",
    /// The error log id of the request.
    RequestLogId = "REQUEST_LOG_ID",
    /// Owner of the file.
    ScriptUser = "SCRIPT_USER",
    /// Group of the file.
    ScriptGroup = "SCRIPT_GROUP",
    /// Within SSI the page's path, else the request's.
    DocumentUri = "DOCUMENT_URI",
    /// Modification time of the file as `YYYYMMDDhhmmss`, local time.
    LastModified = "LAST_MODIFIED",
    /// The part of the path that Alias or mod_userdir removed.
    ContextPrefix = "CONTEXT_PREFIX",
    /// The folder that belongs to `CONTEXT_PREFIX`.
    ContextDocumentRoot = "CONTEXT_DOCUMENT_ROOT",
    /// The response's status so far, `200` unless something failed.
    RequestStatus = "REQUEST_STATUS",
    /// The client's address (mod_remoteip applied).
    RemoteAddr = "REMOTE_ADDR",
    /// The client's port.
    RemotePort = "REMOTE_PORT",
    /// `on` or `off`.
    Https = "HTTPS",
    /// `on` or `off`; off for IPv4-mapped addresses.
    Ipv6 = "IPV6",
    /// The error log id of the connection.
    ConnLogId = "CONN_LOG_ID",
    /// The connection's peer address (mod_remoteip not applied).
    ConnRemoteAddr = "CONN_REMOTE_ADDR",
    /// `on` or `off`.
    Http2 = "HTTP2",
    /// Local time, `2026`.
    TimeYear = "TIME_YEAR",
    /// Local time, `01` to `12`.
    TimeMon = "TIME_MON",
    /// Local time, `01` to `31`.
    TimeDay = "TIME_DAY",
    /// Local time, `00` to `23`.
    TimeHour = "TIME_HOUR",
    /// Local time, `00` to `59`.
    TimeMin = "TIME_MIN",
    /// Local time, `00` to `60`.
    TimeSec = "TIME_SEC",
    /// Local time, `0` (Sunday) to `6`.
    TimeWday = "TIME_WDAY",
    /// Local time, `YYYYMMDDhhmmss`.
    Time = "TIME",
    /// The server's banner (ServerTokens).
    ServerSoftware = "SERVER_SOFTWARE",
    /// The major module magic number, `20120211` for Apache 2.4.
    ApiVersion = "API_VERSION",
}

impl Variable {
    /// The variable of this name, in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|variable| variable.name().eq_ignore_ascii_case(name))
    }
}

/// The request header behind an `HTTP_*` variable, in any case. Only these exist; others need `req()`, in rewriting `HTTP:`.
#[must_use]
pub fn header_of(name: &str) -> Option<&'static str> {
    const HEADERS: [(&str, &str); 7] = [
        ("HTTP_USER_AGENT", "User-Agent"),
        ("HTTP_PROXY_CONNECTION", "Proxy-Connection"),
        ("HTTP_REFERER", "Referer"),
        ("HTTP_COOKIE", "Cookie"),
        ("HTTP_FORWARDED", "Forwarded"),
        ("HTTP_HOST", "Host"),
        ("HTTP_ACCEPT", "Accept"),
    ];
    HEADERS.iter().find(|(variable, _)| variable.eq_ignore_ascii_case(name)).map(|(_, header)| *header)
}
