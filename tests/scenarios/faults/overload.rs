//! Too many, too slow, too full: overload is refused or waited out, memory stays flat, and nobody exits.

use super::{CAT, await_that, process, site_with};
use hostler_tests::{Connection, Server, Site, needs_root};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::time::Duration;

/// Returns the number of a process's descriptors.
fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// A connection with a request of which nothing is read.
fn unread(server: &Server, target: &str) -> TcpStream {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("a connection");
    let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the request is taken");
    stream
}

#[test]
fn more_connections_than_there_may_be_take_no_more_descriptors() {
    const MOST: u32 = 80;
    let server = site_with(&[]).config("HostlerConnectionsPerAddress max").descriptors(MOST).start();
    assert_eq!(server.get("/x").text(), "x", "{}{}", server.error_log(), server.console());
    let front = process::front(&server);
    let connections: Vec<Connection> = (0..MOST).map(|_| server.connect()).collect();
    let mut waiting = server.connect();
    waiting.send("GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    // The oldest silent ones have been closed for it.
    assert_eq!(waiting.response().text(), "x");
    let busy = process::ticks(front);
    // Time: what the front does in it is counted.
    std::thread::sleep(Duration::from_secs(1));
    assert!(descriptors(front) + 10 < MOST as usize, "nothing is left for files and programs");
    let log = server.error_log();
    assert!(log.lines().all(|line| line.contains(":notice]")), "that is no error: {log}");
    assert!(
        process::ticks(front) < busy + 50,
        "it keeps trying: {} of 100 ticks",
        process::ticks(front) - busy
    );
    drop(connections);
    assert_eq!((server.get("/x").text(), process::front(&server)), ("x".into(), front));
}

#[test]
fn programs_that_cannot_be_started_for_want_of_descriptors_fail_alone() {
    const MOST: u32 = 80;
    let stay = "#!/bin/sh\nexec sleep 600\n";
    // Silent programs are given up soon, and with them their pipes.
    let site =
        site_with(&[("stay", stay), ("cat", CAT)]).config("Timeout 2\nHostlerConnectionsPerAddress max");
    let site = site.descriptors(MOST);
    let server = site.start();
    assert_eq!(server.get("/cgi-bin/cat").status, 200);
    // Each program takes a connection and pipes of the front, and whatever its site keeps of it.
    let busy: Vec<TcpStream> = (0..MOST).map(|_| unread(&server, "/cgi-bin/stay")).collect();
    let _ = server.await_error("Too many open files");
    drop(busy);
    await_that("there are descriptors again", || server.get("/cgi-bin/cat").status == 200);
    assert_eq!(server.get("/x").text(), "x");
}

/// Sites of fifty users, with few descriptors for the front. It has a user of its own: how many descriptors may be on
/// their way at once is counted by user, against the sender's own limit.
fn crowded(front: u32) -> Server {
    let host = |n| {
        let uid = 64_400 + n;
        format!(
            "<VirtualHost *:@PORT@>\nServerName s{n}.test\nDocumentRoot \"@ROOT@/htdocs\"\nAssignUserID #{uid} #{uid}\n</VirtualHost>\n"
        )
    };
    let hosts: String = (0..CROWD).map(host).collect();
    (0..CROWD)
        .fold(site_with(&[]), |site, n| site.file(&format!("htdocs/{n}"), "y"))
        .config(&format!("HostlerUser #{front}\n{hosts}"))
        .descriptors(72)
        .start()
}

const CROWD: u32 = 50;

#[test]
fn more_sites_than_descriptors_cost_no_front() {
    needs_root!();
    let server = crowded(64_390);
    let front = process::front(&server);
    let ask = |n: u32| server.get_with("/x", &format!("Host: s{n}.test\r\nConnection: close\r\n")).status;
    assert_eq!(ask(0), 200);
    let answers: Vec<u16> = (0..CROWD).map(ask).collect();
    assert!(answers.iter().all(|status| [200, 503].contains(status)), "{answers:?}");
    assert!(answers.contains(&503), "there were descriptors for all of them: nothing is tested");
    // Those that were there before are served on, each time.
    let again: Vec<u16> = (0..20).map(|_| ask(0)).collect();
    assert_eq!((again, process::front(&server)), (vec![200; 20], front), "{}", server.console());
}

#[test]
fn neither_new_sites_nor_new_connections_take_the_last_descriptors() {
    needs_root!();
    if std::fs::metadata("/proc/self/fd").map_or(0, |open| open.len()) == 0 {
        return hostler_tests::skipped(
            module_path!(),
            "this kernel does not count descriptors (Linux 6.2 does)",
        );
    }
    let server = crowded(64_391);
    let ask = |connection: &mut Connection, host: u32, file: u32| {
        connection.send(format!("GET /{file} HTTP/1.1\r\nHost: s{host}.test\r\n\r\n"));
        connection.response().status
    };
    let mut first = server.connect();
    assert_eq!(ask(&mut first, 0, 0), 200);
    let mut refused = 0;
    let mut others: Vec<Connection> = Vec::new();
    for n in 1..CROWD {
        // Each site is asked for through a connection of its own. The first ones stay; 503 ends them.
        let mut connection = server.connect();
        match ask(&mut connection, n, 0) {
            200 if n < 12 => others.push(connection),
            status => refused += u32::from(status == 503),
        }
        assert_eq!(ask(&mut first, 0, n), 200, "the site that was there before, after {n} others");
    }
    assert!(refused > 0, "there were descriptors for all of them: nothing is tested");
}

/// A file system of one page, mounted until this is dropped.
struct Tiny(std::path::PathBuf);

impl Tiny {
    /// `None` where mounting is not allowed, such as in most containers.
    fn mounted(at: std::path::PathBuf) -> Option<Self> {
        let mut command = Command::new("mount");
        let output =
            command.args(["-t", "tmpfs", "-o", "size=4k,mode=755", "tmpfs"]).arg(&at).output().ok()?;
        output.status.success().then_some(Self(at))
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        // Left mounted it would show when the site's folder is removed.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_under_the_logs_stops_nobody() {
    needs_root!();
    let site = site_with(&[("broken", "#!/bin/sh\necho none\n")]).dir("full");
    let Some(_tiny) = Tiny::mounted(site.path("full")) else {
        return hostler_tests::skipped(module_path!(), "mounting a file system is not allowed here");
    };
    let server = site.config("CustomLog full/access.log \"%r\"\nErrorLog full/error.log").start();
    for _ in 0..200 {
        assert_eq!(server.get("/x").text(), "x");
        assert_eq!(server.get("/none").status, 404);
        assert_eq!(server.get("/cgi-bin/broken").status, 500);
    }
    let size = |name| std::fs::metadata(server.site().path(name)).map_or(0, |data| data.len());
    assert!(size("full/error.log") + size("full/access.log") > 0, "there is no room at all");
    assert!(process::reload(&server).status.success(), "{}", server.console());
    assert_eq!(server.get("/x").text(), "x");
}

#[test]
fn slow_readers_of_large_answers_cost_little_memory() {
    const SIZE: usize = 10_000_000;
    const READERS: usize = 10;
    let large =
        format!("#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nexec head -c {SIZE} /dev/zero\n");
    let config = "<Directory \"@ROOT@/htdocs\">\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\nAddType text/html .shtml\n</Directory>\n\
                  AddOutputFilterByType DEFLATE text/css";
    let site = site_with(&[("large", &large)]).config(config).file("htdocs/file", vec![b'z'; SIZE]);
    let site = site.file(
        "htdocs/page.shtml",
        "<!--#include virtual=\"/file\" --><!--#include virtual=\"/cgi-bin/large\" -->",
    );
    let server = site.start();
    assert_eq!(server.get("/x").text(), "x");
    let front = process::front(&server);
    let before = process::resident(front);
    let mut streams = Vec::new();
    for target in ["/file", "/cgi-bin/large", "/page.shtml"] {
        streams.extend((0..READERS).map(|_| unread(&server, target)));
    }
    // Each has begun and reads no further than its first bytes.
    for stream in &mut streams {
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
        let mut start = [0; 1000];
        stream.read_exact(&mut start).expect("the answer begins");
    }
    let after = process::resident(front);
    assert!(after < before + 30_000, "30 answers of 10 MB and more: from {before} to {after} KB");
    // Whoever reads gets everything.
    let whole = server.get("/cgi-bin/large");
    assert_eq!((whole.body.len(), whole.truncated), (SIZE, false));
    assert_eq!(server.get("/page.shtml").body.len(), 2 * SIZE);
}

#[test]
fn a_large_upload_to_a_program_that_does_not_read_costs_little_memory() {
    let stay = "#!/bin/sh\nexec sleep 600\n";
    let server = site_with(&[("stay", stay)]).start();
    assert_eq!(server.get("/x").text(), "x");
    let front = process::front(&server);
    let before = process::resident(front);
    let mut streams: Vec<TcpStream> = (0..10)
        .map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("a connection"))
        .collect();
    for stream in &mut streams {
        stream.set_write_timeout(Some(Duration::from_millis(300))).expect("a time limit");
        let head = "POST /cgi-bin/stay HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n";
        stream.write_all(head.as_bytes()).expect("the head is taken");
        // As far as the server takes it.
        let taken = (0..50).take_while(|_| stream.write_all(&[b'a'; 1_000_000]).is_ok()).count();
        assert!(taken < 50, "50 MB went somewhere");
    }
    let after = process::resident(front);
    assert!(after < before + 30_000, "from {before} to {after} KB");
    assert_eq!(server.get("/x").text(), "x");
}

#[test]
fn many_clients_that_never_finish_their_header_keep_nobody_out() {
    let server = site_with(&[("cat", CAT)]).start();
    let mut slow: Vec<Connection> = (0..300).map(|_| server.connect()).collect();
    for connection in &mut slow {
        connection.send("GET /x HTTP/1.1\r\nHost: a\r\nX-A: ");
    }
    let mut uploads: Vec<Connection> = (0..20).map(|_| server.connect()).collect();
    for connection in &mut uploads {
        connection.send("POST /cgi-bin/cat HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\na");
    }
    assert_eq!(server.get("/x").text(), "x");
    assert_eq!(server.get("/cgi-bin/cat").status, 200);
}

#[test]
fn programs_that_wait_do_not_keep_files_waiting() {
    let stay = "#!/bin/sh\nexec sleep 600\n";
    let server = site_with(&[("stay", stay)]).start();
    let _busy: Vec<TcpStream> = (0..60).map(|_| unread(&server, "/cgi-bin/stay")).collect();
    assert_eq!(server.get("/x").text(), "x");
    let mut connection = server.connect();
    for _ in 0..100 {
        connection.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(connection.response().text(), "x");
    }
}

#[test]
fn a_page_that_includes_itself_ends() {
    let config = "<Directory \"@ROOT@/htdocs\">\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\nAddType text/html .shtml\n</Directory>";
    let double = "<!--#include virtual=\"/double.shtml\" --><!--#include virtual=\"/double.shtml\" -->";
    let site = Site::new().config(config).file("htdocs/double.shtml", double).file("htdocs/x", "x");
    // Each of them twice: without a limit 2 to the power of the depth.
    let other = "<!--#include virtual=\"/b.shtml\" --><!--#include virtual=\"/b.shtml?1\" -->";
    let site = site.file("htdocs/a.shtml", other).file("htdocs/b.shtml", other.replace("/b.", "/a."));
    let server = site.start();
    for target in ["/double.shtml", "/a.shtml"] {
        let answer = server.get(target);
        assert_eq!(answer.status, 200);
        assert!(answer.body.len() < 10_000_000, "{} bytes", answer.body.len());
    }
    assert_eq!(server.get("/x").text(), "x");
}
