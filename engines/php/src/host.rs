//! The functions that PHP's side calls ([`ffi::Host`]): each takes, gives and returns, and none is ever unwound.

use hostler_engine::Gone;
use hostler_wire::work::{FromWorker, Outcome, ReplyHead, RequestHead, Severity};
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
    pub(crate) directory: &'a Directory,
    pub(crate) variables: &'a mut Arena,
    pub(crate) fields: &'a mut Arena,
    /// The request's body did not come whole.
    pub(crate) broke_off: bool,
}

/// What C is given.
pub(crate) static HOST: ffi::Host =
    ffi::Host { read_body, head, write, flush, finish, is_gone, log, variables, fields };

/// # Safety
/// What [`ffi::hostler_php_serve`] was given, and it has not returned.
unsafe fn exchange<'a>(trip: *mut c_void) -> &'a mut Exchange<'a> {
    // SAFETY: as the caller says; the host's functions are called one after the other.
    unsafe { &mut *trip.cast() }
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
        unsafe { (exchange(trip), std::slice::from_raw_parts_mut(into.cast::<u8>(), most)) };
    loop {
        match exchange.trip.read_body(into) {
            Ok(count) => return count as ssize_t,
            // A signal is no news of the client.
            Err(Gone::Interrupted) => {}
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
) {
    // SAFETY: by host.h, C gives its trip, a text or NULL, and so many fields.
    let (exchange, line, fields) = unsafe {
        let line = (!line.is_null()).then(|| CStr::from_ptr(line).to_bytes());
        (exchange(trip), line, if count == 0 { &[] } else { std::slice::from_raw_parts(fields, count) })
    };
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
    exchange.trip.say(&FromWorker::Head(Box::new(reply)));
}

/// A field of the program's: `Name: value`. The two that say what the body is are told apart.
fn put_field<'a>(reply: &mut ReplyHead<'a>, field: &'a [u8]) {
    let Some(colon) = field.iter().position(|byte| *byte == b':') else { return };
    let (name, value) = (field[..colon].trim_ascii(), field[colon + 1..].trim_ascii());
    if name.eq_ignore_ascii_case(b"content-type") {
        reply.content_type = Some(value);
    } else if name.eq_ignore_ascii_case(b"content-length") {
        reply.content_length = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    } else {
        reply.headers_out.push((name, value));
    }
}

unsafe extern "C" fn write(trip: *mut c_void, text: *const c_char, length: size_t) {
    // SAFETY: by host.h, C gives its trip and so many bytes.
    let (exchange, text) = unsafe { (exchange(trip), bytes(text, length)) };
    exchange.trip.write(text);
}

unsafe extern "C" fn flush(trip: *mut c_void) {
    // SAFETY: by host.h, C gives its trip.
    unsafe { exchange(trip) }.trip.publish();
}

unsafe extern "C" fn finish(trip: *mut c_void) {
    // SAFETY: by host.h, C gives its trip.
    let exchange = unsafe { exchange(trip) };
    exchange.trip.finish(&Outcome::Done);
    exchange.trip.publish();
}

unsafe extern "C" fn is_gone(trip: *mut c_void) -> bool {
    // SAFETY: by host.h, C gives its trip.
    let exchange = unsafe { exchange(trip) };
    exchange.broke_off || exchange.trip.is_abandoned()
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
    exchange.trip.log(severity_of(severity), true, text);
    // Scripts may take long after a line by which somebody waits for them.
    exchange.trip.publish();
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
    let Exchange { head, server, directory, variables, .. } = unsafe { exchange(trip) };
    if variables.is_empty() {
        variables::write(variables, head, server, directory);
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
