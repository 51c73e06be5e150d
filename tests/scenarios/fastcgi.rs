//! FastCGI programs, started by the server and at sockets of others, as badly as they behave: each gets a clear answer with
//! its cause, and hurts nobody else. (What well-behaved ones are told and may say is compared with Apache in
//! `conformance/`.)

use hostler_tests::{SITE_UID, Server, Site, await_that, hostler, is_root, needs_program, needs_root};
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

/// FastCGI in Perl.
macro_rules! needs_fcgi {
    () => {
        needs_program!("/usr/bin/perl");
        if !Command::new("/usr/bin/perl")
            .args(["-MFCGI", "-e1"])
            .status()
            .is_ok_and(|status| status.success())
        {
            return hostler_tests::untested("it takes FCGI.pm (libfcgi-perl)");
        }
    };
}

/// Tells its process, and how manieth request it serves; does what the query says.
const PROGRAM: &str = r#"#!/usr/bin/perl
use FCGI;
my $count = 0;
my $request = FCGI::Request();
while ($request->Accept() >= 0) {
    my $query = $ENV{QUERY_STRING} // "";
    my $body = do { local $/; <STDIN> };
    kill 11, $$ and sleep 9 if $query eq "crash";
    print STDERR "before the end\n" and exit 3 if $query eq "exit";
    if ($query eq "hang") { 1 while 1 }
    select undef, undef, undef, 0.5 if $query eq "slow";
    print "Content-Type: text/plain\r\n\r\n$$ ", ++$count, " $>";
}
"#;

fn managed(more: &str) -> Server {
    managed_with(PROGRAM, more)
}

fn managed_with(program: &str, more: &str) -> Server {
    Site::new().script("htdocs/a.fcgi", program).config(&fcgid(more)).start()
}

fn fcgid(more: &str) -> String {
    let directory = "<Directory \"@ROOT@/htdocs\">\nOptions +ExecCGI\nAddHandler fcgid-script .fcgi\nAllowOverride All\n</Directory>";
    format!("{directory}\n{more}")
}

/// Process and count.
fn told(server: &Server) -> (u32, u32) {
    let answer = server.get("/a.fcgi");
    assert_eq!(answer.status, 200, "{}", server.error_log());
    let text = answer.text();
    let mut words = text.split(' ').map(|word| word.parse().expect("a number"));
    (words.next().expect("a process"), words.next().expect("a count"))
}

fn runs(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}/cmdline")).exists()
}

#[test]
fn one_process_serves_request_after_request_as_the_site_s_user() {
    needs_fcgi!();
    let server = managed("");
    let (pid, first) = told(&server);
    assert_eq!(first, 1);
    assert_eq!(
        (2..9).map(|_| told(&server)).collect::<Vec<_>>(),
        (2..9).map(|n| (pid, n)).collect::<Vec<_>>()
    );
    if is_root() {
        assert!(server.get("/a.fcgi").text().ends_with(&format!(" {SITE_UID}")));
    }
    drop(server);
    await_that("ended with the server", || !runs(pid));
}

#[test]
fn requests_at_the_same_time_have_a_process_each_as_far_as_it_is_allowed() {
    needs_fcgi!();
    let server = managed("FcgidMaxProcessesPerClass 2");
    let pids: Vec<String> = thread::scope(|scope| {
        let asked: Vec<_> = (0..6).map(|_| scope.spawn(|| server.get("/a.fcgi?slow").text())).collect();
        asked.into_iter().map(|asked| asked.join().expect("an answer")).collect()
    });
    let pids: BTreeSet<_> = pids.iter().filter_map(|text| text.split(' ').next()).collect();
    assert_eq!(pids.len(), 2, "{pids:?}");
}

#[test]
fn a_request_waits_for_no_process_that_still_boots_while_another_is_free() {
    needs_fcgi!();
    // The second process does not begin before there is a file; a request that holds its process waits for another file.
    let program = r#"#!/usr/bin/perl
use FCGI;
my ($root) = $0 =~ m{(.*)/htdocs/}; $root .= "/state";
open my $starts, ">>", "$root/starts"; syswrite $starts, "x";
if (-s "$root/starts" > 1) { select undef, undef, undef, 0.02 until -e "$root/boot" }
my $request = FCGI::Request();
while ($request->Accept() >= 0) {
    if ($ENV{QUERY_STRING} eq "hold") {
        open my $held, ">", "$root/held";
        select undef, undef, undef, 0.02 until -e "$root/release";
    }
    print "Content-Type: text/plain\r\n\r\n$$";
}
"#;
    let site = Site::new().script("htdocs/a.fcgi", program).dir("state").mode("state", 0o777);
    let server = site.config(&fcgid("")).start();
    let there =
        |name: &str| fs::metadata(server.site().path(&format!("state/{name}"))).map_or(0, |file| file.len());
    let (holder, waiter) = thread::scope(|scope| {
        let holder = scope.spawn(|| server.get("/a.fcgi?hold").text());
        await_that("the first process is busy", || server.site().path("state/held").exists());
        let waiter = scope.spawn(|| server.get("/a.fcgi").text());
        await_that("a second process boots", || there("starts") == 2);
        fs::write(server.site().path("state/release"), "").expect("a file");
        (holder.join().expect("an answer"), waiter.join().expect("an answer"))
    });
    assert_eq!(holder, waiter);
    fs::write(server.site().path("state/boot"), "").expect("a file");
    assert_eq!(server.get("/a.fcgi").status, 200);
}

#[test]
fn a_process_that_dies_costs_one_request_which_says_how() {
    needs_fcgi!();
    let server = managed("");
    let (pid, _) = told(&server);
    assert_eq!(server.get("/a.fcgi?crash").status, 500);
    let line = server.await_error("signal 11");
    assert!(line.contains("/a.fcgi"), "{line}");
    let (other, count) = told(&server);
    assert!(other != pid && count == 1);
    assert_eq!(server.get("/a.fcgi?exit").status, 500);
    let _ = server.await_error("before the end");
    let _ = server.await_error("status 3");
    assert_eq!(told(&server).1, 1);
}

#[test]
fn one_that_cannot_begin_says_why_and_is_not_started_in_a_circle() {
    let server = managed_with(
        "#!/bin/sh\necho 'no library' >&2\necho x >> \"$(dirname \"$0\")/../starts\"\nexit 7\n",
        "",
    );
    assert_eq!(server.get("/a.fcgi").status / 100, 5);
    let _ = server.await_error("no library");
    for _ in 0..4 {
        assert_eq!(server.get("/a.fcgi").status / 100, 5);
    }
    let missing = managed_with("#!/no/such/interpreter\n", "");
    assert_eq!(missing.get("/a.fcgi").status, 500);
    let _ = missing.await_error("/no/such/interpreter");
}

#[test]
fn processes_have_their_number_of_requests_and_their_time() {
    needs_fcgi!();
    let server = managed("FcgidMaxRequestsPerProcess 3");
    let counts: Vec<u32> = (0..7).map(|_| told(&server).1).collect();
    assert_eq!(counts, [1, 2, 3, 1, 2, 3, 1]);
    let server = managed("FcgidIdleTimeout 1\nFcgidMinProcessesPerClass 0");
    let (pid, _) = told(&server);
    await_that("ended when idle", || !runs(pid));
    assert_eq!(told(&server).1, 1);
    let server = managed("FcgidBusyTimeout 1\nFcgidIOTimeout 20");
    assert_eq!(server.get("/a.fcgi?hang").status, 500);
    let _ = server.await_error("at one request for too long");
    let server = managed("FcgidIOTimeout 1");
    assert_eq!(server.get("/a.fcgi?hang").status, 504);
    let _ = server.await_error("neither read nor wrote");
    assert_eq!(told(&server).1, 1);
}

#[test]
fn a_script_that_is_replaced_is_run_by_new_processes() {
    needs_fcgi!();
    let server = managed("");
    let (pid, _) = told(&server);
    let (path, new) = (server.site().path("htdocs/a.fcgi"), server.site().path("htdocs/new"));
    fs::write(&new, PROGRAM.replace("++$count", "100 + ++$count")).expect("a file");
    fs::set_permissions(&new, Permissions::from_mode(0o755)).expect("a mode");
    fs::rename(&new, &path).expect("in its place");
    await_that("the new one", || told(&server).1 > 100);
    assert!(told(&server).0 != pid);
}

#[test]
fn a_program_that_ends_by_itself_after_some_requests_costs_none() {
    needs_fcgi!();
    let ends = PROGRAM.replace(" $>\";\n", " $>\";\n    last if $count == 2;\n");
    assert!(ends.contains("last if"));
    let server = managed_with(&ends, "");
    let counts: Vec<u32> = (0..30).map(|_| told(&server).1).collect();
    assert!(
        counts.contains(&1) && counts.contains(&2) && counts.iter().all(|count| *count <= 2),
        "{counts:?}"
    );
}

/// Closes its connection after each answer, whatever it is asked to.
const CLOSES: &str = r#"#!/usr/bin/perl
use Socket;
my $count = 0;
while (accept(my $socket, \*STDIN)) {
    my $got = "";
    while ($got !~ /\x01\x05\0\x01\0\0/) { sysread($socket, $got, 65536, length $got) or last }
    my $page = "Content-Type: text/plain\r\n\r\n$$ " . ++$count . " $>";
    syswrite $socket, pack("CCnnCx", 1, 6, 1, length $page, 0) . $page . pack("CCnnCx Nx4", 1, 3, 1, 8, 0, 0);
    close $socket;
}
"#;

#[test]
fn a_program_that_keeps_no_connection_keeps_its_place() {
    needs_program!("/usr/bin/perl");
    let server = managed_with(CLOSES, "");
    // A request that comes before the server has seen that may have another process; none is started for each.
    let pids: BTreeSet<u32> = (0..30).map(|_| told(&server).0).collect();
    assert!(pids.len() < 15, "{pids:?}");
}

/// A program in C, as libfcgi's users write them.
const IN_C: &str = r#"
#include <fcgi_stdio.h>
#include <unistd.h>
int main(void) {
    int count = 0;
    while (FCGI_Accept() >= 0)
        printf("Content-Type: text/plain\r\n\r\n%d %d %d", (int)getpid(), ++count, (int)geteuid());
    return 0;
}
"#;

#[test]
fn a_program_in_c_is_served_too() {
    needs_program!("/usr/include/fcgiapp.h");
    let site = Site::new().file("a.c", IN_C).dir("htdocs").config(&fcgid(""));
    let (source, program) = (site.path("a.c"), site.path("htdocs/a.fcgi"));
    let compiled = Command::new("cc").arg("-o").arg(program).arg(source).arg("-lfcgi").status();
    assert!(compiled.is_ok_and(|status| status.success()));
    let server = site.start();
    let (pid, _) = told(&server);
    assert_eq!(told(&server), (pid, 2));
}

/// A socket in the site that everybody may connect to.
fn listen(site: &Site, name: &str) -> UnixListener {
    let path = site.path(name);
    let listener = UnixListener::bind(&path).expect("a socket");
    fs::set_permissions(&path, Permissions::from_mode(0o777)).expect("a mode");
    listener
}

fn handed(site: Site, name: &str) -> Site {
    let config = format!(
        "Timeout 1\n<Location /x>\nSetHandler \"proxy:unix:@ROOT@/{name}|fcgi://localhost\"\n</Location>"
    );
    site.file("htdocs/x", "not to be sent").config(&config)
}

#[test]
fn one_that_accepts_and_never_answers_is_not_waited_for_for_ever() {
    let site = handed(Site::new(), "silent");
    let listener = listen(&site, "silent");
    let server = site.start();
    let kept = thread::spawn(move || listener.incoming().take(1).collect::<Vec<_>>());
    assert_eq!(server.get("/x").status, 504);
    let _ = server.await_error("neither read nor wrote");
    drop(kept.join());
}

#[test]
fn an_answer_that_breaks_off_is_not_made_to_look_complete() {
    let site = handed(Site::new(), "broken");
    let listener = listen(&site, "broken");
    let server = site.start();
    let said = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut page = b"Content-Type: text/plain\r\n\r\n".to_vec();
        page.resize(60_000, b'x');
        let head = [1, 6, 0, 1, (page.len() >> 8) as u8, page.len() as u8, 0, 0];
        answer(&mut stream, &[&head[..], &page, &head, &page].concat());
    });
    let answer = server.get("/x");
    assert!(answer.status != 200 || answer.truncated, "{answer:?}");
    said.join().expect("it has been asked");
    let _ = server.await_error("closed the connection");
}

/// Reads a request to its end, says something, and closes.
fn answer(stream: &mut UnixStream, said: &[u8]) {
    let (mut got, mut space) = (Vec::new(), [0; 4096]);
    let end = [1, 5, 0, 1, 0, 0];
    while !got.windows(end.len()).any(|window| window == end) {
        match stream.read(&mut space) {
            Ok(read @ 1..) => got.extend_from_slice(&space[..read]),
            _ => break,
        }
    }
    let _ = stream.write_all(said);
}

#[test]
fn each_byte_of_an_answer_may_be_the_last_one() {
    let site = handed(Site::new(), "cut");
    let listener = listen(&site, "cut");
    let server = site.start();
    let page = b"Content-Type: text/plain\r\n\r\nhello";
    let head = [1, 6, 0, 1, 0, page.len() as u8, 0, 0];
    let whole = [&head[..], page, &[1, 3, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
    let said = whole.clone();
    let backend = thread::spawn(move || {
        for length in 0..=said.len() {
            let (mut stream, _) = listener.accept().expect("a connection");
            answer(&mut stream, &said[..length]);
        }
    });
    for length in 0..=whole.len() {
        let answer = server.get("/x");
        let is_whole = answer.status == 200 && !answer.truncated && answer.text() == "hello";
        assert_eq!(is_whole, length == whole.len(), "{length}: {answer:?}");
    }
    backend.join().expect("all were asked");
}

#[test]
fn an_access_file_reaches_no_address_that_is_not_allowed() {
    let access = "SetHandler \"proxy:fcgi://127.0.0.1:1\"\n";
    let site = Site::new().file("htdocs/a/.htaccess", access).file("htdocs/a/x", "not to be sent");
    let site = site.file("htdocs/b/.htaccess", access).file("htdocs/b/x", "not to be sent");
    let site = site.config(
        "<Directory \"@ROOT@/htdocs\">\nAllowOverride All\n</Directory>\n<Directory \"@ROOT@/htdocs/b\">\n\
         HostlerProxyAllow 127.0.0.1:1\n</Directory>",
    );
    let server = site.start();
    assert_eq!(server.get("/a/x").status, 403);
    let _ = server.await_error("HostlerProxyAllow 127.0.0.1:1");
    // It may be reached, and nobody is there.
    assert_eq!(server.get("/b/x").status, 503);
}

#[test]
fn a_socket_is_connected_to_as_the_site_s_user() {
    needs_root!();
    let site = handed(Site::new(), "closed");
    let _listener = listen(&site, "closed");
    fs::set_permissions(site.path("closed"), Permissions::from_mode(0o600)).expect("a mode");
    let server = site.start();
    assert_eq!(server.get("/x").status, 503);
    let line = server.await_error("may not write to it");
    assert!(line.contains(&format!("uid {SITE_UID}")), "{line}");
}

/// php-fpm as Debian packages it, unpacked by `setup.sh`.
fn packaged(name: &str) -> Option<PathBuf> {
    let oracle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/oracle/php8.2-fpm").join(name);
    oracle.exists().then_some(oracle)
}

/// Ends it when dropped.
struct Fpm(Child);

impl Drop for Fpm {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn debian_s_configuration_of_php_fpm_works_and_leaks_nothing_when_it_is_down() {
    let parts = packaged("usr/sbin/php-fpm8.2").zip(packaged("etc/apache2/conf-available/php8.2-fpm.conf"));
    let Some((program, packaged)) = parts else {
        return hostler_tests::untested("it takes Debian's php8.2-fpm, unpacked (./setup.sh test)");
    };
    let socket = "@ROOT@/run/fpm.sock";
    let conf = fs::read_to_string(packaged).expect("a configuration");
    assert!(conf.contains("/run/php/php8.2-fpm.sock"), "{conf}");
    let site = Site::new().dir("run").mode("run", 0o777);
    let site = site.config(&conf.replace("/run/php/php8.2-fpm.sock", socket));
    let site = site.file(
        "htdocs/a.php",
        "<?php header('X-Own: b'); echo PHP_SAPI, ' ', $_SERVER['SCRIPT_FILENAME'], ' ', $_SERVER['PATH_INFO'] ?? '-', ' ', \
         $_POST['a'] ?? '-', ' ', $_SERVER['HTTP_AUTHORIZATION'] ?? '-';",
    );
    let site = site.file("htdocs/.php", "<?php echo 'no';").file("htdocs/a.phps", "<?php echo 'no';");
    let pool = site.path("fpm.conf");
    let user = if is_root() { "user = www-data\ngroup = www-data\nlisten.mode = 0666\n" } else { "" };
    let text = format!(
        "[global]\nerror_log = {root}/run/fpm.log\ndaemonize = no\n[www]\n{user}listen = {root}/run/fpm.sock\npm = static\n\
         pm.max_children = 2\n",
        root = site.root().display()
    );
    fs::write(&pool, text).expect("a configuration");
    let server = site.start();
    let root = server.site().root().display().to_string();
    assert_eq!(server.get("/a.php").status, 503);
    assert!(!server.get("/a.php").text().contains("PHP_SAPI"));
    let fpm = Command::new(program).args(["-n", "-F", "-y"]).arg(pool).stderr(Stdio::null()).spawn();
    let _fpm = Fpm(fpm.expect("php-fpm"));
    await_that("php-fpm listens", || server.get("/a.php").status == 200);
    let answer = server.get_with("/a.php/more", "Host: a\r\nAuthorization: Basic YTpi\r\n");
    assert_eq!(answer.text(), format!("fpm-fcgi {root}/htdocs/a.php /more - Basic YTpi"));
    assert_eq!(answer.field("X-Own"), Some("b"));
    let form = "POST /a.php HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n";
    let posted = server.request(format!("{form}Content-Length: 3\r\n\r\na=1").as_bytes()).text();
    assert!(posted.ends_with(" - 1 -"), "{posted}");
    let chunked = format!("{form}Transfer-Encoding: chunked\r\n\r\n3\r\na=2\r\n0\r\n\r\n");
    assert!(server.request(chunked.as_bytes()).text().ends_with(" - 2 -"));
    assert_eq!((server.get("/.php").status, server.get("/a.phps").status), (403, 403));
    // More at the same time than php-fpm has children.
    thread::scope(|scope| {
        let asked: Vec<_> = (0..12).map(|_| scope.spawn(|| server.get("/a.php").status)).collect();
        asked.into_iter().for_each(|asked| assert_eq!(asked.join().expect("an answer"), 200));
    });
}

#[test]
fn check_knows_the_handlers() {
    let site = Site::new()
        .config(&fcgid("<Location /x>\nSetHandler \"proxy:unix:/run/x|fcgi://localhost\"\n</Location>"));
    let file = site.write_config(8080);
    let output = Command::new(hostler()).arg("check").arg("-f").arg(file).output().expect("hostler check");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let file = site.path("httpd.conf");
    let explained =
        Command::new(hostler()).arg("explain").arg("-f").arg(file).arg("http://localhost:8080/x").output();
    let told = String::from_utf8_lossy(&explained.expect("hostler explain").stdout).into_owned();
    assert!(told.contains("the program at unix:/run/x|fcgi://localhost"), "{told}");
}

#[test]
fn words_of_mod_fastcgi_mean_the_same() {
    needs_fcgi!();
    let guard = "#!/usr/bin/perl\nuse FCGI;\nmy %env;\nmy $r = FCGI::Request(\\*STDIN, \\*STDOUT, \\*STDERR, \\%env);\n\
                 while ($r->Accept() >= 0) { print $env{QUERY_STRING} eq 'in' ? '' : \"Status: 403\\r\\n\", \
                 \"Content-Type: text/plain\\r\\n\\r\\n\" }\n";
    let site = Site::new().script("htdocs/a.fcgi", PROGRAM).script("bin/guard", guard);
    let site = site.file("htdocs/guarded/a.txt", "a").config(
        "FastCgiIpcDir /var/run/fastcgi\nFastCgiWrapper On\nFastCgiConfig -idle-timeout 20 -singleThreshold 1\n\
         FastCgiServer \"@ROOT@/htdocs/a.fcgi\" -processes 1 -initial-env A=b\n\
         FastCgiExternalServer \"@ROOT@/htdocs/there\" -socket @ROOT@/there.sock -idle-timeout 5\n\
         ScriptAlias /by-alias \"@ROOT@/htdocs/a.fcgi\"\n\
         Alias /outside/ \"@ROOT@/htdocs/there/\"\n\
         <Directory \"@ROOT@/htdocs/guarded\">\nFastCgiAccessChecker \"@ROOT@/bin/guard\"\n</Directory>",
    );
    let listener = UnixListener::bind(site.path("there.sock")).expect("a socket");
    fs::set_permissions(site.path("there.sock"), Permissions::from_mode(0o777)).expect("for all");
    let server = site.start();
    let (one, two) = (told(&server), told(&server));
    assert_eq!((one.0, one.1 + 1), two, "one process serves both");
    let aliased = server.get("/by-alias/more").text();
    assert!(aliased.starts_with(&format!("{} {} ", two.0, two.1 + 1)), "the same one: {aliased}");
    let said = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let page = b"Content-Type: text/plain\r\n\r\nthere";
        let head = [1, 6, 0, 1, 0, page.len() as u8, 0, 0];
        answer(&mut stream, &[&head[..], page, &[1, 3, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat());
    });
    let there = server.get("/outside/a/b");
    assert_eq!((there.status, &*there.text()), (200, "there"), "{}", server.error_log());
    said.join().expect("it was asked");
    assert_eq!(server.get("/guarded/a.txt").status, 401);
    assert_eq!(server.get("/guarded/a.txt?in").status, 200, "{}", server.error_log());
}

/// Speaks FastCGI itself, for FCGI.pm has no word for the role: tells what it was asked to be, and what it got.
const FILTERS: &str = r#"#!/usr/bin/perl
use strict; use warnings; use Socket;
open my $listener, '+<&=', 0 or die;
sub take { my ($from, $n) = @_; my $all = ''; while (length $all < $n) { sysread($from, $all, $n - length $all, length $all) or return } $all }
sub record { my ($type, $content) = @_; pack('CCnnCC', 1, $type, 1, length $content, 0, 0) . $content }
while (accept my $client, $listener) {
    my ($role, %got, %ended);
    while (defined(my $head = take($client, 8))) {
        my (undef, $type, undef, $length, $padding) = unpack 'CCnnC', $head;
        my $content = $length ? take($client, $length) : '';
        take($client, $padding) if $padding;
        $role = unpack 'n', $content if $type == 1;
        $got{$type} .= $content; $ended{$type} = 1 unless $length;
        next unless $ended{5} && ($role != 3 || $ended{8});
        my ($told) = $got{4} =~ /FCGI_DATA_LENGTH(\d+)/ ? $1 : 'nothing';
        my ($body, $file) = ($got{5} // '', $got{8} // '');
        my $answer = "Content-Type: text/plain\r\n\r\nrole $role, body $body, " . length($file) . " of $told: " . uc substr $file, 0, 20;
        syswrite $client, record(6, $answer) . record(6, '') . record(3, "\0" x 8);
        %got = %ended = ();
    }
}
"#;

#[test]
fn a_program_filters_files() {
    needs_program!("/usr/bin/perl");
    let large = "x".repeat(300_000);
    let config = "<Directory \"@ROOT@/htdocs\">\nOptions +ExecCGI\nAddHandler fcgid-filter .txt .tpl\n\
                  FcgidWrapper @ROOT@/bin/filter .txt\n</Directory>";
    let site = Site::new()
        .script("bin/filter", FILTERS)
        .file("htdocs/a.txt", "hello\n")
        .file("htdocs/b.txt", &large);
    let server = site.file("htdocs/a.tpl", "nobody's").config(config).start();
    assert_eq!(server.get("/a.txt").text(), "role 3, body , 6 of 6: HELLO\n");
    assert_eq!(server.get("/b.txt").text(), format!("role 3, body , 300000 of 300000: {}", "X".repeat(20)));
    let posted = server
        .request(b"POST /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nasked");
    assert_eq!(posted.text(), "role 3, body asked, 6 of 6: HELLO\n");
    // What is not there is not filtered, and neither is what no program is named for.
    assert_eq!(server.get("/c.txt").status, 404);
    assert_eq!(server.get("/a.tpl").status, 500);
}
