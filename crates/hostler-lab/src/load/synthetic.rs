//! A server that behaves exactly as told: for tests of the generator and of the method, and what the generator's limit
//! is measured against where there is no nginx.
//!
//! One thread for each connection, blocking sockets; it looks for the end of a request's head and at nothing else of
//! it but its `Content-Length` and `Connection`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The behaviour of a synthetic server.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// Processor time that each answer takes (it works for so long, it does not sleep).
    pub service: Duration,
    /// Time that each answer waits besides.
    pub delay: Duration,
    /// The most requests that are served at a time, as by a server of so many workers.
    pub workers: Option<u32>,
    /// After so many answers, nothing is answered for so long, once.
    pub stall: Option<(u64, Duration)>,
    /// Connections are closed without a word after so many answers.
    pub close_after: Option<u64>,
    /// After so many answers the rest of an answer's body is not sent and the connection is closed.
    pub break_after: Option<u64>,
    /// The status.
    pub status: u16,
    /// Bytes of body.
    pub length: usize,
    /// The way the end of the body is marked.
    pub end: BodyEnd,
}

/// The ways to mark the end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// By `Content-Length`.
    Length,
    /// By chunks.
    Chunks,
    /// By the connection's end.
    Close,
    /// By a `Content-Length` that says one byte more than there is, and the connection's end.
    Broken,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            service: Duration::ZERO,
            delay: Duration::ZERO,
            workers: None,
            stall: None,
            close_after: None,
            break_after: None,
            status: 200,
            length: 5,
            end: BodyEnd::Length,
        }
    }
}

/// The server. Dropping it ends it.
#[derive(Debug)]
pub struct Server {
    /// The address it listens on: a free port of 127.0.0.1.
    pub address: SocketAddr,
    shared: Arc<SharedState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct SharedState {
    behaviour: Behaviour,
    head: String,
    body: Vec<u8>,
    answers: AtomicU64,
    connections: AtomicU64,
    ends: AtomicBool,
    /// Workers that are idle, and a bell for those who wait for one.
    idle: Mutex<u32>,
    bell: Condvar,
    stalled_until: Mutex<Option<Instant>>,
}

impl Server {
    /// Starts one.
    ///
    /// # Errors
    /// No port, no thread.
    pub fn start(behaviour: Behaviour) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(SharedState {
            head: head(&behaviour),
            body: body(&behaviour),
            answers: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            ends: AtomicBool::new(false),
            idle: Mutex::new(behaviour.workers.unwrap_or(u32::MAX)),
            bell: Condvar::new(),
            stalled_until: Mutex::new(None),
            behaviour,
        });
        let accepting = Arc::clone(&shared);
        let thread = thread::Builder::new().spawn(move || accept(&listener, &accepting))?;
        Ok(Self { address, shared, thread: Some(thread) })
    }

    /// Answers so far.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.shared.answers.load(Ordering::Relaxed)
    }

    /// Connections so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        // Wakes who waits in accept.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn head(behaviour: &Behaviour) -> String {
    let framing = match behaviour.end {
        BodyEnd::Length => format!("Content-Length: {}", behaviour.length),
        BodyEnd::Broken => format!("Content-Length: {}", behaviour.length + 1),
        BodyEnd::Chunks => "Transfer-Encoding: chunked".to_owned(),
        BodyEnd::Close => "Connection: close".to_owned(),
    };
    format!("HTTP/1.1 {} Synthetic\r\nContent-Type: text/plain\r\n{framing}\r\n\r\n", behaviour.status)
}

/// The body as it is sent: in chunks of 1000 bytes, or plain.
fn body(behaviour: &Behaviour) -> Vec<u8> {
    let plain = vec![b'x'; behaviour.length];
    if behaviour.end != BodyEnd::Chunks {
        return plain;
    }
    let mut body = Vec::new();
    for chunk in plain.chunks(1000) {
        body.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        body.extend_from_slice(chunk);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"0\r\n\r\n");
    body
}

fn accept(listener: &TcpListener, shared: &Arc<SharedState>) {
    let mut threads = Vec::new();
    while let Ok((socket, _)) = listener.accept() {
        if shared.ends.load(Ordering::Relaxed) {
            break;
        }
        shared.connections.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(shared);
        // Clients that are gone are an end like any other.
        threads.push(thread::spawn(move || drop(serve(socket, &shared))));
        threads.retain(|thread| !thread.is_finished());
    }
    for thread in threads {
        let _ = thread.join();
    }
}

fn serve(socket: TcpStream, shared: &SharedState) -> io::Result<()> {
    socket.set_nodelay(true)?;
    // So that it sees its end.
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;
    let mut answer = shared.head.clone().into_bytes();
    answer.extend_from_slice(&shared.body);
    let mut writer = socket.try_clone()?;
    let mut reader = BufReader::with_capacity(8192, socket);
    let mut served = 0;
    while let Some(close) = request(&mut reader, shared)? {
        let number = shared.work();
        if shared.behaviour.break_after.is_some_and(|after| number >= after) {
            return writer.write_all(&answer[..answer.len() - 1]);
        }
        writer.write_all(&answer)?;
        served += 1;
        let told = matches!(shared.behaviour.end, BodyEnd::Close | BodyEnd::Broken);
        if close || told || shared.behaviour.close_after.is_some_and(|after| served >= after) {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads a request: whether the connection ends after its answer; `None`: there is none.
fn request(reader: &mut BufReader<TcpStream>, shared: &SharedState) -> io::Result<Option<bool>> {
    let (mut line, mut length, mut close) = (Vec::new(), 0, false);
    loop {
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if shared.ends.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                continue;
            }
            Err(e) => return Err(e),
        }
        let text = String::from_utf8_lossy(&line).to_ascii_lowercase();
        if let Some(value) = text.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        close |= text.starts_with("connection: close");
        if text.trim().is_empty() {
            break;
        }
        line.clear();
    }
    io::copy(&mut reader.take(length), &mut io::sink())?;
    Ok(Some(close))
}

impl SharedState {
    /// Takes the time that an answer takes: the answer's number.
    fn work(&self) -> u64 {
        let Behaviour { service, delay, stall, .. } = self.behaviour;
        self.take_worker();
        let number = self.answers.fetch_add(1, Ordering::Relaxed);
        if let Some((after, length)) = stall {
            let mut until = self.stalled_until.lock().unwrap_or_else(PoisonError::into_inner);
            if number >= after && until.is_none() {
                *until = Some(Instant::now() + length);
            }
            let left = until.and_then(|until| until.checked_duration_since(Instant::now()));
            drop(until);
            thread::sleep(left.unwrap_or_default());
        }
        let begin = Instant::now();
        while begin.elapsed() < service {
            std::hint::spin_loop();
        }
        if !delay.is_zero() {
            thread::sleep(delay);
        }
        *self.idle.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.bell.notify_one();
        number
    }

    /// Waits for an idle worker.
    fn take_worker(&self) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while *idle == 0 {
            idle = self.bell.wait(idle).unwrap_or_else(PoisonError::into_inner);
        }
        *idle -= 1;
    }
}
