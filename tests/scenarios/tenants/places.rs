//! The directories of a tenant: no other tenant can make them first, or enter them.

use super::{A, Attack, B, Owned, tenants};
use crate::faults::{await_that, process};
use hostler_tests::{Server, Site, needs_php, needs_program, needs_root};
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Prints the folder of an upload.
const UPLOAD: &str = "<?php echo dirname($_FILES['f']['tmp_name']);";
const BODY: &str =
    "--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n\"\r\n\r\nhello\r\n--x--\r\n";
/// An ASGI application: its program listens at a socket that the site's process makes.
pub(super) const ASGI: &str = "async def app(scope, receive, send):\n\
    \x20   await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n\
    \x20   await send({'type': 'http.response.body', 'body': b'by ASGI'})\n";

fn runtime(uid: u32) -> PathBuf {
    format!("/run/hostler/site-{uid}").into()
}

fn state(uid: u32) -> PathBuf {
    format!("/var/lib/hostler/site-{uid}").into()
}

fn as_user(uid: u32, program: &str, argument: &Path) -> bool {
    let mut command = Command::new(program);
    command.arg(argument).uid(uid).gid(uid).stderr(std::process::Stdio::null());
    command.status().expect("it runs").success()
}

fn upload(server: &Server) -> String {
    let head = format!("Host: a.test\r\nContent-Length: {}\r\nConnection: close\r\n", BODY.len());
    let kind = "Content-Type: multipart/form-data; boundary=x";
    server.request(format!("POST /up.php HTTP/1.1\r\n{head}{kind}\r\n\r\n{BODY}").as_bytes()).text()
}

#[test]
fn no_tenant_can_have_taken_another_s_directories() {
    needs_root!();
    needs_php!();
    // As another tenant may do at any time before. Here B is the attacker.
    let common = ["/var/tmp/hostler-servlet-", "/tmp/hostler-php-", "/tmp/hostler-site-"];
    let taken: Vec<PathBuf> = common.iter().map(|name| PathBuf::from(format!("{name}{A}"))).collect();
    for path in &taken {
        let _ = fs::remove_dir(path);
        assert!(as_user(B, "/bin/mkdir", path), "{}", path.display());
    }
    let php = "<FilesMatch \"\\.php$\">\nSetHandler application/x-httpd-php\n</FilesMatch>\n";
    let java =
        Path::new("/usr/bin/javac").exists() && Path::new("/usr/share/java/tomcat10-embed-core.jar").exists();
    let servlet = if java { "ServletApp /shop @ROOT@/a/app heap=32m\n" } else { "" };
    let server = tenants(&format!("{php}{servlet}"))
        .a_file("htdocs/up.php", UPLOAD)
        .a_file("app/page.txt", "of a container")
        .start();
    Attack::new("names of another's directories, taken first", 16).run(&server, || {
        assert_eq!(upload(&server), state(A).join("php").display().to_string(), "{}", server.error_log());
        if java {
            let answer = server.get_with("/shop/page.txt", "Host: a.test\r\n");
            assert_eq!(answer.text(), "of a container", "{}", server.error_log());
        }
    });
    for own in [runtime(A), state(A)] {
        let facts = fs::metadata(&own).expect("the master has made it");
        assert_eq!((facts.uid(), facts.mode() & 0o7777), (A, 0o700), "{}", own.display());
        let above = fs::metadata(own.parent().expect("it has one")).expect("a directory");
        assert_eq!((above.uid(), above.mode() & 0o022), (0, 0), "{}", own.display());
        assert!(!as_user(B, "/bin/ls", &own) && !as_user(B, "/bin/mkdir", &own.join("x")), "B is shut out");
        assert!(
            !as_user(B, "/bin/mkdir", &own.with_file_name(format!("site-{}", A + 1000))),
            "and makes none"
        );
    }
    for path in taken {
        let _ = fs::remove_dir(path);
    }
}

#[test]
fn a_directory_that_its_user_has_opened_to_others_is_closed_again() {
    needs_root!();
    needs_php!();
    // Other tests have the same users, and servers of them may run.
    if !state(A).exists() {
        fs::create_dir_all(state(A)).expect("a directory");
        chown(state(A), Some(A), Some(A)).expect("it is A's");
    }
    fs::set_permissions(state(A), std::os::unix::fs::PermissionsExt::from_mode(0o777)).expect("open to all");
    let php = "<FilesMatch \"\\.php$\">\nSetHandler application/x-httpd-php\n</FilesMatch>\n";
    let server = tenants(php).a_file("htdocs/up.php", UPLOAD).start();
    assert_eq!(upload(&server), state(A).join("php").display().to_string(), "{}", server.error_log());
    assert_eq!(fs::metadata(state(A)).expect("it is there").mode() & 0o7777, 0o700);
}

fn asgi() -> Site {
    let config =
        "<Location /asgi>\nSetHandler asgi\nASGIApp @ROOT@/a/app/app.py\nRequire all granted\n</Location>\n";
    tenants(config).a_file("app/app.py", ASGI)
}

#[test]
fn a_site_process_that_is_killed_leaves_no_socket_behind() {
    needs_root!();
    needs_program!("/usr/bin/python3");
    let server = asgi().start();
    let ask = || server.get_with("/asgi", "Host: a.test\r\n").text();
    assert_eq!(ask(), "by ASGI", "{}", server.error_log());
    let left = || fs::read_dir(runtime(A)).expect("the directory").count();
    // Other servers of the user's may be making sockets.
    await_that("a socket has no name that could be left", || left() == 0);
    let own = |pid: &u32| process::status(*pid, "Uid").is_some_and(|ids| ids.starts_with(&A.to_string()));
    let site = process::named(&server, "hostler-site").into_iter().find(own).expect("A's process");
    process::kill(site, Signal::KILL);
    await_that("another process serves", || ask() == "by ASGI");
    await_that("nothing is left", || left() == 0);
}

#[test]
fn two_servers_of_one_machine_share_a_user_s_directories_without_harm() {
    needs_root!();
    needs_program!("/usr/bin/python3");
    let (one, other) = (asgi().start(), asgi().start());
    for server in [&one, &other] {
        assert_eq!(server.get_with("/asgi", "Host: a.test\r\n").text(), "by ASGI", "{}", server.error_log());
    }
    drop(one);
    assert_eq!(other.get_with("/asgi", "Host: a.test\r\n").text(), "by ASGI", "{}", other.error_log());
}
