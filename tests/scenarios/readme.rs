//! What the README shows is run: its configuration, and each of its commands.

use hostler_tests::{Site, hostler, is_root};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The README's text between a line ```` ```LANGUAGE ```` and the end of that block, the first one that contains
/// `text`.
fn block(language: &str, text: &str) -> String {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = std::fs::read_to_string(readme).expect("the README");
    let begin = format!("```{language}\n");
    let blocks = readme.split(&begin).skip(1).filter_map(|rest| rest.split("```").next());
    let mut found = blocks.filter(|block| block.contains(text));
    found.next().unwrap_or_else(|| panic!("no {language} block with {text:?} in the README")).to_owned()
}

/// The README's tenants, in the test's folder and with numbers for users that a test machine does not have.
fn tenants() -> Site {
    let config = block("apache", "anna.example") + &block("apache", "clara.example");
    let mut config = config.replace("/srv", "@ROOT@/srv");
    for (words, numbers) in [
        (
            "Listen 8080",
            "Listen 127.0.0.1:@PORT@\nPidFile \"@ROOT@/hostler.pid\"\nErrorLog \"@ROOT@/logs/error.log\"",
        ),
        ("User  www-data", "User \"#64100\""),
        ("Group www-data", "Group \"#64100\""),
        ("AssignUserID anna anna", "AssignUserID \"#64101\" \"#64101\""),
        ("AssignUserID bert bert", "AssignUserID \"#64102\" \"#64102\""),
        ("AssignUserID clara clara", "AssignUserID \"#64103\" \"#64103\""),
    ] {
        assert!(config.contains(words), "the README's configuration has no {words:?} any more");
        config = config.replace(words, numbers);
    }
    let site = Site::new().plain().config(&config).file("srv/anna/htdocs/x", "Anna's");
    let site =
        site.script("srv/anna/cgi-bin/id.sh", "#!/bin/sh\necho Content-Type: text/plain\necho\nid -u\n");
    let site = programs(site.file("srv/bert/htdocs/x", "Bert's").dir("srv/clara/htdocs"));
    if !is_root() {
        return site.argument("--single-user");
    }
    let owned = [("anna/cgi-bin", 64_101), ("anna/cgi-bin/id.sh", 64_101), ("clara/cgi-bin", 64_103)];
    let owned = owned.into_iter().chain([("clara/cgi-bin/old.pl", 64_103)]);
    owned.fold(site, |site, (name, uid)| site.owner(&format!("srv/{name}"), uid))
}

/// Clara's programs: one for each technique that the README's configuration has.
fn programs(site: Site) -> Site {
    let script = "print \"Content-Type: text/plain\\n\\n\", Shop::name(), qq( $ENV{MOD_PERL});\n";
    let script_of_old =
        "#!/usr/bin/perl\nprint \"Content-Type: text/plain\\n\\n\", ++$n, ' ', !!$INC{'Shop.pm'};\n";
    let shop = "package Shop;\nuse Apache2::RequestRec (); use Apache2::RequestIO ();\nsub name { 'the shop' }\n\
        sub handler { my $r = shift; $r->content_type('text/plain'); $r->print(name(), ', handled'); 0 }\n1;\n";
    let app = "sub { [200, ['Content-Type' => 'text/plain'], ['an application']] };\n";
    let startup = format!("use lib '{}/srv/clara/lib'; require Shop; 1;\n", site.root().display());
    site.file("srv/clara/startup.pl", startup)
        .file("srv/clara/lib/Shop.pm", shop)
        .file("srv/clara/perl/script.pl", script)
        .file("srv/clara/app.psgi", app)
        .script("srv/clara/cgi-bin/old.pl", script_of_old)
}

#[test]
fn the_tenants_are_served() {
    let server = tenants().start();
    assert_eq!(server.get_with("/x", "Host: anna.example\r\n").text(), "Anna's");
    assert_eq!(server.get_with("/x", "Host: bert.example\r\n").text(), "Bert's");
    let uid = server.get_with("/cgi-bin/id.sh", "Host: anna.example\r\n").text();
    let expected = if is_root() { 64_101 } else { rustix::process::geteuid().as_raw() };
    assert_eq!(uid.trim(), expected.to_string(), "{}", server.error_log());
}

#[test]
fn perl_is_served_in_each_technique() {
    let server = tenants().start();
    for _ in 0..2 {
        for (target, text) in [
            ("/perl/script.pl", "the shop mod_perl/2.0.12"),
            ("/shop", "the shop, handled"),
            ("/app", "an application"),
            ("/cgi-bin/old.pl", "1 1"),
        ] {
            let answer = server.get_with(target, "Host: clara.example\r\n");
            assert_eq!(
                (answer.status, answer.text()),
                (200, text.to_owned()),
                "{target}\n{}",
                server.error_log()
            );
        }
    }
}

#[test]
fn each_command_that_only_tells_succeeds() {
    let site = tenants();
    let file = site.write_config(8080);
    let commands = block("sh", "hostler check");
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
fn what_can_be_served_without_a_configuration_is() {
    let app = "sub { [200, ['Content-Type' => 'text/plain'], ['an application']] };\n";
    let site = Site::new().file("public/index.html", "a page").file("app.psgi", app);
    let commands = block("sh", "hostler serve");
    let lines: Vec<_> = commands.lines().filter(|line| line.starts_with("hostler serve ")).collect();
    assert_eq!(lines.len(), 2, "{commands}");
    for (line, text) in lines.into_iter().zip(["a page", "an application"]) {
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
        let mut command = Command::new(hostler());
        command.args(line.split_whitespace().skip(1)).args(["--listen", &format!("127.0.0.1:{port}")]);
        command.current_dir(site.root()).stderr(Stdio::null());
        let _running = Running(command.spawn().expect("hostler runs"));
        let answer = fetch(port);
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(text), "{line}: {answer}");
    }
}

/// The whole answer to a request for `/`, once the server is there.
fn fetch(port: u16) -> String {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Ok(mut connection) = TcpStream::connect(("127.0.0.1", port)) {
            let request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            connection.write_all(request.as_bytes()).expect("the server reads");
            let mut answer = String::new();
            connection.read_to_string(&mut answer).expect("the server answers");
            return answer;
        }
        assert!(Instant::now() < deadline, "nobody listens on port {port}");
        std::thread::sleep(Duration::from_millis(50));
    }
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
