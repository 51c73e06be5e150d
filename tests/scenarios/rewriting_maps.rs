//! Programs as maps of rewriting, black box: who they run as, and what becomes of requests when they misbehave.

use hostler_tests::{SITE_UID, Server, Site, is_root, needs_root};

/// A server whose map `ask` is this program, and which serves what that says.
fn site(program: &str) -> Site {
    Site::new()
        .config("RewriteEngine On\nRewriteMap ask prg:@ROOT@/htdocs/map\nRewriteRule ^/x/(.*) /${ask:$1|none.txt} [L]\n")
        .config("Timeout 2\n")
        .script("htdocs/map", format!("#!/bin/sh\n{program}\n"))
        .dir("state")
        .mode("state", 0o777)
        .file("htdocs/a.txt", "a")
        .file("htdocs/b.txt", "b")
        .file("htdocs/none.txt", "none")
}

fn lines(server: &Server, name: &str) -> usize {
    std::fs::read_to_string(server.site().path(name)).map_or(0, |text| text.lines().count())
}

const ECHO: &str =
    "echo started >>\"${0%/*}/../state/starts\"\nwhile read -r line; do echo \"$line.txt\"; done";

#[test]
fn one_program_answers_all_requests_in_turn() {
    let server = site(ECHO).start();
    let clients: Vec<_> = (0..40)
        .map(|n| {
            let name = if n % 2 == 0 { "a" } else { "b" };
            (server.connect(), name)
        })
        .collect();
    let mut clients: Vec<_> = clients
        .into_iter()
        .map(|(mut client, name)| {
            client.send(format!("GET /x/{name} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
            (client, name)
        })
        .collect();
    for (client, name) in &mut clients {
        assert_eq!(client.response().text(), *name);
    }
    assert_eq!(lines(&server, "state/starts"), 1);
}

#[test]
fn a_program_that_ends_is_started_anew_and_the_question_asked_again() {
    let server = site("echo started >>\"${0%/*}/../state/starts\"\nread -r line; echo \"$line.txt\"").start();
    for name in ["a", "b", "a"] {
        assert_eq!(server.get(&format!("/x/{name}")).text(), name);
    }
    assert_eq!(lines(&server, "state/starts"), 3);
}

#[test]
fn a_program_that_only_dies_is_a_500_that_tells_how() {
    let server = site("echo 'no table' >&2\nread -r line\nexit 7").start();
    assert_eq!(server.get("/x/a").status, 500);
    let line = server.await_error("can't be asked");
    assert!(line.contains("exit status 7") && line.contains("no table"), "{line}");
    assert_eq!(server.get("/b.txt").text(), "b");
    // It is not started for each request: the cause of the last start is told.
    assert_eq!(server.get("/x/a").status, 500);
    let _ = server.await_error("ms ago");
}

#[test]
fn a_program_that_hangs_costs_its_own_requests_a_timeout_and_nobody_else_anything() {
    let server = site("while read -r line; do [ \"$line\" = a ] || echo \"$line.txt\"; done").start();
    let mut waits = server.connect();
    waits.send("GET /x/a HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(server.get("/b.txt").text(), "b");
    assert_eq!(waits.response().status, 500);
    let _ = server.await_error("it has not answered within 2 s");
}

#[test]
fn an_answer_without_an_end_and_one_of_a_megabyte_are_500() {
    for program in [
        "read -r line; head -c 1000000 /dev/zero | tr '\\0' x; read -r line",
        "read -r line; printf a.txt; read -r line",
    ] {
        let server = site(program).start();
        assert_eq!(server.get("/x/a").status, 500, "{program}");
        let line = server.await_error("can't be asked");
        assert!(
            line.contains("longer than")
                || line.contains("has not answered")
                || line.contains("more than one line"),
            "{line}"
        );
        assert_eq!(server.get("/b.txt").text(), "b");
    }
}

#[test]
fn two_lines_for_a_question_never_answer_the_next_one() {
    let server = site("while read -r line; do echo \"$line.txt\"; echo b.txt; done").start();
    for _ in 0..4 {
        let answer = server.get("/x/a");
        assert!(answer.status == 500 || answer.text() == "a", "{}: {}", answer.status, answer.text());
    }
}

#[test]
fn no_map_s_program_runs_as_root() {
    needs_root!();
    let server = site("while read -r line; do echo \"$(id -u).txt\"; done")
        .file(&format!("htdocs/{SITE_UID}.txt"), "the site's user")
        .start();
    assert!(is_root());
    assert_eq!(server.get("/x/a").text(), "the site's user");
}

#[test]
fn a_tenant_s_rules_ask_the_program_as_the_tenant_and_reach_nobody_else() {
    needs_root!();
    let host = |name: &str, uid: u32| {
        format!(
            "<VirtualHost *:@PORT@>\nServerName {name}.test\nDocumentRoot \"@ROOT@/{name}\"\nAssignUserID #{uid} #{uid}\n\
             RewriteEngine On\nRewriteMap ask prg:@ROOT@/{name}/map\n\
             RewriteMap names txt:@ROOT@/{name}/names.txt\n\
             <Directory \"@ROOT@/{name}\">\nRequire all granted\nAllowOverride All\nOptions +FollowSymLinks\n\
             </Directory>\n</VirtualHost>\n"
        )
    };
    let tenant = |site: Site, name: &str, uid: u32| {
        let program = "#!/bin/sh\nwhile read -r line; do echo \"$line-$(id -u).txt\"; done\n";
        let rules = "RewriteEngine On\nRewriteRule ^ask/(.*) ${ask:$1} [L]\nRewriteRule ^name/(.*) ${names:$1} [L]\n\
                     RewriteRule ^up/(.*) /../bert/$1 [L]\nRewriteRule ^file/(.*) %{DOCUMENT_ROOT}/../bert/$1 [L]\n\
                     RewriteRule ^home/(.*) /~root/$1 [L]\n";
        let site = site.dir(name).script(&format!("{name}/map"), program);
        let site = site
            .file(&format!("{name}/.htaccess"), rules)
            .file(&format!("{name}/names.txt"), "k secret.txt\n");
        let site = site
            .file(&format!("{name}/secret.txt"), format!("{name}'s"))
            .mode(&format!("{name}/secret.txt"), 0o600);
        let site = site.file(&format!("{name}/who-{uid}.txt"), format!("ran as {name}"));
        ["", "/map", "/.htaccess", "/names.txt", "/secret.txt", &format!("/who-{uid}.txt")]
            .iter()
            .fold(site, |site, part| site.owner(&format!("{name}{part}"), uid))
            .mode(name, 0o700)
    };
    let site = tenant(tenant(Site::new(), "anna", 64_111), "bert", 64_112);
    let server = site.config(&host("anna", 64_111)).config(&host("bert", 64_112)).start();
    let get = |name: &str, target: &str| server.get_with(target, &format!("Host: {name}.test\r\n"));
    for name in ["anna", "bert"] {
        assert_eq!(get(name, "/ask/who").text(), format!("ran as {name}"));
        assert_eq!(get(name, "/name/k").text(), format!("{name}'s"));
    }
    for target in ["/up/secret.txt", "/file/secret.txt", "/home/x"] {
        let answer = get("anna", target);
        assert!(matches!(answer.status, 400 | 403 | 404), "{target}: {} {}", answer.status, answer.text());
    }
}
