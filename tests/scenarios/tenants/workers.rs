//! Hostile warm workers: they share memory and descriptors with the front, and may lie.

use super::{Attack, Owned, is_long, tenants};
use crate::faults::await_that;
use hostler_tests::{Response, Server, needs_root};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::thread;
use std::time::Duration;

/// Both tenants have Registry scripts below `/perl`.
pub(super) const PERL: &str = "StartServers 2\nMaxRequestWorkers 4\n<Location /perl>\nSetHandler perl-script\n\
                    PerlResponseHandler ModPerl::Registry\nPerlOptions +ParseHeaders\nOptions +ExecCGI\n</Location>";

/// See there.
const HOSTILE: &str = include_str!("hostile.pl");

const FINE: &str = "print \"Content-Type: text/plain\\n\\nfine\";\n";

/// Returns the duration of a worker's attack, in seconds.
fn seconds() -> u32 {
    if is_long() { 10 } else { 2 }
}

fn server() -> Server {
    let site = tenants("").config(PERL).dir("b/htdocs/perl");
    let site = site.script("b/htdocs/perl/fine", FINE).owner("b/htdocs/perl/fine", super::B);
    site.dir("a/htdocs/perl")
        .owner("a/htdocs/perl", super::A)
        .a_script("htdocs/perl/hostile", HOSTILE)
        .a_script("htdocs/perl/fine", FINE)
        .a_script("htdocs/perl/stream", STREAM)
        .start()
}

fn get(server: &Server, tenant: &str, target: &str) -> Response {
    server.get_with(target, &format!("Host: {tenant}.test\r\n"))
}

/// Several workers of A do this at once.
fn all_do(server: &Server, what: &str) {
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| get(server, "a", &format!("/perl/hostile?{what}+{}", seconds())));
        }
    });
}

/// A's own requests are served again, too.
fn heals(server: &Server) {
    await_that("A is served", || get(server, "a", "/perl/fine").text() == "fine");
}

#[test]
fn a_worker_that_jams_its_bells_holds_nobody_up() {
    needs_root!();
    let server = server();
    Attack::new("workers that fill their bells, make them blocking and die", 16).run(&server, || {
        for _ in 0..4 {
            assert_eq!(get(&server, "a", "/perl/hostile?jam").status, 502);
            assert_eq!(get(&server, "b", "/perl/fine").text(), "fine");
        }
        heals(&server);
    });
}

#[test]
fn a_worker_that_says_nothing_for_ever_fills_no_memory() {
    needs_root!();
    let server = server();
    Attack::new("workers that send empty pieces of an answer without end", 16).run(&server, || {
        // A URL that has been answered is given to workers by another way.
        assert_eq!(get(&server, "a", "/perl/hostile?fine").text(), "fine");
        all_do(&server, "nothing");
        all_do(&server, "nothing_of_an_answer");
        heals(&server);
    });
}

#[test]
fn questions_whose_answers_nobody_reads_fill_no_memory() {
    needs_root!();
    let server = server();
    Attack::new("workers that ask without end and read no answer", 8).run(&server, || {
        all_do(&server, "questions");
        heals(&server);
    });
}

/// Bytes that the programs of a tenant may have written: what one may write at once, what may be written in that time,
/// and what stands before each line.
fn logged(server: &Server) -> usize {
    let most = (10 << 20) + seconds() as usize * (1 << 20);
    let log = server.error_log();
    assert!(log.len() <= most, "{} bytes of log", log.len());
    log.matches("'s programs were left out").count()
}

/// A machine that is busy may take several times as long as they are at it.
fn until_left_out(server: &Server, what: &str) {
    await_that("lines are left out", || {
        all_do(server, what);
        server.error_log().contains("of this site's programs were left out")
    });
}

#[test]
fn lines_without_end_hold_nobody_up_nor_fill_the_log() {
    needs_root!();
    let server = server();
    Attack::new("workers that write log lines without end", 16).run(&server, || {
        until_left_out(&server, "lines");
        heals(&server);
    });
    assert!(logged(&server) > 0);
}

#[test]
fn a_flood_on_stderr_holds_nobody_up_nor_fills_the_log() {
    needs_root!();
    let server = server();
    Attack::new("workers that write to their standard error without end", 16).run(&server, || {
        until_left_out(&server, "stderr");
        heals(&server);
    });
    assert!(logged(&server) > 0);
}

/// Sends as fast as it is read.
const STREAM: &str =
    "print \"Content-Type: text/plain\\n\\n\"; my $piece = 'x' x 65536; print $piece while 1;\n";

/// Reads an answer that has no end, until B has been served.
fn read_for_ever(port: u16) -> TcpStream {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
    stream.write_all(b"GET /perl/stream HTTP/1.1\r\nHost: a.test\r\n\r\n").expect("it is sent");
    let mut reader = stream.try_clone().expect("a copy");
    thread::spawn(move || {
        let mut space = vec![0; 1 << 20];
        while reader.read(&mut space).is_ok_and(|n| n > 0) {}
    });
    stream
}

#[test]
fn an_answer_without_end_leaves_others_their_turn() {
    needs_root!();
    let server = server();
    assert_eq!(get(&server, "b", "/perl/fine").text(), "fine");
    Attack::new("answers without end to clients that read fast", 32).run(&server, || {
        let streams: Vec<TcpStream> = (0..3).map(|_| read_for_ever(server.port())).collect();
        for _ in 0..if is_long() { 500 } else { 50 } {
            assert_eq!(get(&server, "b", "/perl/fine").text(), "fine");
        }
        for stream in streams {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        // Time: between two rounds of the attack.
        thread::sleep(Duration::from_millis(1));
    });
}
