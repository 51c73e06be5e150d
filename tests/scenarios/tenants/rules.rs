//! Rules that a tenant writes for the front: patterns, includes, `.htaccess` files that take as long and grow as large
//! as they can. The request that they are for is refused, with the cause in the log; B notices nothing.

use super::{Attack, Owned, is_long, tenants};
use crate::faults::await_that;
use hostler_tests::{Server, Site, needs_root};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// A text that such patterns take for ever with.
const LETTERS: usize = 6000;
/// It looks at every letter again and again, and no step limit of PCRE2 ends it soon.
const HARD: &str = "[a-z]*[a-z]*[a-z]*[@!]";

/// Asks for a URL of A's so often at once; the statuses, 0 for an answer that broke off.
fn ask(server: &Server, target: &str, fields: &str, times: usize) -> Vec<u16> {
    let port = server.port();
    let request = format!("GET {target} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n{fields}\r\n");
    let one = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(120))).ok()?;
        stream.write_all(request.as_bytes()).ok()?;
        let (mut head, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            let count = stream.read(&mut buffer).ok()?;
            if count == 0 {
                break;
            }
            head.extend_from_slice(&buffer[..count.min(100_usize.saturating_sub(head.len()))]);
        }
        String::from_utf8_lossy(&head).split(' ').nth(1)?.parse().ok()
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..times).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|thread| thread.join().expect("A's client ends").unwrap_or(0)).collect()
    })
}

fn times() -> usize {
    if is_long() { 10 } else { 3 }
}

/// The same for attacks that go on for some time.
fn rounds() -> usize {
    if is_long() { 5 } else { 1 }
}

fn attack(site: Site, name: &'static str, memory: u64, target: &str, fields: &str) -> (Server, Vec<u16>) {
    let server = site.start();
    let mut statuses = Vec::new();
    Attack::new(name, memory).run(&server, || {
        for _ in 0..rounds() {
            statuses.extend(ask(&server, target, fields, times()));
        }
    });
    (server, statuses)
}

/// Waits until the cause is in the log.
fn tells(server: &Server, cause: &str) {
    assert!(server.await_error(cause).contains(cause));
}

fn are_all(statuses: &[u16], expected: u16) -> bool {
    statuses.iter().all(|status| *status == expected)
}

#[test]
fn a_page_full_of_hard_conditions() {
    needs_root!();
    let mut page = format!("<!--#set var=\"x\" value=\"{}\" -->", "a".repeat(LETTERS));
    for number in 0..15_000 {
        let _ = writeln!(page, "<!--#if expr=\"v('x') =~ /(?#{number}){HARD}/\" -->x<!--#endif -->");
    }
    let site = tenants("AddOutputFilter INCLUDES .shtml\nHostlerRequestBudget 300")
        .a_file("htdocs/hard.shtml", page);
    let (server, statuses) = attack(site, "a page with 15,000 hard conditions", 192, "/hard.shtml", "");
    // 503: another one of the site's requests has so many pages in use.
    assert!(statuses.iter().all(|status| [500, 503].contains(status)), "{statuses:?}");
    tells(&server, "the request has used up 300 ms of CPU time");
}

#[test]
fn a_page_full_of_easy_conditions() {
    needs_root!();
    let mut page = format!("<!--#set var=\"x\" value=\"{}\" -->", "a".repeat(LETTERS));
    for number in 0..15_000 {
        let _ = writeln!(page, "<!--#if expr=\"v('x') =~ /^b*c{number}/\" -->x<!--#endif -->");
    }
    let site = tenants("AddOutputFilter INCLUDES .shtml").a_file("htdocs/easy.shtml", page);
    let (_server, statuses) = attack(site, "a page with 15,000 easy conditions", 192, "/easy.shtml", "");
    assert!(are_all(&statuses, 200), "{statuses:?}");
}

#[test]
fn a_page_that_asks_for_ever() {
    needs_root!();
    let page = "<!--#if expr=\"v('REQUEST_URI') =~ /[a-z]*[a-z]*[0-9]/\" -->x<!--#endif -->\n".repeat(20_000);
    let site = tenants("AddOutputFilter INCLUDES .shtml\nHostlerRequestBudget 300")
        .a_file("htdocs/long.shtml", page);
    let target = format!("/long.shtml?{}", "a".repeat(LETTERS / 60));
    let (server, statuses) = attack(site, "a page over the budget", 192, &target, "");
    // 503: what waited longest for its turn among the site's own requests.
    assert!(statuses.iter().all(|status| [500, 503].contains(status)), "{statuses:?}");
    tells(&server, "the request has used up 300 ms of CPU time");
}

#[test]
fn a_thousand_hard_set_env_if() {
    needs_root!();
    let rules: String = (0..1000).map(|n| format!("SetEnvIf X-Long \"(?#{n}){HARD}\" x{n}\n")).collect();
    let site = tenants("HostlerRequestBudget 300")
        .a_file("htdocs/.htaccess", rules)
        .a_file("htdocs/a.html", "A's page");
    let fields = format!("X-Long: {}\r\n", "a".repeat(LETTERS));
    let (server, statuses) = attack(site, "a thousand hard SetEnvIf", 64, "/a.html", &fields);
    assert!(are_all(&statuses, 500), "{statuses:?}");
    tells(&server, "the request has used up 300 ms of CPU time");
}

#[test]
fn hard_patterns_in_rewriting_rules() {
    needs_root!();
    let rules = format!(
        "RewriteEngine On\nRewriteCond %{{HTTP:X-Long}} ^(a|b)*$ [OR]\nRewriteCond %{{HTTP:X-Long}} {HARD}\nRewriteRule .* - [F]\n\
         RewriteRule \"^{HARD}\" - [F]\n"
    );
    let site = tenants("HostlerRequestBudget 300")
        .a_file("htdocs/.htaccess", rules)
        .a_file("htdocs/a.html", "A's page");
    let fields = format!("X-Long: {}c\r\n", "a".repeat(LETTERS));
    let (server, statuses) =
        attack(site, "hard patterns in RewriteRule and RewriteCond", 64, "/a.html", &fields);
    assert!(are_all(&statuses, 500), "{statuses:?}");
    // One line says which rule it was, and what to change.
    let line = server.await_error("the request has used up 300 ms of CPU time");
    let line = line.lines().find(|line| line.contains("300 ms")).unwrap_or_default();
    assert!(line.contains("/a/htdocs/.htaccess:3: ") && line.contains("HostlerRequestBudget"), "{line}");
    assert!(!server.error_log().contains("RewriteRule:"), "{}", server.error_log());
}

#[test]
fn a_match_that_takes_longer_than_a_slice_is_carried_out_all_the_same() {
    needs_root!();
    let text = "a".repeat(300);
    let rules = format!("<If \"req('X-Long') =~ /{HARD}/\">\nRequire all denied\n</If>\n");
    let conditions: String =
        (0..2500).map(|n| format!("RewriteCond %{{HTTP:X-Long}} (one{n}|other{n}).*x [NC,OR]\n")).collect();
    let rewriting =
        format!("RewriteEngine On\n{conditions}RewriteCond %{{HTTP:X-Long}} ^never$\nRewriteRule .* - [F]\n");
    let page = format!(
        "<!--#set var=\"x\" value=\"{text}\" --><!--#if expr=\"v('x') =~ /{HARD}/\" -->yes<!--#else -->no<!--#endif -->"
    );
    let server = tenants("HostlerRequestBudget 20000\nAddOutputFilter INCLUDES .shtml")
        .a_file("htdocs/if/.htaccess", rules)
        .a_file("htdocs/if/a.html", "A's page")
        .a_file("htdocs/rules/.htaccess", rewriting)
        .a_file("htdocs/rules/a.html", "A's page")
        .a_file("htdocs/a.shtml", page)
        .start();
    let fields = format!("X-Long: {text}\r\n");
    for target in ["/if/a.html", "/rules/a.html", "/a.shtml"] {
        assert_eq!(ask(&server, target, &fields, 2), [200, 200], "{target}\n{}", server.error_log());
    }
    assert_eq!(server.get_with("/a.shtml", "Host: a.test\r\n").text(), "no");
    let found = format!("X-Long: {text}@\r\n");
    assert_eq!(ask(&server, "/if/a.html", &found, 1), [403]);
}

#[test]
fn hard_patterns_in_every_kind_of_rule() {
    needs_root!();
    let rules = [
        format!("<If \"req('X-Long') =~ /{HARD}/\">\nForceType text/plain\n</If>"),
        format!("Header set X-Y z \"expr=req('X-Long') =~ /{HARD}/\""),
        format!("Header set X-Y \"expr=%{{req:X-Long}}\"\nHeader edit X-Y \"{HARD}\" z"),
        format!("RequestHeader edit X-Long \"{HARD}\" z"),
        format!("Require expr \"req('X-Long') =~ /{HARD}/\""),
        format!("SetEnvIfExpr \"req('X-Long') =~ /{HARD}/\" x"),
        format!(
            "SetHandler \"expr=%{{md5:%{{req:X-Long}}}}\"\n<If \"req('X-Long') !~ /{HARD}/\">\nRequire all denied\n</If>"
        ),
    ];
    let mut site = tenants("HostlerRequestBudget 100").a_file("htdocs/a.html", "A's page");
    for (number, rule) in rules.iter().enumerate() {
        let folder = format!("htdocs/{number}");
        site =
            site.a_file(&format!("{folder}/.htaccess"), rule).a_file(&format!("{folder}/a.html"), "A's page");
    }
    let server = site.start();
    let fields = format!("X-Long: {}\r\n", "a".repeat(LETTERS));
    Attack::new("hard patterns in all kinds of rules", 32).run(&server, || {
        for (number, rule) in rules.iter().enumerate() {
            let statuses = ask(&server, &format!("/{number}/a.html"), &fields, times());
            assert!(are_all(&statuses, 500), "{rule}: {statuses:?}");
        }
        assert_eq!(ask(&server, "/a.html", "", 1), [200]);
    });
}

#[test]
fn many_patterns_in_nested_access_files() {
    needs_root!();
    let mut site = tenants("");
    let mut folder = String::from("htdocs");
    for level in 0..20 {
        let _ = write!(folder, "/{level}");
        let rules: String =
            (0..2000).map(|n| format!("SetEnvIf Referer \"^(a{n}|b{n})+x\" v{n}\n")).collect();
        site = site.a_file(&format!("{folder}/.htaccess"), rules);
    }
    let site = site.a_file(&format!("{folder}/a.html"), "A's page");
    let target = format!("{}/a.html", folder.trim_start_matches("htdocs"));
    let (server, statuses) = attack(site, "40,000 patterns in nested .htaccess", 256, &target, "");
    assert!(are_all(&statuses, 500), "{statuses:?}");
    tells(&server, "the access files down to");
}

#[test]
fn large_pages_under_many_names() {
    needs_root!();
    let page = "<!--#include virtual=\"/none.html\" -->x".repeat((16 << 20) / 40);
    let mut site = tenants("AddOutputFilter INCLUDES .shtml");
    for name in 0..5 {
        site = site.a_file(&format!("htdocs/{name}.shtml"), &page);
    }
    let server = site.start();
    Attack::new("a 16 MB page with includes under five names", 256).run(&server, || {
        for name in 0..5 {
            let statuses = ask(&server, &format!("/{name}.shtml"), "", times());
            assert!(are_all(&statuses, 500), "{statuses:?}");
        }
    });
    tells(&server, "is too large to be expanded");
}

#[test]
fn values_that_double() {
    needs_root!();
    let env: String = (1..60).map(|n| format!("SetEnvIf V{} (.*) V{n}=$1$1\n", n - 1)).collect();
    let field = "Header edit* X-Y (.) $0$0\n".repeat(60);
    let set = "<!--#set var=\"x\" value=\"$x$x\" -->".repeat(60);
    let show = "$x".repeat(2000);
    let page = format!(
        "<!--#set var=\"x\" value=\"0123456789\" -->{set}<!--#if expr=\"'{show}' = /1/\" -->x<!--#endif -->end"
    );
    let site = tenants("AddOutputFilter INCLUDES .shtml\n<Directory \"@ROOT@/a/htdocs/page\">\nSSILegacyExprParser On\n</Directory>")
        .a_file("htdocs/env/.htaccess", format!("SetEnvIf Host (.*) V0=$1$1\n{env}"))
        .a_file("htdocs/env/a.html", "A's page")
        .a_file("htdocs/field/.htaccess", format!("Header set X-Y 0123456789\n{field}"))
        .a_file("htdocs/field/a.html", "A's page")
        .a_file("htdocs/page/a.shtml", page);
    let server = site.start();
    Attack::new("values that double", 64).run(&server, || {
        assert!(are_all(&ask(&server, "/env/a.html", "", times()), 500));
        assert!(are_all(&ask(&server, "/field/a.html", "", times()), 500));
        assert!(are_all(&ask(&server, "/page/a.shtml", "", times()), 200));
    });
    tells(&server, "there is no room for the variable");
}

#[test]
fn passwords_that_take_for_ever() {
    needs_root!();
    let rules = |name: &str| {
        format!("AuthType Basic\nAuthName x\nAuthUserFile \"@ROOT@/a/{name}\"\nRequire valid-user")
    };
    let slow = "ann:$2y$31$WHyl/MVm1ZSToX55ZboCluoKznXDkC/p5uJ/.mO09H.veGBW/yZn6\n\
                bob:$6$rounds=999999999$2d5Ylu9MO84uL/lV$u34MZe2PEbSODnlo6W1OMtYgZIOrVArtCwjYhm2YHlF0\n\
                eve:$2y$14$WHyl/MVm1ZSToX55ZboCluoKznXDkC/p5uJ/.mO09H.veGBW/yZn6\n";
    let many = "someone:$apr1$h4W5HAWS$.77QU3nRZN4dij58ut2JR.\n".repeat((15 << 20) / 47);
    let sections = [("slow", "slow"), ("many", "many"), ("huge", "huge")].map(|(folder, file)| {
        format!("<Directory \"@ROOT@/a/htdocs/{folder}\">\n{}\n</Directory>\n", rules(file))
    });
    let mut site = tenants(&sections.concat()).a_file("slow", slow).a_file("many", many).a_file("huge", "");
    for folder in ["slow", "many", "huge"] {
        site = site.a_file(&format!("htdocs/{folder}/a.html"), "A's page");
    }
    let server = site.start();
    let huge = std::fs::File::options().write(true).open(server.site().path("a/huge")).expect("a file");
    huge.set_len(1 << 30).expect("a hole");
    let as_user = |encoded: &str| format!("Authorization: Basic {encoded}\r\n");
    Attack::new("passwords that take for ever", 160).run(&server, || {
        // ann:x, bob:x and eve:x
        for user in ["YW5uOng=", "Ym9iOng="] {
            assert!(are_all(&ask(&server, "/slow/a.html", &as_user(user), times()), 500));
        }
        assert!(are_all(&ask(&server, "/slow/a.html", &as_user("ZXZlOng="), times()), 401));
        assert!(are_all(&ask(&server, "/many/a.html", &as_user("YW5uOng="), times()), 401));
        assert!(are_all(&ask(&server, "/huge/a.html", &as_user("YW5uOng="), times()), 500));
    });
    tells(&server, "so many rounds");
    tells(&server, "may have no more than");
}

#[test]
fn sub_requests_without_end() {
    needs_root!();
    let names: String = (0..2000).map(|n| format!(" none{n}.html")).collect();
    let tests: String =
        (0..10).map(|n| format!("<If \"-U '/again/{n}.html'\">\nForceType text/plain\n</If>\n")).collect();
    let redirects: String = (0..20_000).map(|n| format!("RedirectMatch \"^/none/{n}(.*)x\" /x\n")).collect();
    let site = tenants("HostlerRequestBudget 500")
        .a_file("htdocs/index/.htaccess", format!("DirectoryIndex{names}\nOptions -Indexes\n"))
        .a_file("htdocs/again/.htaccess", tests)
        .a_file("htdocs/again/0.html", "A's page")
        .a_file("htdocs/redirects/.htaccess", redirects)
        .a_file("htdocs/redirects/a.html", "A's page");
    let server = site.start();
    Attack::new("sub-requests without end", 160).run(&server, || {
        let statuses = ask(&server, "/index/", "", times());
        assert!(statuses.iter().all(|status| matches!(status, 403 | 500)), "{statuses:?}");
        assert!(are_all(&ask(&server, "/again/0.html", "", times()), 500));
        let statuses = ask(&server, "/redirects/a.html", "", times());
        assert!(statuses.iter().all(|status| matches!(status, 200 | 500)), "{statuses:?}");
    });
    tells(&server, "the request has used up 500 ms of CPU time");
}

#[test]
fn a_listing_of_many_files() {
    needs_root!();
    let server =
        tenants("").a_file("htdocs/list/.htaccess", "Options +Indexes\nIndexOptions FancyIndexing").start();
    let folder = server.site().path("a/htdocs/list");
    for number in 0..5000 {
        std::fs::File::create(folder.join(format!("file{number}.html"))).expect("a file");
    }
    Attack::new("listings of 5,000 files", 128).run(&server, || {
        let statuses = ask(&server, "/list/", "", times());
        assert!(statuses.iter().all(|status| matches!(status, 200 | 500)), "{statuses:?}");
    });
}

#[test]
fn large_pages_to_clients_that_read_nothing() {
    needs_root!();
    let text = "a long text above a listing\n".repeat(280_000);
    let rules = "Options +Indexes\nHeaderName HEADER.txt\nIndexOptions FancyIndexing";
    let site = tenants("").a_file("htdocs/list/.htaccess", rules).a_file("htdocs/list/HEADER.txt", text);
    let server = site.config("HostlerConnectionsPerAddress max").start();
    let many = if is_long() { 200 } else { 50 };
    // 64 MiB are kept for a site; what is being made comes to some more.
    Attack::new("listings with long texts that nobody reads", 160).run(&server, || {
        let request = "GET /list/ HTTP/1.1\r\nHost: a.test\r\n\r\n";
        let open = |_| {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("a connection");
            stream.write_all(request.as_bytes()).expect("it is taken");
            stream
        };
        let all: Vec<TcpStream> = (0..many).map(open).collect();
        let _ = server.await_error("the limit for responses that are kept whole");
        drop(all);
        await_that("there is room again", || ask(&server, "/list/", "", 1) == [200]);
    });
}

#[test]
fn compressing_without_end() {
    needs_root!();
    let text: String =
        (0..400_000_u64).map(|n| format!("{:x} ", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let site = tenants("AddOutputFilterByType DEFLATE text/plain").a_file("htdocs/a.txt", text);
    let fields = "Accept-Encoding: gzip\r\n";
    let (_server, statuses) = attack(site, "large files compressed at once", 64, "/a.txt", fields);
    assert!(are_all(&statuses, 200), "{statuses:?}");
}

/// A resource that a rule of A's guards by a variable stays guarded after a rewrite in `.htaccess`: the variable is set
/// again.
#[test]
fn guards_by_variables_after_rewrites() {
    needs_root!();
    let guards = "SetEnvIf X-Bad yes BAD\nBrowserMatch ^bot BOT\n\
        <Location /denied>\nOrder allow,deny\nAllow from all\nDeny from env=BAD\n</Location>\n\
        <Location /unless>\n<RequireAll>\nRequire all granted\nRequire not env BOT\n</RequireAll>\n</Location>";
    let rules =
        "RewriteEngine On\nRewriteRule ^to-(denied|unless)$ /$1/a.html\nErrorDocument 404 /denied/a.html";
    let site = tenants(guards)
        .a_file("htdocs/.htaccess", rules)
        .a_file("htdocs/denied/a.html", "A's page")
        .a_file("htdocs/unless/a.html", "A's page");
    let server = site.start();
    Attack::new("guards by variables, passed by rewrites", 64).run(&server, || {
        for _ in 0..rounds() {
            let bad = ask(&server, "/to-denied", "X-Bad: yes\r\n", times());
            let bots = ask(&server, "/to-unless", "User-Agent: bot\r\n", times());
            assert!(are_all(&bad, 403) && are_all(&bots, 403), "{bad:?} {bots:?}");
            assert!(are_all(&ask(&server, "/to-denied", "", times()), 200));
        }
    });
}
