//! A technique that is a folder and a row: the tests' engine (`engines/echo`) the whole way. The rest of Hostler knows it
//! only by its row.

use hostler_tests::{Server, Site, hostler};
use std::process::Command;

fn serve() -> Server {
    Site::new()
        .file("htdocs/a.txt", "a file")
        .config(
            "<Location /echo>\nSetHandler echo\n</Location>\n\
             <Location /echo/anew>\nIsolation fork\n</Location>\n\
             <Location /missing>\nSetHandler echo\n</Location>",
        )
        .start()
}

#[test]
fn it_answers_in_warm_workers_and_in_processes_of_one_request() {
    let server = serve();
    for path in ["/echo/x", "/echo/anew"] {
        let answer = server.get(&format!("{path}?q=1"));
        let text = answer.text();
        assert_eq!((answer.status, answer.field("Content-Type")), (200, Some("text/plain")), "{text}");
        assert!(text.starts_with(&format!("said: GET {path}?q=1\n")), "{text}");
    }
    let post = "POST /echo/x HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nConnection: close\r\n\r\na body";
    let text = server.request(post.as_bytes()).text();
    assert!(text.starts_with("said: POST /echo/x\n") && text.ends_with("a body"), "{text}");
}

#[test]
fn what_it_says_is_the_answer_s_status_and_files_are_nobody_s_but_ours() {
    let server = serve();
    assert_eq!(server.get("/missing").status, 404);
    assert_eq!(server.get("/a.txt").text(), "a file");
}

#[test]
fn what_it_cannot_be_is_refused_with_the_row_s_reason() {
    let site = Site::new().config("<Location /echo>\nSetHandler echo\nIsolation exec\n</Location>");
    let file = site.write_config(1);
    let output = Command::new(hostler()).arg("check").arg("-f").arg(file).output().expect("hostler check");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("use Isolation persistent or fork"), "{said}");
}
