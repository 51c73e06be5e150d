//! A front in small: starts the real site process and talks to it, one blocking call at a time.

#![allow(dead_code, unreachable_pub)] // Each test file uses its part.

use hostler_sys::fdpass::{self, Wait};
use hostler_sys::limits::{Bounds, Limit};
use hostler_sys::process::{ExitCause, Identity, Pid, Program as Binary, Spawn, spawn, wait};
use hostler_sys::socket::stream_pair;
use hostler_wire::frame::{self, HEAD, Head};
use hostler_wire::site::{
    Connect, ConnectError, Exit, FromSite, Level, Limits, Program, RequestId, Run, RunError, ToSite, Walk,
    WalkResult, Warm,
};
use serde_bytes::ByteBuf;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub const PATIENCE: Duration = Duration::from_secs(20);

/// A site process and the front's end of its connection.
pub struct Site {
    pub process: Option<Pid>,
    pub connection: Connection,
    /// The master's end of its other socket.
    pub door: OwnedFd,
    /// The runtime directory, as the master makes it.
    pub runtime: tempfile::TempDir,
}

/// One connection, greeted.
pub struct Connection {
    socket: Option<OwnedFd>,
    received: Vec<u8>,
    fds: Vec<OwnedFd>,
    pub inotify: Option<OwnedFd>,
    next_id: RequestId,
}

/// The output of a program.
#[derive(Debug)]
pub struct Output {
    pub stdout: String,
    pub stderr: String,
    pub exit: Exit,
}

/// Returns whether tests can become other users.
#[track_caller]
pub fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        hostler_untested::untested("it changes users, which takes root");
    }
    root
}

impl Site {
    pub fn start() -> Self {
        Self::start_as(None)
    }

    pub fn start_as(uid: Option<u32>) -> Self {
        Self::start_with(uid, &[], &[])
    }

    /// With further descriptors that its programs should not get, and with limits.
    pub fn start_with(uid: Option<u32>, extra: &[(BorrowedFd<'_>, i32)], limits: &[(Limit, Bounds)]) -> Self {
        let (ours, theirs) = stream_pair().unwrap();
        let (door, inside) = stream_pair().unwrap();
        let binary = Binary::open(Path::new(env!("CARGO_BIN_EXE_hostler-site"))).unwrap();
        let identity = uid.map(|id| Identity { uid: id, gid: id, groups: vec![] });
        let runtime = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(runtime.path(), uid, uid).unwrap();
        let home = format!("{}={}", hostler_wire::site::RUNTIME, runtime.path().display());
        let home = std::ffi::CString::new(home).unwrap();
        let stderr = std::io::stderr();
        let mut fds = vec![(theirs.as_fd(), 3), (inside.as_fd(), 4), (stderr.as_fd(), 2)];
        fds.extend(extra.iter().copied());
        let process = spawn(&Spawn {
            program: &binary,
            args: &[c"hostler-site".into()],
            env: &[c"SECRET=of the master".into(), c"HOSTLER_ENGINES=perl".into(), home],
            fds: &fds,
            identity: identity.as_ref(),
            group: None,
            limits,
            directory: None,
            no_new_privs: false,
            dies_with_parent: true,
            own_session: false,
        })
        .unwrap();
        Self { process: Some(process), connection: Connection::greeted(ours), door, runtime }
    }

    /// Attaches a further front, as the master does. `None`: the process is about to end.
    pub fn attach(&self) -> Option<Connection> {
        let (ours, theirs) = stream_pair().unwrap();
        let mut bytes = Vec::new();
        frame::encode(&ToSite::Attach, 1, &mut bytes).unwrap();
        let sent = fdpass::send(self.door.as_fd(), &bytes, &[theirs.as_fd()], Wait::No);
        sent.is_ok().then(|| Connection::greeted(ours))
    }

    /// Closes the connection and waits for the process: how it ended.
    pub fn end(&mut self) -> ExitCause {
        self.connection.close();
        wait(self.process.take().expect("ended twice")).unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.end();
        }
    }
}

impl std::ops::Deref for Site {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl std::ops::DerefMut for Site {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

impl Connection {
    pub fn greeted(socket: OwnedFd) -> Self {
        let mut connection =
            Self { socket: Some(socket), received: vec![], fds: vec![], inotify: None, next_id: 1 };
        let (hello, mut fds) = connection.receive();
        assert_eq!(hello, FromSite::Hello(hostler_wire::build::Build::own()));
        connection.inotify = fds.pop();
        connection
    }

    pub fn close(&mut self) {
        self.socket = None;
    }

    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_ref().expect("closed").as_fd()
    }

    pub fn id(&mut self) -> RequestId {
        self.next_id += 1;
        self.next_id
    }

    pub fn send(&self, request: &ToSite, fds: &[BorrowedFd<'_>]) {
        let mut bytes = Vec::new();
        frame::encode(request, fds.len(), &mut bytes).unwrap();
        fdpass::send_all(self.socket(), &bytes, fds).unwrap();
    }

    pub fn receive(&mut self) -> (FromSite, Vec<OwnedFd>) {
        self.receive_within(PATIENCE).expect("no answer")
    }

    /// `None` when the time is over or the connection closed.
    pub fn receive_within(&mut self, time: Duration) -> Option<(FromSite, Vec<OwnedFd>)> {
        loop {
            if let Some(head) = self.received.first_chunk::<HEAD>() {
                let Head { body, fds } = Head::decode(*head).unwrap();
                if self.received.len() >= HEAD + body {
                    let message = frame::decode(&self.received[HEAD..HEAD + body]).unwrap();
                    self.received.drain(..HEAD + body);
                    return Some((message, self.fds.drain(..fds).collect()));
                }
            }
            if !readable_within(self.socket.as_ref()?.as_fd(), time) {
                return None;
            }
            let mut piece = [0; 65536];
            let socket = self.socket.as_ref()?.as_fd();
            match fdpass::recv(socket, &mut piece, &mut self.fds, Wait::Yes).unwrap() {
                0 => return None,
                n => self.received.extend_from_slice(&piece[..n]),
            }
        }
    }

    pub fn walk_with(&mut self, change: impl FnOnce(&mut Walk)) -> (WalkResult, Option<OwnedFd>) {
        let id = self.id();
        let mut walk = Walk {
            id,
            path: ByteBuf::new(),
            htaccess_from: 0,
            access_files: vec![ByteBuf::from(".htaccess")],
            open: true,
            watch: true,
        };
        change(&mut walk);
        self.send(&ToSite::Walk(walk), &[]);
        match self.receive() {
            (FromSite::Walked(walked), mut fds) if walked.id == id => {
                assert_eq!(walked.opened, fds.len() == 1);
                (walked, fds.pop())
            }
            other => panic!("not walked but {other:?}"),
        }
    }

    pub fn walk(&mut self, path: &Path) -> (WalkResult, Option<OwnedFd>) {
        self.walk_with(|walk| walk.path = ByteBuf::from(path.to_str().unwrap()))
    }

    /// Starts a program; its standard input, output and error.
    pub fn start_program(&mut self, program: Program) -> Result<Started, RunError> {
        let stdin = rustix::pipe::pipe().unwrap();
        let run = Run {
            id: self.id(),
            program,
            env: vec![ByteBuf::from("A=b")],
            suexec: true,
            no_new_privs: false,
            limits: Limits::default(),
        };
        self.start_run(&run, stdin)
    }

    pub fn start_run(&mut self, run: &Run, stdin: (OwnedFd, OwnedFd)) -> Result<Started, RunError> {
        let (stdout, stdout_theirs) = rustix::pipe::pipe().unwrap();
        let (stderr, stderr_theirs) = rustix::pipe::pipe().unwrap();
        let (door, site_s) = stream_pair().unwrap();
        let mut fds = vec![stdin.0.as_fd(), stdout_theirs.as_fd(), stderr_theirs.as_fd()];
        if matches!(run.program, Program::Engine { .. }) {
            fds.push(site_s.as_fd());
        }
        self.send(&ToSite::Run(run.clone()), &fds);
        let (answer, _) = self.receive();
        let adopted = matches!(answer, FromSite::Adopted { .. });
        match answer {
            FromSite::Started { id, pid } | FromSite::Adopted { id, pid } if id == run.id => {
                Ok(Started { id, pid, stdin: Some(stdin.1), stdout, stderr, door, adopted })
            }
            FromSite::RunFailed { id, cause } if id == run.id => Err(cause),
            other => panic!("neither started nor failed but {other:?}"),
        }
    }

    /// Starts a program that listens; where.
    pub fn start_listener(&mut self, program: Program) -> Result<(Started, PathBuf), RunError> {
        let (stdout, stdout_theirs) = rustix::pipe::pipe().unwrap();
        let (stderr, stderr_theirs) = rustix::pipe::pipe().unwrap();
        let (door, _) = stream_pair().unwrap();
        let run = Run {
            id: self.id(),
            program,
            env: vec![ByteBuf::from("A=b")],
            suexec: true,
            no_new_privs: false,
            limits: Limits::default(),
        };
        self.send(&ToSite::Run(run.clone()), &[stdout_theirs.as_fd(), stderr_theirs.as_fd()]);
        match self.receive().0 {
            FromSite::Listening { id, pid, path, adopted: false } if id == run.id => {
                let path = PathBuf::from(String::from_utf8(path.into_vec()).unwrap());
                Ok((Started { id, pid, stdin: None, stdout, stderr, door, adopted: false }, path))
            }
            FromSite::RunFailed { id, cause } if id == run.id => Err(cause),
            other => panic!("neither listening nor failed but {other:?}"),
        }
    }

    /// Starts a program that listens and is shared, or takes it over: with what it writes.
    pub fn share_listener(&mut self, program: Program) -> Result<(Started, PathBuf), RunError> {
        let (door, _) = stream_pair().unwrap();
        let (id, env) = (self.id(), vec![ByteBuf::from("A=b")]);
        let run = Run { id, program, env, suexec: true, no_new_privs: false, limits: Limits::default() };
        self.send(&ToSite::Run(run), &[]);
        match self.receive() {
            (FromSite::Listening { id: answered, pid, path, adopted }, fds) if answered == id => {
                let [stdout, stderr] = <[OwnedFd; 2]>::try_from(fds).unwrap();
                let path = PathBuf::from(String::from_utf8(path.into_vec()).unwrap());
                Ok((Started { id, pid, stdin: None, stdout, stderr, door, adopted }, path))
            }
            (FromSite::RunFailed { id: answered, cause }, _) if answered == id => Err(cause),
            other => panic!("neither listening nor failed but {other:?}"),
        }
    }

    /// Asks for a connection; its number.
    pub fn ask_connection(&mut self, path: &Path, within: Duration) -> RequestId {
        let id = self.id();
        let within = u32::try_from(within.as_millis()).unwrap();
        let path = ByteBuf::from(path.to_str().unwrap());
        self.send(&ToSite::Connect(Connect { id, path, within }), &[]);
        id
    }

    /// The answer to that.
    pub fn connection(&mut self, expected: RequestId) -> Result<OwnedFd, ConnectError> {
        match self.receive() {
            (FromSite::Connected { id }, mut fds) if id == expected && fds.len() == 1 => Ok(fds.remove(0)),
            (FromSite::ConnectFailed { id, cause }, _) if id == expected => Err(cause),
            other => panic!("neither connected nor failed but {other:?}"),
        }
    }

    /// Connects, or fails at once.
    pub fn connect(&mut self, path: &Path) -> Result<OwnedFd, ConnectError> {
        let id = self.ask_connection(path, Duration::ZERO);
        self.connection(id)
    }

    /// Runs a program to its end with an empty input.
    pub fn run(&mut self, program: Program) -> Result<Output, RunError> {
        let started = self.start_program(program)?;
        Ok(self.finish(started))
    }

    pub fn finish(&mut self, mut started: Started) -> Output {
        started.stdin = None;
        let exit = self.exit_of(started.id);
        Output { stdout: text(started.stdout), stderr: text(started.stderr), exit }
    }

    pub fn exit_of(&mut self, expected: RequestId) -> Exit {
        match self.receive().0 {
            FromSite::Exited { id, exit } if id == expected => exit,
            other => panic!("not exited but {other:?}"),
        }
    }

    pub fn shell(&mut self, command: &str) -> Output {
        let directory = ByteBuf::from("/");
        self.run(Program::Shell { command: ByteBuf::from(command), directory }).unwrap()
    }
}

pub fn readable_within(fd: BorrowedFd<'_>, time: Duration) -> bool {
    let watch = hostler_sys::poll::Watch { fd, write: false };
    hostler_sys::poll::wait(&[watch], Some(time)).unwrap()[0].read
}

pub struct Started {
    pub id: RequestId,
    pub pid: u32,
    pub stdin: Option<OwnedFd>,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    /// The parent's end of its door.
    pub door: OwnedFd,
    pub adopted: bool,
}

pub fn text(fd: OwnedFd) -> String {
    let mut bytes = Vec::new();
    std::fs::File::from(fd).read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The parent of a pool.
pub fn parent(name: &str, pool: &str, key: u64, fresh: bool) -> Program {
    Program::Engine { name: name.to_owned(), warm: Warm { pool: pool.to_owned(), key, fresh } }
}

pub fn script(path: &Path) -> Program {
    Program::Script { path: ByteBuf::from(path.to_str().unwrap()), args: vec![] }
}

/// A temporary directory that everybody may enter, gone with the value.
pub struct Tree(tempfile::TempDir);

impl Tree {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        chmod(directory.path(), 0o755);
        Self(directory)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        let root = self.0.path().canonicalize().unwrap();
        if name.is_empty() { root } else { root.join(name) }
    }

    pub fn directory(&self, name: &str) -> PathBuf {
        std::fs::create_dir_all(self.path(name)).unwrap();
        chmod(&self.path(name), 0o755);
        self.path(name)
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        self.executable(name, text, 0o644)
    }

    pub fn executable(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        std::fs::write(self.path(name), text).unwrap();
        chmod(&self.path(name), mode);
        self.path(name)
    }

    pub fn link(&self, target: &str, name: &str) -> PathBuf {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
        self.path(name)
    }
}

pub fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

pub fn chown(path: &Path, uid: u32) {
    std::os::unix::fs::lchown(path, Some(uid), Some(uid)).unwrap();
}

pub fn last(walked: &WalkResult) -> &Level {
    walked.levels.last().unwrap()
}

pub const ENOENT: i32 = 2;
pub const EACCES: i32 = 13;
pub const EISDIR: i32 = 21;
pub const EINVAL: i32 = 22;
pub const EFBIG: i32 = 27;
pub const ENAMETOOLONG: i32 = 36;
pub const ELOOP: i32 = 40;
