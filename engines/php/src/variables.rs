//! `$_SERVER`: the CGI variables (RFC 3875 §4.1, and what Apache adds) in the order in which Apache sets them, after those
//! that the configuration has set.

use hostler_cgi::{escape_html, script_name};
use hostler_wire::work::{RequestHead, protocol_name, request_flag};
use std::io::Write;

use crate::arena::Arena;
use crate::directory::Directory;
use crate::worker::Server;

/// Writes all of them.
///
/// `server`: with its document root.
pub(crate) fn write(to: &mut Arena, head: &RequestHead<'_>, server: (&Server, &str), directory: &Directory) {
    for (name, value) in &head.subprocess_env {
        to.put(name, value);
    }
    write_fields(to, head, directory.pass_auth);
    write_server(to, head, server, directory);
    write_request(to, head);
}

/// `HTTP_*`, joined where there are several of one name.
fn write_fields(to: &mut Arena, head: &RequestHead<'_>, pass_auth: bool) {
    for (at, (name, value)) in head.headers_in.iter().enumerate() {
        if name.eq_ignore_ascii_case(b"content-type") {
            to.put(b"CONTENT_TYPE", value);
        } else if name.eq_ignore_ascii_case(b"content-length") {
            to.put(b"CONTENT_LENGTH", value);
        } else if is_exported(name, pass_auth)
            && !head.headers_in[..at].iter().any(|other| is_same(other.0, name))
        {
            let variable = to.push_variable(name);
            let separator: &[u8] = if name.eq_ignore_ascii_case(b"cookie") { b"; " } else { b", " };
            let further = head.headers_in[at + 1..].iter().filter(|other| is_same(other.0, name));
            let parts = further.flat_map(|(_, value)| [separator, *value]);
            let joined = to.push_parts(std::iter::once(*value).chain(parts));
            to.pair(variable, joined);
        }
    }
}

fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// Returns whether a field becomes a variable. Other bytes in a name could make it look like another field. `Proxy`
/// would become `HTTP_PROXY`, which programs use as their own setting; credentials are the server's (RFC 3875 §4.1.18)
/// unless `CGIPassAuth` is on.
fn is_exported(name: &[u8], pass_auth: bool) -> bool {
    let is_plain = name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    let is_credential =
        || [&b"authorization"[..], b"proxy-authorization"].iter().any(|field| is_same(field, name));
    is_plain && !is_same(name, b"proxy") && (pass_auth || !is_credential())
}

fn write_server(
    to: &mut Arena,
    head: &RequestHead<'_>,
    (server, document_root): (&Server, &str),
    directory: &Directory,
) {
    if !head.subprocess_env.iter().any(|(name, _)| *name == b"PATH") {
        to.put(b"PATH", &server.path);
    }
    to.put(b"SERVER_SIGNATURE", &directory.signature);
    to.put(b"SERVER_SOFTWARE", server.software.as_bytes());
    // It may come from a Host field, and programs print it into pages.
    if head.server_name.iter().any(|byte| matches!(byte, b'<' | b'>' | b'&' | b'"')) {
        to.put(b"SERVER_NAME", &escape_html(head.server_name));
    } else {
        to.put(b"SERVER_NAME", head.server_name);
    }
    to.put(b"SERVER_ADDR", head.local_ip);
    put_number(to, b"SERVER_PORT", head.server_port);
    to.put(b"REMOTE_ADDR", head.remote_ip);
    to.put(b"DOCUMENT_ROOT", document_root.as_bytes());
    let tls = head.flags & request_flag::TLS != 0;
    let is_https = head.flags & request_flag::HTTPS_SCHEME != 0;
    to.put(b"REQUEST_SCHEME", if is_https { b"https" } else { b"http" });
    if tls {
        to.put(b"HTTPS", b"on");
    }
    to.put(b"CONTEXT_PREFIX", head.context_prefix);
    to.put(b"CONTEXT_DOCUMENT_ROOT", head.context_document_root);
    to.put(b"SERVER_ADMIN", server.admin.as_bytes());
    to.put(b"SCRIPT_FILENAME", head.filename);
    put_number(to, b"REMOTE_PORT", head.remote_port);
    put_some(to, b"REMOTE_USER", head.user);
    put_some(to, b"AUTH_TYPE", head.ap_auth_type);
    put_some(to, b"REDIRECT_URL", head.redirect_url);
    put_some(to, b"REDIRECT_QUERY_STRING", head.redirect_query);
}

fn write_request(to: &mut Arena, head: &RequestHead<'_>) {
    let included = head.flags & request_flag::SUBREQUEST != 0;
    to.put(b"GATEWAY_INTERFACE", b"CGI/1.1");
    to.put(b"SERVER_PROTOCOL", protocol(head, included));
    to.put(b"REQUEST_METHOD", head.method);
    to.put(b"QUERY_STRING", head.args.unwrap_or_default());
    to.put(b"REQUEST_URI", head.unparsed_uri);
    // Quirk(apache): a program included in a page has the page's path info, which is not part of its URI.
    to.put(b"SCRIPT_NAME", if included { head.uri } else { script_name(head.uri, head.path_info) });
    if !head.path_info.is_empty() {
        to.put(b"PATH_INFO", head.path_info);
        put_some(to, b"PATH_TRANSLATED", head.path_translated);
    }
    // mod_php's: the URI with its path info.
    to.put(b"PHP_SELF", head.uri);
}

fn protocol(head: &RequestHead<'_>, included: bool) -> &'static [u8] {
    if included { b"INCLUDED" } else { protocol_name(head.protocol).as_bytes() }
}

fn put_some(to: &mut Arena, name: &[u8], value: Option<&[u8]>) {
    if let Some(value) = value {
        to.put(name, value);
    }
}

fn put_number(to: &mut Arena, name: &[u8], number: u16) {
    let mut digits = [0; 5];
    let mut rest = &mut digits[..];
    // A number of 16 bits has five digits at most.
    let _ = write!(rest, "{number}");
    let left = rest.len();
    to.put(name, &digits[..5 - left]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field_names(headers: Vec<(&[u8], &[u8])>, pass_auth: bool) -> Vec<(String, String)> {
        let mut arena = Arena::default();
        let head = RequestHead { headers_in: headers, ..RequestHead::default() };
        write_fields(&mut arena, &head, pass_auth);
        arena.read()
    }

    #[test]
    fn fields_become_variables() {
        let headers: Vec<(&[u8], &[u8])> = vec![
            (b"Host", b"a"),
            (b"Cookie", b"x=1"),
            (b"X_Forged", b"1"),
            (b"Proxy", b"evil"),
            (b"cookie", b"y=2"),
            (b"Authorization", b"Basic"),
            (b"Content-Type", b"text/plain"),
            (b"Accept", b"a"),
            (b"ACCEPT", b"b"),
        ];
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut expected = vec![
            pair("HTTP_HOST", "a"),
            pair("HTTP_COOKIE", "x=1; y=2"),
            pair("CONTENT_TYPE", "text/plain"),
            pair("HTTP_ACCEPT", "a, b"),
        ];
        assert_eq!(field_names(headers.clone(), false), expected);
        expected.insert(2, pair("HTTP_AUTHORIZATION", "Basic"));
        assert_eq!(field_names(headers, true), expected);
    }

    #[test]
    fn numbers_are_decimal() {
        let mut arena = Arena::default();
        put_number(&mut arena, b"A", 65535);
        put_number(&mut arena, b"B", 0);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(arena.read(), [pair("A", "65535"), pair("B", "0")]);
    }
}
