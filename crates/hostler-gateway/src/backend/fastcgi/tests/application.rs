//! The application: a thread for each connection. `DO` says what is to be done.

use hostler_fastcgi::{Header, Pairs, Piece, RecordType, Records, stream};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};

#[derive(Default)]
pub(super) struct Shared {
    /// Connections that were accepted.
    pub(super) connections: AtomicU32,
    /// The connections that the application has closed.
    pub(super) closed: AtomicU32,
    /// Requests that wait for a gate, or have.
    pub(super) begun: AtomicU32,
    pub(super) aborted: AtomicU32,
    /// The requests that were completed.
    done: Mutex<Vec<String>>,
    gates: Mutex<Vec<String>>,
    opened: Condvar,
    ended: AtomicBool,
}

pub(super) struct Application {
    pub(super) shared: Arc<Shared>,
    directory: tempfile::TempDir,
}

impl Application {
    pub(super) fn start() -> Self {
        let (directory, shared) = (tempfile::tempdir().unwrap(), Arc::<Shared>::default());
        let application = Self { shared: shared.clone(), directory };
        let listener = UnixListener::bind(application.path()).unwrap();
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                if shared.ended.load(Relaxed) {
                    return;
                }
                let (shared, socket) = (shared.clone(), socket.unwrap());
                shared.connections.fetch_add(1, Relaxed);
                std::thread::spawn(move || serve(&shared, &socket));
            }
        });
        application
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join("socket")
    }

    pub(super) fn open(&self, gate: &str) {
        self.shared.gates.lock().unwrap().push(gate.to_owned());
        self.shared.opened.notify_all();
    }

    pub(super) fn done(&self) -> Vec<String> {
        self.shared.done.lock().unwrap().clone()
    }

    /// Nothing listens any more.
    pub(super) fn end(&self) {
        if !self.shared.ended.swap(true, Relaxed) {
            self.shared.opened.notify_all();
            // It notices when somebody connects.
            let _ = UnixStream::connect(self.path());
            let _ = std::fs::remove_file(self.path());
        }
    }
}

/// Events of requests.
enum Heard {
    Params(Vec<u8>),
    Input(usize),
    InputEnd,
    Abort,
}

struct Hearing {
    socket: UnixStream,
    records: Records,
    bytes: Vec<u8>,
    params: Vec<u8>,
}

impl Hearing {
    fn next(&mut self) -> Option<Heard> {
        loop {
            let (used, piece) = self.records.next(&self.bytes).unwrap();
            let heard = match piece {
                Some(Piece::Content(Header { kind: RecordType::Params, .. }, content)) => {
                    self.params.extend_from_slice(content);
                    None
                }
                Some(Piece::Content(Header { kind: RecordType::Stdin, .. }, content)) => {
                    Some(Heard::Input(content.len()))
                }
                Some(Piece::End(Header { kind: RecordType::Params, content: 0, .. })) => {
                    Some(Heard::Params(std::mem::take(&mut self.params)))
                }
                Some(Piece::End(Header { kind: RecordType::Stdin, content: 0, .. })) => Some(Heard::InputEnd),
                Some(Piece::End(Header { kind: RecordType::AbortRequest, .. })) => Some(Heard::Abort),
                _ => None,
            };
            let more = piece.is_none();
            self.bytes.drain(..used);
            if heard.is_some() {
                return heard;
            }
            if more {
                let mut space = [0; 64 << 10];
                match self.socket.read(&mut space) {
                    Ok(n @ 1..) => self.bytes.extend_from_slice(&space[..n]),
                    _ => return None,
                }
            }
        }
    }
}

fn serve(shared: &Arc<Shared>, socket: &UnixStream) {
    let mut hearing = Hearing {
        socket: socket.try_clone().unwrap(),
        records: Records::default(),
        bytes: vec![],
        params: vec![],
    };
    while let Some(heard) = hearing.next() {
        let Heard::Params(params) = heard else { continue };
        let what = Pairs::of(&params).find_map(|pair| {
            let (name, value) = pair.unwrap();
            (name == b"DO").then(|| String::from_utf8(value.to_vec()).unwrap())
        });
        if !obey(shared, socket, &mut hearing, &what.unwrap()) {
            let _ = socket.shutdown(Shutdown::Both);
            shared.closed.fetch_add(1, Relaxed);
            return;
        }
    }
}

/// Returns whether the connection stays open.
fn obey(shared: &Shared, mut socket: &UnixStream, hearing: &mut Hearing, what: &str) -> bool {
    match what.split_once(' ').unwrap_or((what, "")) {
        ("die", _) => {
            say(socket, RecordType::Stdout, b"half");
            return false;
        }
        ("http", _) => return socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").is_ok(),
        ("wait", gate) => wait(shared, gate),
        ("until", _) => {
            say(socket, RecordType::Stdout, b"begun");
            while !matches!(hearing.next(), Some(Heard::Abort) | None) {}
            shared.aborted.fetch_add(1, Relaxed);
            return end(socket, 0);
        }
        ("complain", _) => drop(say(socket, RecordType::Stderr, b"it is warm")),
        ("overloaded", _) => return end(socket, 2),
        ("count", _) => {
            let mut length = 0;
            while let Some(Heard::Input(more)) = hearing.next() {
                length += more;
            }
            return say(socket, RecordType::Stdout, length.to_string().as_bytes()) && end(socket, 0);
        }
        _ => {}
    }
    say(socket, RecordType::Stdout, what.as_bytes());
    shared.done.lock().unwrap().push(what.to_owned());
    end(socket, 0) && what != "close after"
}

fn wait(shared: &Shared, gate: &str) {
    shared.begun.fetch_add(1, Relaxed);
    let gates = shared.gates.lock().unwrap();
    let closed =
        |gates: &mut Vec<String>| !gates.iter().any(|open| open == gate) && !shared.ended.load(Relaxed);
    drop(shared.opened.wait_while(gates, closed).unwrap());
}

fn say(mut socket: &UnixStream, kind: RecordType, bytes: &[u8]) -> bool {
    let mut out = Vec::new();
    stream(kind, 1, bytes, &mut out);
    socket.write_all(&out).is_ok()
}

fn end(socket: &UnixStream, protocol_status: u8) -> bool {
    say(socket, RecordType::EndRequest, &[0, 0, 0, 0, protocol_status, 0, 0, 0])
}
