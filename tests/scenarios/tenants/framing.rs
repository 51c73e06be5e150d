//! Requests whose framing says two things, and whose bodies are requests of their own in some protocol between the front and the
//! programs. Here are the requests, and the programs that Hostler runs itself: each reports what it was asked, and all that it
//! could read. Programs at sockets and other servers are in [`super::smuggling`].

use super::{Attack, Owned, is_long, tenants};
use crate::asgi::needs_python;
use hostler_tests::{Server, needs_php, needs_root};

/// A request of a client's.
pub(super) struct Sent {
    pub(super) bytes: Vec<u8>,
    /// The length of its body; `None`: it is refused.
    pub(super) body: Option<usize>,
}

fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u16).to_be_bytes()[..], text.as_bytes(), b"\0"].concat()
}

/// A piece of a body in AJP; with its length before it, a forward request.
fn of_ajp() -> Vec<u8> {
    let mut all: Vec<u8> = Vec::new();
    for text in ["HTTP/1.1", "/smuggled", "127.0.0.1", "admin", "b.test"] {
        all.extend(string(text));
    }
    all.extend(b"\0\x50\0\0\0\xff");
    // The piece's length, which goes before it, is the packet's kind and the method.
    all.resize(0x0202, 0);
    all
}

/// A whole request of FastCGI.
fn of_fastcgi() -> Vec<u8> {
    let record =
        |kind: u8, content: &[u8]| [&[1, kind, 0, 1, 0, content.len() as u8, 0, 0], content].concat();
    let variables = b"\x0b\x09REQUEST_URI/smuggled\x0e\x03REQUEST_METHODGET";
    [record(1, b"\0\x01\x01\0\0\0\0\0"), record(4, variables), record(4, b""), record(5, b"")].concat()
}

/// A whole request of uwsgi.
fn of_uwsgi() -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat();
    let variables = [text("REQUEST_URI"), text("/smuggled"), text("CONTENT_LENGTH"), text("0")].concat();
    [&b"\0"[..], &(variables.len() as u16).to_le_bytes(), b"\0", &variables].concat()
}

/// A whole request of HTTP/2: the preface, settings, and a block of fields.
fn of_http2() -> Vec<u8> {
    let block = b"\x82\x86\x01\x06b.test\x04\x09/smuggled";
    let head = [0, 0, block.len() as u8, 1, 5, 0, 0, 0, 1];
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", &head[..], block].concat()
}

/// The end of a body and the head of a message, as in channels to workers and in frames of ASGI's link.
fn of_workers() -> Vec<u8> {
    let fields = [&9_u32.to_le_bytes()[..], b"/smuggled"].concat();
    let message = |kind: u8| [&[kind, 0, 0, 0], &(fields.len() as u32).to_le_bytes()[..], &fields].concat();
    (0..=8).flat_map(message).collect()
}

fn bodies() -> [Vec<u8>; 7] {
    [
        of_ajp(),
        b"GET /smuggled HTTP/1.1\r\nHost: b.test\r\n\r\n".to_vec(),
        b"37:CONTENT_LENGTH\x000\0REQUEST_URI\0/smuggled\0,".to_vec(),
        of_fastcgi(),
        of_uwsgi(),
        of_http2(),
        of_workers(),
    ]
}

/// The requests for a target: each body announced in each way.
pub(super) fn requests(target: &str) -> Vec<Sent> {
    let mut all = Vec::new();
    for body in bodies() {
        let chunks = [format!("{:x}\r\n", body.len()).as_bytes(), &body, b"\r\n0\r\n"].concat();
        let chunked = "Transfer-Encoding: chunked\r\n";
        let trailers =
            "Content-Length: 3\r\nTransfer-Encoding: identity\r\nHost: b.test\r\nX-User: mallory\r\n";
        let whole = [&chunks[..], b"\r\n"].concat();
        let with_trailers = [&chunks[..], trailers.as_bytes(), b"\r\n"].concat();
        let length = format!("Content-Length: {}\r\n", body.len());
        let list = format!("Content-Length: {0}, {0}\r\n", body.len());
        let is_sent = Some(body.len());
        let forms = [
            (format!("Connection: Content-Length\r\n{length}"), &body, is_sent),
            (format!("Connection: close, content-length, Transfer-Encoding\r\n{length}"), &body, is_sent),
            (format!("Connection: X-User, Host, Content-Type\r\n{length}"), &body, is_sent),
            (format!("Connection: Transfer-Encoding\r\n{chunked}"), &whole, is_sent),
            (format!("Connection: Content-Length, Host, Cookie\r\n{chunked}"), &whole, is_sent),
            (format!("{chunked}Content-Length: 3\r\n"), &whole, is_sent),
            (
                format!("Connection: Trailer, Content-Length\r\n{chunked}Trailer: Host\r\n"),
                &with_trailers,
                is_sent,
            ),
            (list, &body, None),
            (format!("{length}Content-Length: 0\r\n"), &body, None),
        ];
        for (fields, sent, body) in forms {
            let head = format!("POST {target} HTTP/1.1\r\nHost: a.test\r\nX-User: mallory\r\n{fields}\r\n");
            all.push(Sent { bytes: [head.as_bytes(), sent].concat(), body });
        }
    }
    all
}

/// Their answers: the method, the target, the user, and the bytes that could be read.
const PROGRAMS: [(&str, &str); 6] = [
    (
        "cgi-bin/x.cgi",
        "#!/usr/bin/perl\nmy $n = 0; while (my $r = sysread STDIN, my $b, 9999) { $n += $r }\n\
         print \"Content-Type: text/plain\\n\\n$ENV{REQUEST_METHOD} $ENV{HTTP_HOST} $ENV{HTTP_X_USER} $n\";\n",
    ),
    (
        "htdocs/x.php",
        "<?php $n = strlen(file_get_contents('php://input')); $s = $_SERVER;\n\
         echo \"$s[REQUEST_METHOD] $s[HTTP_HOST] $s[HTTP_X_USER] $n\";",
    ),
    (
        "htdocs/x.pl",
        "my $n = 0; while (my $r = read STDIN, my $b, 9999) { $n += $r }\n\
         print \"Content-Type: text/plain\\n\\n$ENV{REQUEST_METHOD} $ENV{HTTP_HOST} $ENV{HTTP_X_USER} $n\";\n",
    ),
    (
        "app/app.psgi",
        "sub { my $e = shift; my $n = 0; while (my $r = $e->{'psgi.input'}->read(my $b, 9999)) { $n += $r }\n\
         [200, ['Content-Type' => 'text/plain'], [\"$$e{REQUEST_METHOD} $$e{HTTP_HOST} $$e{HTTP_X_USER} $n\"]] }",
    ),
    (
        "app/app.wsgi",
        "def application(e, start):\n    n = len(e['wsgi.input'].read())\n    start('200 OK', [])\n    \
         return [f\"{e['REQUEST_METHOD']} {e['HTTP_HOST']} {e['HTTP_X_USER']} {n}\".encode()]\n",
    ),
    (
        "app/app.py",
        "async def app(scope, receive, send):\n    n, more = 0, True\n    while more:\n        \
         part = await receive()\n        n += len(part.get('body', b''))\n        more = part.get('more_body', False)\n    \
         f = {k.decode(): v.decode() for k, v in scope['headers']}\n    \
         text = f\"{scope['method']} {f['host']} {f['x-user']} {n}\"\n    \
         await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n    \
         await send({'type': 'http.response.body', 'body': text.encode()})\n",
    ),
];

const CONFIG: &str = r#"
RequestHeader set X-User alice
<FilesMatch "\.php$">
SetHandler application/x-httpd-php
</FilesMatch>
<FilesMatch "\.pl$">
SetHandler perl-script
PerlResponseHandler ModPerl::Registry
PerlOptions +ParseHeaders
</FilesMatch>
<Location /psgi>
SetHandler psgi
PSGIApp @ROOT@/a/app/app.psgi
</Location>
WSGIScriptAlias /wsgi @ROOT@/a/app/app.wsgi
WSGIChunkedRequest On
<Location /asgi>
SetHandler asgi
ASGIApp @ROOT@/a/app/app.py
</Location>
ProxyPreserveHost On
ProxyPass /two/ h2c://127.0.0.1:@PORT@/cgi-bin/
"#;

/// The last one goes to a server of HTTP/2.
const TARGETS: [&str; 7] = ["/cgi-bin/x.cgi", "/x.php", "/x.pl", "/psgi", "/wsgi", "/asgi", "/two/x.cgi"];

fn send(server: &Server, target: &str) {
    for Sent { bytes, body } in requests(target) {
        let mut connection = server.connect();
        let request = bytes.escape_ascii().to_string();
        connection.send(bytes);
        let answer = connection.response();
        let context = format!("{target}: {request}\n{}", server.error_log());
        match body {
            Some(length) => {
                assert_eq!(answer.text(), format!("POST a.test alice {length}"), "{context}");
            }
            None => assert_eq!(answer.status, 400, "{context}"),
        }
        let next = server.get_with(target, "Host: a.test\r\n");
        assert_eq!(next.text(), "GET a.test alice 0", "after {context}");
    }
}

#[test]
fn bodies_that_are_requests_of_another_protocol() {
    needs_root!();
    needs_php!();
    needs_python!();
    let site = tenants(CONFIG).config("Protocols h2c http/1.1\n");
    let site = PROGRAMS.iter().fold(site, |site, (name, text)| site.a_script(name, text));
    let server = site.start();
    Attack::new("bodies that a program could take for requests", 32).run(&server, || {
        for _ in 0..if is_long() { 10 } else { 1 } {
            TARGETS.iter().for_each(|target| send(&server, target));
        }
    });
    assert!(!server.access_log().contains("smuggled"), "{}", server.access_log());
}
