//! The glue's callbacks while a request is served (`glue/hostler.h`).
//!
//! The worker has one thread and serves one request at a time; which, is in a static. A process that a program
//! forked has it too, but must not touch the parent's conversation: for it every call is without effect.

use hostler_engine::{NoMessage, process};
use hostler_perl_frames::{Changes, FromPerl, Phase, PhaseSet};
use hostler_wire::work::{FromWorker, HeadFlags, Outcome, ReplyHead, Severity};
use std::ffi::{c_char, c_int};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::ffi::{self, Str, outcome, strings};
use crate::worker::{Trip, Worker};

/// The request that is being served, and who serves it.
struct Current {
    worker: *mut Worker,
    trip: *mut Trip,
}

static CURRENT: AtomicPtr<Current> = AtomicPtr::new(null_mut());

/// Has C do something during which its calls are about this.
pub(crate) fn with<T>(worker: &mut Worker, trip: &mut Trip, call: impl FnOnce() -> T) -> T {
    let mut current = Current { worker, trip };
    CURRENT.store(&raw mut current, Ordering::Relaxed);
    let done = call();
    CURRENT.store(null_mut(), Ordering::Relaxed);
    done
}

/// The process that a program forked from a worker runs on into our code: it is not a worker.
fn is_forked_away() -> bool {
    // SAFETY: reads a flag.
    unsafe { ffi::hp_is_forked_away() != 0 }
}

fn current<T>(call: impl FnOnce(&mut Worker, &mut Trip) -> T) -> Option<T> {
    let current = CURRENT.load(Ordering::Relaxed);
    if current.is_null() || is_forked_away() {
        return None;
    }
    // SAFETY: during `with` the worker's only thread is inside C, and `with` has both to itself, and does not touch
    // them meanwhile; no callback calls another.
    unsafe {
        let current = &*current;
        Some(call(&mut *current.worker, &mut *current.trip))
    }
}

fn trip<T>(call: impl FnOnce(&mut Trip) -> T) -> Option<T> {
    current(|_, trip| call(trip))
}

fn say(message: &FromPerl<'_>) {
    trip(|trip| trip.say_own(|e| message.write(e)));
}

/// # Safety
/// The memory that the head points to must be valid.
#[unsafe(no_mangle)]
unsafe extern "C" fn hp_out_head(head: &ffi::ReplyHead) {
    // SAFETY: the caller's.
    let reply = unsafe {
        ReplyHead {
            flags: HeadFlags(head.flags),
            status: head.status,
            status_line: head.status_line.get(),
            content_type: head.content_type.get(),
            content_encoding: head.content_encoding.get(),
            content_length: (head.has_length != 0).then_some(head.length),
            content_languages: strings(head.languages, head.language_count),
            mtime: head.mtime,
            headers_out: head.headers_out.pairs(),
            err_headers_out: head.err_headers_out.pairs(),
        }
    };
    trip(|trip| trip.say(&FromWorker::Head(Box::new(reply))));
}

/// # Safety
/// The memory that the fields point to must be valid.
#[unsafe(no_mangle)]
unsafe extern "C" fn hp_out_early(status: u16, fields: &ffi::Fields) {
    // SAFETY: the caller's.
    let fields = unsafe { fields.pairs() };
    say(&FromPerl::Early { status, fields });
    trip(Trip::publish);
}

/// # Safety
/// There must be `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn hp_out_body(bytes: *const c_char, length: usize) {
    // SAFETY: the caller's.
    let piece = unsafe { Str { ptr: bytes, len: length }.bytes() };
    trip(|trip| trip.write(piece));
}

#[unsafe(no_mangle)]
extern "C" fn hp_out_publish() {
    trip(Trip::publish);
}

/// # Safety
/// The memory that the changes point to must be valid for as long as the result is used.
unsafe fn changes(changes: &ffi::Changes) -> Changes<'_> {
    // SAFETY: the caller's.
    unsafe {
        Changes {
            status: changes.status,
            method: changes.method.bytes(),
            uri: changes.uri.bytes(),
            args: changes.args.get(),
            filename: changes.filename.bytes(),
            path_info: changes.path_info.bytes(),
            user: changes.user.get(),
            ap_auth_type: changes.ap_auth_type.get(),
            handler: changes.handler.get(),
            content_type: changes.content_type.get(),
            custom_responses: changes.custom_responses.pairs(),
            headers_in: changes.headers_in.pairs(),
            headers_out: changes.headers_out.pairs(),
            err_headers_out: changes.err_headers_out.pairs(),
            subprocess_env: changes.subprocess_env.pairs(),
            notes: changes.notes.pairs(),
        }
    }
}

/// # Safety
/// The memory that the changes point to must be valid.
#[unsafe(no_mangle)]
unsafe extern "C" fn hp_out_changes(given: &ffi::Changes) {
    // SAFETY: the caller's.
    let changes = unsafe { changes(given) };
    say(&FromPerl::Changes(Box::new(changes)));
}

/// # Safety
/// The text must be there; if there is one, it was malloc'ed and is freed here.
#[unsafe(no_mangle)]
unsafe extern "C" fn hp_out_finished(given: &ffi::Outcome) {
    // SAFETY: the caller's.
    let text = unsafe { given.text.bytes() };
    let outcome = match given.kind {
        outcome::DONE => Outcome::Done,
        // After one below 200 the client would take the next answer for this one's.
        outcome::STATUS if (200..=999).contains(&given.status) => Outcome::Status(given.status),
        outcome::STATUS => Outcome::Status(500),
        outcome::DECLINED => Outcome::Declined,
        outcome::REDIRECT if text.starts_with(b"/") => Outcome::Redirect(text),
        outcome::REDIRECT => Outcome::Status(500),
        outcome::VERDICT => Outcome::Verdict(given.status),
        _ => Outcome::Broken(text),
    };
    current(|worker, trip| worker.finished(trip, &outcome));
    if !given.text.ptr.is_null() {
        // SAFETY: the caller's.
        unsafe { ffi::hp_free(given.text.ptr.cast_mut().cast()) };
    }
}

/// As `hp_in_body`, and -2 when a signal handler has run.
///
/// # Safety
/// There must be room for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn hp_ring_read(bytes: *mut c_char, length: usize) -> isize {
    if length == 0 {
        return 0;
    }
    // SAFETY: the caller's; bytes that were never written are only written here.
    let into = unsafe { std::slice::from_raw_parts_mut(bytes.cast::<u8>(), length) };
    match trip(|trip| trip.read_body(into)) {
        Some(Ok(count)) => count as isize,
        Some(Err(NoMessage::Interrupted)) => -2,
        None | Some(Err(_)) => -1,
    }
}

#[unsafe(no_mangle)]
extern "C" fn hp_aborted() -> c_int {
    trip(|trip| trip.is_abandoned()).unwrap_or(true).into()
}

/// # Safety
/// There must be `length` bytes of text.
#[unsafe(no_mangle)]
unsafe extern "C" fn hp_log(severity: c_int, virtual_host: c_int, text: *const c_char, length: usize) {
    // SAFETY: the caller's.
    let text = unsafe { Str { ptr: text, len: length }.bytes() };
    let severity = Severity::numbered(severity);
    if trip(|trip| trip.log(severity, virtual_host != 0, text)).is_none() {
        process::complain_as(severity, text);
    }
}

/// # Safety
/// There must be `length` bytes of text.
#[unsafe(no_mangle)]
unsafe extern "C" fn hp_print_error(text: *const c_char, length: usize) {
    // SAFETY: the caller's.
    let text = unsafe { Str { ptr: text, len: length }.bytes() };
    let said = trip(|trip| {
        let listens = !trip.is_abandoned();
        if listens {
            trip.say(&FromWorker::Printed(text));
            // A worker that dies of what it tells here should have told it.
            trip.publish();
        }
        listens
    });
    if said != Some(true) {
        process::complain(text);
    }
}

/// # Safety
/// Both strings must be there.
#[unsafe(no_mangle)]
unsafe extern "C" fn hp_ask_look_up(
    method: *const c_char,
    method_length: usize,
    target: *const c_char,
    length: usize,
    file: c_int,
) {
    // SAFETY: the caller's.
    let (method, target) = unsafe {
        (Str { ptr: method, len: method_length }.bytes(), Str { ptr: target, len: length }.bytes())
    };
    say(&FromPerl::LookUp { method, target, file: file != 0 });
}

/// # Safety
/// The string must be there, and what the changes point to, if there are any.
#[unsafe(no_mangle)]
unsafe extern "C" fn hp_ask_run(target: *const c_char, length: usize, id: u32, given: Option<&ffi::Changes>) {
    // SAFETY: the caller's.
    let target = unsafe { Str { ptr: target, len: length }.bytes() };
    // SAFETY: the caller's.
    let changes = given.map(|given| Box::new(unsafe { changes(given) }));
    say(&FromPerl::Run { target, id, changes });
}

/// # Safety
/// The string must be there.
#[unsafe(no_mangle)]
unsafe extern "C" fn hp_ask_configure(text: *const c_char, length: usize, overrides: u32, phase: c_int) {
    // SAFETY: the caller's.
    let text = unsafe { Str { ptr: text, len: length }.bytes() };
    let phase = u8::try_from(phase).unwrap_or(0);
    say(&FromPerl::Configure { text, overrides, phase });
}

/// `stopped`: -1, or the phase after which others were left out.
#[unsafe(no_mangle)]
extern "C" fn hp_out_standing(pushed: u32, stopped: c_int) {
    let stopped = usize::try_from(stopped).ok().and_then(|number| Phase::ALL.get(number)).copied();
    say(&FromPerl::Standing { pushed: PhaseSet(pushed), stopped });
}

/// # Safety
/// The string must be there.
#[unsafe(no_mangle)]
unsafe extern "C" fn hp_ask_redirect(target: *const c_char, length: usize, keeps_type: c_int) {
    // SAFETY: the caller's.
    let target = unsafe { Str { ptr: target, len: length }.bytes() };
    say(&FromPerl::Redirect { target, keeps_type: keeps_type != 0 });
}

#[unsafe(no_mangle)]
extern "C" fn hp_await_told(told: &mut ffi::Told) {
    *told = current(Worker::await_told).unwrap_or(ffi::Told::GONE);
}

#[unsafe(no_mangle)]
extern "C" fn hp_directory_of(number: u32) -> *mut ffi::Directory {
    trip(|trip| trip.directory(number).copied()).flatten().unwrap_or_default()
}

#[unsafe(no_mangle)]
extern "C" fn hp_exit_after_request() {
    trip(Trip::exit_afterwards);
}

/// The modules below `lib/`, sorted by path.
static EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// # Safety
/// `path` must be a C string, `length` be writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn hp_embedded(path: *const c_char, length: *mut usize) -> *const c_char {
    // SAFETY: the caller's.
    let path = unsafe { std::ffi::CStr::from_ptr(path) }.to_bytes();
    match EMBEDDED.binary_search_by(|(name, _)| name.as_bytes().cmp(path)) {
        Ok(place) => {
            let text = EMBEDDED[place].1;
            // SAFETY: the caller's.
            unsafe { *length = text.len() };
            text.as_ptr().cast()
        }
        Err(_) => null(),
    }
}
