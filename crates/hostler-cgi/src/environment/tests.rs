//! Environments, with the values a running Apache 2.4.71 has shown for the same request.

use super::*;

const REQUEST: Request<'_> = Request {
    method: b"GET",
    protocol: "HTTP/1.1",
    uri: b"/cgi/env/path info",
    request_uri: b"/cgi/env/path%20info?a=b",
    query: b"a=b",
    path_info: b"/path info",
    path_translated: Some(b"/srv/htdocs/path info"),
    script_filename: b"/srv/cgi/env",
    context_prefix: b"/cgi/",
    context_document_root: b"/srv/cgi/",
    document_root: b"/srv/htdocs",
    auth_type: None,
    user: None,
    pass_authorization: false,
    server: Server {
        name: b"127.0.0.1",
        port: 8080,
        scheme: "http",
        address: "127.0.0.1",
        admin: b"[no address given]",
        signature: b"",
        software: b"Hostler",
        path: b"/usr/bin:/bin",
    },
    client: Client { address: "127.0.0.1", port: 43874, host: None, ident: None },
    redirected: None,
};

fn entries(environment: Environment) -> Vec<String> {
    let mut entries: Vec<_> =
        environment.into_entries().into_iter().map(|e| String::from_utf8(e).unwrap()).collect();
    entries.sort();
    entries
}

fn built(request: &Request<'_>, headers: &[(&str, &str)], mut environment: Environment) -> Environment {
    environment.add_common(request, headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())));
    environment.add_cgi(request);
    environment
}

#[test]
fn nothing_becomes_the_namesake_of_another() {
    let mut environment = Environment::new();
    environment.set("GATEWAY?INTERFACE", "own");
    environment.set("GATEWAY_INTERFACE", "CGI/1.1");
    environment.set("a.b", "c");
    assert_eq!(entries(environment), ["GATEWAY_INTERFACE=CGI/1.1", "a_b=c"]);
}

#[test]
fn it_is_apaches() {
    let mut configured = Environment::new();
    configured.set("my.var-x", "dotted");
    configured.set("1abc", "digit");
    configured.set("HTTP_HOST", "overridden");
    let headers = [("Host", "h:8080"), ("X-A_B", "1"), ("X-A-B", "2"), ("x-a-b", "3"), ("Proxy", "x")];
    let expected = "CONTEXT_DOCUMENT_ROOT=/srv/cgi/ CONTEXT_PREFIX=/cgi/ DOCUMENT_ROOT=/srv/htdocs \
        GATEWAY_INTERFACE=CGI/1.1 HTTP_HOST=h:8080 HTTP_X_A_B=2,_3 PATH=/usr/bin:/bin PATH_INFO=/path_info \
        PATH_TRANSLATED=/srv/htdocs/path_info QUERY_STRING=a=b REMOTE_ADDR=127.0.0.1 REMOTE_PORT=43874 \
        REQUEST_METHOD=GET REQUEST_SCHEME=http REQUEST_URI=/cgi/env/path%20info?a=b \
        SCRIPT_FILENAME=/srv/cgi/env SCRIPT_NAME=/cgi/env SERVER_ADDR=127.0.0.1 \
        SERVER_ADMIN=[no_address_given] SERVER_NAME=127.0.0.1 SERVER_PORT=8080 SERVER_PROTOCOL=HTTP/1.1 \
        SERVER_SIGNATURE= SERVER_SOFTWARE=Hostler _abc=digit my_var_x=dotted";
    let got = entries(built(&REQUEST, &headers, configured)).join("\n").replace(' ', "_");
    assert_eq!(got, expected.split_whitespace().collect::<Vec<_>>().join("\n"));
}

#[test]
fn headers_are_joined_and_cookies_in_their_own_way() {
    let headers = [("Cookie", "a=1"), ("Accept", "x"), ("cookie", "b=2"), ("accept", "y")];
    let environment = built(&REQUEST, &headers, Environment::new());
    assert_eq!(environment.value("HTTP_COOKIE"), Some(&b"a=1; b=2"[..]));
    assert_eq!(environment.value("http_accept"), Some(&b"x, y"[..]));
}

#[test]
fn authorization_needs_permission() {
    let headers = [("Authorization", "Basic x")];
    assert_eq!(built(&REQUEST, &headers, Environment::new()).value("HTTP_AUTHORIZATION"), None);
    let passing = Request { pass_authorization: true, ..REQUEST };
    assert!(built(&passing, &headers, Environment::new()).value("HTTP_AUTHORIZATION").is_some());
}

#[test]
fn an_internal_redirect_renames() {
    let first = built(&REQUEST, &[], Environment::new());
    let redirected = Redirected { url: b"/missing", query: Some(b"q"), user: Some(b"alice") };
    let second = built(&Request { redirected: Some(redirected), ..REQUEST }, &[], first.redirected(404));
    for (name, value) in [
        ("REDIRECT_STATUS", "404"),
        ("REDIRECT_URL", "/missing"),
        ("REDIRECT_QUERY_STRING", "q"),
        ("REDIRECT_REMOTE_USER", "alice"),
        ("REDIRECT_SCRIPT_NAME", "/cgi/env"),
        ("SCRIPT_NAME", "/cgi/env"),
    ] {
        assert_eq!(second.value(name), Some(value.as_bytes()), "{name}");
    }
}

#[test]
fn an_included_program_keeps_its_uri_and_the_pages_path_info() {
    let request = Request { protocol: "INCLUDED", uri: b"/cgi/env", path_info: b"/env", ..REQUEST };
    let environment = built(&request, &[], Environment::new());
    assert_eq!(environment.value("SCRIPT_NAME"), Some(&b"/cgi/env"[..]));
    assert_eq!(environment.value("PATH_INFO"), Some(&b"/env"[..]));
}

#[test]
fn entries_can_go_to_execve() {
    let mut environment = Environment::new();
    environment.set("a=b", "1");
    environment.set("", "nameless");
    environment.set("nul", &b"a\0b"[..]);
    environment.set("gone", "x");
    environment.unset("GONE");
    assert_eq!(entries(environment), ["a_b=1", "nul=a"]);
    let named = Request { server: Server { name: b"<a&\">", ..REQUEST.server }, path_info: b"", ..REQUEST };
    let environment = built(&named, &[], Environment::new());
    assert_eq!(environment.value("SERVER_NAME"), Some(&b"&lt;a&amp;&quot;&gt;"[..]));
    assert_eq!(environment.value("PATH_TRANSLATED"), None);
}
