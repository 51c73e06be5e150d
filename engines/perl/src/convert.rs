//! A request's head for C: pointers into the message it was decoded from.

use hostler_wire::work::{FileFacts, RequestHead};

use crate::ffi::{Field, Fields, Finfo, RequestIn, Str};

/// A head for C, and the room for its tables. Used again and again.
pub(crate) struct Converted {
    request: Option<Box<RequestIn>>,
    tables: [Vec<Field>; 5],
}

impl Converted {
    pub(crate) fn new() -> Self {
        Self { request: None, tables: Default::default() }
    }

    /// Makes the head of this request. What the result points to lives in the message that `head` borrows from and
    /// in `self`: until either changes.
    pub(crate) fn set(&mut self, head: &RequestHead<'_>) -> *const RequestIn {
        let sources =
            [&head.headers_in, &head.headers_out, &head.err_headers_out, &head.subprocess_env, &head.notes];
        for (table, source) in self.tables.iter_mut().zip(sources) {
            table.clear();
            table.extend(
                source.iter().map(|(name, value)| Field { name: Str::new(name), value: Str::new(value) }),
            );
        }
        let converted = convert(head, self.tables.each_ref().map(|table| Fields::new(table)));
        match &mut self.request {
            Some(room) => **room = converted,
            none => *none = Some(Box::new(converted)),
        }
        self.request.as_deref().map_or(std::ptr::null(), std::ptr::from_ref)
    }
}

fn convert(head: &RequestHead<'_>, tables: [Fields; 5]) -> RequestIn {
    let [headers_in, headers_out, err_headers_out, subprocess_env, notes] = tables;
    RequestIn {
        flags: head.flags,
        phases: head.phases.0,
        directory: head.directory,
        server: head.server,
        number: head.number,
        time: head.time,
        protocol: head.protocol,
        status: head.status,
        remote_port: head.remote_port,
        local_port: head.local_port,
        server_port: head.server_port,
        method: Str::new(head.method),
        the_request: Str::new(head.the_request),
        uri: Str::new(head.uri),
        unparsed_uri: Str::new(head.unparsed_uri),
        args: Str::optional(head.args),
        filename: Str::new(head.filename),
        path_info: Str::new(head.path_info),
        hostname: Str::optional(head.hostname),
        server_name: Str::new(head.server_name),
        remote_ip: Str::new(head.remote_ip),
        local_ip: Str::new(head.local_ip),
        user: Str::optional(head.user),
        ap_auth_type: Str::optional(head.ap_auth_type),
        handler: Str::optional(head.handler),
        content_type: Str::optional(head.content_type),
        content_encoding: Str::optional(head.content_encoding),
        context_prefix: Str::new(head.context_prefix),
        context_document_root: Str::new(head.context_document_root),
        path_translated: Str::optional(head.path_translated),
        redirect_url: Str::optional(head.redirect_url),
        redirect_query: Str::optional(head.redirect_query),
        log_id: Str::new(head.log_id),
        status_line: Str::optional(head.status_line),
        bytes_sent: head.bytes_sent,
        provider: Str::optional(head.provider),
        finfo: finfo(&head.finfo),
        headers_in,
        headers_out,
        err_headers_out,
        subprocess_env,
        notes,
    }
}

fn finfo(facts: &FileFacts) -> Finfo {
    Finfo {
        kind: facts.kind,
        mode: facts.mode,
        uid: facts.uid,
        gid: facts.gid,
        mtime_nsec: facts.mtime_nsec,
        size: facts.size,
        dev: facts.dev,
        ino: facts.ino,
        nlink: facts.nlink,
        mtime: facts.mtime,
        ctime: facts.ctime,
        atime: facts.atime,
    }
}
