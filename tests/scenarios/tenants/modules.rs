//! Rules that a tenant writes for modules which change what is sent, or make pages of small files: chains of filters, lines
//! that become long, menus, lists, and pipes where files are expected.

use super::{A, Attack, Owned, is_long, tenants};
use hostler_tests::{Server, Site, needs_root};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

/// Asks for a URL of A's, several times at once, and reads on as long as this; the statuses.
fn ask(server: &Server, target: &str, time: Duration) -> Vec<String> {
    let request = format!("GET {target} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
    let one = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a timeout");
        stream.write_all(request.as_bytes()).expect("it is sent");
        let (mut head, mut space, end) = (Vec::new(), vec![0; 1 << 16], Instant::now() + time);
        loop {
            match stream.read(&mut space) {
                Ok(0) | Err(_) => break,
                Ok(read) if head.len() < 100 => head.extend_from_slice(&space[..read]),
                Ok(_) => {}
            }
            if Instant::now() > end {
                break;
            }
        }
        String::from_utf8_lossy(&head).split(' ').nth(1).unwrap_or_default().to_owned()
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..3).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|thread| thread.join().expect("A's client ends")).collect()
    })
}

fn time() -> Duration {
    Duration::from_secs(if is_long() { 10 } else { 1 })
}

fn are_all(statuses: &[String], expected: &str) -> bool {
    statuses.iter().all(|status| status == expected)
}

#[test]
fn chains_of_filters() {
    needs_root!();
    let chain = |many: usize| vec!["DATA"; many].join(";");
    let text = "x".repeat(1 << 20);
    let site = tenants("")
        .a_file("htdocs/far/.htaccess", format!("SetOutputFilter {}", chain(100_000)))
        .a_file("htdocs/far/a.txt", &text)
        .a_file("htdocs/both/.htaccess", format!("SetOutputFilter {0}\nAddOutputFilter {0} .txt", chain(60)))
        .a_file("htdocs/both/a.txt", &text)
        .a_file("htdocs/near/.htaccess", format!("SetOutputFilter {}", chain(60)))
        .a_file("htdocs/near/a.txt", &text);
    let server = site.start();
    Attack::new("chains of filters, each of which makes more of what it gets", 32).run(&server, || {
        assert!(are_all(&ask(&server, "/far/a.txt", time()), "500"));
        assert!(are_all(&ask(&server, "/both/a.txt", time()), "500"));
        // It would end after some hundred thousand terabytes.
        assert!(are_all(&ask(&server, "/near/a.txt", time()), "200"));
    });
    let _ = server.await_error("there may be no more than 64 filters");
    let _ = server.await_error("there are more than 64 filters");
}

#[test]
fn lines_that_become_long() {
    needs_root!();
    let rules = format!(
        "SetOutputFilter SUBSTITUTE\nSubstitute \"s/x/{}/n\"\nSubstitute \"s/y/{}/n\"",
        "y".repeat(1000),
        "z".repeat(900)
    );
    let site = tenants("")
        .a_file("htdocs/lines/.htaccess", rules)
        .a_file("htdocs/lines/a.txt", "x\n".repeat(100_000));
    let server = site.start();
    Attack::new("short lines that become long ones", 64).run(&server, || {
        assert!(are_all(&ask(&server, "/lines/a.txt", time()), "200"));
    });
}

#[test]
fn menus_of_image_maps() {
    needs_root!();
    let base = format!("base http://a.test/{}/\n", "b".repeat(8000));
    let map = format!("{base}{}", "rect x 0,0\n".repeat(20_000));
    let site = tenants("HostlerRequestBudget 20000").a_file("htdocs/.htaccess", "AddHandler imap-file .map");
    let server = site.a_file("htdocs/a.map", map).start();
    Attack::new("an image map with very many places", 96).run(&server, || {
        for statuses in [ask(&server, "/a.map", time()), ask(&server, "/a.map?1,1", time())] {
            assert!(
                statuses.iter().all(|status| ["200", "204", "302", "500"].contains(&&**status)),
                "{statuses:?}"
            );
        }
    });
    let _ = server.await_error("would be longer than 2 MiB");
}

/// The duration depends on the patterns: the request's budget ends it, and others have their turn.
#[test]
fn listings_with_very_many_rules() {
    needs_root!();
    let mut rules = String::from("Options +Indexes\nIndexOptions FancyIndexing\n");
    for number in 0..1000 {
        let _ = writeln!(
            rules,
            "IndexIgnore *a*a*a*a*a*a*{number}\nAddDescription \"x\" *a*b*c*d{number}*\nAddIcon /i.png *e*f{number}g"
        );
    }
    let server = tenants("").a_file("htdocs/list/.htaccess", rules).start();
    let folder = server.site().path("a/htdocs/list");
    for number in 0..200 {
        let name = format!("{}{number}.html", "a".repeat(200));
        std::fs::File::create(folder.join(name)).expect("a file");
    }
    Attack::new("listings with 3,000 hard rules for their files", 128).run(&server, || {
        let statuses = ask(&server, "/list/", Duration::from_secs(120));
        assert!(statuses.iter().all(|status| ["200", "500"].contains(&&**status)), "{statuses:?}");
    });
}

/// A's folder has a pipe of this name, whose other end nobody opens.
fn with_pipe(site: Site, name: &str) -> Site {
    let path = site.path(&format!("a/{name}"));
    std::fs::create_dir_all(path.parent().expect("its folder")).expect("its folder");
    let made = Command::new("mkfifo").arg("-m").arg("666").arg(&path).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo {name}");
    std::os::unix::fs::chown(&path, Some(A), Some(A)).expect("its owner");
    site
}

#[test]
fn pipes_where_files_are_expected() {
    needs_root!();
    let section = |folder: &str, rules: &str| {
        format!("<Directory \"@ROOT@/a/htdocs/{folder}\">\n{rules}\n</Directory>\n")
    };
    let login =
        |file: &str| format!("AuthType Basic\nAuthName x\n{file} \"@ROOT@/a/pipe\"\nRequire valid-user");
    let sections = [
        section("users", &login("AuthUserFile")),
        section("dbm", &format!("AuthBasicProvider dbm\n{}", login("AuthDBMUserFile"))),
        section(
            "groups",
            &format!("{}\nAuthGroupFile \"@ROOT@/a/pipe\"\nRequire group x", login("AuthUserFile")),
        ),
        section("meta", "MetaFiles On\nMetaDir ."),
    ];
    let site = with_pipe(tenants(&sections.concat()), "pipe");
    let site = with_pipe(site, "htdocs/access/.htaccess");
    let site = with_pipe(with_pipe(site, "htdocs/a.var"), "htdocs/a.map");
    let site = with_pipe(with_pipe(site, "htdocs/a.shtml"), "htdocs/meta/a.txt.meta");
    let mut site = with_pipe(with_pipe(site, "htdocs/a.txt"), "htdocs/a.cgi").a_file(
        "htdocs/.htaccess",
        "AddHandler imap-file .map\nAddHandler type-map .var\nAddHandler cgi-script .cgi\n\
         AddOutputFilter INCLUDES .shtml\nRewriteEngine On\nRewriteCond %{DOCUMENT_ROOT}/a.txt -F\nRewriteRule ^none /x",
    );
    for folder in ["users", "dbm", "groups", "access", "meta"] {
        site = site.a_file(&format!("htdocs/{folder}/a.txt"), "A's page");
    }
    let server = site.start();
    let login = "Authorization: Basic YTpi\r\n";
    Attack::new("pipes in place of files", 16).run(&server, || {
        for target in [
            "/users/a.txt",
            "/dbm/a.txt",
            "/groups/a.txt",
            "/access/a.txt",
            "/meta/a.txt",
            "/a.var",
            "/a.map",
            "/a.shtml",
            "/a.txt",
            "/a.cgi",
            "/none",
        ] {
            let answer = server.get_with(target, &format!("Host: a.test\r\n{login}"));
            // Fields of a file that is none are no fields.
            let expected: &[u16] = if target.starts_with("/meta/") { &[200] } else { &[403, 404, 500] };
            assert!(expected.contains(&answer.status), "{target}: {}", answer.status);
        }
    });
}
