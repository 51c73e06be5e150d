//! Hostile tenants' files: archives that lead outwards, files that are an application's own, and many virtual machines
//! in a memory that is too small for all.

use super::faults::{faulty, hostile};
use super::run;
use crate::faults::{await_that, process};
use hostler_tests::{Server, Site, needs_program, needs_root};
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

#[test]
fn an_archive_reaches_no_file_beside_its_own() {
    needs_java!();
    needs_program!("/usr/bin/python3");
    let folder = tempfile::tempdir().unwrap();
    let war = folder.path().join("evil.war");
    let make = "import sys, zipfile\nwith zipfile.ZipFile(sys.argv[1], 'w') as war:\n \
                war.writestr('index.txt', 'index')\n war.writestr('WEB-INF/a', '')\n \
                [war.writestr(name, 'evil') for name in sys.argv[2:]]\n";
    for path in ["../../../evil.txt", "WEB-INF/../../../../evil.txt", "/evil.txt", "..\\..\\evil.txt"] {
        run(Command::new("python3").args(["-c", make]).arg(&war).arg(path));
        let server = Site::new()
            .dir("state")
            .mode("state", 0o1777)
            .file("app.war", fs::read(&war).unwrap())
            .config("ServletApp /shop @ROOT@/app.war work=@ROOT@/state\n")
            .start();
        let answer = server.get("/shop/index.txt");
        let found =
            Command::new("find").arg(server.site().root()).args(["-name", "*evil.txt"]).output().unwrap();
        let found = String::from_utf8_lossy(&found.stdout).into_owned();
        let outside = found
            .lines()
            .find(|line| !line.contains("/unpacked-v0/shop/") && !line.contains("/unpacked-v0/app/"));
        assert!(outside.is_none(), "{path}: {found}");
        assert!(!std::path::Path::new("/evil.txt").exists());
        if answer.status != 200 {
            assert_eq!(answer.status, 404, "{path}: {}", server.error_log());
            let _ = server.await_error("app.war at /shop");
        }
        // Nor through a URL.
        for target in
            ["/shop/../evil.txt", "/shop/%2e%2e/evil.txt", "/shop/..%2fevil.txt", "/shop/..;/evil.txt"]
        {
            assert!(server.get(target).status >= 400, "{path} {target}");
        }
    }
}

#[test]
fn what_is_an_application_s_own_is_denied_in_every_spelling() {
    needs_java!();
    let server = faulty("").config("AllowEncodedSlashes On\n").start();
    assert_eq!(server.get("/shop/do/plain").text(), "plain", "{}", server.error_log());
    for name in ["WEB-INF", "web-inf", "Web-Inf", "%57EB%2dINF", "%77eb-inf", "META-INF", "%6deta-inf"] {
        for before in [
            "",
            "/",
            "//",
            ";x/",
            ";/",
            "./",
            "x/../",
            "x/..//",
            "%2e/",
            ";a=b;c/",
            "do/..;/",
            "%2f",
            "%5c",
            "x%2f..%2f",
        ] {
            for after in [
                "/secret.txt",
                "//secret.txt",
                ";x=y/secret.txt",
                "/;x/secret.txt",
                "%2fsecret.txt",
                "%5csecret.txt",
                "/./secret.txt",
                "%20/secret.txt",
                "./secret.txt",
                "%00/secret.txt",
                "/secret.txt;x",
            ] {
                let target = format!("/shop/{before}{name}{after}");
                let answer = server.get(&target);
                assert!(matches!(answer.status, 400 | 403 | 404), "{target}: {}", answer.status);
                assert!(!answer.text().contains("secret\n") && answer.text() != "secret", "{target}");
            }
        }
    }
    assert_eq!(server.get("/shop/do/plain").text(), "plain", "{}", server.error_log());
}

#[test]
fn an_archive_that_is_written_in_place_is_taken_when_it_is_whole() {
    needs_java!();
    let server = faulty("").start();
    assert_eq!(server.get("/shop/do/plain").text(), "plain", "{}", server.error_log());
    let war = server.site().path("app.war");
    // As `cp` does: the same file, first without content, then with half of it.
    fs::write(&war, "").unwrap();
    let _ = server.await_error("goes on as it was: it is not a whole archive");
    assert_eq!(server.get("/shop/do/plain").text(), "plain");
    fs::write(&war, &hostile()[..hostile().len() / 2]).unwrap();
    await_that("that is refused too", || server.error_log().matches("goes on as it was").count() == 2);
    assert_eq!(server.get("/shop/do/plain").text(), "plain");
    fs::write(&war, hostile()).unwrap();
    let _ = server.await_error("is deployed anew");
    // Quirk(tomcat): a request that is on its way in that moment may find nothing.
    await_that("the new one serves", || server.get("/shop/do/plain").text() == "plain");
    // Taken away: it goes on.
    fs::remove_file(&war).unwrap();
    assert_eq!(server.get("/shop/do/plain").text(), "plain", "{}", server.error_log());
}

/// So many virtual hosts `hN.test`, each with a user and a virtual machine of its own.
fn hosts(count: u32, first_uid: u32, config: &str) -> Server {
    let mut text = format!("ServletApp /shop @ROOT@/app.war heap=32m work=@ROOT@/state\n{config}");
    for n in 0..count {
        let uid = first_uid + n;
        let _ = write!(
            text,
            "\n<VirtualHost *:@PORT@>\nServerName h{n}.test\nAssignUserID #{uid} #{uid}\n</VirtualHost>"
        );
    }
    Site::new().dir("state").mode("state", 0o1777).file("app.war", hostile()).config(&text).start()
}

fn pid(server: &Server, host: u32) -> u32 {
    let answer = server.get_with("/shop/do/user", &format!("Host: h{host}.test\r\n"));
    assert_eq!(answer.status, 200, "h{host}: {}{}", answer.text(), server.error_log());
    answer.text().split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or_default()
}

#[test]
fn twenty_sites_with_a_virtual_machine_each_share_the_memory_for_a_few() {
    needs_root!();
    needs_java!();
    const FIRST: u32 = 64_340;
    const ALL: u32 = 20;
    let server = hosts(ALL, FIRST, "HostlerMemory 300M");
    let pids: Vec<u32> = (0..ALL).map(|host| pid(&server, host)).collect();
    let ended = || (0..ALL).filter(|host| !process::runs(pids[*host as usize])).collect::<Vec<u32>>();
    await_that("most of them have ended", || ended().len() > 10);
    // The last one was never short of what it takes, and those that ended come back.
    assert!(process::runs(pids[19]), "{}", server.error_log());
    for host in ended().into_iter().take(3) {
        assert_ne!(pid(&server, host), pids[host as usize], "h{host}");
    }
}

#[test]
fn virtual_machines_give_way_when_memory_is_short_and_end_when_they_are_idle() {
    needs_root!();
    needs_java!();
    const FIRST: u32 = 64_320;
    let server = hosts(4, FIRST, "HostlerMemory 110M");
    let pids: Vec<u32> = (0..4).map(|host| pid(&server, host)).collect();
    for (host, pid) in (0..).zip(&pids) {
        let users = process::status(*pid, "Uid");
        let own = users.is_none_or(|users| users == vec![(FIRST + host).to_string(); 4].join("\t"));
        assert!(own, "h{host} runs as somebody else");
    }
    await_that("the one that was unused for longest ends", || !process::runs(pids[0]));
    assert!(process::runs(pids[3]), "{}", server.error_log());
    // It comes back.
    assert_ne!(pid(&server, 0), pids[0]);
    drop(server);
    let server = hosts(1, FIRST, "HostlerPoolIdle 1");
    let first = pid(&server, 0);
    await_that("it ends", || !process::runs(first));
    assert_ne!(pid(&server, 0), first);
}
