//! `hostler lab` from outside: what it says to wrong arguments, and its exit status.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn lab(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hostler")).arg("lab").args(words).output().expect("hostler runs")
}

fn says(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

#[test]
fn what_does_not_exist_is_refused_with_what_does() {
    for (words, expected) in [
        (&["regestry"][..], "expected one of registry, include, isolation, bench1"),
        (&["registry", "--contestants", "iis"], "expected one of hostler, apache-prefork"),
        (&["registry", "--technique", "fortran"], "expected one of handler, registry"),
        (&["bench1", "--only", "all"], "expected one of cgi-c, cgi-perl"),
        (&["registry", "--cpu", "0"], "--cpu 0"),
        (&["registry", "--database", "mysql"], "sqlite, postgresql"),
        (&["./none.toml"], "cannot read the scenario ./none.toml"),
    ] {
        let output = lab(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", says(&output));
        assert!(says(&output).contains(expected), "{words:?}: {}", says(&output));
    }
}

#[test]
fn the_list_names_scenarios_and_servers() {
    let output = lab(&["list"]);
    assert!(output.status.success());
    for name in ["registry", "bench4", "apache-itk", "nginx"] {
        assert!(says(&output).contains(name), "{name}");
    }
}

#[test]
fn runs_that_are_none_can_not_be_compared_or_reported() {
    for words in [&["compare", "/none", "/none"][..], &["report", "/none"]] {
        let output = lab(words);
        assert_eq!(output.status.code(), Some(1), "{}", says(&output));
        assert!(says(&output).contains("cannot read the run /none"), "{}", says(&output));
    }
}

/// A run of one page of nginx's into a folder; `None`: nginx is not installed.
fn nginx(rounds: &str, out: &Path) -> Option<Command> {
    let list = lab(&["list"]);
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    if list.lines().any(|line| line.trim_start().starts_with("nginx ") && line.contains("not installed")) {
        hostler_untested::untested("nginx is not installed");
        return None;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_hostler"));
    command.args("lab include --quick --contestants nginx --only static-keep-alive --rounds".split(' '));
    command.arg(rounds).arg("--out").arg(out).stdout(Stdio::piped()).stderr(Stdio::piped());
    Some(command)
}

#[test]
fn an_interrupted_run_leaves_a_report_of_what_there_was() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let Some(mut command) = nginx("500", &out) else { return };
    let child = command.spawn().unwrap();
    // Time: the lab takes seconds to warm up, and is to be interrupted while it measures.
    std::thread::sleep(Duration::from_secs(6));
    let interrupted = Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap();
    assert!(interrupted.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", says(&output));
    assert!(says(&output).contains("the run is incomplete: interrupted"), "{}", says(&output));
    assert!(std::fs::read_to_string(out.join("report.html")).unwrap().contains("interrupted"));
    // It is read again as any other.
    assert!(lab(&["report", &out.to_string_lossy()]).status.success());
}

#[test]
fn a_full_disk_does_not_take_the_figures_along() {
    let folder = tempfile::tempdir().unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=16k", "none"]).arg(folder.path()).stderr(Stdio::null());
    if !mount.status().is_ok_and(|status| status.success()) {
        return hostler_untested::untested("mounting takes root");
    }
    let output = nginx("1", &folder.path().join("run")).map(|mut command| command.output().unwrap());
    let unmounted = Command::new("umount").arg(folder.path()).status().unwrap();
    assert!(unmounted.success());
    let Some(output) = output else { return };
    assert_eq!(output.status.code(), Some(1), "{}", says(&output));
    let said = says(&output);
    assert!(said.contains("No space left") && said.contains("requests/s"), "{said}");
}

#[test]
fn a_load_that_nobody_answers_has_failed() {
    let nobody =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|taken| taken.local_addr()).expect("a port");
    let output = lab(&["load", &format!("http://{nobody}/"), "--requests", "3"]);
    assert_eq!(output.status.code(), Some(1), "{}", says(&output));
    assert!(says(&output).contains("no request was answered"), "{}", says(&output));
}
