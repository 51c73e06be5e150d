//! A request's head for C: pointers into the message it was decoded from.

use hostler_engine::c::{Request, Tables};
use hostler_perl_frames::RequestHead;

use crate::ffi::{Field, Fields, RequestIn, Str};

/// A head for C, and the room for its tables. Used again and again.
pub(crate) struct HeadBuffer {
    request: Option<Box<RequestIn>>,
    common: Tables,
    own: [Vec<Field>; 3],
}

impl HeadBuffer {
    pub(crate) fn new() -> Self {
        Self { request: None, common: Tables::default(), own: Default::default() }
    }

    /// Makes the head of this request. What the result points to lives in the message that `head` borrows from and
    /// in `self`: until either changes.
    pub(crate) fn set(&mut self, head: &RequestHead<'_>) -> *const RequestIn {
        let [headers_out, err_headers_out, notes] = &mut self.own;
        let converted = RequestIn {
            common: Request::new(&head.common, &mut self.common),
            phases: head.phases.0,
            status: head.status,
            status_line: Str::optional(head.status_line),
            bytes_sent: head.bytes_sent,
            provider: Str::optional(head.provider),
            headers_out: Fields::fill(headers_out, &head.headers_out),
            err_headers_out: Fields::fill(err_headers_out, &head.err_headers_out),
            notes: Fields::fill(notes, &head.notes),
        };
        match &mut self.request {
            Some(room) => **room = converted,
            none => *none = Some(Box::new(converted)),
        }
        self.request.as_deref().map_or(std::ptr::null(), std::ptr::from_ref)
    }
}
