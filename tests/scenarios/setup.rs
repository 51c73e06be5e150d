//! `setup.sh`, the first thing that a visitor runs: what it finds missing, and which cargo it takes. It installs nothing
//! here; `cargo xtask fresh` has it install everything on a fresh machine.

use hostler_tests::Site;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// bash in the checkout, whose PATH begins with the site's `bin`, and whose home is the site's `home`.
fn bash(site: &Site, arguments: &[&str]) -> Output {
    let path = format!("{}:/usr/bin:/bin", site.path("bin").display());
    let mut bash = Command::new("bash");
    bash.args(arguments).current_dir(checkout()).env("PATH", path).env("HOME", site.path("home"));
    bash.env_remove("CARGO_HOME").output().expect("bash")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A program that only tells its version.
fn cargo(version: &str) -> String {
    format!("#!/bin/sh\necho 'cargo {version} (0123456789 2026-01-01)'\n")
}

#[test]
fn an_old_cargo_is_refused_at_once_by_its_version() {
    let site = Site::new().dir("home").script("bin/cargo", cargo("1.65.0"));
    let output = bash(&site, &["./setup.sh", "run"]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cargo 1.65.0") && said.contains("needs cargo 1.90 or newer"), "{said}");
    assert!(!said.contains("is missing"), "{said}");
}

#[test]
fn a_cargo_that_is_new_enough_is_taken_wherever_rustup_has_put_it() {
    for (on_the_path, at_home, expected) in [
        ("1.90.0", "1.99.0", "bin/cargo"),
        ("1.100.0-nightly", "1.65.0", "bin/cargo"),
        ("2.0.0", "1.65.0", "bin/cargo"),
        ("1.9.0", "1.90.1", "home/.cargo/bin/cargo"),
        ("1.65.0", "1.89.0", ""),
    ] {
        let site = Site::new().script("bin/cargo", cargo(on_the_path));
        let site = site.script("home/.cargo/bin/cargo", cargo(at_home));
        let output = bash(&site, &["./setup.sh", "cargo"]);
        let expected =
            if expected.is_empty() { String::new() } else { site.path(expected).display().to_string() };
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected, "{on_the_path} {at_home}");
    }
}

#[test]
fn each_release_has_the_php_that_it_brings() {
    for (release, wanted) in [
        ("debian 12", "php8.2-dev libphp8.2-embed php8.2-sqlite3 /usr/lib/php/20220829/pdo_sqlite.so"),
        ("debian 13", "php8.4-dev libphp8.4-embed php8.4-sqlite3 /usr/lib/php/20240924/pdo_sqlite.so"),
        ("ubuntu 24.04", "php8.3-dev libphp8.3-embed php8.3-sqlite3 /usr/lib/php/20230831/pdo_sqlite.so"),
        ("", "php8.2-dev libphp8.2-embed php8.2-sqlite3 /usr/lib/php/20220829/pdo_sqlite.so"),
    ] {
        let probe = format!("source <(sed '/^main$/d' setup.sh); release() {{ echo '{release}'; }}; needs");
        let output = bash(&Site::new().dir("home"), &["-c", &probe]);
        let said = said(&output);
        for word in wanted.split(' ') {
            assert!(said.contains(word), "{release}: no {word} in {said}");
        }
        assert!(wanted.contains("8.2") || !said.contains("php8.2"), "{release}: {said}");
    }
}

#[test]
fn perl_s_library_is_there_when_the_linker_finds_it() {
    for (status, there) in [("0", true), ("1", false)] {
        // The headers are there: Debian's perl itself brings them along. Functions, since a program that was just
        // written may be busy for as long as another test starts one of its own.
        let probe = format!(
            "perl() {{ case \"$*\" in *ldopts*) echo -lperl;; esac; }}\n\
             cc() {{ case \"$*\" in *-lperl*) return {status};; esac; }}\n\
             source <(sed '/^main$/d' setup.sh); present libperl"
        );
        let site = Site::new().dir("home");
        let output = bash(&site, &["-c", &probe]);
        assert_eq!(output.status.success(), there, "{}", said(&output));
    }
}
