//! What the README shows is run: its configuration, and each of its commands.

use hostler_tests::{Site, hostler, is_root};
use std::path::Path;
use std::process::Command;

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

/// The README's two tenants, in the test's folder and with numbers for users that a test machine does not have.
fn two_tenants() -> Site {
    let mut config = block("apache", "anna.example").replace("/srv", "@ROOT@/srv");
    for (words, numbers) in [
        (
            "Listen 8080",
            "Listen 127.0.0.1:@PORT@\nPidFile \"@ROOT@/hostler.pid\"\nErrorLog \"@ROOT@/logs/error.log\"",
        ),
        ("User  www-data", "User \"#64100\""),
        ("Group www-data", "Group \"#64100\""),
        ("AssignUserID anna anna", "AssignUserID \"#64101\" \"#64101\""),
        ("AssignUserID bert bert", "AssignUserID \"#64102\" \"#64102\""),
    ] {
        assert!(config.contains(words), "the README's configuration has no {words:?} any more");
        config = config.replace(words, numbers);
    }
    let site = Site::new().plain().config(&config).file("srv/anna/htdocs/x", "Anna's");
    let site =
        site.script("srv/anna/cgi-bin/id.sh", "#!/bin/sh\necho Content-Type: text/plain\necho\nid -u\n");
    let site = site.file("srv/bert/htdocs/x", "Bert's");
    if is_root() {
        site.owner("srv/anna/cgi-bin", 64_101).owner("srv/anna/cgi-bin/id.sh", 64_101)
    } else {
        site.argument("--single-user")
    }
}

#[test]
fn the_two_tenants_are_served() {
    let server = two_tenants().start();
    assert_eq!(server.get_with("/x", "Host: anna.example\r\n").text(), "Anna's");
    assert_eq!(server.get_with("/x", "Host: bert.example\r\n").text(), "Bert's");
    let uid = server.get_with("/cgi-bin/id.sh", "Host: anna.example\r\n").text();
    let expected = if is_root() { 64_101 } else { rustix::process::geteuid().as_raw() };
    assert_eq!(uid.trim(), expected.to_string(), "{}", server.error_log());
}

#[test]
fn each_command_that_only_tells_succeeds() {
    let site = two_tenants();
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
