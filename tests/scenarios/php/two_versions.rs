//! Two real versions of PHP beside each other: the usual one, and another that is installed with its library and headers,
//! whose program `cargo xtask test` has built (docs/several-phps.md). One user has both.

use super::versions::host;
use crate::builds::{DIGITS, MARK};
use hostler_tests::{Php, Response, Server, Site, hostler, untested};
use memchr::memmem;
use std::fs;
use std::path::Path;

/// The usual version and another one; says so where there are not two.
fn two() -> Option<[Php; 2]> {
    let Some(usual) = Php::usual() else {
        untested("PHP's library or headers are missing (./setup.sh test)");
        return None;
    };
    let Some(other) = Php::others().into_iter().next() else {
        untested("no second version of PHP is installed (docs/several-phps.md)");
        return None;
    };
    if build_of(&usual.program) != build_of(&other.program) {
        untested(format_args!("{} is of another build (cargo xtask test makes it anew)", other.program));
        return None;
    }
    Some([usual.clone(), other])
}

/// The number of the build that a program is of: both have to be of one.
fn build_of(program: &str) -> Option<Vec<u8>> {
    let bytes = fs::read(hostler().with_file_name(program)).expect("the program");
    let mut marked =
        memmem::find_iter(&bytes, MARK).filter_map(|at| bytes.get(at + MARK.len()..)?.get(..DIGITS));
    marked.find(|number| number.iter().all(u8::is_ascii_hexdigit)).map(<[u8]>::to_vec)
}

/// Returns the place of a version's php.ini on machines with Apache.
fn ini(php: &Php) -> String {
    format!("/etc/php/{}/apache2/php.ini", php.number)
}

/// The program's report on its version and process: one line each.
const TELLS: &str = "<?php
$own = opcache_get_status()['scripts'][__FILE__] ?? null;
echo PHP_VERSION, '|', basename(readlink('/proc/self/exe')), '|', PHP_SAPI, '|', php_ini_loaded_file(), '|';
echo $own ? ($own['hits'] > 0 ? 'cached' : 'compiled') : 'without', '|', $_SERVER['SERVER_SOFTWARE'], '|';
echo getallheaders()['X-Own'] ?? '', '|', ini_get('precision'), '|', getmyuid();";

/// A script that works in either version.
const WORKS: &str = "<?php
session_save_path(__DIR__ . '/../sessions');
session_start();
$_SESSION['count'] = ($_SESSION['count'] ?? 0) + 1;
setcookie('a', 'b c', ['expires' => 0, 'httponly' => true]);
header('X-Own: ' . apache_note('a', 'b') . apache_getenv('OWN'));
register_shutdown_function(function () { echo '|end'; });
$file = $_FILES['file'] ?? null;
echo $_POST['text'] ?? '', '|', $file ? file_get_contents($file['tmp_name']) : '', '|', $_SERVER['PHP_AUTH_USER'] ?? '';
echo '|', basename(getcwd()), '|', apache_lookup_uri('/a.php?x')->handler, '|';
virtual('/part.txt');
fastcgi_finish_request();";

fn site(two: &[Php; 2]) -> Site {
    let [usual, other] = two;
    let lines = "SetEnv OWN own\n<Location /status>\nSetHandler server-status\n</Location>";
    let text = format!(
        "AddHandler application/x-httpd-php .php\nPHPVersion {}\n{}{}",
        usual.number,
        host("usual", lines),
        host("other", &format!("PHPVersion {}\nphp_value precision 5\n{lines}", other.number)),
    );
    Site::new()
        .file("htdocs/a.php", TELLS)
        .file("htdocs/works.php", WORKS)
        .file("htdocs/info.php", "<?php phpinfo();")
        .file("htdocs/wrong.php", "<?php nothing_of_that_name();")
        .file("htdocs/part.txt", "part")
        .config(&text)
}

fn ask(server: &Server, host: &str, target: &str, further: &str) -> Response {
    server.get_with(target, &format!("Host: {host}.test\r\n{further}"))
}

#[test]
fn two_real_versions_serve_a_virtual_host_each() {
    let Some(two) = two() else { return };
    let server = site(&two).start();
    for (name, php, precision) in [("usual", &two[0], "14"), ("other", &two[1], "5")] {
        // The second time it is there already.
        drop(ask(&server, name, "/a.php", ""));
        let said = ask(&server, name, "/a.php", "X-Own: yes\r\n").text();
        let said: Vec<&str> = said.split('|').collect();
        let [version, program, interface, file, cached, software, field, own, _] = said[..] else {
            panic!("{said:?}")
        };
        assert_eq!((version, program, interface), (&*php.whole, &*php.program, "apache2handler"));
        if Path::new(&ini(php)).is_file() {
            assert_eq!(file, ini(php));
        }
        assert!(["cached", "compiled", "without"].contains(&cached), "{cached}");
        assert!(software.contains("Apache"), "{software}");
        assert_eq!((field, own), ("yes", precision));
        let info = ask(&server, name, "/info.php", "").text();
        assert!(info.contains(&format!("PHP Version {}", php.whole)) && info.contains("Hostler"), "{info}");
        let status = ask(&server, name, "/status", "").text();
        assert!(two.iter().all(|php| status.contains(&format!("PHP {}", php.whole))) == (name == "other"));
    }
}

#[test]
fn either_of_two_real_versions_has_the_whole_interface() {
    let Some(two) = two() else { return };
    let server = site(&two).dir("sessions").start();
    let body = "--x\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nä\r\n--x\r\nContent-Disposition: form-data; \
                name=\"file\"; filename=\"f.txt\"\r\nContent-Type: text/plain\r\n\r\nof the file\r\n--x--\r\n";
    for name in ["usual", "other"] {
        let head = format!(
            "POST /works.php HTTP/1.1\r\nHost: {name}.test\r\nAuthorization: Basic YTpi\r\nContent-Type: multipart/form-data; \
             boundary=x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let answer = server.request(format!("{head}{body}").as_bytes());
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        assert_eq!(answer.text(), "ä|of the file|a|htdocs|application/x-httpd-php|part", "{name}");
        assert_eq!(answer.field("X-Own"), Some("own"), "{name}");
        assert!(answer.field("Set-Cookie").is_some_and(|set| set.starts_with("PHPSESSID=")), "{name}");
        // A fatal error is told with its cause, and the next request is served.
        assert_eq!(ask(&server, name, "/wrong.php", "").status, 500, "{name}");
        assert_eq!(ask(&server, name, "/part.txt", "").text(), "part");
        assert_eq!(ask(&server, name, "/a.php", "").status, 200, "{name}");
    }
    drop(server.await_error("nothing_of_that_name"));
}
