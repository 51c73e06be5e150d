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
fn sleep_is_no_processor_time() {
    needs_php!();
    let server = serve(&[("a.php", "<?php set_time_limit(1); usleep(1500000); echo 'slept';")]);
    assert_eq!(server.get("/a.php").text(), "slept");
}

#[test]
fn timeout_ends_a_script_that_has_no_limit() {
    needs_php!();
    let server = site(&[("a.php", "<?php set_time_limit(0); for (;;);"), ("b.php", "<?php echo 'good';")])
        .config("Timeout 1")
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
