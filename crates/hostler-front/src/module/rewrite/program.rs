//! Maps that are programs (`RewriteMap name prg:/path`): each lives on at its site's process, as the site's user, and is
//! asked one question after the other by the requests of all threads. The thread that first needs one owns it.
//!
//! A program's influence on its site's requests has bounds, and none of it reaches other sites: an answer has a size and a
//! time (`Timeout`), a queue a length, and one that is of no use is started anew, not more often than once a second.
//!
//! **Runs as** the front. **Diagnostics**: under `rewrite`, in the log of the request that got no answer.

use crate::log;
use crate::request::flow::Halt;
use crate::request::thread::Thread;
use crate::request::{Request, settings};
use crate::site::connection::Running;
use hostler_config::Server;
use hostler_gateway::RestOfLines;
use hostler_gateway::backend::cgi::{Dialogue, Sink, Unanswered};
use hostler_gateway::supervisor::Process;
use hostler_wire::plan::SiteId;
use hostler_wire::site::{Exit, Limits, Program, Run};
use std::collections::HashMap;
use std::future::Future as _;
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// Longest answer in bytes.
const LONGEST: usize = 64 << 10;
/// Requests that may wait for one program.
const QUEUE: usize = 1000;
/// The time in which one that has failed is not started again.
const REST: Duration = Duration::from_secs(1);

/// A question, and who wants to know.
struct Ask {
    key: Vec<u8>,
    tell: oneshot::Sender<Result<Vec<u8>, String>>,
}

/// Identifies a program: the site, the map's name, path and arguments.
type Name = (SiteId, Box<str>, Box<[Box<str>]>);

/// The programs of the front's configuration that were ever asked. Reloads bring another front.
static PROGRAMS: LazyLock<Mutex<HashMap<Name, mpsc::Sender<Ask>>>> = LazyLock::new(Mutex::default);

/// The value of a key, or why there is none. What is in the key goes to the program as it is, so one with an end of line
/// has no value, as in Apache.
pub(super) async fn value(
    request: &Request,
    map: &str,
    words: &[Box<str>],
    key: &[u8],
) -> Result<Result<Option<Vec<u8>>, String>, Halt> {
    // Quirk(apache): where the server's own engine is off, programs are not there.
    if key.contains(&b'\n') || !request.server.conf.rewrite.context.is_on() {
        return Ok(Ok(None));
    }
    let (tell, told) = oneshot::channel();
    let ask = Ask { key: key.to_vec(), tell };
    if owner(request, map, words).try_send(ask).is_err() {
        return Ok(Err(format!("{QUEUE} requests wait for it already")));
    }
    let patience = settings::timeout(&request.server);
    // A little more than the program has, whose silence is the better reason.
    let said = match tokio::time::timeout(patience + Duration::from_secs(1), told).await {
        Ok(Ok(said)) => said,
        Ok(Err(_)) => Err("the thread that spoke to it has ended".to_owned()),
        Err(_) => Err(format!("it has not come to this request within {} s", patience.as_secs())),
    };
    Ok(said.map(|value| Some(value).filter(|value| !value.eq_ignore_ascii_case(b"NULL"))))
}

/// The way to a program; this thread becomes its owner if it has none.
fn owner(request: &Request, map: &str, words: &[Box<str>]) -> mpsc::Sender<Ask> {
    let site = request.thread.shared.sites.of(&request.server);
    let name: Name = (site, map.into(), words.into());
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = programs.get(&name).filter(|known| !known.is_closed()) {
        return known.clone();
    }
    let (send, receive) = mpsc::channel(QUEUE);
    programs.insert(name, send.clone());
    let (thread, server) = (request.thread.clone(), request.server.clone());
    let owner = Owner { thread, server, words: words.into(), running: None, failed: None };
    tokio::task::spawn_local(owner.serve(receive));
    send
}

struct Owner {
    thread: Rc<Thread>,
    server: Arc<Server>,
    words: Box<[Box<str>]>,
    running: Option<Dialogue<Started, ErrorLines>>,
    /// When it was last of no use, and why.
    failed: Option<(Instant, String)>,
}

impl Owner {
    async fn serve(mut self, mut asks: mpsc::Receiver<Ask>) {
        let idle = self.thread.shared.config.process.site_idle.unwrap_or(60);
        let idle = Duration::from_secs(u64::from(idle.max(1)));
        loop {
            match tokio::time::timeout(idle, asks.recv()).await {
                Ok(Some(ask)) if ask.tell.is_closed() => {}
                Ok(Some(ask)) => {
                    let said = self.answer(&ask.key).await;
                    let _ = ask.tell.send(said);
                }
                Ok(None) => return,
                // Nobody asks: it goes, so that its site's process may go, too.
                Err(_) => self.running = None,
            }
        }
    }

    async fn answer(&mut self, key: &[u8]) -> Result<Vec<u8>, String> {
        let patience = settings::timeout(&self.server);
        if let Some(running) = &mut self.running {
            match running.ask(key, LONGEST, patience).await {
                Ok(answer) => return Ok(answer),
                // It may have ended long before this question: another one is asked.
                Err(Unanswered::Ended { .. } | Unanswered::OutOfStep) => self.running = None,
                Err(why) => return Err(self.fails(why.to_string())),
            }
        }
        if let Some((at, why)) = self.failed.as_ref().filter(|(at, _)| at.elapsed() < REST) {
            return Err(format!("{why}, {} ms ago", at.elapsed().as_millis()));
        }
        let mut program = match self.start().await {
            Ok(program) => program,
            Err(why) => return Err(self.fails(why)),
        };
        match program.ask(key, LONGEST, patience).await {
            Ok(answer) => {
                self.running = Some(program);
                Ok(answer)
            }
            Err(why) => {
                let lines = program.last_lines();
                let said = if lines.is_empty() {
                    String::new()
                } else {
                    format!("; it said: {}", lines.join(" / "))
                };
                Err(self.fails(format!("{why}{said}")))
            }
        }
    }

    fn fails(&mut self, why: String) -> String {
        self.running = None;
        self.failed = Some((Instant::now(), why.clone()));
        why
    }

    async fn start(&self) -> Result<Dialogue<Started, ErrorLines>, String> {
        let Some((path, args)) = self.words.split_first() else { return Err("it has no name".to_owned()) };
        let bytes = |word: &str| word.as_bytes().to_vec().into();
        let core = &self.server.conf.core;
        let path_of_programs = b"PATH=/usr/local/bin:/usr/bin:/bin".to_vec();
        let run = Run {
            id: 0,
            program: Program::Script {
                path: bytes(path),
                args: args.iter().map(|word| bytes(word)).collect(),
            },
            env: vec![path_of_programs.into()],
            suexec: core.assign_user.is_some(),
            limits: Limits::default(),
            no_new_privs: core.no_new_privileges.unwrap_or_default().holds_for_programs(),
        };
        let link = self.thread.site(&self.server).link().await.map_err(|error| error.to_string())?;
        let (pipes, ends) = link.standard(true).await.map_err(|error| error.to_string())?;
        let running = link.run(run, ends.into(), None).await.map_err(|error| error.to_string())?;
        let lines =
            ErrorLines { thread: self.thread.clone(), server: self.server.clone(), path: path.clone() };
        Dialogue::new(pipes, Started(running), lines).map_err(|error| error.to_string())
    }
}

/// The site's process watches over it.
struct Started(Running);

impl Process for Started {
    fn poll_exit(&mut self, context: &mut Context<'_>) -> Poll<Option<Exit>> {
        pin!(self.0.exit()).poll(context)
    }

    fn kill(&mut self) {
        self.0.kill();
    }
}

/// Its standard error.
#[derive(Clone)]
struct ErrorLines {
    thread: Rc<Thread>,
    server: Arc<Server>,
    path: Box<str>,
}

impl Sink for ErrorLines {
    fn line(&mut self, line: &[u8]) {
        log::program(&self.thread, &self.server, "rewrite", &self.path, line);
    }

    fn rest(&mut self, lines: RestOfLines) {
        let mut own = self.clone();
        lines.later(move |line| own.line(line));
    }
}
