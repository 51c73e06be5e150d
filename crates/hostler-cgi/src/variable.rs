//! Names of meta-variables: those of RFC 3875 §4.1, Apache's own, and the `HTTP_*` made of request headers.

macro_rules! meta_variables {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A meta-variable with a fixed name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum MetaVariable { $($(#[$doc])* $variant,)* }

        impl MetaVariable {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in a program's environment.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

meta_variables! {
    /// RFC 3875 §4.1.1.
    AuthType = "AUTH_TYPE",
    /// RFC 3875 §4.1.2.
    ContentLength = "CONTENT_LENGTH",
    /// RFC 3875 §4.1.3.
    ContentType = "CONTENT_TYPE",
    /// RFC 3875 §4.1.4.
    GatewayInterface = "GATEWAY_INTERFACE",
    /// RFC 3875 §4.1.5.
    PathInfo = "PATH_INFO",
    /// RFC 3875 §4.1.6.
    PathTranslated = "PATH_TRANSLATED",
    /// RFC 3875 §4.1.7.
    QueryString = "QUERY_STRING",
    /// RFC 3875 §4.1.8.
    RemoteAddr = "REMOTE_ADDR",
    /// RFC 3875 §4.1.9.
    RemoteHost = "REMOTE_HOST",
    /// RFC 3875 §4.1.10.
    RemoteIdent = "REMOTE_IDENT",
    /// RFC 3875 §4.1.11.
    RemoteUser = "REMOTE_USER",
    /// RFC 3875 §4.1.12.
    RequestMethod = "REQUEST_METHOD",
    /// RFC 3875 §4.1.13.
    ScriptName = "SCRIPT_NAME",
    /// RFC 3875 §4.1.14.
    ServerName = "SERVER_NAME",
    /// RFC 3875 §4.1.15.
    ServerPort = "SERVER_PORT",
    /// RFC 3875 §4.1.16.
    ServerProtocol = "SERVER_PROTOCOL",
    /// RFC 3875 §4.1.17.
    ServerSoftware = "SERVER_SOFTWARE",
    /// Apache: the URI prefix of the `Alias` or `ScriptAlias` in use.
    ContextPrefix = "CONTEXT_PREFIX",
    /// Apache: the directory of that prefix.
    ContextDocumentRoot = "CONTEXT_DOCUMENT_ROOT",
    /// Apache.
    DocumentRoot = "DOCUMENT_ROOT",
    /// Apache: where programs are searched.
    Path = "PATH",
    /// Apache: path and query of the URL that led here by internal redirect.
    RedirectUrl = "REDIRECT_URL",
    /// Apache.
    RedirectQueryString = "REDIRECT_QUERY_STRING",
    /// Apache: the status that caused the internal redirect; php-cgi insists on it.
    RedirectStatus = "REDIRECT_STATUS",
    /// Apache.
    RedirectRemoteUser = "REDIRECT_REMOTE_USER",
    /// Apache: the client's port.
    RemotePort = "REMOTE_PORT",
    /// Apache: `http` or `https`.
    RequestScheme = "REQUEST_SCHEME",
    /// Apache: what the client asked for, undecoded, with its query.
    RequestUri = "REQUEST_URI",
    /// Apache: the program's path.
    ScriptFilename = "SCRIPT_FILENAME",
    /// Apache: the server's own address on this connection.
    ServerAddr = "SERVER_ADDR",
    /// Apache: `ServerAdmin`.
    ServerAdmin = "SERVER_ADMIN",
    /// Apache: `ServerSignature`'s line.
    ServerSignature = "SERVER_SIGNATURE",
}

/// The variable that a request header is exported as (RFC 3875 §4.1.18); `None`: it is not exported.
///
/// Apache's rule: only names of letters, digits and `-`, so that `A_B` can't pass for `A-B` (CVE-2015-7519).
/// `Proxy` is dropped: programs take `HTTP_PROXY` for configuration (httpoxy, CVE-2016-5385). `Authorization`
/// and `Proxy-Authorization` are dropped unless `pass_authorization` (`CGIPassAuth`). `Content-Type` and
/// `Content-Length` have names of their own.
#[must_use]
pub fn http_variable(header: &[u8], pass_authorization: bool) -> Option<String> {
    let is = |name: &str| header.eq_ignore_ascii_case(name.as_bytes());
    if is("Content-Type") {
        return Some(MetaVariable::ContentType.name().to_string());
    }
    if is("Content-Length") {
        return Some(MetaVariable::ContentLength.name().to_string());
    }
    let secret = is("Authorization") || is("Proxy-Authorization");
    if header.is_empty() || is("Proxy") || (secret && !pass_authorization) {
        return None;
    }
    let mut name = String::with_capacity(5 + header.len());
    name.push_str("HTTP_");
    for byte in header {
        match byte {
            b'-' => name.push('_'),
            b if b.is_ascii_alphanumeric() => name.push(char::from(b.to_ascii_uppercase())),
            _ => return None,
        }
    }
    Some(name)
}

/// `SCRIPT_NAME`: the decoded URI without the path info at its end.
///
/// The two are compared from their ends, with runs of slashes counting as one, and the cut is made before a
/// slash: Apache's `ap_find_path_info`. If the path info is not the URI's end (a rewritten request), the whole
/// segment where they differ stays.
#[must_use]
pub fn script_name<'a>(uri: &'a [u8], path_info: &[u8]) -> &'a [u8] {
    if path_info.is_empty() {
        return uri;
    }
    let mut kept = uri.len();
    let mut left = path_info.len();
    while kept > 0 && left > 0 && uri[kept - 1] == path_info[left - 1] {
        kept -= 1;
        left -= 1;
        if uri[kept] == b'/' {
            while kept > 0 && uri[kept - 1] == b'/' {
                kept -= 1;
            }
        }
    }
    let from = kept.saturating_sub(1);
    let rest = &uri[from..];
    &uri[..from + rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_become_variables_as_in_apache() {
        let plain = |name: &str| http_variable(name.as_bytes(), false);
        assert_eq!(plain("X-Forwarded-For").as_deref(), Some("HTTP_X_FORWARDED_FOR"));
        assert_eq!(plain("content-type").as_deref(), Some("CONTENT_TYPE"));
        assert_eq!(plain("Content-Length").as_deref(), Some("CONTENT_LENGTH"));
        for dropped in ["X_A", "Proxy", "pRoXy", "Authorization", "Proxy-Authorization", "", "A.B", "\u{e4}"]
        {
            assert_eq!(plain(dropped), None, "{dropped}");
        }
        assert_eq!(http_variable(b"Authorization", true).as_deref(), Some("HTTP_AUTHORIZATION"));
        assert_eq!(http_variable(b"Proxy", true), None);
    }

    #[test]
    fn script_name_is_the_uri_without_path_info() {
        let name = |uri: &'static str, info: &str| {
            String::from_utf8(script_name(uri.as_bytes(), info.as_bytes()).to_vec()).unwrap()
        };
        assert_eq!(name("/cgi/env/a/b", "/a/b"), "/cgi/env");
        assert_eq!(name("/cgi/env", ""), "/cgi/env");
        assert_eq!(name("/cgi/env//a///b", "/a/b"), "/cgi/env");
        assert_eq!(name("/x", "/x"), "");
        assert_eq!(name("/pretty/url", "/other"), "/pretty/url");
        assert_eq!(name("/a/b", "/zb"), "/a");
        assert_eq!(name("", "/a"), "");
        assert_eq!(name("/blog.cgi/blog.cgi", "/blog.cgi"), "/blog.cgi");
    }
}
