//! The confinement of processes with a tenant's warm code: they gain nothing by set-id programs, and the tenant's other
//! programs cannot look into them. One test for all engines: each that is added has to be here.

use super::{A, Owned, tenants};
use crate::faults::process;
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

/// All processes of a user.
fn of_user(uid: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_its = |pid: &u32| {
        let ids = process::status(*pid, "Uid").unwrap_or_default();
        process::runs(*pid) && ids.split_whitespace().next() == Some(&uid.to_string())
    };
    pids.filter(is_its).collect()
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
    let (mut seen, mut loose) = (Vec::new(), Vec::new());
    for pid in of_user(A) {
        let name = process::command_line(pid);
        // It starts CGI programs, which may be set-id ones, and runs no code of the tenant's.
        let gains = name.starts_with("hostler-site");
        let privileges = process::status(pid, "NoNewPrivs");
        if privileges.as_deref() != Some(if gains { "0" } else { "1" }) || owner_of_memory(pid) != Some(0) {
            loose.push(format!("{name}: NoNewPrivs {privileges:?}, memory of {:?}", owner_of_memory(pid)));
        }
        seen.push(name);
    }
    assert!(loose.is_empty(), "{loose:#?}");
    let kinds = ["hostler-site", "perl", "php", "psgi", "wsgi", "--asgi", "servlet"];
    assert!(seen.len() >= kinds.len(), "{seen:#?}");
}
