//! The server that a session belongs to: `stickysession`, in a cookie or in the URL.

/// The places that may name a session, and the form of its route there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sticky<'n> {
    /// The name of the cookie (`stickysession`).
    pub cookie: &'n str,
    /// The name of the URL's parameter.
    pub parameter: &'n str,
    /// Behind its first one a value has the route (`stickysessionsep`); `None`: all of the value is the route.
    pub separator: Option<u8>,
    /// A semicolon in the URL begins what is no session's (`scolonpathdelim`).
    pub semicolon: bool,
}

/// A request's session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The route of its server, if its value has one.
    pub route: Option<String>,
    /// The name of the cookie or of the parameter that it was found in.
    pub name: String,
}

/// Longest value that is looked at, in bytes.
const LONGEST: usize = 4096;

/// The session of a request.
#[must_use]
pub fn route_of(url: &[u8], cookies: &[u8], sticky: Sticky<'_>) -> Option<Session> {
    let in_url = parameter(url, sticky.parameter, sticky.semicolon).map(|value| (value, sticky.parameter));
    let in_cookie = || cookie(cookies, sticky.cookie).map(|value| (value, sticky.cookie));
    let (value, name) = in_url.or_else(in_cookie)?;
    let value = &value[..value.len().min(LONGEST)];
    let route = match sticky.separator {
        Some(separator) => memchr::memchr(separator, value).map(|at| &value[at + 1..]),
        None => Some(value),
    };
    let route = route.map(|route| String::from_utf8_lossy(route).into_owned());
    Some(Session { route, name: name.to_owned() })
}

fn parameter<'u>(url: &'u [u8], name: &str, semicolon: bool) -> Option<&'u [u8]> {
    let mut at = 0;
    while let Some(found) = memchr::memmem::find(&url[at..], name.as_bytes()) {
        at += found + name.len();
        if let Some(rest) = url[at..].strip_prefix(b"=").filter(|rest| !rest.is_empty()) {
            let ends = |b: &u8| matches!(b, b'?' | b'&') || (semicolon && *b == b';');
            let value = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
            return (!value.is_empty()).then_some(value);
        }
    }
    None
}

fn cookie<'c>(cookies: &'c [u8], name: &str) -> Option<&'c [u8]> {
    let mut at = 0;
    while let Some(found) = memchr::memmem::find(&cookies[at..], name.as_bytes()) {
        let start = at + found;
        at = start + name.len();
        let is_first = start == 0
            || matches!(cookies[start - 1], b';' | b',')
            || cookies[start - 1].is_ascii_whitespace();
        let rest = cookies[at..].trim_ascii_start();
        if is_first && let Some(value) = rest.strip_prefix(b"=") {
            let end = value.iter().position(|b| matches!(b, b';' | b',')).unwrap_or(value.len());
            return Some(&value[..end]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(url: &str, cookies: &str, semicolon: bool) -> Option<(String, String)> {
        let sticky = Sticky { cookie: "SID", parameter: "sid", separator: Some(b'.'), semicolon };
        let found = route_of(url.as_bytes(), cookies.as_bytes(), sticky)?;
        Some((found.name, found.route.unwrap_or_default()))
    }

    #[test]
    fn a_session_is_in_the_url_or_in_a_cookie() {
        let found = |name: &str, route: &str| Some((name.to_owned(), route.to_owned()));
        assert_eq!(route("/a;sid=x.one?b", "", false), found("sid", "one"));
        assert_eq!(route("/a;sid=x.one;z?b", "", true), found("sid", "one"));
        assert_eq!(route("/a?b=c&sid=x.one.two&d", "SID=y.three", false), found("sid", "one.two"));
        assert_eq!(route("/a", "A=1; SID=x.two; B=2", false), found("SID", "two"));
        assert_eq!(route("/a", "XSID=x.two", false), None);
        assert_eq!(route("/a", "SID=xtwo", false), found("SID", ""));
        assert_eq!(route("/asid", "B=SID", false), None);
    }
    #[test]
    fn a_route_is_behind_the_separator_or_is_all_of_the_value() {
        let of = |separator| {
            let sticky = Sticky { cookie: "SID", parameter: "sid", separator, semicolon: false };
            route_of(b"/", b"SID=x.y!one", sticky).unwrap().route
        };
        assert_eq!(of(Some(b'!')).as_deref(), Some("one"));
        assert_eq!(of(None).as_deref(), Some("x.y!one"));
        assert_eq!(of(Some(b'-')), None);
    }
}
