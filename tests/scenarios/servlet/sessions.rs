//! Sessions: by cookie and by URL, through rewriting, and kept while the virtual machine is not there.

use super::faults::faulty;
use crate::faults::{await_that, process};
use hostler_tests::{Server, Site, is_root, needs_program};

/// Returns the application's report on a session: the number of earlier requests, whether the URL named it, a URL that
/// does.
fn session(server: &Server, target: &str, fields: &str) -> (Option<u32>, bool, String) {
    let answer = server.get_with(target, &format!("Host: a\r\n{fields}"));
    assert_eq!(answer.status, 200, "{target}: {}", server.error_log());
    let text = answer.text();
    let mut words = text.split(' ');
    let count = words.next().and_then(|word| word.parse().ok());
    (count, words.next() == Some("true"), words.next().unwrap_or_default().to_owned())
}

#[test]
fn a_url_names_a_session_as_a_cookie_does() {
    needs_java!();
    let server = faulty("")
        .config(
            "RewriteEngine On\nRewriteRule ^/s/(.*)$ /shop/do/$1 [PT]\nRewriteRule ^/old/(.*)$ /shop/do/$1 [R]\n\
             RedirectMatch ^/older/(.*)$ /shop/do/$1\n",
        )
        .start();
    let (count, by_url, url) = session(&server, "/shop/do/session", "");
    assert_eq!((count, by_url), (None, false));
    let id = url.split_once(";jsessionid=").expect("a session in the URL").1.to_owned();
    assert_eq!(session(&server, &url, "").0, Some(1));
    assert_eq!(session(&server, &format!("{url}?a=b"), ""), (Some(2), true, url.clone()));
    let by_cookie = session(&server, "/shop/do/session", &format!("Cookie: JSESSIONID={id}\r\n"));
    // Who sends the cookie needs no URL.
    assert_eq!(by_cookie, (Some(3), false, "/shop/do/session".to_owned()));
    // The URL is what is rewritten to what it was; a redirect keeps the parameter.
    assert_eq!(session(&server, &format!("/s/session;jsessionid={id}"), "").0, Some(4));
    for old in ["/old/session", "/older/session"] {
        let answer = server.get(&format!("{old};jsessionid={id}"));
        let location = answer.field("Location").unwrap_or_default().to_owned();
        assert!(location.ends_with(&format!("/shop/do/session;jsessionid={id}")), "{old}: {location}");
    }
    // An application's own redirect names it.
    let answer = server.get("/shop/do/away");
    let location = answer.field("Location").unwrap_or_default().to_owned();
    assert!(location.contains("/shop/do/session;jsessionid="), "{location}");
    assert_eq!(session(&server, &location, "").0, Some(7));
    // Nobody's: a new one, and not under a name of the visitor's.
    let (count, _, url) = session(&server, "/shop/do/session;jsessionid=MINE", "");
    assert!(count.is_none() && !url.ends_with("MINE"), "{url}");
}

/// A server whose root stays when it ends.
fn lasting(root: &std::path::Path) -> Server {
    let user =
        if is_root() { format!("User #{0}\nGroup #{0}\n", hostler_tests::SITE_UID) } else { String::new() };
    Site::new()
        .plain()
        .file("app.war", super::faults::hostile())
        .config(&format!(
            "ServerRoot {0}\nListen 127.0.0.1:@PORT@\nServerName a\n{user}PidFile @ROOT@/hostler.pid\n\
             ErrorLog @ROOT@/logs/error.log\nDocumentRoot @ROOT@/htdocs\n\
             ServletApp /shop @ROOT@/app.war heap=64m work={0}/state\n",
            root.display()
        ))
        .start()
}

#[test]
fn a_session_outlives_a_reload_and_a_restart() {
    needs_java!();
    let root = tempfile::tempdir().unwrap();
    let (state, everybody) =
        (root.path().join("state"), std::os::unix::fs::PermissionsExt::from_mode(0o1777));
    std::fs::create_dir(&state).unwrap();
    std::fs::set_permissions(&state, everybody).unwrap();
    std::fs::set_permissions(root.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut server = lasting(root.path());
    let (_, _, url) = session(&server, "/shop/do/session", "");
    assert_eq!(session(&server, &url, "").0, Some(1));
    for round in 2..4 {
        let output = process::reload(&server);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut count = None;
        await_that("the old front ends", || process::named(&server, "hostler-front").len() == 1);
        await_that("the session is there", || {
            count = session(&server, &url, "").0;
            count.is_some()
        });
        assert_eq!(count, Some(round), "{}", server.error_log());
    }
    server.signal(rustix::process::Signal::TERM);
    assert!(server.await_end().success(), "{}", server.error_log());
    drop(server);
    let server = lasting(root.path());
    assert_eq!(session(&server, &url, "").0, Some(4), "{}", server.error_log());
}
