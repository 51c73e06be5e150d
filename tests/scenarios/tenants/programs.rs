//! Programs that are started for one request each: A may have so many, whoever asks for them and however slowly.

use super::{Attack, Owned, begun, tenants};
use crate::faults::await_that;
use hostler_tests::{Connection, Server, Site, needs_root};

/// A program that says that it runs, and runs until the file `go` is there.
const STAYS: &str = "#!/bin/sh\ncd \"${0%/*}/../htdocs\"\n: >run.$$\nwhile [ ! -e go ]; do sleep 0.05; done\n\
                     rm run.$$\nprintf 'Content-Type: text/plain\\n\\nA ran'\n";
/// The same, but for reading its input first.
const READS: &str =
    "#!/bin/sh\ncd \"${0%/*}/../htdocs\"\n: >read.$$\nprintf 'Content-Type: text/plain\\n\\n'\nexec cat\n";

const GET: &str = "GET /cgi-bin/stays HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";

/// A server whose A may have four programs, and ten requests that wait.
fn site() -> Site {
    site_with("HostlerSitePrograms 4\nHostlerQueueLength 10\n")
}

fn site_with(bounds: &str) -> Site {
    tenants(bounds)
        .a_script("cgi-bin/stays", STAYS)
        .a_script("cgi-bin/reads", READS)
        .script("b/cgi-bin/b", "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\nB runs'\n")
        .owner("b/cgi-bin/b", super::B)
        .config("MaxRequestWorkers 6")
}

fn b_runs(server: &Server) {
    assert_eq!(server.get_with("/cgi-bin/b", "Host: b.test\r\n").text(), "B runs", "{}", server.error_log());
}

fn asked(server: &Server, request: &str) -> Connection {
    let mut connection = server.connect();
    connection.send(request);
    connection
}

#[test]
fn programs_are_bounded_and_the_others_wait_their_turn() {
    needs_root!();
    let server = site().start();
    let most = if super::is_long() { 400 } else { 40 };
    Attack::new("slow programs", 16).run(&server, || {
        let mut all: Vec<Connection> = (0..14).map(|_| asked(&server, GET)).collect();
        await_that("as many run as may", || begun(&server, "run.") == 4);
        for _ in 14..most {
            let mut refused = asked(&server, GET);
            let answer = refused.response();
            assert_eq!((answer.status, answer.field("Retry-After").is_some()), (503, true));
            b_runs(&server);
        }
        assert_eq!(begun(&server, "run."), 4, "{}", server.error_log());
        assert!(server.error_log().contains("HostlerSitePrograms"), "{}", server.error_log());
        std::fs::write(server.site().path("a/htdocs/go"), "").expect("a file");
        for connection in &mut all {
            assert_eq!(connection.response().text(), "A ran");
        }
    });
}

#[test]
fn clients_that_go_away_leave_no_more_programs_than_may_be() {
    needs_root!();
    let server = site().start();
    Attack::new("clients that ask for programs and go away", 16).of_connections().run(&server, || {
        for _ in 0..if super::is_long() { 1000 } else { 60 } {
            drop(asked(&server, GET));
        }
        b_runs(&server);
        // Whoever has gone does not wait any more, and gives nobody's place away.
        std::fs::write(server.site().path("a/htdocs/go"), "").expect("a file");
        await_that("A runs again", || {
            server.get_with("/cgi-bin/stays", "Host: a.test\r\n").text() == "A ran"
        });
    });
}

#[test]
fn a_body_that_trickles_in_keeps_no_program_busy() {
    needs_root!();
    let server = site().start();
    let post = "POST /cgi-bin/reads HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: 20\r\n\r\nten bytes.";
    let many = if super::is_long() { 800 } else { 60 };
    // Each of the long form's 800 requests is kept whole while its body comes: some 45 KiB.
    Attack::new("slow bodies for programs", 64).of_connections().run(&server, || {
        let mut all: Vec<Connection> = (0..many).map(|_| asked(&server, post)).collect();
        b_runs(&server);
        assert_eq!(begun(&server, "read."), 0, "a program was started for a body that has not come");
        let first = &mut all[0];
        first.send("ten again.");
        assert_eq!(first.response().text(), "ten bytes.ten again.");
        assert_eq!(begun(&server, "read."), 1);
    });
}

#[test]
fn no_tenant_holds_the_last_places_whatever_is_configured() {
    needs_root!();
    for most in [1, 4] {
        let server = site_with("HostlerSitePrograms max\nHostlerQueueLength 20\n")
            .config(&format!("MaxRequestWorkers {most}\n"))
            .start();
        Attack::new("all places for programs", 16).run(&server, || {
            let _all: Vec<Connection> = (0..12).map(|_| asked(&server, GET)).collect();
            await_that("as many run as may", || begun(&server, "run.") == (most - 1).max(1));
            for _ in 0..10 {
                b_runs(&server);
            }
            std::fs::write(server.site().path("a/htdocs/go"), "").expect("a file");
        });
    }
}

#[test]
fn what_one_site_has_waiting_does_not_stand_before_another_s() {
    needs_root!();
    // A may have all that there are but for one.
    let server = site().config("HostlerSitePrograms 5").start();
    Attack::new("programs in a server with few", 16).run(&server, || {
        let _all: Vec<Connection> = (0..14).map(|_| asked(&server, GET)).collect();
        await_that("as many run as may", || begun(&server, "run.") == 4);
        for _ in 0..10 {
            b_runs(&server);
        }
        std::fs::write(server.site().path("a/htdocs/go"), "").expect("a file");
    });
}

#[test]
fn programs_that_write_to_stderr_without_end_hold_nobody_up() {
    needs_root!();
    // Short lines take the front more time than long ones.
    let floods = "#!/bin/sh\ncd \"${0%/*}/../htdocs\"\n: >flood.$$\nprintf 'Content-Type: text/plain\\n\\n'\nexec yes >&2\n";
    let server = tenants("").a_script("cgi-bin/floods", floods).start();
    let most = if super::is_long() { 16 } else { 4 };
    Attack::new("programs that write to stderr without end", 32).run(&server, || {
        let request = GET.replace("stays", "floods");
        let all: Vec<Connection> = (0..most).map(|_| asked(&server, &request)).collect();
        await_that("all write", || begun(&server, "flood.") == most);
        let _ = server.await_error("lines of this site's programs were left out");
        drop(all);
    });
}
