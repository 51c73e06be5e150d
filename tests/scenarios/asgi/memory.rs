//! Requests of ASGI applications that go through memory beside their connections: all after a connection's first.

use super::websocket::handshake;
use super::{needs_python, site};
use hostler_tests::{Connection, Server};

/// Finds that memory in the worker itself. The worker is undumpable, so it cannot open /proc/self/mem.
const MAPPED: &str = r#"
import ctypes
def mapped():
    with open("/proc/self/maps") as maps:
        return [int(line.split("-")[0], 16) for line in maps if "memfd:hostler-worker" in line]
def memory(write=None):
    found = []
    for start in mapped():
        if write is None:
            found.append(ctypes.string_at(start, 4096 + 65536))
        else:
            ctypes.memmove(start, write, len(write))
    return found
"#;

/// A server whose connections to the application have served something.
fn warm(text: &str) -> Server {
    let server = site(&format!("{MAPPED}{text}"), "Timeout 5").start();
    assert_eq!([(); 2].map(|()| server.get("/warm").status), [200; 2]);
    server
}

fn get(client: &mut Connection, path: &str) -> String {
    client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
    client.response().text()
}

#[test]
fn requests_go_through_memory() {
    needs_python!();
    let text = "
async def app(scope, receive, send):
    await say(send, any(scope['raw_path'] in memory for memory in memory()))
";
    let server = site(&format!("{MAPPED}{text}"), "").start();
    assert_eq!(server.get("/first-of-all").text(), "False");
    for path in ["/one", "/another", "/the-last-one"] {
        assert_eq!(server.get(path).text(), "True", "{path}");
    }
}

#[test]
fn bodies_of_any_length_go_both_ways() {
    needs_python!();
    let text = "
async def app(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200, 'headers': []})
    more = True
    while more:
        message = await receive()
        more = message['more_body']
        await send({'type': 'http.response.body', 'body': message['body'].upper(), 'more_body': more})
";
    let server = warm(text);
    // Around the lengths of what is there for each direction, and more than fits into all of it.
    for length in [0, 1, 65_000, 65_536, 66_000, 262_144, 1 << 20, 5 << 20] {
        let body: String = (0..length).map(|at| char::from(b'a' + (at % 23) as u8)).collect();
        let mut client = server.connect();
        client.send(format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n"));
        let mut sender = client.sender();
        let said = body.clone();
        let sending = std::thread::spawn(move || std::io::Write::write_all(&mut sender, said.as_bytes()));
        let heard = client.response().text();
        sending.join().unwrap().unwrap();
        assert!(heard == body.to_uppercase(), "{length}");
    }
    // A body is read, written and answered in three tasks' turns, each of which may find what another one waits for.
    let long = "x".repeat(1 << 20);
    let long = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{long}", long.len());
    for _ in 0..200 {
        assert_eq!(server.request(long.as_bytes()).body.len(), 1 << 20);
    }
}

/// The worker is called by a byte over the socket. One of a body's, wherever a piece of it begins, is no call.
#[test]
fn what_a_client_sends_is_never_taken_for_a_call() {
    needs_python!();
    let text = "
async def app(scope, receive, send):
    if scope['type'] == 'websocket':
        await receive()
        await send({'type': 'websocket.accept'})
        return await send({'type': 'websocket.send', 'text': str((await receive())['bytes'].count(b'W'))})
    count, more = 0, True
    while more:
        message = await receive()
        count, more = count + message['body'].count(b'W'), message['more_body']
    await say(send, count)
";
    let server = site(text, "").start();
    let body = "W".repeat(3 << 20);
    let request = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    // The first one over the socket, the others through the memory.
    for _ in 0..3 {
        assert_eq!(server.request(request.as_bytes()).text(), body.len().to_string());
    }
    let mut client = server.connect();
    client.send(handshake("/", ""));
    assert_eq!(client.any_response(false).status, 101);
    // With a mask of zeros it goes as it is.
    let mut message = vec![0x82, 0xff];
    message.extend_from_slice(&(body.len() as u64).to_be_bytes());
    message.extend_from_slice(&[0; 4]);
    message.extend_from_slice(body.as_bytes());
    client.send(&message);
    let heard = [(); 9].map(|()| client.byte().expect("the count of its bytes"));
    assert_eq!(String::from_utf8_lossy(&heard[2..]), body.len().to_string());
}

#[test]
fn answers_belong_to_their_requests() {
    needs_python!();
    let text = "
async def app(scope, receive, send):
    path = scope['path']
    if len(path) % 3 == 0:
        await asyncio.sleep(0)
    await say(send, path * (1 + len(path) % 5 * 1000))
";
    let server = warm(text);
    let mut clients: Vec<_> = (0..24).map(|_| server.connect()).collect();
    for round in 0..30 {
        let paths: Vec<_> = (0..clients.len())
            .map(|at| format!("/{}{round}-{at}", "x".repeat((round * 7 + at) % 11)))
            .collect();
        for (client, path) in clients.iter_mut().zip(&paths) {
            client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        }
        for (client, path) in clients.iter_mut().zip(&paths) {
            assert_eq!(client.response().text(), path.repeat(1 + path.len() % 5 * 1000));
        }
    }
}

#[test]
fn who_writes_over_the_memory_costs_its_own_requests() {
    needs_python!();
    let text = "
import threading
def write_over():
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        memory(os.urandom(4096))
        memory(b'\\xff' * 4096)
async def app(scope, receive, send):
    if scope['path'] == '/over':
        threading.Thread(target=write_over).start()
    await say(send, 'whole')
";
    let server = warm(text);
    // Whatever is made of it, if nothing by Timeout, there is an answer.
    for path in ["/over", "/", "/", "/"] {
        assert!(matches!(server.get(path).status, 200 | 500..=504), "{}", server.error_log());
    }
    let again = (0..1000).map(|_| server.get("/").text()).find(|text| text == "whole");
    assert!(again.is_some(), "{}", server.error_log());
}

#[test]
fn who_fills_the_bells_is_heard_all_the_same() {
    needs_python!();
    let text = "
async def app(scope, receive, send):
    if scope['path'] == '/fill':
        for entry in os.listdir('/proc/self/fd'):
            if os.path.realpath('/proc/self/fd/' + entry).endswith('[eventfd]'):
                try:
                    os.write(int(entry), (2**64 - 2).to_bytes(8, 'little'))
                except BlockingIOError:
                    pass
    await say(send, scope['path'])
";
    let server = warm(text);
    let mut client = server.connect();
    for path in ["/fill", "/1", "/fill", "/2", "/3"] {
        assert_eq!(get(&mut client, path), path);
    }
}

#[test]
fn a_worker_that_dies_amid_a_request_is_told_as_the_cause() {
    needs_python!();
    let text = "
async def app(scope, receive, send):
    if scope['path'] == '/die':
        os.kill(os.getpid(), 9)
    await say(send, 'lives')
";
    let server = warm(text);
    assert!(matches!(server.get("/die").status, 500 | 502 | 503));
    let again = (0..100).map(|_| server.get("/").text()).find(|text| text == "lives");
    assert!(again.is_some(), "{}", server.error_log());
}
