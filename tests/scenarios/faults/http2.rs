//! HTTP/2: what its library leaves to us, and the attacks by frames that it has to bound. In clear text with prior
//! knowledge, so that a scenario can send any bytes; TLS changes nothing here.

use super::frames::{
    CONTINUATION, Client, DATA, END_HEADERS, END_STREAM, HEADERS, Outcome, PING, RST_STREAM, SETTINGS,
    WINDOW_UPDATE, block, frame, string,
};
use super::{CAT, await_that, process, site_with};
use hostler_tests::Server;

const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "http"), (":authority", "localhost"), (":path", "/x")];

/// The most that a front may grow under attack, in kilobytes: far more than it needs, far less than what is sent.
const GROWTH: u64 = 50_000;

fn server(config: &str) -> Server {
    let site = site_with(&[("cat", CAT)]).config("Protocols h2c http/1.1").config(config);
    site.file("htdocs/huge", "z".repeat(2_000_000)).start()
}

/// The outcome of one request with these fields on a connection of its own.
fn request(server: &Server, fields: &[(&str, &str)], body: Option<&[u8]>) -> Outcome {
    let mut client = Client::connect(server, &[]);
    let end = if body.is_none() { END_STREAM } else { 0 };
    client.send(HEADERS, end | END_HEADERS, 1, &block(fields));
    if let Some(body) = body {
        client.send(DATA, END_STREAM, 1, body);
    }
    client.outcome(1)
}

fn is_refused(outcome: &Outcome) -> bool {
    !matches!(outcome, Outcome::Answer(0..=399, _))
}

/// The server lives and answers others, and its front has not grown beyond reason.
fn is_unharmed(server: &Server, before: u64) {
    assert_eq!(server.get("/x").text(), "x");
    let mut client = Client::connect(server, &[]);
    client.get(1, "/x");
    assert_eq!(client.outcome(1), Outcome::Answer(200, b"x".to_vec()));
    let after = process::resident(process::front(server));
    assert!(after < before + GROWTH, "the front grew from {before} to {after} KB");
}

fn memory(server: &Server) -> u64 {
    assert_eq!(server.get("/x").text(), "x");
    process::resident(process::front(server))
}

#[test]
fn requests_and_bodies_pass() {
    let server = server("");
    assert_eq!(request(&server, &GET, None), Outcome::Answer(200, b"x".to_vec()));
    let post = [(":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/cgi-bin/cat")];
    assert_eq!(request(&server, &post, Some(b"abc")), Outcome::Answer(200, b"abc".to_vec()));
    let missing = [GET[0], GET[1], GET[2], (":path", "/none")];
    assert!(matches!(request(&server, &missing, None), Outcome::Answer(404, _)));
}

#[test]
fn fields_that_could_be_lines_are_refused() {
    let server = server("");
    let names = ["X-A", "x a", "x:a", "x\ra", "x\na", "x\0a", ""];
    let values = ["a\rb", "a\nb", "a\0b", "\r\n", "a\r\nx-evil: 1", " a", "a ", "\ta"];
    let fields = names.iter().map(|name| (*name, "a")).chain(values.iter().map(|value| ("x-a", *value)));
    for field in fields {
        let outcome = request(&server, &[&GET[..], &[field]].concat(), None);
        assert!(is_refused(&outcome), "{field:?}: {outcome:?}");
    }
}

#[test]
fn fields_of_a_connection_are_refused() {
    let server = server("");
    for field in [
        ("connection", "close"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "close"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "websocket"),
        ("te", "gzip"),
    ] {
        let outcome = request(&server, &[&GET[..], &[field]].concat(), None);
        assert!(is_refused(&outcome), "{field:?}: {outcome:?}");
    }
    let outcome = request(&server, &[&GET[..], &[("te", "trailers")]].concat(), None);
    assert!(matches!(outcome, Outcome::Answer(200, _)), "{outcome:?}");
}

#[test]
fn pseudo_fields_are_checked() {
    let server = server("");
    let with_path = |path| [GET[0], GET[1], GET[2], (":path", path)];
    for path in ["x", "", "//../x", "/../x", "/x y", "/x\r\n", "/\0", "*", "http://localhost/x", "/%zz"] {
        let outcome = request(&server, &with_path(path), None);
        assert!(is_refused(&outcome), "{path:?}: {outcome:?}");
    }
    let bad: [&[(&str, &str)]; 9] = [
        &GET[..3],
        &GET[1..],
        &[GET[0], GET[2], GET[3]],
        &[GET[0], GET[1], GET[2], GET[3], (":path", "/y")],
        &[("x", "y"), GET[0], GET[1], GET[2], GET[3]],
        &[GET[0], GET[1], GET[2], GET[3], (":status", "200")],
        &[GET[0], GET[1], GET[2], GET[3], (":other", "x")],
        &[GET[0], GET[1], (":authority", "a/../b"), GET[3]],
        &[GET[0], GET[1], (":authority", "user@a"), GET[3]],
    ];
    for fields in bad {
        let outcome = request(&server, fields, None);
        assert!(is_refused(&outcome), "{fields:?}: {outcome:?}");
    }
}

#[test]
fn a_length_that_is_not_the_body_s_is_an_error() {
    let server = server("");
    let post = [(":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/cgi-bin/cat")];
    for (length, body) in [("5", "abc"), ("2", "abc"), ("+3", "abc"), ("3, 3", "abc"), ("x", ""), ("1", "")] {
        let fields = [&post[..], &[("content-length", length)]].concat();
        let outcome = request(&server, &fields, Some(body.as_bytes()));
        assert!(is_refused(&outcome), "{length} of {body:?}: {outcome:?}");
    }
    let twice = [&post[..], &[("content-length", "3"), ("content-length", "4")]].concat();
    assert!(is_refused(&request(&server, &twice, Some(b"abc"))));
    let right = [&post[..], &[("content-length", "3")]].concat();
    assert_eq!(request(&server, &right, Some(b"abc")), Outcome::Answer(200, b"abc".to_vec()));
}

#[test]
fn a_window_that_never_opens_ends_by_the_timeout() {
    let server = server("Timeout 1");
    let initial_window_size = (4, 0);
    let mut client = Client::connect(&server, &[initial_window_size]);
    client.get(1, "/huge");
    let outcome = client.outcome(1);
    assert!(matches!(outcome, Outcome::Closed(_) | Outcome::Reset(_)), "{outcome:?}");
    assert_eq!(server.get("/x").text(), "x");
}

#[test]
fn a_body_that_never_comes_ends_by_the_timeout() {
    let server = server("Timeout 1\nKeepAliveTimeout 1");
    let mut client = Client::connect(&server, &[]);
    let post = [(":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/cgi-bin/cat")];
    client.send(HEADERS, END_HEADERS, 1, &block(&post));
    let outcome = client.outcome(1);
    assert!(is_refused(&outcome), "{outcome:?}");
}

#[test]
fn a_client_that_says_nothing_more_is_let_go() {
    let server = server("Timeout 1\nKeepAliveTimeout 1\nRequestReadTimeout header=1");
    let mut half_a_preface = server.connect();
    half_a_preface.send("PRI * HTTP/2.0\r\n\r\n");
    let _ = half_a_preface.rest();
    // These never answer a ping or a GOAWAY.
    let mut idle = Client::connect(&server, &[]);
    let _ = idle.closes();
    let mut served = Client::connect(&server, &[]);
    served.get(1, "/x");
    let _ = served.closes();
    let mut half_a_header = Client::connect(&server, &[]);
    half_a_header.send(HEADERS, END_STREAM, 1, &block(&GET));
    let _ = half_a_header.closes();
}

#[test]
fn rapid_resets_are_survived() {
    let server = server("");
    let before = memory(&server);
    let mut client = Client::connect(&server, &[]);
    let (fields, cancel) = (block(&GET), 8_u32.to_be_bytes());
    for round in 0..10_000 {
        let stream = 2 * round + 1;
        let pair = [
            frame(HEADERS, END_STREAM | END_HEADERS, stream, &fields),
            frame(RST_STREAM, 0, stream, &cancel),
        ];
        if !client.raw(&pair.concat()) {
            break;
        }
    }
    is_unharmed(&server, before);
}

#[test]
fn resets_that_the_server_is_made_to_send_are_survived() {
    let server = server("");
    let before = memory(&server);
    let mut client = Client::connect(&server, &[]);
    let post = [(":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/cgi-bin/cat")];
    let fields = block(&post);
    for round in 0..2000 {
        // A window that grows by nothing is an error of the stream (RFC 9113 §6.9).
        let stream = 2 * round + 1;
        let pair = [frame(HEADERS, END_HEADERS, stream, &fields), frame(WINDOW_UPDATE, 0, stream, &[0; 4])];
        if !client.raw(&pair.concat()) {
            break;
        }
    }
    drop(client);
    is_unharmed(&server, before);
    // The programs that were begun are not left behind.
    await_that("the programs end", || {
        process::named(&server, "hostler-site").iter().all(|site| process::children(*site).is_empty())
    });
}

#[test]
fn a_header_that_goes_on_and_on_is_cut_off() {
    let server = server("");
    let before = memory(&server);
    let mut client = Client::connect(&server, &[]);
    client.send(HEADERS, END_STREAM, 1, &block(&GET));
    let more = block(&[("x-a", &"a".repeat(16_000))]);
    let mut taken = 0;
    while taken < 10_000 && client.send(CONTINUATION, 0, 1, &more) {
        taken += 1;
    }
    assert!(taken < 10_000, "160 MB of header were taken");
    is_unharmed(&server, before);
}

#[test]
fn a_small_block_that_becomes_a_large_header_is_refused() {
    let server = server("");
    let before = memory(&server);
    let mut client = Client::connect(&server, &[]);
    // One large field enters the table, then is named 16,000 times: 64 MB of header in 20 KB.
    let entry = [&[0x40][..], &string("x-a"), &string(&"a".repeat(4000))].concat();
    let bomb = [block(&GET), entry, vec![0xbe; 10_000]].concat();
    client.send(HEADERS, END_STREAM | END_HEADERS, 1, &bomb);
    let outcome = client.outcome(1);
    assert!(is_refused(&outcome), "{outcome:?}");
    is_unharmed(&server, before);
}

#[test]
fn a_client_that_only_asks_and_never_reads_fills_no_memory() {
    let server = server("Timeout 2");
    let before = memory(&server);
    let mut client = Client::connect(&server, &[]);
    let flood = [frame(PING, 0, 0, &[0; 8]), frame(SETTINGS, 0, 0, &[])].concat().repeat(1000);
    // 26 MB, as far as the server takes them.
    for _ in 0..1000 {
        if !client.raw_or_full(&flood) {
            break;
        }
    }
    is_unharmed(&server, before);
}

#[test]
fn a_frame_larger_than_allowed_ends_the_connection() {
    let server = server("");
    let mut client = Client::connect(&server, &[]);
    client.send(DATA, 0, 1, &[0; 20_000]);
    // FRAME_SIZE_ERROR (RFC 9113 §4.2), or what the frame's stream deserves.
    assert!(client.closes().is_some_and(|code| code != 0));
    assert_eq!(server.get("/x").text(), "x");
}

#[test]
fn fields_have_the_limits_of_http_1() {
    let server = server("LimitRequestFields 20\nLimitRequestFieldSize 1000\nLimitRequestLine 500");
    let status = |fields: &[(&str, &str)]| match request(&server, fields, None) {
        Outcome::Answer(status, _) => status,
        other => panic!("{other:?}"),
    };
    let many = |n| [&GET[..], &vec![("x-a", "b"); n]].concat();
    assert_eq!((status(&many(20)), status(&many(21))), (200, 431));
    let (half, more) = ("b".repeat(499), "b".repeat(500));
    let two = |value| [&GET[..], &[("x-a", value), ("x-a", value)]].concat();
    assert_eq!((status(&two(&half)), status(&two(&more))), (200, 431));
    // Pieces of one cookie are one field, also for its length.
    let cookies = [&GET[..], &vec![("cookie", "a=b"); 190]].concat();
    assert_eq!(status(&cookies), 200);
    let long = format!("/{}", "x".repeat(500));
    assert_eq!(status(&[GET[0], GET[1], GET[2], (":path", &long)]), 414);
}

#[test]
fn urls_of_other_schemes_are_nobody_s_here() {
    let server = server("");
    for (scheme, expected) in [("http", 200), ("https", 200), ("HTTP", 200), ("ftp", 400), ("invalid", 400)] {
        match request(&server, &[GET[0], (":scheme", scheme), GET[2], GET[3]], None) {
            Outcome::Answer(status, _) => assert_eq!(status, expected, "{scheme}"),
            other => panic!("{scheme}: {other:?}"),
        }
    }
}

/// Returns how many times the threads of a process have waited.
fn waits(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("a process");
    let waits = |task: std::fs::DirEntry| {
        let status = std::fs::read_to_string(task.path().join("status")).ok()?;
        status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")?.trim().parse::<u64>().ok())
    };
    tasks.flatten().filter_map(waits).sum()
}

#[test]
fn a_preface_may_come_in_pieces_and_its_beginning_costs_nothing() {
    let server = server("");
    let mut whole = server.connect();
    let mut split = server.connect();
    for byte in b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" {
        split.send([*byte]);
    }
    split.send(frame(SETTINGS, 0, 0, &[]));
    assert_eq!(split.byte(), Some(0), "the length of the server's settings");
    for piece in
        ["P", "OST /cgi-bin/cat HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Le", "ngth: 2\r\n\r\nab"]
    {
        whole.send(piece);
    }
    assert_eq!(whole.response().text(), "ab");
    let mut begun: Vec<_> = (0..100).map(|_| server.connect()).collect();
    begun.iter_mut().for_each(|connection| connection.send("P"));
    assert_eq!(server.get("/x").text(), "x");
    let front = process::front(&server);
    let before = waits(front);
    // Time: what the front does in it is counted.
    std::thread::sleep(std::time::Duration::from_secs(1));
    // Looking at each of them fifty times in a second took thousands.
    assert!(waits(front) < before + 1000, "{} waits in a second", waits(front) - before);
}
