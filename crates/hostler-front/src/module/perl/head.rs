//! A request as a worker is told of it. No CGI environment is made here: an engine makes what its programs look at.

use super::directory;
use super::directory::Programs;
use super::nested::Within;
use crate::request::Request;
use crate::technique::directories::EncodedSettings;
use crate::technique::head;
use crate::technique::head::fields;
use crate::values::{status, text};
use hostler_perl_frames::{Nested, PhaseSet, RequestHead, Role, ToPerl};
use hostler_wire::work::request_flag;

/// Values made for a head, which only borrows.
pub(super) struct Texts {
    pub(super) common: head::Texts,
    /// Of an answer that has been sent.
    status_line: Option<Vec<u8>>,
}

impl Texts {
    pub(super) fn of(request: &Request, translated: Option<Vec<u8>>) -> Self {
        let status_line = request.reply.sent.map(|_| status_line(request));
        Self { common: head::Texts::of(request, translated), status_line }
    }
}

fn status_line(request: &Request) -> Vec<u8> {
    let mut line = text::decimal(u64::from(request.reply.status)).as_bytes().to_vec();
    line.push(b' ');
    line.extend_from_slice(
        request.reply.reason.as_deref().unwrap_or(status::reason(request.reply.status).as_bytes()),
    );
    line
}

/// A worker's task; by default none, when it is only informed of a request.
#[derive(Clone, Copy, Default)]
pub(super) struct Task<'a> {
    pub(super) phases: PhaseSet,
    /// The handler's name, where it is not the request's own.
    pub(super) handler: Option<&'static [u8]>,
    /// The request's body follows.
    pub(super) body: bool,
    /// There is one, of which pieces may be asked for.
    pub(super) asks_body: bool,
    /// A provider to ask, in place of phases.
    pub(super) provider: Option<&'a [u8]>,
    /// The worker keeps the request for a further trip.
    pub(super) stays: bool,
    /// It keeps one that comes to an error, which may go on as the request for its document.
    pub(super) errors_stay: bool,
}

/// The request's head.
pub(super) fn head<'a>(
    request: &'a Request,
    texts: &'a Texts,
    known: &EncodedSettings,
    task: &Task<'a>,
) -> RequestHead<'a> {
    let flags = flags(request, task);
    let common = head::common(request, super::engine(request), &texts.common, known.id, flags, task.handler);
    RequestHead {
        common,
        phases: task.phases,
        status: request.reply.status,
        status_line: texts.status_line.as_deref(),
        bytes_sent: request.reply.sent.unwrap_or(0),
        provider: task.provider,
        headers_out: fields(&request.reply.headers_out),
        err_headers_out: fields(&request.reply.err_headers_out),
        notes: fields(&request.notes),
    }
}

/// The head of a request that takes the fast path: what is its own is in `common`, the rest as in the one remembered.
pub(super) fn alike<'a>(
    remembered: &'a Request,
    common: hostler_wire::work::RequestHead<'a>,
    phases: PhaseSet,
) -> RequestHead<'a> {
    RequestHead {
        common,
        phases,
        status: remembered.reply.status,
        status_line: None,
        bytes_sent: 0,
        provider: None,
        headers_out: fields(&remembered.reply.headers_out),
        err_headers_out: fields(&remembered.reply.err_headers_out),
        notes: fields(&remembered.notes),
    }
}

/// The encoded message that begins a request.
pub(super) fn encoded(head: &RequestHead<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    head.encode_request(&mut out);
    out
}

/// The same, of one inside of a conversation (`within`), or that others belong to; `instead`: it goes to the worker that
/// has kept the request in whose place it goes on.
pub(super) fn encoded_with(
    head: RequestHead<'_>,
    request: &Request,
    within: Option<&Within>,
    instead: bool,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    if let Some(&Within { id, main, prev, .. }) = within {
        ToPerl::Nested(Box::new(Nested { id, main, prev, head })).encode(&mut out);
        return out;
    }
    let (main, prev, next) = (request.main.as_deref(), request.prev.as_deref(), request.next.as_deref());
    let before = if instead { Role::Stayed } else { Role::Prev };
    for (role, related) in [(Role::Main, main), (before, prev), (Role::Next, next)] {
        if let Some(related) = related {
            encode_related(related, role, &mut out);
        }
    }
    head.encode_request(&mut out);
    out
}

/// Its configuration is of no use any more: it is told as having that of the request that goes on.
fn encode_related(related: &Request, role: Role, out: &mut Vec<u8>) {
    let known = directory::known(related, Programs::Configured);
    let texts = Texts::of(related, None);
    let head = Box::new(head(related, &texts, &known, &Task::default()));
    ToPerl::Related { role, head }.encode(out);
}

fn flags(request: &Request, task: &Task<'_>) -> u32 {
    let facts = [
        (task.body, request_flag::BODY),
        (task.asks_body, request_flag::BODY_ASKED),
        (task.stays, request_flag::STAYS),
        (task.errors_stay, request_flag::ERRORS_STAY),
    ];
    let own = facts.into_iter().filter(|(holds, _)| *holds).fold(0, |flags, (_, flag)| flags | flag);
    head::flags(request) | own
}
