//! The confinement of processes with a tenant's warm code: they gain nothing by set-id programs, and the tenant's other
//! programs cannot look into them. One test for all engines: each that is added has to be here.

use super::{A, Owned, tenants};
use crate::faults::{await_that, process};
use hostler_tests::{Server, needs_php, needs_program, needs_root};
use std::fs;
use std::os::unix::fs::MetadataExt;

const CONFIG: &str = r#"
<FilesMatch "\.php$">
SetHandler application/x-httpd-php
</FilesMatch>
<FilesMatch "\.pl$">
SetHandler perl-script
PerlResponseHandler ModPerl::Registry
PerlOptions +ParseHeaders
</FilesMatch>
<Location /psgi>
SetHandler psgi
PSGIApp @ROOT@/a/app/app.psgi
</Location>
WSGIScriptAlias /wsgi @ROOT@/a/app/app.wsgi
<Location /asgi>
SetHandler asgi
ASGIApp @ROOT@/a/app/app.py
</Location>
"#;

/// All processes of a user below a server's.
fn of_server(server: &Server, uid: u32) -> Vec<u32> {
    let mut all = vec![server.pid()];
    let mut at = 0;
    while let Some(pid) = all.get(at).copied() {
        all.extend(process::children(pid));
        at += 1;
    }
    let is_its = |pid: &u32| {
        let ids = process::status(*pid, "Uid").unwrap_or_default();
        ids.split_whitespace().next() == Some(&uid.to_string())
    };
    all.retain(is_its);
    all
}

/// Returns true if a process of this name is among them.
fn is_among(all: &[u32], name: &str) -> bool {
    all.iter().any(|pid| process::status(*pid, "Name").as_deref() == Some(name))
}

/// Returns true if a process gains nothing, and no other process of its user may look into it. The site's own process
/// starts CGI programs, which may be set-id ones, and runs no code of the tenant's.
fn is_confined(pid: u32) -> bool {
    let gains = process::command_line(pid).starts_with("hostler-site");
    let privileges = process::status(pid, "NoNewPrivs");
    privileges.as_deref() == Some(if gains { "0" } else { "1" }) && owner_of_memory(pid) == Some(0)
}

/// The owner of a process's files in /proc: root if the process is not dumpable (proc(5)).
fn owner_of_memory(pid: u32) -> Option<u32> {
    Some(fs::metadata(format!("/proc/{pid}/mem")).ok()?.uid())
}

fn ask(server: &Server, target: &str, expected: &str) {
    let text = server.get_with(target, "Host: a.test\r\n").text();
    assert_eq!(text, expected, "{target}\n{}", server.error_log());
}

#[test]
fn every_process_that_runs_warm_code_is_confined() {
    needs_root!();
    needs_php!();
    needs_program!("/usr/bin/python3");
    let java = std::path::Path::new("/usr/share/java/tomcat10-embed-core.jar").exists();
    let servlet = if java { "ServletApp /shop @ROOT@/a/app heap=32m\n" } else { "" };
    let server = tenants(&format!("{CONFIG}{servlet}"))
        .a_file("htdocs/a.php", "<?php echo 'PHP';")
        .a_script("htdocs/a.pl", "print \"Content-Type: text/plain\\n\\nPerl\";")
        .a_file("app/app.psgi", "sub { [200, ['Content-Type' => 'text/plain'], ['PSGI']] }")
        .a_file("app/app.wsgi", "def application(e, s):\n    s('200 OK', [])\n    return [b'WSGI']\n")
        .a_file("app/app.py", super::places::ASGI)
        .a_file("app/page.txt", "servlets")
        .start();
    ask(&server, "/a.php", "PHP");
    ask(&server, "/a.pl", "Perl");
    ask(&server, "/psgi", "PSGI");
    ask(&server, "/wsgi", "WSGI");
    ask(&server, "/asgi", "by ASGI");
    if java {
        ask(&server, "/shop/page.txt", "servlets");
    }
    // A process that has just begun is about to confine itself; a worker may be forked at any time.
    await_that("all are confined", || {
        let all = of_server(&server, A);
        let loose = all.iter().filter(|pid| process::runs(**pid) && !is_confined(**pid)).count();
        let kinds = ["hostler-site", "hostler-perl", "hostler-php", "hostler-python", "hostler-servlet"];
        let missing =
            kinds.iter().filter(|kind| !java && **kind == "hostler-servlet" || is_among(&all, kind));
        loose == 0 && missing.count() == kinds.len()
    });
}
