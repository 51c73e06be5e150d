//! A container in a thread of the test's own, that answers as its request's path says.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::backend::OnAbandon;
use crate::pool::Settings;
use crate::supervisor::connect::Host;
use crate::{Error, Kind};
use hostler_ajp::Attribute;
use std::future::poll_fn;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);

/// Counts connections; ends with the test's process.
struct Container {
    path: PathBuf,
    connections: Arc<AtomicU32>,
    _folder: tempfile::TempDir,
}

impl Container {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let connections = Arc::new(AtomicU32::new(0));
        let count = connections.clone();
        std::thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                count.fetch_add(1, Relaxed);
                std::thread::spawn(move || {
                    let mut socket = socket;
                    while serve(&mut socket).is_some() {}
                });
            }
        });
        Self { path, connections, _folder: folder }
    }
}

fn packet(socket: &mut UnixStream) -> Option<Vec<u8>> {
    let mut head = [0; 4];
    socket.read_exact(&mut head).ok()?;
    assert_eq!(head[..2], [0x12, 0x34]);
    let mut content = vec![0; u16::from_be_bytes([head[2], head[3]]).into()];
    socket.read_exact(&mut content).ok()?;
    Some(content)
}

fn say(socket: &mut UnixStream, content: &[u8]) -> Option<()> {
    let packet = [b"AB", &(content.len() as u16).to_be_bytes()[..], content].concat();
    socket.write_all(&packet).ok()
}

const HEAD: &[u8] = b"\x04\0\xc8\0\x02OK\0\0\x00";

/// Serves a request: `/read` counts its body, `/close`, `/lie`, `/again` and `/ever` break the protocol each in its way.
fn serve(socket: &mut UnixStream) -> Option<()> {
    let request = packet(socket)?;
    let has = |text: &[u8]| request.windows(text.len()).any(|window| window == text);
    let has_length = has(b"\xa0\x08");
    let mut text = b"hello".to_vec();
    if has(b"/read") {
        let mut total = 0;
        if has_length {
            total += packet(socket)?.len() - 2;
        }
        loop {
            say(socket, b"\x06\x1f\xfa")?;
            let piece = packet(socket)?;
            assert!(piece.len() <= BODY + 2, "{}", piece.len());
            if piece.is_empty() {
                break;
            }
            total += piece.len() - 2;
        }
        text = total.to_string().into_bytes();
    }
    if has(b"/again") {
        say(socket, b"\x06\x1f\xfa")?;
        say(socket, b"\x06\x1f\xfa")?;
    }
    if has(b"/ever") {
        let questions = b"AB\0\x03\x06\x1f\xfa".repeat(1000);
        while socket.write_all(&questions).is_ok() {}
        return None;
    }
    if has(b"/lie") {
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").ok()?;
        return None;
    }
    say(socket, HEAD)?;
    say(socket, &[b"\x03", &(text.len() as u16).to_be_bytes()[..], &text, b"\0"].concat())?;
    if has(b"/close") {
        return None;
    }
    if has(b"/alone") {
        say(socket, b"\x05\0")?;
        return None;
    }
    say(socket, b"\x05\x01")
}

struct Path(PathBuf);

impl Host for Path {
    async fn connect(&self) -> Result<OwnedFd, Error> {
        let connected = UnixStream::connect(&self.0);
        connected.map(OwnedFd::from).map_err(|error| Error::because(Kind::NotConnected, error))
    }

    fn in_use(&self) {}

    fn line(&self, _: &[u8]) {}
}

fn run(test: impl AsyncFnOnce(&Container, Arc<Pool>)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    let limit = Duration::from_secs(30);
    local.block_on(&runtime, async {
        let container = Container::start();
        let settings = Settings { max_workers: 1, start: 1, queue_timeout: TIMEOUT, ..Settings::default() };
        let pool = Pool::new("test".into(), settings, 1);
        tokio::task::spawn_local(pool.clone().maintain(Path(container.path.clone())));
        let tested = tokio::time::timeout(limit, test(&container, pool.clone())).await;
        pool.close();
        tested.expect("the test hangs");
    });
}

fn work(path: &str, announced: BodyLength) -> stream::Work<Ask> {
    let headers: &[(&[u8], &[u8])] =
        if matches!(announced, BodyLength::Known(_)) { &[(b"Content-Length", b"1")] } else { &[] };
    let request = ForwardRequest {
        method: b"GET",
        protocol: b"HTTP/1.1",
        req_uri: path.as_bytes(),
        remote_addr: b"192.0.2.1",
        remote_host: None,
        server_name: b"localhost",
        server_port: 80,
        is_ssl: false,
        headers,
        attributes: &[Attribute::QueryString(b"a=b")],
    };
    stream::Work {
        thread: 0,
        head: head(&request, DEFAULT_PACKET).unwrap(),
        has_body: announced != BodyLength::Nothing,
        timeout: TIMEOUT,
        on_abandon: OnAbandon::TakeBackOrKill(TIMEOUT),
        ask: Ask::usual(announced),
    }
}

async fn finish(mut exchange: Exchange) -> Result<String, Error> {
    let mut output = Vec::new();
    while let Some(event) = poll_fn(|context| exchange.poll_next(context)).await.transpose()? {
        match event {
            Event::Head(head) => output.extend(format!("{} ", head.status).into_bytes()),
            Event::Output(piece) => output.extend_from_slice(&piece),
            Event::Log(_) => unreachable!("AJP has no log"),
            Event::End { trouble } => assert_eq!(trouble, None),
        }
    }
    Ok(String::from_utf8(output).unwrap())
}

/// Sends as a front does: events and room in one task.
async fn send(mut exchange: Exchange, pieces: &[&[u8]]) -> Result<String, Error> {
    let (mut left, mut output, mut finished) = (pieces.iter(), Vec::new(), false);
    loop {
        let event = poll_fn(|context| {
            if let std::task::Poll::Ready(event) = exchange.poll_next(context) {
                return std::task::Poll::Ready(Some(event));
            }
            if finished { std::task::Poll::Pending } else { exchange.poll_room(context).map(|()| None) }
        });
        match event.await {
            None => match left.next() {
                Some(piece) => exchange.send(piece),
                None => {
                    exchange.finish();
                    finished = true;
                }
            },
            Some(None) => return Ok(String::from_utf8(output).unwrap()),
            Some(Some(event)) => {
                if let Event::Output(piece) = event? {
                    output.extend_from_slice(&piece);
                }
            }
        }
    }
}

#[test]
fn a_connection_serves_one_request_after_another() {
    run(async |container, pool| {
        for _ in 0..3 {
            let exchange = pool.begin(work("/", BodyLength::Nothing)).await.unwrap();
            assert_eq!(finish(exchange).await.unwrap(), "200 hello");
        }
        assert_eq!(container.connections.load(Relaxed), 1);
        let exchange = pool.begin(work("/alone", BodyLength::Nothing)).await.unwrap();
        assert_eq!(finish(exchange).await.unwrap(), "200 hello");
        let exchange = pool.begin(work("/", BodyLength::Nothing)).await.unwrap();
        assert_eq!(finish(exchange).await.unwrap(), "200 hello");
        assert_eq!(container.connections.load(Relaxed), 2);
    });
}

#[test]
fn nothing_follows_a_request_that_is_to_be_the_last() {
    run(async |container, pool| {
        for connections in 1..=3 {
            let mut last = work("/", BodyLength::Nothing);
            last.ask.is_last = true;
            let exchange = pool.begin(last).await.unwrap();
            assert_eq!(finish(exchange).await.unwrap(), "200 hello");
            assert_eq!(container.connections.load(Relaxed), connections);
        }
    });
}

#[test]
fn a_body_goes_as_it_is_asked_for() {
    run(async |container, pool| {
        let large = vec![b'x'; 300_000];
        let small: Vec<&[u8]> = vec![b"ab"; 50];
        for (announced, pieces, expected) in [
            (BodyLength::Known(600_000), vec![&large[..], &large[..]], "600000"),
            (BodyLength::Unknown, vec![&large[..]], "300000"),
            (BodyLength::Known(100), small.clone(), "100"),
            (BodyLength::Unknown, small, "100"),
            (BodyLength::Unknown, Vec::new(), "0"),
        ] {
            let exchange = pool.begin(work("/read", announced)).await.unwrap();
            assert_eq!(send(exchange, &pieces).await.unwrap(), expected, "{announced:?}");
        }
        assert_eq!(container.connections.load(Relaxed), 1);
    });
}

#[test]
fn a_body_that_nobody_reads_is_not_taken_without_end() {
    run(async |_, pool| {
        let mut exchange = pool.begin(work("/wait", BodyLength::Unknown)).await.unwrap();
        exchange.send(&vec![b'x'; 100_000]);
        let room = poll_fn(|context| std::task::Poll::Ready(exchange.poll_room(context).is_ready())).await;
        assert!(!room);
        // It has answered without reading: another request needs another connection.
        assert_eq!(finish(exchange).await.unwrap(), "200 hello");
        let exchange = pool.begin(work("/", BodyLength::Nothing)).await.unwrap();
        assert_eq!(finish(exchange).await.unwrap(), "200 hello");
    });
}

#[test]
fn each_failure_has_its_cause() {
    run(async |_, pool| {
        let (none, chunks) = (BodyLength::Nothing, BodyLength::Unknown);
        for (path, body, kind, why) in [
            ("/lie", chunks, Kind::ProtocolViolation, "is it AJP?"),
            ("/again", chunks, Kind::ProtocolViolation, "before it has got"),
            // Where there is no body each question has its reply at once.
            ("/ever", none, Kind::ProtocolViolation, "asks for ever more"),
            ("/close", chunks, Kind::ConnectionClosed, ""),
        ] {
            let exchange = pool.begin(work(path, body)).await.unwrap();
            let error = finish(exchange).await.unwrap_err();
            assert_eq!(error.kind, kind, "{path}");
            assert!(error.to_string().contains(why), "{error}");
        }
    });
}
