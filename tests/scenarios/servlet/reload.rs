//! A virtual machine over reloads of the server: it goes on with all that it has in memory, unless what was said of it has
//! changed.

use super::{packed, replace};
use crate::faults::{await_that, process};
use hostler_tests::{Server, Site, needs_program};
use std::fs;
use std::sync::OnceLock;

/// It counts in memory, and has a request that waits for another one.
const SERVLET: &str = r#"
import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.*;
import java.io.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;

@WebServlet("/do/*")
public class Going extends HttpServlet {
    static final AtomicInteger COUNT = new AtomicInteger();
    static final CountDownLatch GO = new CountDownLatch(1);

    protected void service(HttpServletRequest q, HttpServletResponse r) throws IOException {
        r.setContentType("text/plain");
        switch (q.getPathInfo()) {
            case "/wait" -> {
                r.getWriter().print("first");
                r.flushBuffer();
                try { GO.await(); } catch (InterruptedException e) { throw new IOException(e); }
                r.getWriter().print(" last");
            }
            case "/go" -> GO.countDown();
            case "/log" -> System.err.println("a line: " + q.getQueryString());
            default -> r.getWriter().print(ProcessHandle.current().pid() + " " + COUNT.incrementAndGet());
        }
    }
}
"#;

fn site(words: &str) -> Site {
    static ARCHIVE: OnceLock<Vec<u8>> = OnceLock::new();
    let archive = ARCHIVE.get_or_init(|| packed(&[("Going.java", SERVLET)], &[], &[]));
    let line = format!("ServletApp /shop @ROOT@/app.war heap=64m work=@ROOT@/state {words}\n");
    Site::new().file("app.war", archive).dir("state").mode("state", 0o1777).config(&line)
}

/// The process, and how often it was asked.
fn count(server: &Server) -> (u32, u32) {
    let answer = server.get("/shop/do/count");
    let text = answer.text();
    let numbers: Vec<u32> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert_eq!(numbers.len(), 2, "{} {text}\n{}", answer.status, server.error_log());
    (numbers[0], numbers[1])
}

fn reload(server: &Server) {
    let output = process::reload(server);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_virtual_machine_goes_on_over_a_reload() {
    needs_java!();
    let server = site("").start();
    let (machine, first) = count(&server);
    assert_eq!(first, 1);
    let mut client = server.connect();
    client.send("GET /shop/do/wait HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(client.byte().is_some());
    reload(&server);
    assert_eq!(count(&server), (machine, 2), "{}", server.error_log());
    // Over the front before, which waits for it.
    assert_eq!(server.get("/shop/do/go").status, 200);
    let rest = String::from_utf8(client.rest()).unwrap();
    assert!(rest.contains(" last") && rest.trim_end().ends_with('0'), "{rest}");
    await_that("the old front ends", || process::named(&server, "hostler-front").len() == 1);
    assert_eq!(count(&server), (machine, 3), "{}", server.error_log());
    reload(&server);
    await_that("the old front ends", || process::named(&server, "hostler-front").len() == 1);
    assert_eq!(count(&server), (machine, 4), "{}", server.error_log());
    // What it writes is the front's that there is.
    assert_eq!(server.get("/shop/do/log?after").status, 200);
    let _ = server.await_error("a line: after");
}

#[test]
fn a_virtual_machine_that_is_stopped_is_replaced() {
    needs_java!();
    let server = site("").start();
    let (machine, _) = count(&server);
    process::kill(machine, rustix::process::Signal::STOP);
    let _ = server.get("/shop/do/count");
    await_that("another one serves", || server.get("/shop/do/count").status == 200);
    let (other, _) = count(&server);
    assert!(other != machine && !process::runs(machine), "{}", server.error_log());
}

#[test]
fn a_virtual_machine_that_is_configured_otherwise_is_another_one() {
    needs_java!();
    let server = site("").start();
    let (machine, _) = count(&server);
    let file = server.site().path("httpd.conf");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("heap=64m", "heap=65m")).unwrap();
    reload(&server);
    let (other, first) = count(&server);
    assert!(other != machine && first == 1, "{}", server.error_log());
    await_that("the old one ends", || !process::runs(machine));
}

#[test]
fn an_idle_virtual_machine_is_not_kept_by_reloads_and_ends_with_the_server() {
    needs_java!();
    let mut server = site("").config("HostlerPoolIdle 1\n").start();
    let (machine, _) = count(&server);
    reload(&server);
    await_that("nobody needs it", || !process::runs(machine));
    let (machine, first) = count(&server);
    assert_eq!(first, 1);
    reload(&server);
    server.signal(rustix::process::Signal::TERM);
    assert!(server.await_end().success(), "{}", server.error_log());
    await_that("it ends with the server", || !process::runs(machine));
}

#[test]
fn an_archive_that_changes_after_a_reload_is_deployed_anew() {
    needs_java!();
    let server = site("").start();
    let (machine, _) = count(&server);
    reload(&server);
    let source = SERVLET.replace("new AtomicInteger()", "new AtomicInteger(100)");
    replace(&server.site().path("app.war"), &packed(&[("Going.java", &source)], &[], &[]));
    await_that("the new one serves", || count(&server).1 > 100);
    assert_eq!(count(&server).0, machine);
}
