//! Clients that leave before they have an answer: a request that has been read is run, as under Apache.

use super::{go, lines, site, techniques};
use hostler_tests::await_that;
use std::collections::BTreeSet;

/// Requests that leave while the only worker, or place, is taken.
const LEAVING: usize = 6;

#[test]
fn a_request_whose_client_leaves_before_a_worker_has_taken_it_is_run() {
    for technique in techniques() {
        let server = site("MaxRequestWorkers 1\nHostlerSitePrograms 1").start();
        let mut first = server.connect();
        first.send(format!("GET {}?first HTTP/1.1\r\nHost: a\r\n\r\n", technique.url));
        await_that("the worker is busy", || lines(&server, "begun") == ["first"]);
        for n in 0..LEAVING {
            let mut client = server.connect();
            client.send(format!("GET {}?{n} HTTP/1.1\r\nHost: a\r\n\r\n", technique.url));
            drop(client);
        }
        // By then the front has noticed that they have left.
        (0..20).for_each(|_| assert_eq!(server.get("/y.txt").text(), "y"));
        go(&server);
        assert_eq!(first.response().text(), "done", "{}", technique.name);
        let all = || lines(&server, "ran").into_iter().collect::<BTreeSet<_>>();
        await_that(&format!("all are run by {}", technique.name), || all().len() == LEAVING + 1);
        await_that("each is in the access log", || {
            (0..LEAVING).all(|n| server.access_log().contains(&format!("{}?{n} ", technique.url)))
        });
    }
}

#[test]
fn a_program_whose_client_leaves_while_it_runs_comes_to_its_end() {
    for technique in techniques() {
        let server = site("").start();
        for query in ["", "quiet"] {
            let before = lines(&server, "ran").len();
            let mut client = server.connect();
            client.send(format!("GET {}?{query} HTTP/1.1\r\nHost: a\r\n\r\n", technique.url));
            await_that("it has begun", || lines(&server, "begun").len() > before);
            drop(client);
            (0..20).for_each(|_| assert_eq!(server.get("/y.txt").text(), "y"));
            go(&server);
            await_that(&format!("{} comes to its end", technique.name), || {
                lines(&server, "ran").len() > before
            });
            std::fs::remove_file(server.site().path("tmp/go")).expect("it is there");
        }
    }
}

/// A place among the connections of an address is not won by leaving.
#[test]
fn who_leaves_keeps_the_connection_s_place() {
    let server = site("HostlerConnectionsPerAddress 4\nMaxRequestWorkers 64").start();
    for n in 0..4 {
        let mut client = server.connect();
        client.send(format!("GET /perl/x.pl?{n} HTTP/1.1\r\nHost: a\r\n\r\n"));
        await_that("it has begun", || lines(&server, "begun").len() > n);
        drop(client);
    }
    let refused = || {
        let mut client = server.connect();
        client.send("GET /y.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        client.rest().is_empty()
    };
    assert!(refused());
    let _ = server.await_error("HostlerConnectionsPerAddress");
    go(&server);
    await_that("the places are free again", || !refused());
}

#[test]
fn a_stream_of_http_2_that_is_reset_is_served_to_its_end() {
    // Before its head is there, and after that.
    for target in ["/perl/x.pl?quiet", "/x.cgi?reset"] {
        let server = site("Protocols h2c http/1.1").start();
        let url = format!("http://127.0.0.1:{}{target}", server.port());
        let mut curl = std::process::Command::new("curl");
        let mut client = curl
            .args(["-s", "--http2-prior-knowledge", &url])
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("curl runs");
        await_that("it has begun", || lines(&server, "begun").len() == 1);
        client.kill().expect("it runs");
        client.wait().expect("it ends");
        (0..20).for_each(|_| assert_eq!(server.get("/y.txt").text(), "y"));
        go(&server);
        await_that("it is run", || lines(&server, "ran").len() == 1);
    }
}
