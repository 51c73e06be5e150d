//! A front and a worker in two processes: bodies larger than the streams, death and stops at every state of a request.
//!
//! The worker is this test program, started again: its memory is descriptor 0, the front's bell descriptor 2.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use hostler_ring::{Memory, front, worker};
use hostler_sys::poll::{self, Watch};
use hostler_sys::process::{Pid, Signal, signal};
use hostler_sys::shared;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Nothing here takes so long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The operation, in a request's first byte; the length of the rest follows in four bytes.
const ECHO: u8 = b'e';
/// Reads nothing more and answers nothing.
const HANG: u8 = b'h';
/// Answers one byte, then hangs.
const BEGIN: u8 = b'b';
/// Answers more than a stream holds.
const FLOOD: u8 = b'f';

/// Not a test: the worker's program.
#[test]
fn worker_process() {
    if std::env::var_os("HOSTLER_RING_WORKER").is_none() {
        return;
    }
    let memory = io::stdin().as_fd().try_clone_to_owned().unwrap();
    let bell = io::stderr().as_fd().try_clone_to_owned().unwrap();
    let mut worker = worker::Worker::attach(memory, vec![bell]).unwrap();
    loop {
        if let Some(mut conversation) = worker.next(None) {
            serve(&mut conversation);
            conversation.finish();
        }
    }
}

fn serve(conversation: &mut worker::Conversation) {
    let mut head = [0; 5];
    let mut have = 0;
    while have < head.len() {
        match conversation.read(&mut head[have..]) {
            0 => return,
            count => have += count,
        }
    }
    let [kind, length @ ..] = head;
    match kind {
        ECHO => echo(conversation, u32::from_le_bytes(length) as usize),
        BEGIN => conversation.write(b"!"),
        FLOOD => conversation.write(&vec![b'f'; 1 << 20]),
        _ => {}
    }
    conversation.publish();
    if kind != ECHO {
        while !conversation.is_abandoned() {
            // Time: looks again until it is told.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn echo(conversation: &mut worker::Conversation, mut length: usize) {
    let mut bytes = vec![0; 10_000];
    while length > 0 {
        let count = conversation.read(&mut bytes);
        if count == 0 {
            return;
        }
        conversation.write(&bytes[..count]);
        length -= count;
    }
}

/// A front with one worker.
struct Pair {
    memory: Arc<Memory>,
    bell: OwnedFd,
    child: Child,
}

impl Pair {
    fn start() -> Self {
        let (memory, fd) = Memory::create().unwrap();
        let bell = shared::bell().unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "worker_process", "--nocapture"])
            .env("HOSTLER_RING_WORKER", "1")
            .stdin(Stdio::from(fd))
            .stdout(Stdio::null())
            .stderr(Stdio::from(bell.try_clone().unwrap()))
            .spawn()
            .unwrap();
        Self { memory, bell, child }
    }

    fn signal(&self, which: Signal) {
        signal(Pid::from_child(&self.child), which).unwrap();
    }

    /// Stops the worker, and waits until it has stopped.
    fn stop(&self) {
        self.signal(Signal::STOP);
        let stat = format!("/proc/{}/stat", self.child.id());
        until("it stops", || std::fs::read_to_string(&stat).unwrap().contains(") T "));
    }

    /// Kills the worker with no chance to say anything, and waits until it is gone.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sleeps as the front's threads do, on the bell.
    fn park(&self, timeout: Duration) -> bool {
        let watch = Watch { fd: self.bell.as_fd(), write: false };
        poll::wait(&[watch], Some(timeout)).unwrap();
        shared::clear(&self.bell)
    }

    /// The next bytes of the answer.
    fn some(&self, channel: &mut front::Channel) -> Vec<u8> {
        let (start, mut bytes) = (Instant::now(), Vec::new());
        while channel.read(&mut bytes, 1 << 16).unwrap() == 0 {
            if channel.sleep() {
                self.park(PATIENCE);
            }
            // Time: patience.
            assert!(start.elapsed() < PATIENCE, "no answer");
        }
        bytes
    }

    /// Sends the rest of a request and reads an answer of `length` bytes, whichever can go on.
    fn exchange(&self, channel: &mut front::Channel, mut rest: &[u8], length: usize) -> Vec<u8> {
        let (start, mut bytes) = (Instant::now(), Vec::new());
        while bytes.len() < length {
            // Time: patience.
            assert!(start.elapsed() < PATIENCE, "{} of {length} bytes", bytes.len());
            let written = channel.write(rest);
            rest = &rest[written..];
            channel.want_room(!rest.is_empty());
            let read = channel.read(&mut bytes, 1 << 16).unwrap();
            if written == 0 && read == 0 && channel.sleep() {
                self.park(PATIENCE);
            }
        }
        bytes
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], (body.len() as u32).to_le_bytes().as_slice(), body].concat()
}

/// Waits for what takes a moment.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        // Time: patience.
        assert!(start.elapsed() < PATIENCE, "{what}");
        // Time: looks again.
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_body_larger_than_both_streams_comes_back_in_order() {
    let pair = Pair::start();
    let mut channel = pair.memory.channel(0);
    let body: Vec<u8> = (0..3_000_001_u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
    let request = request(ECHO, &body);
    let taken = channel.offer(0, &request);
    let answer = pair.exchange(&mut channel, &request[taken..], body.len());
    assert!(answer == body);
    until("the channel is let go", || channel.is_free());
}

#[test]
fn many_requests_on_both_channels_are_each_answered_with_their_own() {
    let pair = Pair::start();
    let mut channels = [pair.memory.channel(0), pair.memory.channel(1)];
    for round in 0..2000_u32 {
        for (index, channel) in channels.iter_mut().enumerate() {
            channel.offer(0, &request(ECHO, format!("{round} in {index}").as_bytes()));
        }
        for (index, channel) in channels.iter_mut().enumerate() {
            let expected = format!("{round} in {index}");
            assert_eq!(pair.exchange(channel, b"", expected.len()), expected.as_bytes());
        }
    }
}

#[test]
fn a_worker_killed_before_it_takes_a_request_leaves_it_to_the_front() {
    let mut pair = Pair::start();
    let mut channel = pair.memory.channel(0);
    channel.offer(0, &request(ECHO, b"warm"));
    assert_eq!(pair.exchange(&mut channel, b"", 4), b"warm");
    pair.stop();
    channel.offer(0, &request(ECHO, b"lost?"));
    pair.kill();
    assert!(channel.take_back());
}

#[test]
fn a_worker_killed_at_a_request_neither_blocks_nor_answers() {
    for kind in [HANG, BEGIN, FLOOD] {
        let mut pair = Pair::start();
        let mut channel = pair.memory.channel(0);
        channel.offer(0, &request(kind, &[b'x'; 100_000]));
        until("the request is taken", || channel.is_taken());
        if kind != HANG {
            assert!(!pair.some(&mut channel).is_empty());
        }
        pair.kill();
        assert!(!channel.take_back(), "it may have done something");
        // What was published is still there, and then nothing more.
        let mut bytes = Vec::new();
        while channel.read(&mut bytes, 1 << 20).unwrap() > 0 {}
        while channel.write(&[b'x'; 1000]) > 0 {}
        shared::clear(&pair.bell);
        assert!(channel.sleep() && !pair.park(Duration::from_millis(30)));
        channel.abandon();
    }
}

#[test]
fn a_worker_killed_in_its_sleep_is_woken_in_vain() {
    let mut pair = Pair::start();
    let mut channel = pair.memory.channel(0);
    channel.offer(0, &request(ECHO, b"warm"));
    assert_eq!(pair.exchange(&mut channel, b"", 4), b"warm");
    // Time: nothing tells that another process has fallen asleep; where it has not yet, less is tested.
    std::thread::sleep(Duration::from_millis(20));
    pair.kill();
    for _ in 0..3 {
        channel.offer(0, &request(ECHO, b"nobody"));
        assert!(channel.take_back());
    }
}

#[test]
fn a_stopped_worker_loses_what_is_taken_back_and_serves_what_comes_then() {
    let pair = Pair::start();
    let (mut channel, mut ahead) = (pair.memory.channel(0), pair.memory.channel(1));
    channel.offer(0, &request(ECHO, b"warm"));
    assert_eq!(pair.exchange(&mut channel, b"", 4), b"warm");
    pair.stop();
    channel.offer(0, &request(ECHO, b"runs"));
    ahead.offer(0, &request(ECHO, b"waits"));
    assert!(ahead.take_back());
    pair.signal(Signal::CONT);
    assert_eq!(pair.exchange(&mut channel, b"", 4), b"runs");
    assert!(ahead.sleep(), "nothing came of it");
    ahead.offer(0, &request(ECHO, b"again"));
    assert_eq!(pair.exchange(&mut ahead, b"", 5), b"again");
}

#[test]
fn a_worker_stopped_in_the_middle_holds_nobody_up_and_goes_on() {
    let pair = Pair::start();
    let mut channel = pair.memory.channel(0);
    let body = vec![b'z'; 700_000];
    let request = request(ECHO, &body);
    let mut sent = channel.offer(0, &request);
    until("the request is taken", || channel.is_taken());
    pair.stop();
    let mut before = Vec::new();
    loop {
        let count = channel.write(&request[sent..]);
        sent += count;
        if count == 0 && channel.read(&mut before, 1 << 20).unwrap() == 0 {
            break;
        }
    }
    assert!(sent < request.len(), "a stopped worker reads nothing");
    pair.signal(Signal::CONT);
    let rest = pair.exchange(&mut channel, &request[sent..], body.len() - before.len());
    assert_eq!([before, rest].concat(), body);
}

#[test]
fn an_abandoned_worker_takes_the_next_request() {
    let pair = Pair::start();
    let mut channel = pair.memory.channel(0);
    for kind in [HANG, FLOOD, BEGIN] {
        channel.offer(0, &request(kind, b""));
        until("the request is taken", || channel.is_taken());
        channel.abandon();
        until("the worker hears of it", || channel.is_free());
    }
    channel.offer(0, &request(ECHO, b"next"));
    assert_eq!(pair.exchange(&mut channel, b"", 4), b"next");
}
