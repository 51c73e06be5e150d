//! Logins, black box: what conformance cases can't do, since it takes other users, or a client that goes on.

use hostler_tests::{Server, Site, needs_program, needs_root};
use std::process::{Command, Stdio};

/// `htpasswd -nbs NAME secret`, without the name.
const SECRET: &str = "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=";

fn curl(server: &Server, more: &[&str]) -> String {
    let mut command = Command::new("/usr/bin/curl");
    command.args(["-sS", "-w", " %{http_code}\n"]).args(more).stdin(Stdio::null());
    let url = format!("http://127.0.0.1:{}/a.txt", server.port());
    let output = command.arg(&url).arg(&url).output().expect("curl starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn digest(more: &str) -> Site {
    Site::new()
        .config(&format!(
            "<Location />\nAuthType Digest\nAuthName realm\nAuthUserFile conf/digests\nRequire valid-user\n{more}\n</Location>\n"
        ))
        .file("conf/digests", format!("ann:realm:{STORED}\n"))
        .file("htdocs/a.txt", "a")
}

/// `md5(ann:realm:secret)`
const STORED: &str = "4f7d04b5b9899460e7638f8036f253f4";

#[test]
fn a_client_that_counts_its_requests_goes_on_with_one_nonce() {
    needs_program!("/usr/bin/curl");
    for more in ["AuthDigestNcCheck On", "AuthDigestNonceLifetime 0", "AuthDigestNonceLifetime -1"] {
        let server = digest(more).start();
        assert_eq!(curl(&server, &["--digest", "-u", "ann:secret"]), "a 200\na 200\n", "{more}");
        assert!(!curl(&server, &["--digest", "-u", "ann:wrong"]).contains("200"), "{more}");
    }
}

#[test]
fn a_nonce_of_another_start_is_stale_and_the_client_asks_nobody_for_the_password_again() {
    let signed = |nonce: &str| {
        format!(
            "Host: localhost\r\nAuthorization: Digest username=\"ann\", realm=\"realm\", nonce=\"{nonce}\", uri=\"/a.txt\", \
             qop=auth, nc=00000001, cnonce=\"c\", response=\"{}\"\r\n",
            "0".repeat(32)
        )
    };
    let (one, other) = (digest("").start(), digest("").start());
    let challenge = one.get("/a.txt").field("WWW-Authenticate").expect("a challenge").to_owned();
    let nonce = challenge.split('"').nth(3).expect("a nonce");
    // What is signed wrongly is told so, whatever the nonce is.
    for server in [&one, &other] {
        let answer = server.get_with("/a.txt", &signed(nonce));
        assert_eq!(answer.status, 401);
        assert!(!answer.field("WWW-Authenticate").expect("a challenge").contains("stale"));
    }
    let _ = one.await_error("AH01794: user ann: password mismatch");
}

#[test]
fn a_file_s_owner_may_see_it_and_others_may_not() {
    needs_root!();
    let location = |path: &str, lines: &str| {
        format!(
            "<Location {path}>\nAuthType Basic\nAuthName x\nAuthUserFile conf/users\n{lines}\n</Location>\n"
        )
    };
    let server = Site::new()
        .config(&location("/own/", "Require file-owner"))
        .config(&location("/group/", "AuthGroupFile conf/groups\nRequire file-group"))
        .file("conf/users", format!("www-data:{SECRET}\ndaemon:{SECRET}\n"))
        .file("conf/groups", "www-data: daemon\nothers: www-data\n")
        .file("htdocs/own/a.txt", "a")
        .owner("htdocs/own/a.txt", 33)
        .file("htdocs/group/a.txt", "a")
        .owner("htdocs/group/a.txt", 33)
        .start();
    // www-data:secret, daemon:secret
    let users = [("d3d3LWRhdGE6c2VjcmV0", [200, 401]), ("ZGFlbW9uOnNlY3JldA==", [401, 200])];
    for (credentials, expected) in users {
        let fields = format!("Host: localhost\r\nAuthorization: Basic {credentials}\r\n");
        let statuses = ["/own/a.txt", "/group/a.txt"].map(|path| server.get_with(path, &fields).status);
        assert_eq!(statuses, expected, "{credentials}");
    }
}
