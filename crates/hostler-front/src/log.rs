//! The error log, in Apache's layout (or ErrorLogFormat's): who writes what, to which file.
//!
//! Every message about a request that is a warning or worse carries the request's id, which an error page and the
//! access log (`%L`) show too. Logging never fails a request: what can't be written is lost.

pub(crate) mod access_log;
mod destination;
mod escape;
mod format;
mod logs;
mod lost;
mod quota;

pub(crate) use destination::Destination;

pub(crate) use logs::{AccessLog, Logs};
pub(crate) use lost::tell_lost;
pub(crate) use quota::{Quota, tell_left_out};

use crate::request::thread::Thread;
use crate::request::{Request, id};
use format::Entry;
use hostler_config::Server;
pub(crate) use hostler_config::directives::log_config::Level as Severity;
use hostler_config::directives::log_config::Levels;
use hostler_gateway::{Error, Kind, Severity as Weight};
use hostler_wire::work;
use std::borrow::Cow;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::SystemTime;

/// Writes to the ErrorLog of the request's virtual host, if LogLevel of the request's directory lets it through.
/// `module` is Apache's name without `mod_`.
pub(crate) fn request(
    request: &Request,
    severity: Severity,
    module: &str,
    message: &(impl AsRef<[u8]> + ?Sized),
) {
    tell(request, severity, module, message.as_ref(), When::Now);
}

/// The note of the microseconds until the answer began (LogIOTrackTTFB).
pub(crate) const FIRST_BYTE: &str = "logio-first-byte";

/// When a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Now,
    /// With others of the thread's turn: for what may come in large numbers.
    Soon,
}

fn tell(request: &Request, severity: Severity, module: &str, message: &[u8], when: When) {
    if !is_written(request, severity, module) {
        return;
    }
    let id = (severity <= Severity::Warn).then(|| id::logged(request));
    let entry = Entry {
        time: SystemTime::now(),
        level: severity,
        module,
        message,
        id: id.as_deref(),
        pid: request.thread.shared.pid,
        remote: Some(request.client.peer.remote),
        request: Some(request),
    };
    write(&request.thread, &request.server, &entry, when);
}

/// Returns whether [`request`] would write; for messages that are costly to make. As in Apache a notice about a request
/// is written whatever LogLevel says (`log_error_core`).
pub(crate) fn is_written(request: &Request, severity: Severity, module: &str) -> bool {
    severity == Severity::Notice
        || levels(
            &request.server,
            &request.resource.dir.log_config.levels,
            request.resource.dir.log_config.is_set(),
        )
        .writes(module, severity)
}

/// Writes why a program, whose path this is, has given no answer.
pub(crate) fn failure(about: &Request, module: &str, error: &Error, program: &[u8]) {
    tell(about, severity(error), module, cause(about, error, program).as_bytes(), When::Now);
}

/// The same for failures that may come in large numbers: the lines of one turn of the thread become one write.
pub(crate) fn failure_soon(about: &Request, module: &str, error: &Error, program: &[u8]) {
    tell(about, severity(error), module, cause(about, error, program).as_bytes(), When::Soon);
}

fn severity(error: &Error) -> Severity {
    match error.severity() {
        Weight::Error => Severity::Error,
        Weight::Warn => Severity::Warn,
        Weight::Info => Severity::Info,
    }
}

/// The same in words; whether it was the site's memory limit only the kernel's count tells.
pub(crate) fn cause(about: &Request, error: &Error, program: &[u8]) -> String {
    let mut text = error.of(&String::from_utf8_lossy(program));
    // The kernel does it by signal 9, and a site's process that is gone leaves no word about how.
    let killed = error.kind == Kind::SiteGone || text.contains("signal 9");
    if killed && about.thread.ran_out_of_memory(&about.server) {
        text.push_str(": the site has reached HostlerSiteMemory, and the kernel ended one of its processes");
    }
    text
}

/// A line that a program has asked to be written about its request, as far as its site's quota allows.
pub(crate) fn of_program(about: &Request, severity: Severity, module: &str, text: &[u8]) {
    let text = cut(text);
    if is_written(about, severity, module) && quota::allows(&about.thread, &about.server, text.len()) {
        tell(about, severity, module, text, When::Soon);
    }
}

/// The same for the main server's log.
pub(crate) fn of_program_for_main(about: &Request, severity: Severity, module: &str, text: &[u8]) {
    let main = about.thread.shared.config.main();
    let text = cut(text);
    if main.conf.log_config.levels.writes(module, severity)
        && quota::allows(&about.thread, &about.server, text.len())
    {
        write_about(
            &about.thread,
            main,
            Some(about.client.peer.remote),
            (severity, module),
            text,
            When::Soon,
        );
    }
}

/// Appends a line to the ForensicLog of the request's virtual host, at once.
pub(crate) fn append_forensic(about: &Request, line: &[u8]) {
    if let Some(index) = about.thread.shared.logs.forensic_log(&about.server) {
        access_log::append(&about.thread, index, line);
    }
}

fn cut(text: &[u8]) -> &[u8] {
    &text[..text.len().min(quota::LONGEST)]
}

/// A line that a program wrote to its standard error (mod_cgi); `script` is its path. As far as its site's quota allows.
pub(crate) fn script_line(request: &Request, module: &str, script: &[u8], line: &[u8]) {
    if !is_written(request, Severity::Error, module)
        || !quota::allows(&request.thread, &request.server, script.len() + line.len())
    {
        return;
    }
    // Apache's number, which filters of fail2ban and logwatch know.
    let number: &[u8] = if module == "cgi" { b"AH01215: " } else { b"" };
    let id = id::logged(request);
    let entry = Entry {
        time: SystemTime::now(),
        level: Severity::Error,
        module,
        message: &[number, b"stderr from ", script, b": ", line].concat(),
        id: Some(&id),
        pid: request.thread.shared.pid,
        remote: Some(request.client.peer.remote),
        request: Some(request),
    };
    write(&request.thread, &request.server, &entry, When::Soon);
}

/// Writes about a connection that has not come to a request, to the ErrorLog of its virtual host.
pub(crate) fn connection(
    thread: &Thread,
    server: &Server,
    remote: SocketAddr,
    severity: Severity,
    module: &str,
    message: &(impl AsRef<[u8]> + ?Sized),
) {
    about(thread, server, Some(remote), severity, module, message.as_ref());
}

/// Writes what a program said that no request is known for, to the ErrorLog of a virtual host, as far as its site's
/// quota allows. `who` stands before it; the line itself may begin with how grave it is. Notices are always written, as
/// Apache's are.
pub(crate) fn program(thread: &Thread, server: &Server, module: &str, who: &str, line: &[u8]) {
    let (severity, line) = work::Severity::of_line(line);
    let severity = of_wire(severity);
    let is_written = severity == Severity::Notice || server.conf.log_config.levels.writes(module, severity);
    if is_written && quota::allows(thread, server, who.len() + line.len()) {
        let message = [who.as_bytes(), b": ", line].concat();
        append(thread, server, None, (severity, module), &message, When::Soon);
    }
}

/// LogLevel's word for what a program says.
pub(crate) fn of_wire(severity: work::Severity) -> Severity {
    match severity {
        work::Severity::Emerg => Severity::Emerg,
        work::Severity::Alert => Severity::Alert,
        work::Severity::Crit => Severity::Crit,
        work::Severity::Error => Severity::Error,
        work::Severity::Warn => Severity::Warn,
        work::Severity::Notice => Severity::Notice,
        work::Severity::Info => Severity::Info,
        work::Severity::Debug => Severity::Debug,
    }
}

/// Writes about a site's programs to the ErrorLog of a virtual host.
fn about_programs(thread: &Thread, server: &Server, message: &str) {
    about(thread, server, None, Severity::Error, "core", message.as_bytes());
}

/// Writes about no request to the ErrorLog of a virtual host.
pub(crate) fn of_server(thread: &Thread, server: &Server, severity: Severity, module: &str, message: &str) {
    about(thread, server, None, severity, module, message.as_bytes());
}

/// Writes a notice to the main ErrorLog, whatever LogLevel says, as Apache does.
pub(crate) fn notice(thread: &Thread, module: &str, message: &str) {
    let main = thread.shared.config.main();
    append(thread, main, None, (Severity::Notice, module), message.as_bytes(), When::Now);
}

/// Writes to the main ErrorLog.
pub(crate) fn server(thread: &Thread, severity: Severity, message: &str) {
    about(thread, thread.shared.config.main(), None, severity, "core", message.as_bytes());
}

fn about(
    thread: &Thread,
    server: &Server,
    remote: Option<SocketAddr>,
    severity: Severity,
    module: &str,
    message: &[u8],
) {
    write_about(thread, server, remote, (severity, module), message, When::Now);
}

fn write_about(
    thread: &Thread,
    server: &Server,
    remote: Option<SocketAddr>,
    (severity, module): (Severity, &str),
    message: &[u8],
    when: When,
) {
    if server.conf.log_config.levels.writes(module, severity) {
        append(thread, server, remote, (severity, module), message, when);
    }
}

fn append(
    thread: &Thread,
    server: &Server,
    remote: Option<SocketAddr>,
    (severity, module): (Severity, &str),
    message: &[u8],
    when: When,
) {
    let entry = Entry {
        time: SystemTime::now(),
        level: severity,
        module,
        message,
        id: None,
        pid: thread.shared.pid,
        remote,
        request: None,
    };
    write(thread, server, &entry, when);
}

/// LogLevel as it applies: the virtual host's, and over it the directory's, which is rarely there.
fn levels<'a>(server: &'a Server, dir: &Levels, dir_is_set: bool) -> Cow<'a, Levels> {
    let base = &server.conf.log_config.levels;
    if dir_is_set { Cow::Owned(base.merge(dir)) } else { Cow::Borrowed(base) }
}

/// One `write` for the line, or for it and others: lines of threads, generations and virtual hosts in one file never mix.
fn write(thread: &Thread, server: &Server, entry: &Entry<'_>, when: When) {
    thread_local! {
        static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let logs = &thread.shared.logs;
    // Taken out: a log that can't be written to is told by another line.
    let mut line = LINE.take();
    line.clear();
    format::write(logs.error_format(server), entry, &mut line);
    if let Some(index) = logs.error_log(server).filter(|_| !line.is_empty()) {
        line.push(b'\n');
        match when {
            When::Now => access_log::append(thread, index, &line),
            When::Soon => access_log::append_soon(thread, index, &line),
        }
    }
    LINE.set(line);
}
