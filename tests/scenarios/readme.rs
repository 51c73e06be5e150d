//! Runs what README.md and docs/first-site.md show: the configuration, and each command.

use hostler_tests::{Site, hostler, is_root, until};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const README: &str = "README.md";
const FIRST_SITE: &str = "docs/first-site.md";

/// Returns the first block ```` ```LANGUAGE ```` of a page that contains `text`.
fn block(page: &str, language: &str, text: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page);
    let content = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{page}: {error}"));
    let begin = format!("```{language}\n");
    let blocks = content.split(&begin).skip(1).filter_map(|rest| rest.split("```").next());
    let mut found = blocks.filter(|block| block.contains(text));
    found.next().unwrap_or_else(|| panic!("no {language} block with {text:?} in {page}")).to_owned()
}

/// The page's tenants, in the test's folder. Numbers replace the users, which a test machine does not have. The page's own
/// commands create the files.
fn tenants() -> Site {
    let config = block(FIRST_SITE, "apache", "anna.example") + &block(FIRST_SITE, "apache", "clara.example");
    let mut config = config.replace("/srv", "@ROOT@/srv");
    for (words, numbers) in [
        ("Listen 8081", "Listen 127.0.0.1:@PORT@"),
        ("@ROOT@/srv/logs/error.log", "@ROOT@/logs/error.log"),
        ("User  www-data", "User \"#64100\""),
        ("Group www-data", "Group \"#64100\""),
        ("AssignUserID anna anna", "AssignUserID \"#64101\" \"#64101\""),
        ("AssignUserID bert bert", "AssignUserID \"#64102\" \"#64102\""),
        ("AssignUserID clara clara", "AssignUserID \"#64103\" \"#64103\""),
    ] {
        assert!(config.contains(words), "{FIRST_SITE} has no {words:?} any more");
        config = config.replace(words, numbers);
    }
    let site = Site::new().plain().config(&config).dir("srv");
    paste(&site, &(block(FIRST_SITE, "sh", "for tenant in") + &block(FIRST_SITE, "sh", "clara/startup.pl")));
    if is_root() { site } else { site.argument("--single-user") }
}

/// Runs the page's lines with other users and another folder.
fn paste(site: &Site, lines: &str) {
    let lines = lines.replace("/srv", &site.path("srv").display().to_string());
    let owner = if is_root() { "-o $(number $3) -g $(number $5)" } else { "" };
    // `install -d -o USER -g GROUP -m MODE FOLDER...`
    let script = format!(
        "set -eu\numask 022\nuseradd() {{ :; }}\n\
         number() {{ case $1 in anna) echo 64101;; bert) echo 64102;; clara) echo 64103;; esac; }}\n\
         install() {{ owner=\"{owner}\"; shift 5; command install -d $owner \"$@\"; }}\n{lines}"
    );
    let status = Command::new("sh").args(["-c", &script]).status().expect("a shell");
    assert!(status.success(), "{script}");
}

#[test]
fn the_tenants_are_served() {
    let server = tenants().start();
    assert_eq!(server.get_with("/", "Host: anna.example\r\n").text(), "This is anna's page.\n");
    assert_eq!(server.get_with("/", "Host: bert.example\r\n").text(), "This is bert's page.\n");
    let identity = server.get_with("/cgi-bin/whoami", "Host: anna.example\r\n").text();
    let expected = if is_root() { 64_101 } else { rustix::process::geteuid().as_raw() };
    assert!(identity.starts_with(&format!("uid={expected}")), "{identity}{}", server.error_log());
}

#[test]
fn perl_is_served_in_each_technique() {
    let server = tenants().start();
    for _ in 0..2 {
        for (target, text) in [
            ("/perl/hello.pl", "in mod_perl/2.0.12"),
            ("/shop", "Clara's shop, by "),
            ("/app", "Clara's application, by "),
            ("/cgi-bin/hello.pl", "Clara's 1 in CGI"),
        ] {
            let answer = server.get_with(target, "Host: clara.example\r\n");
            assert_eq!(answer.status, 200, "{target}\n{}", server.error_log());
            assert!(answer.text().contains(text), "{target}: {}", answer.text());
        }
    }
}

#[test]
fn each_command_that_only_prints_succeeds() {
    let site = tenants();
    let file = site.write_config(8080);
    let commands = block(FIRST_SITE, "sh", "hostler check");
    for line in commands.lines().filter(|line| !line.contains("run ") && !line.contains("reload")) {
        let words = line.split('#').next().unwrap_or_default().split_whitespace().skip(1);
        let arguments = words.map(|word| if word == "httpd.conf" { file.as_os_str() } else { word.as_ref() });
        let output = Command::new(hostler()).args(arguments).output().expect("hostler runs");
        assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
        assert!(
            !line.contains("sites") || String::from_utf8_lossy(&output.stdout).contains("bert.example"),
            "{line}"
        );
    }
}

#[test]
fn folders_and_applications_are_served_without_a_configuration() {
    let site = Site::new();
    let commands = block(README, "sh", "hostler serve");
    let (lines, files): (Vec<_>, Vec<_>) =
        commands.lines().partition(|line| line.starts_with("hostler serve "));
    assert_eq!(lines.len(), 2, "{commands}");
    let laid_out = Command::new("sh").args(["-ec", &files.join("\n")]).current_dir(site.root()).status();
    assert!(laid_out.expect("a shell").success(), "{files:?}");
    for line in lines {
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
        let mut command = Command::new(hostler());
        command.args(line.split_whitespace().skip(1)).args(["--listen", &format!("127.0.0.1:{port}")]);
        command.current_dir(site.root()).stderr(Stdio::null());
        let _running = Running(command.spawn().expect("hostler runs"));
        let answer = fetch(port);
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.trim_end().ends_with("Hello"),
            "{line}: {answer}"
        );
    }
}

/// The whole answer to a request for `/`, once the server is there.
fn fetch(port: u16) -> String {
    let mut connection = until("somebody listens", || TcpStream::connect(("127.0.0.1", port)).ok());
    let request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    connection.write_all(request.as_bytes()).expect("the server reads");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).expect("the server answers");
    answer
}

/// A server that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.0.wait();
    }
}
