//! The pages in Python: the WSGI application, and the live page over its WebSocket.

use super::{OpenBrowser, showcase, sooner_or_later};
use crate::asgi::websocket::{TEXT, frame, handshake, measure};
use hostler_tests::{Connection, Server, needs_program};

/// A window: a WebSocket of the live page's.
fn window(server: &Server) -> Connection {
    let mut client = server.connect();
    client.send(handshake("/python/live/socket", ""));
    let answer = client.any_response(false);
    assert_eq!(answer.status, 101, "{}\n{}", answer.text(), server.error_log());
    client
}

/// The next thing that it is told and that has this in it.
fn hears(client: &mut Connection, text: &str) -> String {
    loop {
        let mut bytes = Vec::new();
        let start = loop {
            if let Some((start, _)) = measure(&bytes) {
                break start;
            }
            bytes.push(client.byte().expect("the application says something"));
        };
        let line = String::from_utf8_lossy(&bytes[start..]).into_owned();
        if line.contains(text) {
            return line;
        }
    }
}

#[test]
fn applications_in_python_have_their_pages() {
    needs_program!("/usr/bin/python3");
    let server = showcase();
    assert!(sooner_or_later(&server, "/python/hello", "Request 2 of worker"));
    let hello = server.get("/python/hello").text();
    assert!(hello.contains("mounted at <code>/python/hello</code>, Python 3."), "{hello}");
    assert!(server.get("/python/hello/drip").text().contains("Line 10"));
    let live = server.get("/python/live");
    assert!(live.text().contains("src=\"/python/live/live.js\""), "{}", live.text());
    assert!(live.field("Content-Security-Policy").is_some_and(|policy| policy.contains("connect-src")));
    assert!(server.get("/python/live/live.js").text().contains("new WebSocket"));
    assert_eq!(server.get("/python/live/live.py").status, 404);
    let page = server.get("/").text();
    assert!(page.contains("0 open WebSockets in worker") && page.contains("of worker"), "{page}");
    // Its sources are shown.
    assert!(page.contains("WSGIScriptAlias") && page.contains("def application(environ"), "{page}");
}

#[test]
fn windows_of_the_live_page_talk_to_each_other() {
    needs_program!("/usr/bin/python3");
    let server = showcase();
    let mut first = window(&server);
    let mut second = window(&server);
    hears(&mut first, "\"count\": 2");
    first.send(frame(TEXT, "good \u{fc} <b>evening</b>".as_bytes()));
    for client in [&mut first, &mut second] {
        hears(client, "good \\u00fc <b>evening</b>");
    }
    assert!(server.get("/python/live/status").text().contains("2 open WebSockets"));
    drop(first);
    hears(&mut second, "\"count\": 1");
    // Who comes later is told what was said before.
    hears(&mut window(&server), "evening");
}

#[test]
fn a_browser_opens_the_live_page() {
    needs_program!("/usr/bin/python3");
    needs_program!("/usr/bin/chromium");
    let server = showcase();
    let mut watcher = window(&server);
    let browser = OpenBrowser::at(&server, "/python/live");
    hears(&mut watcher, "\"count\": 2");
    drop(browser);
    hears(&mut watcher, "\"count\": 1");
}
