//! Applies a worker's response to the request.
//!
//! Values are pieces of the message that they came in: nothing is copied but what is changed.

use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::reply::Marks;
use crate::values::table::Table;
use crate::values::text;
use bytes::Bytes;
use hostler_gateway::{Error, Kind};
use hostler_wire::work::{Fields, HeadFlags, ReplyHead};
use std::time::UNIX_EPOCH;

/// The merge of a response's fields with those that are set already (`[CO=…]`, negotiation, `Header … early`, the
/// refusal that an ErrorDocument is for): as Apache's module for the technique puts them into its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldMerge {
    /// The worker got both tables, and sends them back as it left them (mod_perl).
    Whole,
    /// A field replaces those of its name (mod_php's `apr_table_set`).
    Set,
    /// A field is added to those of its name (mod_wsgi's `apr_table_add`).
    Add,
}

impl FieldMerge {
    /// Puts `fields` into `table`, which Apache calls `headers_out`.
    fn merge(self, table: &mut Table, fields: Table) {
        if self == Self::Whole || table.len() == 0 {
            *table = fields;
            return;
        }
        if self == Self::Set {
            fields.iter().for_each(|(name, _)| table.unset(name));
        }
        table.append(fields);
    }

    /// The same for `err_headers_out`: apart from mod_perl no module replaces anything there.
    fn merge_kept(self, table: &mut Table, fields: Table) {
        let how = if self == Self::Whole { Self::Whole } else { Self::Add };
        how.merge(table, fields);
    }
}

/// An answer's head.
pub(crate) struct Head {
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

pub(crate) fn table(message: &Bytes, fields: &Fields<'_>) -> Table {
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
    pub(crate) fn of(message: &Bytes, head: &ReplyHead<'_>) -> Result<Self, Error> {
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

    /// Makes it the request's answer. `is_script`: it is that of a program which is run as CGI's are.
    pub(crate) fn apply(self, request: &mut Request, merge: FieldMerge, is_script: bool) {
        request.reply.status = self.status;
        request.reply.reason = self.reason;
        request.resource.content_type = self.content_type;
        request.resource.content_encoding = self.content_encoding;
        // Who says nothing of them leaves those of the file's name.
        if !self.content_languages.is_empty() {
            request.resource.content_languages = self.content_languages;
        }
        merge.merge(&mut request.reply.headers_out, self.headers_out);
        merge.merge_kept(&mut request.reply.err_headers_out, self.err_headers_out);
        // Of a CGI program Apache drops the field, and sends the body as it is.
        request.reply.is_framed = !is_script
            && [&request.reply.headers_out, &request.reply.err_headers_out].into_iter().any(says_chunked);
        withdraw_connection(&mut request.reply.headers_out, &mut request.notes);
        withdraw_connection(&mut request.reply.err_headers_out, &mut request.notes);
        if is_script && !request.env.contains("ap_trust_cgilike_cl") {
            // As with a CGI program that is started: the answer is as long as it is.
            request.reply.headers_out.unset("Content-Length");
        } else if let Some(length) = self.content_length {
            request.reply.headers_out.set("Content-Length", text::decimal(length).as_bytes().to_vec());
        }
        if is_script {
            modified(request);
        }
        if self.flags.has(HeadFlags::NO_CACHE) && !request.reply.headers_out.contains("Expires") {
            let date = text::http_date(now(request));
            request.reply.headers_out.set("Expires", Bytes::copy_from_slice(&date));
        }
        if self.flags.has(HeadFlags::NO_LOCAL_COPY) {
            request.reply.no_cache = true;
        }
        if self.flags.has(HeadFlags::CLOSE) {
            request.notes.set("nokeepalive", Bytes::from_static(b"1"));
        }
        if self.flags.has(HeadFlags::RAW) {
            request.reply.marks.set(Marks::RAW);
        }
        request.reply.marks.set(Marks::UNRANGED);
    }
}

/// Seconds since the epoch, when the request came.
fn now(request: &Request) -> i64 {
    request.client.received.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() as i64)
}

/// Last-Modified of a script, as of a CGI program that is started.
fn modified(request: &mut Request) {
    let Some(said) = request.reply.headers_out.find("Last-Modified").cloned() else { return };
    match hostler_cgi::date::parse(&said) {
        Some(seconds) => {
            let date = text::http_date(seconds.clamp(0, now(request)));
            request.reply.headers_out.set("Last-Modified", Bytes::copy_from_slice(&date));
        }
        None => {
            request.reply.headers_out.unset("Last-Modified");
            let message = format!("Ignored invalid header value: Last-Modified: \"{}\"", said.escape_ascii());
            log::request(request, Severity::Error, "cgi", &message);
        }
    }
}

fn says_chunked(fields: &Table) -> bool {
    fields.find("Transfer-Encoding").is_some_and(|value| value.trim_ascii().eq_ignore_ascii_case(b"chunked"))
}

/// Fields about the connection and the body's framing, which are not the program's (RFC 9110 §7.6.1).
pub(crate) fn withdraw_connection(fields: &mut Table, notes: &mut Table) {
    if fields.find("Connection").is_some_and(|value| value.eq_ignore_ascii_case(b"close")) {
        notes.set("nokeepalive", Bytes::from_static(b"1"));
    }
    for name in ["Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade"] {
        if fields.contains(name) {
            fields.unset(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(merge: FieldMerge) -> Vec<(Bytes, Bytes)> {
        let (mut set, mut said) = (Table::default(), Table::default());
        set.add("Vary", "negotiate");
        set.add("X-A", "1");
        said.add("vary", "Cookie");
        said.add("vary", "Accept");
        merge.merge(&mut set, said);
        set.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    #[test]
    fn fields_that_are_set_before_the_handler_stay() {
        let pairs = |all: &[(&'static str, &'static str)]| -> Vec<(Bytes, Bytes)> {
            all.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        let said = [("vary", "Cookie"), ("vary", "Accept")];
        assert_eq!(merged(FieldMerge::Whole), pairs(&said));
        assert_eq!(merged(FieldMerge::Set), pairs(&[("X-A", "1"), said[0], said[1]]));
        assert_eq!(merged(FieldMerge::Add), pairs(&[("Vary", "negotiate"), ("X-A", "1"), said[0], said[1]]));
    }

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
