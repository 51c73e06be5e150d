//! Plain answers: written as they are, without the slow path's tables.

use super::remembered::UrlRoute;
use crate::request::settings;
use crate::values::table::Table;
use crate::values::text;
use bytes::Bytes;
use hostler_http1::response::{self, field};
use hostler_wire::work::ReplyHead;
use std::time::{SystemTime, UNIX_EPOCH};

/// Fields that the slow path has something to say about.
fn is_special(name: &[u8]) -> bool {
    const NAMES: [&str; 9] = [
        "Connection",
        "Keep-Alive",
        "Proxy-Connection",
        "Transfer-Encoding",
        "Upgrade",
        "Date",
        "Server",
        "Vary",
        "Content-Range",
    ];
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

/// Writes all but what is about the connection; `None`: the head is not plain.
pub(super) fn write_head(
    out: &mut Vec<u8>,
    remembered: &UrlRoute,
    head: &ReplyHead<'_>,
    received: SystemTime,
    length: usize,
) -> Option<()> {
    let is_plain = head.flags.0 == 0
        && head.status == 200
        && head.status_line.is_none_or(|line| line == b"200 OK" || line == b"200")
        && head.content_encoding.is_none()
        && head.content_languages.is_empty()
        && remembered.request.resource.content_languages.is_empty()
        && head.content_length.is_none_or(|said| said == length as u64);
    if !is_plain {
        return None;
    }
    let seconds = received.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    out.extend_from_slice(b"HTTP/1.1 200 OK\r\nDate: ");
    out.extend_from_slice(&text::http_date(seconds as i64));
    out.extend_from_slice(b"\r\nServer: ");
    out.extend_from_slice(settings::product(&remembered.request.server).as_bytes());
    out.extend_from_slice(b"\r\n");
    for (name, value) in head.err_headers_out.iter().chain(&head.headers_out) {
        if is_special(name) || response::check(name, value).is_err() {
            return None;
        }
        let replaced = (head.content_type.is_some() && name.eq_ignore_ascii_case(b"content-type"))
            || name.eq_ignore_ascii_case(b"content-length");
        if !replaced {
            field(out, name, value);
        }
    }
    if let Some(content_type) = head.content_type {
        response::check(b"Content-Type", content_type).ok()?;
        field(out, b"Content-Type", content_type);
    }
    field(out, b"Content-Length", text::decimal(length as u64).as_bytes());
    Some(())
}

/// The fields for the access log.
pub(super) fn logged_fields(message: &Bytes, head: &ReplyHead<'_>) -> Table {
    let mut table = Table::with_capacity(head.headers_out.len() + head.err_headers_out.len() + 1);
    for (name, value) in head.err_headers_out.iter().chain(&head.headers_out) {
        table.add(message.slice_ref(name), message.slice_ref(value));
    }
    if let Some(content_type) = head.content_type {
        table.set("Content-Type", message.slice_ref(content_type));
    }
    table
}
