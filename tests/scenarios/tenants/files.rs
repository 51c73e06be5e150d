//! Files that a tenant makes up: whoever reads them waits for the tenant.

use super::{A, Attack, Owned, tenants};
use hostler_tests::{Server, needs_program, needs_root, untested};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A file system of A's own whose file nobody ever gets to read.
struct Mounted {
    folder: PathBuf,
    program: Child,
}

impl Mounted {
    /// `None`: this machine has no FUSE.
    fn on(folder: &Path) -> Option<Self> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/tenants/fuse.py");
        let mut program = Command::new("python3")
            .args([script.as_ref(), folder.as_os_str()])
            .arg(A.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let mut line = String::new();
        let output = program.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("it says something");
        let mounted = Self { folder: folder.to_owned(), program };
        (line == "ready\n").then_some(mounted)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Whoever waits for it is let go.
        let _ = self.program.kill();
        let _ = self.program.wait();
        let _ = Command::new("umount").arg("-l").arg(&self.folder).stderr(Stdio::null()).status();
    }
}

fn status(server: &Server, target: &str) -> u16 {
    let request = format!("GET {target} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
    server.request(request.as_bytes()).status
}

#[test]
fn a_file_that_a_tenant_s_program_makes_up_holds_nobody_up() {
    needs_root!();
    needs_program!("/usr/bin/python3");
    let server = tenants("").a_file("htdocs/made/nothing", "").a_file("htdocs/here.html", "A's page").start();
    let Some(mounted) = Mounted::on(&server.site().path("a/htdocs/made")) else {
        return untested("this machine has no FUSE");
    };
    Attack::new("files that A's own program makes up", 16).run(&server, || {
        for _ in 0..4 {
            assert_eq!(status(&server, "/made/file"), 403);
        }
        assert!(server.await_error("may keep the server waiting").contains("FUSE"));
    });
    assert_eq!(status(&server, "/here.html"), 200);
    drop(mounted);
}
