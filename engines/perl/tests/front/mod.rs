//! The front's part, played by a test: starts the engine, has it fork workers, asks them requests over shared memory.

#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used, reason = "each test uses some of it")]

use hostler_perl_frames::{Directory, FromPerl, Phase, PhaseSet, Preload, PreloadKind, RequestHead, Setup};
use hostler_ring::Memory;
use hostler_ring::front::Channel;
use hostler_sys::poll::{Watch, wait};
use hostler_sys::{fdpass, shared, socket};
use hostler_wire::engine::{FromEngine, ToEngine, WorkerId};
use hostler_wire::frame::{self, Head};
use hostler_wire::site::Exit;
use hostler_wire::work::{self, FromWorker, Outcome, ToWorker};
use std::cell::RefCell;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Nothing here takes as long on the slowest machine.
pub const LONG: Duration = Duration::from_secs(20);

pub struct Engine {
    pub child: Child,
    front: Front,
    /// The site's end of the parent's door.
    door: OwnedFd,
}

/// One of the fronts that a parent works for.
pub struct Front {
    control: OwnedFd,
    bell: OwnedFd,
    next: WorkerId,
    /// Its workers serve one request each.
    one_shot: bool,
}

/// Returns code to load, as if in a `<Perl>` section.
pub fn code(text: &str) -> Preload {
    Preload { kind: PreloadKind::Code, text: text.into(), origin: "test.conf:7".into(), configured: false }
}

/// A pool of generation 2 that preloads code.
pub fn setup(text: &str) -> Setup {
    Setup { title: "test".into(), generation: 2, preload: vec![code(text)], ..Setup::default() }
}

/// The engine's program: cargo names it to tests, but not to examples, which stand in a folder beside it.
fn program() -> PathBuf {
    match option_env!("CARGO_BIN_EXE_hostler-perl") {
        Some(path) => path.into(),
        None => std::env::current_exe().unwrap().with_file_name("../hostler-perl"),
    }
}

impl Engine {
    /// The engine, once it is ready; or why it is not.
    pub fn start(setup: Setup) -> Result<Self, String> {
        let (control, theirs) = socket::stream_pair().unwrap();
        let (door, inside) = socket::stream_pair().unwrap();
        let child = Command::new(program()).stdin(Stdio::from(theirs)).spawn().unwrap();
        let engine = Self { child, front: Front::new(control, setup.one_shot), door };
        engine.send(&ToEngine::Wakers, &[engine.bell.as_fd()]);
        engine.send(&ToEngine::Door, &[inside.as_fd()]);
        engine.send(&ToEngine::Setup(Box::new(setup.into_wire())), &[]);
        match engine.receive() {
            FromEngine::Ready { version, workers: 0 } => {
                assert!(version.starts_with("perl v5."), "{version}");
                Ok(engine)
            }
            FromEngine::Failed { why } => Err(why),
            other => panic!("{other:?}"),
        }
    }

    /// A further front, and the workers that there are for others. `None`: the parent is of no use to it.
    pub fn adopt(&self) -> Option<(Front, u32)> {
        let (control, theirs) = socket::stream_pair().unwrap();
        let null = std::fs::File::options().write(true).open("/dev/null").unwrap();
        send(&self.door, &ToEngine::Adopt, &[theirs.as_fd(), null.as_fd(), null.as_fd()]);
        drop(theirs);
        let front = Front::new(control, self.front.one_shot);
        match front.receive() {
            FromEngine::Ready { workers, .. } => {
                front.send(&ToEngine::Wakers, &[front.bell.as_fd()]);
                Some((front, workers))
            }
            FromEngine::Stale => None,
            other => panic!("{other:?}"),
        }
    }

    /// Closes the control socket, as a front that ends does, and gives the rest to another one.
    pub fn leave_to(&mut self, front: Front) {
        self.front = front;
    }

    /// Closes the control socket, as a front that ends does.
    pub fn hang_up(mut self) -> std::process::ExitStatus {
        let (other, _) = socket::stream_pair().unwrap();
        drop(std::mem::replace(&mut self.front.control, other));
        self.child.wait().unwrap()
    }
}

impl std::ops::Deref for Engine {
    type Target = Front;
    fn deref(&self) -> &Front {
        &self.front
    }
}

impl std::ops::DerefMut for Engine {
    fn deref_mut(&mut self) -> &mut Front {
        &mut self.front
    }
}

fn send(socket: &OwnedFd, message: &ToEngine, descriptors: &[BorrowedFd<'_>]) {
    let mut bytes = Vec::new();
    message.encode(descriptors.len(), &mut bytes).unwrap();
    fdpass::send_all(socket.as_fd(), &bytes, descriptors).unwrap();
}

impl Front {
    fn new(control: OwnedFd, one_shot: bool) -> Self {
        let front = Self { control, bell: shared::bell().unwrap(), next: 1, one_shot };
        assert_eq!(front.receive(), FromEngine::Hello(hostler_wire::build::Build::own()));
        front
    }

    fn send(&self, message: &ToEngine, descriptors: &[BorrowedFd<'_>]) {
        send(&self.control, message, descriptors);
    }

    pub fn receive(&self) -> FromEngine {
        let ready = wait(&[Watch { fd: self.control.as_fd(), write: false }], Some(LONG)).unwrap();
        assert!(ready[0].read, "the engine says nothing");
        let mut head = [0; frame::HEAD];
        fdpass::recv_exact(self.control.as_fd(), &mut head, &mut Vec::new()).unwrap();
        let mut body = vec![0; Head::decode(head).unwrap().body];
        fdpass::recv_exact(self.control.as_fd(), &mut body, &mut Vec::new()).unwrap();
        FromEngine::decode(&body).unwrap()
    }

    pub fn fork(&mut self) -> Worker {
        let id = self.next;
        self.next += 1;
        let (memory, descriptor) = Memory::create().unwrap();
        let (stderr, theirs) = rustix::pipe::pipe().unwrap();
        self.send(&ToEngine::Fork { worker: id }, &[descriptor.as_fd(), theirs.as_fd()]);
        let pid = match self.receive() {
            FromEngine::Forked { worker, pid } if worker == id => pid,
            other => panic!("{other:?}"),
        };
        if !self.one_shot {
            assert_eq!(self.receive(), FromEngine::Began { worker: id });
        }
        let channel = memory.channel(0);
        Worker {
            id,
            pid,
            channel,
            memory,
            bell: self.bell.try_clone().unwrap(),
            stderr,
            printed: RefCell::default(),
            directories: 0,
        }
    }

    pub fn kill(&self, worker: WorkerId) {
        self.send(&ToEngine::Kill { worker }, &[]);
    }

    pub fn retire(&self, worker: WorkerId) {
        self.send(&ToEngine::Retire { worker }, &[]);
    }

    pub fn exit_of(&self, worker: &Worker) -> Exit {
        match self.receive() {
            FromEngine::Exited { worker: id, exit } if id == worker.id => exit,
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Its workers end with it (PR_SET_PDEATHSIG).
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct Worker {
    pub id: WorkerId,
    pub pid: u32,
    channel: Channel,
    /// Keeps it mapped.
    memory: Arc<Memory>,
    bell: OwnedFd,
    stderr: OwnedFd,
    /// Lines of the standard error that it has told.
    printed: RefCell<String>,
    directories: u32,
}

/// All that a worker said about a request.
#[derive(Debug, Default)]
pub struct Answer {
    pub status: Option<u16>,
    pub content_type: Option<String>,
    pub headers: Vec<(String, String)>,
    pub body: String,
    pub logs: Vec<String>,
    printed: String,
    /// `handler` of the changes, if there were changes.
    pub changed: Option<Option<String>>,
    pub notes: Vec<(String, String)>,
    pub outcome: String,
    pub exits: bool,
    /// Its question; asking ends the reading of the response, see [`Worker::end`].
    pub question: Option<String>,
    /// The number of wake-ups until the end.
    pub wakes: u32,
}

/// A request for a response.
pub fn request(handler: &'static str) -> RequestHead<'static> {
    let mut phases = PhaseSet::default();
    phases.insert(Phase::Response);
    let common = work::RequestHead {
        protocol: 1001,
        method: b"GET",
        the_request: b"GET /x HTTP/1.1",
        uri: b"/x",
        unparsed_uri: b"/x",
        filename: b"/srv/x",
        hostname: Some(b"a"),
        server_name: b"a",
        remote_ip: b"127.0.0.1",
        local_ip: b"127.0.0.1",
        handler: Some(handler.as_bytes()),
        headers_in: vec![(b"Host", b"a"), (b"User-Agent", b"test")],
        ..work::RequestHead::default()
    };
    RequestHead { common, phases, status: 200, ..RequestHead::default() }
}

/// Configuration with these handlers.
pub fn directory(handlers: &[(Phase, &[&str])]) -> Directory {
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    Directory {
        handlers: handlers.iter().map(|(phase, list)| (*phase, words(list))).collect(),
        ..Directory::default()
    }
}

impl Worker {
    /// Defines a directory and asks the request in it.
    pub fn ask_in(&mut self, directory: &Directory, mut head: RequestHead<'_>, body: &[u8]) -> Answer {
        for (phase, _) in &directory.handlers {
            head.phases.insert(*phase);
        }
        self.directories += 1;
        head.directory = self.directories;
        let encoded = directory.encode();
        let mut message = Vec::new();
        ToWorker::Define { id: self.directories, directory: &encoded }.encode(&mut message);
        self.ask(message, head, body)
    }

    /// Asks once more in the directory that was defined last.
    pub fn ask_again(&mut self, mut head: RequestHead<'_>) -> Answer {
        head.directory = self.directories;
        self.ask(Vec::new(), head, b"")
    }

    fn ask(&mut self, mut message: Vec<u8>, mut head: RequestHead<'_>, body: &[u8]) -> Answer {
        if !body.is_empty() {
            head.flags |= work::request_flag::BODY;
        }
        head.encode_request(&mut message);
        if !body.is_empty() {
            ToWorker::Body(body).encode(&mut message);
            ToWorker::BodyEnd(true).encode(&mut message);
        }
        let written = self.channel.offer(0, &message);
        self.answer(&message[written..])
    }

    fn answer(&mut self, mut unsent: &[u8]) -> Answer {
        let mut answer = Answer::default();
        let mut bytes = Vec::new();
        let deadline = Instant::now() + LONG;
        self.channel.want_room(true);
        loop {
            unsent = &unsent[self.channel.write(unsent)..];
            self.channel.want_room(!unsent.is_empty());
            if self.channel.read(&mut bytes, 1 << 20).unwrap() > 0 {
                answer.wakes += 1;
                if take_messages(&mut bytes, &mut answer) {
                    self.printed.borrow_mut().push_str(&answer.printed);
                    return answer;
                }
            } else if self.channel.sleep() {
                let watches = [Watch { fd: self.bell.as_fd(), write: false }];
                wait(&watches, Some(Duration::from_millis(200))).unwrap();
                shared::clear(&self.bell);
            }
            assert!(Instant::now() < deadline, "no end: {answer:?}, {}", self.stderr());
        }
    }

    /// Sends more of what belongs to the request that was begun.
    pub fn tell(&mut self, message: &ToWorker<'_>) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        assert_eq!(self.channel.write(&bytes), bytes.len());
    }

    /// Begins a request without waiting for its answer.
    pub fn begin(&mut self, directory: &Directory, mut head: RequestHead<'_>) {
        self.directories += 1;
        head.directory = self.directories;
        let encoded = directory.encode();
        let mut message = Vec::new();
        ToWorker::Define { id: self.directories, directory: &encoded }.encode(&mut message);
        head.encode_request(&mut message);
        assert_eq!(self.channel.offer(0, &message), message.len());
    }

    /// The answer of what was begun.
    pub fn end(&mut self) -> Answer {
        self.answer(b"")
    }

    pub fn is_taken(&self) -> bool {
        self.channel.is_taken()
    }

    /// Returns its standard error since the last call.
    pub fn stderr(&self) -> String {
        let mut text = self.printed.take().into_bytes();
        while wait(&[Watch { fd: self.stderr.as_fd(), write: false }], Some(Duration::ZERO)).unwrap()[0].read
        {
            let mut piece = [0; 4096];
            match std::fs::File::from(self.stderr.try_clone().unwrap()).read(&mut piece) {
                Ok(0) | Err(_) => break,
                Ok(count) => text.extend_from_slice(&piece[..count]),
            }
        }
        String::from_utf8(text).unwrap()
    }
}

/// Whole messages out of the bytes; true: that was the last.
fn take_messages(bytes: &mut Vec<u8>, answer: &mut Answer) -> bool {
    let mut start = 0;
    let mut ended = false;
    while let Some(head) = bytes[start..].first_chunk::<{ work::HEAD }>() {
        let (kind, length) = work::read_head(*head).unwrap();
        let Some(body) = bytes.get(start + work::HEAD..start + work::HEAD + length) else { break };
        ended = note(FromWorker::decode(kind, body).unwrap(), answer);
        start += work::HEAD + length;
    }
    bytes.drain(..start);
    ended
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn pairs(fields: &[(&[u8], &[u8])]) -> Vec<(String, String)> {
    fields.iter().map(|(name, value)| (text(name), text(value))).collect()
}

fn note(message: FromWorker<'_>, answer: &mut Answer) -> bool {
    match message {
        FromWorker::Head(head) => {
            answer.status = Some(head.status);
            answer.content_type = head.content_type.map(text);
            answer.headers = pairs(&head.headers_out);
        }
        FromWorker::Body(piece) => answer.body.push_str(&text(piece)),
        FromWorker::Log { text: line, .. } => answer.logs.push(text(line)),
        FromWorker::Printed(line) => answer.printed.push_str(&format!("{}\n", text(line))),
        FromWorker::Finished(outcome) => {
            answer.outcome = match outcome {
                Outcome::Done => "done".into(),
                Outcome::Status(status) => status.to_string(),
                Outcome::Declined => "declined".into(),
                Outcome::Redirect(target) => format!("redirect {}", text(target)),
                Outcome::Broken(why) => format!("broken: {}", text(why)),
                Outcome::Verdict(said) => format!("verdict {said}"),
            }
        }
        FromWorker::End { exits, .. } => {
            answer.exits = exits;
            return true;
        }
        FromWorker::ReadBody(most) => {
            answer.question = Some(format!("read {most}"));
            return true;
        }
        FromWorker::Own(own) => return note_own(FromPerl::decode(own).unwrap(), answer),
    }
    false
}

fn note_own(message: FromPerl<'_>, answer: &mut Answer) -> bool {
    match message {
        FromPerl::Changes(changes) => {
            answer.changed = Some(changes.handler.map(text));
            answer.notes = pairs(&changes.notes);
            if answer.headers.is_empty() {
                answer.headers = pairs(&changes.headers_out);
            }
        }
        FromPerl::LookUp { method, target, file } => {
            answer.question = Some(format!("{} {} {file}", text(method), text(target)));
            return true;
        }
        FromPerl::Run { target, .. } => {
            answer.question = Some(format!("run {}", text(target)));
            return true;
        }
        FromPerl::Configure { text: lines, .. } => {
            answer.question = Some(format!("configure {}", text(lines)));
            return true;
        }
        FromPerl::Standing { .. } | FromPerl::Early { .. } => {}
        FromPerl::Redirect { target, .. } => {
            answer.question = Some(format!("redirect {}", text(target)));
            return true;
        }
    }
    false
}
