//! CGI programs that behave as badly as programs do: each gets a clear answer with its cause, hurts nobody else,
//! and leaves nothing behind. (What well-behaved ones get and may say is compared with Apache in `conformance/`.)

use crate::faults::process;
use hostler_tests::{Response, SITE_UID, Server, Site, await_that, needs_root, until};
use rustix::process::Signal;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

/// A site with one program, `/x.cgi`, which may write into the folder `../tmp`.
fn program(script: &str) -> Site {
    program_with(script, 2)
}

/// The same with a `Timeout`, in seconds.
fn program_with(script: &str, timeout: u32) -> Site {
    let site =
        Site::new().dir("tmp").mode("tmp", 0o777).script("htdocs/x.cgi", format!("#!/bin/sh\n{script}\n"));
    site.config(&format!(
        "<Directory \"@ROOT@/htdocs\">\n  Options +ExecCGI\n  AddHandler cgi-script .cgi\n</Directory>\nTimeout {timeout}"
    ))
}

fn run(script: &str) -> (Server, Response) {
    let server = program(script).start();
    let answer = server.get("/x.cgi");
    (server, answer)
}

fn post(server: &Server, body: &[u8]) -> Response {
    let head = "POST /x.cgi HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let mut request = format!("{head}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    request.extend_from_slice(body);
    server.request(&request)
}

/// The group that the script has written to `../tmp/group`.
fn group(server: &Server) -> String {
    until("the script has begun", || {
        let text = fs::read_to_string(server.site().path("tmp/group")).unwrap_or_default();
        text.ends_with('\n').then(|| text.trim().to_owned())
    })
}

/// Waits until no process of that group is left.
fn await_nobody(server: &Server) {
    let group = group(server);
    let member = |process: &Path| {
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        let mut fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        fields.next().is_some_and(|state| state != "Z") && fields.nth(1) == Some(&group)
    };
    await_that("its processes end", || {
        !fs::read_dir("/proc").expect("proc").flatten().any(|process| member(&process.path()))
    });
}

#[test]
fn every_failure_tells_its_cause_under_the_id_on_the_page() {
    let cases = [
        ("echo 'it broke' >&2; exit 3", 500, "End of script output before headers"),
        ("echo 'Content-Type: text/plain'", 500, "Premature end of script headers"),
        ("echo 'hello world'", 500, "malformed header: no colon in \"hello world\""),
        ("printf 'X: '; head -c 1000000 /dev/zero | tr '\\0' a", 500, "header line over"),
        ("printf 'X: a\\0b\\n\\n'", 500, "control character"),
        ("kill -SEGV $$", 500, "signal 11 (SEGV)"),
        ("kill -KILL $$", 500, "signal 9 (KILL"),
        ("exec >&-; sleep 60", 500, "End of script output before headers"),
        ("sleep 60", 504, "neither read nor wrote anything for too long"),
    ];
    for (script, status, cause) in cases {
        let (server, answer) = run(script);
        let page = answer.text();
        assert_eq!(answer.status, status, "{script}");
        let line = server.await_error(cause);
        let id =
            line.rsplit("[id ").next().and_then(|rest| rest.split(']').next()).unwrap_or_default().to_owned();
        assert!(line.contains("x.cgi") && !id.is_empty() && page.contains(&id), "{line}\n{page}");
    }
}

#[test]
fn the_last_words_of_a_program_are_part_of_the_cause() {
    let (server, answer) = run("echo 'no such table' >&2; exit 1");
    assert_eq!(answer.status, 500);
    let line = server.await_error("End of script output before headers");
    assert!(line.contains("it exited with status 1; last on stderr: no such table"), "{line}");
    let _ = server.await_error("stderr from");
}

#[test]
fn a_program_that_cannot_be_run_says_what_to_do() {
    let cases: [(&[u8], u32, &str); 4] = [
        (b"#!/bin/sh\n", 0o644, "chmod +x it"),
        (b"#!/no/such/interpreter\n", 0o755, "/no/such/interpreter"),
        (b"#!/bin/sh\r\necho\r\n", 0o755, "CRLF"),
        (b"no interpreter line\n", 0o755, "Exec format error"),
    ];
    for (script, mode, hint) in cases {
        let site = program("").file("htdocs/x.cgi", script).mode("htdocs/x.cgi", mode);
        let server = site.start();
        assert_eq!(server.get("/x.cgi").status, 500, "{hint}");
        let _ = server.await_error(hint);
    }
}

#[test]
fn a_program_that_others_could_have_changed_is_not_run_for_a_user() {
    needs_root!();
    let cases = [
        ("htdocs/x.cgi", SITE_UID, 0o775, "chmod go-w it"),
        ("htdocs/x.cgi", 0, 0o4755, "chmod ug-s it"),
        ("htdocs", SITE_UID, 0o777, "chmod go-w the directory"),
    ];
    for (name, owner, mode, hint) in cases {
        let site = program("printf 'Content-Type: text/plain\\n\\nran'")
            .config(&format!("AssignUserID #{SITE_UID} #{SITE_UID}"));
        let site = site.owner("htdocs", SITE_UID).owner("htdocs/x.cgi", owner).mode(name, mode);
        let server = site.start();
        assert_eq!(server.get("/x.cgi").status, 500, "{hint}");
        let _ = server.await_error(hint);
    }
    let site = program("printf 'Content-Type: text/plain\\n\\nran'")
        .config(&format!("AssignUserID #{SITE_UID} #{SITE_UID}"));
    let server = site.owner("htdocs/x.cgi", SITE_UID + 1).start();
    assert_eq!(server.get("/x.cgi").status, 500);
    let _ = server.await_error("chown it");
}

#[test]
fn input_that_nobody_reads_blocks_nothing() {
    let body = vec![b'x'; 1_000_000];
    for script in [
        "exec <&-; printf '\\n'; head -c 300000 /dev/zero",
        "printf '\\n'; head -c 300000 /dev/zero </dev/null",
    ] {
        let answer = post(&program(script).start(), &body);
        assert_eq!((answer.status, answer.body.len(), answer.truncated), (200, 300_000, false), "{script}");
    }
}

#[test]
fn a_program_may_read_while_it_answers() {
    let body: Vec<u8> = (0..1_000_000u32).map(|n| n.to_le_bytes()[0]).collect();
    let server = program("printf '\\n'; head -c 200000 /dev/zero; cat").start();
    let answer = post(&server, &body);
    assert_eq!(answer.body.len(), 1_200_000);
    assert!(answer.body[200_000..] == body && !answer.truncated);
}

#[test]
fn a_flood_on_stderr_is_logged_and_blocks_nothing() {
    let (server, answer) =
        run("i=0; while [ $i -lt 5000 ]; do echo \"line $i\" >&2; i=$((i+1)); done; printf '\\nend'");
    assert_eq!((answer.status, answer.text()), (200, "end".into()));
    let _ = server.await_error("line 4999");
    assert_eq!(server.error_log().matches("stderr from").count(), 5000);
}

#[test]
fn a_silent_program_is_ended_with_its_whole_group() {
    let (server, answer) = run("echo $$ >../tmp/group; trap '' TERM; sleep 600 & sleep 600; sleep 600");
    assert_eq!(answer.status, 504);
    await_nobody(&server);
}

#[test]
fn a_program_ends_when_its_client_goes_away() {
    let server =
        program("echo $$ >../tmp/group; printf '\\n'; sleep 600 & while :; do echo more; done").start();
    let mut client = server.connect();
    client.send("GET /x.cgi HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let _ = group(&server);
    drop(client);
    await_nobody(&server);
}

#[test]
fn a_program_that_says_nothing_comes_to_its_end_without_its_client() {
    for before in ["", "printf '\\nsome'; "] {
        let script = format!(
            "echo $$ >../tmp/group; {before}while [ ! -e ../tmp/go ]; do sleep 0.02; done; echo yes >../tmp/ended"
        );
        let server = program_with(&script, 60).file("htdocs/y.txt", "y").start();
        let mut client = server.connect();
        client.send("GET /x.cgi HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let _ = group(&server);
        drop(client);
        // By then the front has noticed that it has left.
        (0..20).for_each(|_| assert_eq!(server.get("/y.txt").text(), "y"));
        fs::write(server.site().path("tmp/go"), "").expect("a file");
        await_that("it comes to its end", || server.site().path("tmp/ended").exists());
        await_nobody(&server);
    }
}

/// As under Apache: the request has been read.
#[test]
fn a_program_is_run_whose_client_has_gone_before_it_is_started() {
    let server = program_with("[ -z \"$QUERY_STRING\" ] || echo yes >../tmp/ran; printf '\\n'", 60).start();
    assert_eq!(server.get("/x.cgi").status, 200);
    let sites = process::named(&server, "hostler-site");
    sites.iter().for_each(|site| process::kill(*site, Signal::STOP));
    let mut client = server.connect();
    client.send("GET /x.cgi?stay HTTP/1.1\r\nHost: localhost\r\n\r\n");
    drop(client);
    sites.iter().for_each(|site| process::kill(*site, Signal::CONT));
    await_that("it is run", || server.site().path("tmp/ran").exists());
    let script = server.site().path("htdocs/x.cgi").display().to_string();
    let runs = |process: &Path| {
        fs::read_to_string(process.join("cmdline")).is_ok_and(|command| command.contains(&script))
    };
    await_that("no such program is left", || {
        !fs::read_dir("/proc").expect("proc").flatten().any(|process| runs(&process.path()))
    });
}

#[test]
fn a_client_that_has_said_everything_gets_its_answer() {
    let server = program("sleep 1; printf '\\nend'").start();
    for request in [
        "GET /x.cgi HTTP/1.1\r\n",
        "GET /x.cgi HTTP/1.0\r\n",
        "POST /x.cgi HTTP/1.1\r\nContent-Length: 3\r\n",
    ] {
        let mut client = server.connect();
        client.send(format!("{request}Host: localhost\r\nConnection: close\r\n\r\nabc"));
        client.finish();
        let answer = client.response();
        assert_eq!((answer.status, answer.text(), answer.truncated), (200, "end".into(), false), "{request}");
    }
}

#[test]
fn who_has_said_everything_can_read_a_status_line_at_once() {
    let server = program("printf '\\nend'").start();
    // Of slow answers the first bytes are sent ahead, to see whether the client has gone.
    let is_whole = |_| {
        let mut client = server.connect();
        client.send("GET /x.cgi HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        client.finish();
        let mut first = [0; 64];
        client.sender().read(&mut first).is_ok_and(|length| length > "HTTP/1.1 200 OK".len())
    };
    assert!((0..50).any(is_whole));
}

#[test]
fn an_answer_that_breaks_off_does_not_look_complete() {
    for script in ["printf '\\nsome'; kill -KILL $$", "printf '\\nsome'; sleep 60"] {
        let (_server, answer) = run(script);
        assert_eq!((answer.status, answer.text(), answer.truncated), (200, "some".into(), true), "{script}");
    }
}

#[test]
fn a_daemon_that_holds_the_output_does_not_hold_the_answer() {
    let start = Instant::now();
    let (server, answer) = run("echo $$ >../tmp/group; sleep 20 & printf '\\nend'");
    assert_eq!((answer.text(), answer.truncated), ("end".into(), false));
    // Time: the daemon would hold it for twenty seconds.
    assert!(start.elapsed() < Duration::from_secs(10));
    drop(server);
}

#[test]
fn a_program_may_work_on_after_its_answer() {
    let (server, answer) = run("printf '\\nend'; exec >&- 2>&-; sleep 1; echo done >../tmp/done");
    assert_eq!(answer.text(), "end");
    await_that("what it does after its answer", || server.site().path("tmp/done").exists());
}

#[test]
fn a_length_that_lies_is_not_believed() {
    for length in [1, 1000] {
        let (_server, answer) = run(&format!("printf 'Content-Length: {length}\\n\\nfour'"));
        assert_eq!((answer.text(), answer.truncated), ("four".into(), false));
    }
}

#[test]
fn redirects_in_a_circle_end() {
    let (server, answer) = run("printf 'Location: /x.cgi\\n\\n'");
    assert_eq!(answer.status, 500);
    let _ = server.await_error("internal redirects");
}

#[test]
fn a_program_inherits_nothing() {
    let script = "printf '\\n'; ls -l /proc/self/fd | grep -v '^total' | grep -v ' /proc/' | wc -l; env | grep -c SECRET";
    let server = program(script).environment("SECRET", "of the server").start();
    assert_eq!(server.get("/x.cgi").text(), "3\n0\n");
}

#[test]
fn headers_beyond_what_a_program_can_be_given_are_an_error() {
    let site = program("printf '\\nran'").config("LimitRequestFieldSize 200000");
    let server = site.start();
    let answer =
        server.get_with("/x.cgi", &format!("Host: localhost\r\nX-Long: {}\r\n", "a".repeat(150_000)));
    assert_eq!(answer.status, 500);
    let _ = server.await_error("too large for a program's environment");
    assert_eq!(server.get("/x.cgi").text(), "ran");
}

#[test]
fn an_nph_program_speaks_for_itself_and_ends_the_connection() {
    let script = "#!/bin/sh\nprintf 'HTTP/1.1 203 Own Words\\r\\nX-Own: yes\\r\\n\\r\\nraw'\n";
    let server = program("").script("htdocs/nph-x.cgi", script).start();
    let mut client = server.connect();
    client.send("GET /nph-x.cgi HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(client.rest(), b"HTTP/1.1 203 Own Words\r\nX-Own: yes\r\n\r\nraw");
    let silent = program("").script("htdocs/nph-x.cgi", "#!/bin/sh\nexit 1\n").start();
    assert_eq!(silent.get("/nph-x.cgi").status, 500);
}

#[test]
fn connections_are_kept_between_programs() {
    let server = program("printf 'Content-Type: text/plain\\n\\n'; cat").start();
    let mut client = server.connect();
    for round in ["one", "two", "three"] {
        client.send(format!(
            "POST /x.cgi HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{round}",
            round.len()
        ));
        let answer = client.response();
        assert_eq!((answer.status, answer.text()), (200, round.into()));
    }
}
