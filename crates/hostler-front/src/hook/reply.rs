//! The last steps of an answer: fields that belong to the content, output filters, header directives; and what
//! remains to be done when it is sent (the log).

use crate::hook::filter;
use crate::hook::plan::{change, plan};
use crate::hook::registry::{Answer, AnswerFate, Stage};
use crate::io::body::Body;
use crate::io::sent::Delivery;
use crate::io::sent::SendError;
use crate::log::{self, access_log};
use crate::request::Request;
use crate::request::reply::Marks;
use crate::request::thread::Thread;
use crate::values::table::Table;
use crate::values::text;
use bytes::Bytes;
use hostler_http1::response::{self, Fault};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// An answer ready to be sent.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) reason: Option<Bytes>,
    pub(crate) headers: Table,
    pub(crate) body: Body,
    /// The connection can't be used afterwards.
    pub(crate) close: bool,
    pub(crate) head_only: bool,
    /// An nph- script's bytes.
    pub(crate) raw: bool,
    /// `Timeout` of the virtual host.
    pub(crate) timeout: Duration,
    pub(crate) request: Box<Request>,
}

impl Reply {
    /// Lets go of the buffers that its fields were read into: an answer that changes the protocol is kept, for the log, as long as
    /// what follows it, and there may be very many of them.
    pub(crate) fn detach(&mut self) {
        self.headers.detach();
        self.request.reply.headers_out.detach();
        for reason in [&mut self.reason, &mut self.request.reply.reason].into_iter().flatten() {
            *reason = Bytes::copy_from_slice(reason);
        }
    }
}

/// Statuses after which Apache closes the connection: the request's end can't be trusted, or it costs too much. (That
/// is not so of a request that was refused for those that wait: a new connection would cost both sides more.)
fn drops_connection(status: u16) -> bool {
    matches!(status, 400 | 408 | 411 | 413 | 414 | 500 | 501 | 503)
}

/// Completes an ordinary answer.
pub(crate) async fn finish(mut request: Box<Request>, body: Body) -> Reply {
    if request.reply.marks.have(Marks::RAW) {
        return assemble(request, body, true);
    }
    request.merge_trailers();
    content_fields(&mut request);
    let body = change(Stage::Resource, &mut request, body, Answer::Content).await;
    let body = filter::run(&mut request, body, filter::RESOURCE).await;
    // Nobody's slow client keeps what waits for the request's further phases: there are none.
    plan().release(&request);
    let body = filter::run(&mut request, body, filter::CONTENT).await;
    let body = change(Stage::Content, &mut request, body, Answer::Content).await;
    request.reply.filters.clear();
    type_field(&mut request);
    vary_field(&mut request);
    let body = change(Stage::Transfer, &mut request, body, Answer::Content).await;
    assemble(request, body, false)
}

/// Completes an error page: only what survives errors is kept.
pub(crate) async fn finish_error(mut request: Box<Request>, mut body: Body) -> Reply {
    request.merge_trailers();
    // What the answer that there is no more of would have depended on.
    request.reply.varies.take();
    for stage in Stage::ALL {
        body = change(stage, &mut request, body, Answer::Error).await;
    }
    vary_field(&mut request);
    assemble(request, body, false)
}

/// Content-Encoding and -Language from what the phases and the handler found out.
pub(crate) fn content_fields(request: &mut Request) {
    if let Some(encoding) = request.resource.content_encoding.clone() {
        request.reply.headers_out.set("Content-Encoding", encoding);
    }
    languages_field(request);
}

/// Sets the languages of the file's name or the handler, then those that a program has set itself.
fn languages_field(request: &mut Request) {
    let mut languages = request.resource.content_languages.clone();
    if languages.is_empty() {
        return;
    }
    if let Some(said) = request.reply.headers_out.joined(b"Content-Language") {
        for language in said.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            if !language.is_empty() && !languages.iter().any(|known| known.eq_ignore_ascii_case(language)) {
                languages.push(Bytes::copy_from_slice(language));
            }
        }
    }
    request.reply.headers_out.set("Content-Language", languages.join(&b","[..]));
}

fn type_field(request: &mut Request) {
    if let Some(content_type) = request.resource.content_type.clone() {
        let with_charset = map_charset(request, content_type);
        request.reply.headers_out.set("Content-Type", with_charset);
    }
}

/// One `Vary` field with each name once (RFC 9110 §12.5.5).
fn vary_field(request: &mut Request) {
    for header in request.reply.varies.take() {
        request.reply.headers_out.add("Vary", header);
    }
    one_vary(&mut request.reply.headers_out);
}

fn one_vary(fields: &mut Table) {
    let Some(all) = fields.joined(b"Vary").filter(|v| v.contains(&b',')) else { return };
    let mut names: Vec<&[u8]> = Vec::new();
    for name in all.split(|&b| b == b',').map(<[u8]>::trim_ascii).filter(|n| !n.is_empty()) {
        if !names.iter().any(|n| n.eq_ignore_ascii_case(name)) {
            names.push(name);
        }
    }
    let value = if names.contains(&&b"*"[..]) { b"*".to_vec() } else { names.join(&b","[..]) };
    fields.set("Vary", value);
}

/// `AddDefaultCharset`: for text/plain and text/html without a charset.
fn map_charset(request: &Request, content_type: Bytes) -> Bytes {
    let Some(charset) = crate::request::settings::default_charset(&request.resource.dir) else {
        return content_type;
    };
    let end = content_type.iter().position(|&b| b == b';').unwrap_or(content_type.len());
    let kind = content_type[..end].trim_ascii();
    let plain = kind.eq_ignore_ascii_case(b"text/html") || kind.eq_ignore_ascii_case(b"text/plain");
    let has = content_type.to_ascii_lowercase().windows(8).any(|w| w == b"charset=");
    if !plain || has {
        return content_type;
    }
    let mut out = content_type.to_vec();
    out.extend_from_slice(b"; charset=");
    out.extend_from_slice(charset.as_bytes());
    out.into()
}

/// A field that says something of the server itself.
fn is_servers(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"Date") || name.eq_ignore_ascii_case(b"Server")
}

/// One of these, as far as the answer may have its own.
fn own_field(request: &Request, name: &str, keeps: bool) -> Option<Bytes> {
    let tables = [&request.reply.err_headers_out, &request.reply.headers_out];
    tables.into_iter().find_map(|table| table.find(name)).filter(|_| keeps).cloned()
}

fn assemble(mut request: Box<Request>, body: Body, raw: bool) -> Reply {
    let mut headers = Table::with_capacity(request.reply.headers_out.len() + 4);
    let now = request.client.received.duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    // Only another server's own are kept (`ap_basic_http_header`); a program does not speak for this one.
    let keeps = raw || request.reply.marks.have(Marks::KEEPS_SERVER);
    let (date, server) = (own_field(&request, "Date", keeps), own_field(&request, "Server", keeps));
    headers.add("Date", date.unwrap_or_else(|| Bytes::copy_from_slice(&text::http_date(now as i64))));
    let product = crate::request::settings::product(&request.server);
    headers.add("Server", server.unwrap_or(Bytes::from_static(product.as_bytes())));
    // err_headers_out first: what stands in both is sent once per table, as Apache's overlay does.
    let typed = request.reply.headers_out.contains("Content-Type");
    for (name, value) in request.reply.err_headers_out.iter() {
        // There is one type, whatever `Header always` says of it.
        if !(typed && name.eq_ignore_ascii_case(b"Content-Type") || is_servers(name)) {
            headers.add(name.clone(), value.clone());
        }
    }
    for (name, value) in request.reply.headers_out.iter().filter(|(name, _)| !is_servers(name)) {
        headers.add(name.clone(), value.clone());
    }
    if !raw {
        one_vary(&mut headers);
    }
    if request.reply.is_uncacheable && !headers.contains("Expires") {
        headers.set("Expires", Bytes::copy_from_slice(&text::http_date(now as i64)));
    }
    let about_no_body: &[&str] = match request.reply.status {
        304 => &["Content-Type", "Content-Length", "Content-Encoding", "Content-Language"],
        204 => &["Content-Type", "Content-Length"],
        _ => &[],
    };
    for name in about_no_body {
        headers.unset(name);
    }
    let refused = request.is_refused || request.original().is_refused;
    let close = (drops_connection(request.reply.status) && !refused)
        || request.notes.contains("nokeepalive")
        || request.env.contains("nokeepalive");
    Reply {
        status: if request.reply.marks.have(Marks::WITHOUT_LINE) { 500 } else { request.reply.status },
        reason: request.reply.reason.take(),
        headers,
        body,
        close,
        head_only: request.original().client.line.starts_with(b"HEAD "),
        raw,
        timeout: crate::request::settings::timeout(&request.server),
        request,
    }
}

impl Reply {
    /// Why its fields can't be sent (`ap_http_header_filter`'s check).
    pub(crate) fn fault(&self) -> Option<String> {
        if self.raw {
            return None;
        }
        self.headers.iter().find_map(|(name, value)| {
            let shown = name.escape_ascii();
            match response::check(name, value).err()? {
                Fault::Name => {
                    Some(format!("the answer's field name '{shown}' has characters that none may have"))
                }
                Fault::Value => {
                    Some(format!("the answer's field '{shown}' has a value with control characters"))
                }
            }
        })
    }

    /// An error's answer whose own fields can't be sent has neither fields nor a page.
    pub(crate) fn without_faults(mut self) -> Self {
        let Some(why) = self.fault() else { return self };
        log::request(&self.request, log::Severity::Error, "http", &why);
        let mut headers = Table::default();
        for name in ["Date", "Server"] {
            if let Some(value) = self.headers.find(name).cloned() {
                headers.add(name, value);
            }
        }
        (self.headers, self.body, self.status, self.reason) = (headers, Body::Empty, 500, None);
        self.close = true;
        self
    }

    /// The answer is sent, or has broken off: log it. `received`: bytes of the request; `kept`: the connection stays.
    pub(crate) fn finish(
        mut self,
        thread: &Rc<Thread>,
        sent: Delivery,
        result: &Result<(), SendError>,
        received: u64,
        kept: bool,
    ) {
        if let Err(SendError::Body(error)) = result {
            log::request(
                &self.request,
                log::Severity::Error,
                "core",
                &format!("the answer broke off: {error}"),
            );
        }
        if result.is_err() && thread.shared.ending.load(Ordering::Relaxed) {
            let message = format!("cut off in mid-response: {}", thread.shared.cut_off_cause());
            log::request(&self.request, log::Severity::Error, "core", &message);
        }
        plan().before_log(&mut self.request);
        let outcome = access_log::Outcome { sent, received, aborted: result.is_err(), kept };
        let is_own = self.request.reply.marks.have(Marks::WITHOUT_LINE);
        let status = if is_own { self.request.reply.status } else { self.status };
        access_log::write(thread, &self.request, status, &outcome);
        self.request.reply.reason = self.reason;
        let bytes = if self.head_only { sent.length.unwrap_or(0) } else { sent.body };
        plan().cleanup(*self.request, AnswerFate { bytes, length: sent.length });
    }
}
