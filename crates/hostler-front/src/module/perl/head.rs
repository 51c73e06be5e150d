//! A request as a worker is told of it. No CGI environment is made here: an engine makes what its programs look at.

use super::directory;
use super::directory::{Known, Programs};
use super::nested::Within;
use crate::request::id;
use crate::request::{Found, Origin, Request};
use crate::request::{settings, variables};
use crate::values::table::Table;
use crate::values::{status, text};
use hostler_http1::head::HTTP_2;
use hostler_perl_frames::{Nested, PhaseSet, RequestHead, Role, ToPerl};
use hostler_wire::site::{FileInfo, FileKind};
use hostler_wire::work::{self, Fields, FileFacts, request_flag};
use std::time::UNIX_EPOCH;

/// What has to be made for a head, which only borrows.
pub(super) struct Texts {
    remote: String,
    local: String,
    server_name: Vec<u8>,
    log_id: String,
    redirect: Option<(Vec<u8>, Option<Vec<u8>>)>,
    translated: Option<Vec<u8>>,
    /// Of an answer that has been sent.
    status_line: Option<Vec<u8>>,
}

impl Texts {
    pub(super) fn of(request: &Request, translated: Option<Vec<u8>>) -> Self {
        let redirect =
            request.prev.as_ref().map(|prev| (prev.uri.clone(), prev.args.as_deref().map(<[u8]>::to_vec)));
        Self {
            remote: request.peer.remote.ip().to_string(),
            local: request.peer.local.ip().to_string(),
            server_name: variables::server_name(request),
            log_id: id::id_of(request.number),
            redirect,
            translated,
            status_line: request.sent.map(|_| status_line(request)),
        }
    }
}

fn status_line(request: &Request) -> Vec<u8> {
    let mut line = text::decimal(u64::from(request.status)).as_bytes().to_vec();
    line.push(b' ');
    line.extend_from_slice(request.reason.as_deref().unwrap_or(status::reason(request.status).as_bytes()));
    line
}

/// What a worker is to do; by default nothing, when it is only told of a request.
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
}

/// The request's head.
pub(super) fn head<'a>(
    request: &'a Request,
    texts: &'a Texts,
    known: &Known,
    task: &Task<'a>,
) -> RequestHead<'a> {
    let root = settings::document_root(&request.server).as_bytes();
    let common = work::RequestHead {
        flags: flags(request, task),
        directory: known.id,
        number: request.number,
        server: request.thread.shared.engines.place(&request.server, super::engine(request)),
        time: request.received.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64),
        protocol: request.version,
        remote_port: request.peer.remote.port(),
        local_port: request.peer.local.port(),
        server_port: variables::server_port(request),
        method: &request.method,
        the_request: &request.line,
        uri: &request.uri,
        unparsed_uri: &request.target,
        args: request.args.as_deref(),
        filename: &request.filename,
        path_info: &request.path_info,
        hostname: request.hostname.as_deref(),
        server_name: &texts.server_name,
        remote_ip: texts.remote.as_bytes(),
        local_ip: texts.local.as_bytes(),
        user: request.user.as_deref(),
        ap_auth_type: request.auth_type.as_deref(),
        handler: task.handler.or(request.handler.as_deref()),
        content_type: request.content_type.as_deref(),
        content_encoding: request.content_encoding.as_deref(),
        context_prefix: &request.context_prefix,
        context_document_root: request.context_document_root.as_deref().unwrap_or(root),
        path_translated: texts.translated.as_deref(),
        redirect_url: texts.redirect.as_ref().map(|(url, _)| url.as_slice()),
        redirect_query: texts.redirect.as_ref().and_then(|(_, query)| query.as_deref()),
        log_id: texts.log_id.as_bytes(),
        finfo: facts(&request.found),
        headers_in: fields(&request.headers_in),
        subprocess_env: fields(&request.env),
        own: b"",
    };
    RequestHead {
        common,
        phases: task.phases,
        status: request.status,
        status_line: texts.status_line.as_deref(),
        bytes_sent: request.sent.unwrap_or(0),
        provider: task.provider,
        headers_out: fields(&request.headers_out),
        err_headers_out: fields(&request.err_headers_out),
        notes: fields(&request.notes),
    }
}

/// The encoded message that begins a request.
pub(super) fn encoded(head: &RequestHead<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    head.encode_request(&mut out);
    out
}

/// The same, of one inside of a conversation (`within`), or that others belong to.
pub(super) fn encoded_with(head: RequestHead<'_>, request: &Request, within: Option<&Within>) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    if let Some(&Within { id, main, prev, .. }) = within {
        ToPerl::Nested(Box::new(Nested { id, main, prev, head })).encode(&mut out);
        return out;
    }
    let (main, prev, next) = (request.main.as_deref(), request.prev.as_deref(), request.next.as_deref());
    for (role, related) in [(Role::Main, main), (Role::Prev, prev), (Role::Next, next)] {
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

fn fields(table: &Table) -> Fields<'_> {
    table.iter().map(|(name, value)| (&**name, &**value)).collect()
}

fn flags(request: &Request, task: &Task<'_>) -> u32 {
    let facts = [
        (request.peer.tls.is_some(), request_flag::TLS),
        (request.is_head(), request_flag::HEAD_ONLY),
        (is_redirected(request), request_flag::REDIRECTED),
        (request.is_part(), request_flag::SUBREQUEST),
        (task.body, request_flag::BODY),
        (task.asks_body, request_flag::BODY_ASKED),
        (task.stays, request_flag::STAYS),
        (request.peer.may_continue(), request_flag::KEEP_ALIVE),
        (request.version == HTTP_2, request_flag::HTTP_2),
        (request.no_cache, request_flag::NO_CACHE),
        (request.server.conf.core.assign_user.is_some(), request_flag::SUEXEC),
    ];
    facts.into_iter().filter(|(holds, _)| *holds).fold(0, |flags, (_, flag)| flags | flag)
}

fn is_redirected(request: &Request) -> bool {
    request.prev.is_some() || (request.origin == Origin::Redirect && !request.is_part())
}

/// What stands at the file name.
fn facts(found: &Found) -> FileFacts {
    found.info().map_or_else(FileFacts::default, of_info)
}

fn of_info(info: &FileInfo) -> FileFacts {
    let kind = match info.kind {
        FileKind::Regular => 1,
        FileKind::Directory => 2,
        FileKind::Symlink | FileKind::Other => 3,
    };
    let seconds = |time: i64| u64::try_from(time).unwrap_or(0);
    FileFacts {
        kind,
        mode: info.mode,
        uid: info.uid,
        gid: info.gid,
        size: info.size,
        dev: info.dev,
        ino: info.ino,
        nlink: info.nlink,
        mtime: seconds(info.mtime),
        mtime_nsec: info.mtime_nsec,
        ctime: seconds(info.ctime),
        atime: seconds(info.atime),
    }
}
