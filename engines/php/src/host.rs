//! The functions that PHP's side calls ([`ffi::Host`]): each takes, gives and returns, and none is ever unwound.

use hostler_engine::NoMessage;
use hostler_php_frames::{Cache, FromPhp, ToPhp};
use hostler_wire::work::{self, FromWorker, Outcome, ReplyHead, RequestHead, Severity};
use libc::{c_char, c_int, c_void, size_t, ssize_t};
use std::ffi::CStr;

use crate::arena::Arena;
use crate::directory::Directory;
use crate::ffi::{self, Pair, Pairs};
use crate::variables;
use crate::worker::{Server, Trip};

/// A request while PHP has it.
pub(crate) struct Exchange<'a> {
    pub(crate) trip: &'a mut Trip,
    pub(crate) head: &'a RequestHead<'a>,
    pub(crate) server: &'a Server,
    /// As programs are told of it.
    pub(crate) document_root: &'a str,
    pub(crate) directory: &'a Directory,
    pub(crate) variables: &'a mut Arena,
    pub(crate) fields: &'a mut Arena,
    /// The server's last reply to a question.
    pub(crate) answered: &'a mut Arena,
    /// The configuration of the script that the answer is about.
    pub(crate) included: Option<Box<Directory>>,
    /// The request's body did not come whole.
    pub(crate) broke_off: bool,
}

/// The callbacks for C.
pub(crate) static HOST: ffi::Host = ffi::Host {
    read_body,
    head,
    write,
    flush,
    finish,
    is_gone,
    log,
    variables,
    fields,
    logged,
    cache,
    look_up,
    include,
};

/// # Safety
/// The argument of a call of [`ffi::hostler_php_serve`] that has not returned.
unsafe fn exchange<'a>(trip: *mut c_void) -> &'a mut Exchange<'a> {
    // SAFETY: as the caller says; the host's functions are called one after the other.
    unsafe { &mut *trip.cast() }
}

/// The same where the server is spoken to; `None`: a script has forked this process, and what it says would stand between
/// what the worker says.
///
/// # Safety
/// As for [`exchange`].
unsafe fn spoken_for<'a>(trip: *mut c_void) -> Option<&'a mut Exchange<'a>> {
    // SAFETY: as the caller says.
    (!hostler_engine::process::is_forked_away()).then(|| unsafe { exchange(trip) })
}

/// # Safety
/// So many bytes can be read there.
unsafe fn bytes<'a>(at: *const c_char, length: size_t) -> &'a [u8] {
    if at.is_null() || length == 0 {
        return b"";
    }
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(at.cast(), length) }
}

unsafe extern "C" fn read_body(trip: *mut c_void, into: *mut c_char, most: size_t) -> ssize_t {
    // SAFETY: by host.h, C gives its trip and a buffer of that length, which has been written to or needs not to be.
    let (exchange, into) =
        unsafe { (spoken_for(trip), std::slice::from_raw_parts_mut(into.cast::<u8>(), most)) };
    let Some(exchange) = exchange else { return 0 };
    loop {
        match exchange.trip.read_body(into) {
            Ok(count) => return count as ssize_t,
            // A signal is no news of the client.
            Err(NoMessage::Interrupted) => {}
            Err(_) => {
                exchange.broke_off = true;
                return -1;
            }
        }
    }
}

unsafe extern "C" fn head(
    trip: *mut c_void,
    status: c_int,
    line: *const c_char,
    fields: *const Pair,
    count: size_t,
    last_modified: bool,
    failed: bool,
) {
    // SAFETY: by host.h, C gives its trip, a text or NULL, and so many fields.
    let (exchange, line, fields) = unsafe {
        let line = (!line.is_null()).then(|| CStr::from_ptr(line).to_bytes());
        (spoken_for(trip), line, if count == 0 { &[] } else { std::slice::from_raw_parts(fields, count) })
    };
    let Some(exchange) = exchange else { return };
    let mut reply = ReplyHead {
        status: u16::try_from(status).ok().filter(|status| (100..=999).contains(status)).unwrap_or(500),
        // "HTTP/1.1 404 Nothing here"
        status_line: line.and_then(|line| {
            let space = line.iter().position(|byte| *byte == b' ')?;
            Some(&line[space + 1..])
        }),
        ..ReplyHead::default()
    };
    if last_modified {
        reply.mtime = exchange.head.finfo.mtime;
    }
    for field in fields {
        // SAFETY: as above: so long is the field's text.
        put_field(&mut reply, unsafe { bytes(field.name, field.name_length) });
    }
    if failed {
        keep_beside_page(&mut reply);
    }
    exchange.trip.say(&FromWorker::Head(Box::new(reply)));
}

/// A field of the program's: `Name: value`. The two that say what the body is are told apart.
fn put_field<'a>(reply: &mut ReplyHead<'a>, field: &'a [u8]) {
    let Some(colon) = field.iter().position(|byte| *byte == b':') else { return };
    // As under mod_php a name is what stands before the colon, a space included: what can't be one is an error.
    let (name, value) = (&field[..colon], field[colon + 1..].trim_ascii());
    if name.eq_ignore_ascii_case(b"content-type") {
        reply.content_type = Some(value);
    } else if name.eq_ignore_ascii_case(b"content-length") {
        reply.content_length = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    } else {
        reply.headers_out.push((name, value));
    }
}

/// The body is the server's page: of the program's fields those stay that say nothing of a body, or of what it was made of.
fn keep_beside_page(reply: &mut ReplyHead<'_>) {
    const OF_BODY: [&[u8]; 9] = [
        b"content-encoding",
        b"content-disposition",
        b"content-language",
        b"content-range",
        b"content-md5",
        b"accept-ranges",
        b"etag",
        b"last-modified",
        b"transfer-encoding",
    ];
    (reply.content_type, reply.content_length, reply.mtime) = (None, None, 0);
    reply.err_headers_out = std::mem::take(&mut reply.headers_out);
    reply.err_headers_out.retain(|(name, _)| !OF_BODY.iter().any(|known| name.eq_ignore_ascii_case(known)));
}

unsafe extern "C" fn write(trip: *mut c_void, text: *const c_char, length: size_t) {
    // SAFETY: by host.h, C gives its trip and so many bytes.
    let (exchange, text) = unsafe { (spoken_for(trip), bytes(text, length)) };
    if let Some(exchange) = exchange {
        exchange.trip.write(text);
    }
}

unsafe extern "C" fn flush(trip: *mut c_void) {
    // SAFETY: by host.h, C gives its trip.
    if let Some(exchange) = unsafe { spoken_for(trip) } {
        exchange.trip.publish();
    }
}

unsafe extern "C" fn finish(trip: *mut c_void) {
    // SAFETY: by host.h, C gives its trip.
    if let Some(exchange) = unsafe { spoken_for(trip) } {
        exchange.trip.finish(&Outcome::Done);
        exchange.trip.publish();
    }
}

unsafe extern "C" fn is_gone(trip: *mut c_void) -> bool {
    // SAFETY: by host.h, C gives its trip.
    let exchange = unsafe { spoken_for(trip) };
    exchange.is_some_and(|exchange| exchange.broke_off || exchange.trip.is_abandoned())
}

unsafe extern "C" fn log(trip: *mut c_void, severity: c_int, text: *const c_char, length: size_t) {
    // SAFETY: by host.h, C gives its trip or NULL, and so many bytes.
    let text = unsafe { bytes(text, length) };
    if trip.is_null() {
        hostler_engine::process::complain(text);
        return;
    }
    // SAFETY: as above.
    let exchange = unsafe { exchange(trip) };
    if exchange.trip.is_abandoned() || hostler_engine::process::is_forked_away() {
        // The front does not read what is said to it of this request any more, or not from here.
        complain_of(text, exchange.head.log_id);
        return;
    }
    exchange.trip.log(severity_of(severity), true, text);
    // Scripts may take long after a line by which somebody waits for them.
    exchange.trip.publish();
}

/// A line for the ErrorLog by way of standard error, with the request's number.
fn complain_of(text: &[u8], id: &[u8]) {
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let line = lines.join(&b"\\n"[..]);
    hostler_engine::process::complain(&[&line[..], b" [id ", id, b"]"].concat());
}

/// syslog's number.
fn severity_of(number: c_int) -> Severity {
    match number {
        ..=0 => Severity::Emerg,
        1 => Severity::Alert,
        2 => Severity::Crit,
        3 => Severity::Error,
        4 => Severity::Warn,
        5 => Severity::Notice,
        6 => Severity::Info,
        7.. => Severity::Debug,
    }
}

unsafe extern "C" fn variables(trip: *mut c_void) -> Pairs {
    // SAFETY: by host.h, C gives its trip.
    let Exchange { head, server, document_root, directory, variables, .. } = unsafe { exchange(trip) };
    if variables.is_empty() {
        variables::write(variables, head, (server, document_root), directory);
    }
    variables.pairs()
}

unsafe extern "C" fn fields(trip: *mut c_void) -> Pairs {
    // SAFETY: by host.h, C gives its trip.
    let Exchange { head, fields, .. } = unsafe { exchange(trip) };
    if fields.is_empty() {
        head.headers_in.iter().for_each(|(name, value)| fields.put(name, value));
    }
    fields.pairs()
}

unsafe extern "C" fn logged(
    trip: *mut c_void,
    variables: *const Pair,
    variable_count: size_t,
    notes: *const Pair,
    note_count: size_t,
) {
    // SAFETY: by host.h, C gives its trip and lists of so many texts, which stay during the call.
    let (exchange, variables, notes) =
        unsafe { (spoken_for(trip), texts(variables, variable_count), texts(notes, note_count)) };
    if let Some(exchange) = exchange {
        exchange.trip.say_own(|e| FromPhp::Logged { variables, notes }.encode(e));
    }
}

/// # Safety
/// So many pairs of texts can be read there.
unsafe fn texts<'a>(list: *const Pair, count: size_t) -> Vec<(&'a [u8], &'a [u8])> {
    // SAFETY: as the caller says.
    let list = if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(list, count) } };
    // SAFETY: as the caller says.
    let text =
        |pair: &Pair| unsafe { (bytes(pair.name, pair.name_length), bytes(pair.value, pair.value_length)) };
    list.iter().map(text).collect()
}

unsafe extern "C" fn cache(trip: *mut c_void, cache: *const ffi::Cache) {
    // SAFETY: by host.h, C gives its trip and a record.
    let (exchange, cache) = unsafe { (spoken_for(trip), &*cache) };
    let Some(exchange) = exchange else { return };
    let told = Cache {
        memory: cache.memory,
        used: cache.used,
        wasted: cache.wasted,
        scripts: cache.scripts,
        keys: cache.keys,
        most_keys: cache.most_keys,
        hits: cache.hits,
        misses: cache.misses,
        restarts: cache.restarts,
        full: cache.full,
    };
    exchange.trip.say_own(|e| FromPhp::Cache(told).encode(e));
}

/// Asks the server, and waits for what it says.
fn ask<'a>(trip: &'a mut Trip, question: &FromPhp<'_>) -> Option<ToPhp<'a>> {
    trip.say_own(|e| question.encode(e));
    trip.publish();
    trip.await_own().ok()?;
    ToPhp::decode(trip.own()).ok()
}

/// The configuration of a script that is run in the place of another.
fn defined(directory: &[u8]) -> Option<Box<Directory>> {
    Directory::define(&work::Directory::decode(directory).ok()?).map(Box::new)
}

unsafe extern "C" fn look_up(
    trip: *mut c_void,
    target: *const c_char,
    length: size_t,
    into: *mut ffi::Found,
) -> bool {
    // SAFETY: by host.h, C gives its trip, so many bytes, and a record to be filled.
    let (exchange, target, into) = unsafe { (spoken_for(trip), bytes(target, length), &mut *into) };
    let Some(exchange) = exchange else { return false };
    let Some(ToPhp::SubRequest(found)) = ask(exchange.trip, &FromPhp::LookUp(target)) else { return false };
    exchange.included = found.in_place.and_then(defined);
    let texts = &mut *exchange.answered;
    texts.clear();
    let mut put = |text: Option<&[u8]>| text.filter(|text| !text.is_empty()).map(|text| texts.push(text));
    let (the_request, method) = (put(Some(found.the_request)), put(Some(found.method)));
    let (content_type, handler) = (put(found.content_type), put(found.handler));
    let (unparsed_uri, uri) = (put(Some(found.unparsed_uri)), put(Some(found.uri)));
    let (filename, path_info) = (put(Some(found.filename)), put(Some(found.path_info)));
    let args = put(found.args);
    let at = |text: Option<_>| text.map_or(std::ptr::null(), |text| texts.pointer(text));
    *into = ffi::Found {
        status: found.status.into(),
        the_request: at(the_request),
        method: at(method),
        content_type: at(content_type),
        handler: at(handler),
        unparsed_uri: at(unparsed_uri),
        uri: at(uri),
        filename: at(filename),
        path_info: at(path_info),
        args: at(args),
        mtime: found.mtime.cast_signed(),
        request_time: found.request_time.cast_signed(),
        in_place: exchange
            .included
            .as_ref()
            .map_or(std::ptr::null(), |directory| &raw const directory.settings),
    };
    true
}

unsafe extern "C" fn include(trip: *mut c_void, target: *const c_char, length: size_t) -> c_int {
    // SAFETY: by host.h, C gives its trip and so many bytes.
    let (exchange, target) = unsafe { (spoken_for(trip), bytes(target, length)) };
    let Some(exchange) = exchange else { return 0 };
    match ask(exchange.trip, &FromPhp::Include(target)) {
        Some(ToPhp::Included(status)) => status.into(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_s_fields_are_told_apart() {
        let mut reply = ReplyHead::default();
        for field in ["Content-type: text/html;charset=UTF-8", "X-A:b", "content-length: 12", "nonsense"] {
            put_field(&mut reply, field.as_bytes());
        }
        assert_eq!(reply.content_type, Some(&b"text/html;charset=UTF-8"[..]));
        assert_eq!(reply.content_length, Some(12));
        assert_eq!(reply.headers_out, [(&b"X-A"[..], &b"b"[..])]);
    }
}
