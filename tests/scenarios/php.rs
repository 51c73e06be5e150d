//! PHP in warm workers, configured as mod_php is. What PHP itself does is tested in `engines/php`.

use crate::faults::await_that;
use hostler_tests::{Server, Site, needs_program};

/// The library that the engine takes.
macro_rules! needs_php {
    () => {
        needs_program!("/usr/lib/libphp8.2.so")
    };
}

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

/// A URL whose way through the phases is known needs none of them again; what differs between requests does, and what holds
/// for all of them holds from the moment on in which it changes.
#[test]
fn what_is_remembered_of_a_url_is_nobody_s_own() {
    needs_php!();
    let text = "<?php echo $_SERVER['QUERY_STRING'], ' ', $_COOKIE['c'] ?? '-', ' ', $_SERVER['PHP_AUTH_USER'] ?? '-', ' ', \
                $_SERVER['PATH_INFO'] ?? '-', ' ', $_SERVER['MARK'] ?? '-', ' ', $_SERVER['REQUEST_URI'];";
    let server =
        site(&[("a.php", text), ("index.php", text), (".htaccess", "DirectoryIndex index.php\n")]).start();
    let ask = |target: &str, field: &str| {
        let head = format!("GET {target} HTTP/1.1\r\nHost: a\r\n{field}Connection: close\r\n\r\n");
        server.request(head.as_bytes()).text()
    };
    for round in 0..3 {
        assert_eq!(ask("/a.php", ""), " - - - - /a.php", "{round}");
        assert_eq!(ask("/a.php?q=1", "Cookie: c=2\r\n"), "q=1 2 - - - /a.php?q=1", "{round}");
        assert_eq!(ask("/a.php", "Authorization: Basic dTpw\r\n"), " - u - - /a.php", "{round}");
        assert_eq!(ask("/a.php/x?y", ""), "y - - /x - /a.php/x?y", "{round}");
        assert_eq!(ask("/?z", ""), "z - - - - /?z", "{round}");
    }
    let rules = [
        ("SetEnvIf Cookie c=2 MARK=cookie\n", "q=1 2 - - cookie /a.php?q=1", " - - - - /a.php"),
        (
            "<If \"%{QUERY_STRING} == 'q=1'\">\nSetEnv MARK query\n</If>\n",
            "q=1 2 - - query /a.php?q=1",
            " - - - - /a.php",
        ),
        ("SetEnv MARK all\n", "q=1 2 - - all /a.php?q=1", " - - - all /a.php"),
    ];
    for (rule, with, without) in rules {
        std::fs::write(server.site().path("htdocs/.htaccess"), rule).expect("ours");
        await_that("it is so", || ask("/a.php?q=1", "Cookie: c=2\r\n") == with);
        assert_eq!(ask("/a.php", ""), without, "{rule}");
        assert_eq!(ask("/a.php?q=1", "Cookie: c=2\r\n"), with, "{rule}");
    }
    std::fs::write(server.site().path("htdocs/.htaccess"), "Require all denied\n").expect("ours");
    await_that("it is so", || server.get("/a.php").status == 403);
    assert_eq!(server.get("/a.php?q=1").status, 403);
}

#[test]
fn answers_that_are_not_plain_go_the_long_way_in_mid_conversation() {
    needs_php!();
    let server = serve(&[
        ("status.php", "<?php http_response_code(404); echo 'none';"),
        ("long.php", "<?php for ($i = 0; $i < 100; $i++) echo str_repeat('x', 10000);"),
        ("fatal.php", "<?php nothing();"),
        ("die.php", "<?php posix_kill(getmypid(), 9); sleep(9);"),
        ("log.php", "<?php error_log('noted ' . $_GET['n']); echo 'x';"),
        ("broken.php", "<?php echo str_repeat('x', 100000); flush(); nothing();"),
    ]);
    for round in 0..3 {
        assert_eq!(
            (server.get("/status.php").status, server.get("/status.php").text()),
            (404, "none".to_owned())
        );
        assert_eq!(server.get("/long.php").text().len(), 1_000_000, "{round}");
        assert_eq!(server.get("/fatal.php").status, 500, "{round}");
        assert_eq!(server.get("/die.php").status, 502, "{round}");
        assert_eq!(server.get(&format!("/log.php?n={round}")).text(), "x");
        drop(server.await_error(&format!("noted {round}")));
        assert_eq!(server.get("/broken.php").text().len(), 100_000, "{round}");
    }
}

#[test]
fn other_urls_are_looked_up_and_become_parts_of_the_answer() {
    needs_php!();
    let look = "<?php foreach (['/in/b.txt?q', 'in/b.txt', '/closed/b.txt', '/missing'] as $u) {\
                $f = @apache_lookup_uri($u); echo $f ? \"$f->uri \" . ($f->args ?? '') . ' ' . ($f->content_type ?? '') : 'no', \"\\n\"; }";
    let include = "<?php header('X-A: b'); echo 'one '; virtual('/in/b.txt'); echo ' two '; virtual('part.php?x=3'); \
                   echo ' ', var_export(@virtual('/closed/b.txt'), true), var_export(@virtual('/missing'), true); virtual('/page.shtml');";
    let server = site(&[
        ("look.php", look),
        ("all.php", include),
        ("part.php", "<?php echo 'part', $_GET['x'], getmypid() > 0;"),
        ("page.shtml", "[<!--#echo var=\"DOCUMENT_NAME\" -->]"),
        ("in/b.txt", "text"),
        ("closed/b.txt", "secret"),
        ("closed/.htaccess", "Require all denied\n"),
    ])
    .config("<Directory \"@ROOT@/htdocs\">\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\n</Directory>")
    .start();
    for _ in 0..2 {
        assert_eq!(
            server.get("/look.php").text(),
            "/in/b.txt q text/plain\n/in/b.txt  text/plain\nno\n/missing  \n"
        );
        let answer = server.get("/all.php");
        assert_eq!(answer.field("X-A"), Some("b"));
        assert!(answer.text().starts_with("one text two part31 falsefalse["), "{}", answer.text());
    }
}

#[test]
fn a_part_that_needs_the_only_worker_is_refused_with_the_reason() {
    needs_php!();
    let server = site(&[
        ("a.php", "<?php echo 'a'; var_dump(@virtual('/b.php')); @virtual('/c.txt');"),
        ("b.php", "<?php echo 'b';"),
        ("c.txt", "c"),
    ])
    .config("MaxRequestWorkers 1")
    .start();
    assert_eq!(server.get("/a.php").text(), "abool(false)\nc");
    drop(server.await_error("MaxRequestWorkers is 1"));
}

#[test]
fn the_access_log_shows_what_programs_have_set() {
    needs_php!();
    let text = "<?php apache_note('n', 'noted'); apache_setenv('E', 'set'); echo isset($_GET['l']) ? str_repeat('x', 200000) : 'x';";
    let server = site(&[("a.php", text)]).config("CustomLog \"@ROOT@/own.log\" \"%U%q %{n}n %{E}e\"").start();
    for target in ["/a.php", "/a.php?1", "/a.php?l"] {
        assert_eq!(server.get(target).status, 200);
        await_that("it is so", || {
            let log = std::fs::read_to_string(server.site().path("own.log")).unwrap_or_default();
            log.contains(&format!("{target} noted set\n"))
        });
    }
}

#[test]
fn the_cache_of_scripts_is_in_sight() {
    needs_php!();
    let server = site(&[("a.php", "<?php echo 1;")])
        .config("<Location /status>\nSetHandler server-status\n</Location>\n<Location /metrics>\nSetHandler hostler-metrics\n</Location>")
        .start();
    await_that("it is so", || {
        drop(server.get("/a.php"));
        server.get("/metrics").text().contains("hostler_pool_opcache_scripts{pool=")
    });
    let metrics = server.get("/metrics").text();
    assert!(metrics.contains("# TYPE hostler_pool_opcache_hits_total counter"), "{metrics}");
    assert!(
        server.get("/status").text().contains("opcache: bytes: 134217728"),
        "{}",
        server.get("/status").text()
    );
}

#[test]
fn a_cache_that_is_too_small_is_told_of() {
    needs_php!();
    // Texts that differ: the cache keeps one of those that are alike.
    let script =
        |at: u32| format!("<?php function f{at}() {{ return '{}'; }}", format!("{at} ").repeat(15_000));
    let many: Vec<(String, String)> = (0..300).map(|at| (format!("f{at}.php"), script(at))).collect();
    let ini = format!("{INI}opcache.memory_consumption=8\nopcache.interned_strings_buffer=1\n");
    let all = "<?php for ($i = (int) $_GET['from']; $i < $_GET['from'] + 100; $i++) include \"f$i.php\"; echo 'done';";
    let site = many
        .iter()
        .fold(site(&[("all.php", all)]), |site, (name, text)| site.file(&format!("htdocs/{name}"), text));
    let server = site.file("php.ini", &ini).start();
    for from in [0, 100, 200] {
        assert_eq!(server.get(&format!("/all.php?from={from}")).text(), "done");
    }
    await_that("it is so", || {
        drop(server.get("/all.php?from=200"));
        server.error_log().contains("raise opcache.memory_consumption")
    });
}

#[test]
fn scripts_that_warm_a_pool_are_compiled_before_its_first_request() {
    needs_php!();
    let text = "<?php $s = opcache_get_status(); echo count(array_filter($s['scripts'], fn($s) => str_ends_with($s['full_path'], 'part.php')));";
    let server = site(&[
        ("index.php", "<?php error_log('warm'); include 'part.php'; echo 'goes nowhere';"),
        ("part.php", "<?php function part() {}"),
        ("a.php", text),
    ])
    .config("PHPWarm /index.php /missing.php")
    .start();
    assert_eq!(server.get("/a.php").text(), "1");
    drop(server.await_error("warm"));
    drop(server.await_error("PHPWarm /missing.php: the script did not run"));
}

#[test]
fn a_new_release_behind_a_link_is_new_to_php_at_once() {
    needs_php!();
    let text = |release: u32| {
        format!(
            "<?php require 'part.php'; echo basename(dirname(__FILE__)), part(), ' ', basename($_SERVER['DOCUMENT_ROOT']), {release};"
        )
    };
    let part = |release: u32| format!("<?php function part() {{ return {release}; }}");
    let site = site(&[])
        .file("r1/a.php", text(1))
        .file("r2/a.php", text(2))
        .file("r1/part.php", part(1))
        .file("r2/part.php", part(2));
    let current = site.path("current");
    std::os::unix::fs::symlink("r1", &current).expect("ours");
    let server = site
        .config("DocumentRoot \"@ROOT@/current\"\n<Directory \"@ROOT@\">\nRequire all granted\nHostlerPHPRealpath On\n</Directory>")
        .start();
    assert_eq!(server.get("/a.php").text(), "r11 r11");
    let next = server.site().path("next");
    std::os::unix::fs::symlink("r2", &next).expect("ours");
    std::fs::rename(&next, &current).expect("ours");
    await_that("it is so", || server.get("/a.php").text() == "r22 r22");
}

#[test]
fn uploads_go_to_a_folder_of_the_user_s_own() {
    needs_php!();
    let text = "<?php $d = dirname($_FILES['f']['tmp_name']); echo basename($d), ' ', decoct(fileperms($d) & 0777), ' ', fileowner($d) === posix_geteuid() ? 'own' : 'other';";
    let text = text.replace("posix_geteuid()", "fileowner($_FILES['f']['tmp_name'])");
    let server = serve(&[("a.php", &text)]);
    let body = "--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n\"\r\n\r\nhello\r\n--x--\r\n";
    let said = post(&server, "/a.php", "multipart/form-data; boundary=x", body);
    assert!(said.starts_with("hostler-php-") && said.ends_with(" 700 own"), "{said}");
}
