//! ASGI applications in the site's own Python: HTTP, lifespan, WebSocket, and what goes wrong with them.

mod faults;
mod frameworks;
mod memory;
mod plain;
mod specified;
mod threads;
mod unread;
mod versions;
pub(crate) mod websocket;

use hostler_tests::{Server, Site, await_that};
use std::fs;
use std::time::Duration;

/// The interpreter that is taken where nothing is said.
macro_rules! needs_python {
    () => {
        hostler_tests::needs_program!("/usr/bin/python3")
    };
}
pub(crate) use needs_python;

/// The start of all applications here.
const ANSWER: &str = r#"
import asyncio, os, sys, time
async def say(send, text, status=200, headers=()):
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/plain"), *headers]})
    await send({"type": "http.response.body", "body": str(text).encode()})
"#;

/// A site whose `/` is an application, with further lines of configuration.
fn site(text: &str, config: &str) -> Site {
    let config = format!(
        "<Location \"/\">\nSetHandler asgi\nASGIApp app/app.py\nRequire all granted\n</Location>\n{config}"
    );
    Site::new().file("app/app.py", format!("{ANSWER}{text}")).config(&config)
}

/// The ErrorLog, once this stands in it.
fn log_when(server: &Server, text: &str) -> String {
    server.await_error(text)
}

#[test]
fn an_application_is_told_of_the_request() {
    needs_python!();
    let text = r#"
async def app(scope, receive, send):
    told = {key: scope[key] for key in ("type", "http_version", "method", "scheme", "path", "raw_path", "query_string",
                                        "root_path", "server")}
    told["asgi"] = scope["asgi"]["version"]
    told["headers"] = [pair for pair in scope["headers"] if pair[0] != b"host"]
    told["client"] = scope["client"][0]
    await say(send, "\n".join(f"{key}={value!r}" for key, value in told.items()))
"#;
    let config =
        "<Location /in>\nSetHandler asgi\nASGIApp app/app.py:app\n</Location>\nServerName www.example\n";
    let server = site(text, config).start();
    let answer = server.get_with("/in/a%20%C3%A4?x=%20", "Host: www.example\r\nX-Own: 1\r\nCookie: a=b\r\n");
    let text = answer.text();
    for line in [
        "type='http'",
        "http_version='1.1'",
        "method='GET'",
        "scheme='http'",
        "path='/in/a \u{e4}'",
        "raw_path=b'/in/a%20%C3%A4'",
        "query_string=b'x=%20'",
        "root_path='/in'",
        "asgi='3.0'",
        "(b'x-own', b'1')",
        "(b'cookie', b'a=b')",
        "client='127.0.0.1'",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(text.contains(&format!("server=('127.0.0.1', {})", server.port())), "{text}");
    assert!(server.get("/").text().contains("root_path=''"));
    // Fields that come several times are told of several times, in their order.
    let twice = server
        .get_with("/in/", "Host: www.example\r\nX-Own: 1\r\nCookie: a=b\r\nx-own: 2\r\nCookie: c=d\r\n")
        .text();
    let fields = "(b'x-own', b'1'), (b'x-own', b'2'), (b'cookie', b'a=b'), (b'cookie', b'c=d')";
    assert!(twice.contains(fields), "{twice}");
}

#[test]
fn a_slash_that_is_left_as_it_was_is_told_as_it_was_sent() {
    needs_python!();
    let text =
        "async def app(scope, receive, send):\n    await say(send, (scope['path'], scope['raw_path']))\n";
    let server = site(text, "AllowEncodedSlashes NoDecode\n").start();
    assert_eq!(server.get("/a%2Fb%20%c3%a4").text(), "('/a%2Fb \u{e4}', b'/a%2Fb%20%c3%a4')");
    let rules = "AllowEncodedSlashes NoDecode\nRewriteEngine On\nRewriteRule ^/old/(.*) /new/$1 [PT]\n";
    let server = site(text, rules).start();
    assert_eq!(server.get("/old/a%2Fb%20c").text(), "('/new/a%2Fb c', b'/new/a%2Fb%20c')");
}

#[test]
fn what_the_document_root_has_is_nothing_to_an_application() {
    needs_python!();
    let text = "async def app(scope, receive, send):\n    await say(send, scope['path'])\n";
    let mapped = "<Location /mapped>\nDirectoryCheckHandler Off\n</Location>\n\
                  <Location /files>\nSetHandler None\n</Location>\n";
    let server = site(text, mapped)
        .file("htdocs/index.html", "no")
        .file("htdocs/docs/index.html", "no")
        .file("htdocs/mapped/index.html", "no")
        .file("htdocs/files/index.html", "a file")
        .start();
    for path in ["/", "/docs", "/docs/", "/docs/index.html"] {
        assert_eq!((server.get(path).status, &*server.get(path).text()), (200, path));
    }
    // As with handlers of Apache's own, where that is said.
    assert_eq!((server.get("/mapped").status, &*server.get("/mapped/").text()), (301, "/mapped/index.html"));
    assert_eq!((server.get("/files").status, &*server.get("/files/").text()), (301, "a file"));
}

#[test]
fn an_answer_has_the_fields_that_the_application_gives_whatever_the_url_looks_like() {
    needs_python!();
    let text = r#"
async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 303, "headers": [(b"location", b"/there")]})
    await send({"type": "http.response.body"})
"#;
    let config = "AddType text/html .html\nAddEncoding gzip .gz\nAddLanguage de .de\n";
    let server = site(text, config).start();
    for target in ["/", "/page.html.de.gz"] {
        let answer = server.get(target);
        assert_eq!(answer.status, 303);
        for field in ["content-type", "content-encoding", "content-language"] {
            assert_eq!(answer.field(field), None, "{target}");
        }
    }
}

#[test]
fn fields_are_looked_at_whatever_was_said_before_and_in_whatever_they_come() {
    needs_python!();
    // More different ones than a worker remembers, each twice; then the same name with what can't be sent.
    let text = r#"
async def app(scope, receive, send):
    last = scope["path"][1:]
    bad = {"line": (b"x-n", b"1\r\nx-injected: 1"), "text": (b"x-n", "1"), "name": (b"x n", b"1")}.get(last)
    n = last.encode()
    good = [(b"x-n", n), [b"x-list", n], (bytearray(b"x-array"), bytearray(n)), (b"x-n", b" " + n + b" ")]
    await say(send, last, headers=[bad] if bad else good)
"#;
    let server = site(text, "").start();
    for n in (0..600).chain(0..3) {
        let answer = server.get(&format!("/{n}"));
        let n = n.to_string();
        let said = answer.fields.iter().filter(|(name, _)| name.to_ascii_lowercase().starts_with("x-"));
        let said: Vec<_> = said.map(|(name, value)| (&name[..], &value[..])).collect();
        assert_eq!(said, [("x-n", &n[..]), ("x-list", &n), ("x-array", &n), ("x-n", &n)]);
    }
    for bad in ["line", "text", "name", "line"] {
        let answer = server.get(&format!("/{bad}"));
        assert_eq!((answer.status, answer.field("x-injected")), (500, None), "{bad}");
    }
}

#[test]
fn bodies_go_both_ways_as_they_come() {
    needs_python!();
    let text = r#"
async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        message = await receive()
        if message.get("body"):
            await send({"type": "http.response.body", "body": message["body"].upper(), "more_body": True})
        if not message.get("more_body"):
            break
    await send({"type": "http.response.body"})
"#;
    let server = site(text, "").start();
    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n");
    let mut heard = Vec::new();
    while !heard.ends_with(b"FIRST") {
        heard.push(client.byte().expect("the answer comes before the request is complete"));
    }
    client.send("4\r\nlast\r\n0\r\n\r\n");
    while !heard.ends_with(b"LAST\r\n0\r\n\r\n") {
        heard.push(client.byte().expect("the rest of the answer"));
    }
    let large = "x".repeat(1 << 20);
    let answer = server.request(
        format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{large}", large.len()).as_bytes(),
    );
    assert_eq!(answer.text().len(), 1 << 20);
}

#[test]
fn who_reads_slowly_holds_the_application_up_and_nobody_else() {
    needs_python!();
    let text = r#"
sent = 0
async def app(scope, receive, send):
    global sent
    if scope["path"] == "/sent":
        return await say(send, sent)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(1000):
        await send({"type": "http.response.body", "body": bytes(100_000), "more_body": True})
        sent += 100_000
    await send({"type": "http.response.body"})
"#;
    let server = site(text, "").start();
    let mut slow = server.connect();
    slow.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let sent = || server.get("/sent").text().parse::<u64>().unwrap();
    await_that("the first of it", || sent() > 0);
    let mut last = 0;
    await_that("its halt", || {
        let now = sent();
        // Time: it stands still if nothing more is sent in it.
        std::thread::sleep(Duration::from_millis(200));
        now == std::mem::replace(&mut last, now)
    });
    assert!(last < 50_000_000, "{last} bytes of a hundred million wait for a client that reads nothing");
}

#[test]
fn an_application_learns_at_once_that_its_client_has_gone() {
    needs_python!();
    let text = r#"
async def app(scope, receive, send):
    if scope["path"] == "/begun":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
    print("waits", scope["path"], flush=True)
    while (await receive())["type"] != "http.disconnect":
        pass
    print("gone", scope["path"], flush=True)
"#;
    let server = site(text, "Timeout 600").start();
    for path in ["/silent", "/begun"] {
        let mut client = server.connect();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        log_when(&server, &format!("waits {path}"));
        drop(client);
        // Long before its Timeout, which would end it, too.
        log_when(&server, &format!("gone {path}"));
    }
}

#[test]
fn an_application_that_does_not_listen_to_that_holds_up_nobody() {
    needs_python!();
    let text = r#"
asked = 0
async def app(scope, receive, send):
    global asked
    if scope["path"] == "/asked":
        return await say(send, asked)
    while True:
        if (await receive())["type"] == "http.disconnect":
            asked += 1
            print("told", asked, flush=True)
"#;
    let server = site(text, "").start();
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    // It is served when another request is.
    assert_eq!(server.get("/asked").text(), "0");
    drop(client);
    let _ = log_when(&server, "told 3");
    let asked: u32 = server.get("/asked").text().parse().unwrap();
    assert!((3..1000).contains(&asked), "{asked}");
}

#[test]
fn head_hints_files_and_trailers() {
    needs_python!();
    let text = r#"
async def app(scope, receive, send):
    if scope["path"] == "/hint":
        await send({"type": "http.response.early_hint", "links": [b"</a.css>; rel=preload"]})
    if scope["path"] == "/file":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        return await send({"type": "http.response.pathsend", "path": __file__})
    if scope["path"] == "/trailers":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"trailer", b"x-sum")], "trailers": True})
        await send({"type": "http.response.body", "body": b"body"})
        return await send({"type": "http.response.trailers", "headers": [(b"x-sum", b"42"), (b"content-length", b"1")]})
    await say(send, "body", headers=[(b"content-length", b"4")])
"#;
    let server = site(text, "").start();
    let mut client = server.connect();
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET /hint HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = client.head_response();
    assert_eq!((head.status, head.field("Content-Length")), (200, Some("4")));
    let early = client.any_response(false);
    assert_eq!((early.status, early.field("link")), (103, Some("</a.css>; rel=preload")));
    assert_eq!(client.any_response(false).text(), "body");
    client.send("GET /trailers HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE, close\r\n\r\n");
    let answer = String::from_utf8_lossy(&client.rest()).into_owned();
    assert!(answer.ends_with("4\r\nbody\r\n0\r\nx-sum: 42\r\n\r\n"), "{answer}");
    let file = server.get("/file").text();
    assert!(file.contains("http.response.pathsend") && file.starts_with(ANSWER), "{file}");
}

#[test]
fn many_requests_are_served_by_one_worker_at_the_same_time() {
    needs_python!();
    let text = r#"
here = 0
async def app(scope, receive, send):
    global here
    assert scope["type"] == "http"
    here += 1
    while here < 20:
        await asyncio.sleep(0.01)
    await say(send, os.getpid())
"#;
    let server = site(text, "").start();
    let clients: Vec<_> = (0..20)
        .map(|_| {
            let mut client = server.connect();
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
            client
        })
        .collect();
    let pids: Vec<_> = clients.into_iter().map(|mut client| client.response().text()).collect();
    assert!(pids.iter().all(|pid| *pid == pids[0]), "{pids:?}");
}

#[test]
fn workers_are_as_many_as_is_said() {
    needs_python!();
    let text =
        "async def app(scope, receive, send):\n    time.sleep(0.05)\n    await say(send, os.getpid())\n";
    let server = site(text, "<Location />\nASGIApp app/app.py workers=3\n</Location>\n").start();
    let mut pids = std::collections::HashSet::new();
    await_that("the third worker", || {
        let clients: Vec<_> = (0..12)
            .map(|_| {
                let mut client = server.connect();
                client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
                client
            })
            .collect();
        pids.extend(clients.into_iter().map(|mut client| client.response().text()));
        pids.len() == 3
    });
}

#[test]
fn an_application_is_imported_once_for_all_workers_where_that_can_be() {
    needs_python!();
    let here = "async def app(scope, receive, send):\n    await say(send, here == os.getppid())\n";
    let threads =
        "import threading\nthreading.Thread(target=lambda: time.sleep(1000), daemon=True).start()\n";
    let sockets = "import socket\nkept = socket.socketpair()\n";
    // A process that has one of its own, which tells when it is there.
    let processes = "import subprocess\nkept = subprocess.Popen(['/bin/sh', '-c', 'sleep 1000 & echo there; wait'], \
                     stdout=subprocess.PIPE)\nkept.stdout.readline()\n";
    let cases = [
        ("", 2, "", "True", None),
        ("", 1, "", "False", None),
        ("", 1, "HostlerPythonPreload on\n", "True", None),
        ("", 2, "HostlerPythonPreload off\n", "False", None),
        (threads, 2, "", "False", Some("it starts threads (2)")),
        (sockets, 2, "", "False", Some("it opens connections (2)")),
        (processes, 2, "", "False", Some("it starts processes (2)")),
    ];
    for (begins, workers, config, expected, why) in cases {
        let text = format!("{begins}here = os.getpid()\n{here}");
        let config = format!("{config}<Location />\nASGIApp app/app.py workers={workers}\n</Location>\n");
        let server = site(&text, &config).start();
        assert_eq!(server.get("/").text(), expected, "{begins}{config}{}", server.error_log());
        if let Some(why) = why {
            assert!(server.await_error(why).contains("[asgi:notice]"));
        }
    }
}

#[test]
fn what_a_trial_of_importing_has_started_ends_with_it() {
    needs_python!();
    let text = "import subprocess\nkept = subprocess.Popen(['/bin/sleep', '150'])\n\
                with open(os.path.join(os.path.dirname(__file__), 'pids'), 'a') as file:\n    file.write('%d\\n' % kept.pid)\n\
                async def app(scope, receive, send):\n    await say(send, 'ok')\n";
    let config = "<Location />\nASGIApp app/app.py workers=2\n</Location>\n";
    let server = site(text, config).mode("app", 0o777).start();
    assert_eq!(server.get("/").text(), "ok");
    let pids = std::fs::read_to_string(server.site().path("app/pids")).unwrap();
    let of_trial = format!("/proc/{}/cmdline", pids.lines().next().unwrap());
    // Of one that nobody has reaped yet it is empty.
    await_that("the trial's process has ended", || std::fs::read(&of_trial).unwrap_or_default().is_empty());
}

const LIFESPAN: &str = r#"
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        assert (await receive())["type"] == "lifespan.startup"
        scope["state"]["name"] = "shared"
        await send({"type": "lifespan.startup.complete"})
        assert (await receive())["type"] == "lifespan.shutdown"
        open(os.path.join(os.path.dirname(__file__), "cleaned-up"), "w").close()
        await send({"type": "lifespan.shutdown.complete"})
        return
    scope["state"]["own"] = scope["state"].get("own", 0) + 1
    await say(send, scope["state"])
"#;

#[test]
fn an_application_has_a_lifespan_whose_state_requests_find() {
    needs_python!();
    let mut server = site(LIFESPAN, "").mode("app", 0o777).start();
    for _ in 0..2 {
        assert_eq!(server.get("/").text(), "{'name': 'shared', 'own': 1}");
    }
    server.signal(rustix::process::Signal::TERM);
    server.await_end();
    let done = server.site().path("app/cleaned-up");
    await_that("what is done at the end", || done.exists());
}

#[test]
fn an_application_that_can_t_start_says_why_and_is_not_tried_in_a_circle() {
    needs_python!();
    let failed = r#"
open(os.path.join(os.path.dirname(__file__), "tries"), "a").write("x")
async def app(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.failed", "message": "there is no database"})
"#;
    let site = site(failed, "<Location /none>\nASGIApp nowhere.to_be:found\n</Location>\n");
    let site = site.mode("app", 0o777);
    let server = site.start();
    for _ in 0..10 {
        assert_eq!(server.get("/").status, 500);
    }
    log_when(&server, "lifespan.startup.failed): there is no database) [id ");
    let tries = fs::read_to_string(server.site().path("app/tries")).unwrap();
    assert!(tries.len() <= 3, "{}", tries.len());
    let answer = server.get("/none");
    assert_eq!(answer.status, 500);
    log_when(&server, "ModuleNotFoundError: No module named 'nowhere'");
}

#[test]
fn what_an_application_raises_costs_its_own_request_alone() {
    needs_python!();
    let text = r#"
async def app(scope, receive, send):
    path = scope["path"]
    if path == "/early":
        raise ValueError("before the head")
    if path == "/exit":
        sys.exit(3)
    if path == "/nothing":
        return
    if path == "/body-first":
        await send({"type": "http.response.body", "body": b"x"})
    if path == "/header":
        await send({"type": "http.response.start", "status": 200, "headers": [("text", "not bytes")]})
    if path == "/split":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"1\r\nset-cookie: x")]})
    if path == "/status":
        await send({"type": "http.response.start", "status": 99, "headers": []})
    if path == "/unknown":
        await send({"type": "http.response.nonsense"})
    if path == "/short":
        return await say(send, "four", headers=[(b"content-length", b"40")])
    if path == "/late":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"some", "more_body": True})
        await asyncio.sleep(0.1)
        raise ValueError("after the head")
    if path == "/after":
        await say(send, "all")
        raise ValueError("after the end")
    await say(send, os.getpid())
"#;
    let server = site(text, "").start();
    let pid = server.get("/").text();
    for (path, why) in [
        ("/early", "ValueError: before the head"),
        ("/exit", "SystemExit"),
        ("/nothing", "it returned without an answer"),
        ("/body-first", "http.response.body was sent before http.response.start"),
        ("/header", "a header's name and value must be bytes"),
        ("/split", "has a line end or a NUL"),
        ("/status", "99 is not a status that an answer can have"),
        ("/unknown", "is none of an HTTP answer"),
        ("/short", "36 bytes shorter than its Content-Length"),
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, 500, "{path}");
        let id = answer.text().split("<code>").nth(1).unwrap().split('<').next().unwrap().to_owned();
        let log = log_when(&server, why);
        assert!(log.contains(&format!("[id {id}]")), "{path}: {log}");
    }
    let late = server.get("/late");
    assert!(late.truncated && late.text() == "some", "{late:?}");
    log_when(&server, "ValueError: after the head");
    assert_eq!(server.get("/after").text(), "all");
    log_when(&server, "ValueError: after the end");
    assert_eq!(server.get("/").text(), pid, "the worker is the same");
}

#[test]
fn a_worker_that_ends_or_stands_still_is_replaced() {
    needs_python!();
    let text = r#"
async def app(scope, receive, send):
    if scope["path"] == "/exit":
        os._exit(7)
    while scope["path"] == "/loop":
        pass
    await say(send, os.getpid())
"#;
    let server = site(text, "Timeout 2\n").start();
    let first = server.get("/").text();
    assert_eq!(server.get("/exit").status, 502);
    log_when(&server, "ended: exit status 7");
    let second = server.get("/").text();
    assert_ne!(first, second);
    assert!(matches!(server.get("/loop").status, 502 | 504));
    log_when(&server, "its event loop stands still for 2 s");
    // Where it stands.
    log_when(&server, "app.py\", line");
    await_that("another worker", || {
        let answer = server.get("/");
        answer.status == 200 && answer.text() != second
    });
}

#[test]
fn an_application_that_is_written_anew_takes_the_place_of_the_old_one() {
    needs_python!();
    let server = site("async def app(scope, receive, send):\n    await say(send, 'old')\n", "").start();
    assert_eq!(server.get("/").text(), "old");
    let text = format!("{ANSWER}async def app(scope, receive, send):\n    await say(send, 'brand new')\n");
    fs::write(server.site().path("app/app.py"), text).unwrap();
    await_that("the new one", || server.get("/").text() == "brand new");
}

#[test]
fn workers_are_replaced_after_so_many_requests_and_nobody_notices() {
    needs_python!();
    let config =
        "WSGIDaemonProcess few maximum-requests=5\n<Location />\nWSGIProcessGroup few\n</Location>\n";
    let server =
        site("async def app(scope, receive, send):\n    await say(send, os.getpid())\n", config).start();
    let mut pids = std::collections::HashSet::new();
    for _ in 0..30 {
        let answer = server.get("/");
        assert_eq!(answer.status, 200, "{}", server.error_log());
        pids.insert(answer.text());
    }
    assert!(pids.len() >= 3, "{pids:?}");
    assert!(server.error_log().lines().all(|line| line.contains(":notice]")), "{}", server.error_log());
}

#[test]
fn an_application_runs_as_the_site_s_user_in_its_own_environment() {
    needs_python!();
    let text = "import helper\nasync def app(scope, receive, send):\n    await say(send, (os.getuid(), os.getcwd(), helper.NAME, \
                sys.stdin.read()))\n";
    let config = "<Location />\nASGIApp app home=@ROOT@/app python-path=@ROOT@/lib\n</Location>\n";
    let server = site(text, config).file("lib/helper.py", "NAME = 'mine'\n").start();
    let answer = server.get("/").text();
    let uid =
        if hostler_tests::is_root() { hostler_tests::SITE_UID } else { rustix::process::geteuid().as_raw() };
    let root = server.site().root().display().to_string();
    assert_eq!(answer, format!("({uid}, '{root}/app', 'mine', '')"), "{}", server.error_log());
}

#[test]
fn isolations_that_it_can_t_have_are_refused_with_the_reason() {
    for (isolation, why) in
        [("fork", "cannot be forked for each request"), ("exec", "cannot be started for each request")]
    {
        let together =
            format!("<Location />\nSetHandler asgi\nASGIApp a:b\nIsolation {isolation}\n</Location>\n");
        let why_not = Site::new().config(&together).try_start().err().unwrap_or_default();
        assert!(why_not.contains(why), "{why_not}");
        // Where sections say it apart the first request finds it out.
        let apart = format!("<Location /a>\nIsolation {isolation}\n</Location>\n");
        let server = site("", &apart).start();
        assert_eq!(server.get("/a").status, 500);
        log_when(&server, why);
    }
}

#[test]
fn ten_megabytes_of_fields_are_no_answer() {
    needs_python!();
    let text = "async def app(scope, receive, send):\n    await say(send, 'x', headers=[(b'a', bytes(10_000_000).replace(b'\\0', b'x'))])\n";
    let server = site(text, "").start();
    assert_eq!(server.get("/").status, 502);
    log_when(&server, "a frame is too long");
}
