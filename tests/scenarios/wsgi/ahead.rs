//! Requests that applications answer before workers are forked (`HostlerPythonPreload`).

use super::{ANSWER, site};
use hostler_tests::{Server, Site, needs_program};

/// Counts what it has answered, and tells of what it was asked for first.
const COUNTS: &str = "
asked = []
def application(environ, start_response):
    names = ('REQUEST_METHOD', 'SCRIPT_NAME', 'PATH_INFO', 'QUERY_STRING', 'SERVER_NAME', 'SERVER_PORT', 'HTTP_HOST')
    asked.append((os.getpid(), [environ[name] for name in names]))
    first, told = asked[0]
    return say(start_response, '%d %r %s' % (len(asked), first == os.getppid(), ' '.join(told)))
";

/// The same application at several places.
fn counting(config: &str) -> Server {
    let places = "WSGIScriptAlias /shop/new @ROOT@/app/app.wsgi application-group=new\n\
                  WSGIScriptAlias /shop @ROOT@/app/app.wsgi application-group=shop\n\
                  WSGIScriptAlias / @ROOT@/app/app.wsgi\n\
                  <Directory @ROOT@/app>\nRequire all granted\n</Directory>\nServerName www.example\n";
    Site::new().file("app/app.wsgi", format!("{ANSWER}{COUNTS}")).config(&format!("{places}{config}")).start()
}

#[test]
fn workers_find_done_what_the_first_request_does() {
    needs_program!("/usr/bin/python3");
    let server =
        counting("HostlerPythonPreload auto /shop/a%20b?c=d\n<Location />\nIsolation fork\n</Location>\n");
    let port = server.port();
    let told = format!("2 True GET /shop /a b c=d www.example {port} www.example:{port}");
    for _ in 0..3 {
        // Each in a process of its own.
        assert_eq!(server.get("/shop/x").text(), told, "{}", server.error_log());
    }
    // The others have answered nothing: it belongs to none of them.
    assert!(server.get("/shop/new/x").text().starts_with("1 False GET /shop/new /x "));
    assert!(server.get("/x").text().starts_with("1 False GET  /x "));
}

#[test]
fn the_path_of_a_deeper_alias_is_its_own() {
    needs_program!("/usr/bin/python3");
    let server = counting("HostlerPythonPreload on /shop/new\nStartServers 1\nMaxRequestWorkers 1\n");
    assert!(server.get("/shop/new/x").text().starts_with("2 True GET /shop/new  "), "{}", server.error_log());
    assert!(server.get("/shop/x").text().starts_with("1 False "));
}

#[test]
fn what_can_t_be_shared_is_not_done_ahead() {
    needs_program!("/usr/bin/python3");
    let text = "
import sqlite3
asked, kept = [], []
def application(environ, start_response):
    asked.append(os.getpid())
    if not kept:
        kept.append(sqlite3.connect(os.path.join(os.path.dirname(__file__), 'data'), check_same_thread=False))
        kept[0].execute('create table if not exists t (a)')
    return say(start_response, '%d %r' % (len(asked), imported == os.getppid()))
imported = os.getpid()
";
    let server = site(text, "HostlerPythonPreload auto /\nMaxRequestWorkers 1\n").mode("app", 0o777).start();
    // It is imported ahead all the same.
    assert_eq!(server.get("/").text(), "1 True", "{}", server.error_log());
    assert!(server.await_error("answer no request before workers are forked").contains("app/data)"));
}

#[test]
fn an_application_that_can_t_answer_serves_all_the_same() {
    needs_program!("/usr/bin/python3");
    let text = "
asked = []
def application(environ, start_response):
    asked.append(1)
    if len(asked) == 1 and environ['QUERY_STRING'] == 'raises':
        raise ValueError('not yet')
    if environ['QUERY_STRING'] == 'never%20ends':
        start_response('200 OK', [])
        return iter(lambda: b'x', b'')
    return say(start_response, len(asked), '404 Not Found')
";
    for (query, lines) in [
        ("raises", &["could not answer a request before workers are forked", "ValueError: not yet"][..]),
        ("", &["answered 404 Not Found to the request before workers are forked"]),
        ("never%20ends", &[]),
    ] {
        let server = site(text, &format!("HostlerPythonPreload on /?{query}\nMaxRequestWorkers 1\n")).start();
        assert_eq!(server.get("/").text(), "2", "{}", server.error_log());
        for line in lines {
            let _ = server.await_error(line);
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (words, why) in [
        ("off /", "nothing is imported ahead"),
        ("on shop", "it begins with a slash"),
        ("maybe", "is none of auto, on, off"),
    ] {
        let started = site("", &format!("HostlerPythonPreload {words}\n")).try_start();
        let said = started.err().unwrap_or_else(|| panic!("{words} is taken"));
        assert!(said.contains(why), "{words}: {said}");
    }
}
