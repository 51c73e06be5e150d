//! The false engine.

use crate::supervisor::Process;
use crate::supervisor::fork::{Host, NewParent};
use crate::{Error, Kind};
use hostler_ring::worker::{Conversation, Worker};
use hostler_sys::fdpass;
use hostler_wire::build::Build;
use hostler_wire::engine::{FromEngine, Setup, ToEngine, WorkerId};
use hostler_wire::frame::{HEAD, Head};
use hostler_wire::site::Exit;
use hostler_wire::work::{FromWorker, Outcome, ToWorker, read_head};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{OFlags, fcntl_setfl};
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A view of all parents and workers that were started, for tests.
#[derive(Default)]
pub(super) struct Engine {
    pub(super) shared: Arc<Shared>,
}

#[derive(Default)]
pub(super) struct Shared {
    /// Parents that have loaded.
    pub(super) loaded: AtomicU32,
    /// Parents that were started.
    pub(super) parents: AtomicU32,
    /// The reply of a parent that exists already, if there is one.
    pub(super) adopted: Mutex<Option<FromEngine>>,
    /// The next parents can't load.
    pub(super) fails: AtomicBool,
    /// Workers die as soon as they are forked.
    pub(super) stillborn: AtomicBool,
    /// Workers are forked, and do not begin.
    pub(super) boots: AtomicBool,
    /// Workers can't begin.
    pub(super) unable: AtomicBool,
    /// No worker can be forked (EAGAIN).
    pub(super) barren: AtomicBool,
    pub(super) forked: AtomicU32,
    /// The requests that have begun, in order, with their workers.
    pub(super) log: Mutex<Vec<(WorkerId, String)>>,
    /// The requests that were completed without being abandoned.
    pub(super) done: Mutex<Vec<String>>,
    /// Configurations told.
    pub(super) defined: AtomicU32,
    /// Gates that are open: `wait NAME` ends.
    gates: Mutex<Vec<String>>,
    opened: Condvar,
    /// Workers that were killed.
    killed: Mutex<Vec<(u32, WorkerId)>>,
    ended: AtomicBool,
    /// Our ends of the control sockets.
    controls: Mutex<Vec<Arc<OwnedFd>>>,
}

impl Engine {
    /// Lets all requests go on that wait for this.
    pub(super) fn open(&self, gate: &str) {
        self.shared.gates.lock().unwrap().push(gate.to_owned());
        self.shared.opened.notify_all();
    }

    pub(super) fn begun(&self) -> Vec<String> {
        self.shared.log.lock().unwrap().iter().map(|(_, what)| what.clone()).collect()
    }

    pub(super) fn done(&self) -> Vec<String> {
        self.shared.done.lock().unwrap().clone()
    }

    pub(super) fn end(&self) {
        self.shared.ended.store(true, Relaxed);
        self.shared.opened.notify_all();
    }

    /// The parent ends, as if it were killed.
    pub(super) fn kill_parent(&self) {
        for control in self.shared.controls.lock().unwrap().drain(..) {
            let _ = rustix::net::shutdown(&*control, rustix::net::Shutdown::Both);
        }
    }
}

pub(super) struct FalseHost(pub(super) Rc<Engine>);

struct Immortal;

impl Process for Immortal {
    fn poll_exit(&mut self, _: &mut Context<'_>) -> Poll<Option<Exit>> {
        Poll::Ready(None)
    }

    fn kill(&mut self) {}
}

impl Host for FalseHost {
    async fn start(&self, fresh: bool) -> Result<NewParent, Error> {
        let (control, theirs) = hostler_sys::socket::stream_pair()?;
        let pipe = || {
            let (read, _) = rustix::pipe::pipe().unwrap();
            fcntl_setfl(&read, OFlags::NONBLOCK).unwrap();
            read
        };
        let shared = self.0.shared.clone();
        let number = shared.parents.fetch_add(1, Relaxed);
        if number > 100 {
            return Err(Error::new(Kind::EngineFailed));
        }
        let theirs = Arc::new(theirs);
        shared.controls.lock().unwrap().push(theirs.clone());
        let answer = shared.adopted.lock().unwrap().clone().filter(|_| !fresh);
        let adopted = answer.is_some();
        std::thread::spawn(move || parent(&shared, number, &theirs, answer));
        Ok(NewParent {
            control,
            door: None,
            adopted,
            output: [pipe(), pipe()],
            pid: std::process::id(),
            process: Box::new(Immortal),
        })
    }

    fn setup(&self) -> Setup {
        Setup::default()
    }

    fn in_use(&self) {}

    fn line(&self, _: u32, _: &[u8]) {}
}

fn send(control: &OwnedFd, message: &FromEngine) {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    let _ = fdpass::send_all(control.as_fd(), &bytes, &[]);
}

fn receive(control: &OwnedFd, fds: &mut Vec<OwnedFd>) -> Option<(ToEngine, Vec<OwnedFd>)> {
    let mut head = [0; HEAD];
    fdpass::recv_exact(control.as_fd(), &mut head, fds).ok()?;
    let head = Head::decode(head).unwrap();
    let mut body = vec![0; head.body];
    fdpass::recv_exact(control.as_fd(), &mut body, fds).ok()?;
    Some((ToEngine::decode(&body).unwrap(), fds.drain(..head.fds).collect()))
}

/// `answer`: it has loaded already, for another front.
fn parent(shared: &Arc<Shared>, number: u32, control: &Arc<OwnedFd>, answer: Option<FromEngine>) {
    let (mut fds, mut wakers) = (Vec::new(), Vec::<OwnedFd>::new());
    let mut workers = HashMap::new();
    send(control, &FromEngine::Hello(Build::own()));
    if let Some(answer) = answer {
        send(control, &answer);
        if answer == FromEngine::Stale {
            let _ = rustix::net::shutdown(&**control, rustix::net::Shutdown::Both);
        }
    }
    while let Some((message, mut with)) = receive(control, &mut fds) {
        match message {
            ToEngine::Wakers => wakers.append(&mut with),
            ToEngine::Setup(_) if shared.fails.load(Relaxed) => {
                send(control, &FromEngine::Failed { why: "syntax error at startup line 1".into() });
                return;
            }
            ToEngine::Setup(_) => {
                shared.loaded.fetch_add(1, Relaxed);
                send(control, &FromEngine::Ready { version: "false".into(), workers: 0 });
            }
            ToEngine::Door | ToEngine::Adopt => {}
            ToEngine::Fork { worker } if shared.barren.load(Relaxed) => {
                let errno = rustix::io::Errno::AGAIN.raw_os_error();
                send(control, &FromEngine::ForkFailed { worker, errno });
            }
            ToEngine::Fork { worker } => {
                shared.forked.fetch_add(1, Relaxed);
                let [memory, stderr] = <[OwnedFd; 2]>::try_from(with).unwrap();
                let bells = wakers.iter().map(|bell| bell.try_clone().unwrap()).collect();
                send(control, &FromEngine::Forked { worker, pid: std::process::id() });
                if shared.stillborn.load(Relaxed) {
                    send(control, &FromEngine::Exited { worker, exit: Exit::Status(9) });
                    continue;
                }
                if shared.unable.load(Relaxed) {
                    let why = "the extension refuses".to_owned();
                    send(control, &FromEngine::WorkerFailed { worker, why });
                    continue;
                }
                let ring = Worker::attach(memory, bells).unwrap();
                let bells = wakers.iter().map(|bell| bell.try_clone().unwrap()).collect();
                let player = Player { shared: shared.clone(), parent: number, id: worker, stderr, bells };
                let control = control.clone();
                if !shared.boots.load(Relaxed) {
                    send(&control, &FromEngine::Began { worker });
                }
                workers.insert(worker, std::thread::spawn(move || player.play(ring, &control)));
            }
            ToEngine::Kill { worker } | ToEngine::Retire { worker } => {
                shared.killed.lock().unwrap().push((number, worker));
                shared.opened.notify_all();
            }
        }
    }
}

struct Player {
    shared: Arc<Shared>,
    parent: u32,
    id: WorkerId,
    stderr: OwnedFd,
    bells: Vec<OwnedFd>,
}

/// A worker's continuation after a request.
enum After {
    Next,
    /// The front is not woken for the answer if there is another request.
    Quiet(Conversation),
    Exit(Exit),
}

/// Worker threads can't be killed within the ring's memory: they look after themselves, and often.
const TICK: Duration = Duration::from_millis(2);

impl Player {
    fn play(self, mut ring: Worker, control: &OwnedFd) {
        let exit = loop {
            if self.is_killed() {
                break Exit::Signal(9);
            }
            if self.shared.ended.load(Relaxed) {
                return;
            }
            let Some(conversation) = ring.next(Some(TICK)) else { continue };
            match self.serve(conversation) {
                After::Exit(exit) => break exit,
                After::Quiet(conversation) => ring.finish(conversation, Instant::now()),
                After::Next => {}
            }
        };
        send(control, &FromEngine::Exited { worker: self.id, exit });
    }

    fn is_killed(&self) -> bool {
        self.shared.killed.lock().unwrap().contains(&(self.parent, self.id))
    }

    fn is_over(&self) -> bool {
        self.is_killed() || self.shared.ended.load(Relaxed)
    }

    fn serve(&self, mut talk: Conversation) -> After {
        let what = loop {
            let Some((kind, body)) = read(&mut talk) else { return After::Next };
            match ToWorker::decode(kind, &body).unwrap() {
                ToWorker::Define { .. } => drop(self.shared.defined.fetch_add(1, Relaxed)),
                ToWorker::Request(head) => break String::from_utf8(head.uri.to_vec()).unwrap(),
                other => panic!("unexpected {other:?}"),
            }
        };
        self.shared.log.lock().unwrap().push((self.id, what.clone()));
        let (verb, rest) = what.split_once(' ').unwrap_or((&what, ""));
        if let Some(after) = self.act(verb, rest, &mut talk) {
            std::mem::forget(talk);
            return after;
        }
        if self.is_killed() {
            return self.gone(talk);
        }
        let runs_on = verb == "keep" || (verb == "light" && self.is_open(rest));
        if runs_on || !talk.is_abandoned() {
            self.shared.done.lock().unwrap().push(what.clone());
        }
        say(&mut talk, &FromWorker::Body(what.as_bytes()));
        say(&mut talk, &FromWorker::Finished(Outcome::Done));
        if verb == "cleanup" {
            talk.publish();
            self.wait(rest, &talk);
        }
        if verb == "prattle" {
            self.babble(rest, &mut talk);
        }
        let exits = matches!(verb, "exit" | "leave");
        let is_light = verb == "light";
        say(&mut talk, &FromWorker::End { exits, micros: if is_light { 5 } else { u32::MAX } });
        if is_light {
            return After::Quiet(talk);
        }
        drop(talk);
        if exits { After::Exit(Exit::Status(0)) } else { After::Next }
    }

    /// Performs a request's instruction before its usual response, if that comes.
    fn act(&self, verb: &str, rest: &str, talk: &mut Conversation) -> Option<After> {
        match verb {
            "wait" => self.wait(rest, talk),
            "keep" => self.wait_regardless(rest),
            "light" | "leave" if !rest.is_empty() => self.wait(rest, talk),
            "jam" => {
                self.jam();
                return Some(After::Exit(Exit::Signal(9)));
            }
            "crash" => {
                if !rest.is_empty() {
                    self.wait(rest, talk);
                }
                let _ = rustix::io::write(&self.stderr, b"Segmentation, he said\n");
                return Some(After::Exit(Exit::Signal(11)));
            }
            "half" => {
                say(talk, &FromWorker::Body(b"half"));
                talk.publish();
                return Some(After::Exit(Exit::Status(3)));
            }
            "lie" => {
                talk.write(&[9, 9, 9, 9, 1, 0, 0, 0]);
                talk.publish();
                self.wait("for ever", talk);
                return Some(After::Exit(Exit::Signal(9)));
            }
            "echo" => echo(talk),
            "babble" => self.babble(rest, talk),
            "pester" => {
                let question = FromWorker::Own(b"what is at /?");
                (0..5000).for_each(|_| say(talk, &question));
                talk.publish();
                self.wait(rest, talk);
            }
            "swallow" => {
                self.wait(rest, talk);
                while read(talk).is_some_and(|(kind, _)| kind == ToWorker::BODY) {}
            }
            "hoard" => {
                let note: &[u8] = &vec![b'x'; 1 << 20];
                let note = FromWorker::Own(note);
                while !self.is_over() && !talk.is_abandoned() {
                    say(talk, &note);
                }
            }
            "large" => say(talk, &FromWorker::Body(&vec![b'x'; 3 << 20])),
            _ => {}
        }
        None
    }

    /// Makes all bells such that whoever writes to one waits for ever.
    fn jam(&self) {
        for bell in &self.bells {
            fcntl_setfl(bell, OFlags::NONBLOCK).unwrap();
            let _ = rustix::io::write(bell, &(u64::MAX - 1).to_ne_bytes());
            fcntl_setfl(bell, OFlags::empty()).unwrap();
            let mut full = [PollFd::new(bell, PollFlags::OUT)];
            assert_eq!(rustix::event::poll(&mut full, Some(&Timespec::default())), Ok(0));
        }
    }

    /// Says nothing, again and again, until the gate is open.
    fn babble(&self, gate: &str, talk: &mut Conversation) {
        let mut nothing = Vec::new();
        (0..8192).for_each(|_| FromWorker::Body(b"").encode(&mut nothing));
        while !self.is_open(gate) && !self.is_over() && !talk.is_abandoned() {
            talk.write(&nothing);
        }
    }

    fn is_open(&self, gate: &str) -> bool {
        self.shared.gates.lock().unwrap().iter().any(|open| open == gate)
    }

    fn gone(&self, talk: Conversation) -> After {
        std::mem::forget(talk);
        After::Exit(Exit::Signal(9))
    }

    /// Until the gate is open or the worker is killed, whether anybody waits or not.
    fn wait_regardless(&self, gate: &str) {
        let mut gates = self.shared.gates.lock().unwrap();
        while !gates.iter().any(|open| open == gate) && !self.is_over() {
            gates = self.shared.opened.wait_timeout(gates, TICK).unwrap().0;
        }
    }

    /// Until the gate is open, the worker is killed, or nobody waits any more.
    fn wait(&self, gate: &str, talk: &Conversation) {
        let mut gates = self.shared.gates.lock().unwrap();
        while !gates.iter().any(|open| open == gate) && !self.is_over() && !talk.is_abandoned() {
            gates = self.shared.opened.wait_timeout(gates, TICK).unwrap().0;
        }
    }
}

fn read(talk: &mut Conversation) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 8];
    fill(talk, &mut head)?;
    let (kind, length) = read_head(head).unwrap();
    let mut body = vec![0; length];
    fill(talk, &mut body)?;
    Some((kind, body))
}

fn fill(talk: &mut Conversation, mut bytes: &mut [u8]) -> Option<()> {
    while !bytes.is_empty() {
        let count = talk.read(bytes);
        if count == 0 {
            return None;
        }
        bytes = &mut bytes[count..];
    }
    Some(())
}

fn say(talk: &mut Conversation, message: &FromWorker<'_>) {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    talk.write(&bytes);
}

/// Sends back the request's body.
fn echo(talk: &mut Conversation) {
    while let Some((kind, body)) = read(talk) {
        match ToWorker::decode(kind, &body).unwrap() {
            ToWorker::Body(piece) => say(talk, &FromWorker::Body(piece)),
            _ => return,
        }
    }
}
