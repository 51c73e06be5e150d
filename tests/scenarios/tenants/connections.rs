//! Connections: one address, or visitors of one site, cannot have them all.

use super::{Attack, Owned, begun, is_long, tenants};
use crate::faults::await_that;
use hostler_tests::{Server, Site, needs_root};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, SystemTime};

/// The attacker's address; B's visitor comes from 127.0.0.1.
const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// A program that says that it runs, and runs on.
const STAYS: &str = "#!/bin/sh\ncd \"${0%/*}/../htdocs\"\n: >run.$$\nwhile [ ! -e go ]; do sleep 0.05; done\nprintf 'Content-Type: text/plain\\n\\nA ran'\n";

/// Both tenants have Registry scripts below `/perl`.
const PERL: &str = "<Location /perl>\nSetHandler perl-script\n\
                    PerlResponseHandler ModPerl::Registry\nPerlOptions +ParseHeaders\nOptions +ExecCGI\n</Location>";

const FINE: &str = "print \"Content-Type: text/plain\\n\\nfine\";\n";

/// Young files are looked at each time.
fn old(server: &Server, name: &str) {
    let file = File::open(server.site().path(name)).expect("the file");
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("an older time");
}

pub(super) fn connected(server: &Server, from: Ipv4Addr) -> TcpStream {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&socket, &SocketAddr::from((from, 0))).expect("an address");
    connect(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, server.port()))).expect("a connection");
    TcpStream::from(socket)
}

/// Connections that say so much and then nothing.
fn silent(server: &Server, from: Ipv4Addr, count: usize, said: &str) -> Vec<TcpStream> {
    let open = |_| {
        let mut stream = connected(server, from);
        stream.write_all(said.as_bytes()).expect("it is taken");
        stream
    };
    (0..count).map(open).collect()
}

/// Returns how many of them the server has not closed.
fn open(all: &[TcpStream]) -> usize {
    let is_open = |mut stream: &TcpStream| {
        stream.set_nonblocking(true).expect("a socket");
        matches!(stream.read(&mut [0; 4096]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    };
    all.iter().filter(|stream| is_open(stream)).count()
}

/// The status of A's page, asked for by the attacker.
fn status_for_attacker(server: &Server, target: &str) -> (u16, String) {
    let mut stream = connected(server, ATTACKER);
    let request = format!("GET {target} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    (answer[9..12].parse().expect("a status"), answer)
}

fn site(extra: &str) -> Site {
    tenants(extra).a_file("htdocs/a.html", "A's page")
}

#[test]
fn silent_connections_make_room_for_others() {
    needs_root!();
    let few = site("").config("HostlerConnectionsPerAddress max").descriptors(400).start();
    let many = if is_long() { 4000 } else { 600 };
    Attack::new("silent connections, more than there may be", 16).of_connections().run(&few, || {
        for said in ["", "GET / HTTP/1.1\r\nHost: a.t"] {
            let all = silent(&few, Ipv4Addr::LOCALHOST, many, said);
            await_that("the oldest are closed", || open(&all) <= 200);
            assert!(open(&all[many - 20..]) > 0, "the newest are not");
        }
    });
}

#[test]
fn one_address_has_no_more_connections_than_it_may() {
    needs_root!();
    let server = site("").config("HostlerConnectionsPerAddress 20").start();
    Attack::new("silent connections of one address", 16).of_connections().run(&server, || {
        let mut idle = silent(&server, ATTACKER, 5, "GET /a.html HTTP/1.1\r\nHost: a.test\r\n\r\n");
        for stream in &mut idle {
            // It is idle once it has its answer.
            stream.read_exact(&mut [0; 8]).expect("an answer");
        }
        let all = silent(&server, ATTACKER, if is_long() { 4000 } else { 200 }, "");
        await_that("so many are left", || open(&all) <= 20);
        assert_eq!(status_for_attacker(&server, "/a.html").0, 200, "a new one is taken all the same");
    });
}

#[test]
fn where_none_is_silent_the_new_one_is_closed() {
    needs_root!();
    let site = site("").a_script("cgi-bin/stays", STAYS).config("HostlerConnectionsPerAddress 10");
    let server = site.start();
    Attack::new("busy connections of one address", 16).run(&server, || {
        let request = "GET /cgi-bin/stays HTTP/1.1\r\nHost: a.test\r\n\r\n";
        let busy = silent(&server, ATTACKER, 10, request);
        await_that("all are busy", || begun(&server, "run.") == 10);
        let more = silent(&server, ATTACKER, 1, "");
        await_that("the new one is closed", || open(&more) == 0);
        assert_eq!(open(&busy), 10);
        let _ = server.await_error("HostlerConnectionsPerAddress");
    });
}

#[test]
fn an_address_that_asks_too_often_is_told_when_to_come_back() {
    needs_root!();
    let server = site("").config("HostlerRequestsPerAddress 1 3").start();
    let answers: Vec<u16> = (0..10).map(|_| status_for_attacker(&server, "/a.html").0).collect();
    assert!(answers.starts_with(&[200, 200, 200]), "{answers:?}");
    assert!(answers.contains(&429), "{answers:?}");
    let (_, refused) = status_for_attacker(&server, "/a.html");
    assert!(refused.contains("\r\nRetry-After: "), "{refused}");
    let lines = server.error_log().lines().filter(|line| line.contains("PerAddress")).count();
    assert_eq!(lines, 1, "{}", server.error_log());
    assert_eq!(server.get_with("/b.html", "Host: b.test\r\n").text(), "B's page");
}

#[test]
fn a_site_that_is_asked_too_often_is_the_only_one_to_notice() {
    needs_root!();
    let server = site("HostlerSiteRequests 5 20").start();
    Attack::new("more requests than a site may have", 16).run(&server, || {
        let count = if is_long() { 3000 } else { 200 };
        let answers: Vec<u16> =
            (0..count).map(|_| server.get_with("/a.html", "Host: a.test\r\n").status).collect();
        assert!(answers.starts_with(&[200; 20]) && answers.contains(&429), "{answers:?}");
    });
}

#[test]
fn a_site_has_no_more_requests_at_once_than_it_may() {
    needs_root!();
    let site = site("HostlerSiteConnections 10").config(PERL).dir("a/htdocs/perl");
    let site = site.owner("a/htdocs/perl", super::A).a_script("htdocs/perl/fine", FINE);
    let server = site.a_script("cgi-bin/stays", STAYS).start();
    old(&server, "a/htdocs/a.html");
    Attack::new("more requests at once than a site may have", 16).run(&server, || {
        // What has been asked for so often that it takes no phases any more counts, too: a file, and a script.
        let known = |target| server.get_with(target, "Host: a.test\r\n").status;
        for target in ["/a.html", "/perl/fine"] {
            assert_eq!([known(target), known(target), known(target)], [200; 3]);
        }
        let request = "GET /cgi-bin/stays HTTP/1.1\r\nHost: a.test\r\n\r\n";
        let mut busy = silent(&server, ATTACKER, 10, request);
        await_that("all are busy", || {
            let begun = begun(&server, "run.");
            if begun < 10 {
                // The last one above may have had the tenth place for a moment longer than its client.
                busy.extend(silent(&server, ATTACKER, 1, request));
            }
            begun == 10
        });
        let answer = server.get_with("/none.html", "Host: a.test\r\n");
        assert_eq!((answer.status, answer.field("Retry-After").is_some()), (503, true));
        assert_eq!([known("/a.html"), known("/perl/fine")], [503; 2]);
        drop(busy);
        // Programs run on though their clients have left, and count until they end.
        std::fs::write(server.site().path("a/htdocs/go"), "").expect("a file");
        await_that("there is room again", || {
            server.get_with("/a.html", "Host: a.test\r\n").text() == "A's page"
        });
        let log = server.error_log();
        assert!(log.contains("requests were refused") && log.lines().count() < 5, "{log}");
    });
}

#[test]
fn heads_of_many_folded_lines_cost_no_more_than_their_bytes() {
    needs_root!();
    // One field may be that long, and is read in all its length each time if it is read again with each line.
    let server = site("").config("LimitRequestFieldSize 4000000\nRequestReadTimeout header=0").start();
    let lines = if is_long() { 200_000 } else { 20_000 };
    Attack::new("heads of many folded lines", 64).run(&server, || {
        let mut all = silent(&server, ATTACKER, 4, "GET /a.html HTTP/1.1\r\nHost: a.test\r\nA: b\r\n");
        for _ in 0..lines / 10 {
            for stream in &mut all {
                // Each in a packet of its own, mostly.
                stream.write_all(" x\r\n".repeat(10).as_bytes()).expect("it is taken");
            }
        }
        for stream in &mut all {
            stream.write_all(b"Connection: close\r\n\r\n").expect("it is taken");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("an answer");
            assert!(answer.ends_with("A's page"), "{answer}");
        }
    });
}

#[test]
fn a_body_of_tiny_chunks_costs_no_more_than_its_bytes() {
    needs_root!();
    let server =
        site("").a_script("cgi-bin/count", "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nwc -c\n");
    let server = server.start();
    let chunks = if is_long() { 2_000_000 } else { 200_000 };
    Attack::new("bodies of tiny chunks", 16).run(&server, || {
        let mut stream = connected(&server, ATTACKER);
        let head = "POST /cgi-bin/count HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
        let body = format!("{head}{}0\r\n\r\n", "1\r\nx\r\n".repeat(chunks));
        stream.write_all(body.as_bytes()).expect("it is taken");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains(&format!("\n{chunks}\n")), "{answer}");
    });
}
