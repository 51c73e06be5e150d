//! An answer on its way to the front: what `start_response` has said, checked as mod_wsgi checks it, and the body, of which
//! no more goes than its Content-Length says.

use crate::exchange::{Exchange, waiting};
use crate::py::{self, Object, Outcome, PythonError};
use hostler_wire::work::{FromWorker, HeadFlags, Outcome as End, ReplyHead, Severity};
use pyo3_ffi as ffi;

/// Pieces of this size, in bytes, may have to wait until there is room for them.
const LARGE: usize = 8 << 10;

/// The answer to a request.
#[derive(Default)]
pub(crate) struct Response {
    /// The last head.
    head: Option<Head>,
    /// The head has gone.
    sent: bool,
    /// Bytes of the body that have gone, and that the program has made.
    written: u64,
    made: u64,
    /// Bytes that may not have been seen yet.
    unseen: usize,
    /// Error pages are the server's (`WSGIErrorOverride`).
    override_errors: bool,
    /// Only the head is sent.
    head_only: bool,
    /// As in mod_wsgi's daemon mode: a 200 with a Location that is a path is a redirect within the server.
    redirects: bool,
}

/// An answer's head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    status: u16,
    status_line: Vec<u8>,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    content_type: Option<Vec<u8>>,
    content_length: Option<u64>,
}

fn value_error(message: &str) -> PythonError {
    // SAFETY: the type of an exception.
    unsafe { py::raise(ffi::PyExc_ValueError, message) }
}

fn type_error(message: &str) -> PythonError {
    // SAFETY: the type of an exception.
    unsafe { py::raise(ffi::PyExc_TypeError, message) }
}

impl Head {
    /// From `start_response`'s first two arguments.
    pub(crate) fn of(status: &Object, headers: &Object) -> Outcome<Self> {
        let mut head = Self { status_line: py::latin1_of(status)?, ..Self::default() };
        head.status = status_code(&head.status_line)?;
        // SAFETY: objects; items are borrowed while the list has them.
        unsafe {
            if ffi::PyList_Check(headers.as_ptr()) == 0 {
                let found = if headers.is_none() { "None".to_owned() } else { headers.type_name() };
                return Err(type_error(&format!("start_response() argument 2 must be list, not {found}")));
            }
            for at in 0..ffi::PyList_Size(headers.as_ptr()) {
                let header = Object::borrowed(ffi::PyList_GetItem(headers.as_ptr(), at))?;
                if ffi::PyTuple_Check(header.as_ptr()) == 0 {
                    let found = header.type_name();
                    let message =
                        format!("list of tuple values expected for headers, value of type {found} found");
                    return Err(type_error(&message));
                }
                let length = ffi::PyTuple_Size(header.as_ptr());
                if length != 2 {
                    let message = format!("tuple of length 2 expected for header, length is {length}");
                    return Err(value_error(&message));
                }
                let name = Object::borrowed(ffi::PyTuple_GetItem(header.as_ptr(), 0))?;
                let value = Object::borrowed(ffi::PyTuple_GetItem(header.as_ptr(), 1))?;
                head.field(name_of(&name)?, value_of(&value)?)?;
            }
        }
        Ok(head)
    }

    fn field(&mut self, name: Vec<u8>, value: Vec<u8>) -> Outcome<()> {
        if name.eq_ignore_ascii_case(b"content-type") {
            self.content_type = Some(value);
        } else if name.eq_ignore_ascii_case(b"content-length") {
            self.content_length = Some(length_of(&value)?);
        } else {
            self.fields.push((name, value));
        }
        Ok(())
    }

    /// The local path that a 200 leads to.
    fn local_redirect(&self) -> Option<&[u8]> {
        let mut fields = self.fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"location"));
        let (_, target) = fields.next().filter(|_| self.status == 200)?;
        target.starts_with(b"/").then_some(target)
    }

    fn reply(&self) -> ReplyHead<'_> {
        let is_kept = |name: &[u8]| name.eq_ignore_ascii_case(b"www-authenticate");
        let pick = |kept: bool| {
            let fields = self.fields.iter().filter(move |(name, _)| is_kept(name) == kept);
            fields.map(|(name, value)| (&name[..], &value[..])).collect()
        };
        ReplyHead {
            flags: HeadFlags::default(),
            status: self.status,
            status_line: Some(&self.status_line),
            content_type: self.content_type.as_deref(),
            content_length: self.content_length,
            headers_out: pick(false),
            err_headers_out: pick(true),
            ..ReplyHead::default()
        }
    }
}

/// Three digits, a space, and a text without controls. What is below 200 is no answer.
fn status_code(line: &[u8]) -> Outcome<u16> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits != 3 {
        return Err(value_error("status code is not a 3 digit integer"));
    }
    if line.get(3) != Some(&b' ') {
        return Err(value_error("no space following status code"));
    }
    if line.iter().any(u8::is_ascii_control) {
        return Err(value_error("control character present in reason phrase"));
    }
    let code = line[..3].iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
    if code < 200 { Err(value_error("status code is not one of an answer")) } else { Ok(code) }
}

fn name_of(name: &Object) -> Outcome<Vec<u8>> {
    let name = py::latin1_of(name)?;
    if name.is_empty() {
        return Err(value_error("header name is empty"));
    }
    if name.iter().any(u8::is_ascii_control) {
        return Err(value_error("control character present in header name"));
    }
    if name.contains(&b' ') {
        return Err(value_error("space character present in header name"));
    }
    // What else is no token (RFC 9110 §5.1) would be a field for some readers, and none for others.
    if !name.iter().all(|byte| is_token(*byte)) {
        return Err(value_error("header name is not a token"));
    }
    Ok(name)
}

pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn value_of(value: &Object) -> Outcome<Vec<u8>> {
    let value = py::latin1_of(value)?;
    if value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
        return Err(value_error("carriage return/line feed character present in header value"));
    }
    Ok(value)
}

fn length_of(value: &[u8]) -> Outcome<u64> {
    let text = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    text.and_then(|text| text.parse().ok()).ok_or_else(|| value_error("invalid content length"))
}

impl Exchange<'_> {
    /// `start_response`
    pub(crate) fn start(&mut self, head: Head, exc_info: Option<Object>) -> Outcome<()> {
        if self.response.sent {
            return Err(match exc_info {
                Some(info) => raise_again(&info),
                None => {
                    // SAFETY: the type of an exception.
                    unsafe { py::raise(ffi::PyExc_RuntimeError, "headers have already been sent") }
                }
            });
        }
        self.response.head = Some(head);
        Ok(())
    }

    /// A piece of the body. `all`: there is no other.
    pub(crate) fn write(&mut self, piece: &[u8], all: bool) -> Outcome<()> {
        let Some(head) = &mut self.response.head else {
            // SAFETY: the type of an exception.
            return Err(unsafe { py::raise(ffi::PyExc_RuntimeError, "response has not been started") });
        };
        if piece.is_empty() && !all {
            return Ok(());
        }
        if all && head.content_length.is_none() && !matches!(head.status, 204 | 304) {
            head.content_length = Some(piece.len() as u64);
        }
        self.response.made += piece.len() as u64;
        if self.response.is_withheld() {
            return Ok(());
        }
        self.send_head();
        let left = self.response.left();
        let piece = &piece[..piece.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        self.response.written += piece.len() as u64;
        self.response.unseen += piece.len();
        let trip = &mut *self.trip;
        if self.response.unseen < LARGE {
            trip.write(piece);
        } else {
            self.response.unseen = 0;
            waiting(|| {
                trip.write(piece);
                trip.publish();
            });
        }
        Ok(())
    }

    /// Returns whether nothing of the body has gone yet.
    pub(crate) fn is_untouched(&self) -> bool {
        !self.response.sent && self.response.made == 0
    }

    /// The head of an answer whose body is a piece of a file that the front sends.
    pub(crate) fn pass_head(&mut self, length: u64) {
        self.response.set_length(length);
        (self.response.made, self.response.written) = (length, length);
        self.send_head();
    }

    /// Makes everything written visible at once.
    pub(crate) fn publish(&mut self) {
        self.response.unseen = 0;
        self.trip.publish();
    }

    fn send_head(&mut self) {
        if let Some(head) = self.response.head.as_ref().filter(|_| !self.response.sent) {
            self.response.sent = true;
            self.trip.say(&FromWorker::Head(Box::new(head.reply())));
        }
    }

    /// The application has returned all that it has.
    pub(crate) fn complete(&mut self) -> Outcome<()> {
        let Response { written, made, .. } = self.response;
        let Some(head) = &self.response.head else {
            // SAFETY: the type of an exception.
            return Err(unsafe { py::raise(ffi::PyExc_RuntimeError, "response has not been started") });
        };
        if self.response.overrides() {
            let status = head.status;
            self.trip.finish(&End::Status(status));
            return Ok(());
        }
        if let Some(target) = self.response.local_redirect() {
            self.trip.finish(&End::Redirect(target));
            return Ok(());
        }
        let said = head.content_length;
        self.send_head();
        match said {
            Some(said) if made > said => {
                let text = format!("Content length mismatch, expected {said}, response generated {made}");
                self.trip.log(Severity::Warn, true, text.as_bytes());
            }
            Some(said) if written < said && !self.response.has_no_body() => {
                let why = format!("its Content-Length is {said}, and its body {written} bytes");
                self.trip.finish(&End::Broken(why.as_bytes()));
                return Ok(());
            }
            _ => {}
        }
        self.trip.finish(&End::Done);
        Ok(())
    }

    /// The application has raised something.
    pub(crate) fn failed(&mut self) {
        if self.response.sent {
            self.trip.finish(&End::Broken(b"the application has raised an exception"));
        } else {
            self.trip.finish(&End::Status(500));
        }
    }
}

impl Response {
    /// One that is still to be said.
    pub(crate) fn new(override_errors: bool, head_only: bool, redirects: bool) -> Self {
        Self { override_errors, head_only, redirects, ..Self::default() }
    }

    /// Bytes that may still go.
    fn left(&self) -> u64 {
        let said = self.head.as_ref().and_then(|head| head.content_length);
        said.map_or(u64::MAX, |said| said.saturating_sub(self.written))
    }

    /// Returns how much of a file with so many bytes left is the body; `None`: the response has no body, a part of it
    /// has been sent, or it is to be longer.
    pub(crate) fn of_file(&self, left: u64) -> Option<u64> {
        let head = self.head.as_ref()?;
        let is_all = !self.sent && self.made == 0 && !self.is_withheld() && !matches!(head.status, 204 | 304);
        is_all.then_some(head.content_length.unwrap_or(left)).filter(|length| *length <= left)
    }

    /// The body has so many bytes.
    pub(crate) fn set_length(&mut self, length: u64) {
        if let Some(head) = &mut self.head {
            head.content_length = Some(length);
        }
    }

    /// The client has not asked for the body.
    pub(crate) fn is_head_only(&self) -> bool {
        self.head_only
    }

    /// The page is the server's.
    fn overrides(&self) -> bool {
        self.override_errors && !self.sent && self.head.as_ref().is_some_and(|head| head.status >= 400)
    }

    /// The local path that the request goes on to.
    fn local_redirect(&self) -> Option<&[u8]> {
        self.head.as_ref().filter(|_| self.redirects && !self.sent)?.local_redirect()
    }

    /// Nothing of what the application says is sent.
    fn is_withheld(&self) -> bool {
        self.overrides() || self.local_redirect().is_some()
    }

    /// The length is that of another answer (to HEAD, or 304), or the client wants no body.
    fn has_no_body(&self) -> bool {
        self.head_only || self.head.as_ref().is_some_and(|head| matches!(head.status, 204 | 304))
    }
}

/// Raises what an `exc_info` tuple holds.
fn raise_again(info: &Object) -> PythonError {
    // SAFETY: objects; PyErr_Restore takes over the shares that it is given.
    unsafe {
        let item = |at| Object::borrowed(ffi::PyTuple_GetItem(info.as_ptr(), at));
        match (item(0), item(1), item(2)) {
            (Ok(kind), Ok(value), Ok(trace)) => {
                ffi::PyErr_Restore(kind.into_ptr(), value.into_ptr(), trace.into_ptr());
            }
            _ => {
                py::clear();
                type_error("exception info must be a tuple of three");
            }
        }
    }
    PythonError
}
