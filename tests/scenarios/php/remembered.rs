//! The front's memory of PHP's URLs, and its limits.

use super::{serve, site};
use crate::faults::await_that;

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

/// Rules of BrowserMatch are about a class of clients: what is remembered is remembered for that class.
#[test]
fn what_is_said_of_a_browser_is_told_of_no_other() {
    needs_php!();
    let server =
        site(&[("a.php", "<?php echo $_SERVER['ODD'] ?? '-';")]).config("BrowserMatch Odd ODD=odd\n").start();
    let ask = |agent: &str| {
        let head =
            format!("GET /a.php HTTP/1.1\r\nHost: a\r\nUser-Agent: {agent}\r\nConnection: close\r\n\r\n");
        server.request(head.as_bytes()).text()
    };
    // Each of the front's threads has a memory of its own.
    for _ in 0..10 {
        assert_eq!(
            (ask("x"), ask("Odd"), ask("Odd"), ask("x")),
            ("-".into(), "odd".into(), "odd".into(), "-".into())
        );
    }
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
        ("odd.php", "<?php header(\"X-Odd: a\\x01b\"); header('X Y: z'); echo 'x';"),
        ("broken.php", "<?php echo str_repeat('x', 100000); flush(); nothing();"),
    ]);
    for round in 0..3 {
        assert_eq!(
            (server.get("/status.php").status, server.get("/status.php").text()),
            (404, "none".to_owned())
        );
        assert_eq!(server.get("/long.php").text().len(), 1_000_000, "{round}");
        assert_eq!(server.get("/fatal.php").status, 500, "{round}");
        // A field that can't be sent.
        assert_eq!(server.get("/odd.php").status, 500, "{round}");
        assert_eq!(server.get("/die.php").status, 502, "{round}");
        assert_eq!(server.get(&format!("/log.php?n={round}")).text(), "x");
        drop(server.await_error(&format!("noted {round}")));
        assert_eq!(server.get("/broken.php").text().len(), 100_000, "{round}");
    }
}

/// The usual front controller: whatever is not there is the program's.
#[test]
fn a_front_controller_is_told_of_each_request_as_it_is() {
    needs_php!();
    let text = "<?php echo implode(' ', array_map(fn($name) => ($_SERVER[$name] ?? '') ?: '-', ['REQUEST_URI', 'QUERY_STRING', 'REDIRECT_URL', \
                'REDIRECT_QUERY_STRING', 'REDIRECT_STATUS', 'SCRIPT_NAME', 'PATH_INFO', 'PHP_SELF', 'HTTP_COOKIE', 'HTTP_USER_AGENT'])), \
                ' ', $_GET['p'] ?? '-'; if (isset($_GET['end'])) { http_response_code(404); }";
    let rules = "RewriteEngine On\nRewriteRule ^index\\.php$ - [L]\nRewriteCond %{HTTP_USER_AGENT} bad\nRewriteRule ^ - [F]\n\
                 RewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule . /index.php [L]\n";
    let server = site(&[("index.php", text), (".htaccess", rules)]).start();
    let ask = |target: &str, fields: &str| {
        let head = format!("GET {target} HTTP/1.1\r\nHost: a\r\n{fields}Connection: close\r\n\r\n");
        let answer = server.request(head.as_bytes());
        (answer.status, if answer.status == 403 { String::new() } else { answer.text() })
    };
    for round in 0..8 {
        let is = |target: &str, fields: &str, status: u16, told: &str| {
            assert_eq!(ask(target, fields), (status, told.to_owned()), "{target} {fields} {round}");
        };
        is("/a/post", "", 200, "/a/post - /a/post - 200 /index.php - /index.php - - -");
        is("/a/post?p=1", "", 200, "/a/post?p=1 p=1 /a/post p=1 200 /index.php - /index.php - - 1");
        is(
            "/a/post?p=2",
            "Cookie: c\r\n",
            200,
            "/a/post?p=2 p=2 /a/post p=2 200 /index.php - /index.php c - 2",
        );
        is("/a/post", "User-Agent: x\r\n", 200, "/a/post - /a/post - 200 /index.php - /index.php - x -");
        is("/a/post", "User-Agent: bad\r\n", 403, "");
        is("/index.php?p=3", "", 200, "/index.php?p=3 p=3 - - - /index.php - /index.php - - 3");
        is("/a/post?end", "", 404, "/a/post?end end /a/post end 200 /index.php - /index.php - - -");
    }
}

/// Fields and codings that are the server's are each answer's own, though the phases before the script are remembered.
#[test]
fn what_is_done_with_answers_is_done_with_each() {
    needs_php!();
    let text = "<?php echo str_repeat('text ', 400), $_COOKIE['c'] ?? '-';";
    let rules = "Header set X-Fixed one\nHeader set X-Cookie \"expr=%{HTTP_COOKIE}\"\nHeader set X-Env %{MARK}e env=MARK\n\
                 AddOutputFilterByType DEFLATE text/html\n";
    let server = site(&[("a.php", text), (".htaccess", rules)])
        .file("htdocs/marked/.htaccess", "SetEnvIf X-Mark (.+) MARK=$1\n")
        .file("htdocs/marked/a.php", text)
        .start();
    let ask = |target: &str, fields: &str| {
        let head = format!("GET {target} HTTP/1.1\r\nHost: a\r\n{fields}Connection: close\r\n\r\n");
        let answer = server.request(head.as_bytes());
        let field = |name: &str| answer.field(name).unwrap_or("-").to_owned();
        let coding = field("Content-Encoding");
        let end = if coding == "-" { answer.text().chars().last().unwrap_or('-') } else { 'z' };
        (coding, field("X-Fixed"), field("X-Cookie"), field("X-Env"), end)
    };
    let told = |coding: &str, cookie: &str, env: &str, end: char| {
        (coding.to_owned(), "one".to_owned(), cookie.to_owned(), env.to_owned(), end)
    };
    for _ in 0..8 {
        assert_eq!(ask("/a.php", ""), told("-", "", "-", '-'));
        assert_eq!(ask("/a.php", "Cookie: c=2\r\n"), told("-", "c=2", "-", '2'));
        assert_eq!(ask("/a.php", "Accept-Encoding: gzip\r\n"), told("gzip", "", "-", 'z'));
        assert_eq!(ask("/marked/a.php", "X-Mark: m\r\n"), told("-", "", "m", '-'));
        assert_eq!(ask("/marked/a.php", ""), told("-", "", "-", '-'));
    }
}
