//! Packaged CGI applications, each with the Apache configuration that its package brings, included unchanged.

use hostler_tests::{SITE_UID, Server, Site, is_root, needs_program};
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a program in the site's folder, as the tests' own user.
fn in_site(site: &Site, program: &str, arguments: &[&str]) {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(site.root())
        // Nobody's own settings.
        .env("HOME", site.root())
        .stdin(Stdio::null())
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn cgit() -> Server {
    let site = Site::new().file("work/hello.txt", "Hello").file(
        "cgitrc",
        // Read from top to bottom: a repository ends the general part.
        "css=/cgit-css/cgit.css\nlogo=/cgit-css/cgit.png\nvirtual-root=/cgit/\n\
         repo.url=example\nrepo.path=@ROOT@/work/.git\nrepo.desc=An example repository\n",
    );
    let text = std::fs::read_to_string(site.path("cgitrc")).expect("just written");
    let root = site.root().to_string_lossy().into_owned();
    let site = site.file("cgitrc", text.replace("@ROOT@", &root));
    in_site(&site, "git", &["init", "--quiet", "work"]);
    in_site(&site, "git", &["-C", "work", "add", "hello.txt"]);
    let author = ["-c", "user.name=Anna", "-c", "user.email=anna@anna.example"];
    in_site(
        &site,
        "git",
        &[&["-C", "work"], &author[..], &["commit", "--quiet", "-m", "Say hello"]].concat(),
    );
    if is_root() {
        let owner = format!("{SITE_UID}:{SITE_UID}");
        in_site(&site, "chown", &["-R", &owner, "work"]);
    }
    let site =
        site.config("SetEnv CGIT_CONFIG \"@ROOT@/cgitrc\"\nAddType text/css .css\nAddType image/png .png");
    let site = site.config("<Directory \"/usr/share/cgit\">\n  Require all granted\n</Directory>");
    site.config("Include /etc/apache2/conf-available/cgit.conf").start()
}

#[test]
fn cgit_shows_a_repository() {
    needs_program!("/usr/lib/cgit/cgit.cgi");
    let server = cgit();
    let list = server.get("/cgit/");
    assert_eq!(list.status, 200, "{}\n{}", list.text(), server.error_log());
    assert!(list.text().contains("An example repository"), "{}", list.text());
    let log = server.get("/cgit/example/log/").text();
    assert!(log.contains("Say hello") && log.contains("Anna"), "{log}");
    let file = server.get("/cgit/example/plain/hello.txt");
    assert_eq!(file.text(), "Hello");
}

#[test]
fn the_package_s_aliases_and_redirects_hold() {
    needs_program!("/usr/lib/cgit/cgit.cgi");
    let server = cgit();
    let style = server.get("/cgit-css/cgit.css");
    assert_eq!((style.status, style.field("Content-Type")), (200, Some("text/css")));
    let redirect = server.get("/cgit");
    assert_eq!(redirect.status, 302);
    assert!(redirect.field("Location").is_some_and(|target| target.ends_with("/cgit/")), "{redirect:?}");
}

#[test]
fn awstats_shows_statistics_of_a_log() {
    const SNIPPET: &str = "/usr/share/doc/awstats/examples/apache.conf";
    needs_program!("/usr/lib/cgi-bin/awstats.pl");
    let line = "203.0.113.9 - - [20/Nov/2026:10:00:00 +0000] \"GET /pony.html HTTP/1.1\" 200 5 \"-\" \"Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0\"\n";
    let site = Site::new().file("visits.log", line.repeat(3)).dir("statistics");
    let root = site.root().to_string_lossy().into_owned();
    let site = site.file(
        "awstats.example.conf",
        format!(
            "LogFile=\"{root}/visits.log\"\nLogFormat=1\nSiteDomain=\"example\"\nDirData=\"{root}/statistics\"\n\
             DirIcons=\"/awstats-icon\"\nDNSLookup=0\nLang=\"en\"\n"
        ),
    );
    in_site(
        &site,
        "/usr/lib/cgi-bin/awstats.pl",
        &["-config=example", "-update", &format!("-configdir={root}")],
    );
    let include = if Path::new(SNIPPET).exists() {
        format!("Include {SNIPPET}")
    } else {
        // Some installations leave out everything below /usr/share/doc.
        "ScriptAlias /cgi-bin/ /usr/lib/cgi-bin/".to_owned()
    };
    let open = "<Directory \"/usr/lib/cgi-bin\">\n  Require all granted\n</Directory>";
    let server =
        site.config("SetEnv AWSTATS_ENABLE_CONFIG_DIR \"@ROOT@\"").config(open).config(&include).start();
    let page = server.get(&format!(
        "/cgi-bin/awstats.pl?config=example&configdir={root}&month=11&year=2026&framename=mainright"
    ));
    assert_eq!(page.status, 200, "{}", server.error_log());
    assert!(page.text().contains("Statistics for") && page.text().contains("/pony.html"), "{}", page.text());
}
