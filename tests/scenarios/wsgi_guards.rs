//! Scripts in Python that decide who may see what. What they may say is in `conformance/cases/wsgi-guards.toml`, beside mod_wsgi
//! itself; here is whose process they run in, and what happens where they cannot be asked.

use hostler_tests::{SITE_UID, Server, Site, await_that, is_root, needs_program};
use std::fs;

macro_rules! needs_python {
    () => {
        needs_program!("/usr/bin/python3")
    };
}

const GUARD: &str = "
import os
def allow_access(environ, host):
    return environ.get('HTTP_X_LET') == 'in'
def check_password(environ, user, password):
    return \"%s-%d\" % (user, os.getuid()) if password == 'right' else None
def groups_for_user(environ, user):
    return ['staff'] if user.startswith('ann') else []
";

/// A site with a page below `/x`, guarded so.
fn site(guarded: &str, config: &str) -> Site {
    let config = format!("{config}<Location /x>\n{guarded}\n</Location>\n");
    Site::new().file("guard.py", GUARD).file("htdocs/x/page.txt", "the page").config(&config)
}

const LOGIN: &str = "AuthType Basic\nAuthName x\nAuthBasicProvider wsgi\nWSGIAuthUserScript @ROOT@/guard.py\n\
                     WSGIAuthGroupScript @ROOT@/guard.py\nRequire wsgi-group staff";

/// Logs in as ann, ron or, with the wrong password, ann.
const ANN: &str = "Authorization: Basic YW5uOnJpZ2h0\r\n";
const RON: &str = "Authorization: Basic cm9uOnJpZ2h0\r\n";
const WRONG: &str = "Authorization: Basic YW5uOndyb25n\r\n";

fn status(server: &Server, fields: &str) -> u16 {
    server.get_with("/x/page.txt", &format!("Host: localhost\r\n{fields}")).status
}

#[test]
fn a_script_is_asked_for_each_request_whatever_is_remembered_of_a_url() {
    needs_python!();
    let server = site("WSGIAccessScript @ROOT@/guard.py", "").start();
    for _ in 0..3 {
        assert_eq!(status(&server, "X-Let: in\r\n"), 200, "{}", server.error_log());
        assert_eq!(status(&server, ""), 403);
    }
}

#[test]
fn it_runs_as_the_site_s_user_and_says_what_the_user_is_called() {
    needs_python!();
    let server = site(LOGIN, "LogFormat \"%u %s\" user\nCustomLog logs/users.log user\n").start();
    for (fields, expected) in [(ANN, 200), (RON, 401), (WRONG, 401), ("", 401)] {
        assert_eq!(status(&server, fields), expected, "{fields} {}", server.error_log());
    }
    let uid = if is_root() { SITE_UID } else { rustix::process::geteuid().as_raw() };
    // Each answer is logged once it is sent, by its own thread of the front: in no order.
    let mut expected = [format!("ann-{uid} 200"), format!("ron-{uid} 401"), "ann 401".into(), "- 401".into()];
    expected.sort();
    let users = server.site().path("logs/users.log");
    await_that("the users are logged", || {
        let logged = fs::read_to_string(&users).unwrap_or_default();
        let mut lines: Vec<&str> = logged.lines().collect();
        lines.sort_unstable();
        lines == expected
    });
}

#[test]
fn a_name_that_is_no_text_lets_nobody_in() {
    needs_python!();
    // Apache's process crashes.
    let server = site(LOGIN, "").start();
    assert_eq!(status(&server, "Authorization: Basic 5DrU\r\n"), 500);
    let _ = server.await_error("UnicodeDecodeError");
    assert_eq!(status(&server, ANN), 200);
}

#[test]
fn one_that_is_written_anew_is_loaded_anew() {
    needs_python!();
    let server = site("WSGIAccessScript @ROOT@/guard.py", "").start();
    assert_eq!(status(&server, ""), 403);
    let file = server.site().path("guard.py");
    fs::write(&file, "def allow_access(environ, host):\n    return True  # for everybody\n").unwrap();
    assert_eq!(status(&server, ""), 200);
    fs::write(&file, "def allow_access(environ, host): broken\n").unwrap();
    assert_eq!(status(&server, "X-Let: in\r\n"), 403);
}

#[test]
fn nobody_passes_where_a_script_cannot_be_asked() {
    needs_python!();
    for guarded in ["WSGIAccessScript @ROOT@/guard.py", LOGIN] {
        // The interpreter is not there.
        let server = site(guarded, "WSGIPythonHome @ROOT@/nothing\n").start();
        assert_eq!(status(&server, &format!("X-Let: in\r\n{ANN}")), 500);
        let _ = server.await_error("there is no such folder");
    }
    // What ends its process answers nothing.
    let server = site("WSGIAccessScript @ROOT@/guard.py", "")
        .file("guard.py", "import os\ndef allow_access(environ, host):\n    os._exit(0)\n")
        .start();
    assert_eq!(status(&server, "X-Let: in\r\n"), 502);
}

const CHOOSER: &str = "
import os
def process_group(environ):
    return environ.get('HTTP_X_PLACE')
def callable_object(environ):
    return 'named' * int(environ.get('HTTP_X_TIMES', 0)) or None
";

const PLACES: &str = "
def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return [environ['mod_wsgi.process_group'].encode()]
";

#[test]
fn a_script_that_chooses_where_others_run_is_asked_each_time_and_may_not_choose_all() {
    needs_python!();
    let config = "WSGIDaemonProcess one processes=1 threads=1\nWSGIDaemonProcess two processes=1 threads=1\n\
                  WSGIDaemonProcess other processes=1 threads=1\nWSGIScriptAlias /x @ROOT@/app/app.wsgi\n\
                  <Directory @ROOT@/app>\nRequire all granted\n</Directory>\n\
                  <Location /x>\nWSGIProcessGroup one\nWSGIDispatchScript @ROOT@/chooser.py\n\
                  WSGIRestrictProcess one two\n</Location>\n";
    let server = Site::new().file("chooser.py", CHOOSER).file("app/app.wsgi", PLACES).config(config).start();
    let ask = |fields: &str| server.get_with("/x", &format!("Host: localhost\r\n{fields}"));
    for _ in 0..3 {
        assert_eq!(ask("").text(), "one", "{}", server.error_log());
        assert_eq!(ask("X-Place: two\r\n").text(), "two");
    }
    assert_eq!(ask("X-Place: other\r\n").status, 500);
    let _ = server.await_error("does not allow the process group \"other\"");
    assert_eq!(ask("X-Times: 100\r\n").status, 500);
    let _ = server.await_error("a name of more than 255 bytes");
    fs::write(server.site().path("chooser.py"), "def process_group(environ): broken\n").unwrap();
    assert_eq!(ask("X-Place: two\r\n").status, 500);
}
