//! Access logs and error logs: what is in them, where they go, and that nothing about them fails a request.

use hostler_tests::{Server, Site, await_that, needs_program, until};
use rustix::process::Signal;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Waits until a log has at least so many lines, and returns them, sorted: each thread of the front writes its own, and
/// those of requests one after the other may change places.
pub(crate) fn await_lines(server: &Server, log: &str, count: usize) -> String {
    let text = until("the log's lines", || {
        let text = fs::read_to_string(server.site().path(log)).unwrap_or_default();
        (text.lines().count() >= count).then_some(text)
    });
    let mut lines: Vec<_> = text.split_inclusive('\n').collect();
    lines.sort_unstable();
    lines.concat()
}

#[test]
fn every_virtual_host_has_its_own_logs() {
    let config = "
        <VirtualHost *>
            ServerName one.test
            CustomLog logs/one.log \"%v %U\"
            ErrorLog logs/one.error
        </VirtualHost>
        <VirtualHost *>
            ServerName two.test
            CustomLog logs/two.log \"%v %U\"
        </VirtualHost>
        <Location /denied>
            Require all denied
        </Location>";
    let server = Site::new().config(config).file("htdocs/a", "a").start();
    for (host, path) in
        [("one.test", "/a"), ("two.test", "/a"), ("one.test", "/denied"), ("two.test", "/denied")]
    {
        let _ = server.get_with(path, &format!("Host: {host}\r\n"));
    }
    assert_eq!(await_lines(&server, "logs/one.log", 2), "one.test /a\none.test /denied\n");
    assert_eq!(await_lines(&server, "logs/two.log", 2), "two.test /a\ntwo.test /denied\n");
    let own = fs::read_to_string(server.site().path("logs/one.error")).unwrap();
    assert_eq!(own.matches("client denied").count(), 1, "{own}");
    assert_eq!(server.error_log().matches("client denied").count(), 1, "the other host has none of its own");
    assert_eq!(server.access_log(), "", "CustomLog of a virtual host takes the place of the server's");
}

#[test]
fn a_start_and_a_reload_have_apache_s_lines() {
    let server = Site::new().config("LogLevel error").start();
    let resumes = "[mpm_event:notice] [pid ";
    let first = server.await_error("AH00489: Hostler");
    assert!(
        first.contains(resumes) && first.ends_with(" configured -- resuming normal operations"),
        "{first}"
    );
    assert!(!server.error_log().contains("AH00493"), "{}", server.error_log());
    server.signal(Signal::USR1);
    let _ = server.await_error("AH00493: SIGUSR1 received.  Doing graceful restart");
    await_that("the second generation's line", || server.error_log().matches("AH00489").count() == 2);
}

#[test]
fn one_id_leads_from_the_page_to_both_logs() {
    let config = "
        CustomLog logs/ids.log \"%>s %L\"
        <Directory @ROOT@/htdocs>
            Options +ExecCGI
            AddHandler cgi-script .cgi
        </Directory>";
    let broken = "#!/bin/sh\necho complaint >&2\necho 'no header'\n";
    let server = Site::new().config(config).script("htdocs/broken.cgi", broken).file("htdocs/a", "a").start();
    let page = server.get("/broken.cgi");
    assert_eq!(page.status, 500);
    let text = page.text();
    let id =
        text.split("<code>").nth(1).and_then(|rest| rest.split("</code>").next()).expect("an id on the page");
    assert!(server.await_error("no header").contains(&format!("[id {id}]")), "{}", server.error_log());
    let complaint = server.await_error("stderr from ");
    assert!(complaint.contains("htdocs/broken.cgi: complaint"), "{complaint}");
    assert!(complaint.ends_with(&format!("[id {id}]")), "{complaint}");
    assert_eq!(server.get("/a").status, 200);
    assert_eq!(await_lines(&server, "logs/ids.log", 2), format!("200 -\n500 {id}\n"));
}

#[test]
fn what_a_client_sends_stays_on_its_line() {
    let config =
        "CustomLog logs/agents.log \"%{User-Agent}i\"\n<Location /denied>\nRequire all denied\n</Location>";
    let server = Site::new().config(config).start();
    let _ = server.get_with("/%0a[forged]", "Host: localhost\r\nUser-Agent: a\"b\\\u{e4}\r\n");
    let _ =
        server.get_with("/denied", "Host: localhost\r\nReferer: http://evil/\u{e4}\\\r\nUser-Agent: -\r\n");
    assert_eq!(await_lines(&server, "logs/agents.log", 2), "-\na\\\"b\\\\\\xc3\\xa4\n");
    let denied = server.await_error("client denied");
    assert!(denied.ends_with(", referer: http://evil/\\xc3\\xa4\\\\"), "{denied}");
    assert!(server.error_log().lines().all(|line| line.starts_with('[') && line.contains(" [pid ")));
}

#[test]
fn log_level_is_by_module_and_place() {
    let config = "
        LogLevel warn authz_core:crit
        <Location /told>
            LogLevel authz_core:error core:info
            Require all denied
        </Location>
        <Location /quiet>
            Require all denied
        </Location>";
    let server = Site::new().config(config).start();
    assert_eq!(server.get("/quiet").status, 403);
    assert_eq!(server.get("/told/x").status, 403);
    let told = server.await_error("client denied");
    assert!(told.contains("[authz_core:error]") && told.contains("/told"), "{told}");
    assert!(!server.error_log().contains("quiet"), "{}", server.error_log());
}

#[test]
fn the_layout_of_the_error_log_is_configurable() {
    let config = "
        ErrorLogFormat \"<%l> %m [%{X-Id}i] %-{X-None}i id=%L %M\"
        <Location /denied>
            Require all denied
        </Location>";
    let server = Site::new().config(config).start();
    let _ = server.get_with("/denied", "Host: localhost\r\nX-Id: 7\r\n");
    let line = server.await_error("client denied");
    let expected =
        format!("client denied by server configuration: {}", server.site().path("htdocs/denied").display());
    assert!(line.starts_with("<error> authz_core [7] - id=") && line.ends_with(&expected), "{line}");
    assert!(!line.contains("[id "), "the id is there once: {line}");
}

#[test]
fn lines_of_many_connections_at_once_stay_whole() {
    const CLIENTS: usize = 12;
    const REQUESTS: usize = 150;
    let server = Site::new().config("CustomLog logs/load.log \"<%U %q>\"").file("htdocs/a", "a").start();
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let server = &server;
            scope.spawn(move || {
                let mut connection = server.connect();
                for number in 0..REQUESTS {
                    connection.send(format!(
                        "GET /a?{client}.{number}.{} HTTP/1.1\r\nHost: l\r\n\r\n",
                        "x".repeat(200)
                    ));
                    // MaxKeepAliveRequests closes some connections.
                    if connection.response().field("Connection") == Some("close") {
                        connection = server.connect();
                    }
                }
            });
        }
    });
    let log = await_lines(&server, "logs/load.log", CLIENTS * REQUESTS);
    let mut seen: Vec<&str> = log.lines().collect();
    assert!(seen.iter().all(|line| line.starts_with("</a ?") && line.ends_with("x>")), "a line is not whole");
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), CLIENTS * REQUESTS);
}

#[test]
fn a_program_takes_the_lines_of_a_piped_log() {
    let config =
        "CustomLog \"|$while read line; do echo \\\"got $line\\\" >> @ROOT@/piped/log; done\" \"%U %>s\"";
    let server = Site::new().config(config).dir("piped").mode("piped", 0o777).file("htdocs/a", "a").start();
    assert_eq!(server.get("/a").status, 200);
    assert_eq!(server.get("/b").status, 404);
    assert_eq!(await_lines(&server, "piped/log", 2), "got /a 200\ngot /b 404\n");
}

#[test]
fn a_log_that_takes_no_lines_fails_no_request() {
    let server = Site::new().config("CustomLog \"|/bin/true\" \"%U\"").file("htdocs/a", "a").start();
    // Time: nothing tells that the program has ended; where it has not yet, less is tested.
    thread::sleep(Duration::from_millis(100));
    for _ in 0..3 {
        assert_eq!(server.get("/a").text(), "a");
    }
    await_that("the program's end", || server.console().contains("the log program |/bin/true ended"));
    assert!(server.console().contains("(exit status: 0); it is started again in"), "{}", server.console());
}

#[test]
fn a_log_program_that_reads_nothing_is_told_once() {
    let long = "x".repeat(40_000);
    let config = format!("CustomLog \"|$sleep 20\" \"%U {long}\"");
    let server = Site::new().config(&config).file("htdocs/a", "a").start();
    for _ in 0..40 {
        assert_eq!(server.get("/a").text(), "a");
    }
    let told = server.await_error("can't write to |$sleep 20");
    assert!(told.contains("[core:error]"), "{told}");
    assert_eq!(server.error_log().matches("can't write").count(), 1, "once, not for every request");
}

/// A small file system at this place, for as long as the value lives.
struct Small(std::path::PathBuf);

impl Small {
    fn mount(place: std::path::PathBuf) -> Option<Self> {
        let mount = |args: &[&str]| Command::new("mount").args(args).arg(&place).status();
        let mounted = mount(&["-t", "tmpfs", "-o", "size=64k,mode=755", "none"]);
        mounted.is_ok_and(|status| status.success()).then_some(Self(place))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn lines_that_a_full_disk_could_not_take_are_counted_in_the_log() {
    hostler_tests::needs_root!();
    let long = "x".repeat(1000);
    let site = Site::new().dir("small").file("htdocs/a", "a");
    let Some(_small) = Small::mount(site.path("small")) else {
        hostler_tests::untested("no file system can be mounted here");
        return;
    };
    let config = format!(
        "CustomLog small/access.log \"%U {long}\"\nErrorLog small/error.log\nLogLevel info\n\
         <Location /denied>\nRequire all denied\n</Location>"
    );
    let server = site.config(&config).start();
    let filler = server.site().path("small/filler");
    let read = |name: &str| fs::read_to_string(server.site().path(name)).unwrap_or_default();
    // To its last byte: what is written after it finds no room.
    let _ = fs::write(&filler, vec![b'x'; 1 << 20]);
    let (lines, errors) = (20, 3);
    let before = read("small/access.log").lines().count();
    for _ in 0..lines {
        assert_eq!(server.get("/a").text(), "a");
    }
    for _ in 0..errors {
        assert_eq!(server.get("/denied").status, 403);
    }
    fs::remove_file(&filler).expect("it is there");
    await_that("the error log's own losses are counted", || {
        read("small/error.log").contains("error.log were lost: ")
    });
    // An access log has to take a line first.
    assert_eq!(server.get("/a").text(), "a");
    await_that("those of the access log, too", || read("small/error.log").contains("access.log were lost: "));
    let count = |name: &str| {
        let log = read("small/error.log");
        let told = log.lines().filter_map(|line| line.split_once(name)?.1.split_once(" (")).map(|(n, _)| n);
        told.filter_map(|n| n.parse::<usize>().ok()).sum::<usize>()
    };
    let written = || read("small/access.log").lines().filter(|line| line.ends_with(&long)).count();
    await_that("each line is written or counted", || {
        written() + count("access.log were lost: ") == before + lines + errors + 1
    });
    assert!(count("error.log were lost: ") >= errors, "{}", read("small/error.log"));
}

#[test]
fn a_log_program_that_dies_is_started_again() {
    let program =
        "|$echo $$ > @ROOT@/piped/pid; while read line; do echo \\\"got $line\\\" >> @ROOT@/piped/log; done";
    let config = format!("CustomLog \"{program}\" \"%U\"");
    let server = Site::new().config(&config).dir("piped").mode("piped", 0o777).file("htdocs/a", "a").start();
    for count in 1..=3 {
        assert_eq!(server.get("/a").status, 200);
        assert_eq!(await_lines(&server, "piped/log", count).lines().count(), count);
        let pid = fs::read_to_string(server.site().path("piped/pid")).expect("the program's number");
        let pid = pid.trim().parse().ok().and_then(rustix::process::Pid::from_raw).expect("a number");
        rustix::process::kill_process(pid, Signal::KILL).expect("it runs");
    }
}

#[test]
fn rules_about_browsers_hold_for_files_from_memory() {
    let config = "BrowserMatch ^Odd odd\nCustomLog logs/odd.log \"%U %{User-Agent}i\" env=odd";
    let server = Site::new().config(config).file("htdocs/a", "a").start();
    // A young file's answer isn't remembered.
    // Time: the file has to grow older.
    thread::sleep(Duration::from_secs(3));
    for agent in ["Even", "Even", "Odd/1", "Odd/2", "Even", "Odd/2"] {
        assert_eq!(server.get_with("/a", &format!("Host: localhost\r\nUser-Agent: {agent}\r\n")).text(), "a");
    }
    assert_eq!(await_lines(&server, "logs/odd.log", 3), "/a Odd/1\n/a Odd/2\n/a Odd/2\n");
    let all = await_lines(&server, "logs/access.log", 6);
    assert_eq!(all.lines().count(), 6, "{all}");
}

#[test]
fn a_reload_takes_up_a_moved_log_file() {
    let server = Site::new().file("htdocs/a", "a").file("htdocs/b", "b").start();
    assert_eq!(server.get("/a").status, 200);
    assert!(await_lines(&server, "logs/access.log", 1).contains("/a"));
    fs::rename(server.site().path("logs/access.log"), server.site().path("logs/access.log.1")).unwrap();
    server.signal(Signal::HUP);
    await_that("the new file", || server.site().path("logs/access.log").exists());
    // The old generation may still accept until the new one has reported ready.
    await_that("the new generation's line", || {
        assert_eq!(server.get("/b").status, 200);
        server.access_log().contains("/b")
    });
}

#[test]
fn a_stop_writes_what_buffered_logs_hold() {
    let mut server = Site::new().config("BufferedLogs On").file("htdocs/a", "a").start();
    assert_eq!(server.get("/a").status, 200);
    assert_eq!(server.access_log(), "", "held back");
    server.signal(Signal::TERM);
    server.await_end();
    assert!(server.access_log().contains("/a"));
}

#[test]
fn a_file_that_comes_from_memory_is_logged_like_any_other() {
    let config = "
        SetEnv mark set
        LogFormat \"%h %l %u \\\"%r\\\" %s %>s %b %B %O %I %U%q %f %m %H %v %V %p %{local}p %k %X %L \
                   %{mark}e %{none}n %{Host}i %{User-Agent}i %{Content-Length}o %{Content-Type}o\" all
        CustomLog logs/all.log all
        CustomLog logs/marked.log \"%U\" env=mark
        CustomLog logs/unmarked.log \"%U\" env=!mark";
    let server = Site::new().config(config).file("htdocs/a.txt", "hello").start();
    // Only what has not changed for a while is answered from memory.
    let old = std::time::SystemTime::now() - Duration::from_secs(100);
    fs::File::open(server.site().path("htdocs/a.txt")).unwrap().set_modified(old).unwrap();
    let mut connection = server.connect();
    for _ in 0..20 {
        connection.send("GET /a.txt HTTP/1.1\r\nHost: localhost\r\nUser-Agent: test \"one\"\r\n\r\n");
        assert_eq!(connection.response().text(), "hello");
    }
    let _ = await_lines(&server, "logs/all.log", 20);
    // Of one connection, so in its order.
    let log = fs::read_to_string(server.site().path("logs/all.log")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert!(
        lines[0].contains("test \\\"one\\\" 5 text/plain") && lines[0].contains(" set - localhost "),
        "{}",
        lines[0]
    );
    for (number, line) in lines.iter().enumerate() {
        let expected = lines[0].replace(" 0 + - set", &format!(" {number} + - set"));
        assert_eq!(*line, expected);
    }
    assert_eq!(await_lines(&server, "logs/marked.log", 20).lines().count(), 20);
    assert_eq!(fs::read_to_string(server.site().path("logs/unmarked.log")).unwrap(), "");
}

#[test]
fn what_came_over_http_2_is_counted_with_its_head() {
    needs_program!("/usr/bin/curl");
    let server = Site::new()
        .script("cgi-bin/read", "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nwc -c\n")
        .config("Protocols h2c http/1.1\nScriptAlias /cgi-bin/ \"@ROOT@/cgi-bin/\"\nLogFormat \"%m %I\"\nTransferLog logs/bytes.log")
        .start();
    let url = format!("http://127.0.0.1:{}/cgi-bin/read", server.port());
    for data in [None, Some("x".repeat(1000))] {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--http2-prior-knowledge", &url]);
        if let Some(data) = &data {
            curl.args(["-d", data]);
        }
        assert!(curl.output().expect("curl").status.success());
    }
    let log = await_lines(&server, "logs/bytes.log", 2);
    let counts: Vec<u64> = log.lines().filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect();
    assert!(counts[0] > 60 && counts[1] > counts[0] + 1000, "{log}");
}
