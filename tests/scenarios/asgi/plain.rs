//! Plain requests are served by the extension where the interpreter can load it, and all others by the same code in
//! Python, which is all that other implementations have: both must answer alike, whatever an application sends.

use super::needs_python;
use hostler_tests::{Server, Site, await_that};
use std::fs;
use std::process::Command;

/// Each function is one request's application; its name is the path.
const TEXT: &str = r#"
import asyncio, threading
START, BODY = "http.response.start", "http.response.body"
def start(status=200, headers=((b"content-type", b"text/plain"),), **more):
    return {"type": START, "status": status, "headers": headers, **more}
def body(body=b"", more_body=False):
    return {"type": BODY, "body": body, "more_body": more_body}

async def plain(scope, receive, send):
    await send(start())
    await send(body(b"plain"))
async def nothing_said(scope, receive, send):
    await send({"type": START, "status": 200})
    await send({"type": BODY})
async def pieces(scope, receive, send):
    await send(start())
    for piece in (b"a", b"", b"bc", b"d" * 70000):
        await send(body(piece, True))
    await send(body())
async def large(scope, receive, send):
    await send(start(headers=[(b"content-length", b"3000000")]))
    for _ in range(10):
        await send(body(b"x" * 300000, True))
    await send(body())
async def lists(scope, receive, send):
    await send(start(headers=[[b"x-a", b" 1\t"], (bytearray(b"x-b"), memoryview(b"2").tobytes()), (b"X-C", bytearray(b" 3 "))]))
    await send(body(bytearray(b"bytes")))
async def generator(scope, receive, send):
    await send(start(headers=((b"x-%d" % n, b"%d" % n) for n in range(3))))
    await send(body(memoryview(b"view")))
async def not_found(scope, receive, send):
    await send(start(404, [(b"content-length", b"4"), (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")]))
    await send(body(b"none"))
async def no_content(scope, receive, send):
    await send(start(204, [(b"content-length", b"7")]))
    await send(body())
async def not_modified(scope, receive, send):
    await send(start(304, [(b"content-length", b"7"), (b"etag", b'"x"')]))
    await send(body())
async def derived(scope, receive, send):
    class Message(dict): pass
    class Status(int): pass
    class Bytes(bytes): pass
    await send(Message(start(Status(201), [(Bytes(b"x-a"), Bytes(b"1"))])))
    await send(Message(body(Bytes(b"derived"))))
async def odd_status(scope, receive, send):
    await send(start(True))
async def text_status(scope, receive, send):
    await send(start("200"))
async def low_status(scope, receive, send):
    await send(start(199))
async def high_status(scope, receive, send):
    await send(start(1000))
async def huge_status(scope, receive, send):
    await send(start(1 << 80))
async def text_field(scope, receive, send):
    await send(start(headers=[("x", "y")]))
async def odd_name(scope, receive, send):
    await send(start(headers=[(b"x y", b"z")]))
async def empty_name(scope, receive, send):
    await send(start(headers=[(b"", b"z")]))
async def split_value(scope, receive, send):
    await send(start(headers=[(b"x", b"y\r\nz: 1")]))
async def three_parts(scope, receive, send):
    await send(start(headers=[(b"x", b"y", b"z")]))
async def odd_length(scope, receive, send):
    await send(start(headers=[(b"content-length", b"+5")]))
async def huge_length(scope, receive, send):
    await send(start(headers=[(b"content-length", b"9" * 30)]))
    await send(body(b"x"))
async def two_lengths(scope, receive, send):
    await send(start(headers=[(b"content-length", b"9"), (b"content-length", b"1")]))
    await send(body(b"x"))
async def too_long(scope, receive, send):
    await send(start(headers=[(b"content-length", b"2")]))
    await send(body(b"abc"))
async def too_short(scope, receive, send):
    await send(start(headers=[(b"content-length", b"4")]))
    await send(body(b"abc"))
async def later_too_long(scope, receive, send):
    await send(start(headers=[(b"content-length", b"2")]))
    await send(body(b"ab", True))
    await send(body(b"c"))
async def twice(scope, receive, send):
    await send(start())
    await send(start())
async def body_first(scope, receive, send):
    await send(body(b"x"))
async def behind_the_end(scope, receive, send):
    await send(start())
    await send(body(b"x"))
    await send(body(b"y"))
async def text_body(scope, receive, send):
    await send(start())
    await send(body("text"))
async def no_kind(scope, receive, send):
    await send({})
async def odd_kind(scope, receive, send):
    await send({"type": 3})
async def no_message(scope, receive, send):
    await send(None)
async def trailers(scope, receive, send):
    await send(start(trailers=True))
    await send(body(b"x"))
    await send({"type": "http.response.trailers", "headers": [(b"x-t", b"1")]})
async def no_trailers(scope, receive, send):
    await send(start(trailers=False))
    await send(body(b"x"))
async def raises_early(scope, receive, send):
    await send(start())
    raise ValueError("early")
async def raises_late(scope, receive, send):
    await send(start())
    await send(body(b"x"))
    raise ValueError("late")
async def returns_early(scope, receive, send):
    await send(start())
async def received(scope, receive, send):
    said = []
    while not said or said[-1]["more_body"]:
        said.append(await receive())
    said = [{**said[-1], "body": b"".join(one["body"] for one in said)}]
    await send(start())
    await send(body(repr(said).encode()))
async def received_again(scope, receive, send):
    first = await receive()
    await send(start())
    await send(body(b"x"))
    print("received", first["type"], (await receive())["type"], file=sys.stderr)
async def cancelled(scope, receive, send):
    await receive()
    try:
        await asyncio.wait_for(receive(), 0.05)
    except asyncio.TimeoutError:
        pass
    waiting = asyncio.create_task(receive())
    await asyncio.sleep(0)
    waiting.cancel()
    said = (await asyncio.gather(waiting, return_exceptions=True))[0]
    await send(start())
    await send(body(type(said).__name__.encode()))
async def in_tasks(scope, receive, send):
    message = await asyncio.ensure_future(receive())
    await asyncio.create_task(send(start()))
    await asyncio.gather(asyncio.wait_for(send(body(message["type"].encode())), 5))
async def from_a_thread(scope, receive, send):
    loop, here, seen = asyncio.get_running_loop(), threading.get_ident(), []
    transport = send.__self__.connection.transport
    class Watched:
        def __getattr__(self, name):
            seen.append(threading.get_ident())
            return getattr(transport, name)
    send.__self__.connection.transport = Watched()
    def run():
        for message in (start(), body(b"thread")):
            asyncio.run_coroutine_threadsafe(send(message), loop).result()
    await loop.run_in_executor(None, run)
    assert seen and set(seen) == {here}, "only the event loop's thread may be at its transports"
async def as_coroutines(scope, receive, send):
    import collections.abc
    never, closed, thrown, taken = (send(start(500)) for _ in range(4))
    closed.close()
    said = [isinstance(never, collections.abc.Coroutine), asyncio.iscoroutine(never)]
    for again in (closed, thrown):
        try:
            if again is thrown:
                again.throw(KeyError("k"))
            else:
                await again
        except (KeyError, RuntimeError) as error:
            said.append(repr(error))
    never.close()
    taken.close()
    step = send(start(headers=[]))
    await step
    try:
        await step
    except RuntimeError as error:
        said.append(repr(error))
    await send(body(repr(said).encode()))
async def state(scope, receive, send):
    scope["state"]["seen"] = scope["state"].get("seen", 0) + 1
    await send(start())
    await send(body(repr((scope["state"], sorted(scope["extensions"]), scope["type"])).encode()))

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        scope["state"]["begun"] = True
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"].endswith("shutdown"):
                return
    if scope["path"] == "/who":
        return await say(send, type(send).__name__)
    await globals()[scope["path"][1:]](scope, receive, send)
"#;

/// A server with that application; `is_other`: its interpreter says that it is another implementation.
fn server(is_other: bool) -> Server {
    let config = "<Location \"/\">\nSetHandler asgi\nASGIApp app/app.py python-home=@ROOT@/env\nRequire all granted\n</Location>\n";
    let site = Site::new().file("app/app.py", format!("{}{TEXT}", super::ANSWER)).config(config);
    let env = site.path("env");
    let made = Command::new("/usr/bin/python3").args(["-m", "venv", "--without-pip"]).arg(&env).status();
    assert!(made.is_ok_and(|status| status.success()), "python3 -m venv");
    if is_other {
        let folders = fs::read_dir(env.join("lib")).expect("its library").flatten();
        for folder in folders {
            let line = "import sys; sys.implementation.name = 'other'\n";
            fs::write(folder.path().join("site-packages/other.pth"), line).expect("ours");
        }
    }
    site.start()
}

/// Returns the logged failures, sorted, without the parts that differ from request to request.
fn failures(server: &Server) -> Vec<String> {
    let (log, root) = (server.error_log(), server.site().path("").display().to_string());
    let said = log.lines().filter(|line| line.contains("Error: ") || line.contains("received"));
    let said = said.map(|line| line.split(" [id ").next().unwrap_or(line));
    let own = said.map(|line| line.rsplit("] ").next().unwrap_or(line));
    let own = own.map(|line| {
        line.split_once("process ").map_or(line, |(_, line)| line.split_once(": ").unwrap_or_default().1)
    });
    let mut lines: Vec<_> = own.map(|line| line.replace(&root, "")).collect();
    lines.sort();
    lines
}

#[test]
fn the_extension_answers_as_plain_python_does() {
    needs_python!();
    let servers = [server(false), server(true)];
    assert_eq!(servers[0].get("/who").text(), "builtin_function_or_method", "{}", servers[0].error_log());
    assert_eq!(servers[1].get("/who").text(), "method", "{}", servers[1].error_log());
    let names = TEXT.lines().filter_map(|line| line.strip_prefix("async def ")?.split('(').next());
    let names: Vec<_> = names.filter(|name| *name != "app").collect();
    assert!(names.len() > 40, "{names:?}");
    for name in names {
        let path = format!("/{name}");
        for request in [
            format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
            format!("HEAD {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
            format!("POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"),
            format!("POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
        ] {
            let answers = servers.each_ref().map(|server| {
                let answer = server.request(request.as_bytes());
                let fields: Vec<_> = answer
                    .fields
                    .iter()
                    .filter(|(name, _)| !name.eq_ignore_ascii_case("Date"))
                    .cloned()
                    .collect();
                let text = answer.text();
                // Failures have a number of their own.
                let text = if answer.status == 500 { String::new() } else { text };
                let fields = if answer.status == 500 { Vec::new() } else { fields };
                (answer.status, fields, text)
            });
            let [extension, plain] = answers;
            assert_eq!(extension, plain, "{request}");
        }
    }
    // Lines are written by several threads, and some of them after the answer.
    await_that("both have logged the same failures", || failures(&servers[0]) == failures(&servers[1]));
    assert!(failures(&servers[0]).len() > 50);
}
