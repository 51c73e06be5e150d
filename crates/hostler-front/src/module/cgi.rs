//! CGI programs (mod_cgi): the checks before one is run, and what its answer means. Running it is
//! [`run`]'s, what it is told is [`environment`]'s, programs in SSI pages are [`include`]'s.
//!
//! **Diagnostics**: everything about a program goes to its virtual host's ErrorLog under `cgi`: its own error
//! lines as they come, and for each 5xx one line with the cause and the id that the error page shows.

mod environment;
pub(crate) mod filter;
mod include;
mod record;
mod run;

pub(crate) use environment::{environment, lasting_signature, signature, told};
pub(crate) use include::{ExecOutcome, exec_cgi, exec_cmd};
pub(crate) use run::ClientBody;

use crate::hook::conditional::{self, Condition, Validators};
use crate::hook::registry::{Handler, Module};
use crate::io::body::Body;
use crate::limits::unread::most_gathered;
use crate::log::{self, Severity};
use crate::request::flow::Halt;
use crate::request::reply::Marks;
use crate::request::{FileEntry, Request};
use crate::values::text;
use bytes::Bytes;
use hostler_cgi::{Header, HeaderParser, Limits, NphHeader, Outcome, Progress, Status};
use hostler_config::directives::core::{AcceptPathInfo, OptionBits};
use hostler_gateway::{Error, Kind};
use hostler_http1::head::HTTP_2;
use hostler_techniques::CGI;
use run::Conversation;
use std::time::Duration;

/// A type that means a program by itself (old configurations use AddType).
const CGI_TYPE: &[u8] = b"application/x-httpd-cgi";

pub(crate) static MODULE: Module = Module {
    handlers: &[Handler {
        names: CGI.handlers,
        types: &[CGI_TYPE],
        when: |_| true,
        settles: false,
        run: |request| Box::pin(handle(request)),
    }],
    ..Module::new("cgi", |_| false)
};

/// The most bytes of a response that are gathered so that its length is known before it is sent.
const WHOLE: usize = 64 << 10;
/// The longest delay that this causes for a response that arrives slowly. Most programs end right after their output.
const PATIENCE: Duration = Duration::from_millis(5);

/// Limits of a program's header; the line is Apache's.
pub(crate) const LIMITS: Limits = Limits { line: 8190, block: 1 << 20, lines: 1000 };

/// Runs the request's file as a CGI program and answers with what it says.
pub(crate) async fn handle(request: &mut Request) -> Result<Body, Halt> {
    check(request).await?;
    let kept = record::keep(request);
    match run(request, kept.clone()).await {
        Ok(body) => Ok(body),
        Err(Failure::Halt(halt)) => Err(halt),
        Err(Failure::Error(error)) => {
            record::failed(request, &error, kept.as_ref()).await;
            Err(fail(request, &error).await)
        }
    }
}

/// Why a program's output is not the answer.
enum Failure {
    /// It asks for something else.
    Halt(Halt),
    /// It failed.
    Error(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

async fn run(request: &mut Request, kept: Option<record::RecordedBody>) -> Result<Body, Failure> {
    let environment = environment(request).await;
    let mut program = run::script(request, environment, kept.clone()).await?;
    request.reply.marks.set(Marks::UNRANGED);
    request.reply.marks.set(Marks::AWAITED);
    if !is_nph(request) {
        if let Some(kept) = &kept {
            program.listen(kept.borrow().longest);
        }
        let header = program.header(LIMITS).await;
        if let (Err(_), Some(kept)) = (&header, &kept) {
            kept.borrow_mut().output = program.heard().to_vec();
        }
        let header = header?;
        take_body(request, program.give_input(WHOLE)).await?;
        if !answer(request, header, &mut program).await.map_err(Failure::Halt)? {
            return Ok(Body::Empty);
        }
    } else if request.client.version < HTTP_2 {
        program.first().await?;
        take_body(request, program.give_input(WHOLE)).await?;
        request.reply.marks.set(Marks::RAW);
    } else {
        // HTTP/2 has no raw bytes: the program's status and fields are sent in its way.
        let header = program.nph_header(LIMITS).await?;
        take_body(request, program.give_input(WHOLE)).await?;
        nph_fields(request, header);
    }
    Ok(body(request, program).await)
}

/// Reads a body that has no length to its end, before the response of a program that may have ended without it: it may
/// turn out to be larger than `LimitRequestBody`, or malformed. `given` sends the program what it wants of it.
pub(crate) async fn take_body(
    request: &Request,
    given: impl Future<Output = Result<bool, Error>>,
) -> Result<(), Error> {
    let body = &request.target.body;
    if request.is_part() || body.again().is_some() || body.length().is_some() || !given.await? {
        return Ok(());
    }
    while let Some(chunk) = body.chunk().await {
        chunk.map_err(|error| Error::from(&error))?;
    }
    Ok(())
}

/// The checks of mod_cgi, in its order.
pub(super) async fn check(request: &Request) -> Result<(), Halt> {
    let checked = may_run(request).and_then(|()| match request.is_sub() && is_nph(request) {
        true => Err((403, "attempt to include NPH CGI script")),
        false => is_script(request),
    });
    match checked {
        Ok(()) => Ok(()),
        Err((status, why)) => Err(refuse(request, status, why).await),
    }
}

/// The status that a request gets, and why.
pub(super) type Refusal = (u16, &'static str);

/// Returns whether programs run in this directory, or below a ScriptAlias, whatever handler their names have since.
pub(super) fn may_run(request: &Request) -> Result<(), Refusal> {
    let forced = request.notes.find("alias-forced-type");
    let is_aliased = forced.is_some_and(|forced| forced.eq_ignore_ascii_case(b"cgi-script"));
    if !is_aliased && !request.resource.dir.core.options.contains(OptionBits::EXEC_CGI) {
        return Err((403, "Options ExecCGI is off in this directory"));
    }
    Ok(())
}

/// Returns whether what was asked for is something that could be a program, and may be asked for so.
pub(super) fn is_script(request: &Request) -> Result<(), Refusal> {
    match &request.resource.found {
        FileEntry::Nothing => return Err((404, "script not found or unable to stat")),
        FileEntry::Directory(_) => return Err((403, "attempt to invoke directory as script")),
        FileEntry::File(..) | FileEntry::Other(_) => {}
    }
    let rejects_path_info = request.resource.dir.core.accept_path_info == Some(AcceptPathInfo::Off);
    if rejects_path_info && !request.resource.path_info.is_empty() {
        return Err((404, "AcceptPathInfo off disallows user's path"));
    }
    Ok(())
}

/// Apache's numbers of the reasons (mod_cgi's `log_scripterror`): filters of fail2ban and logwatch know them.
const NUMBERS: [(&str, &str); 4] = [
    ("Options ExecCGI is off in this directory", "AH02809: "),
    ("script not found or unable to stat", "AH02811: "),
    ("attempt to invoke directory as script", "AH02812: "),
    ("AcceptPathInfo off disallows user's path", "AH02813: "),
];

async fn refuse(request: &Request, status: u16, why: &str) -> Halt {
    let number = NUMBERS.iter().find(|(reason, _)| *reason == why).map_or("", |(_, number)| number);
    let script = String::from_utf8_lossy(&request.resource.filename);
    log::request(request, Severity::Error, "cgi", &format!("{number}stderr from {script}: {why}"));
    record::refused(request, status, why).await;
    Halt::Status(status)
}

/// RFC 3875 §5: such a program makes the whole HTTP answer by itself.
fn is_nph(request: &Request) -> bool {
    request.basename().starts_with(b"nph-")
}

/// The program gave no answer: the cause goes to the log. The variables it got are left to an ErrorDocument.
async fn fail(request: &mut Request, error: &Error) -> Halt {
    if error.kind == Kind::QueueFull {
        // There may be very many of these.
        log::failure_soon(request, "cgi", error, &request.resource.filename);
    } else {
        log::failure(request, "cgi", error, &request.resource.filename);
    }
    request.is_refused = matches!(error.kind, Kind::QueueFull | Kind::QueueTimeout);
    if let Some(seconds) = error.retry_after {
        request.reply.headers_out.set("Retry-After", seconds.to_string());
    }
    keep_variables(request).await;
    Halt::Status(error.status())
}

/// Apache gives programs the very table that internal redirects hand on under `REDIRECT_` names.
async fn keep_variables(request: &mut Request) {
    let environment = environment(request).await;
    for (name, value) in environment.iter() {
        request.env.set(name.to_vec(), value.to_vec());
    }
}

/// A program that has said its header.
pub(crate) trait Rest {
    /// Reads the rest of its output and drops it, until it is done.
    async fn discard(&mut self) -> Result<(), Error>;
}

impl Rest for Conversation {
    async fn discard(&mut self) -> Result<(), Error> {
        Conversation::discard(self).await
    }
}

/// Carries out what the header says; true if the program's output is the answer's body.
pub(crate) async fn answer(
    request: &mut Request,
    header: Header,
    program: &mut impl Rest,
) -> Result<bool, Halt> {
    for note in &header.notes {
        let message = format!("{note}: {}", String::from_utf8_lossy(&request.resource.filename));
        log::request(request, Severity::Error, "cgi", &message);
    }
    let local = match header.outcome(request.reply.status) {
        Outcome::Document | Outcome::ClientRedirectWithDocument(_) => None,
        Outcome::LocalRedirect(target) => Some(Some(target.to_vec())),
        Outcome::ClientRedirect(_) => Some(None),
    };
    let condition = apply(request, header);
    if condition == Condition::Met && local.is_none() {
        return Ok(true);
    }
    if let Err(error) = program.discard().await {
        // The answer stands, but whoever maintains the program wants to know.
        log::failure(request, "cgi", &error, &request.resource.filename);
    }
    match (condition, local) {
        (Condition::Failed, _) => {
            // Quirk(apache): a program's tag, other than a file's, does not survive.
            request.reply.headers_out.unset("ETag");
            Err(Halt::Status(412))
        }
        (Condition::Met, Some(Some(target))) => {
            keep_variables(request).await;
            request.reply.headers_out.unset("Location");
            // The body has been read: the next request has none.
            request.target.headers_in.unset("Content-Length");
            Err(Halt::Redirect { method: Bytes::from_static(b"GET"), target })
        }
        (Condition::Met, _) => Err(Halt::Status(302)),
        (Condition::NotModified, _) => {
            request.reply.status = 304;
            Ok(false)
        }
    }
}

/// Takes over status and fields (`ap_scan_script_header`), and asks whether the client has this answer already.
pub(crate) fn apply(request: &mut Request, header: Header) -> Condition {
    let conditional = header.status.is_none() && request.is_get();
    if let Some(Status { code, reason }) = header.status {
        request.reply.status = code;
        request.reply.reason = reason.map(Bytes::from);
    }
    if let Some(content_type) = header.content_type {
        request.resource.content_type = Some(content_type.into());
    }
    let length = header.content_length.filter(|_| request.env.contains("ap_trust_cgilike_cl"));
    let own = [
        ("Location", header.location),
        ("Content-Length", length),
        ("Content-Range", header.content_range),
        ("ETag", header.etag),
    ];
    for (name, value) in own {
        if let Some(value) = value {
            request.reply.headers_out.set(name, value);
        }
    }
    let now = request.client.second();
    if let Some(modified) = header.last_modified {
        let seconds = modified.duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs() as i64);
        let date = text::http_date(seconds.min(now));
        request.reply.headers_out.set("Last-Modified", Bytes::copy_from_slice(&date));
    }
    fields(request, header.fields);
    if !conditional || !(200..300).contains(&request.reply.status) || request.reply.no_cache {
        return Condition::Met;
    }
    let etag = request.reply.headers_out.find("ETag").cloned();
    let modified = request.reply.headers_out.find("Last-Modified").and_then(|value| conditional::date(value));
    conditional::evaluate(request, Validators { etag: etag.as_deref(), modified, now })
}

/// All other fields survive redirects and errors, as in Apache.
fn fields(request: &mut Request, fields: Vec<hostler_cgi::Field>) {
    for (name, value) in fields {
        if name.eq_ignore_ascii_case(b"Set-Cookie") {
            request.reply.err_headers_out.add(name, value);
        } else if is_connections(&name) {
            if value.eq_ignore_ascii_case(b"close") {
                request.notes.set("nokeepalive", Bytes::from_static(b"1"));
            }
        } else {
            request.reply.err_headers_out.merge(name, &Bytes::from(value));
        }
    }
}

/// Fields about the connection (RFC 9110 §7.6.1), which is not the program's.
fn is_connections(name: &[u8]) -> bool {
    const NAMES: [&str; 6] = ["Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Upgrade"];
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

/// Takes over what an `nph-` program says of its answer.
pub(crate) fn nph_fields(request: &mut Request, header: NphHeader) {
    request.reply.status = header.code;
    request.reply.reason = Some(header.reason.into());
    for (name, value) in header.fields {
        let framing =
            name.eq_ignore_ascii_case(b"Transfer-Encoding") || name.eq_ignore_ascii_case(b"Content-Length");
        if name.eq_ignore_ascii_case(b"Content-Type") {
            request.resource.content_type = Some(value.into());
        } else if !framing && !is_connections(&name) {
            request.reply.headers_out.add(name, value);
        }
    }
}

/// The rest of the output: as one piece if it comes at once, else as it comes.
async fn body(request: &Request, mut program: Conversation) -> Body {
    if !program.gather(most_gathered(request, WHOLE), PATIENCE).await {
        let script = String::from_utf8_lossy(&request.resource.filename).into_owned();
        return Body::Stream(Box::new(run::Output { conversation: program, script }));
    }
    let whole = program.whole();
    if whole.is_empty() { Body::Empty } else { Body::Bytes(whole) }
}

/// mod_asis: `text` is a whole answer in a file, with a header like a program's.
pub(crate) async fn static_answer(request: &mut Request, text: &Bytes) -> Result<Body, Halt> {
    let mut parser = HeaderParser::new(LIMITS);
    let body = match parser.parse(text) {
        Progress::Complete { consumed } => text.slice(consumed..),
        progress => {
            let error = if let Progress::Failed(error) = progress { error } else { parser.ended() };
            return Err(refuse(request, 500, &error.to_string()).await);
        }
    };
    let mut header = parser.into_header();
    let code = header.status.as_ref().map_or(request.reply.status, |status| status.code);
    if let Some(target) = header.location.take_if(|l| l.starts_with(b"/") && matches!(code, 200 | 300..400)) {
        header.status = None;
        apply(request, header);
        return Err(Halt::Redirect { method: Bytes::from_static(b"GET"), target });
    }
    match apply(request, header) {
        Condition::Met => Ok(Body::Bytes(body)),
        Condition::Failed => Err(Halt::Status(412)),
        Condition::NotModified => {
            request.reply.status = 304;
            Ok(Body::Empty)
        }
    }
}
