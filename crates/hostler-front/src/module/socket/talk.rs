//! A request to a program at a socket, and its answer back.

use crate::hook::conditional::Condition;
use crate::io::body::{Body, BodyError, BodyStream, RequestBody};
use crate::limits::unread::most_gathered;
use crate::log::{self, Severity};
use crate::module::cgi::{self, ClientBody};
use crate::request::Request;
use crate::request::flow::Halt;
use crate::request::reply::Marks;
use crate::technique::fast::Begun;
use crate::technique::sockets::Sockets;
use crate::technique::sockets::Target;
use bytes::Bytes;
use hostler_cgi::{Environment, Header};
use hostler_gateway::backend::OnAbandon;
use hostler_gateway::backend::body::BodyLength;
use hostler_gateway::backend::cgi::Sink;
use hostler_gateway::backend::stream::{Keep, Pool, Program, Role, Variables, Work};
use hostler_gateway::{Error, Kind};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The most bytes of a response that are gathered so that its length is known before it is sent.
const WHOLE: usize = 64 << 10;
/// The longest delay that this causes for a response that arrives slowly. Most programs end right after their output.
pub(super) const PATIENCE: Duration = Duration::from_millis(5);
/// Most of a body without a length that is kept until it has one: programs ask for it.
const MEASURED: usize = 256 << 10;

/// The request to a pool.
pub(crate) struct Ask {
    pub(crate) target: Arc<Target>,
    pub(crate) environment: Environment,
    pub(crate) keep: Keep,
    /// The role that the program is asked for.
    pub(crate) role: Role,
    /// The file that a program is to filter ([`Role::Filter`]).
    pub(crate) file: Option<RequestBody>,
    /// The longest time the program may neither read nor write when it is its turn.
    pub(crate) timeout: Duration,
    /// The module named in its log lines.
    pub(crate) module: &'static str,
    /// The meaning of a response's `Location`.
    pub(crate) redirects: Redirects,
    /// Statuses of failures, where they are not the usual ones.
    pub(crate) status: fn(&Error) -> u16,
}

/// The meaning of a response's `Location`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Redirects {
    /// A field like any other: what status goes with it the program says (mod_proxy_fcgi).
    Program,
    /// As of CGI programs (RFC 3875 §6.2).
    Cgi,
}

/// By a pointer: it goes through several functions, each of whose futures would else have room for it.
type Conversation<P> = Box<Program<P, ClientBody, ErrorLines>>;

/// Why a program has given no answer.
pub(crate) enum NoAnswer {
    /// It could not be connected to: another one may. The status is the one for that.
    NotConnected(Error, u16),
    /// The answer to the client.
    Halt(Halt),
}

impl NoAnswer {
    /// The answer where there is no other program.
    pub(crate) fn halt(self, request: &mut Request, module: &str) -> Halt {
        match self {
            Self::NotConnected(error, status) => fail(request, module, &error, status),
            Self::Halt(halt) => halt,
        }
    }
}

impl From<Halt> for NoAnswer {
    fn from(halt: Halt) -> Self {
        Self::Halt(halt)
    }
}

/// Has the program answer.
pub(crate) async fn respond<P: Variables>(request: &mut Request, ask: Ask) -> Result<Body, Halt> {
    let module = ask.module;
    let answered = attempt::<P>(request, ask, &mut None).await;
    answered.map_err(|missed| missed.halt(request, module))
}

/// Asks a program something of our own, and returns the header of its answer; what it says beyond that nobody sees.
pub(crate) async fn consult<P: Variables>(request: &mut Request, ask: Ask) -> Result<Header, Error> {
    let module = ask.module;
    let (mut program, again) = begin::<P>(request, ask, &mut None).await?;
    let mut header = program.header(cgi::LIMITS).await;
    if let (Err(Error { retry: true, .. }), Some(again)) = (&header, again) {
        program = again.begin(request, module).await?;
        header = program.header(cgi::LIMITS).await;
    }
    let header = header?;
    program.discard().await?;
    Ok(header)
}

/// The same, where another program may be asked instead. `client`: what has been read of the request's body, for it.
pub(crate) async fn attempt<P: Variables>(
    request: &mut Request,
    ask: Ask,
    client: &mut Option<ClientBody>,
) -> Result<Body, NoAnswer> {
    let (module, status) = (ask.module, ask.status);
    request.reply.marks.set(Marks::UNRANGED);
    let redirects = ask.redirects;
    match begin::<P>(request, ask, client).await {
        Ok(begun) => converse(request, begun, (module, status), redirects).await,
        Err(error) if error.kind.is_unconnected() => {
            let status = status(&error);
            Err(NoAnswer::NotConnected(error, status))
        }
        Err(error) => Err(NoAnswer::Halt(fail(request, module, &error, status(&error)))),
    }
}

async fn converse<P: Variables>(
    request: &mut Request,
    (mut program, again): Start<P>,
    (module, status): (&'static str, fn(&Error) -> u16),
    redirects: Redirects,
) -> Result<Body, NoAnswer> {
    if P::IS_HTTP {
        return match program.http_header(cgi::LIMITS).await {
            Ok(header) => {
                cgi::nph_fields(request, header);
                Ok(body(request, program).await)
            }
            Err(error) => {
                // As Apache has it: the answer is no answer at all.
                let status = if error.kind == Kind::Timeout { 504 } else { 502 };
                Err(fail(request, module, &error, status).into())
            }
        };
    }
    let mut header = program.header(cgi::LIMITS).await;
    if let (Err(Error { retry: true, .. }), Some(again)) = (&header, again) {
        program = match again.begin(request, module).await {
            Ok(program) => program,
            Err(error) if error.kind.is_unconnected() => {
                let status = status(&error);
                return Err(NoAnswer::NotConnected(error, status));
            }
            Err(error) => return Err(fail(request, module, &error, status(&error)).into()),
        };
        header = program.header(cgi::LIMITS).await;
    }
    if let (Redirects::Cgi, Ok(_)) = (redirects, &header)
        && let Err(error) = cgi::take_body(request, program.give_input(WHOLE)).await
    {
        header = Err(error);
    }
    match header {
        Ok(header) => Ok(answer(request, program, header, redirects, module).await?),
        Err(error) => Err(fail(request, module, &error, status(&error)).into()),
    }
}

/// A request without a body, as the fast path sends it.
pub(crate) fn short_work<P: Variables>(
    request: &Request,
    environment: &Environment,
    keep: Keep,
    timeout: Duration,
) -> Result<Work<P::Ask>, Error> {
    if environment.value("CONTENT_LENGTH").is_some_and(|length| length != b"0") {
        // There is no body; the slow path says so.
        return Err(Error::new(Kind::ClientMalformed));
    }
    let mut head = Vec::with_capacity(4096);
    P::begin(&mut environment.iter(), keep, Role::Responder, &mut head)?;
    let ask = P::ask(keep, None);
    P::body_end(&mut P::answer(&ask), &mut head);
    let (thread, head) = (request.thread.index, head.into());
    let on_abandon = OnAbandon::TakeBackOrKill(timeout);
    Ok(Work { thread, head, has_body: false, timeout, on_abandon, ask })
}

/// Goes on with one that the fast path has begun: `None`, it is to be sent once more.
pub(crate) async fn go_on<P: Variables>(
    request: &mut Request,
    begun: Begun<P>,
    (module, status): (&'static str, fn(&Error) -> u16),
    redirects: Redirects,
) -> Option<Result<Body, NoAnswer>> {
    let Begun { exchange, said } = begun;
    if matches!(said.first(), Some(Err(Error { retry: true, .. }))) {
        return None;
    }
    request.reply.marks.set(Marks::UNRANGED);
    let program = Program::resumed(exchange, said, ErrorLines { request: request.for_log(), module });
    Some(converse(request, (Box::new(program), None), (module, status), redirects).await)
}

/// A request that may be sent once more.
struct Again<P: Variables> {
    pool: Arc<Pool<P>>,
    work: Work<P::Ask>,
}

impl<P: Variables> Again<P> {
    async fn begin(self, request: &Request, module: &'static str) -> Result<Conversation<P>, Error> {
        let exchange = self.pool.begin(self.work).await?;
        Ok(Box::new(Program::new(exchange, None, ErrorLines { request: request.for_log(), module })))
    }
}

/// The result of [`begin`].
type Start<P> = (Conversation<P>, Option<Again<P>>);

async fn begin<P: Variables>(
    request: &mut Request,
    ask: Ask,
    client: &mut Option<ClientBody>,
) -> Result<Start<P>, Error> {
    let Ask { target, mut environment, keep, role, file, timeout, module, .. } = ask;
    // Only who answers is given the body.
    if role != Role::Authorizer {
        if !request.target.body.is_empty() {
            client.get_or_insert_with(|| ClientBody::of(request.target.body.clone()));
        }
        // How long the request's own body is must be known where something follows it.
        let is_framed = P::FRAMES_BODY && role != Role::Filter;
        announce(client.as_mut(), is_framed, &mut environment).await?;
    }
    let mut head = Vec::with_capacity(4096);
    P::begin(&mut environment.iter(), keep, role, &mut head)?;
    let own = file.as_ref().map(|_| length(&environment));
    if let Some(file) = file {
        let own = client.take().map_or(RequestBody::Empty, ClientBody::put_back);
        *client = Some(ClientBody::of(own.then(file)));
    }
    let (what, mut told) = (P::ask(keep, own), P::answer(&P::ask(keep, own)));
    let has_rest = client.as_ref().is_some_and(|client| !client.has_ended());
    if !has_rest {
        // All of it is there: one piece with the rest.
        let pieces = client.iter().flat_map(ClientBody::ahead);
        pieces.for_each(|piece| P::body(&mut told, piece, &mut head));
        P::body_end(&mut told, &mut head);
    }
    let work = Work {
        thread: request.thread.index,
        head: head.into(),
        has_body: has_rest,
        timeout,
        on_abandon: OnAbandon::TakeBackOrKill(timeout),
        ask: what,
    };
    let pool = request.thread.shared.of::<Sockets>().pool::<P>(&request.thread, &request.server, &target)?;
    // What has been asked for once may have been done (RFC 9110 §9.2.2).
    let may_repeat = !has_rest && matches!(&request.target.method[..], b"GET" | b"HEAD");
    let again = may_repeat.then(|| Again { pool: pool.clone(), work: work.clone() });
    let exchange = pool.begin(work).await?;
    let rest = client.take().filter(|_| has_rest);
    let program = Program::new(exchange, rest, ErrorLines { request: request.for_log(), module });
    Ok((Box::new(program), again))
}

/// Returns the length of the request's own body, which is known by now.
fn length(environment: &Environment) -> u64 {
    environment.value("CONTENT_LENGTH").and_then(hostler_http1::framing::decimal).unwrap_or(0)
}

/// Says in the variables how long the body is, which is what is sent, and reads its beginning: a client that sends slowly is
/// to keep no program busy with a small one. One without a length is read whole, for the program wants to know it.
/// `is_framed`: the protocol says by itself where the body ends.
async fn announce(
    client: Option<&mut ClientBody>,
    is_framed: bool,
    environment: &mut Environment,
) -> Result<(), Error> {
    let said = environment.value("CONTENT_LENGTH").map(<[u8]>::to_vec);
    // What came in chunks has no length but that of the configuration.
    let is_measured = !is_framed || said.is_none() || environment.value("HTTP_TRANSFER_ENCODING").is_some();
    match (client.as_ref().map_or(BodyLength::Nothing, |client| client.length()), client) {
        (BodyLength::Unknown, Some(client)) if is_measured => measure(client, environment).await,
        // Quirk(apache): behind input filters programs are told what the client has said.
        (BodyLength::Unknown, Some(client)) => client.begin_to_read().await,
        (BodyLength::Known(length), Some(client)) => {
            environment.set("CONTENT_LENGTH", length.to_string());
            client.begin_to_read().await
        }
        _ => {
            if said.is_some_and(|said| said != b"0") {
                environment.set("CONTENT_LENGTH", "0");
            }
            Ok(())
        }
    }
}

/// Reads a body whole that has no length, and says how long it is.
async fn measure(client: &mut ClientBody, environment: &mut Environment) -> Result<(), Error> {
    client.read_ahead(MEASURED).await?;
    let length: usize = client.ahead().map(Bytes::len).sum();
    if !client.has_ended() {
        let why = format!("it has no length, and more than {MEASURED} bytes");
        return Err(Error::because(Kind::ClientTooLarge, why));
    }
    environment.set("CONTENT_LENGTH", length.to_string());
    environment.unset("HTTP_TRANSFER_ENCODING");
    Ok(())
}

async fn answer<P: Variables>(
    request: &mut Request,
    mut program: Conversation<P>,
    header: Header,
    redirects: Redirects,
    module: &'static str,
) -> Result<Body, Halt> {
    if redirects == Redirects::Cgi {
        if !cgi::answer(request, header, &mut program).await? {
            return Ok(Body::Empty);
        }
        return Ok(body(request, program).await);
    }
    for note in &header.notes {
        let message = format!("{note}: {}", String::from_utf8_lossy(&request.resource.filename));
        log::request(request, Severity::Error, module, &message);
    }
    match cgi::apply(request, header) {
        Condition::Met => Ok(body(request, program).await),
        Condition::Failed => Err(Halt::Status(412)),
        Condition::NotModified => {
            request.reply.status = 304;
            Ok(Body::Empty)
        }
    }
}

/// The rest of the output: as one piece if it comes at once, else as it comes.
async fn body<P: Variables>(request: &Request, mut program: Conversation<P>) -> Body {
    if !program.gather(most_gathered(request, WHOLE), PATIENCE).await {
        let script = String::from_utf8_lossy(&request.resource.filename).into_owned();
        return Body::Stream(Box::new(Output { program, script }));
    }
    let whole = program.whole();
    if whole.is_empty() { Body::Empty } else { Body::Bytes(whole) }
}

impl<P: Variables> cgi::Rest for Conversation<P> {
    async fn discard(&mut self) -> Result<(), Error> {
        Program::discard(self).await
    }
}

/// The program gave no answer: the cause goes to the log.
pub(crate) fn fail(request: &mut Request, module: &str, error: &Error, status: u16) -> Halt {
    if error.kind == Kind::QueueFull || error.kind.is_unconnected() {
        // There may be very many of these.
        log::failure_soon(request, module, error, &request.resource.filename);
    } else {
        log::failure(request, module, error, &request.resource.filename);
    }
    request.is_refused = matches!(error.kind, Kind::QueueFull | Kind::QueueTimeout);
    if let Some(seconds) = error.retry_after {
        request.reply.headers_out.set("Retry-After", seconds.to_string());
    }
    Halt::Status(status)
}

/// Writes a program's lines to the ErrorLog.
struct ErrorLines {
    /// The facts of the request that log lines need.
    request: Request,
    module: &'static str,
}

impl Sink for ErrorLines {
    fn line(&mut self, line: &[u8]) {
        log::script_line(&self.request, self.module, &self.request.resource.filename, line);
    }
}

/// The rest of a program's output, as it comes.
struct Output<P: Variables> {
    program: Conversation<P>,
    /// The program's path, for the log.
    script: String,
}

impl<P: Variables> BodyStream for Output<P> {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let chunk = ready!(self.program.poll_chunk(context));
        let broken = |error: Error| BodyError::Script(error.of(&self.script));
        Poll::Ready(chunk.map(|chunk| chunk.map_err(broken)))
    }
}
