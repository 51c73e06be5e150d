//! The operator's command beside a running server: its output, its defaults, and what it creates at a start.

use crate::faults::process;
use hostler_tests::{SITE_UID, Server, Site, await_that, hostler, needs_root};
use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Runs a command whose output is read by no program any more.
fn with_closed_output(words: &[&str]) -> Output {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(hostler());
    command.args(words).stdout(writer).stderr(Stdio::piped()).stdin(Stdio::null());
    command.output().expect("hostler runs")
}

#[test]
fn a_closed_pipe_ends_every_command_quietly() {
    let server = Site::new().start();
    let file = server.site().path("httpd.conf").to_string_lossy().into_owned();
    let commands: [&[&str]; 8] = [
        &["check", "-f", &file],
        &["sites", "-f", &file],
        &["explain", "-f", &file, "/"],
        &["status", "-f", &file],
        &["status", "--json", "-f", &file],
        &["reload", "-f", &file],
        &["lab", "list"],
        &["--version"],
    ];
    for words in commands {
        let output = with_closed_output(words);
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!printed.contains("panicked") && !printed.contains("error"), "{words:?}: {printed}");
        assert!(
            output.status.code().is_some_and(|code| code == 141 || code == 0),
            "{words:?}: {:?}",
            output.status
        );
    }
}

#[test]
fn the_version_names_engines_and_interpreters() {
    let output = Command::new(hostler()).arg("--version").output().expect("hostler runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.starts_with("hostler "), "{text}");
    for word in ["engine python: ", "interpreter perl: ", "interpreter python3: ", "interpreter java: "] {
        assert!(text.lines().any(|line| line.starts_with(word)), "no {word} in {text}");
    }
}

fn printed(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn change(server: &Server, config: &str) {
    let file = server.site().path("httpd.conf");
    let text = fs::read_to_string(&file).expect("the configuration") + config;
    fs::write(file, text).expect("the configuration");
}

#[test]
fn reload_prints_the_generation_or_the_errors_with_their_lines() {
    let server = Site::new().config("DeflateMemLevel 9").start();
    let (out, err) = printed(&process::reload(&server));
    assert_eq!((out.as_str(), err.as_str()), ("generation 2 serves\n", ""));
    let checked =
        Command::new(hostler()).arg("check").arg("-f").arg(server.site().path("httpd.conf")).output();
    let (_, err) = printed(&checked.expect("hostler runs"));
    assert!(err.contains("DeflateMemLevel is ignored"), "{err}");
    assert!(!server.console().contains("is ignored"), "{}", server.console());
    // Only the planner finds it.
    change(&server, "TransferLog /no/such/folder/log\n");
    let line =
        fs::read_to_string(server.site().path("httpd.conf")).expect("the configuration").lines().count();
    let output = process::reload(&server);
    let (out, err) = printed(&output);
    assert_eq!((output.status.code(), out.as_str()), (Some(1), ""));
    assert!(
        err.contains(&format!("httpd.conf:{line}: TransferLog: the directory /no does not exist")),
        "{err}"
    );
    assert!(err.contains("reload failed; the running configuration stays in place"), "{err}");
    assert!(server.console().contains("the configuration has errors (above)"), "{}", server.console());
}

/// A folder below /run, removed with what is in it.
struct Run(PathBuf);

impl Run {
    fn new(name: &str) -> Self {
        Self(Path::new("/run").join(format!("hostler-test-{name}-{}", std::process::id())))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn folders_for_the_pid_file_are_created_below_run() {
    needs_root!();
    let run = Run::new("pid");
    // /var/run is a link of root's to /run.
    let file = format!("/var{}/apache2/apache2.pid", run.0.display());
    let mut server = Site::new().config(&format!("PidFile {file}")).start();
    await_that("the PidFile", || Path::new(&file).exists());
    for folder in [&run.0, &run.0.join("apache2")] {
        let made = fs::metadata(folder).expect("the folder");
        assert_eq!((made.uid(), made.gid(), made.mode() & 0o7777), (0, 0, 0o755));
    }
    assert_eq!(fs::read_to_string(&file).expect("the PidFile").trim(), server.pid().to_string());
    server.signal(rustix::process::Signal::TERM);
    assert!(server.await_end().success());
    assert!(!Path::new(&file).exists());
    assert_eq!(fs::read_dir(run.0.join("apache2")).expect("the folder").count(), 0);
}

#[test]
fn no_folder_is_created_where_a_tenant_can_write() {
    needs_root!();
    let run = Run::new("tenant");
    fs::create_dir(&run.0).expect("a folder");
    chown(&run.0, Some(SITE_UID), Some(SITE_UID)).expect("root may give it away");
    let config = format!("PidFile {}/below/hostler.pid", run.0.display());
    let Err(printed) = Site::new().config(&config).try_start() else { panic!("it started") };
    assert!(printed.contains("root won't write it there"), "{printed}");
    assert_eq!(fs::read_dir(&run.0).expect("the folder").count(), 0);
}
