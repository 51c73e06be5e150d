//! Bodies of requests that are answered before anybody has read them.

use super::{needs_python, site};
use hostler_tests::{Connection, Server};
use std::io::Write;
use std::time::Duration;

/// More than is read only to be dropped.
const LONG: usize = 2_000_000;

fn server() -> Server {
    let text = "
async def app(scope, receive, send):
    await say(send, 'no', 403)
";
    site(text, "").start()
}

/// The answer to a request's head alone.
fn asked(server: &Server, framing: &str) -> (Connection, Option<String>) {
    let mut connection = server.connect();
    connection.send(format!("POST / HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n"));
    let answer = connection.any_response(false);
    assert_eq!((answer.status, &*answer.text()), (403, "no"), "{}", server.error_log());
    (connection, answer.field("Connection").map(str::to_owned))
}

#[test]
fn where_much_is_to_come_the_answer_says_that_the_connection_ends() {
    needs_python!();
    let server = server();
    let (connection, said) = asked(&server, &format!("Content-Length: {LONG}"));
    assert_eq!(said.as_deref(), Some("close"));
    // Many clients read nothing before they have sent all, however long that takes.
    let mut sender = connection.sender();
    for _ in 0..20 {
        sender.write_all(&vec![b'z'; LONG / 20]).expect("the rest is taken");
        // Time: a client that takes longer than the two seconds for which one may be silent.
        std::thread::sleep(Duration::from_millis(150));
    }
}

#[test]
fn where_it_does_not_say_so_the_connection_stays() {
    needs_python!();
    let server = server();
    let chunk = format!("{LONG:x}\r\n{}\r\n0\r\n\r\n", "z".repeat(LONG));
    let little = "z".repeat(200_000);
    for (framing, body) in [("Transfer-Encoding: chunked", chunk), ("Content-Length: 200000", little)] {
        let (mut connection, said) = asked(&server, framing);
        assert_eq!(said, None);
        connection.send(body);
        connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(connection.response().status, 403, "{framing}");
    }
}
