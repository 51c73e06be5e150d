//! Scripts that do not end, settings that make no sense, and what is told of them.

use super::{INI, serve, site};
use std::process::Command;

#[test]
fn a_script_that_php_cannot_stop_itself_is_ended_with_the_reason() {
    needs_php!();
    // One function of PHP's own: the script is not looked at before it returns.
    let endless = "<?php hash_pbkdf2('sha512', 'a', 'b', 2000000000);";
    let site = site(&[("a.php", endless), ("b.php", "<?php echo 'good';")]);
    let ini = format!("{INI}max_execution_time=1\nhard_timeout=1\n");
    let server = site.file("php.ini", &ini).start();
    assert_eq!(server.get("/a.php").status, 502);
    let line = server.await_error("exited with status 124");
    assert!(
        line.contains("Maximum execution time of 1+1 seconds exceeded") && line.contains("[id "),
        "{line}"
    );
    assert_eq!(server.get("/b.php").text(), "good");
}

#[test]
fn fields_before_a_fatal_error_stay_on_the_server_s_page() {
    needs_php!();
    let text = "<?php header('X-A: b'); header('Content-Type: image/png'); header('Content-Disposition: attachment'); header('ETag: \"x\"');
        setcookie('c', '1'); setcookie('d', '2'); nothing();";
    let server = site(&[
        ("a.php", text),
        ("own/a.php", text),
        ("own/.htaccess", "ErrorDocument 500 /own/page.html\n"),
        ("own/page.html", "ours"),
    ])
    .start();
    // Once more: the second one takes the short way.
    for _ in 0..2 {
        for (target, page) in [("/a.php", "500 Internal Server Error"), ("/own/a.php", "ours")] {
            let answer = server.get(target);
            assert_eq!((answer.status, answer.field("X-A")), (500, Some("b")), "{target}");
            assert!(answer.text().contains(page), "{target}: {}", answer.text());
            assert!(answer.field("Content-Type").is_some_and(|of| of.starts_with("text/html")), "{target}");
            assert_eq!(answer.field("Content-Disposition"), None);
            assert_ne!(answer.field("ETag"), Some("\"x\""));
            let cookies =
                answer.fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case("Set-Cookie")).count();
            assert_eq!(cookies, 2, "{target}");
        }
    }
}

/// Scripts that fork, which PHP has no function for in a server.
const FORKING: &str =
    "<?php $c = FFI::cdef('int fork(void); int waitpid(int, int *, int);'); $child = $c->fork();";

#[test]
fn a_process_that_a_script_has_forked_says_nothing() {
    needs_php!("ffi");
    let waits = "if ($child === 0) { header('X-A: child'); echo str_repeat('child', 10000); flush(); error_log('the child is there'); exit; }
        $c->waitpid($child, null, 0); header('X-A: parent'); echo 'parent';";
    // The child ends while the worker is at the next request.
    let leaves = "if ($child === 0) { while (!file_exists(__DIR__ . '/go')) { usleep(1000); clearstatcache(); } echo 'child'; exit; } echo $child;";
    let next = "<?php touch(__DIR__ . '/go'); while (($s = @file_get_contents(\"/proc/{$_GET['of']}/stat\")) && !str_contains($s, ') Z ')) usleep(1000);
        unlink(__DIR__ . '/go'); header('X-A: next'); echo 'next';";
    let site = site(&[
        ("a.php", &format!("{FORKING} {waits}")),
        ("leaves.php", &format!("{FORKING} {leaves}")),
        ("next.php", next),
    ]);
    let server = site
        .mode("htdocs", 0o777)
        .file("php.ini", format!("{INI}ffi.enable=1\n"))
        .config("MaxRequestWorkers 1")
        .start();
    for _ in 0..3 {
        let answer = server.get("/a.php");
        assert_eq!((answer.field("X-A"), answer.text()), (Some("parent"), "parent".to_owned()));
        let child = server.get("/leaves.php").text();
        assert!(child.parse::<u32>().is_ok(), "{child}");
        let answer = server.get(&format!("/next.php?of={child}"));
        assert_eq!(
            (answer.status, answer.field("X-A"), answer.text()),
            (200, Some("next"), "next".to_owned())
        );
    }
    drop(server.await_error("the child is there"));
}

#[test]
fn a_process_that_a_script_has_forked_puts_nothing_into_the_cache() {
    needs_php!("ffi");
    let text =
        "if ($child === 0) { include 'child.php'; exit; } $c->waitpid($child, null, 0); include 'part.php';
        foreach (['child.php', 'part.php'] as $f) echo (int) opcache_is_script_cached(__DIR__ . '/' . $f);";
    let site = site(&[
        ("a.php", &format!("{FORKING} {text}")),
        ("child.php", "<?php error_log('run');"),
        ("part.php", "<?php"),
    ]);
    let server = site.file("php.ini", format!("{INI}ffi.enable=1\n")).start();
    for _ in 0..3 {
        assert_eq!(server.get("/a.php").text(), "01");
    }
    drop(server.await_error("run"));
}

#[test]
fn sleep_is_no_processor_time() {
    needs_php!();
    let server = serve(&[("a.php", "<?php set_time_limit(1); usleep(1500000); echo 'slept';")]);
    assert_eq!(server.get("/a.php").text(), "slept");
}

#[test]
fn the_workers_timeout_ends_a_script_that_has_no_limit() {
    needs_php!();
    let server = site(&[("a.php", "<?php set_time_limit(0); for (;;);"), ("b.php", "<?php echo 'good';")])
        .config("HostlerWorkerTimeout 1")
        .start();
    assert_eq!(server.get("/a.php").status, 504);
    drop(server.await_error("neither read nor wrote anything for too long"));
    assert_eq!(server.get("/b.php").text(), "good");
}

#[test]
fn php_ini_has_sections_for_folders_and_hosts() {
    needs_php!();
    let text = "<?php echo ini_get('precision'), ini_get('default_charset');";
    let site = site(&[("a.php", text), ("in/a.php", text)]);
    let folder = site.path("htdocs/in");
    let ini = format!(
        "{INI}precision=5\n[PATH={}]\nprecision=6\n[HOST=other.test]\ndefault_charset=koi8-r\n",
        folder.display()
    );
    let server = site.file("php.ini", &ini).start();
    for _ in 0..2 {
        assert_eq!(server.get("/a.php").text(), "5UTF-8");
        assert_eq!(server.get("/in/a.php").text(), "6UTF-8");
        assert_eq!(server.get_with("/in/a.php", "Host: other.test\r\n").text(), "6koi8-r");
        assert_eq!(server.get("/a.php").text(), "5UTF-8");
    }
}

#[test]
fn a_php_ini_that_makes_no_sense_is_told_of() {
    needs_php!();
    let site = site(&[("a.php", "<?php echo ini_get('precision');")]);
    let ini = format!("{INI}precision=7\nextension=nosuch\n[broken\n");
    let server = site.file("php.ini", &ini).start();
    assert_eq!(server.get("/a.php").text(), "7");
    drop(server.await_error("Unable to load dynamic library 'nosuch'"));
    drop(server.await_error("syntax error, unexpected end of file"));
}

#[test]
fn requests_of_http_2_are_answered_alike() {
    needs_php!();
    let text = "<?php header('X-A: b'); echo $_SERVER['SERVER_PROTOCOL'], $_SERVER['HTTP_HOST'], $_COOKIE['a'], $_COOKIE['b'], \
                file_get_contents('php://input');";
    let server = site(&[("a.php", text)]).config("Protocols h2c http/1.1").start();
    let url = format!("http://127.0.0.1:{}/a.php", server.port());
    let mut curl = Command::new("curl");
    curl.args(["-s", "--http2-prior-knowledge", "-b", "a=1; b=2", "-d", "body", &url]);
    for _ in 0..2 {
        let output = curl.output().expect("curl runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, format!("HTTP/2.0127.0.0.1:{}12body", server.port()));
    }
}

#[test]
fn a_script_that_sends_for_ever_ends_when_nobody_listens() {
    needs_php!();
    let text = "<?php register_shutdown_function(fn() => error_log('left: ' . connection_status()));
        while (true) { echo str_repeat('x', 100), \"\\n\"; ob_flush(); flush(); usleep(1000); }";
    let server =
        site(&[("a.php", text), ("b.php", "<?php echo 'good';")]).config("MaxRequestWorkers 1").start();
    let mut client = server.connect();
    client.send("GET /a.php HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(client.byte().is_some());
    drop(client);
    let line = server.await_error("left: 1");
    assert!(line.contains("[id "), "{line}");
    assert_eq!(server.get("/b.php").text(), "good");
}

#[test]
fn what_a_script_says_is_logged_though_its_client_has_gone() {
    needs_php!();
    let text = "<?php ignore_user_abort(true); error_log('begun'); while (!connection_aborted()) { echo 'x'; ob_flush(); flush(); usleep(1000); }
        error_log('goes on'); undefined_function();";
    let server = serve(&[("a.php", text)]);
    let mut client = server.connect();
    client.send("GET /a.php HTTP/1.1\r\nHost: a\r\n\r\n");
    drop(server.await_error("begun"));
    drop(client);
    let lines = ["goes on", "Call to undefined function undefined_function()"];
    for line in lines.map(|what| server.await_error(what)) {
        assert!(line.contains("[id "), "{line}");
    }
}
