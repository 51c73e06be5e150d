//! Applications that harm their own process: no other site notices.

use super::{pid, site};
use hostler_tests::{Server, await_that, needs_program};

fn app(text: &str, config: &str) -> Server {
    let text = format!(
        "def application(environ, start_response):\n    path = environ['PATH_INFO']\n    if path == '/pid':\n        \
         return say(start_response, os.getpid())\n{text}"
    );
    site(&text, config).start()
}

#[test]
fn what_ends_amid_an_answer_does_not_look_complete() {
    needs_program!("/usr/bin/python3");
    let text = "
    plain = [('Content-Type', 'text/plain')]
    if path == '/written':
        start_response('200 OK', plain)(b'some')
        raise ValueError('after it was written')
    if path == '/length':
        plain.append(('Content-Length', '10'))
    start_response('200 OK', plain)
    return pieces(path)
def pieces(path):
    yield b'some'
    if path == '/exit':
        sys.exit(3)
    if path == '/end':
        os._exit(3)
    if path == '/kill':
        os.kill(os.getpid(), 9)
    if path != '/length':
        raise ValueError('in a generator')
";
    let server = app(text, "");
    for (path, why) in [
        ("/generator", "ValueError: in a generator"),
        ("/written", "ValueError: after it was written"),
        ("/exit", "SystemExit exception raised by WSGI script"),
        ("/length", "its Content-Length is 10, and its body 4 bytes"),
        ("/end", "exited with status 3"),
        ("/kill", "killed by signal 9"),
    ] {
        let answer = server.get(path);
        // What a worker has said that ends at once may not have left it.
        let is_lost = matches!(path, "/end" | "/kill") && answer.status == 502;
        if !is_lost {
            assert_eq!((answer.status, answer.truncated), (200, true), "{path}: {answer:?}");
            assert_eq!(answer.text(), "some", "{path}");
        }
        let _ = server.await_error(why);
        assert!(pid(&server, "/pid") > 1);
    }
}

#[test]
fn ten_megabytes_of_fields_are_no_answer() {
    needs_program!("/usr/bin/python3");
    let text = "
    fields = [('X-One', 'x' * 10_000_000)] if path == '/one' else [('X-Many', 'x' * 1000)] * 10_000
    start_response('200 OK', fields)
    return [b'x']
";
    let server = app(text, "");
    for path in ["/one", "/many"] {
        assert_eq!(server.get(path).status, 502, "{path}");
        let _ = server.await_error("it sent a message of 10");
        assert!(pid(&server, "/pid") > 1);
    }
}

#[test]
fn memory_and_recursion_cost_their_own_request() {
    needs_program!("/usr/bin/python3");
    let text = "
    if path == '/memory':
        taken = []
        while True:
            taken.append(bytearray(50_000_000))
    # Beyond what Python itself can stand.
    class Deep:
        def __repr__(self):
            return repr(self)
    sys.setrecursionlimit(10**8)
    return say(start_response, repr(Deep()))
";
    let server = app(text, "MaxRequestWorkers 1\nRLimitMEM 600000000\n");
    let before = pid(&server, "/pid");
    assert_eq!(server.get("/memory").status, 500);
    let _ = server.await_error("MemoryError");
    assert_eq!(pid(&server, "/pid"), before);
    assert_eq!(server.get("/deep").status, 502);
    let _ = server.await_error("killed by signal 11");
    assert_ne!(pid(&server, "/pid"), before);
}

#[test]
fn processes_and_threads_that_go_on_hold_nobody_up() {
    needs_program!("/usr/bin/python3");
    let text = "
    import threading, time
    if path == '/fork':
        if os.fork() == 0:
            time.sleep(600)
    elif path == '/raise':
        if os.fork() == 0:
            raise ValueError('in the child')
        os.wait()
    else:
        threading.Thread(target=time.sleep, args=(600,)).start()
    return say(start_response, 'parent')
";
    let server = app(text, "MaxRequestWorkers 1\n");
    let before = pid(&server, "/pid");
    for path in ["/fork", "/raise", "/thread"] {
        let answer = server.get(path);
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (200, "parent"),
            "{path}: {}",
            server.error_log()
        );
        assert_eq!(pid(&server, "/pid"), before);
    }
    drop(server);
    await_that("its end", || !std::path::Path::new(&format!("/proc/{before}")).exists());
}

#[test]
fn a_worker_that_closes_what_it_has_been_given_is_replaced() {
    needs_program!("/usr/bin/python3");
    let text = "
    os.closerange(0, 1000)
    return say(start_response, 'closed')
";
    let server = app(text, "MaxRequestWorkers 1\n");
    let answer = server.get("/");
    assert!(answer.status == 200 || answer.status >= 500, "{answer:?}");
    await_that("a worker", || server.get("/pid").status == 200);
}

/// A site with an application at `/own` and one at `/hangs` whose import never ends, in a process group of its own.
fn hanging(config: &str) -> Server {
    let text = "def application(environ, start_response):\n    return say(start_response, os.getpid())\n";
    let site = hostler_tests::Site::new()
        .file("app/app.wsgi", format!("{}{text}", super::ANSWER))
        .file("app/hangs.wsgi", "import time\ntime.sleep(600)\n")
        .file("app/page.txt", "a page");
    let config = format!(
        "WSGIDaemonProcess p processes=1 threads=1\nWSGIScriptAlias /own @ROOT@/app/app.wsgi\n\
         WSGIScriptAlias /hangs @ROOT@/app/hangs.wsgi process-group=p application-group=%{{GLOBAL}}\n\
         Alias /page.txt @ROOT@/app/page.txt\n<Directory @ROOT@/app>\nRequire all granted\n</Directory>\n{config}"
    );
    site.config(&config).start()
}

#[test]
fn an_import_that_hangs_costs_its_own_requests() {
    needs_program!("/usr/bin/python3");
    for (config, status, why) in [
        ("Timeout 1\nHostlerPythonPreload off\n", 504, "neither read nor wrote anything for too long"),
        ("HostlerQueueTimeout 1\n", 503, "what is loaded ahead of its workers takes too long"),
    ] {
        let server = hanging(config);
        let mut waiting = server.connect();
        waiting.send("GET /hangs HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        assert!(pid(&server, "/own") > 1);
        assert_eq!(server.get("/page.txt").text(), "a page");
        assert_eq!(waiting.response().status, status);
        assert!(server.await_error(why).contains("hangs.wsgi"));
        assert!(pid(&server, "/own") > 1);
    }
}
