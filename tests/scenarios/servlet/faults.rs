//! Faults in and around a virtual machine: each is survived, named in the log, and hurts no other site.

use super::{run, site};
use crate::faults::{await_that, process};
use hostler_tests::{Site, needs_program};
use std::fs;
use std::io::Write as _;
use std::process::Command;
use std::sync::OnceLock;

/// A servlet that hangs, answers without end, and keeps sessions in URLs.
const SERVLET: &str = r#"
import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.*;
import java.io.*;

@WebServlet("/do/*")
public class Hostile extends HttpServlet {
    static volatile String ended = "";

    protected void service(HttpServletRequest q, HttpServletResponse r) throws IOException {
        r.setContentType("text/plain;charset=UTF-8");
        switch (q.getPathInfo()) {
            case "/plain" -> r.getWriter().print("plain");
            case "/hang" -> {
                synchronized (this) {
                    try { for (;;) wait(); } catch (InterruptedException e) { throw new IOException(e); }
                }
            }
            case "/forever" -> {
                byte[] line = new byte[1 << 14];
                try {
                    for (;;) { r.getOutputStream().write(line); r.flushBuffer(); }
                } catch (IOException gone) { ended = "ended"; throw gone; }
            }
            case "/ended" -> r.getWriter().print(ended);
            case "/upload" -> {
                long sum = 0;
                byte[] buffer = new byte[1 << 16];
                for (int n; (n = q.getInputStream().read(buffer)) > 0; sum += n) { }
                r.getWriter().print(sum);
            }
            case "/session" -> {
                HttpSession session = q.getSession();
                Integer count = (Integer) session.getAttribute("count");
                session.setAttribute("count", count == null ? 1 : count + 1);
                r.getWriter().print(count + " " + q.isRequestedSessionIdFromURL() + " " + r.encodeURL("/shop/do/session"));
            }
            case "/away" -> { q.getSession().setAttribute("count", 7); r.sendRedirect(r.encodeRedirectURL("/shop/do/session")); }
            case "/user" -> r.getWriter().print(System.getProperty("user.name") + " " + ProcessHandle.current().pid());
            default -> r.sendError(404);
        }
    }
}
"#;

/// Its archive, compiled once.
pub(super) fn hostile() -> &'static [u8] {
    static ARCHIVE: OnceLock<Vec<u8>> = OnceLock::new();
    ARCHIVE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let classes = folder.path().join("app/WEB-INF/classes");
        fs::create_dir_all(&classes).unwrap();
        fs::write(folder.path().join("app/WEB-INF/secret.txt"), "secret").unwrap();
        fs::write(folder.path().join("Hostile.java"), SERVLET).unwrap();
        let jar = "/usr/share/java/tomcat10-embed-core.jar";
        run(Command::new("javac")
            .args(["-cp", jar, "-d"])
            .arg(&classes)
            .arg(folder.path().join("Hostile.java")));
        let war = folder.path().join("app.war");
        run(Command::new("jar").arg("cf").arg(&war).arg("-C").arg(folder.path().join("app")).arg("."));
        fs::read(war).unwrap()
    })
}

pub(super) fn faulty(words: &str) -> Site {
    site(words).file("app.war", hostile())
}

#[test]
fn a_virtual_machine_that_cannot_start_is_told_with_its_words_and_is_not_started_on_and_on() {
    needs_java!();
    for (words, said) in [
        ("jvm=-Xss1k", "stack size specified is too small"),
        ("jvm=-XX:NothingOfTheKind", "Unrecognized VM option 'NothingOfTheKind'"),
        ("jvm=-Xms65m", "Initial heap size set to a larger value than the maximum heap size"),
        ("jvm=-Xms900t jvm=-Xmx900t", "Could not reserve enough space"),
    ] {
        let server = faulty(words).start();
        let answers: Vec<_> = std::thread::scope(|scope| {
            let ask = || scope.spawn(|| server.get("/shop/do/plain"));
            let all: Vec<_> = (0..10).map(|_| ask()).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        for answer in &answers {
            assert!(matches!(answer.status, 500 | 502 | 503), "{words}: {}", answer.status);
            // The page has an id, and not a word of the machine's.
            assert!(!answer.text().contains("VM") && !answer.text().contains("heap"), "{}", answer.text());
        }
        let _ = server.await_error(said);
        let _ = server.await_error("the program ended unasked: exited with status 1");
        // Those who come at the same time are not answered by a start each.
        let starts = server.error_log().matches("the program ended unasked").count();
        assert!(starts < 6, "{words}: {starts} starts: {}", server.error_log());
    }
}

#[test]
fn a_java_that_is_none_or_too_old_is_named() {
    needs_java!();
    let old = Site::new().dir("state").mode("state", 0o1777).file("app.war", hostile());
    let server = old
        .script("old/bin/java", "#!/bin/sh\nexec sleep 100\n")
        .file("old/release", "JAVA_VERSION=\"11.0.2\"\n")
        .config("ServletApp /shop @ROOT@/app.war work=@ROOT@/state java-home=@ROOT@/old\n")
        .start();
    assert!(server.get("/shop/do/plain").status >= 500);
    let _ = server.await_error("is Java 11, and Tomcat 10.1 needs 17");
    let none = Site::new().dir("state").mode("state", 0o1777).file("app.war", hostile());
    let server = none
        .script("none/bin/java", "#!/bin/sh\necho 'no virtual machine' >&2\nexit 7\n")
        .config("ServletApp /shop @ROOT@/app.war work=@ROOT@/state java-home=@ROOT@/none\n")
        .start();
    assert!(server.get("/shop/do/plain").status >= 500);
    let _ = server.await_error("no virtual machine");
    let _ = server.await_error("the program ended unasked: exited with status 7");
}

#[test]
fn a_servlet_that_hangs_is_given_up_and_the_others_go_on() {
    needs_java!();
    let server = faulty("threads=8").start();
    assert_eq!(server.get("/shop/do/plain").text(), "plain", "{}", server.error_log());
    drop(server);
    let server = faulty("threads=8").config("Timeout 2\n").start();
    // The start may take longer than that; who waits for it is told so.
    await_that("the virtual machine serves", || server.get("/shop/do/plain").status == 200);
    let answer = server.get("/shop/do/hang");
    assert_eq!(answer.status, 504, "{}", answer.text());
    let line = server.await_error("/shop/do/hang");
    let id = answer
        .text()
        .split_whitespace()
        .find(|word| line.contains(&format!("[id {word}]")))
        .map(str::to_owned);
    assert!(id.is_some() || line.contains("id"), "{line}\n{}", answer.text());
    assert_eq!(server.get("/shop/do/plain").text(), "plain", "{}", server.error_log());
}

#[test]
fn an_answer_without_end_ends_with_its_client() {
    needs_java!();
    let server = faulty("").start();
    let mut client = server.connect();
    client.send("GET /shop/do/forever HTTP/1.1\r\nHost: a\r\n\r\n");
    // It has begun; nobody reads on.
    for _ in 0..100_000 {
        assert!(client.byte().is_some());
    }
    let front = process::front(&server);
    let before = process::resident(front);
    assert_eq!(server.get("/shop/do/plain").text(), "plain");
    assert_eq!(server.get("/shop/do/ended").text(), "");
    drop(client);
    await_that("the servlet is told", || server.get("/shop/do/ended").text() == "ended");
    let after = process::resident(front);
    assert!(after < before + 20_000, "{before} kB, then {after} kB");
}

#[test]
fn a_hundred_megabytes_are_taken_piece_by_piece() {
    needs_java!();
    let server = faulty("").start();
    assert_eq!(server.get("/shop/do/plain").text(), "plain", "{}", server.error_log());
    let front = process::front(&server);
    let before = process::resident(front);
    let mut client = server.connect();
    const SIZE: usize = 100 << 20;
    client.send(format!(
        "POST /shop/do/upload HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {SIZE}\r\n\r\n"
    ));
    let mut sender = client.sender();
    let piece = vec![b'x'; 1 << 20];
    let mut most = 0;
    for _ in 0..100 {
        sender.write_all(&piece).unwrap();
        most = most.max(process::resident(front));
    }
    assert_eq!(client.response().text(), SIZE.to_string(), "{}", server.error_log());
    assert!(most < before + 20_000, "{before} kB, then {most} kB");
}
