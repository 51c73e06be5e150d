//! The confinement of processes with a tenant's warm code: they gain nothing by set-id programs, and the tenant's other
//! programs cannot look into them. One test for all engines: each that is added has to be here.

use super::{A, Attack, Owned, is_long, tenants};
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

/// A program that opens the memory of all processes, and prints the names of those that let it; programs of CGI are none of the
/// server's own, so it is not among them.
const LOOKS: &str = r#"#!/usr/bin/perl
print "Content-Type: text/plain\n\n";
for my $memory (glob "/proc/[0-9]*/mem") {
    my ($pid) = $memory =~ /(\d+)/;
    next if $pid == $$ || !open my $file, "+<", $memory;
    open my $status, "<", "/proc/$pid/comm" or next;
    my $name = <$status>;
    print $name if $name =~ /^hostler/;
}
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
        .a_script("cgi-bin/looks", LOOKS)
        .start();
    let mut pages = vec![
        ("/a.php", "PHP"),
        ("/a.pl", "Perl"),
        ("/psgi", "PSGI"),
        ("/wsgi", "WSGI"),
        ("/asgi", "by ASGI"),
    ];
    pages.extend(java.then_some(("/shop/page.txt", "servlets")));
    Attack::new("programs that look into others of their user", 64).run(&server, || {
        for _ in 0..if is_long() { 20 } else { 1 } {
            pages.iter().for_each(|(target, expected)| ask(&server, target, expected));
            // A process that has just begun is about to confine itself; a worker may be forked at any time.
            await_that("all are confined", || are_confined(&server, java));
            let opened = server.get_with("/cgi-bin/looks", "Host: a.test\r\n").text();
            assert_eq!(opened, "", "memory of other processes that a program could open");
        }
    });
}

/// Returns true if each kind of process is there, and all that run are confined.
fn are_confined(server: &Server, java: bool) -> bool {
    let all = of_server(server, A);
    let kinds = ["hostler-site", "hostler-perl", "hostler-php", "hostler-python", "hostler-servlet"];
    let is_missing = |kind: &&&str| !(is_among(&all, kind) || **kind == "hostler-servlet" && !java);
    let loose = all.iter().any(|pid| process::runs(*pid) && !is_confined(*pid));
    !loose && kinds.iter().filter(is_missing).count() == 0
}
