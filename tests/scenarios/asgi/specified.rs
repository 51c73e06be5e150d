//! The specification of ASGI as uvicorn implements it: lifespan, paths as they were sent, as many concurrent requests
//! as there are; and the form of an application's options.

use super::{ANSWER, log_when, needs_python, site};
use crate::tls::{as_client, site_with_clients, virtual_host};
use hostler_tests::{Server, await_that};
use std::time::Duration;

#[test]
fn an_exception_in_lifespan_is_logged_and_the_application_is_served() {
    needs_python!();
    for (lifespan, line) in [
        (
            "raise ValueError('of lifespan')",
            "served without lifespan events: it raised ValueError: of lifespan",
        ),
        ("await receive(); raise KeyError('at startup')", "lifespan.startup: Traceback"),
        (
            "await receive(); await send({'type': 'lifespan.startup.complete'}); raise KeyError('between')",
            "KeyError: 'between'",
        ),
    ] {
        let text = format!(
            "async def app(scope, receive, send):\n    if scope['type'] == 'lifespan':\n        {lifespan}\n    \
             await say(send, 'served')\n"
        );
        let server = site(&text, "").start();
        assert_eq!(server.get("/").text(), "served", "{lifespan}");
        log_when(&server, line);
    }
}

#[test]
fn what_is_sent_of_a_path_stays_in_raw_path() {
    needs_python!();
    let text =
        "async def app(scope, receive, send):\n    await say(send, (scope['path'], scope['raw_path']))\n";
    let config = "AllowEncodedSlashes On\nRewriteEngine On\nRewriteRule ^/old/(.*) /new/$1 [PT]\n";
    let server = site(text, config).start();
    for (target, told) in [
        ("/a//b", "('/a/b', b'/a//b')"),
        ("/a/./b/../c", "('/a/c', b'/a/./b/../c')"),
        ("/a%2Fb//c?d//e", "('/a/b/c', b'/a%2Fb//c')"),
        // What a rule has made is another path.
        ("/old//b%20c", "('/new/b c', b'/new/b%20c')"),
    ] {
        assert_eq!(server.get(target).text(), told, "{target}");
    }
    let whole = "GET http://localhost/a//b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let answer = server.request(whole.as_bytes()).text();
    assert!(answer.contains("b'/a//b'"), "{answer}");
}

#[test]
fn the_value_of_an_option_can_be_quoted() {
    needs_python!();
    let text =
        "async def app(scope, receive, send):\n    await say(send, (scope['root_path'], os.getcwd()))\n";
    for options in
        ["root-path=\"/mounted\" home='@ROOT@/a folder'", "\"root-path=/mounted\" \"home=@ROOT@/a folder\""]
    {
        let config = format!("<Location /in>\nASGIApp app/app.py {options}\n</Location>");
        let server = site(text, &config).file("a folder/x", "").start();
        let folder = server.site().path("a folder");
        assert_eq!(server.get("/in/x").text(), format!("('/mounted', '{}')", folder.display()));
    }
}

/// Connections on which a request waits for an application that has begun to answer.
fn waiting(server: &Server, request: &str, count: usize) -> Vec<std::net::TcpStream> {
    use std::io::{Read, Write};
    let begin = |_| {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", server.port())).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        stream.write_all(request.as_bytes()).expect("it is taken");
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).expect("an answer");
        assert!(answer.ends_with(b" 200") || answer.ends_with(b" 101"), "{}", answer.escape_ascii());
        stream
    };
    (0..count).map(begin).collect()
}

const STAYS: &str = r#"
async def app(scope, receive, send):
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            pass
    elif scope["path"] == "/stays":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": b": begun\n\n", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
    else:
        await say(send, "fine")
"#;

#[test]
fn more_requests_at_a_time_than_any_constant_are_answered() {
    needs_python!();
    let server = site(STAYS, "HostlerConnectionsPerAddress max\n").start();
    assert_eq!(server.get("/").text(), "fine");
    let streams = waiting(&server, "GET /stays HTTP/1.1\r\nHost: x\r\n\r\n", 1300);
    assert_eq!(server.get("/").text(), "fine");
    let upgrade = "GET /socket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    let sockets = waiting(&server, upgrade, 300);
    assert_eq!(server.get("/").text(), "fine");
    drop((streams, sockets));
}

#[test]
fn a_worker_that_runs_out_of_descriptors_lets_further_connections_wait() {
    needs_python!();
    let few = "import resource\n_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n\
               resource.setrlimit(resource.RLIMIT_NOFILE, (48, hard))\n";
    let server = site(&format!("{few}{STAYS}"), "").start();
    assert_eq!(server.get("/").text(), "fine");
    use std::io::{Read, Write};
    let mut streams: Vec<_> = (0..60)
        .map(|_| {
            let mut stream =
                std::net::TcpStream::connect(("127.0.0.1", server.port())).expect("a connection");
            stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
            stream.write_all(b"GET /stays HTTP/1.1\r\nHost: x\r\n\r\n").expect("it is taken");
            stream
        })
        .collect();
    log_when(&server, "no further one can be accepted now: Too many open files");
    // As those go that have an answer, the others get one, in whichever order.
    let is_answered = |mut stream: &std::net::TcpStream| {
        let mut answer = [0; 12];
        stream.set_nonblocking(true).expect("a socket");
        let count = stream.peek(&mut answer).unwrap_or(0);
        if count == answer.len() {
            stream.read_exact(&mut answer).expect("an answer");
            assert!(answer.ends_with(b" 200"), "{}", answer.escape_ascii());
        }
        count == answer.len()
    };
    await_that("all are answered", || {
        streams.retain(|stream| !is_answered(stream));
        streams.is_empty()
    });
    assert_eq!(server.get("/").text(), "fine");
}

#[test]
fn an_application_is_told_of_the_connection_s_tls() {
    needs_python!();
    hostler_tests::needs_program!("/usr/bin/openssl");
    hostler_tests::needs_program!("/usr/bin/curl");
    let text = r#"
async def app(scope, receive, send):
    tls = scope["extensions"]["tls"]
    chain = [pem.split("\n")[0] for pem in tls["client_cert_chain"]]
    await say(send, (sorted(tls), tls["server_cert"].split("\n")[0], chain, tls["client_cert_name"], tls["client_cert_error"],
                     hex(tls["tls_version"]), tls["cipher_suite"] in (0x1301, 0x1302, 0x1303)))
"#;
    let host = "SSLCACertificateFile tls/root.pem\nSSLVerifyClient optional_no_ca\n<Location \"/app\">\nSetHandler asgi\n\
                ASGIApp app/app.py\n</Location>";
    let server = site_with_clients()
        .file("app/app.py", format!("{ANSWER}{text}"))
        .config(&virtual_host("one.test", "one", host))
        .start();
    let keys = "['cipher_suite', 'client_cert_chain', 'client_cert_error', 'client_cert_name', 'server_cert', 'tls_version']";
    let begin = "'-----BEGIN CERTIFICATE-----'";
    for (client, told) in [
        (None, "[], None, None"),
        (Some("alice"), "['-----BEGIN CERTIFICATE-----'], 'CN=alice,O=Test,C=DE', None"),
        (
            Some("eve"),
            "['-----BEGIN CERTIFICATE-----'], 'CN=eve,O=Test,C=DE', 'unable to get local issuer certificate'",
        ),
    ] {
        let answer = as_client(&server, "/app", client, &[]);
        assert_eq!(answer, format!("({keys}, {begin}, {told}, '0x304', True) 200"));
    }
}

#[test]
fn a_client_is_asked_for_a_body_when_the_application_receives_it() {
    needs_python!();
    let text = "
async def app(scope, receive, send):
    size = 0
    if scope['path'] == '/read':
        more = True
        while more:
            message = await receive()
            size += len(message['body'])
            more = message['more_body']
    await say(send, size)
";
    let server = site(text, "").start();
    for (length, body) in
        [("Content-Length: 4", "body"), ("Transfer-Encoding: chunked", "4\r\nbody\r\n0\r\n\r\n")]
    {
        let head = |path: &str| {
            format!("POST {path} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n{length}\r\n\r\n")
        };
        let mut connection = server.connect();
        connection.send(head("/ignore"));
        // The first thing that comes is the answer.
        let response = connection.any_response(false);
        assert_eq!((response.status, response.text().as_str()), (200, "0"), "{}", server.error_log());
        let mut connection = server.connect();
        connection.send(head("/read"));
        assert_eq!(connection.any_response(false).status, 100, "{}", server.error_log());
        connection.send(body);
        let response = connection.any_response(false);
        assert_eq!((response.status, response.text().as_str()), (200, "4"), "{}", server.error_log());
    }
}
