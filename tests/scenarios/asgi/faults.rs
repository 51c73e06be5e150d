//! Applications that harm their own process: no other site notices.

use super::{log_when, needs_python, site};
use hostler_tests::{Response, Server, await_that};
use std::fs;

const PID: &str = "
    if scope['path'] == '/pid':
        return await say(send, os.getpid())
";

fn pid(server: &Server) -> String {
    let answer = server.get("/pid");
    assert_eq!(answer.status, 200, "{}", server.error_log());
    answer.text()
}

fn app(text: &str, config: &str) -> Server {
    site(&format!("async def app(scope, receive, send):\n{PID}{text}"), config).start()
}

#[test]
fn a_worker_that_is_stopped_is_replaced() {
    needs_python!();
    let server = app("", "");
    let stopped = pid(&server);
    let number: u32 = stopped.parse().expect("a number");
    crate::faults::process::kill(number, rustix::process::Signal::STOP);
    let begun = std::time::Instant::now();
    let _ = server.get("/pid");
    // Time: the client is not left waiting until Timeout, which is 60 s.
    assert!(begun.elapsed() < std::time::Duration::from_secs(30), "{}", server.error_log());
    await_that("another one serves", || {
        let answer = server.get("/pid");
        answer.status == 200 && answer.text() != stopped
    });
    assert!(server.error_log().contains("has been stopped by a signal"), "{}", server.error_log());
}

#[test]
fn a_program_all_of_whose_processes_are_stopped_is_replaced() {
    needs_python!();
    let server = app("", "");
    let stopped = pid(&server);
    let worker: u32 = stopped.parse().expect("a number");
    let parent = crate::faults::process::status(worker, "PPid").and_then(|pid| pid.parse().ok());
    for process in [parent.expect("a number"), worker] {
        crate::faults::process::kill(process, rustix::process::Signal::STOP);
    }
    let _ = server.get("/pid");
    await_that("another one serves", || {
        let answer = server.get("/pid");
        answer.status == 200 && answer.text() != stopped
    });
}

#[test]
fn processes_that_a_request_forks_have_no_part_in_it() {
    needs_python!();
    let text = "
    if scope['path'] == '/ends':
        child = os.fork()
        if child == 0:
            os._exit(7)
        return await say(send, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    if scope['path'] == '/goes-on':
        # The child does as if it was the worker: it answers, and waits for what comes.
        child = os.fork()
        if child == 0:
            await say(send, 'the child')
            await asyncio.sleep(600)
        return await say(send, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    if scope['path'] == '/waits':
        await send({'type': 'http.response.start', 'status': 200, 'headers': []})
        await send({'type': 'http.response.body', 'body': b'one ', 'more_body': True})
        await told.wait()
        return await send({'type': 'http.response.body', 'body': b'two'})
    if scope['path'] == '/tell':
        told.set()
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        return await say(send, 'told' if child else 'by the child')
    import multiprocessing
    with multiprocessing.get_context('fork').Pool(2) as pool:
        await say(send, sum(pool.map(abs, range(10))))
told = asyncio.Event()
";
    let server = app(text, "");
    let before = pid(&server);
    // Another request of the same worker, which would go on twice.
    let mut waiting = server.connect();
    waiting.send("GET /waits HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let mut begun = Vec::new();
    while !begun.ends_with(b"one ") {
        begun.push(waiting.byte().expect("the first piece"));
    }
    let texts = ["/ends", "/goes-on", "/pool", "/tell"].map(|path| server.get(path).text());
    assert_eq!(texts, ["7", "0", "45", "told"], "{}", server.error_log());
    assert_eq!(waiting.rest(), b"\r\n3\r\ntwo\r\n0\r\n\r\n");
    assert_eq!([(); 5].map(|()| pid(&server)), [(); 5].map(|()| before.clone()));
}

#[test]
fn threads_and_tasks_live_on_beside_requests() {
    needs_python!();
    let text = "
    if not begun:
        begun.append(asyncio.ensure_future(count()))
        thread = threading.Thread(target=beside, daemon=True)
        thread.start()
    await say(send, ' '.join(map(str, counts)))
import threading
begun, counts = [], [0, 0]
async def count():
    while True:
        counts[0] += 1
        await asyncio.sleep(0.005)
def beside():
    while True:
        counts[1] += 1
        time.sleep(0.005)
";
    let server = app(text, "");
    await_that("both count", || {
        let text = server.get("/").text();
        let counts: Vec<u32> = text.split(' ').filter_map(|count| count.parse().ok()).collect();
        counts.len() == 2 && counts.iter().all(|count| *count > 5)
    });
    // A worker with a thread that is none of a daemon's ends for all that.
    let stuck = app(
        "
    import threading
    threading.Thread(target=time.sleep, args=(600,)).start()
    await say(send, 'begun')
",
        "",
    );
    assert_eq!(stuck.get("/").text(), "begun");
    let worker: u32 = pid(&stuck).parse().expect("a number");
    drop(stuck);
    await_that("its end", || !std::path::Path::new(&format!("/proc/{worker}")).exists());
}

#[test]
fn whoever_steals_signals_ends_with_the_server() {
    needs_python!();
    let text = "
    import signal
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    await say(send, 'stolen')
";
    let server = app(text, "");
    assert_eq!(server.get("/").text(), "stolen");
    let worker: u32 = pid(&server).parse().expect("a number");
    drop(server);
    await_that("its end", || !std::path::Path::new(&format!("/proc/{worker}")).exists());
}

#[test]
fn memory_and_recursion_cost_their_own_request() {
    needs_python!();
    let text = "
    if scope['path'] == '/memory':
        taken = []
        while True:
            taken.append(bytearray(50_000_000))
    async def deeper():
        await deeper()
    await deeper()
";
    let server = app(text, "RLimitMEM 600000000\n");
    let before = pid(&server);
    for (path, why) in [("/memory", "MemoryError"), ("/recursion", "RecursionError")] {
        assert_eq!(server.get(path).status, 500);
        log_when(&server, why);
    }
    assert_eq!(pid(&server), before);
    // Beyond what Python itself can stand.
    let deep = "
    class Deep:
        def __repr__(self):
            return repr(self)
    sys.setrecursionlimit(10**8)
    import threading
    await say(send, repr(Deep()))
";
    let server = app(deep, "");
    let before = pid(&server);
    assert_eq!(server.get("/").status, 502);
    log_when(&server, "ended: signal 11");
    assert_ne!(pid(&server), before);
}

#[test]
fn lengths_that_lie_are_not_believed() {
    needs_python!();
    let text = "
    length = int(scope['query_string'])
    await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-length', b'%d' % length)]})
    if scope['path'] == '/one':
        return await send({'type': 'http.response.body', 'body': b'abcdef'})
    await send({'type': 'http.response.body', 'body': b'abc', 'more_body': True})
    await asyncio.sleep(0.05)
    await send({'type': 'http.response.body', 'body': b'def'})
";
    let server = app(text, "");
    let before = pid(&server);
    let whole = |answer: &Response| answer.status == 200 && !answer.truncated && answer.text() == "abcdef";
    assert!(whole(&server.get("/one?6")) && whole(&server.get("/two?6")));
    // Known before anything was sent.
    for (target, why) in [("/one?4", "longer than its Content-Length"), ("/one?9", "3 bytes shorter")] {
        assert_eq!(server.get(target).status, 500, "{target}");
        log_when(&server, why);
    }
    for target in ["/two?4", "/two?9"] {
        let answer = server.get(target);
        assert!(answer.truncated && "abcdef".starts_with(&answer.text()), "{target}: {answer:?}");
    }
    assert_eq!(pid(&server), before);
}

#[test]
fn what_ends_amid_an_answer_does_not_look_complete() {
    needs_python!();
    let text = "
    await send({'type': 'http.response.start', 'status': 200, 'headers': []})
    await send({'type': 'http.response.body', 'body': b'some', 'more_body': True})
    if scope['path'] == '/generator':
        async for piece in pieces():
            await send({'type': 'http.response.body', 'body': piece, 'more_body': True})
    if scope['path'] == '/exit':
        sys.exit(3)
    await asyncio.sleep(0.05)
    if scope['path'] == '/end':
        os._exit(3)
async def pieces():
    yield b' more'
    raise ValueError('in a generator')
";
    let server = app(text, "");
    for (path, why) in [
        ("/generator", "ValueError: in a generator"),
        ("/exit", "SystemExit, which ends no worker"),
        ("/return", "returned"),
        ("/end", "ended: exit status 3"),
    ] {
        let answer = server.get(path);
        assert!(answer.truncated && answer.text().starts_with("some"), "{path}: {answer:?}");
        log_when(&server, why);
    }
    pid(&server);
}

#[test]
fn an_import_that_hangs_is_ended_and_told() {
    needs_python!();
    let hangs = "time.sleep(600)\n";
    let config = "Timeout 1\nAlias /beside @ROOT@/app\n<Location /beside>\nSetHandler None\n</Location>\n";
    let server = site(hangs, config).file("app/page.txt", "beside").start();
    let mut waiting = server.connect();
    waiting.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(server.get("/beside/page.txt").text(), "beside");
    assert!(waiting.response().status >= 500);
    log_when(&server, "was not ready within 1 s (Timeout)");
}

#[test]
fn an_environment_that_cannot_be_used_is_told_in_one_line() {
    needs_python!();
    let config = "<Location />\nASGIApp app/app.py python-home=@ROOT@/venv\n</Location>\n";
    let site = site("", config).dir("venv/bin");
    std::os::unix::fs::symlink("/nowhere/python3.7", site.path("venv/bin/python3")).unwrap();
    let server = site.start();
    assert!(server.get("/").status >= 500);
    log_when(&server, "make the virtual environment anew");
}

#[test]
fn a_reload_waits_until_applications_that_ran_serve_again() {
    needs_python!();
    // Each start is written down, and waits for the gate.
    let text = "import pathlib, time\n\
                HERE = pathlib.Path(__file__).parent\n\
                with open(HERE / 'starts', 'a') as starts: starts.write('.')\n\
                while not (HERE / 'gate').exists(): time.sleep(0.01)\n\
                PID = str(__import__('os').getpid())\n\
                async def app(scope, receive, send):\n\
                \x20   await send({'type': 'http.response.start', 'status': 200})\n\
                \x20   await send({'type': 'http.response.body', 'body': PID.encode()})\n";
    let site = site(text, "").file("app/gate", "").mode("app", 0o1777);
    let (gate, starts) = (site.path("app/gate"), site.path("app/starts"));
    let server = site.start();
    let first = pid(&server);
    fs::remove_file(&gate).expect("the gate");
    std::thread::scope(|scope| {
        let reload = scope.spawn(|| crate::faults::process::reload(&server));
        await_that("the next generation starts the application", || {
            fs::read(&starts).is_ok_and(|starts| starts.len() > 1)
        });
        assert_eq!(pid(&server), first, "the old generation serves meanwhile");
        fs::write(&gate, "").expect("the gate");
        let output = reload.join().expect("reload");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    });
    assert_ne!(pid(&server), first, "{}", server.error_log());
    assert_eq!(fs::read(&starts).expect("starts").len(), 2, "{}", server.error_log());
}
