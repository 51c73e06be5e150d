//! Programs at sockets and applications of ASGI that answer for a URL, asked without the phases and without tables: byte for
//! byte the same as by the way through all of them, which a `Header` directive keeps all requests on.

use super::servers::{FIELDS, ask};
use hostler_tests::{Site, needs_program};

/// Tells what it was told, with a head that the query names.
const FASTCGI: &str = r#"#!/usr/bin/perl
use FCGI;
my %heads = (
    plain => "Content-Type: text/plain\r\nX-A: 1\r\nX-a: 2\r\n",
    upper => "content-type: TEXT/HTML; Charset=X\r\nX-B: 1\r\nETag: \"x\"\r\nLast-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\nX-C: 2\r\n",
    cookies => "Set-Cookie: a=b\r\nContent-Type: text/plain\r\nSet-Cookie: c=d\r\n",
    status => "Status: 201 Made\r\nContent-Type: text/plain\r\n",
    fine => "Status: 200 Fine\r\nContent-Type: text/plain\r\n",
    ok => "Status: 200 OK\r\nContent-Type: text/plain\r\n",
    closes => "Connection: close\r\nContent-Type: text/plain\r\n",
    trailer => "Trailer: X\r\nTE: x\r\nContent-Type: text/plain\r\n",
    length => "Content-Length: 3\r\nContent-Type: text/plain\r\n",
    moved => "Location: http://other.example/\r\n",
    typeless => "X-A: 1\r\n",
    bad => "Last-Modified: never\r\nContent-Type: text/plain\r\n",
    range => "Content-Range: bytes 0-1/2\r\nContent-Type: text/plain\r\n",
    varies => "Vary: A, B, a\r\nContent-Type: text/plain\r\n",
    line => "Content-Type: text/plain\n",
);
my $request = FCGI::Request();
while ($request->Accept() >= 0) {
    my ($head) = $ENV{QUERY_STRING} =~ /head=(\w+)/;
    my $told = join "\n", map { "$_=$ENV{$_}" } grep { !/^(REMOTE_PORT|SERVER_PORT)$/ } sort keys %ENV;
    print $heads{$head}, ($head eq "line" ? "\n" : "\r\n"), ($head eq "empty" ? "" : $told);
}
"#;

const HEADS: &[&str] = &[
    "plain", "upper", "cookies", "status", "fine", "ok", "closes", "trailer", "length", "moved", "typeless",
    "bad", "range", "varies", "line",
];

#[test]
fn a_fastcgi_program_s_answers_are_the_same_in_memory_s_way() {
    needs_program!("/usr/bin/perl");
    let config = |more: &str| {
        format!(
            "ServerName front.example\nFcgidMaxProcesses 1\nFcgidMinProcessesPerClass 1\n<Directory \"@ROOT@/htdocs\">\n\
             Options +ExecCGI\nSetHandler fcgid-script\n</Directory>\nUseCanonicalPhysicalPort Off\n{more}"
        )
    };
    let site = |more: &str| Site::new().script("htdocs/told.fcgi", FASTCGI).config(&config(more)).start();
    let (fast, slow) = (site(""), site("Header unset X-None\n"));
    let shown = |server: &hostler_tests::Server, target: &str, fields: &str| {
        let root = server.site().root().display().to_string();
        ask(server, target, fields).replace(&root, "ROOT")
    };
    for head in HEADS {
        for fields in FIELDS {
            for more in ["", "&x=%20y"] {
                let target = format!("/told.fcgi?head={head}{more}");
                let expected = shown(&slow, &target, fields);
                for round in 0..3 {
                    assert_eq!(shown(&fast, &target, fields), expected, "{target} {fields:?} {round}");
                }
            }
        }
    }
}

/// Tells its scope, with an answer that the query names.
const ASGI: &str = r#"
HEADS = {
    "plain": (200, [(b"content-type", b"text/plain"), (b"x-a", b"1"), (b"X-A", b"2")]),
    "typeless": (200, [(b"x-a", b"1")]),
    "own": (200, [(b"date", b"never"), (b"server", b"mine"), (b"content-type", b"text/plain")]),
    "types": (200, [(b"content-type", b"text/plain"), (b"content-type", b"text/html")]),
    "closes": (200, [(b"connection", b"close"), (b"content-type", b"text/plain")]),
    "framed": (200, [(b"transfer-encoding", b"chunked"), (b"content-type", b"text/plain")]),
    "varies": (200, [(b"vary", b"A, B, a")]),
    "cookies": (200, [(b"set-cookie", b"a=b"), (b"set-cookie", b"c=d")]),
    "made": (201, []),
    "nothing": (204, []),
    "error": (500, [(b"content-type", b"text/plain")]),
}
async def app(scope, receive, send):
    name = scope["query_string"].decode().split("&")[0].removeprefix("head=")
    told = {key: value for key, value in scope.items() if key not in ("client", "server", "state")}
    body = repr(told).encode()
    if name == "early":
        await send({"type": "http.response.early_hint", "links": [b"</a.css>; rel=preload"]})
    if name == "raises":
        raise ValueError("meant")
    status, headers = HEADS.get(name, (200, []))
    await send({"type": "http.response.start", "status": status, "headers": headers, "trailers": name == "trailers"})
    if name in ("pieces",
        "many", "many"):
        for _ in range(3 if name == "pieces" else 300):
            await send({"type": "http.response.body", "body": b"piece", "more_body": True})
    await send({"type": "http.response.body", "body": b"" if status == 204 else body})
    if name == "trailers":
        await send({"type": "http.response.trailers", "headers": [(b"x-t", b"end")]})
"#;

#[test]
fn an_application_s_answers_are_the_same_in_memory_s_way() {
    needs_program!("/usr/bin/python3");
    let site = |more: &str| {
        let config = format!(
            "<Location \"/\">\nSetHandler asgi\nASGIApp app.py:app\nRequire all granted\n</Location>\n{more}"
        );
        Site::new().file("app.py", ASGI).config(&config).start()
    };
    let (fast, slow) = (site(""), site("Header unset X-None\n"));
    let names = [
        "plain", "typeless", "own", "types", "closes", "framed", "varies", "cookies", "made", "nothing",
        "error", "early", "trailers", "pieces", "raises",
    ];
    for name in names {
        for fields in FIELDS {
            for path in ["/", "/a%20b/c;d", "/x//y"] {
                let target = format!("{path}?head={name}&q=%20");
                // The page of an error tells its own number.
                let shown = |answer: String| if name == "raises" { answer[..12].to_owned() } else { answer };
                let expected = shown(ask(&slow, &target, fields));
                for round in 0..3 {
                    assert_eq!(shown(ask(&fast, &target, fields)), expected, "{target} {fields:?} {round}");
                }
            }
        }
    }
}
