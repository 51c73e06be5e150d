//! The showcase, as `make run` serves it: every page of it, the guest book, the neighbour, and a real browser.

mod java;
mod python;
mod techniques;

use hostler_tests::{Response, Server, Site, hostler, is_root, needs_program, needs_root};
use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/showcase")
}

/// Laid out by its own script and served with its own configuration, on another port.
fn showcase() -> Server {
    laid_out(Site::new()).start()
}

fn laid_out(site: Site) -> Site {
    let site = site.plain();
    let status = Command::new(examples().join("prepare.sh")).arg(site.root()).status();
    assert!(status.expect("prepare.sh runs").success());
    let config = std::fs::read_to_string(examples().join("httpd.conf")).expect("the configuration");
    let site = site.config(&config).environment("SHOWCASE", "@ROOT@");
    let site =
        site.environment("SHOWCASE_LISTEN", "127.0.0.1:@PORT@").argument("-D").argument("OtherAddress");
    if is_root() { site } else { site.argument("--single-user") }
}

/// The paths of the guest book in each technique.
const BOOKS: [&str; 4] = ["/guestbook", "/perl/guestbook.pl", "/handler/guestbook", "/psgi/guestbook"];

fn sign(server: &Server, book: &str, fields: &str, form: &str) -> Response {
    server.request(
        format!(
            "POST {book} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             {fields}Content-Length: {}\r\nConnection: close\r\n\r\n{form}",
            form.len()
        )
        .as_bytes(),
    )
}

#[test]
fn every_page_answers_as_it_should() {
    let server = showcase();
    for (target, status, text) in [
        ("/", 200, "Server-side includes"),
        ("/style.css", 200, "color-scheme"),
        ("/houses.svg", 200, "<svg"),
        ("/ssi/", 200, "apples &amp; pears, twice"),
        ("/cgi-bin/hello.sh", 200, "Hello from process"),
        ("/cgi-bin/environment.pl/some/path?a=1", 200, "/some/path"),
        ("/cgi-bin/source.pl?part=configuration", 200, "AssignUserID"),
        ("/guestbook", 200, "Your words"),
        ("/perl/counter.pl", 200, "It sees mod_perl/2"),
        ("/handler/visitor", 200, "Good to see you, 127.0.0.1!"),
        ("/psgi/hello", 200, "mounted at <code>/psgi/hello</code>"),
        ("/psgi/hello/drip", 200, "Line 10"),
        ("/perl/guestbook.pl", 200, "action=\"/perl/guestbook.pl\""),
        ("/handler/guestbook", 200, "action=\"/handler/guestbook\""),
        ("/psgi/guestbook", 200, "action=\"/psgi/guestbook\""),
        ("/isolation/persistent/survivor.pl", 200, "its request no. <strong>"),
        ("/isolation/fork/survivor.pl", 200, "its request no. <strong>1</strong>"),
        ("/isolation/exec/survivor.pl", 200, "its request no. <strong>1</strong>"),
        ("/server-status", 200, "Pool perl"),
        ("/server-status?auto", 200, "Scoreboard: "),
        ("/metrics", 200, "# TYPE hostler_"),
        ("/files/", 200, "The picture of the start page"),
        ("/articles/", 200, "Addresses that no file has"),
        ("/articles/old-houses", 200, "article.shtml?name=old-houses"),
        ("/articles/news/old-houses", 301, "/articles/old-houses"),
        ("/articles/notes.bak", 403, ""),
        ("/no/such/page", 404, "There is no page at <code>/no/such/page</code>"),
        ("/private/secret.txt", 403, "not open to visitors"),
        ("/members/", 401, ""),
        ("/cgi-bin/broken.sh", 500, ""),
    ] {
        let answer = server.get(target);
        assert_eq!(answer.status, status, "{target}\n{}\n{}", answer.text(), server.error_log());
        assert!(answer.text().contains(text), "{target}: {text:?} is not in\n{}", answer.text());
    }
    let _ = server.await_error("the database is away");
}

#[test]
fn php_has_a_page_and_the_same_guest_book() {
    let php = hostler_tests::needs_php!("pdo_sqlite");
    let server = showcase();
    let hello = server.get("/php/hello.php");
    assert!(hello.status == 200 && hello.text().contains(&format!("PHP {}", php.whole)), "{}", hello.text());
    assert!(server.get("/").text().contains("took this script from the site"));
    let book = "/php/guestbook.php";
    assert_eq!(sign(&server, book, "", "name=Anna+%3Cb%3E&words=by+PHP").status, 303);
    assert_eq!(sign(&server, book, "Origin: http://evil.test\r\n", "name=x&words=y").status, 403);
    assert_eq!(sign(&server, book, "", "name=x").status, 422);
    for page in [book, "/guestbook"] {
        let text = server.get(page).text();
        assert!(text.contains("Anna &lt;b&gt;") && text.contains("by PHP") && text.contains(book), "{text}");
    }
    assert_eq!(server.get("/php/").status, 403);
}

#[test]
fn a_fastcgi_program_stays_and_a_balancer_keeps_visitors_with_their_member() {
    let perl = Command::new("/usr/bin/perl").args(["-MFCGI", "-e1"]).stderr(Stdio::null()).status();
    if !perl.is_ok_and(|status| status.success()) {
        return hostler_tests::untested("it takes FCGI.pm (libfcgi-perl)");
    }
    let server = showcase();
    for count in 1..4 {
        let answer = server.get("/fastcgi/visits.fcgi");
        let text = format!("its request no. <strong>{count}</strong>");
        assert!(answer.status == 200 && answer.text().contains(&text), "{}", answer.text());
    }
    assert!(server.get("/").text().contains("Program <strong>visits</strong>"));
    // Who has no cookie goes to either of them in turn.
    let member = |text: &str| text.split("<strong>").nth(1).map(|rest| rest[..3].to_owned());
    let firsts: Vec<Response> = (0..2).map(|_| server.get("/balanced")).collect();
    let mut members: Vec<_> = firsts.iter().map(|answer| member(&answer.text())).collect();
    members.sort();
    assert_eq!(members, [Some("one".to_owned()), Some("two".to_owned())], "{}", server.error_log());
    for first in &firsts {
        let cookie = first.field("Set-Cookie").and_then(|value| value.split(';').next()).expect("a cookie");
        for _ in 0..3 {
            let again = server.get_with("/balanced", &format!("Host: localhost\r\nCookie: {cookie}\r\n"));
            assert_eq!(member(&again.text()), member(&first.text()), "{cookie}");
            assert_eq!(again.field("Set-Cookie"), None);
        }
    }
}

#[test]
fn the_start_page_is_whole() {
    let server = showcase();
    let page = server.get("/").text();
    assert!(!page.contains("an error occurred while processing this directive"), "{page}");
    assert!(!page.contains("<!--#"), "an element was sent as it is:\n{page}");
    // Sources are shown as text: escaped, never as elements of the page.
    assert!(page.contains("&lt;!--#if expr="), "{page}");
    assert!(page.trim_end().ends_with("</html>"), "{page}");
}

#[test]
fn members_get_in_with_their_password() {
    let server = showcase();
    // guest:guest and guest:wrong
    let right = server.get_with("/members/", "Host: localhost\r\nAuthorization: Basic Z3Vlc3Q6Z3Vlc3Q=\r\n");
    assert_eq!(right.status, 200);
    assert!(right.text().contains("Welcome, guest"), "{}", right.text());
    let wrong = server.get_with("/members/", "Host: localhost\r\nAuthorization: Basic Z3Vlc3Q6d3Jvbmc=\r\n");
    assert_eq!(wrong.status, 401);
}

/// The page's copy of `hostler explain`'s output is correct.
#[test]
fn what_is_explained_of_rewritten_addresses_is_so() {
    let server = showcase();
    let page =
        server.get("/articles/").text().replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">");
    let root = server.site().root().display().to_string();
    for name in ["old-houses", "news/old-houses", "notes.bak"] {
        let config = server.site().path("httpd.conf");
        let url = format!("http://localhost:{}/articles/{name}", server.port());
        let mut command = Command::new(hostler());
        command.arg("explain").arg("-f").arg(config).args(["-D", "OtherAddress"]).arg(&url);
        command.env("SHOWCASE", &root).env("SHOWCASE_LISTEN", format!("127.0.0.1:{}", server.port()));
        let output = command.stdin(Stdio::null()).output().expect("hostler explain runs");
        let said = String::from_utf8_lossy(&output.stdout).replace(&format!("{root}/sites/start/"), "");
        let said = said.replace(&format!(":{}", server.port()), ":8080");
        let from = said.find("rewriting ").unwrap_or_else(|| panic!("{url}: {said}"));
        let to = said[from..].find("\naccess ").map_or(said.len(), |at| from + at);
        assert!(page.contains(&said[from..to]), "{url}: {}", &said[from..to]);
    }
}

#[test]
fn nothing_is_missing_on_the_start_page() {
    let page = showcase().get("/").text();
    for (part, text) in [
        ("registry", "has run this script 1 times"),
        ("handler", "Good to see you"),
        ("psgi", "Request 1 of worker"),
        ("rewriting", "RewriteRule ^([a-z0-9-]+)$ article.shtml?name=$1 [L]"),
        ("isolation", "modules were there"),
        ("guestbook", "Nobody has signed yet"),
    ] {
        assert!(page.contains(&format!("id=\"{part}\"")) && page.contains(text), "{part}: {text}\n{page}");
    }
    assert!(!page.contains("does not answer") && !page.contains("cannot read it"), "{page}");
}

/// Asks until the text is there: a pool may have several workers, each of which begins anew.
fn sooner_or_later(server: &Server, target: &str, text: &str) -> bool {
    (0..30).any(|_| server.get(target).text().contains(text))
}

#[test]
fn registry_scripts_count_on() {
    let server = showcase();
    assert!(sooner_or_later(&server, "/perl/counter.pl", "has run this script 3 times"));
}

#[test]
fn the_status_page_tells_of_pools_and_of_errors_that_were() {
    let server = showcase();
    let _ = server.get("/perl/counter.pl");
    let page = server.get("/server-status").text();
    assert!(
        page.contains("Pool perl") && page.contains("warm parent: pid") && !page.contains("0 ×"),
        "{page}"
    );
}

#[test]
fn isolation_says_what_survives() {
    let server = showcase();
    // The process, how many requests it had, and how many modules were loaded.
    let facts = |kind: &str| -> Vec<u32> {
        let text = server.get(&format!("/isolation/{kind}/survivor.pl")).text();
        let parts = text.split("<strong>").skip(1).filter_map(|rest| rest.split('<').next());
        parts.map(|number| number.parse().unwrap_or_else(|_| panic!("{text}"))).collect()
    };
    let [forked, started] = ["fork", "exec"].map(|kind| [facts(kind), facts(kind)]);
    for fresh in [&forked, &started] {
        assert!(fresh[0][0] != fresh[1][0] && fresh[0][1] == 1 && fresh[1][1] == 1, "{fresh:?}");
    }
    assert!(sooner_or_later(
        &server,
        "/isolation/persistent/survivor.pl",
        "its request no. <strong>3</strong>"
    ));
    assert!(forked[0][2] > started[0][2] + 20, "what is preloaded is there: {forked:?} {started:?}");
}

#[test]
fn the_guest_book_keeps_what_visitors_write_as_text() {
    let server = showcase();
    for book in BOOKS {
        let form = format!(
            "name=Ann%20%3Cb%3E&words=%27)%3B%20DROP%20TABLE%20entry%3B--%20%C3%BC%0Afrom%20{}",
            &book[1..]
        );
        let answer = sign(&server, book, "", &form);
        assert_eq!(answer.status, 303, "{book}: {}\n{}", answer.text(), server.error_log());
        assert!(answer.field("Location").is_some_and(|target| target.ends_with(book)), "{answer:?}");
    }
    for book in BOOKS {
        let page = server.get(book).text();
        assert!(
            page.contains("Ann &lt;b&gt;") && page.contains("); DROP TABLE entry;-- ü"),
            "{book}: {page}"
        );
        let all = BOOKS.iter().all(|other| page.contains(&format!("from {}</p>", &other[1..])));
        assert!(all, "{book} does not show what was written through the others:\n{page}");
    }
    assert!(server.get("/").text().contains("Ann &lt;b&gt;"), "the start page shows the newest entries");
}

#[test]
fn the_guest_book_refuses_what_it_should() {
    let server = showcase();
    let long = format!("name=a&words={}", "b".repeat(20_000));
    for book in BOOKS {
        for (fields, form, status) in [
            ("Origin: http://elsewhere.example\r\n", "name=a&words=b", 403),
            ("", "name=&words=b", 422),
            ("", &long, 413),
        ] {
            assert_eq!(sign(&server, book, fields, form).status, status, "{book}");
        }
        assert!(server.get(&format!("{book}/latest")).text().contains("Nobody has signed yet"), "{book}");
    }
}

#[test]
fn warm_workers_keep_the_database_open() {
    let server = showcase();
    for book in &BOOKS[1..] {
        assert!(sooner_or_later(&server, book, "was open already"), "{book}");
    }
    let _ = server.get(BOOKS[0]);
    assert!(server.get(BOOKS[0]).text().contains("was opened for it"));
}

#[test]
fn programs_of_mod_perl_1_run_as_they_were_printed() {
    let server = showcase();
    let get = |target: &str| server.get_with(target, "Host: old.localhost\r\n");
    for target in ["/benchmark_handler", "/perl/benchmarks/registry.pl"] {
        let answer = get(target);
        assert_eq!(
            (answer.status, answer.text()),
            (200, "Hello".to_owned()),
            "{target}\n{}",
            server.error_log()
        );
        assert!(
            answer.field("Content-Type").is_some_and(|kind| kind.starts_with("text/plain")),
            "{answer:?}"
        );
    }
    assert!(get("/perl/generation.pl").text().contains("mod_perl/1."));
    let page = get("/").text();
    assert!(page.contains(">Hello</pre>") && !page.contains("cannot read it"), "{page}");
    assert!(page.contains("$r = shift;") && page.contains("PerlHandler +Apache::Registry"), "{page}");
}

/// Hostler as it is where the Perl engine was not built.
fn without_perl(site: Site) -> Site {
    let site = site.dir("programs");
    for name in ["hostler", "hostler-master", "hostler-front", "hostler-site", "hostler-servlet"] {
        let built = hostler().with_file_name(name);
        std::fs::copy(built, site.path("programs").join(name)).expect("a copy of a program");
    }
    let command = site.path("programs/hostler");
    site.command(command)
}

#[test]
fn without_the_perl_engine_the_start_page_says_what_is_missing() {
    let server = without_perl(laid_out(Site::new())).start();
    let page = server.get("/");
    assert_eq!(page.status, 200);
    let text = page.text();
    assert!(text.contains("The Perl engine does not answer") && text.contains("libperl-dev"), "{text}");
    assert!(text.contains("Hello from process") && text.trim_end().ends_with("</html>"), "{text}");
    assert_eq!(server.get("/guestbook").status, 200);
    let _ = server.await_error("there was no program hostler-perl");
}

#[test]
fn each_site_has_its_own_user() {
    needs_root!();
    let server = showcase();
    assert_eq!(sign(&server, "/guestbook", "", "name=a&words=b").status, 303);
    assert!(server.get("/").text().contains("This site runs as uid 64101"));
    let neighbour = server.get_with("/", "Host: neighbour.localhost\r\n").text();
    assert!(neighbour.contains("This site runs as uid 64102"), "{neighbour}");
    assert!(server.get("/perl/counter.pl").text().contains("as uid 64101"));
    let old = server.get_with("/perl/generation.pl", "Host: old.localhost\r\n").text();
    assert!(old.contains("runs as uid 64103"), "{old}");
    assert!(neighbour.contains("It cannot.") && neighbour.contains("Permission denied"), "{neighbour}");
}

#[test]
fn without_other_users_the_page_says_so() {
    if is_root() {
        // Root may ask for it, too.
        let site = Site::new().config("").argument("--single-user").file("htdocs/a.txt", "a");
        assert_eq!(site.start().get("/a.txt").text(), "a");
        return;
    }
    assert!(showcase().get("/").text().contains("Single-user: everything runs as uid"));
}

#[test]
fn a_browser_shows_it() {
    needs_program!("/usr/bin/chromium");
    let server = showcase();
    let page = in_browser(&server, "/");
    assert!(page.contains("Hostler is running"), "{page}");
    // What the browser fetched besides the page, found by its own requests in the access log.
    for part in ["GET /style.css ", "GET /houses.svg "] {
        assert!(server.access_log().contains(part), "{part} is not in\n{}", server.access_log());
    }
}

fn browser_profile(server: &Server) -> PathBuf {
    let folder = server.site().path("browser");
    std::fs::create_dir(&folder).expect("a folder for the browser");
    folder
}

/// A browser that opens a page.
fn browser(server: &Server, arguments: &[&str], target: &str) -> Command {
    let profile = browser_profile(server);
    let mut browser = Command::new("/usr/bin/chromium");
    browser
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(arguments)
        .arg(format!("http://localhost:{}{target}", server.port()))
        .stderr(Stdio::null());
    browser
}

/// Returns a browser's view of a page, once its network is idle.
fn in_browser(server: &Server, target: &str) -> String {
    let output = browser(server, &["--virtual-time-budget=5000", "--dump-dom"], target).output();
    String::from_utf8_lossy(&output.expect("chromium runs").stdout).into_owned()
}

/// A browser with a page in it, until it is dropped.
struct OpenBrowser(Child);

impl OpenBrowser {
    fn at(server: &Server, target: &str) -> Self {
        // What may be controlled from outside does not end by itself.
        let mut browser = browser(server, &["--remote-debugging-port=0"], target);
        Self(browser.stdout(Stdio::null()).process_group(0).spawn().expect("chromium starts"))
    }
}

impl Drop for OpenBrowser {
    fn drop(&mut self) {
        // With all that it has started.
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}
