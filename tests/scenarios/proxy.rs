//! Requests that another server answers. What mod_proxy does with each directive is in `conformance/cases/proxy-*.toml`;
//! here is what takes time, breaks, or is no request and answer any more.

use crate::faults::{await_that, process};
use hostler_tests::{Server, Site};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The head of a request, without the rest of what has come.
pub(crate) fn head(stream: &mut impl Read) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}

/// A server that does this with each of its connections; its port, and how many it has had.
pub(crate) fn backend(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (port, count) = (listener.local_addr().expect("its address").port(), Arc::new(AtomicUsize::new(0)));
    let (seen, serve) = (count.clone(), Arc::new(serve));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            seen.fetch_add(1, SeqCst);
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    (port, count)
}

/// Answers each request of a connection with the same bytes.
fn always(bytes: &'static [u8]) -> impl Fn(TcpStream) + Send + Sync + 'static {
    move |mut stream| {
        while head(&mut stream).is_some() {
            if stream.write_all(bytes).is_err() {
                return;
            }
        }
    }
}

fn proxied(port: u16) -> Server {
    Site::new().config(&format!("ProxyPass /p/ http://127.0.0.1:{port}/ retry=0\n")).start()
}

/// Interim responses have no body: a length or a coding in one would change how the client reads the next response.
#[test]
fn interim_responses_of_another_server_have_no_framing() {
    let (port, _) = backend(always(
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nContent-Length: 5\r\nConnection: X-Hop\r\nX-Hop: a\r\n\r\n\
          HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\nhi\n",
    ));
    let server = Site::new()
        .config(&format!(
            "ProxyPass /p/ http://127.0.0.1:{port}/\n\
             <Directory @ROOT@/htdocs>\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\n</Directory>\n"
        ))
        .file("htdocs/page.shtml", "<!--#include virtual=\"/p/part\" -->")
        .start();
    let exchange = |path: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).expect("a connection");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").expect("sent");
        let interim = head(&mut stream).expect("a head");
        let mut rest = String::new();
        stream.read_to_string(&mut rest).expect("the rest");
        (interim, rest)
    };
    let (interim, rest) = exchange("/p/a");
    assert_eq!(interim, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
    assert!(rest.starts_with("HTTP/1.1 200 OK\r\n") && rest.ends_with("hi\n"), "{rest}");
    let (first, _) = exchange("/page.shtml");
    assert!(first.starts_with("HTTP/1.1 200 OK\r\n"), "a part of a page has none: {first}");
}

#[test]
fn links_in_pages_of_another_server_are_changed() {
    let (port, _) = backend(always(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 132\r\n\r\n\
          <html><head><meta http-equiv=\"X-Told\" content=\"yes\"></head><body><a href=\"http://inner.example/x\" title=\"/y\">x</a> <!-- no --><p>end",
    ));
    let config = format!(
        "ProxyPass /p/ http://127.0.0.1:{port}/ retry=0\nProxyPass /q/ http://127.0.0.1:{port}/ retry=0\n\
         <Location /p/>\nProxyHTMLEnable On\nProxyHTMLLinks a href\nProxyHTMLMeta On\nProxyHTMLStripComments On\nProxyHTMLInterp On\n\
         ProxyHTMLURLMap http://inner.example/ /${{WHERE|none}}/ V\nSetEnv WHERE p\n</Location>\n"
    );
    let server = Site::new().config(&config).start();
    let changed = server.get("/p/");
    let expected = "<html><head><meta http-equiv=\"X-Told\" content=\"yes\"></head><body><a href=\"/p/x\" title=\"/y\">x</a> <p>end";
    assert_eq!((changed.status, changed.text().as_str()), (200, expected), "{}", server.error_log());
    assert_eq!(changed.field("X-Told"), Some("yes"));
    assert!(server.get("/q/").text().contains("inner.example"), "where it is not wanted");
}

const UPGRADE: &str = "GET /p/chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";

/// Changes the protocol, and says everything again in capitals.
fn shout(mut stream: TcpStream) {
    let asked = head(&mut stream).unwrap_or_default();
    assert!(asked.contains("Upgrade: websocket\r\n") && asked.contains("Connection: Upgrade\r\n"), "{asked}");
    let _ = stream.write_all(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n<");
    let mut bytes = [0; 1024];
    while let Ok(read @ 1..) = stream.read(&mut bytes) {
        let _ = stream.write_all(&bytes[..read].to_ascii_uppercase());
    }
    let _ = stream.write_all(b">");
}

#[test]
fn a_connection_changes_to_another_protocol_where_that_is_wanted() {
    let (port, _) = backend(shout);
    for line in
        ["ProxyPass /p/ ws://127.0.0.1:PORT/", "ProxyPass /p/ http://127.0.0.1:PORT/ upgrade=websocket"]
    {
        let server = Site::new().config(&line.replace("PORT", &port.to_string())).start();
        let mut connection = server.connect();
        connection.send(format!("{UPGRADE}early "));
        let answer = connection.any_response(true);
        assert_eq!((answer.status, answer.field("Upgrade")), (101, Some("websocket")), "{line}");
        connection.send("late");
        connection.finish();
        assert_eq!(String::from_utf8_lossy(&connection.rest()), "<EARLY LATE>", "{line}");
        await_that("it is logged when it has ended", || server.access_log().contains(" 101 "));
    }
}

#[test]
fn nobody_changes_the_protocol_unasked() {
    let answer = b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    let (port, _) = backend(always(answer));
    let server = proxied(port);
    assert_eq!(server.request(UPGRADE.as_bytes()).status, 502);
    let _ = server.await_error("changes the protocol, which nobody has asked for");
}

#[test]
fn a_socket_of_the_file_system_is_reached_as_the_site() {
    let site = Site::new();
    let path = site.path("app.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).expect("its mode");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // Each thread of the front has a connection of its own.
            thread::spawn(move || {
                while let Some(asked) = head(&mut stream) {
                    let line = asked.lines().next().unwrap_or_default();
                    let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{line}", line.len());
                }
            });
        }
    });
    let config = "ProxyPass /p/ unix:@ROOT@/app.sock|http://localhost/x/\nProxyPass /q/ unix:@ROOT@/none.sock|http://localhost/";
    let server = site.config(config).start();
    assert_eq!(server.get("/p/a").text(), "GET /x/a HTTP/1.1");
    assert_eq!(server.get("/p/b").text(), "GET /x/b HTTP/1.1");
    assert_eq!(server.get("/q/b").status, 503);
    let _ = server.await_error("none.sock");
}

#[test]
fn connections_are_used_again_but_not_after_more_than_an_answer() {
    let (port, count) = backend(always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"));
    let server = proxied(port);
    let mut connection = server.connect();
    for _ in 0..20 {
        connection.send("GET /p/a HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(connection.response().text(), "hi");
    }
    assert_eq!(count.load(SeqCst), 1);
    let (port, count) =
        backend(always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n\r\n"));
    let server = proxied(port);
    for _ in 0..5 {
        assert_eq!(server.get("/p/a").text(), "hi");
    }
    assert_eq!(count.load(SeqCst), 5);
}

#[test]
fn no_connection_is_kept_where_the_configuration_says_so() {
    let (port, count) = backend(always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
    let config = format!(
        "ProxyPass /p/ http://127.0.0.1:{port}/ retry=0\nSetEnvIf Request_URI ^/p/last proxy-nokeepalive\n"
    );
    let server = Site::new().config(&config).start();
    (0..3).for_each(|_| assert_eq!(server.get("/p/last").text(), "ok"));
    assert_eq!(count.load(SeqCst), 3);
}

#[test]
fn nobody_asks_the_client_for_a_body_that_the_server_refuses() {
    let (port, _) = backend(always(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno"));
    let server = proxied(port);
    let mut connection = server.connect();
    connection.send("POST /p/ HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    // The first thing that comes is the answer.
    assert_eq!(connection.any_response(false).status, 403);
}

#[test]
fn an_answer_is_sent_on_as_it_comes() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let (port, _) = backend(move |mut stream| {
        head(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\none");
        let _ = wait.lock().expect("one connection").recv();
        let _ = stream.write_all(b"two");
    });
    let server = proxied(port);
    let mut connection = server.connect();
    connection.send("GET /p/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(connection.head_response().status, 200);
    let first: Vec<u8> = (0..3).filter_map(|_| connection.byte()).collect();
    assert_eq!(first, b"one");
    go.send(()).expect("it waits");
    assert_eq!(connection.rest(), b"two");
}

#[test]
fn an_answer_that_breaks_off_does_not_look_whole() {
    for bytes in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"[..],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ] {
        let (port, _) = backend(move |mut stream| {
            head(&mut stream);
            let _ = stream.write_all(bytes);
        });
        let server = proxied(port);
        let mut connection = server.connect();
        connection.send("GET /p/a HTTP/1.1\r\nHost: a\r\n\r\n");
        let all = String::from_utf8_lossy(&connection.rest()).into_owned();
        assert!(all.contains("half") && !all.contains("\r\n0\r\n"), "{all}");
        let _ = server.await_error("it closed the connection before its answer was complete");
    }
}

#[test]
fn the_log_has_the_bytes_that_are_no_answer() {
    let (port, _) = backend(|mut stream| {
        head(&mut stream);
        let _ = stream.write_all(b"220 mail.example ESMTP\r\n");
    });
    let server = proxied(port);
    assert_eq!(server.get("/p/a").status, 502);
    let line = server.await_error("220 mail.example ESMTP");
    assert!(line.contains(&format!("http://127.0.0.1:{port}")), "{line}");
}

#[test]
fn who_leaves_ends_the_other_server_s_work() {
    let (ended, end) = mpsc::channel();
    let ended = std::sync::Mutex::new(ended);
    let (begun, begin) = mpsc::channel();
    let begun = std::sync::Mutex::new(begun);
    let (port, _) = backend(move |mut stream| {
        head(&mut stream);
        let _ = begun.lock().expect("one at a time").send(());
        let gone = matches!(stream.read(&mut [0]), Ok(0) | Err(_));
        let _ = ended.lock().expect("one at a time").send(gone);
    });
    let server = proxied(port);
    let mut connection = server.connect();
    connection.send("GET /p/a HTTP/1.1\r\nHost: a\r\n\r\n");
    begin.recv_timeout(Duration::from_secs(20)).expect("it is asked");
    drop(connection);
    assert_eq!(end.recv_timeout(Duration::from_secs(20)), Ok(true));
}

#[test]
fn a_member_that_dies_costs_no_request() {
    let answer = &b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"[..];
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let alive = Arc::new(AtomicUsize::new(1));
    let life = alive.clone();
    let dying = thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            if life.load(SeqCst) == 0 {
                return;
            }
            let life = life.clone();
            thread::spawn(move || {
                while head(&mut stream).is_some()
                    && life.load(SeqCst) == 1
                    && stream.write_all(answer).is_ok()
                {}
            });
        }
    });
    let ports = [address.port(), backend(always(answer)).0, backend(always(answer)).0];
    let members = ports.map(|port| format!("BalancerMember http://127.0.0.1:{port}\n")).concat();
    let config = format!("<Proxy balancer://b>\n{members}</Proxy>\nProxyPass /p/ balancer://b/\n");
    let server = Site::new().config(&config).start();
    let mut connection = server.connect();
    let mut ask = || {
        connection.send("GET /p/a HTTP/1.1\r\nHost: a\r\n\r\n");
        connection.response().status
    };
    assert!((0..30).all(|_| ask() == 200));
    alive.store(0, SeqCst);
    drop(TcpStream::connect(address));
    dying.join().expect("it ends");
    // Kept connections to it are closed with the next request, and nobody listens any more.
    assert!((0..60).all(|_| ask() == 200), "{}", server.error_log());
    let _ = server.await_error("it can't be connected to");
}

#[test]
fn large_bodies_go_both_ways() {
    let (port, _) = backend(|mut stream| {
        let asked = head(&mut stream).unwrap_or_default();
        let length =
            asked.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse::<usize>().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        let _ = stream.read_exact(&mut body);
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        let _ = stream.write_all(&body);
    });
    let server = proxied(port);
    let body: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let head = format!(
        "POST /p/a HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let answer = server.request(&[head.as_bytes(), &body].concat());
    assert!(answer.status == 200 && answer.body == body);
}

#[test]
fn the_length_of_a_body_costs_no_memory() {
    const UPLOAD: usize = 100_000_000;
    const ANSWER: usize = 10_000_000;
    let (go, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let (port, _) = backend(move |mut stream| {
        let asked = head(&mut stream).unwrap_or_default();
        if asked.starts_with("POST") {
            // What the client sends meanwhile stays with the client.
            let _ = wait.lock().expect("one upload").recv();
            let taken = std::io::copy(&mut (&stream).take(UPLOAD as u64), &mut std::io::sink()).unwrap_or(0);
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{taken}");
        } else {
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {ANSWER}\r\n\r\n");
            let _ = stream.write_all(&vec![b'a'; ANSWER]);
        }
    });
    let server = proxied(port);
    assert_eq!(server.get("/p/warm").body.len(), ANSWER);
    let front = process::front(&server);
    let before = process::resident(front);
    let mut readers: Vec<_> = (0..10).map(|_| server.connect()).collect();
    for reader in &mut readers {
        reader.send("GET /p/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        assert!(reader.byte().is_some(), "the answer begins");
    }
    let mut connection = server.connect();
    connection.send(format!("POST /p/a HTTP/1.1\r\nHost: a\r\nContent-Length: {UPLOAD}\r\n\r\n"));
    let mut sender = connection.sender();
    let sent = Arc::new(AtomicUsize::new(0));
    let so_far = sent.clone();
    let sending = thread::spawn(move || {
        let piece = vec![b'u'; 100_000];
        while so_far.load(SeqCst) < UPLOAD && sender.write_all(&piece).is_ok() {
            so_far.fetch_add(piece.len(), SeqCst);
        }
    });
    await_that("the client's bytes fill the kernel's buffers", || sent.load(SeqCst) > 0);
    go.send(()).expect("it waits");
    assert_eq!(connection.response().text(), UPLOAD.to_string());
    sending.join().expect("all was sent");
    let most = process::status(front, "VmHWM").unwrap_or_default();
    let most: u64 = most.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number");
    assert!(most < before + 20_000, "from {before} to {most} KB");
    let mut last = readers.pop().expect("a reader");
    drop(readers);
    assert!(last.rest().ends_with(&vec![b'a'; ANSWER]), "who reads late gets everything");
}

/// A worker of mod_jk's that the operator has mounted elsewhere is no access file's to name.
#[test]
fn an_access_file_leads_to_no_worker() {
    let (port, asked) = backend(|mut stream| {
        let _ = stream.read(&mut [0; 4]);
    });
    let config = format!(
        "JkWorkerProperty worker.list=shop\nJkWorkerProperty worker.shop.host=127.0.0.1\n\
         JkWorkerProperty worker.shop.port={port}\nJkMount /shop/* shop\n\
         <Directory \"@ROOT@/htdocs\">\nAllowOverride All\n</Directory>\n\
         <Location /named/>\nSetHandler jakarta-servlet\n</Location>"
    );
    let access = "SetHandler jakarta-servlet\nSetEnv JK_WORKER_NAME shop\n";
    let site = Site::new().file("htdocs/own/.htaccess", access).file("htdocs/own/a.txt", "a");
    let site =
        site.file("htdocs/named/.htaccess", "SetEnv JK_WORKER_NAME shop\n").file("htdocs/named/a.txt", "a");
    let server = site.config(&config).start();
    assert_eq!(server.get("/own/a.txt").status, 403, "{}", server.error_log());
    assert_eq!(server.get("/named/a.txt").status, 403, "{}", server.error_log());
    assert_eq!(asked.load(SeqCst), 0);
    // Where it is mounted it is asked.
    assert_eq!(server.get("/shop/a").status, 502);
    assert!(asked.load(SeqCst) > 0);
}
