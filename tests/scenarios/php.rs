//! PHP in warm workers, configured as mod_php is. What PHP itself does is tested in `engines/php`.

use hostler_tests::{Server, Site};

/// PHP, with these of its extensions.
macro_rules! needs_php {
    ($($extension:literal),*) => {
        hostler_tests::needs_php!($($extension),*)
    };
}

mod asked;
mod cache;
mod faults;
mod left;
mod remembered;
mod two_versions;
mod versions;

/// Debian's own configuration of mod_php.
const DEBIAN: &str = r#"
<FilesMatch ".+\.ph(?:ar|p|tml)$">
    SetHandler application/x-httpd-php
</FilesMatch>
<FilesMatch ".+\.phps$">
    SetHandler application/x-httpd-php-source
</FilesMatch>
<FilesMatch "^\.ph(?:ar|p|ps|tml)$">
    Require all denied
</FilesMatch>
<Directory "@ROOT@/htdocs">
    AllowOverride All
</Directory>
PHPINIDir "@ROOT@/php.ini"
"#;

const INI: &str = "log_errors=1\ndisplay_errors=0\nopcache.file_update_protection=0\noutput_buffering=4096\n";

fn site(files: &[(&str, &str)]) -> Site {
    let site = Site::new().file("php.ini", INI).config(DEBIAN);
    files.iter().fold(site, |site, (name, text)| site.file(&format!("htdocs/{name}"), text))
}

fn serve(files: &[(&str, &str)]) -> Server {
    site(files).start()
}

fn post(server: &Server, target: &str, kind: &str, body: &str) -> String {
    let head = format!(
        "POST {target} HTTP/1.1\r\nHost: a\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n",
        body.len()
    );
    server.request(format!("{head}Connection: close\r\n\r\n{body}").as_bytes()).text()
}

#[test]
fn a_script_is_run_where_debian_s_configuration_says_so() {
    needs_php!();
    let text =
        "<?php header('X-Own: b'); echo $_SERVER['PATH_INFO'] ?? '-', $_GET['q'] ?? '-', basename(getcwd());";
    let server = serve(&[("a.php", text), (".php", "<?php echo 'no name';"), ("b.txt", "<?php")]);
    let answer = server.get("/a.php/x/y?q=1");
    assert_eq!((answer.status, answer.text()), (200, "/x/y1htdocs".to_owned()));
    assert_eq!(answer.field("X-Own"), Some("b"));
    assert_eq!(answer.field("Content-Type"), Some("text/html; charset=UTF-8"));
    assert_eq!(answer.field("Content-Length"), Some("11"));
    assert_eq!((server.get("/.php").status, server.get("/missing.php").status), (403, 404));
    assert_eq!(server.get("/b.txt").text(), "<?php");
}

#[test]
fn what_a_handler_is_can_be_said_in_all_of_apache_s_ways() {
    needs_php!();
    let ways = [
        "AddHandler application/x-httpd-php .run",
        "AddType application/x-httpd-php .run",
        "AddHandler php-script .run",
        "<Files a.run>\nForceType application/x-httpd-php\n</Files>",
    ];
    for way in ways {
        let site = Site::new().file("htdocs/a.run", "<?php echo 1 + 1;").config(way);
        assert_eq!(site.start().get("/a.run").text(), "2", "{way}");
    }
}

#[test]
fn forms_and_files_reach_the_program() {
    needs_php!();
    let server = serve(&[
        ("form.php", "<?php echo $_POST['a'], count($_POST);"),
        ("file.php", "<?php $f = $_FILES['f']; echo $f['name'], file_get_contents($f['tmp_name']);"),
    ]);
    assert_eq!(post(&server, "/form.php", "application/x-www-form-urlencoded", "a=b&c=d"), "b2");
    let body = "--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n\"\r\n\r\nhello\r\n--x--\r\n";
    assert_eq!(post(&server, "/file.php", "multipart/form-data; boundary=x", body), "nhello");
}

#[test]
fn settings_stand_where_mod_php_s_do() {
    needs_php!();
    let text = "<?php echo ini_get('precision'), ' ', ini_get('memory_limit'), ' ', ini_set('memory_limit', '1G') ? 1 : 0;";
    let server = site(&[
        ("a.php", text),
        ("in/a.php", text),
        ("in/.htaccess", "php_value precision 6\nphp_value memory_limit 90M\n"),
        ("bad/a.php", text),
        ("bad/.htaccess", "php_admin_value precision 6\n"),
    ])
    .config("php_value precision 5\n<Directory \"@ROOT@/htdocs/in\">\nphp_admin_value memory_limit 70M\n</Directory>")
    .start();
    assert_eq!(server.get("/a.php").text(), "5 128M 1");
    assert_eq!(server.get("/in/a.php").text(), "6 70M 0");
    assert_eq!(server.get("/bad/a.php").status, 500);
    drop(server.await_error("php_admin_value"));
}

#[test]
fn where_the_engine_is_off_scripts_are_files() {
    needs_php!();
    let server = serve(&[("up/a.php", "<?php echo 1;"), ("up/.htaccess", "php_flag engine off\n")]);
    assert_eq!(server.get("/up/a.php").text(), "<?php echo 1;");
}

#[test]
fn a_source_is_shown_by_its_own_handler() {
    needs_php!();
    let answer = serve(&[("a.phps", "<?php echo 'hello';")]).get("/a.phps");
    assert_eq!(answer.status, 200);
    assert!(answer.text().contains("<span") && answer.text().contains("hello"), "{}", answer.text());
}

#[test]
fn a_fatal_error_has_a_page_with_the_number_of_its_line_in_the_log() {
    needs_php!();
    let server = serve(&[("a.php", "<?php nothing();"), ("b.php", "<?php echo 'good';")]);
    let answer = server.get("/a.php");
    assert_eq!(answer.status, 500);
    let line = server.await_error("Call to undefined function nothing()");
    let (_, id) = line.rsplit_once("[id ").expect("a number");
    assert!(line.contains("[php:error]") && answer.text().contains(id.trim_end_matches(']')), "{line}");
    assert_eq!(server.get("/b.php").text(), "good");
}

#[test]
fn a_script_that_dies_costs_its_own_request() {
    needs_php!();
    let server =
        serve(&[("a.php", "<?php posix_kill(getmypid(), 11); sleep(9);"), ("b.php", "<?php echo 'good';")]);
    assert_eq!(server.get("/a.php").status, 502);
    drop(server.await_error("signal 11"));
    assert_eq!(server.get("/b.php").text(), "good");
}

#[test]
fn workers_share_compiled_scripts_and_keep_nothing_of_a_request() {
    needs_php!();
    let server = serve(&[
        (
            "a.php",
            "<?php echo (int) defined('X'), opcache_get_status(false)['opcache_statistics']['hits'] > 0 ? 'h' : '-'; \
                  define('X', 1);",
        ),
        ("die.php", "<?php posix_kill(getmypid(), 9); sleep(9);"),
    ]);
    drop(server.get("/a.php"));
    assert_eq!(server.get("/a.php").text(), "0h");
    drop(server.get("/die.php"));
    assert_eq!(server.get("/a.php").text(), "0h");
}

#[test]
fn a_program_goes_on_after_its_answer() {
    needs_php!();
    let text = "<?php echo 'there'; fastcgi_finish_request(); while (!file_exists(__DIR__ . '/go')) usleep(1000); \
                error_log('went on');";
    let server = serve(&[("a.php", text)]);
    assert_eq!(server.get("/a.php").text(), "there");
    std::fs::write(server.site().path("htdocs/go"), "").expect("ours");
    drop(server.await_error("went on"));
}

#[test]
fn a_request_that_came_whole_is_run_to_its_end_though_nobody_waits() {
    needs_php!();
    let mark = "<?php $mark = sys_get_temp_dir() . '/' . basename(dirname(__DIR__)) . '.mark';";
    let text =
        "ignore_user_abort(true); error_log('begun'); while (!file_exists(__DIR__ . '/go')) usleep(1000);
                echo str_repeat('x', 100000); flush(); touch($mark);";
    let server = site(&[
        ("a.php", &format!("{mark} {text}")),
        // The only worker is free again: the other request is over.
        ("b.php", &format!("{mark} echo (int) file_exists($mark); @unlink($mark);")),
    ])
    .config("MaxRequestWorkers 1")
    .start();
    let mut client = server.connect();
    client.send("GET /a.php HTTP/1.1\r\nHost: a\r\n\r\n");
    drop(server.await_error("begun"));
    drop(client);
    std::fs::write(server.site().path("htdocs/go"), "").expect("ours");
    assert_eq!(server.get("/b.php").text(), "1");
}

#[test]
fn what_is_flushed_arrives_before_the_end() {
    needs_php!();
    let text = "<?php echo 'first'; ob_flush(); flush(); while (!file_exists(__DIR__ . '/go')) usleep(1000); echo 'last';";
    let server = serve(&[("a.php", text)]);
    let mut client = server.connect();
    client.send("GET /a.php HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let mut seen = Vec::new();
    while !seen.ends_with(b"first") {
        seen.push(client.byte().expect("the first piece"));
    }
    std::fs::write(server.site().path("htdocs/go"), "").expect("ours");
    assert!(String::from_utf8_lossy(&client.rest()).contains("last"));
}

#[test]
fn with_isolation_fork_each_request_has_a_process() {
    needs_php!();
    let server = site(&[("a.php", "<?php echo getmypid();")]).config("Isolation fork").start();
    let pids: Vec<_> = (0..3).map(|_| server.get("/a.php").text()).collect();
    assert!(pids[0] != pids[1] && pids[1] != pids[2], "{pids:?}");
}

#[test]
fn pages_and_errors_may_be_made_of_scripts() {
    needs_php!();
    let server = site(&[
        ("page.shtml", "[<!--#include virtual=\"a.php?x=1\" -->]"),
        ("a.php", "<?php echo $_GET['x'];"),
        ("error.php", "<?php echo http_response_code(), $_SERVER['REDIRECT_URL'];"),
    ])
    .config("<Directory \"@ROOT@/htdocs\">\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\n</Directory>\nErrorDocument 404 /error.php")
    .start();
    assert_eq!(server.get("/page.shtml").text(), "[1]");
    let missing = server.get("/missing");
    assert_eq!((missing.status, missing.text()), (404, "404/missing".to_owned()));
}

#[test]
fn programs_know_that_the_module_is_there() {
    needs_php!();
    let text = "<IfModule mod_php.c>\nphp_value precision 3\n</IfModule>\n<IfModule !php_module>\nphp_value precision 4\n</IfModule>\n";
    let server = serve(&[("a.php", "<?php echo ini_get('precision');"), (".htaccess", text)]);
    assert_eq!(server.get("/a.php").text(), "3");
}

#[test]
fn a_script_s_groups_have_its_own_among_them() {
    needs_php!("posix");
    hostler_tests::needs_root!();
    let text = "<?php echo in_array(posix_getegid(), posix_getgroups(), true) ? 'has it' : json_encode(posix_getgroups());";
    assert_eq!(serve(&[("a.php", text)]).get("/a.php").text(), "has it");
}

#[test]
fn where_open_basedir_allows_the_common_temporary_folder_the_user_s_own_is_allowed() {
    needs_php!();
    let text = "<?php $f = tempnam(sys_get_temp_dir(), 'x'); echo dirname($f) === sys_get_temp_dir() && is_writable($f) ? 'yes' : 'no'; unlink($f);";
    for (allowed, said) in [("@ROOT@:/tmp", "yes"), ("@ROOT@:/tmp/", "yes")] {
        let server =
            site(&[("a.php", text)]).config(&format!("php_admin_value open_basedir \"{allowed}\"")).start();
        for _ in 0..2 {
            assert_eq!(server.get("/a.php").text(), said, "{allowed} {}", server.error_log());
        }
    }
}

#[test]
fn uploads_go_to_a_folder_of_the_user_s_own() {
    needs_php!();
    let text = "<?php $d = dirname($_FILES['f']['tmp_name']); echo basename($d), ' ', decoct(fileperms($d) & 0777), ' ', fileowner($d) === posix_geteuid() ? 'own' : 'other';";
    let text = text.replace("posix_geteuid()", "fileowner($_FILES['f']['tmp_name'])");
    let server = serve(&[("a.php", &text)]);
    let body = "--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n\"\r\n\r\nhello\r\n--x--\r\n";
    let said = post(&server, "/a.php", "multipart/form-data; boundary=x", body);
    assert!(said == "php 700 own", "{said}");
}
