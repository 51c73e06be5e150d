//! The front's part: takes the plan, reports ready, and then does what each connection's one line says.
//!
//! Commands: `pid`, `status` (what the kernel says of it), `fds`, `site N` (asks for a site, prints what the site
//! says about itself or the errno), `site-kill N` (the same, then kills the site's process), `known N` (the same of the
//! process that it was told of before it began), `malformed`, `unknown-site`, `send-fd`, `alive`, `stuck` (that its own
//! thread is), `stuck N`, `close`, `exit N`, `hold` (keeps the connection open until it is closed).

use hostler_sys::fdpass::{Wait, inherited, recv, send};
use hostler_sys::poll::{Watch, wait};
use hostler_wire::build::Build;
use hostler_wire::control::{FromFront, FromMaster, MESSAGE_SIZE};
use std::cell::RefCell;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

struct Front {
    control: RefCell<Option<OwnedFd>>,
    listeners: Vec<TcpListener>,
    log: File,
    sites: RefCell<Vec<OwnedFd>>,
    /// The processes it knew of before it began.
    known: RefCell<Vec<(u32, OwnedFd)>>,
}

pub(crate) fn main() -> ExitCode {
    let control = inherited(3).unwrap();
    let (behave, listeners, mut logs, known) = receive(&control);
    match behave.as_str() {
        // Time: it hangs until it is killed.
        "hang" => std::thread::sleep(std::time::Duration::from_secs(60)),
        "crash" => return ExitCode::from(9),
        "crash-after-ready" => {
            send(control.as_fd(), &FromFront::Ready.encode(), &[], Wait::Yes).unwrap();
            // A front that dies with its first word still unread counts as never ready.
            // Time: nothing tells that the master has read it.
            std::thread::sleep(std::time::Duration::from_millis(20));
            return ExitCode::from(9);
        }
        _ => send(control.as_fd(), &FromFront::Ready.encode(), &[], Wait::Yes).map(drop).unwrap(),
    }
    let front = Front {
        control: RefCell::new(Some(control)),
        listeners,
        log: File::from(logs.remove(0)),
        sites: RefCell::default(),
        known: RefCell::new(known),
    };
    front.serve(&behave);
    ExitCode::SUCCESS
}

type Begun = (String, Vec<TcpListener>, Vec<OwnedFd>, Vec<(u32, OwnedFd)>);

fn receive(control: &OwnedFd) -> Begun {
    let (mut plan, mut listeners, mut logs) = (String::new(), Vec::new(), Vec::new());
    let mut known = Vec::new();
    loop {
        let (message, fds) = message(control).expect("the master's first messages");
        match message {
            FromMaster::Plan { bytes } => {
                plan = String::from_utf8(hostler_sys::memfd::read(&fds[0], bytes).unwrap()).unwrap();
            }
            FromMaster::Listeners { .. } => listeners.extend(fds.into_iter().map(TcpListener::from)),
            FromMaster::Build(build) => assert_eq!(build, Build::own()),
            FromMaster::Logs { .. } => logs.extend(fds),
            FromMaster::Site { site, .. } => known.push((site, fds.into_iter().next().unwrap())),
            FromMaster::Go => return (plan, listeners, logs, known),
            other => panic!("{other:?}"),
        }
    }
}

fn message(control: &OwnedFd) -> Option<(FromMaster, Vec<OwnedFd>)> {
    let (mut bytes, mut fds) = ([0; MESSAGE_SIZE], Vec::new());
    match recv(control.as_fd(), &mut bytes, &mut fds, Wait::Yes) {
        Ok(n) if n > 0 => Some((FromMaster::decode(&bytes[..n]).unwrap(), fds)),
        _ => None,
    }
}

impl Front {
    /// Serves one connection at a time until drained or the master is gone.
    fn serve(&self, behave: &str) {
        (&self.log).write_all(b"serving\n").unwrap();
        loop {
            let ready = {
                let control = self.control.borrow();
                let mut watches: Vec<Watch<'_>> =
                    self.listeners.iter().map(|l| Watch { fd: l.as_fd(), write: false }).collect();
                watches.extend(control.iter().map(|c| Watch { fd: c.as_fd(), write: false }));
                wait(&watches, None).unwrap()
            };
            for (listener, _) in self.listeners.iter().zip(&ready).filter(|(_, ready)| ready.read) {
                if let Ok((stream, _)) = listener.accept() {
                    self.answer(&stream, behave);
                }
            }
            if ready.len() > self.listeners.len() && ready[self.listeners.len()].read {
                match self.control.borrow().as_ref().and_then(message) {
                    Some((FromMaster::Drain, _)) => {
                        (&self.log).write_all(b"drained\n").unwrap();
                        return;
                    }
                    Some(_) => {}
                    None => return,
                }
            }
        }
    }

    fn answer(&self, mut stream: &TcpStream, behave: &str) {
        stream.set_nonblocking(false).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words[..] {
            ["behave"] => behave.to_string(),
            ["pid"] => std::process::id().to_string(),
            ["status"] => std::fs::read_to_string("/proc/self/status").unwrap(),
            ["fds"] => open_numbers(),
            ["site", number] => self.site(number.parse().unwrap(), false),
            ["site-kill", number] => self.site(number.parse().unwrap(), true),
            ["known", number] => self.known(number.parse().unwrap()),
            ["malformed"] => self.say(b"nonsense", false),
            ["unknown-site"] => self.say(&FromFront::SpawnSite(77).encode(), false),
            ["alive"] => self.say(&FromFront::Alive.encode(), false),
            ["stuck"] => self.say(&FromFront::Stuck(std::process::id()).encode(), false),
            ["stuck", thread] => self.say(&FromFront::Stuck(thread.parse().unwrap()).encode(), false),
            ["send-fd"] => self.say(&FromFront::Ready.encode(), true),
            ["close"] => {
                self.control.replace(None);
                String::new()
            }
            ["exit", status] => std::process::exit(status.parse().unwrap()),
            ["hold"] => {
                stream.write_all(b"held\n").unwrap();
                let mut rest = Vec::new();
                stream.read_to_end(&mut rest).unwrap();
                format!("{} bytes", rest.len())
            }
            _ => "?".to_string(),
        };
        let _ = stream.write_all(answer.as_bytes());
    }

    fn say(&self, bytes: &[u8], with_descriptor: bool) -> String {
        let control = self.control.borrow();
        let control = control.as_ref().unwrap();
        let fds: &[_] = if with_descriptor { &[self.log.as_fd()] } else { &[] };
        send(control.as_fd(), bytes, fds, Wait::Yes).unwrap();
        String::new()
    }

    fn known(&self, number: u32) -> String {
        let known = self.known.borrow();
        known.iter().find(|(site, _)| *site == number).map_or("none".into(), |(_, socket)| heard(socket))
    }

    fn site(&self, number: u32, then_kill: bool) -> String {
        self.say(&FromFront::SpawnSite(number).encode(), false);
        let answer = self.control.borrow().as_ref().and_then(message);
        match answer {
            Some((FromMaster::Site { site, .. }, mut fds)) if site == number => {
                let socket = fds.remove(0);
                let said = heard(&socket);
                if !then_kill {
                    self.sites.borrow_mut().push(socket);
                }
                said
            }
            Some((FromMaster::SiteFailed(n, errno), _)) if n == number => format!("errno {errno}"),
            other => format!("{other:?}"),
        }
    }
}

/// Returns a site's report about itself.
fn heard(socket: &OwnedFd) -> String {
    let mut said = vec![0; 8192];
    let n = recv(socket.as_fd(), &mut said, &mut Vec::new(), Wait::Yes).unwrap();
    String::from_utf8(said[..n].to_vec()).unwrap()
}

pub(crate) fn open_numbers() -> String {
    let exists = |n: &i32| std::fs::symlink_metadata(format!("/proc/self/fd/{n}")).is_ok();
    (0..500).filter(exists).map(|n| n.to_string()).collect::<Vec<_>>().join(" ")
}
