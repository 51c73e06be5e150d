//! The showcase, as `make run` serves it: every page of it, the guest book, the neighbour, and a real browser.

use hostler_tests::{Server, Site, is_root, needs_program, needs_root};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/showcase")
}

/// Laid out by its own script and served with its own configuration, on another port.
fn showcase() -> Server {
    let site = Site::new().plain();
    let status = Command::new(examples().join("prepare.sh")).arg(site.root()).status();
    assert!(status.expect("prepare.sh runs").success());
    let config = std::fs::read_to_string(examples().join("httpd.conf")).expect("the configuration");
    let site = site.config(&config).environment("SHOWCASE", "@ROOT@");
    let site =
        site.environment("SHOWCASE_LISTEN", "127.0.0.1:@PORT@").argument("-D").argument("OtherAddress");
    if is_root() { site.start() } else { site.argument("--single-user").start() }
}

fn sign(server: &Server, fields: &str, form: &str) -> hostler_tests::Response {
    server.request(
        format!(
            "POST /guestbook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n\
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
        ("/files/", 200, "The picture of the start page"),
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

#[test]
fn the_guest_book_keeps_what_visitors_write_as_text() {
    let server = showcase();
    let form = "name=Ann%20%3Cb%3E&words=%27)%3B%20DROP%20TABLE%20entry%3B--%20%C3%BC%0Asecond%20line";
    let answer = sign(&server, "", form);
    assert_eq!(answer.status, 303, "{}\n{}", answer.text(), server.error_log());
    assert!(answer.field("Location").is_some_and(|target| target.ends_with("/guestbook")), "{answer:?}");
    let page = server.get("/guestbook").text();
    assert!(page.contains("Ann &lt;b&gt;") && page.contains("); DROP TABLE entry;-- ü"), "{page}");
    assert!(server.get("/").text().contains("Ann &lt;b&gt;"), "the start page shows the newest entries");
}

#[test]
fn the_guest_book_refuses_what_it_should() {
    let server = showcase();
    assert_eq!(sign(&server, "Origin: http://elsewhere.example\r\n", "name=a&words=b").status, 403);
    assert_eq!(sign(&server, "", "name=&words=b").status, 422);
    assert_eq!(sign(&server, "", &format!("name=a&words={}", "b".repeat(20_000))).status, 413);
    assert!(server.get("/guestbook/latest").text().contains("Nobody has signed yet"));
}

#[test]
fn each_site_has_its_own_user() {
    needs_root!();
    let server = showcase();
    assert_eq!(sign(&server, "", "name=a&words=b").status, 303);
    assert!(server.get("/").text().contains("This site runs as uid 64101"));
    let neighbour = server.get_with("/", "Host: neighbour.localhost\r\n").text();
    assert!(neighbour.contains("This site runs as uid 64102"), "{neighbour}");
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
    let profile = browser_profile(&server);
    let output = Command::new("/usr/bin/chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("http://localhost:{}/", server.port()))
        .stderr(Stdio::null())
        .output()
        .expect("chromium runs");
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
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
