//! WSGI applications whose requests run in threads of one process (`wsgi-threads=`).

use super::needs_python;
use hostler_tests::{Server, Site};

/// A site whose `/x` is such an application; Python's own judge may look at what it and the server say to each other.
fn site(text: &str, threads: u32, is_judged: bool) -> Server {
    let config = format!(
        "Timeout 2\n<Location /x>\nSetHandler asgi\nASGIApp app/app.wsgi wsgi-threads={threads}\nRequire all granted\n</Location>\n"
    );
    let application = if is_judged { "wsgiref.validate.validator(app)" } else { "app" };
    let text = format!("import os, sys, threading, wsgiref.validate\n{text}\napplication = {application}\n");
    Site::new().file("app/app.wsgi", text).config(&config).start()
}

#[test]
fn requests_meet_in_one_process() {
    needs_python!();
    let text = "
meeting = threading.Barrier(4)
def app(environ, start_response):
    # Nobody goes on before all four are there.
    meeting.wait()
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return [('%d %r %r' % (os.getpid(), environ['wsgi.multithread'], environ['wsgi.multiprocess'])).encode()]
";
    let server = site(text, 4, true);
    let answers: Vec<String> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..4).map(|_| scope.spawn(|| server.get("/x").text())).collect();
        asked.into_iter().map(|answer| answer.join().unwrap()).collect()
    });
    assert!(answers[0].ends_with(" True False"), "{} {}", answers[0], server.error_log());
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}

#[test]
fn an_application_is_told_of_the_request_and_reads_its_body() {
    needs_python!();
    let text = "
def app(environ, start_response):
    body = environ['wsgi.input']
    first, rest = body.readline(), body.read(1 << 20)
    start_response('201 Created', [('Content-Type', 'text/plain'), ('X-Two', '1'), ('X-Two', '2')])
    names = ('REQUEST_METHOD', 'SCRIPT_NAME', 'PATH_INFO', 'QUERY_STRING', 'REQUEST_URI', 'CONTENT_LENGTH', 'CONTENT_TYPE',
             'HTTP_X_OWN', 'HTTP_COOKIE', 'HTTP_PROXY', 'HTTP_X_B_C', 'wsgi.url_scheme')
    told = [repr(environ.get(name)) for name in names]
    return [' '.join([*told, repr(first), str(len(rest))]).encode()]
";
    let server = site(text, 2, true);
    let fields = "Host: localhost\r\nContent-Type: a/b\r\nX-Own: 1\r\nX-Own: 2\r\nCookie: a=b\r\nCookie: c=d\r\nProxy: x\r\nX_B_C: x\r\n";
    let body = format!("one\n{}", "r".repeat(300_000));
    let answer = server.request(
        format!(
            "POST /x/a%20%C3%A4?b=%20c HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n{fields}\r\n{body}",
            body.len()
        )
        .as_bytes(),
    );
    assert_eq!(answer.status, 201, "{}", server.error_log());
    let two: Vec<_> = answer.fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case("X-Two")).collect();
    assert_eq!(two.len(), 2, "{two:?}");
    let expected = "'POST' '/x' '/a \u{c3}\u{a4}' 'b=%20c' '/x/a%20%C3%A4?b=%20c' '300004' 'a/b' '1, 2' 'a=b; c=d' None None 'http' \
                    b'one\\n' 300000";
    assert_eq!(answer.text(), expected);
}

#[test]
fn answers_go_as_they_are_and_failures_are_told() {
    needs_python!();
    let text = "
class Pieces:
    def __init__(self, pieces):
        self.pieces = iter(pieces)
    def __iter__(self):
        return self
    def __next__(self):
        return next(self.pieces)
    def close(self):
        print('closed', file=sys.stderr)
def app(environ, start_response):
    what = environ['PATH_INFO']
    plain = [('Content-Type', 'text/plain')]
    if what == '/raises':
        raise ValueError('before')
    if what == '/late':
        try:
            start_response('200 OK', plain)
            raise KeyError('x')
        except KeyError:
            start_response('409 Conflict', plain, sys.exc_info())
        return [b'late']
    if what == '/write':
        write = start_response('200 OK', plain)
        write(b'written ')
        return [b'and ', b'returned']
    if what == '/long':
        start_response('200 OK', plain + [('Content-Length', '4')])
        return [b'123', b'456']
    if what == '/none':
        return []
    start_response('200 OK', plain)
    return Pieces([b'one ', b'', b'two'])
";
    let server = site(text, 2, false);
    let of = |path: &str| (server.get(path).status, server.get(path).text());
    assert_eq!(of("/x/pieces"), (200, "one two".to_owned()), "{}", server.error_log());
    let _ = server.await_error("closed");
    assert_eq!(of("/x/write"), (200, "written and returned".to_owned()));
    assert_eq!(of("/x/late"), (409, "late".to_owned()));
    assert_eq!(of("/x/long"), (200, "1234".to_owned()));
    assert_eq!(of("/x/raises").0, 500);
    let _ = server.await_error("ValueError: before");
    assert_eq!(of("/x/none").0, 500);
    let _ = server.await_error("has not called start_response");
}

#[test]
fn threads_that_go_on_for_nobody_have_their_worker_replaced() {
    needs_python!();
    let text = "
def app(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    if environ['PATH_INFO'] == '/ends-never':
        print('it goes on', file=sys.stderr, flush=True)
        threading.Event().wait()
    return [b'%d' % os.getpid()]
";
    let server = site(text, 1, false);
    let before = server.get("/x").text();
    let mut client = server.connect();
    client.send("GET /x/ends-never HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let _ = server.await_error("it goes on");
    drop(client);
    let _ = server.await_error("a thread goes on although its client has gone");
    hostler_tests::await_that("another worker answers", || {
        let answer = server.get("/x");
        answer.status == 200 && answer.text() != before
    });
}
