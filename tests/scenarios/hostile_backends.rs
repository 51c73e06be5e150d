//! Programs and servers behind this one that say what they must not: each gets its request a clear answer or none that looks
//! complete, none is asked again on the same connection, and the next request finds all as it was.

use hostler_tests::{Response, Server, Site};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// The state of the connection after the last message.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Close,
    /// It stays, and nothing more comes.
    Hold,
    /// The same piece comes again and again.
    Repeat,
}

/// The client's response.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Gets {
    /// This status, from Hostler.
    Status(u16),
    /// The answer, whole.
    Whole,
    /// Something that is not a complete answer of 200.
    Broken,
    /// The beginning of an answer, which goes on for as long as the client reads.
    Endless,
}

/// Asks, and says; how it is spoken to, what it says, and what becomes of that.
type Row = (&'static str, &'static str, Vec<u8>, Then, Gets);

/// Reads what is asked until it pauses.
fn listen_to(stream: &mut TcpStream) {
    let mut space = [0; 8192];
    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
    if stream.read(&mut space).is_ok_and(|read| read > 0) {
        let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
        while stream.read(&mut space).is_ok_and(|read| read > 0) {}
    }
}

fn say(mut stream: TcpStream, said: &[u8], then: Then) {
    listen_to(&mut stream);
    let _ = stream.write_all(said);
    match then {
        Then::Close => {}
        Then::Hold => {
            let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
            // Until the other side gives up.
            while stream.read(&mut [0; 64]).is_ok_and(|read| read > 0) {}
        }
        Then::Repeat => while stream.write_all(said).is_ok() {},
    }
}

/// A record of FastCGI.
fn record(kind: u8, request: u16, content: &[u8]) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    let [first, second] = request.to_be_bytes();
    [&[1, kind, first, second, high, low, 0, 0], content].concat()
}

fn page() -> Vec<u8> {
    record(6, 1, b"Content-Type: text/plain\r\n\r\nhello")
}

fn end() -> Vec<u8> {
    record(3, 1, &[0; 8])
}

/// A packet of AJP.
fn packet(content: &[u8]) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    [b"AB", &[high, low][..], content].concat()
}

fn ajp_head() -> Vec<u8> {
    packet(b"\x04\x00\xc8\x00\x02OK\x00\x00\x00")
}

fn ajp_body() -> Vec<u8> {
    packet(b"\x03\x00\x05hello\x00")
}

fn ajp_end() -> Vec<u8> {
    packet(b"\x05\x01")
}

fn fastcgi_rows() -> Vec<Row> {
    let fields = |bytes: usize| {
        let text = format!(
            "Content-Type: text/plain\r\n{}\r\nhello",
            format!("X-A: {}\r\n", "b".repeat(900)).repeat(bytes / 907)
        );
        text.as_bytes().chunks(60_000).flat_map(|piece| record(6, 1, piece)).collect::<Vec<u8>>()
    };
    let version = [&[9], &page()[1..]].concat();
    let whole = [page(), end()].concat();
    // One byte more, or less, than there is.
    let length = |by: u8| {
        let mut wrong = whole.clone();
        wrong[5] = wrong[5].wrapping_add(by);
        wrong
    };
    let mut rows: Vec<Row> = vec![
        ("whole", "fcgi", whole.clone(), Then::Close, Gets::Whole),
        ("a length that is too large", "fcgi", length(1), Then::Close, Gets::Broken),
        ("a length that is too small", "fcgi", length(255), Then::Close, Gets::Broken),
        (
            "of another request",
            "fcgi",
            [record(6, 7, b"Content-Type: x/y\r\n\r\nno"), end()].concat(),
            Then::Close,
            Gets::Broken,
        ),
        ("ends another request", "fcgi", [page(), record(3, 9, &[0; 8])].concat(), Then::Close, Gets::Broken),
        ("another version", "fcgi", version, Then::Close, Gets::Status(503)),
        ("unknown record", "fcgi", [record(77, 1, b"x"), page(), end()].concat(), Then::Close, Gets::Broken),
        ("short end", "fcgi", [page(), record(3, 1, &[0; 3])].concat(), Then::Close, Gets::Broken),
        ("ends twice", "fcgi", [page(), end(), end()].concat(), Then::Close, Gets::Whole),
        ("says more after its end", "fcgi", [page(), end(), page()].concat(), Then::Close, Gets::Whole),
        ("no header", "fcgi", [record(6, 1, b"\0\0\0"), end()].concat(), Then::Close, Gets::Broken),
        ("ends at once", "fcgi", end(), Then::Close, Gets::Status(500)),
        ("200 KB of fields", "fcgi", [fields(200_000), end()].concat(), Then::Close, Gets::Whole),
        ("refuses", "fcgi", record(3, 1, &[0, 0, 0, 0, 2, 0, 0, 0]), Then::Close, Gets::Broken),
        ("never ends", "fcgi", page(), Then::Hold, Gets::Broken),
        ("says nothing", "fcgi", Vec::new(), Then::Hold, Gets::Status(504)),
        ("closes", "fcgi", Vec::new(), Then::Close, Gets::Status(503)),
        ("never stops", "fcgi", page(), Then::Repeat, Gets::Endless),
        ("logs for ever", "fcgi", record(7, 1, &[b'x'; 1000]), Then::Hold, Gets::Status(504)),
    ];
    rows.extend(
        (0..whole.len()).map(|cut| ("cut", "fcgi", whole[..cut].to_vec(), Then::Close, Gets::Broken)),
    );
    rows
}

fn ajp_rows() -> Vec<Row> {
    let whole = [ajp_head(), ajp_body(), ajp_end()].concat();
    let mut rows: Vec<Row> = vec![
        ("whole", "ajp", whole.clone(), Then::Hold, Gets::Whole),
        ("another magic", "ajp", [b"XY", &whole[2..]].concat(), Then::Close, Gets::Broken),
        ("unknown packet", "ajp", packet(b"\x63"), Then::Close, Gets::Broken),
        (
            "longer than packets are",
            "ajp",
            [&b"AB\xff\xff"[..], &[4; 70_000]].concat(),
            Then::Close,
            Gets::Broken,
        ),
        ("head twice", "ajp", [ajp_head(), ajp_head(), ajp_end()].concat(), Then::Close, Gets::Broken),
        ("body before the head", "ajp", [ajp_body(), ajp_end()].concat(), Then::Close, Gets::Broken),
        (
            "a string beyond the packet",
            "ajp",
            packet(b"\x04\x00\xc8\x7f\xffOK\x00\x00\x00"),
            Then::Close,
            Gets::Broken,
        ),
        (
            "a body beyond the packet",
            "ajp",
            [ajp_head(), packet(b"\x03\x7f\xffhello\x00"), ajp_end()].concat(),
            Then::Close,
            Gets::Broken,
        ),
        ("says nothing", "ajp", Vec::new(), Then::Hold, Gets::Status(504)),
    ];
    rows.extend((0..whole.len()).map(|cut| ("cut", "ajp", whole[..cut].to_vec(), Then::Close, Gets::Broken)));
    rows
}

fn http_rows() -> Vec<Row> {
    let answer = |fields: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n{body}").into_bytes();
    let chunked = |body: &str| answer("Transfer-Encoding: chunked\r\n", body);
    let fields = "X-A: b\r\n".repeat(200_000 / 8);
    vec![
        ("whole", "http", answer("Content-Length: 5\r\n", "hello"), Then::Hold, Gets::Whole),
        ("bad chunk size", "http", chunked("5x\r\nhello\r\n0\r\n\r\n"), Then::Close, Gets::Broken),
        ("negative chunk", "http", chunked("-5\r\nhello\r\n0\r\n\r\n"), Then::Close, Gets::Broken),
        ("huge chunk", "http", chunked("ffffffffffffffff\r\nhello\r\n0\r\n\r\n"), Then::Close, Gets::Broken),
        ("chunks without an end", "http", chunked("5\r\nhello\r\n"), Then::Close, Gets::Broken),
        (
            "length and chunks",
            "http",
            answer("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n"),
            Then::Close,
            Gets::Whole,
        ),
        (
            "two lengths",
            "http",
            answer("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"),
            Then::Close,
            Gets::Status(502),
        ),
        ("less than its length", "http", answer("Content-Length: 9\r\n", "hello"), Then::Close, Gets::Broken),
        (
            "more than its length",
            "http",
            answer("Content-Length: 5\r\n", "helloHTTP/1.1 200 OK\r\n\r\n"),
            Then::Close,
            Gets::Whole,
        ),
        ("200 KB of fields", "http", answer(&fields, ""), Then::Close, Gets::Status(502)),
        ("no HTTP", "http", b"SSH-2.0-x\r\n".to_vec(), Then::Close, Gets::Status(502)),
        ("interim for ever", "http", b"HTTP/1.1 103 E\r\n\r\n".to_vec(), Then::Repeat, Gets::Status(502)),
        (
            "unasked upgrade",
            "http",
            b"HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n".to_vec(),
            Then::Close,
            Gets::Status(502),
        ),
        ("a head that never ends", "http", b"HTTP/1.1 200 OK\r\nX-".to_vec(), Then::Hold, Gets::Status(504)),
        ("a body that stops", "http", answer("Content-Length: 9\r\n", "hello"), Then::Hold, Gets::Broken),
        ("says nothing", "http", Vec::new(), Then::Hold, Gets::Status(504)),
    ]
}

fn h2_rows() -> Vec<Row> {
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let with = |frames: &[u8]| [&settings[..], frames].concat();
    vec![
        ("no HTTP/2", "h2c", b"HTTP/1.1 400 Bad\r\n\r\n".to_vec(), Then::Close, Gets::Status(503)),
        (
            "a frame that is too long",
            "h2c",
            with(&[0xff, 0xff, 0xff, 1, 4, 0, 0, 0, 1]),
            Then::Close,
            Gets::Status(503),
        ),
        ("a reset", "h2c", with(&[0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 2]), Then::Close, Gets::Status(502)),
        (
            "a farewell",
            "h2c",
            with(&[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            Then::Close,
            Gets::Status(502),
        ),
        (
            "fields that can't be decoded",
            "h2c",
            with(&[0, 0, 3, 1, 4, 0, 0, 0, 1, 0xff, 0xff, 0xff]),
            Then::Close,
            Gets::Status(503),
        ),
        ("says nothing", "h2c", Vec::new(), Then::Hold, Gets::Status(504)),
    ]
}

/// Each row's backend has a port and a path of its own; all are one server's.
fn served(rows: &[Row]) -> (Server, Vec<(u16, thread::JoinHandle<()>)>) {
    let (mut config, mut backends) = (String::new(), Vec::new());
    for (number, (_, scheme, said, then, _)) in rows.iter().enumerate() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        config.push_str(&format!("ProxyPass /{number}/ {scheme}://127.0.0.1:{port}/ timeout=1 retry=0\n"));
        let (said, then) = (said.clone(), *then);
        backends.push((
            port,
            thread::spawn(move || {
                // Whoever is asked again says the same; the last connection says that it is over.
                for stream in listener.incoming().flatten() {
                    if stream.peek(&mut [0; 1]).is_ok_and(|read| read == 0) {
                        return;
                    }
                    say(stream, &said, then);
                }
            }),
        ));
    }
    (Site::new().config(&config).start(), backends)
}

fn get(server: &Server, number: usize) -> Response {
    let mut connection = server.connect();
    connection.send(format!("GET /{number}/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
    connection.response()
}

fn check(rows: &[Row]) {
    let (server, backends) = served(rows);
    for (number, (name, scheme, said, _, gets)) in rows.iter().enumerate() {
        let what = format!("{scheme}: {name} ({} bytes)", said.len());
        let since = Instant::now();
        if *gets == Gets::Endless {
            let mut connection = server.connect();
            connection.send(format!("GET /{number}/x HTTP/1.1\r\nHost: a\r\n\r\n"));
            assert!((0..200_000).all(|_| connection.byte().is_some()), "{what}");
            continue;
        }
        let answer = get(&server, number);
        // Time: no server may hold a request for as long as it likes.
        assert!(since.elapsed() < Duration::from_secs(15), "{what}");
        let is_whole = answer.status == 200 && !answer.truncated && answer.text().starts_with("hello");
        match gets {
            Gets::Status(status) => assert_eq!(answer.status, *status, "{what}\n{}", server.error_log()),
            Gets::Whole => assert!(
                is_whole && answer.text() == "hello",
                "{what}: {}, {} bytes",
                answer.status,
                answer.body.len()
            ),
            Gets::Broken => assert!(!is_whole, "{what}: {}, {} bytes", answer.status, answer.body.len()),
            Gets::Endless => {}
        }
    }
    // All the others are served as before.
    assert_eq!(server.get("/no-such-file").status, 404);
    drop(server);
    for (port, backend) in backends {
        drop(TcpStream::connect(("127.0.0.1", port)));
        backend.join().expect("it ends");
    }
}

#[test]
fn fastcgi_programs_that_lie_hurt_their_own_request() {
    check(&fastcgi_rows());
}

#[test]
fn containers_that_lie_hurt_their_own_request() {
    check(&ajp_rows());
}

#[test]
fn servers_that_lie_hurt_their_own_request() {
    check(&http_rows());
}

#[test]
fn servers_of_http2_that_lie_hurt_their_own_request() {
    check(&h2_rows());
}

/// A server that says a byte now and then holds its own request, and no other.
#[test]
fn a_slow_server_holds_nobody_else_up() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let slow = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi" {
            // Time: this server is slow.
            thread::sleep(Duration::from_millis(25));
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
        }
    });
    let config = format!("ProxyPass /slow/ http://127.0.0.1:{port}/ timeout=1\n");
    let server = Site::new().file("htdocs/a.txt", "a").config(&config).start();
    let mut waiting = server.connect();
    waiting.send("GET /slow/ HTTP/1.1\r\nHost: a\r\n\r\n");
    for _ in 0..20 {
        assert_eq!(server.get("/a.txt").status, 200);
    }
    assert_eq!(waiting.response().text(), "hi");
    slow.join().expect("it ends");
}

/// A request has a bound of connections, however quickly each of them is closed.
#[test]
fn who_closes_each_connection_gets_no_more_than_a_few() {
    let schemes = ["fcgi", "scgi", "uwsgi", "ajp", "http", "h2c"];
    let counts = schemes.map(|_| Arc::new(AtomicUsize::new(0)));
    let mut config = String::new();
    for (scheme, count) in schemes.iter().zip(&counts) {
        let (listener, count) = (TcpListener::bind("127.0.0.1:0").expect("a port"), count.clone());
        let port = listener.local_addr().expect("its address").port();
        config.push_str(&format!("ProxyPass /{scheme}/ {scheme}://127.0.0.1:{port}/ timeout=5 retry=0\n"));
        thread::spawn(move || {
            for stream in listener.incoming() {
                count.fetch_add(1, SeqCst);
                drop(stream);
            }
        });
    }
    let server = Site::new().config(&config).start();
    for (scheme, count) in schemes.iter().zip(&counts) {
        // Whether a connection is closed before the request is said is chance.
        for _ in 0..10 {
            let status = server.get(&format!("/{scheme}/x")).status;
            assert!(matches!(status, 500 | 502 | 503), "{scheme}: {status}\n{}", server.error_log());
        }
        let connections = count.load(SeqCst);
        assert!(connections <= 10 * 4, "{scheme}: {connections} for ten requests");
    }
}
