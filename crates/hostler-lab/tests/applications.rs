//! The lab's applications, laid out and served by the real servers, as far as they are installed here: all that claim
//! to serve the same must answer the same.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use hostler_lab::application::{self, Database, LaidOut, Options, Technique};
use hostler_lab::contestant::{self, Running};
use hostler_untested::not_tested;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use tempfile::TempDir;

const TECHNIQUES: [(&str, &str); 12] = [
    ("cgi-c", "/cgi-c/comments"),
    ("cgi-perl", "/cgi-perl/comments.pl"),
    ("registry", "/perl/comments.pl"),
    ("handler", "/handler/comments"),
    ("psgi", "/psgi/comments"),
    ("fastcgi-c", "/fastcgi-c/comments"),
    ("fastcgi", "/fastcgi/comments"),
    ("php", "/php/comments.php"),
    ("wsgi", "/wsgi/comments"),
    ("asgi", "/asgi/comments"),
    ("servlet", "/servlet/comments"),
    ("jsp", "/servlet/comments.jsp"),
];
/// The servers and the applications that each one serves: Hostler all of them, Apache prefork all that do not belong to
/// another server.
const PEERS: [(&str, &[&str]); 9] = [
    ("apache-prefork", &["cgi-c", "cgi-perl", "registry", "handler", "fastcgi-c", "fastcgi", "php", "wsgi"]),
    ("starman", &["psgi"]),
    ("nginx-fpm", &["php"]),
    ("gunicorn", &["wsgi"]),
    ("uvicorn", &["asgi"]),
    ("granian", &["wsgi"]),
    ("granian-asgi", &["asgi"]),
    ("apache-ajp", &["servlet", "jsp"]),
    ("tomcat", &["servlet", "jsp"]),
];

/// The servers that run each virtual host as a user of its own.
const TWO_USERS: [&str; 2] = ["hostler", "apache-itk"];

/// An answer.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

/// An application in a folder of its own, and the servers that serve it.
struct Bench {
    laid_out: LaidOut,
    folder: TempDir,
    servers: Vec<(&'static str, Running)>,
}

impl Bench {
    /// Starts those of the servers that are here; says which are not.
    fn start(application: &str, options: Options, names: &[&'static str]) -> Self {
        let folder = tempfile::Builder::new().prefix("hostler-lab-").tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let root = folder.path().join("site");
        std::fs::create_dir(&root).unwrap();
        let laid_out = application::lay_out(application, &options, &root).unwrap();
        let mut bench = Self { laid_out, folder, servers: Vec::new() };
        for name in names {
            let known = contestant::known().into_iter().find(|server| server.name == *name).unwrap();
            if let Some(why) = known.unavailable {
                not_tested(&format!("{application} by {name}"), &why);
                continue;
            }
            let logs = bench.folder.path().join(name);
            std::fs::create_dir(&logs).unwrap();
            let running = Running::start(name, &bench.laid_out.site, &logs);
            bench.servers.push((name, running.unwrap_or_else(|error| panic!("{name}: {error:#}"))));
        }
        bench
    }

    /// The answer of each server to the same request.
    fn answers(&self, host: &str, path: &str) -> Vec<(&'static str, Answer)> {
        self.servers.iter().map(|(name, server)| (*name, get(server, host, path))).collect()
    }
}

fn get(server: &Running, host: &str, path: &str) -> Answer {
    ask(server, &format!("GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n"))
}

fn post(server: &Running, path: &str, form: &str) -> Answer {
    let fields = format!("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}", form.len());
    ask(server, &format!("POST {path} HTTP/1.0\r\nHost: localhost\r\n{fields}\r\n\r\n{form}"))
}

/// In HTTP/1.0, so that a body ends where the connection does.
fn ask(server: &Running, request: &str) -> Answer {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_lowercase(), body: body.to_owned() }
}

/// Returns whether a technique can be had here; says why not.
fn available(techniques: &[Technique], name: &str) -> bool {
    available_at(techniques, name, "everybody")
}

/// Returns whether a technique can be had here of a server.
fn available_at(techniques: &[Technique], name: &str, server: &str) -> bool {
    let technique = techniques.iter().find(|technique| technique.name == name).unwrap();
    let why = technique.unavailable_at(server);
    if let Some(why) = &why {
        not_tested(&format!("{name} by {server}"), why);
    }
    why.is_none()
}

#[test]
fn the_light_and_the_heavy_program_say_hello_in_every_form() {
    let bench = Bench::start("registry", Options::default(), &["hostler", "apache-prefork"]);
    let mut paths = vec!["/light", "/heavy", "/perl/light.pl", "/perl/heavy.pl", "/cgi-perl/hello.pl"];
    if available(&application::techniques("registry", &Options::default()).unwrap(), "cgi-c") {
        paths.push("/cgi-c/hello");
    }
    for path in paths {
        for (name, answer) in bench.answers("localhost", path) {
            assert_eq!(
                (answer.status, answer.body.as_str()),
                (200, "Hello"),
                "{path} by {name}: {}",
                answer.head
            );
            assert!(answer.head.contains("content-type: text/plain"), "{path} by {name}: {}", answer.head);
        }
    }
}

#[test]
fn the_light_program_as_psgi_says_the_same_in_starman() {
    let bench = Bench::start("registry", Options::default(), &["hostler", "starman"]);
    for (name, answer) in bench.answers("localhost", "/psgi") {
        assert_eq!((answer.status, answer.body.as_str()), (200, "Hello"), "{name}: {}", answer.head);
    }
}

#[test]
fn forked_programs_say_what_started_ones_say() {
    if !available(&application::techniques("fork", &Options::default()).unwrap(), "cgi-perl") {
        return;
    }
    let bench = Bench::start("fork", Options::default(), &["hostler", "apache-prefork"]);
    for path in ["/cgi-perl/plain.pl", "/cgi-perl/form.pl", "/exec/plain.pl", "/exec/form.pl"] {
        for (name, answer) in bench.answers("localhost", path) {
            assert_eq!(
                (answer.status, answer.body.as_str()),
                (200, "Hello"),
                "{path} by {name}: {}",
                answer.head
            );
        }
    }
}

/// The servers of each variant of `hello`.
const HELLO: [(&str, &str, &[&str]); 6] = [
    ("fastcgi-c", "/fastcgi-c/hello", &["hostler", "nginx", "apache-prefork", "apache-event"]),
    ("fastcgi", "/fastcgi/hello", &["hostler", "nginx", "apache-prefork", "apache-event"]),
    ("php", "/php/hello.php", &["hostler", "apache-prefork", "nginx-fpm", "apache-fpm"]),
    ("servlet", "/servlet/hello", &["hostler", "tomcat", "hostler-ajp", "apache-ajp"]),
    ("wsgi", "/wsgi/hello", &["hostler", "apache-prefork", "apache-event", "gunicorn", "granian"]),
    ("asgi", "/asgi/hello", &["hostler", "uvicorn", "granian-asgi"]),
];

#[test]
fn programs_of_a_pool_say_hello_everywhere() {
    let techniques = application::techniques("hello", &Options::default()).unwrap();
    let mut names: Vec<_> = HELLO.iter().flat_map(|(_, _, servers)| *servers).copied().collect();
    names.sort_unstable();
    names.dedup();
    let bench = Bench::start("hello", Options::default(), &names);
    for (technique, path, servers) in HELLO {
        for (name, server) in bench.servers.iter().filter(|(name, _)| servers.contains(name)) {
            if available_at(&techniques, technique, name) {
                let answer = get(server, "localhost", path);
                let said = (answer.status, answer.body.as_str());
                assert_eq!(said, (200, "Hello"), "{path} by {name}: {}", answer.head);
                assert!(
                    answer.head.contains("content-type: text/plain"),
                    "{path} by {name}: {}",
                    answer.head
                );
            }
        }
    }
}

#[test]
fn what_a_server_behind_says_comes_whole() {
    if !available(&application::techniques("proxy", &Options::default()).unwrap(), "proxy") {
        return;
    }
    let bench = Bench::start("proxy", Options::default(), &["hostler", "nginx", "apache-event"]);
    for (name, answer) in bench.answers("localhost", "/proxy/hello") {
        assert_eq!((answer.status, answer.body.as_str()), (200, "Hello"), "{name}: {}", answer.head);
    }
    for (name, answer) in bench.answers("localhost", "/proxy/large.bin") {
        assert_eq!((answer.status, answer.body.len()), (200, 10 << 20), "{name}: {}", answer.head);
    }
}

#[test]
fn wordpress_has_the_same_home_page_everywhere() {
    if !available(&application::techniques("wordpress", &Options::default()).unwrap(), "php") {
        return;
    }
    let servers = ["hostler", "apache-prefork", "nginx-fpm", "apache-fpm", "apache-itk"];
    let bench = Bench::start("wordpress", Options::default(), &servers);
    let pages = bench.answers("localhost", "/wordpress/");
    for (name, page) in &pages {
        assert_eq!(page.status, 200, "{name}: {}\n{}", page.head, page.body);
        assert!(page.body.contains("<title>Two users"), "{name}: {}", page.body);
        assert_eq!(page.body, pages[0].1.body, "{name}");
    }
}

#[test]
fn the_bare_work_has_a_rate() {
    let rate = application::bare_work(1).unwrap();
    assert!(rate > 10.0 && rate < 1e6, "{rate}");
}

#[test]
fn the_parsed_page_is_the_same_everywhere() {
    let servers = ["hostler", "apache-prefork", "apache-event", "nginx"];
    let bench = Bench::start("include", Options::default(), &servers);
    let pages = bench.answers("localhost", "/page.shtml");
    for (name, page) in &pages {
        assert_eq!(page.status, 200, "{name}: {}", page.head);
        for part in ["<h2>Section ", "<p>A part of the page</p>", "<p>Yes</p>", "<p>In the year 20"] {
            assert_eq!(page.body.matches(part).count(), 20, "{part} by {name}:\n{}", page.body);
        }
        assert_eq!(page.body, pages[0].1.body, "{name}");
    }
    for (name, answer) in bench.answers("localhost", "/small.html") {
        assert_eq!((answer.status, answer.body.len()), (200, 4096), "{name}: {}", answer.head);
    }
}

#[test]
fn each_host_is_served_by_its_own_user() {
    let options = Options::default();
    let techniques = application::techniques("isolation", &options).unwrap();
    if !available(&techniques, "handler") || !available(&techniques, "cgi-perl") {
        return;
    }
    let bench = Bench::start("isolation", options, &TWO_USERS);
    for (host, user) in [("a.test", contestant::site_user()), ("b.test", contestant::second_user())] {
        for path in ["/handler", "/cgi-bin/hello.pl"] {
            for (name, answer) in bench.answers(host, path) {
                let expected = format!("This is {host}, served by user {user}.\n");
                assert_eq!((answer.status, answer.body), (200, expected), "{path} by {name}");
            }
        }
    }
}

#[test]
fn a_django_site_and_wordpress_are_the_same_under_two_users() {
    let options = Options::default();
    let techniques = application::techniques("isolation", &options).unwrap();
    let paths = [("wsgi", "/django/"), ("php", "/wordpress/"), ("php-cgi", "/wordpress-cgi/")];
    let bench = Bench::start("isolation", options, &TWO_USERS);
    for (technique, path) in paths {
        for (host, user) in [("a.test", contestant::site_user()), ("b.test", contestant::second_user())] {
            let mut first: Option<String> = None;
            for (name, server) in &bench.servers {
                if !available_at(&techniques, technique, name) {
                    continue;
                }
                let answer = get(server, host, path);
                let what = format!("{path} of {host} by {name}");
                assert_eq!(answer.status, 200, "{what}: {}\n{}", answer.head, answer.body);
                let expected = match technique {
                    "wsgi" => format!("This is {host}, served by user {user}."),
                    _ => "<title>Two users".to_owned(),
                };
                assert!(answer.body.contains(&expected), "{what}: {}", answer.body);
                assert_eq!(*first.get_or_insert_with(|| answer.body.clone()), answer.body, "{what}");
            }
        }
    }
}

#[test]
fn comments_on_sqlite() {
    comments(Database::Sqlite);
}

#[test]
fn comments_on_postgresql() {
    comments(Database::Postgresql);
}

fn comments(database: Database) {
    let options = Options { database };
    let techniques = application::techniques("comments", &options).unwrap();
    if !available(&techniques, "registry") {
        return;
    }
    let mut names = vec!["hostler"];
    names.extend(PEERS.map(|(name, _)| name));
    let bench = Bench::start("comments", options, &names);
    let mut served = Vec::new();
    for (technique, path) in TECHNIQUES {
        let serves = |name: &str| PEERS.iter().any(|(peer, all)| *peer == name && all.contains(&technique));
        let can = |name: &str| name == "hostler" || serves(name);
        let servers = bench.servers.iter().filter(|(name, _)| can(name));
        let servers = servers.filter(|(name, _)| available_at(&techniques, technique, name));
        served.extend(servers.map(|(name, server)| (format!("{path} by {name}"), path, server)));
    }
    assert!(!served.is_empty(), "nothing serves the comments");
    pages_are_the_same(&served);
    for (what, path, server) in &served {
        insert(what, path, server);
    }
    for (what, path, server) in &served {
        let page = get(server, "localhost", path).body;
        assert_eq!(page.matches(SHOWN).count(), served.len(), "{what}: a row for each insertion");
    }
}

fn pages_are_the_same(served: &[(String, &str, &Running)]) {
    for (rows, bytes) in [(99, 50_000), (146, 73_500), (389, 195_000_usize)] {
        let mut first = None;
        for (what, path, server) in served {
            let page = get(server, "localhost", &format!("{path}?rows={rows}"));
            assert_eq!(page.status, 200, "{what}: {}\n{}", page.head, page.body);
            assert!(page.body.len().abs_diff(bytes) <= 500, "{what}: {} bytes of {bytes}", page.body.len());
            // Quirk(tomcat): it takes the blank out.
            let head = page.head.replace("html;charset", "html; charset");
            assert!(head.contains("content-type: text/html; charset=utf-8"), "{what}: {head}");
            assert!(!page.body.contains("<script>"), "{what}: not escaped");
            let first = first.get_or_insert_with(|| page.body.clone());
            assert!(page.body == *first, "{what}: another page than {}", served[0].0);
        }
    }
}

/// `O'Neill & "Co" <script>alert('x')</script> Grüße €; DROP TABLE comments` in a form.
const FORM: &str = "name=O%27Neill+%26+%22Co%22&email=x%40mail.invalid&comments=%3Cscript%3Ealert%28%27x%27%29\
                    %3C%2fscript%3E+Gr%C3%BC%C3%9Fe+%E2%82%AC%27%3B+DROP+TABLE+comments";
const SHOWN: &str = "<tr><td>O&#39;Neill &amp; &quot;Co&quot;</td><td>x@mail.invalid</td>\
                     <td>&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; Grüße €&#39;; DROP TABLE comments</td></tr>\n";

fn insert(what: &str, path: &str, server: &Running) {
    let answer = post(server, path, FORM);
    assert_eq!(answer.status, 303, "{what}: {}\n{}", answer.head, answer.body);
    let location = answer.head.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
    assert!(location.ends_with(path), "{what}: {location}");
    for (refused, why) in [
        ("email=x&comments=y", "no name"),
        ("name=x&comments=", "no comment"),
        ("name=x&comments=%FF%FE", "not UTF-8"),
        ("name=x&comments=a%00b", "a NUL"),
    ] {
        assert_eq!(post(server, path, refused).status, 400, "{what}: {why}");
    }
    // Quirk(gunicorn): it closes connections whose request has not been read to its end, so that its answer gets lost.
    if what.ends_with("gunicorn") {
        return;
    }
    let long = format!("name=x&comments={}", "y".repeat(70_000));
    assert_eq!(post(server, path, &long).status, 413, "{what}: too long");
}

#[test]
fn an_unknown_application_is_answered_with_those_that_exist() {
    let error = application::techniques("coments", &Options::default()).unwrap_err().to_string();
    assert!(
        error.contains("coments") && error.contains("registry, include, isolation, comments, fork"),
        "{error}"
    );
}

#[test]
fn all_techniques_of_the_comparison_are_there() {
    let techniques = application::techniques("comments", &Options::default()).unwrap();
    let mut names: Vec<_> = techniques.iter().map(|technique| technique.name).collect();
    let mut expected: Vec<_> = TECHNIQUES.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    expected.sort_unstable();
    assert_eq!(names, expected);
}

#[test]
fn a_technique_may_lack_at_some_servers_only() {
    let lacking = vec![("hostler", "none yet".to_owned()), ("apache", "no module".to_owned())];
    let fastcgi = Technique { name: "fastcgi", unavailable: None, lacking };
    assert_eq!(fastcgi.unavailable_at("hostler").as_deref(), Some("none yet"));
    assert_eq!(fastcgi.unavailable_at("apache-prefork").as_deref(), Some("no module"));
    assert_eq!(fastcgi.unavailable_at("nginx"), None);
    let nobody = Technique { unavailable: Some("no compiler".to_owned()), ..fastcgi };
    assert_eq!(nobody.unavailable_at("nginx").as_deref(), Some("no compiler"));
}
