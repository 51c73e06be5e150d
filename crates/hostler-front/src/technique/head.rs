//! A request as a worker is told of it. No CGI environment is made here: an engine makes what its programs look at.

use crate::request::id;
use crate::request::{FileEntry, Origin, Request};
use crate::request::{settings, variables};
use crate::technique::pools::Engines;
use crate::values::table::Table;
use hostler_config::technique::Engine;
use hostler_http1::head::HTTP_2;
use hostler_wire::site::{FileInfo, FileKind};
use hostler_wire::work::{Fields, FileFacts, RequestHead, request_flag};
use std::time::UNIX_EPOCH;

/// Values made for a head, which only borrows.
pub(crate) struct Texts {
    remote: String,
    local: String,
    server_name: Vec<u8>,
    log_id: String,
    redirect: Option<(Vec<u8>, Option<Vec<u8>>)>,
    translated: Option<Vec<u8>>,
    languages: Option<Vec<u8>>,
}

impl Texts {
    /// `translated`: `PATH_TRANSLATED`.
    pub(crate) fn of(request: &Request, translated: Option<Vec<u8>>) -> Self {
        let redirect = request
            .prev
            .as_ref()
            .map(|prev| (prev.target.uri.clone(), prev.target.args.as_deref().map(<[u8]>::to_vec)));
        let languages = &request.resource.content_languages;
        Self {
            remote: request.client.peer.remote.ip().to_string(),
            local: request.client.peer.local.ip().to_string(),
            server_name: variables::server_name(request),
            log_id: id::id_of(request.number),
            redirect,
            translated,
            languages: (!languages.is_empty()).then(|| languages.join(&b","[..])),
        }
    }
}

/// The request's head, as far as it is the same for all engines. `directory`: the number of the configuration; `handler`:
/// its name, where that is not the request's own.
pub(crate) fn common<'a>(
    request: &'a Request,
    engine: &Engine,
    texts: &'a Texts,
    directory: u32,
    flags: u32,
    handler: Option<&'static [u8]>,
) -> RequestHead<'a> {
    let root = settings::root_of(request);
    RequestHead {
        flags,
        directory,
        number: request.number,
        connection: request.client.peer.id,
        keepalives: request.client.peer.requests.get(),
        server: request.thread.shared.of::<Engines>().place(&request.server, engine),
        time: request.client.received.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64),
        protocol: request.client.version,
        remote_port: request.client.peer.remote.port(),
        local_port: request.client.peer.local.port(),
        server_port: variables::server_port(request),
        method: &request.target.method,
        the_request: &request.client.line,
        uri: &request.target.uri,
        unparsed_uri: &request.client.target,
        args: request.target.args.as_deref(),
        filename: &request.resource.filename,
        path_info: &request.resource.path_info,
        hostname: request.client.hostname.as_deref(),
        server_name: &texts.server_name,
        remote_ip: texts.remote.as_bytes(),
        local_ip: texts.local.as_bytes(),
        user: request.user.as_deref(),
        ap_auth_type: request.auth_type.as_deref(),
        handler: handler.or(request.resource.handler.as_deref()),
        content_type: request.resource.content_type.as_deref(),
        content_encoding: request.resource.content_encoding.as_deref(),
        content_languages: texts.languages.as_deref(),
        context_prefix: &request.resource.context_prefix,
        context_document_root: request.resource.context_document_root.as_deref().unwrap_or(root),
        path_translated: texts.translated.as_deref(),
        redirect_url: texts.redirect.as_ref().map(|(url, _)| url.as_slice()),
        redirect_query: texts.redirect.as_ref().and_then(|(_, query)| query.as_deref()),
        log_id: texts.log_id.as_bytes(),
        finfo: facts(&request.resource.found),
        headers_in: fields(&request.target.headers_in),
        subprocess_env: fields(&request.env),
        own: b"",
    }
}

/// A table's fields.
pub(crate) fn fields(table: &Table) -> Fields<'_> {
    table.iter().map(|(name, value)| (&**name, &**value)).collect()
}

/// Returns the flags known before a worker is asked.
pub(crate) fn flags(request: &Request) -> u32 {
    let facts = [
        (request.client.peer.tls.is_some(), request_flag::TLS),
        (request.scheme() == "https", request_flag::HTTPS_SCHEME),
        (request.is_head(), request_flag::HEAD_ONLY),
        (is_redirected(request), request_flag::REDIRECTED),
        (request.is_part(), request_flag::SUBREQUEST),
        (request.client.peer.may_continue(), request_flag::KEEP_ALIVE),
        (request.client.version == HTTP_2, request_flag::HTTP_2),
        (request.reply.no_cache, request_flag::NO_CACHE),
        (request.server.conf.core.assign_user.is_some(), request_flag::SUEXEC),
    ];
    facts.into_iter().filter(|(holds, _)| *holds).fold(0, |flags, (_, flag)| flags | flag)
}

fn is_redirected(request: &Request) -> bool {
    request.prev.is_some() || (request.origin == Origin::Redirect && !request.is_part())
}

/// Returns facts about the file at the file name.
fn facts(found: &FileEntry) -> FileFacts {
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
