//! Programs that run in the server and say nothing for long: `Timeout` does not limit them, `HostlerWorkerTimeout` does.

use super::{go, lines, site, techniques};
use hostler_tests::await_that;
use std::time::Duration;

#[test]
fn timeout_does_not_limit_programs_that_run_in_the_server() {
    for technique in techniques().into_iter().filter(|technique| technique.name != "cgi") {
        let server = site("Timeout 1").start();
        let mut client = server.connect();
        client.send(format!("GET {}?quiet HTTP/1.1\r\nHost: a\r\n\r\n", technique.url));
        await_that("it has begun", || lines(&server, "begun") == ["quiet"]);
        // Time: longer than Timeout, and how exactly that is kept.
        std::thread::sleep(Duration::from_millis(2500));
        go(&server);
        let answer = client.response();
        assert_eq!((answer.status, answer.text()), (200, "done".to_owned()), "{}", technique.name);
    }
}

#[test]
fn a_directive_limits_them_and_its_message_names_it() {
    for technique in techniques().into_iter().filter(|technique| technique.name != "cgi") {
        let server = site("HostlerWorkerTimeout 1").start();
        let query = if technique.name == "psgi" { "" } else { "?quiet" };
        let mut client = server.connect();
        client.send(format!("GET {}{query} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", technique.url));
        if technique.name == "psgi" {
            // Its head has gone, so the answer breaks off.
            assert!(client.response().truncated);
        } else {
            assert_eq!(client.response().status, 504, "{}", technique.name);
        }
        let line = server.await_error("HostlerWorkerTimeout of 1 s exceeded");
        assert!(line.contains("was killed"), "{line}");
    }
}

#[test]
fn a_virtual_host_lifts_the_limit() {
    let host = "<VirtualHost *:@PORT@>\nServerName free.test\nDocumentRoot \"@ROOT@/htdocs\"\nHostlerWorkerTimeout max\n\
                </VirtualHost>";
    let server = site(&format!("HostlerWorkerTimeout 1\n{host}")).start();
    let mut client = server.connect();
    client.send("GET /perl/x.pl?quiet HTTP/1.1\r\nHost: free.test\r\n\r\n");
    await_that("it has begun", || lines(&server, "begun") == ["quiet"]);
    // Time: as above.
    std::thread::sleep(Duration::from_millis(2500));
    go(&server);
    assert_eq!(client.response().text(), "done");
}
