//! Limits of a site's programs and access files: hosts without Perl, and the figures of all sites.

use super::site;

/// A guarded place in the main server, and virtual hosts with this in them.
fn without_perl(options: &str) -> String {
    format!(
        "<Location /guarded>\nPerlAccessHandler \"sub {{ 403 }}\"\n</Location>\n\
         <Location /secret>\nSetHandler modperl\nPerlResponseHandler W\nPerlAccessHandler \"sub {{ 403 }}\"\n</Location>\n\
         <Location /app>\nSetHandler psgi\nPSGIApp @ROOT@/app.psgi\n</Location>\n\
         <VirtualHost *:@PORT@>\nServerName with.test\n</VirtualHost>\n\
         <VirtualHost *:@PORT@>\nServerName without.test\n{options}\n</VirtualHost>"
    )
}

#[test]
fn a_host_without_perl_runs_none_and_serves_nothing_that_perl_guards() {
    let server = site(&without_perl("PerlOptions -Enable"))
        .file("htdocs/guarded/file.txt", "for nobody")
        .file("htdocs/free.txt", "for all")
        .file("app.psgi", "sub { [200, ['Content-Type', 'text/plain'], ['app']] }")
        .start();
    let get = |host: &str, path: &str| server.get_with(path, &format!("Host: {host}.test\r\n")).status;
    for (path, with, without) in [
        ("/free.txt", 200, 200),
        ("/guarded/file.txt", 403, 500),
        ("/guarded/file.txt", 403, 500),
        ("/secret", 403, 500),
        ("/w/pid", 200, 500),
        ("/app", 200, 500),
    ] {
        assert_eq!((get("with", path), get("without", path)), (with, without), "{path}");
    }
    let _ = server.await_error("PerlAccessHandler has a say in who may see this: nobody may");
    let _ = server.await_error("nothing answers for psgi");
}

#[test]
fn a_phase_that_is_switched_off_for_a_host_still_guards_what_the_main_server_says() {
    let server = site(&without_perl("PerlOptions -Access")).file("htdocs/guarded/file.txt", "x").start();
    assert_eq!(server.get_with("/guarded/file.txt", "Host: without.test\r\n").status, 403);
}

#[test]
fn handlers_of_what_is_switched_off_are_mistakes_as_in_mod_perl() {
    for (options, mistake) in [
        ("PerlOptions -Access\nPerlAccessHandler W", "PerlOptions -Access stands before"),
        (
            "PerlOptions -Enable\n<Location /x>\nPerlFixupHandler W\n</Location>",
            "PerlOptions -Enable stands before",
        ),
    ] {
        let Err(text) = site(&without_perl(options)).try_start() else { panic!("{options} was accepted") };
        assert!(text.contains(mistake), "{text}");
    }
    let back = "PerlOptions -Access\nPerlOptions +Access\nPerlAccessHandler W";
    assert!(site(&without_perl(back)).try_start().is_ok());
}

/// Texts of a tenant, with the last line that the ErrorLog has to contain.
const PEEPHOLES: [(&str, &str); 8] = [
    ("SetHandler server-status", "shows figures of all sites"),
    ("SetHandler Hostler-Metrics", "shows figures of all sites"),
    ("SetHandler balancer-manager", "shows figures of all sites"),
    ("AddHandler server-status .txt", "shows figures of all sites"),
    ("<If \"true\">\nSetHandler hostler-metrics\n</If>", "shows figures of all sites"),
    ("SetHandler %{tolower:SERVER-STATUS}", "figures of all sites are shown where"),
    ("SetHandler %{tolower:BALANCER-MANAGER}", "figures of all sites are shown where"),
    (
        "PerlFixupHandler \"sub { $_[0]->handler('hostler-metrics'); 0 }\"",
        "figures of all sites are shown where",
    ),
];

#[test]
fn a_site_cannot_show_itself_the_figures_of_all() {
    let all = "<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>";
    for (text, told) in PEEPHOLES {
        let server = site(all)
            .file("htdocs/t/.htaccess", text)
            .file("htdocs/t/x.txt", "x")
            .file("htdocs/x.txt", "x")
            .start();
        let answer = server.get("/t/x.txt");
        assert_eq!(answer.status, 500, "{text}: {}", answer.text());
        let _ = server.await_error(told);
        assert_eq!(server.get("/x.txt").status, 200, "{text}");
        assert_eq!(server.get("/metrics").status, 200, "{text}");
    }
}

#[test]
fn the_server_s_configuration_shows_figures_by_any_means() {
    let server = site(
        "AddHandler server-status .st\n<Location /named>\nSetHandler %{tolower:HOSTLER-METRICS}\n</Location>",
    )
    .file("htdocs/page.st", "x")
    .start();
    assert!(server.get("/page.st?auto").text().contains("Scoreboard: "));
    assert!(server.get("/named").text().contains("hostler_pool_workers"));
}
