//! A request as C takes it.

use hostler_php_frames::handler;
use hostler_wire::work::{FileFacts, RequestHead, request_flag};
use libc::c_char;

use crate::arena::Arena;
use crate::directory::Directory;
use crate::ffi::Request;

/// Fills the arena with the request's texts, and points there. `None`: it is not a request for a file.
pub(crate) fn convert(
    texts: &mut Arena,
    head: &RequestHead<'_>,
    document_root: &str,
    directory: &Directory,
) -> Request {
    texts.clear();
    let mut optional = |text: Option<&[u8]>| text.map(|text| texts.push(text));
    let method = optional(Some(head.method));
    let query = optional(head.args);
    // PHP takes it for a path (phar), so it has neither the query nor escapes, as under mod_php. An application in a phar sends the
    // source of a script whose name is followed by a question mark that was escaped; so it ends there.
    let uri = optional(head.uri.split(|byte| *byte == b'?').next());
    let script = optional(Some(head.filename));
    let document_root = optional(Some(document_root.as_bytes()));
    let host_name = optional(head.hostname);
    let content_type = optional(field(head, b"content-type"));
    let authorization = optional(field(head, b"authorization"));
    let user = optional(head.user);
    let pointer = |text: Option<_>| text.map_or(std::ptr::null::<c_char>(), |text| texts.pointer(text));
    Request {
        method: pointer(method),
        query: pointer(query),
        uri: pointer(uri),
        script: pointer(script),
        document_root: pointer(document_root),
        host_name: pointer(host_name),
        content_type: pointer(content_type),
        authorization: pointer(authorization),
        user: pointer(user),
        content_length: content_length(head),
        protocol: i32::from(head.protocol),
        status: status(head),
        time: head.time as f64 / 1e6,
        head_only: head.flags & request_flag::HEAD_ONLY != 0,
        source: head.handler == Some(handler::SOURCE.as_bytes()),
        has_facts: head.finfo.kind == FILE,
        facts: facts(&head.finfo),
        settings: &raw const directory.settings,
    }
}

/// [`FileFacts::kind`] of a regular file.
const FILE: u8 = 1;

fn field<'a>(head: &RequestHead<'a>, name: &[u8]) -> Option<&'a [u8]> {
    head.headers_in.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
}

/// In bytes; -1: there is no body, or nobody knows (chunked).
fn content_length(head: &RequestHead<'_>) -> i64 {
    let text = field(head, b"content-length").and_then(|value| std::str::from_utf8(value).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(-1)
}

/// Returns the status that an error document is for; else 200.
fn status(head: &RequestHead<'_>) -> i32 {
    let is_redirected = head.flags & request_flag::REDIRECTED != 0;
    let said = head.subprocess_env.iter().find(|(name, _)| is_redirected && *name == b"REDIRECT_STATUS");
    let said = said.and_then(|(_, value)| std::str::from_utf8(value).ok()?.parse().ok());
    said.filter(|status| (100..=599).contains(status)).unwrap_or(200)
}

fn facts(of: &FileFacts) -> libc::stat {
    // SAFETY: a record of numbers, of which all may be zero.
    let mut facts: libc::stat = unsafe { std::mem::zeroed() };
    facts.st_mode = libc::S_IFREG | (of.mode & 0o7777);
    (facts.st_uid, facts.st_gid) = (of.uid, of.gid);
    (facts.st_dev, facts.st_ino, facts.st_nlink) = (of.dev, of.ino, of.nlink);
    facts.st_size = of.size.cast_signed();
    (facts.st_mtime, facts.st_mtime_nsec) = (of.mtime.cast_signed(), i64::from(of.mtime_nsec));
    (facts.st_ctime, facts.st_atime) = (of.ctime.cast_signed(), of.atime.cast_signed());
    facts
}
