//! The same for engines in C: `include/hostler_engine.h` has the words, and what they promise each other.
//!
//! The process has one thread, and serves one request at a time; which, is in a static. A process that a program forked
//! has it too, but must not touch the worker's conversation: for it every call is without effect.

mod request;

pub use request::{Field, Fields, File, Request, Str, Tables};

use hostler_wire::engine::{self, ServerFacts};
use hostler_wire::work::{self, FromWorker, HeadFlags, Outcome, ReplyHead, RequestHead, Severity};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::process::ExitCode;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::{Engine, Next, NoMessage, Serve, Trip, process};

/// `hostler_engine`: an engine's functions. What may be null is an `Option`.
#[repr(C)]
pub struct Verbs {
    name: *const c_char,
    load: unsafe extern "C" fn(setup: *const Setup, why: *mut *mut c_char) -> c_int,
    version: unsafe extern "C" fn() -> *const c_char,
    before_fork: Option<unsafe extern "C" fn()>,
    begin_worker: Option<unsafe extern "C" fn(why: *mut *mut c_char) -> c_int>,
    define: Option<unsafe extern "C" fn(directory: *const Directory) -> *mut c_void>,
    serve: unsafe extern "C" fn(request: *const Request, directory: *mut c_void),
    end: Option<unsafe extern "C" fn()>,
}

/// `hostler_server`
#[repr(C)]
struct Server {
    id: u32,
    port: u16,
    is_virtual: u8,
    log_level: u8,
    name: Str,
    admin: Str,
    document_root: Str,
    software: Str,
}

/// `hostler_setup`
#[repr(C)]
struct Setup {
    title: Str,
    server_root: Str,
    servers: *const Server,
    server_count: usize,
    one_shot: c_int,
    max_requests: u32,
    own: Str,
}

/// `hostler_directory`
#[repr(C)]
struct Directory {
    server: u32,
    allow_options: u32,
    limit_request_body: u64,
    location: Str,
    auth_name: Str,
    auth_type: Str,
    default_charset: Str,
    signature: Str,
    own: Str,
}

/// `hostler_head`
#[repr(C)]
struct Head {
    flags: u32,
    status: u16,
    status_line: Str,
    content_type: Str,
    content_encoding: Str,
    has_length: c_int,
    content_length: u64,
    headers: Fields,
}

static VERBS: AtomicPtr<Verbs> = AtomicPtr::new(null_mut());
static CURRENT: AtomicPtr<Trip<Worker>> = AtomicPtr::new(null_mut());

/// The life of an engine in C. To be called first thing in `main`.
///
/// # Safety
/// The functions must be there, and do what the header says of them.
pub unsafe fn run(verbs: &'static Verbs) -> ExitCode {
    VERBS.store(std::ptr::from_ref(verbs).cast_mut(), Ordering::Relaxed);
    crate::run::<InC>()
}

fn verbs() -> &'static Verbs {
    // SAFETY: stored by `run` before anything else is called, and kept for ever.
    unsafe { &*VERBS.load(Ordering::Relaxed) }
}

/// An engine in C.
struct InC;

/// Its worker.
struct Worker {
    tables: Tables,
}

/// C's data about a directory's configuration.
struct DirectorySettings(*mut c_void);

impl Engine for InC {
    type Worker = Worker;

    fn name() -> &'static CStr {
        // SAFETY: a C string that is kept for ever, says the header.
        unsafe { CStr::from_ptr(verbs().name) }
    }

    fn load(setup: &engine::Setup) -> Result<Self, String> {
        let servers: Vec<Server> = setup.servers.iter().map(Server::new).collect();
        let given = Setup {
            title: Str::new(setup.title.as_bytes()),
            server_root: Str::new(setup.server_root.as_bytes()),
            servers: servers.as_ptr(),
            server_count: servers.len(),
            one_shot: setup.one_shot.into(),
            max_requests: setup.max_requests,
            own: Str::new(&setup.own),
        };
        // SAFETY: what is given is there until the call returns.
        answered(|why| unsafe { (verbs().load)(&raw const given, why) })?;
        Ok(Self)
    }

    fn version(&self) -> String {
        // SAFETY: a C string, says the header.
        unsafe { CStr::from_ptr((verbs().version)()) }.to_string_lossy().into_owned()
    }

    fn before_fork(&mut self) {
        if let Some(before_fork) = verbs().before_fork {
            // SAFETY: the engine's own.
            unsafe { before_fork() }
        }
    }

    fn begin_worker(&mut self) -> Result<Worker, String> {
        if let Some(begin_worker) = verbs().begin_worker {
            // SAFETY: the engine's own.
            answered(|why| unsafe { begin_worker(why) })?;
        }
        Ok(Worker { tables: Tables::default() })
    }
}

impl Serve for Worker {
    type Directory = DirectorySettings;

    fn define(directory: &work::Directory<'_>) -> Option<DirectorySettings> {
        let text = |text: Option<&str>| Str::optional(text.map(str::as_bytes));
        let given = Directory {
            server: directory.server,
            allow_options: directory.allow_options,
            limit_request_body: directory.limit_request_body,
            location: text(directory.location),
            auth_name: text(directory.auth_name),
            auth_type: text(directory.auth_type),
            default_charset: text(directory.default_charset),
            signature: Str::new(directory.signature.as_bytes()),
            own: Str::new(directory.own),
        };
        // SAFETY: what is given is there until the call returns.
        Some(DirectorySettings(
            verbs().define.map_or(null_mut(), |define| unsafe { define(&raw const given) }),
        ))
    }

    fn serve(&mut self, trip: &mut Trip<Self>) {
        // What is the engine's own and comes before the request is of no use to it.
        while let Ok(next) = trip.next() {
            if next == Next::Request {
                return self.request(trip);
            }
        }
    }

    fn end(&mut self) {
        if let Some(end) = verbs().end {
            // SAFETY: the engine's own.
            unsafe { end() }
        }
    }
}

impl Worker {
    fn request(&mut self, trip: &mut Trip<Self>) {
        let head = RequestHead::decode(&mut work::Decoder(trip.request()));
        let Ok(request) = head.map(|head| (head.directory, Request::new(&head, &mut self.tables))) else {
            trip.malformed();
            return;
        };
        let (number, request) = request;
        let Some(directory) = trip.directory(number).map(|defined| defined.0) else {
            trip.malformed();
            return;
        };
        CURRENT.store(trip, Ordering::Relaxed);
        // SAFETY: the request points into buffers that stay as they are until the next trip; meanwhile `trip` is reached
        // through `current` only.
        unsafe { (verbs().serve)(&raw const request, directory) };
        CURRENT.store(null_mut(), Ordering::Relaxed);
    }
}

impl Server {
    fn new(facts: &ServerFacts) -> Self {
        Self {
            id: facts.id,
            port: facts.port,
            is_virtual: facts.is_virtual.into(),
            log_level: facts.log_level,
            name: Str::new(facts.name.as_bytes()),
            admin: Str::new(facts.admin.as_bytes()),
            document_root: Str::new(facts.document_root.as_bytes()),
            software: Str::new(facts.software.as_bytes()),
        }
    }
}

fn answered(call: impl FnOnce(*mut *mut c_char) -> c_int) -> Result<(), String> {
    let mut why = null_mut();
    if call(&raw mut why) == 0 {
        return Ok(());
    }
    if why.is_null() {
        return Err("it gave no reason".into());
    }
    // SAFETY: a C string that C has allocated for us, freed once.
    unsafe {
        let text = CStr::from_ptr(why).to_string_lossy().into_owned();
        libc::free(why.cast());
        Err(text)
    }
}

fn current<T>(call: impl FnOnce(&mut Trip<Worker>) -> T) -> Option<T> {
    let trip = CURRENT.load(Ordering::Relaxed);
    if trip.is_null() || process::is_forked_away() {
        return None;
    }
    // SAFETY: while it is set the worker's only thread is inside C, and whoever has set it does not touch it; no
    // function here calls another.
    Some(call(unsafe { &mut *trip }))
}

/// # Safety
/// There must be room for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn hostler_read_body(bytes: *mut c_char, length: usize) -> isize {
    if length == 0 {
        return 0;
    }
    // SAFETY: the caller's; bytes that were never written are only written here.
    let into = unsafe { std::slice::from_raw_parts_mut(bytes.cast::<u8>(), length) };
    match current(|trip| trip.read_body(into)) {
        Some(Ok(count)) => count as isize,
        Some(Err(NoMessage::Interrupted)) => -2,
        None | Some(Err(_)) => -1,
    }
}

/// # Safety
/// The memory that the head points to must be valid.
#[unsafe(no_mangle)]
unsafe extern "C" fn hostler_send_head(head: &Head) {
    // SAFETY: the caller's.
    let reply = unsafe {
        ReplyHead {
            flags: HeadFlags(head.flags),
            status: head.status,
            status_line: head.status_line.get(),
            content_type: head.content_type.get(),
            content_encoding: head.content_encoding.get(),
            content_length: (head.has_length != 0).then_some(head.content_length),
            headers_out: head.headers.pairs(),
            ..ReplyHead::default()
        }
    };
    current(|trip| trip.say(&FromWorker::Head(Box::new(reply))));
}

/// # Safety
/// There must be `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn hostler_write(bytes: *const c_char, length: usize) {
    // SAFETY: the caller's.
    let piece = unsafe { Str { ptr: bytes, len: length }.bytes() };
    current(|trip| trip.write(piece));
}

#[unsafe(no_mangle)]
extern "C" fn hostler_flush() {
    current(Trip::publish);
}

/// # Safety
/// There must be `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn hostler_finish(outcome: c_int, number: u16, text: *const c_char, length: usize) {
    // SAFETY: the caller's.
    let text = unsafe { Str { ptr: text, len: length }.bytes() };
    let outcome = match outcome {
        0 => Outcome::Done,
        1 if (100..=999).contains(&number) => Outcome::Status(number),
        1 => Outcome::Status(500),
        2 => Outcome::Declined,
        3 if text.starts_with(b"/") => Outcome::Redirect(text),
        3 => Outcome::Status(500),
        5 => Outcome::Verdict(number),
        _ => Outcome::Broken(text),
    };
    current(|trip| trip.finish(&outcome));
}

/// # Safety
/// There must be `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn hostler_log(severity: c_int, text: *const c_char, length: usize) {
    // SAFETY: the caller's.
    let text = unsafe { Str { ptr: text, len: length }.bytes() };
    let severity = Severity::numbered(severity);
    if current(|trip| trip.log(severity, true, text)).is_none() {
        process::complain_as(severity, text);
    }
}

#[unsafe(no_mangle)]
extern "C" fn hostler_is_abandoned() -> c_int {
    current(|trip| trip.is_abandoned()).unwrap_or(true).into()
}

/// # Safety
/// There must be `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn hostler_say_own(bytes: *const c_char, length: usize) {
    // SAFETY: the caller's.
    let own = unsafe { Str { ptr: bytes, len: length }.bytes() };
    current(|trip| trip.say(&FromWorker::Own(own)));
}

/// # Safety
/// `own` must be writable. It points into the worker's buffer until the next call.
#[unsafe(no_mangle)]
unsafe extern "C" fn hostler_await_own(own: &mut Str) -> c_int {
    let came = current(|trip| trip.await_own().map(|()| Str::new(trip.own())));
    match came {
        Some(Ok(came)) => {
            *own = came;
            0
        }
        None | Some(Err(_)) => -1,
    }
}

#[unsafe(no_mangle)]
extern "C" fn hostler_exit_after_request() {
    current(Trip::exit_afterwards);
}
