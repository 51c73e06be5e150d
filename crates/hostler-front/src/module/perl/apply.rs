//! What a worker says of its answer and of the request, and what becomes of it.
//!
//! Values are pieces of the message that they came in: nothing is copied but what is changed.

use super::state::HasPerl;
use crate::hook::handler;
use crate::log::{self, Severity};
use crate::module::core::file;
use crate::module::core::range::UNRANGED;
use crate::request::Request;
use crate::values::table::Table;
use crate::values::text;
use bytes::Bytes;
use hostler_gateway::{Error, Kind};
use hostler_perl_frames as frames;
use hostler_wire::work::{Fields, HeadFlags, ReplyHead};

/// An answer's head.
pub(super) struct Head {
    flags: HeadFlags,
    status: u16,
    reason: Option<Bytes>,
    content_type: Option<Bytes>,
    content_encoding: Option<Bytes>,
    content_length: Option<u64>,
    content_languages: Vec<Bytes>,
    headers_out: Table,
    err_headers_out: Table,
}

/// What phases changed of a request.
pub(crate) struct Changes {
    status: u16,
    method: Bytes,
    uri: Bytes,
    args: Option<Bytes>,
    filename: Bytes,
    path_info: Bytes,
    user: Option<Bytes>,
    auth_type: Option<Bytes>,
    handler: Option<Bytes>,
    content_type: Option<Bytes>,
    custom_responses: Vec<(u16, Bytes)>,
    headers_in: Table,
    headers_out: Table,
    err_headers_out: Table,
    env: Table,
    notes: Table,
}

fn table(message: &Bytes, fields: &Fields<'_>) -> Table {
    let mut table = Table::with_capacity(fields.len());
    for (name, value) in fields {
        table.add(message.slice_ref(name), message.slice_ref(value));
    }
    table
}

/// The words after the code of a status line, if it is this answer's (`ap_http_header_filter`) and one line.
fn reason(status: u16, line: &[u8]) -> Option<&[u8]> {
    let (code, words) = line.split_at_checked(3)?;
    let fits = code == text::decimal(u64::from(status)).as_bytes() && !line.iter().any(u8::is_ascii_control);
    words.strip_prefix(b" ").filter(|words| fits && !words.is_empty())
}

impl Head {
    /// `message` is what `head` was decoded from.
    ///
    /// # Errors
    /// It is none of an answer: after a status below 200 the client would take the next answer for this one's.
    pub(super) fn of(message: &Bytes, head: &ReplyHead<'_>) -> Result<Self, Error> {
        if head.status < 200 {
            return Err(Error::because(
                Kind::BadHeader,
                format!("its status is {}, which is for no answer", head.status),
            ));
        }
        let piece = |text: &[u8]| message.slice_ref(text);
        Ok(Self {
            flags: head.flags,
            status: head.status,
            reason: head.status_line.and_then(|line| reason(head.status, line)).map(piece),
            content_type: head.content_type.map(piece),
            content_encoding: head.content_encoding.map(piece),
            content_length: head.content_length,
            content_languages: head.content_languages.iter().map(|language| piece(language)).collect(),
            headers_out: table(message, &head.headers_out),
            err_headers_out: table(message, &head.err_headers_out),
        })
    }

    /// Makes it the request's answer.
    pub(super) fn apply(self, request: &mut Request) {
        request.status = self.status;
        request.reason = self.reason;
        request.content_type = self.content_type;
        request.content_encoding = self.content_encoding;
        request.content_languages = self.content_languages;
        request.headers_out = self.headers_out;
        request.err_headers_out = self.err_headers_out;
        // Of a CGI program Apache drops the field, and sends the body as it is.
        request.is_framed = !request.progress().is_script
            && [&request.headers_out, &request.err_headers_out].into_iter().any(says_chunked);
        withdraw_connection(&mut request.headers_out, &mut request.notes);
        withdraw_connection(&mut request.err_headers_out, &mut request.notes);
        if request.progress().is_script && !request.env.contains("ap_trust_cgilike_cl") {
            // As with a CGI program that is started: the answer is as long as it is.
            request.headers_out.unset("Content-Length");
        } else if let Some(length) = self.content_length {
            request.headers_out.set("Content-Length", text::decimal(length).as_bytes().to_vec());
        }
        if request.progress().is_script {
            modified(request);
        }
        if self.flags.has(HeadFlags::NO_CACHE) && !request.headers_out.contains("Expires") {
            let date = text::http_date(file::now(request));
            request.headers_out.set("Expires", Bytes::copy_from_slice(&date));
        }
        if self.flags.has(HeadFlags::NO_LOCAL_COPY) {
            request.no_cache = true;
        }
        if self.flags.has(HeadFlags::CLOSE) {
            request.notes.set("nokeepalive", Bytes::from_static(b"1"));
        }
        if self.flags.has(HeadFlags::RAW) {
            request.notes.set(handler::RAW, Bytes::from_static(b"1"));
        }
        request.notes.set(UNRANGED, Bytes::from_static(b"1"));
    }
}

/// Last-Modified of a script, as of a CGI program that is started.
fn modified(request: &mut Request) {
    let Some(said) = request.headers_out.find("Last-Modified").cloned() else { return };
    match hostler_cgi::date::parse(&said) {
        Some(seconds) => {
            let date = text::http_date(seconds.clamp(0, file::now(request)));
            request.headers_out.set("Last-Modified", Bytes::copy_from_slice(&date));
        }
        None => {
            request.headers_out.unset("Last-Modified");
            let message = format!("Ignored invalid header value: Last-Modified: \"{}\"", said.escape_ascii());
            log::request(request, Severity::Error, "cgi", &message);
        }
    }
}

fn says_chunked(fields: &Table) -> bool {
    fields.find("Transfer-Encoding").is_some_and(|value| value.trim_ascii().eq_ignore_ascii_case(b"chunked"))
}

/// Fields about the connection and the body's framing, which are not the program's (RFC 9110 §7.6.1).
fn withdraw_connection(fields: &mut Table, notes: &mut Table) {
    if fields.find("Connection").is_some_and(|value| value.eq_ignore_ascii_case(b"close")) {
        notes.set("nokeepalive", Bytes::from_static(b"1"));
    }
    for name in ["Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade"] {
        if fields.contains(name) {
            fields.unset(name);
        }
    }
}

impl Changes {
    /// `message` is what `changes` was decoded from.
    pub(super) fn of(message: &Bytes, changes: &frames::Changes<'_>) -> Self {
        let piece = |text: &[u8]| message.slice_ref(text);
        let custom = changes.custom_responses.iter().filter_map(|(status, text)| {
            let status: u16 = std::str::from_utf8(status).ok()?.parse().ok()?;
            (100..1000).contains(&status).then(|| (status, piece(text)))
        });
        Self {
            status: changes.status,
            method: piece(changes.method),
            uri: piece(changes.uri),
            args: changes.args.map(piece),
            filename: piece(changes.filename),
            path_info: piece(changes.path_info),
            user: changes.user.map(piece),
            auth_type: changes.ap_auth_type.map(piece),
            handler: changes.handler.map(piece),
            content_type: changes.content_type.map(piece),
            custom_responses: custom.collect(),
            headers_in: table(message, &changes.headers_in),
            headers_out: table(message, &changes.headers_out),
            err_headers_out: table(message, &changes.err_headers_out),
            env: table(message, &changes.subprocess_env),
            notes: table(message, &changes.notes),
        }
    }

    /// Carries them out. What stands at another file name must be looked up by whoever needs it.
    pub(super) fn apply(self, request: &mut Request) {
        if self.status >= 200 {
            request.status = self.status;
        }
        if !self.method.is_empty() {
            request.method = self.method;
        }
        if !self.uri.is_empty() {
            request.uri = self.uri.to_vec();
        }
        request.args = self.args;
        request.filename = self.filename.to_vec();
        request.path_info = self.path_info.to_vec();
        request.user = self.user;
        request.auth_type = self.auth_type;
        request.handler = self.handler;
        request.content_type = self.content_type;
        for (status, text) in self.custom_responses {
            request.custom_responses.retain(|(known, _)| *known != status);
            request.custom_responses.push((status, text));
        }
        request.headers_in = self.headers_in;
        request.headers_out = self.headers_out;
        request.err_headers_out = self.err_headers_out;
        request.env = self.env;
        request.notes = self.notes;
        withdraw_connection(&mut request.headers_out, &mut request.notes);
        withdraw_connection(&mut request.err_headers_out, &mut request.notes);
    }

    /// What the access log may show, of an answer that has been sent.
    pub(crate) fn apply_to_log(self, request: &mut Request) {
        request.user = self.user;
        request.auth_type = self.auth_type;
        request.env = self.env;
        request.notes = self.notes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_line_counts_if_it_is_for_the_status() {
        assert_eq!(reason(404, b"404 Nowhere"), Some(&b"Nowhere"[..]));
        assert_eq!(reason(404, b"200 OK"), None);
        assert_eq!(reason(404, b"404"), None);
        assert_eq!(reason(404, b"40"), None);
        assert_eq!(reason(404, b"404 "), None);
        assert_eq!(reason(200, b"200 OK\r\nX-Own: 1"), None);
    }
}
