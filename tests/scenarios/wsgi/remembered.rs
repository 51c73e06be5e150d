//! The front's memory of an application's URLs, and its limits.

use super::{ANSWER, PID, site};
use hostler_tests::{Server, needs_program};
use std::fs;

fn ask(server: &Server, target: &str, fields: &str) -> String {
    let head = format!("GET {target} HTTP/1.1\r\n{fields}Connection: close\r\n\r\n");
    server.request(head.as_bytes()).text()
}

/// A URL whose way through the phases is known needs none of them again; what differs between requests does.
#[test]
fn what_is_remembered_of_a_url_is_nobody_s_own() {
    needs_python!();
    let text = "NAMES = 'QUERY_STRING', 'HTTP_COOKIE', 'HTTP_AUTHORIZATION', 'PATH_INFO', 'MARK', 'REQUEST_URI'\n\
                def application(environ, start_response):\n    \
                return say(start_response, ' '.join(environ.get(name) or '-' for name in NAMES))\n";
    let server = site(
        text,
        "WSGIPassAuthorization On\n<Location /marked>\nSetEnvIf Cookie c=2 MARK=cookie\n</Location>\n",
    )
    .start();
    let ask = |target: &str, fields: &str| ask(&server, target, &format!("Host: a\r\n{fields}"));
    for round in 0..5 {
        assert_eq!(ask("/a", ""), "- - - /a - /a", "{round}");
        assert_eq!(ask("/a?q=1", "Cookie: c=2\r\n"), "q=1 c=2 - /a - /a?q=1", "{round}");
        assert_eq!(ask("/a", "Authorization: Basic dTpw\r\n"), "- - Basic dTpw /a - /a", "{round}");
        assert_eq!(ask("/marked", ""), "- - - /marked - /marked", "{round}");
        assert_eq!(ask("/marked", "Cookie: c=2\r\n"), "- c=2 - /marked cookie /marked", "{round}");
    }
}

/// The interpreter that answers follows from the request, also where another was remembered.
#[test]
fn groups_by_host_and_variable_are_the_request_s_own() {
    needs_python!();
    let text = "def application(environ, start_response):\n    \
                return say(start_response, environ['mod_wsgi.application_group'])\n";
    let by_host = site(text, "UseCanonicalName Off\nWSGIApplicationGroup %{HOST}\n").start();
    let by_cookie = site(text, "SetEnvIf Cookie \"g=(\\w+)\" G=$1\nWSGIApplicationGroup %{ENV:G}\n").start();
    for round in 0..4 {
        for name in ["one", "two"] {
            let host = ask(&by_host, "/", &format!("Host: {name}\r\n"));
            assert!(host.starts_with(name), "{host} {round}");
            let cookie = ask(&by_cookie, "/", &format!("Host: a\r\nCookie: g={name}\r\n"));
            assert_eq!(cookie, name, "{round}");
        }
    }
}

/// The group's request-timeout is its own on both paths, not the server's Timeout.
#[test]
fn the_timeout_of_a_group_holds_for_what_is_remembered() {
    needs_python!();
    let text = "import time\ndef application(environ, start_response):\n    \
                time.sleep(600 if environ['QUERY_STRING'] == 'slow' else 0)\n    return say(start_response, 'done')\n";
    let server = site(
        text,
        "Timeout 500\nWSGIDaemonProcess slow request-timeout=1\nWSGIProcessGroup slow\nWSGIApplicationGroup %{GLOBAL}\n",
    )
    .start();
    for _ in 0..4 {
        assert_eq!(server.get("/").text(), "done");
    }
    assert_eq!(server.get("/?slow").status, 504, "{}", server.error_log());
    assert_eq!(server.get("/").text(), "done");
}

#[test]
fn an_answer_that_is_not_plain_goes_on_as_it_would() {
    needs_python!();
    let text = "def application(environ, start_response):\n    \
        what = environ['QUERY_STRING']\n    \
        if what == 'none':\n        return say(start_response, 'none', '404 None')\n    \
        if what == 'raise':\n        raise ValueError('raised here')\n    \
        if what == 'end':\n        os._exit(3)\n    \
        if what == 'file':\n        start_response('200 OK', [('Content-Type', 'text/plain')])\n        \
        return environ['wsgi.file_wrapper'](open(os.path.join(os.path.dirname(__file__), 'long.txt'), 'rb'))\n    \
        if what == 'long':\n        start_response('200 OK', [('Content-Type', 'text/plain')])\n        \
        return (b'x' * 10000 for _ in range(100))\n    \
        return say(start_response, 'plain')\n";
    let server = site(text, "").file("app/long.txt", "f".repeat(300_000)).start();
    for round in 0..3 {
        assert_eq!(server.get("/x").text(), "plain", "{round}");
        assert_eq!((server.get("/x?none").status, server.get("/x?none").text()), (404, "none".to_owned()));
        assert_eq!(server.get("/x?raise").status, 500, "{round}");
        assert_eq!(server.get("/x?end").status, 502, "{round}");
        assert_eq!(server.get("/x?file").text().len(), 300_000, "{round}");
        assert_eq!(server.get("/x?long").text().len(), 1_000_000, "{round}");
    }
    drop(server.await_error("raised here"));
}

/// Once the front has remembered a script's URL, it still sees that the script has changed.
#[test]
fn a_script_that_changes_is_not_remembered() {
    needs_python!();
    let server = site(PID, "").start();
    for _ in 0..6 {
        assert!(server.get("/").text().parse::<u32>().is_ok(), "{}", server.error_log());
    }
    for round in 0..3 {
        let text = format!(
            "{ANSWER}def application(environ, start_response):\n    return say(start_response, 'version {round}')\n"
        );
        fs::write(server.site().path("app/app.wsgi"), text).expect("ours");
        crate::faults::await_that("the new script", || server.get("/").text() == format!("version {round}"));
        // From then on all of them, whichever thread answers.
        for _ in 0..10 {
            assert_eq!(server.get("/").text(), format!("version {round}"));
        }
    }
}
