//! Running a program: the site's process starts it, its pipes are spoken to from here.

use super::record::Kept;
use crate::body::{BodyError, BodyStream, RequestBody};
use crate::log;
use crate::request::Request;
use crate::settings;
use crate::site::Running;
use bytes::Bytes;
use hostler_cgi::Environment;
use hostler_config::directives::core::Rlimit;
use hostler_gateway::Error;
use hostler_gateway::backend::cgi::{Exchange, Input, Pipes, Process, Sink};
use hostler_wire::site::{Exit, Limits, Program, Run};
use serde_bytes::ByteBuf;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, ready};

/// A program that is being spoken to.
pub(super) type Conversation = Exchange<ClientBody, Started, ErrorLines>;

/// Starts the request's file.
pub(super) async fn script(
    request: &Request,
    environment: Environment,
    kept: Option<Kept>,
) -> Result<Conversation, Error> {
    let args = hostler_cgi::arguments(request.args.as_deref().unwrap_or_default());
    let args = args.into_iter().map(ByteBuf::from).collect();
    let program = Program::Script { path: request.filename.clone().into(), args };
    let body = Some(request.body.clone()).filter(|body| !body.is_empty());
    let body = body.map(|body| ClientBody { body, kept });
    start(request, program, environment, body).await
}

/// Starts a command line (SSI `exec cmd`).
pub(super) async fn shell(
    request: &Request,
    command: &[u8],
    directory: &[u8],
    environment: Environment,
) -> Result<Conversation, Error> {
    let (command, directory) = (command.to_vec().into(), directory.to_vec().into());
    start(request, Program::Shell { command, directory }, environment, None).await
}

async fn start(
    request: &Request,
    program: Program,
    environment: Environment,
    body: Option<ClientBody>,
) -> Result<Conversation, Error> {
    let env = environment.into_entries().into_iter().map(ByteBuf::from).collect();
    // suexec's checks belong to users that sites were given; Apache makes none without.
    let suexec = request.server.conf.core.assign_user.is_some();
    let run = Run { id: 0, program, env, suexec, limits: limits(request) };
    let site = request.thread.site(&request.server);
    let link = site.link().await?;
    let (pipes, ends) = Pipes::open(body.is_some())?;
    let running = link.run(run, ends.into()).await?;
    let timeout = request.dir.cgi.timeout.unwrap_or_else(|| settings::timeout(&request.server));
    Exchange::new(pipes, body, Started(running), ErrorLines::of(request), timeout)
}

/// `RLimitCPU`, `RLimitMEM`, `RLimitNPROC`.
fn limits(request: &Request) -> Limits {
    let pair = |limit: Rlimit| (limit.soft.unwrap_or(u64::MAX), limit.hard.unwrap_or(u64::MAX));
    let core = &request.dir.core;
    Limits {
        cpu: core.rlimit_cpu.map(pair),
        mem: core.rlimit_mem.map(pair),
        nproc: core.rlimit_nproc.map(pair),
    }
}

/// What the client sends.
pub(super) struct ClientBody {
    body: RequestBody,
    kept: Option<Kept>,
}

impl Input for ClientBody {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        let chunk = ready!(self.body.poll_chunk(context));
        if let (Some(kept), Some(Ok(piece))) = (&self.kept, &chunk) {
            kept.borrow_mut().add(piece);
        }
        Poll::Ready(chunk.map(|chunk| chunk.map_err(|error| Error::from(&error))))
    }
}

/// The site's process watches over it.
pub(super) struct Started(Running);

impl Process for Started {
    fn poll_exit(&mut self, context: &mut Context<'_>) -> Poll<Option<Exit>> {
        pin!(self.0.exit()).poll(context)
    }

    fn kill(&mut self) {
        self.0.kill();
    }
}

/// Writes a program's error lines to the ErrorLog, also after its request has gone on to be answered.
pub(super) struct ErrorLines {
    /// What the log's lines need of the request, and nothing else of it.
    request: Request,
}

impl ErrorLines {
    fn of(request: &Request) -> Self {
        Self { request: request.for_log() }
    }
}

impl Sink for ErrorLines {
    fn line(&mut self, line: &[u8]) {
        log::script_line(&self.request, "cgi", &self.request.filename, line);
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
