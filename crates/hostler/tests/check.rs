//! `hostler check`, black box: what would keep a server from starting is told with its line, and nothing is made.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// An address without a listener.
const LISTEN: &str = "Listen 127.0.0.1:1";

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A ServerRoot, gone when dropped.
struct Root(PathBuf);

impl Root {
    fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("hostler-check-{}-{number}", std::process::id()));
        fs::create_dir_all(path.join("logs")).unwrap();
        fs::create_dir_all(path.join("htdocs")).unwrap();
        Self(path)
    }

    /// Returns whether the lines, from the third on, are good, and what was said.
    fn check(&self, lines: &str) -> (bool, String) {
        let identity = "User #64894\nGroup #64894";
        fs::write(self.0.join("httpd.conf"), format!("{identity}\n{lines}\n")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_hostler"));
        let output = command
            .arg("check")
            .arg("-f")
            .arg(self.0.join("httpd.conf"))
            .args(["-c", LISTEN])
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// A certificate and its key, `NAME.pem` and `NAME.key`. `false`: there is no openssl.
    fn certificate(&self, name: &str) -> bool {
        let mut command = Command::new("openssl");
        command.args(["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
        command.args(["-subj", "/CN=test", "-days", "2", "-keyout", &format!("{name}.key")]);
        let made = command.args(["-out", &format!("{name}.pem")]).current_dir(&self.0).output();
        made.is_ok_and(|output| output.status.success())
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_good_configuration_makes_nothing() {
    let root = Root::new();
    let (good, said) = root.check(
        "ErrorLog logs/e\nCustomLog logs/a common\nCustomLog \"|/bin/cat\" common\nDocumentRoot htdocs",
    );
    assert!(good, "{said}");
    assert_eq!(fs::read_dir(root.0.join("logs")).unwrap().count(), 0, "a log was made");
}

#[test]
fn what_is_missing_is_told_with_its_line() {
    let root = Root::new();
    for (lines, line, told) in [
        ("ErrorLog none/e", 3, "/none does not exist; create it"),
        ("ErrorLog logs/e\nCustomLog none/a common", 4, "/none does not exist; create it"),
        ("ErrorLog logs/e\nCustomLog \"|/no/program\" common", 4, "can't start /no/program"),
        ("ErrorLog logs/e\nDocumentRoot none", 4, "/none does not exist; create it"),
        ("ErrorLog logs/e\nPidFile none/pid", 4, "/none does not exist; create it"),
        ("ErrorLog logs/e\nSSLEngine on\nSSLCertificateFile none.pem", 5, "none.pem"),
    ] {
        let (good, said) = root.check(lines);
        let place = format!("httpd.conf:{line}: ");
        assert!(!good && said.contains(&place) && said.contains(told), "{lines}: {said}");
    }
}

#[test]
fn a_virtual_hosts_missing_root_is_a_warning() {
    let root = Root::new();
    let (good, said) = root.check("ErrorLog logs/e\n<VirtualHost *:80>\nDocumentRoot none\n</VirtualHost>");
    assert!(good && said.contains("warning") && said.contains("httpd.conf:5: DocumentRoot"), "{said}");
}

#[test]
fn certificates_are_tried() {
    let root = Root::new();
    if !(root.certificate("one") && root.certificate("other")) {
        return hostler_untested::untested("there is no openssl that makes certificates");
    }
    let key = fs::read_to_string(root.0.join("one.key")).unwrap();
    fs::write(root.0.join("garbled.key"), key.replace("M", "N")).unwrap();
    fs::write(root.0.join("both.pem"), fs::read_to_string(root.0.join("one.pem")).unwrap() + &key).unwrap();
    let on = "ErrorLog logs/e\nSSLEngine on\nSSLCertificateFile";
    for (lines, told) in [
        (format!("{on} one.pem\nSSLCertificateKeyFile one.key"), None),
        (format!("{on} both.pem"), None),
        (
            format!("{on} one.pem\nSSLCertificateKeyFile other.key"),
            Some("is not the key of the certificate in"),
        ),
        (format!("{on} one.pem"), Some("one.pem has no open private key")),
        (format!("{on} one.key"), Some("one.key has no certificate")),
        (format!("{on} one.pem\nSSLCertificateKeyFile garbled.key"), Some("garbled.key")),
        (
            format!("{on} both.pem\nSSLCertificateChainFile one.key"),
            Some("httpd.conf:6: SSLCertificateChainFile"),
        ),
        ("ErrorLog logs/e\nSSLEngine on".to_string(), Some("SSLEngine on needs an SSLCertificateFile")),
    ] {
        let (good, said) = root.check(&lines);
        assert_eq!(good, told.is_none(), "{lines}: {said}");
        assert!(
            told.is_none_or(|told| said.contains(told) && said.contains("httpd.conf:")),
            "{lines}: {said}"
        );
    }
}

#[test]
fn identities_outside_of_their_range_are_refused() {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return eprintln!("skipped: only root gives sites their users");
    }
    let root = Root::new();
    let lines = "ErrorLog logs/e\nDocumentRoot htdocs";
    assert!(root.check(&format!("LimitUIDRange 64890 64899\nLimitGIDRange 64890 64899\n{lines}")).0);
    for range in ["LimitUIDRange 1000 2000", "LimitGIDRange 1000 2000"] {
        let (good, said) = root.check(&format!("{range}\n{lines}"));
        assert!(!good && said.contains("is outside of Limit"), "{range}: {said}");
    }
}
