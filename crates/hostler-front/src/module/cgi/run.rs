//! Running a program: the site's process starts it, its pipes are spoken to from here.

use super::record::RecordedBody;
use crate::io::body::{BodyError, BodyStream, RequestBody};
use crate::log;
use crate::request::Request;
use crate::request::settings;
use crate::site::connection::Running;
use bytes::Bytes;
use hostler_cgi::Environment;
use hostler_config::directives::core::Rlimit;
use hostler_config::directives::pool::programs_of_site;
use hostler_config::pools;
use hostler_gateway::backend::body::BodyLength;
use hostler_gateway::backend::cgi::{Exchange, Input, Sink};
use hostler_gateway::supervisor::Process;
use hostler_gateway::supervisor::exec::Bounds;
use hostler_gateway::{Error, RestOfLines};
use hostler_wire::site::{Exit, Limits, Program, Run};
use serde_bytes::ByteBuf;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A program that is being spoken to.
pub(super) type Conversation = Exchange<ClientBody, RunningProgram, ErrorLines>;

/// Starts the request's file.
pub(super) async fn script(
    request: &Request,
    environment: Environment,
    kept: Option<RecordedBody>,
) -> Result<Conversation, Error> {
    let args = hostler_cgi::arguments(request.target.args.as_deref().unwrap_or_default());
    let args = args.into_iter().map(ByteBuf::from).collect();
    let program = Program::Script { path: request.resource.filename.clone().into(), args };
    let mut body = None;
    if !request.target.body.is_empty() {
        let mut client = ClientBody::new(request.target.body.clone(), kept);
        client.read_ahead(AHEAD).await?;
        body = Some(client);
    }
    start(request, program, environment, body, true).await
}

/// Starts a command line (SSI `exec cmd`).
pub(super) async fn shell(
    request: &Request,
    command: &[u8],
    directory: &[u8],
    environment: Environment,
) -> Result<Conversation, Error> {
    let (command, directory) = (command.to_vec().into(), directory.to_vec().into());
    start(request, Program::Shell { command, directory }, environment, None, true).await
}

/// Starts a command line that is a filter; `is_counted`: it waits for a place among the site's programs.
pub(super) async fn filter(
    request: &Request,
    command: &[u8],
    environment: Environment,
    body: ClientBody,
    is_counted: bool,
) -> Result<Conversation, Error> {
    let (command, directory) = (command.to_vec().into(), b"/".to_vec().into());
    let program = Program::Shell { command, directory };
    start(request, program, environment, Some(body), is_counted).await
}

async fn start(
    request: &Request,
    program: Program,
    environment: Environment,
    body: Option<ClientBody>,
    is_counted: bool,
) -> Result<Conversation, Error> {
    let env = environment.into_entries().into_iter().map(ByteBuf::from).collect();
    // suexec's checks belong to users that sites were given; Apache makes none without.
    let suexec = request.server.conf.core.assign_user.is_some();
    let no_new_privs = request.server.conf.core.no_new_privileges.unwrap_or_default().holds_for_programs();
    let run = Run { id: 0, program, env, suexec, limits: limits(request), no_new_privs };
    let shared = &request.thread.shared;
    let site = request.thread.site(&request.server);
    let permit = match is_counted {
        true => Some(shared.programs.enter(site.id as usize, bounds(request)).await?),
        false => None,
    };
    let link = site.link().await?;
    let (pipes, ends) = link.standard(body.is_some()).await?;
    let running = link.run(run, ends.into(), permit).await?;
    let timeout = request.resource.dir.cgi.timeout.unwrap_or_else(|| settings::timeout(&request.server));
    Exchange::new(pipes, body, RunningProgram(running), ErrorLines::of(request), timeout)
}

/// Returns the limits of the site's running programs, and of its waiting requests.
fn bounds(request: &Request) -> Bounds {
    let shared = &request.thread.shared;
    let most = programs_of_site(&shared.config, &request.server, shared.site_names.len());
    let queue = pools::settings(&request.server);
    Bounds {
        most: most as usize,
        queue_length: queue.queue_length as usize,
        queue_timeout: Duration::from_secs(queue.queue_timeout.into()),
    }
}

/// `RLimitCPU`, `RLimitMEM`, `RLimitNPROC`, `NiceValue`.
fn limits(request: &Request) -> Limits {
    let pair = |limit: Rlimit| (limit.soft.unwrap_or(u64::MAX), limit.hard.unwrap_or(u64::MAX));
    let core = &request.resource.dir.core;
    Limits {
        cpu: core.rlimit_cpu.map(pair),
        mem: core.rlimit_mem.map(pair),
        nproc: core.rlimit_nproc.map(pair),
        nice: core.nice,
    }
}

/// The client's body.
pub(crate) struct ClientBody {
    body: RequestBody,
    /// Read before the program was started.
    ahead: VecDeque<Bytes>,
    /// Nothing follows that.
    ends: bool,
    kept: Option<RecordedBody>,
}

/// So much of a body is waited for before a program is started, in bytes: a client that sends slowly is to keep no
/// program busy with a small body.
const AHEAD: usize = 8 << 10;

impl ClientBody {
    pub(crate) fn of(body: RequestBody) -> Self {
        Self::new(body, None)
    }

    fn new(body: RequestBody, kept: Option<RecordedBody>) -> Self {
        Self { body, ahead: VecDeque::new(), ends: false, kept }
    }

    /// All of it again, for another reader.
    pub(crate) fn put_back(self) -> RequestBody {
        self.body.behind(&Vec::from(self.ahead))
    }

    /// Returns whether all of it has been read.
    pub(crate) fn has_ended(&self) -> bool {
        self.ends
    }

    /// Returns its length, including the bytes read ahead.
    pub(crate) fn length(&self) -> BodyLength {
        let ahead: usize = self.ahead.iter().map(Bytes::len).sum();
        let rest = if self.ends { Some(0) } else { self.body.length() };
        BodyLength::of(rest.and_then(|rest| rest.checked_add(ahead as u64)))
    }

    /// Reads the beginning, unless that has been done.
    pub(crate) async fn begin_to_read(&mut self) -> Result<(), Error> {
        if self.ahead.is_empty() {
            self.read_ahead(AHEAD).await?;
        }
        Ok(())
    }

    /// Iterates over the bytes read ahead.
    pub(crate) fn ahead(&self) -> impl Iterator<Item = &Bytes> {
        self.ahead.iter()
    }

    /// Reads until there are so many bytes, or no more; how many there are.
    pub(crate) async fn read_ahead(&mut self, most: usize) -> Result<usize, Error> {
        let mut length = 0;
        while length < most && !self.ends {
            match self.body.chunk().await {
                Some(chunk) => {
                    let chunk = chunk.map_err(|error| Error::from(&error))?;
                    length += chunk.len();
                    self.ahead.push_back(chunk);
                }
                None => self.ends = true,
            }
        }
        Ok(length)
    }
}

impl Input for ClientBody {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        let chunk = match self.ahead.pop_front() {
            Some(chunk) => Some(Ok(chunk)),
            None if self.ends => None,
            None => ready!(self.body.poll_chunk(context)),
        };
        if let (Some(kept), Some(Ok(piece))) = (&self.kept, &chunk) {
            kept.borrow_mut().add(piece);
        }
        Poll::Ready(chunk.map(|chunk| chunk.map_err(|error| Error::from(&error))))
    }
}

/// The site's process watches over it.
pub(super) struct RunningProgram(Running);

impl Process for RunningProgram {
    fn poll_exit(&mut self, context: &mut Context<'_>) -> Poll<Option<Exit>> {
        pin!(self.0.exit()).poll(context)
    }

    fn kill(&mut self) {
        self.0.kill();
    }
}

/// Writes a program's error lines to the ErrorLog, also after its request has gone on to be answered.
pub(super) struct ErrorLines {
    /// The facts of the request that log lines need.
    request: Request,
}

impl ErrorLines {
    fn of(request: &Request) -> Self {
        Self { request: request.for_log() }
    }
}

impl Sink for ErrorLines {
    fn line(&mut self, line: &[u8]) {
        log::script_line(&self.request, "cgi", &self.request.resource.filename, line);
    }

    fn rest(&mut self, lines: RestOfLines) {
        let mut own = Self::of(&self.request);
        lines.later(move |line| own.line(line));
    }
}

/// The rest of a program's output, as it comes.
pub(super) struct Output {
    pub(super) conversation: Conversation,
    /// The program's path, for the log.
    pub(super) script: String,
}

impl BodyStream for Output {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let chunk = ready!(self.conversation.poll_chunk(context));
        let broken = |error: Error| BodyError::Script(error.of(&self.script));
        Poll::Ready(chunk.map(|chunk| chunk.map_err(broken)))
    }
}
