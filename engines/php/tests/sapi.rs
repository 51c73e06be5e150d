//! PHP's server interface, driven by hand (`drive.c`): each test is a list of commands, scripts, and what a client sees.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// The folder with the built interface and the library of names; empty: without PHP.
const PARTS: &str = env!("PHP_PARTS");

/// The program, built once.
static DRIVE: LazyLock<PathBuf> = LazyLock::new(|| {
    let program = Path::new(PARTS).join("drive");
    let built = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-I", "sapi", "tests/drive.c", "-o"])
        .arg(&program)
        .arg(Path::new(PARTS).join("libhostler_php_sapi.a"))
        .arg(Path::new(PARTS).join("libhostler_php_names.so"))
        .status();
    assert!(built.unwrap().success(), "drive.c is not built");
    program
});

/// A folder with scripts.
struct Site(tempfile::TempDir);

impl Site {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ini = "opcache.file_update_protection=0\nlog_errors=1\ndisplay_errors=0\nhtml_errors=0\n";
        let site = Self(folder);
        site.write("php.ini", ini);
        files.iter().for_each(|(name, text)| site.write(name, text));
        site
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn path(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    /// Runs a worker with these commands and returns its output; `@` is the folder.
    fn drive(&self, commands: &str) -> String {
        self.drive_after("", commands)
    }

    /// The same of one that is forked when its parent has been given `first`.
    fn drive_after(&self, first: &str, commands: &str) -> String {
        let commands = format!("ini @/php.ini\n{first}fork\n{commands}\n").replace('@', self.path());
        let mut child = Command::new(&*DRIVE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(commands.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        String::from_utf8_lossy(&output.stdout).replace(self.path(), "@")
    }

    /// The body of the last answer.
    fn body(&self, commands: &str) -> String {
        bodies(&self.drive(commands)).pop().unwrap_or_default()
    }
}

/// The bodies of all answers.
fn bodies(said: &str) -> Vec<String> {
    let mut answers: Vec<&str> = said.split("\nend").collect();
    answers.pop();
    let pieces = |answer: &str| -> String {
        let of_body = answer.lines().filter_map(|line| line.strip_prefix("body ")?.split_once(' '));
        of_body.map(|(_, text)| text).collect()
    };
    answers.into_iter().map(pieces).collect()
}

fn is_without_php() -> bool {
    if PARTS.is_empty() {
        hostler_untested::untested("PHP's library or headers are missing");
    }
    PARTS.is_empty()
}

#[test]
fn an_answer_has_status_fields_and_body() {
    if is_without_php() {
        return;
    }
    let site = Site::new(&[(
        "a.php",
        "<?php header('X-A: b'); setcookie('c', '1'); setcookie('d', '2'); http_response_code(404); echo 'no';",
    )]);
    let said = site.drive("get @/a.php");
    assert!(said.contains("head 404"), "{said}");
    let fields: Vec<_> = said.lines().filter_map(|line| line.strip_prefix("field ")).collect();
    assert!(
        fields.contains(&"X-A: b") && fields.contains(&"Content-type: text/html; charset=UTF-8"),
        "{fields:?}"
    );
    assert_eq!(fields.iter().filter(|field| field.starts_with("Set-Cookie: ")).count(), 2);
    assert!(said.contains("body 2 no\nend\n"), "{said}");
}

#[test]
fn frameworks_take_it_for_apache_s_and_the_opcode_cache_is_on() {
    if is_without_php() {
        return;
    }
    let text = "<?php echo PHP_SAPI, ' ', (int) function_exists('apache_request_headers'), ' ';
        $s = function_exists('opcache_get_status') ? opcache_get_status(false) : null;
        echo $s ? (int) ($s['opcache_statistics']['hits'] > 0) : 'no opcache';";
    let site = Site::new(&[("a.php", text)]);
    assert_eq!(site.body("get @/a.php\nget @/a.php\nget @/a.php"), "apache2handler 1 1");
}

#[test]
fn what_only_the_command_line_has_is_not_there() {
    if is_without_php() {
        return;
    }
    let text = "<?php foreach (['pcntl_fork', 'pcntl_signal', 'chroot', 'posix_getpid', 'strlen'] as $f) echo (int) function_exists($f);
        echo (int) extension_loaded('pcntl'), (int) defined('WNOHANG'), (int) in_array('chroot', get_defined_functions()['internal']);";
    let site = Site::new(&[("a.php", text)]);
    let body = site.body("get @/a.php\nget @/a.php");
    // posix is an extension of its own, which may be missing.
    assert!(body == "00011000" || body == "00001000", "{body}");
}

#[test]
fn fields_before_a_fatal_error_are_told() {
    if is_without_php() {
        return;
    }
    let fatal = "header('X-A: b'); setcookie('c', '1'); setcookie('d', '2'); nothing(); ?>";
    let site = Site::new(&[
        ("a.php", &format!("<?php {fatal}")),
        ("b.php", &format!("<?php http_response_code(503); {fatal}")),
        ("c.php", &format!("<?php http_response_code(404); {fatal}")),
        ("d.php", &format!("<?php ini_set('display_errors', '1'); {fatal}")),
    ]);
    let said = site.drive("get @/a.php\nget @/b.php\nget @/c.php\nget @/d.php");
    let heads: Vec<_> = said.lines().filter(|line| line.starts_with("head ")).collect();
    let line = "HTTP/1.0 500 Internal Server Error";
    assert_eq!(
        heads,
        [&format!("head 500 {line} failed"), "head 503  failed", "head 404 ", "head 200 "],
        "{said}"
    );
    assert_eq!(said.matches("field X-A: b\n").count(), 4, "{said}");
    assert_eq!(said.matches("field Set-Cookie: ").count(), 8, "{said}");
    assert_eq!(said.matches("end failed\n").count(), 2, "{said}");
}

#[test]
fn a_script_that_is_left_in_the_middle_costs_only_its_own_request() {
    if is_without_php() {
        return;
    }
    let site = Site::new(&[
        ("exit.php", "<?php ob_start(fn($b) => strtoupper($b)); function f() { echo 'x'; exit(3); } f();"),
        ("throw.php", "<?php throw new Exception('secret');"),
        ("parse.php", "<?php echo 1 +;"),
        ("memory.php", "<?php ini_set('memory_limit', '4M'); $a = str_repeat('x', 1 << 24);"),
        ("deep.php", "<?php ini_set('memory_limit', '16M'); function f($n) { return f($n + 1) + 1; } f(0);"),
        ("good.php", "<?php echo 'good';"),
    ]);
    let round =
        ["exit", "throw", "parse", "memory", "deep", "good"].map(|name| format!("get @/{name}.php\n"));
    let said = site.drive(&round.concat().repeat(20));
    assert_eq!(said.matches("body 1 X\n").count(), 20, "{said}");
    assert_eq!(said.matches("end failed\n").count(), 80, "{said}");
    assert_eq!(said.matches("body 4 good\n").count(), 20, "{said}");
    assert!(said.contains("log 3 PHP Fatal error:  Uncaught Exception: secret in @/throw.php:1"), "{said}");
    assert!(said.contains("PHP Parse error:"), "{said}");
}

#[test]
fn what_was_written_before_a_fatal_error_stays() {
    if is_without_php() {
        return;
    }
    let site = Site::new(&[("a.php", "<?php echo 'begun'; flush(); nothing();")]);
    let said = site.drive("get @/a.php");
    assert!(said.contains("head 200") && said.contains("body 5 begun") && said.contains("end\n"), "{said}");
}

#[test]
fn a_loop_ends_after_its_processor_time_and_the_worker_goes_on() {
    if is_without_php() {
        return;
    }
    let site = Site::new(&[("loop.php", "<?php for (;;);"), ("good.php", "<?php echo 'good';")]);
    let said = site.drive("value max_execution_time 1\nget @/loop.php\nget @/good.php");
    assert!(said.contains("Maximum execution time of 1 second exceeded"), "{said}");
    assert!(said.contains("end failed") && said.contains("body 4 good"), "{said}");
}

#[test]
fn signals_stay_the_worker_s() {
    if is_without_php() {
        return;
    }
    let text =
        "<?php if (!function_exists('posix_kill')) die('told to go'); posix_kill(getmypid(), 15); echo 'on';";
    let site = Site::new(&[("a.php", text)]);
    let said = site.drive("get @/a.php\nget @/a.php");
    assert_eq!(said.matches("told to go").count(), 2, "{said}");
}

#[test]
fn a_body_in_pieces_is_read_whole() {
    if is_without_php() {
        return;
    }
    let site = Site::new(&[
        ("form.php", "<?php echo $_POST['a'], strlen($_POST['b']);"),
        ("raw.php", "<?php echo strlen(file_get_contents('php://input'));"),
    ]);
    let form = format!("a=1&b={}", "x".repeat(20_000));
    let of_form = "type application/x-www-form-urlencoded\nchunks 7\n";
    assert_eq!(site.body(&format!("{of_form}length {}\nbody {form}\npost @/form.php", form.len())), "120000");
    // Nobody has said how long it is (chunked).
    assert_eq!(site.body(&format!("{of_form}body {form}\npost @/form.php")), "120000");
    assert_eq!(site.body(&format!("chunks 1000\nbody {form}\npost @/raw.php")), "20006");
}

#[test]
fn uploads_are_files_for_the_time_of_the_request() {
    if is_without_php() {
        return;
    }
    let text =
        "<?php $f = $_FILES['f']; echo $f['name'], ' ', $f['error'], ' ', file_get_contents($f['tmp_name']);";
    let site = Site::new(&[("a.php", text)]);
    let body = "--x\\r\\nContent-Disposition: form-data; name=\"f\"; filename=\"n.txt\"\\r\\n\\r\\nhello\\r\\n--x--\\r\\n";
    let said =
        site.body(&format!("type multipart/form-data; boundary=x\nlength 500\nbody {body}\npost @/a.php"));
    assert_eq!(said, "n.txt 0 hello");
}

#[test]
fn settings_hold_for_their_request_alone() {
    if is_without_php() {
        return;
    }
    let text = "<?php echo ini_get('precision'), ' ', ini_get('memory_limit'), ' ';
        echo var_export(ini_set('memory_limit', '99M'), true), ' ', ini_get('memory_limit'), ' ';
        echo ini_get('file_uploads');";
    // What opcache makes of ini_get() of a setting of the administrator's holds for all who share its memory.
    let site = Site::new(&[("a.php", text), ("b.php", text)]);
    let said = site.drive(
        "value precision 5\nadmin memory_limit 64M\nvalue file_uploads 0\nget @/a.php\nplain\nget @/b.php",
    );
    assert_eq!(bodies(&said), ["5 64M false 64M 1", "14 128M '128M' 99M 1"]);
    assert!(said.contains("log 4 ") && said.contains("\"file_uploads\""), "{said}");
}

#[test]
fn an_unknown_setting_is_told_once() {
    if is_without_php() {
        return;
    }
    let site = Site::new(&[(
        "a.php",
        "<?php echo ini_get('engine'), ini_get('xbithack'), ini_get('last_modified');",
    )]);
    let said = site.drive("value no.such 1\nadmin opcache.preload /x\nget @/a.php\nget @/a.php");
    assert_eq!(said.matches("\"no.such\"").count(), 1, "{said}");
    assert_eq!(said.matches("\"opcache.preload\"").count(), 1, "{said}");
    assert_eq!(bodies(&said), ["100", "100"]);
}

#[test]
fn user_ini_files_are_read_from_the_document_root_down() {
    if is_without_php() {
        return;
    }
    let site = Site::new(&[
        (".user.ini", "precision=7\nserialize_precision=6\n"),
        ("in/.user.ini", "precision=8\n"),
        ("in/a.php", "<?php echo ini_get('precision'), ' ', ini_get('serialize_precision');"),
    ]);
    assert_eq!(site.body("root @\nget @/in/a.php"), "8 6");
}

#[test]
fn the_working_directory_is_the_script_s() {
    if is_without_php() {
        return;
    }
    let text = "<?php echo basename(getcwd()), ' '; chdir('/'); echo getcwd();";
    let site = Site::new(&[("one/a.php", text), ("two/a.php", text)]);
    let said = site.drive("get @/one/a.php\nget @/one/a.php\nget @/two/a.php");
    assert_eq!(bodies(&said), ["one /", "one /", "two /"]);
}

#[test]
fn a_program_goes_on_after_it_has_finished_the_request() {
    if is_without_php() {
        return;
    }
    let text = "<?php ob_start(); echo 'a'; echo (int) fastcgi_finish_request(); file_put_contents(__DIR__ . '/done', '1');
        error_log('still here');";
    let site = Site::new(&[("a.php", "<?php echo 'a'; var_dump(1 <=> 2);"), ("f.php", text)]);
    let said = site.drive("get @/f.php\nget @/a.php");
    assert!(said.contains("body 1 a\nfinish\n"), "{said}");
    assert!(said.contains("log 5 still here") && site.0.path().join("done").exists(), "{said}");
    assert_eq!(said.matches("end\n").count(), 2, "{said}");
}

#[test]
fn a_client_that_has_gone_ends_the_script_unless_it_says_otherwise() {
    if is_without_php() {
        return;
    }
    let site = Site::new(&[
        ("a.php", "<?php echo 'x'; flush(); error_log('on');"),
        (
            "b.php",
            "<?php ignore_user_abort(true); echo 'x'; flush(); error_log('on ' . connection_status());",
        ),
    ]);
    assert!(!site.drive("gone\nget @/a.php").contains(" on"));
    assert!(site.drive("gone\nget @/b.php").contains(" on 1"));
}

#[test]
fn programs_find_apache_s_functions() {
    if is_without_php() {
        return;
    }
    let text = "<?php header('X-B: c'); apache_setenv('S', '1'); apache_note('n', 'm');
        echo json_encode([getallheaders()['X-A'], apache_response_headers()['X-B'], apache_getenv('S'), getenv('S'),
        getenv('V'), apache_note('n'), in_array('mod_rewrite', apache_get_modules()), apache_get_version()]);";
    let site = Site::new(&[("a.php", text)]);
    let said = site.body("field X-A 7\nvar V w\nget @/a.php");
    assert_eq!(said, r#"["7","c","1","1","w","m",true,"Hostler (Apache-compatible)"]"#);
}

#[test]
fn credentials_reach_the_program() {
    if is_without_php() {
        return;
    }
    let site = Site::new(&[(
        "a.php",
        "<?php echo $_SERVER['PHP_AUTH_USER'] ?? '-', $_SERVER['PHP_AUTH_PW'] ?? '-';",
    )]);
    assert_eq!(
        site.body("authorization Basic YTpi\nget @/a.php\nauthorization Basic YTpi\nget @/a.php"),
        "ab"
    );
    assert_eq!(site.body("authorization Basic YTpi\nget @/a.php\nget @/a.php"), "--");
}

#[test]
fn a_source_is_shown_in_colours_and_not_run() {
    if is_without_php() {
        return;
    }
    let site = Site::new(&[("a.phps", "<?php echo 'hello';")]);
    let said = site.body("show @/a.phps");
    assert!(said.contains("<span") && said.contains("echo"), "{said}");
}

#[test]
fn what_a_script_changes_of_its_process_is_put_back() {
    if is_without_php() {
        return;
    }
    let text = "<?php echo umask(), setlocale(LC_ALL, 0), date_default_timezone_get(), getenv('X'), ini_get('precision');
        umask(077); setlocale(LC_ALL, 'C.UTF-8'); date_default_timezone_set('Asia/Tokyo'); putenv('X=1');
        ini_set('precision', '3'); set_error_handler(fn() => true); define('GONE', 1);";
    let site = Site::new(&[("a.php", text)]);
    let said = site.drive("get @/a.php\nget @/a.php");
    let bodies = bodies(&said);
    assert_eq!(bodies[0], bodies[1], "{said}");
}

#[test]
fn an_error_document_begins_with_its_status() {
    if is_without_php() {
        return;
    }
    let site = Site::new(&[("a.php", "<?php echo http_response_code();")]);
    let said = site.drive("status 404\nget @/a.php");
    assert!(said.contains("head 404") && said.contains("body 3 404"), "{said}");
}

#[test]
fn the_log_is_told_what_a_program_has_set() {
    if is_without_php() {
        return;
    }
    let text = "<?php apache_setenv('A', 'b'); register_shutdown_function(fn() => apache_note('n', 'late'));";
    let site = Site::new(&[("a.php", text), ("b.php", "<?php echo 1;")]);
    let said = site.drive("get @/a.php\nget @/b.php");
    assert!(said.contains("variable A=b\nnote n=late\n"), "{said}");
    assert_eq!(said.matches("note ").count(), 1, "{said}");
}

#[test]
fn the_server_is_asked_about_other_urls() {
    if is_without_php() {
        return;
    }
    let look = "<?php $f = apache_lookup_uri($_GET['u']); echo $f ? $f->uri . $f->mtime . ($f->handler ?? '-') : 'no';";
    let virtual_ = "<?php header('X-A: b'); ob_start(); echo 'before'; virtual('/other'); echo 'after', var_export(virtual('/no'), true);";
    let site = Site::new(&[("look.php", look), ("virtual.php", virtual_)]);
    let said = site
        .drive("get @/look.php?u=/other\nget @/look.php?u=/no\nget @/look.php?u=/none\nget @/virtual.php");
    assert!(said.contains("body 8 /other7-"), "{said}");
    assert!(said.contains("Unable to include '/no' - error finding URI"), "{said}");
    assert!(said.contains("Unable to include '/none' - URI lookup failed"), "{said}");
    let order = ["field X-A: b", "body 6 before", "include /other", "body 5 after", "body 5 false"];
    let at: Vec<_> = order.iter().map(|part| said.find(part)).collect();
    assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{said}");
}

#[test]
fn how_the_cache_stands_is_told_now_and_then() {
    if is_without_php() {
        return;
    }
    let site = Site::new(&[("a.php", "<?php echo 1;")]);
    let said = site.drive("cache\nget @/a.php\nget @/a.php\nget @/a.php");
    assert_eq!(said.matches("cache used scripts\n").count(), 1, "{said}");
}

#[test]
fn what_a_parent_has_run_is_there_for_its_workers_and_nothing_else() {
    if is_without_php() {
        return;
    }
    let warm = "<?php define('SET', 1); chdir('/'); ini_set('precision', 3); echo $_SERVER['DOCUMENT_ROOT'] === __DIR__ ? 'root' : 'none';
                error_log($_SERVER['REQUEST_URI']); include 'part.php';";
    let text = "<?php echo count(array_filter(opcache_get_status()['scripts'], fn($s) => str_ends_with($s['full_path'], 'part.php'))), \
                (int) defined('SET'), ini_get('precision'), (int) (getcwd() === __DIR__);";
    let site = Site::new(&[
        ("warm.php", warm),
        ("part.php", "<?php return 1;"),
        ("a.php", text),
        ("bad.php", "<?php no();"),
    ]);
    let said = site.drive_after("warm @ @/warm.php\nwarm @ @/bad.php\n", "get @/a.php");
    assert!(said.contains("warmed\n") && said.contains("not warmed\n"), "{said}");
    // Its output goes nowhere, what it logs does not.
    assert!(said.contains("log 5 (no request) /warm.php") && !said.contains("root"), "{said}");
    assert!(said.contains("body 1 1\nbody 1 0\nbody 2 14\nbody 1 1\n"), "{said}");
}

#[test]
fn a_connection_that_the_parent_has_opened_is_no_worker_s() {
    if is_without_php() {
        return;
    }
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let text = format!("<?php $s = pfsockopen('127.0.0.1', {port}); fwrite($s, 'x');");
    let site = Site::new(&[("warm.php", &*text), ("a.php", &*text)]);
    let said = site.drive_after("warm @ @/warm.php\n", "get @/a.php\nget @/a.php");
    assert!(said.contains("warmed\n") && said.matches("\nend\n").count() == 2, "{said}");
    // The parent's, and the worker's for both of its requests; each ends by itself.
    for expected in ["x", "xx"] {
        let mut heard = String::new();
        std::io::Read::read_to_string(&mut server.accept().unwrap().0, &mut heard).unwrap();
        assert_eq!(heard, expected);
    }
    server.set_nonblocking(true).unwrap();
    assert!(server.accept().is_err(), "there was one more connection");
}

#[test]
fn a_library_of_another_version_is_refused() {
    if is_without_php() {
        return;
    }
    // The same program, built for a version that there is not.
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("load.c"), folder.path().join("drive"));
    let text = std::fs::read_to_string("sapi/load.c").unwrap();
    let other = "#undef PHP_MINOR_VERSION\n#define PHP_MINOR_VERSION 999\n#undef PHP_VERSION\n#define PHP_VERSION \"8.999.0\"\n";
    let (before, after) = text.split_once("const hp_setup *hp_configured;").unwrap();
    std::fs::write(&source, format!("{before}{other}const hp_setup *hp_configured;{after}")).unwrap();
    let built = Command::new("cc")
        .args(["-fPIC", "-I", "sapi"])
        .args(env!("PHP_INCLUDES").split_whitespace())
        .args([Path::new("tests/drive.c"), &source])
        .arg("-o")
        .arg(&program)
        .arg(Path::new(PARTS).join("libhostler_php_sapi.a"))
        .arg(Path::new(PARTS).join("libhostler_php_names.so"))
        .status();
    assert!(built.unwrap().success(), "drive.c is not built");
    let mut child = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"fork\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(said.contains("the library is PHP 8.") && said.contains("was built for 8.999.0"), "{said}");
}

#[test]
fn a_setting_that_makes_no_sense_is_told_of_and_ends_nothing() {
    if is_without_php() {
        return;
    }
    let site = Site::new(&[(
        "a.php",
        "<?php echo ini_get('session.save_handler'), ini_get('display_errors'), 'x';",
    )]);
    let said =
        site.drive("value session.save_handler user\nvalue display_errors 1\nget @/a.php\nget @/a.php");
    assert_eq!(bodies(&said), ["files1x", "files1x"], "{said}");
    assert_eq!(said.matches("head 200").count(), 2, "{said}");
    assert!(
        said.contains("log 3 ") && said.contains("Session save handler \"user\" cannot be set"),
        "{said}"
    );
}

#[test]
fn after_a_fatal_error_nothing_is_asked_of_the_cache() {
    if is_without_php() {
        return;
    }
    let text = "<?php ini_set('memory_limit', '4M'); $a = str_repeat('x', 1 << 24);";
    let site = Site::new(&[("a.php", text), ("b.php", "<?php echo 1;")]);
    let said = site.drive("cache\nget @/a.php\nget @/b.php");
    assert!(said.contains("Allowed memory size") && !said.contains("execute method"), "{said}");
    assert_eq!(said.matches("cache used scripts\n").count(), 1, "{said}");
}
