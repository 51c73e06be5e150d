//! Scripts' requests to the server: other URLs, their responses, and log lines.

use super::site;
use crate::faults::await_that;

#[test]
fn other_urls_are_looked_up_and_become_parts_of_the_answer() {
    needs_php!();
    let look = "<?php foreach (['/in/b.txt?q', 'in/b.txt', '/closed/b.txt', '/missing'] as $u) {\
                $f = @apache_lookup_uri($u); echo $f ? \"$f->uri \" . ($f->args ?? '') . ' ' . ($f->content_type ?? '') : 'no', \"\\n\"; }";
    let include = "<?php header('X-A: b'); echo 'one '; virtual('/in/b.txt'); echo ' two '; $mine = 'mine'; virtual('part.php?y=3'); \
                   echo $its, ' ', var_export(@virtual('/closed/b.txt'), true), var_export(@virtual('/missing'), true); virtual('/page.shtml');";
    let server = site(&[
        ("look.php", look),
        ("all.php", include),
        ("part.php", "<?php echo 'part', $_GET['x'], $_SERVER['QUERY_STRING'], $mine; $its = 'its';"),
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
        let answer = server.get("/all.php?x=1");
        assert_eq!(answer.field("X-A"), Some("b"));
        assert!(answer.text().starts_with("one text two part1y=3mineits falsefalse["), "{}", answer.text());
    }
}

#[test]
fn a_part_that_needs_the_only_worker_is_refused_with_the_reason() {
    needs_php!();
    let server = site(&[
        ("a.php", "<?php echo 'a'; var_dump(@virtual('/b.php')); var_dump(@virtual('/b.phps')); @virtual('/c.txt');"),
        ("b.php", "<?php echo 'b';"),
        ("b.phps", "<?php echo 'b';"),
        ("c.txt", "c"),
    ])
    .config("MaxRequestWorkers 1")
    .start();
    // A script is run in the place of the one that includes it; the source of one is another request.
    assert_eq!(server.get("/a.php").text(), "abbool(true)\nbool(false)\nc");
    drop(server.await_error("MaxRequestWorkers is 1"));
}

#[test]
fn a_script_that_is_included_has_the_settings_of_its_directory_and_ends_alone() {
    needs_php!();
    let server = site(&[
        ("a.php", "<?php virtual('/in/b.php'); echo ' ', ini_get('precision'); virtual('/in/exits.php'); virtual('/self.php'); echo ' end';"),
        ("in/b.php", "<?php echo ini_get('precision');"),
        ("in/exits.php", "<?php exit(' exit');"),
        ("in/.htaccess", "php_value precision 9\n"),
        ("self.php", "<?php $GLOBALS['n'] = ($GLOBALS['n'] ?? 0) + 1; @virtual('/self.php') || print(' ' . $GLOBALS['n']);"),
    ])
    .config("MaxRequestWorkers 1")
    .start();
    for _ in 0..2 {
        assert_eq!(server.get("/a.php").text(), "9 9 exit 10 end");
    }
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
fn the_modules_that_scripts_are_told_of_are_those_that_blocks_find() {
    needs_php!();
    let files = [("a.php", "<?php echo implode(' ', apache_get_modules());")];
    let told = site(&files).start().get("/a.php").text();
    let told: Vec<&str> = told.split(' ').collect();
    for name in [
        "core",
        "http_core",
        "mod_rewrite",
        "mod_headers",
        "mod_expires",
        "mod_deflate",
        "mod_ssl",
        "mod_php",
        "mod_proxy_fcgi",
    ] {
        assert!(told.contains(&name), "{name}: {told:?}");
    }
    assert!(!told.contains(&"mod_dav") && !told.contains(&"mod_security2"), "{told:?}");
    let lacking =
        |name: &&str| format!("<IfModule !{name}.c>\nHeader always add X-Lacking {name}\n</IfModule>\n");
    let blocks: String = told.iter().map(lacking).collect();
    let answer = site(&files).file("htdocs/.htaccess", blocks).start().get("/a.php");
    assert_eq!((answer.status, answer.field("X-Lacking")), (200, None));
}
